//! The port, and what others call it.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpListener;

use super::Failure;

/// Listens at `address`.
///
/// # Errors
/// A sentence that says what to do.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let sentence = if error.kind() == ErrorKind::AddrInUse {
            format!(
                "{address} is in use, perhaps by another `paidonce dev`. Choose another address \
                 with --listen 127.0.0.1:8788, or any free port with --listen 127.0.0.1:0."
            )
        } else {
            format!("can't listen at {address} ({error}). Choose another with --listen.")
        };
        sentence.into()
    })
}

/// The address to put into links: one that a browser on this machine can open.
pub(crate) fn base_url(bound: SocketAddr) -> String {
    let loopback = match bound {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    let is_everywhere = bound.ip().is_unspecified();
    let ip = if is_everywhere { loopback } else { bound.ip() };
    format!("http://{}", SocketAddr::new(ip, bound.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_name_an_address_that_can_be_opened() {
        let url = |text: &str| base_url(text.parse().unwrap());
        assert_eq!(url("127.0.0.1:8787"), "http://127.0.0.1:8787");
        assert_eq!(url("0.0.0.0:80"), "http://127.0.0.1:80");
        assert_eq!(url("[::]:8787"), "http://[::1]:8787");
    }

    #[tokio::test]
    async fn a_port_in_use_is_explained() {
        let first = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let second = bind(first.local_addr().unwrap()).await.unwrap_err();
        assert!(second.to_string().contains("--listen"), "{second}");
    }
}
