//! API keys beside the first, and what each may do.

use std::fmt;

use http::{HeaderMap, Method, Request, header};

use crate::Options;
use crate::api::segments;
use crate::error::ApiError;

/// What a key may do. All may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyScope {
    /// Pay invoices and set what they are charged with; it ends no subscription.
    Billing,
    /// Open portal sessions: it takes no money and changes nothing else.
    Portal,
}

/// A restricted key.
#[derive(Clone)]
pub struct ApiKey {
    pub secret: String,
    pub scope: KeyScope,
}

/// Without the secret.
impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey")
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

impl KeyScope {
    fn allows(self, method: &Method, path: &str) -> bool {
        if method == Method::GET {
            return true;
        }
        let path = segments(path);
        match self {
            Self::Portal => path == ["v1", "billing_portal", "sessions"] && method == Method::POST,
            Self::Billing => {
                method == Method::POST
                    && matches!(
                        path.as_slice(),
                        ["v1", "invoices", _, "pay"]
                            | ["v1", "subscriptions", _]
                            | ["v1", "customers", _]
                    )
            }
        }
    }
}

/// Whether the key of a request is known, and may do what it asks for.
pub(crate) fn check<B>(options: &Options, request: &Request<B>) -> Result<(), ApiError> {
    let Some(sent) = bearer(request.headers()) else {
        return Err(ApiError::unauthorized("You did not provide an API key."));
    };
    if sent == options.api_key {
        return Ok(());
    }
    let Some(key) = options.more_keys.iter().find(|key| key.secret == sent) else {
        return Err(ApiError::unauthorized("Invalid API Key provided."));
    };
    match key.scope.allows(request.method(), request.uri().path()) {
        true => Ok(()),
        false => Err(ApiError::not_permitted()),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let sent = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    sent.strip_prefix("Bearer ")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use chrono::DateTime;

    use super::*;
    use crate::Sandbox;

    fn status(method: &str, path: &str, key: &str) -> u16 {
        let key_of = |secret: &str, scope| ApiKey {
            secret: secret.to_owned(),
            scope,
        };
        let sandbox = Sandbox::new(Options {
            more_keys: vec![
                key_of("rk_billing", KeyScope::Billing),
                key_of("rk_portal", KeyScope::Portal),
            ],
            ..Options::default()
        });
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {key}"))
            .body(Bytes::new())
            .unwrap();
        sandbox
            .call(request, DateTime::UNIX_EPOCH)
            .status()
            .as_u16()
    }

    // 403 is the key's answer; 404 and 400 come from behind it.
    #[test]
    fn a_restricted_key_does_only_what_it_is_for() {
        let pay = "/v1/invoices/in_1/pay";
        let portal = "/v1/billing_portal/sessions";
        let end = "/v1/subscriptions/sub_1";
        assert_eq!(status("POST", pay, "rk_portal"), 403);
        assert_eq!(status("POST", end, "rk_portal"), 403);
        assert_eq!(status("POST", portal, "rk_portal"), 400);
        assert_eq!(status("GET", "/v1/invoices/in_1", "rk_portal"), 404);
        assert_eq!(status("POST", pay, "rk_billing"), 404);
        assert_eq!(status("POST", portal, "rk_billing"), 403);
        assert_eq!(status("POST", "/v1/refunds", "rk_billing"), 403);
        assert_eq!(status("DELETE", end, "rk_billing"), 403);
        assert_eq!(status("DELETE", end, "rk_test_sandbox"), 404);
        assert_eq!(status("GET", end, "rk_nobodys"), 401);
    }
}
