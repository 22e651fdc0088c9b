//! Keeps other web sites from steering the fleet through the developer's own browser.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use lambda_kit::Problem;

use super::answer::Refusal;

/// Refuses what a page of another origin sends; command-line tools name no origin. A name that is
/// not this machine's is refused too: it may be another site's that was pointed here.
pub(crate) async fn only_own(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_elsewhere = headers.contains_key(HOST) && !is_here(headers);
    if (is_reading || is_own(headers)) && !is_elsewhere {
        return next.run(request).await;
    }
    let detail = "A page of another origin may not do this; use an IP address or localhost.";
    Refusal::from(Problem::new(403, "other_origin", detail)).into_response()
}

/// Refuses every browser, whatever page it shows: no page has a reason to speak AWS's protocol.
pub(crate) async fn only_tools(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let from_browser = headers.contains_key(ORIGIN) || headers.contains_key("sec-fetch-site");
    if !from_browser && is_here(headers) {
        return next.run(request).await;
    }
    let detail = "This is for command-line tools, at an IP address or localhost.";
    Refusal::from(Problem::new(403, "other_origin", detail)).into_response()
}

fn is_here(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|value| value.to_str().ok());
    let authority: Option<Authority> = host.and_then(|host| host.parse().ok());
    authority.is_some_and(|authority| {
        let name = authority.host().trim_matches(['[', ']']);
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
    })
}

fn is_own(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    match (headers.contains_key(ORIGIN), text(ORIGIN), text(HOST)) {
        (false, _, _) => true,
        (true, Some(origin), Some(host)) => origin.strip_prefix("http://") == Some(host),
        (true, _, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_this_machine_is_here() {
        let is_here = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            is_here(&headers)
        };
        for host in [
            "127.0.0.1:8787",
            "localhost:8787",
            "[::1]:8787",
            "192.168.1.7",
        ] {
            assert!(is_here(host), "{host}");
        }
        for host in [
            "elsewhere.example:8787",
            "127.0.0.1.elsewhere.example",
            "",
            "x@y:z",
        ] {
            assert!(!is_here(host), "{host}");
        }
        assert!(!super::is_here(&HeaderMap::new()));
    }

    #[test]
    fn an_origin_must_be_our_own() {
        let is_own = |origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "127.0.0.1:8787".parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            is_own(&headers)
        };
        assert!(is_own(None) && is_own(Some("http://127.0.0.1:8787")));
        assert!(!is_own(Some("https://elsewhere.example")) && !is_own(Some("null")));
    }
}
