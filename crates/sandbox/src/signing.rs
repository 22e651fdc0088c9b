//! The request that carries an event, signed as the provider signs.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac};
use http::{HeaderValue, Method, Request, header};
use serde_json::Value;
use sha2::Sha256;

/// Makes the request for one attempt at `now`.
pub(crate) fn request(body: &Value, secrets: &[String], now: DateTime<Utc>) -> Request<Bytes> {
    let body = format!("{body:#}");
    let signature = signature_header(secrets, &body, now);
    let mut request = Request::new(Bytes::from(body));
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, "application/json; charset=utf-8"),
        (
            header::USER_AGENT,
            "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
        ),
        (header::ACCEPT, "*/*; q=0.5, application/xml"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Digits, commas and hex: always a header value.
    if let Ok(value) = HeaderValue::try_from(signature) {
        headers.insert("stripe-signature", value);
    }
    request
}

/// Returns `t=…,v1=…`, one `v1` per secret: there are two while a secret is being rolled.
fn signature_header(secrets: &[String], body: &str, now: DateTime<Utc>) -> String {
    let time = now.timestamp();
    let mut parts = vec![format!("t={time}")];
    for secret in secrets {
        // A MAC takes a key of any length.
        if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) {
            mac.update(format!("{time}.{body}").as_bytes());
            parts.push(format!("v1={}", hex::encode(mac.finalize().into_bytes())));
        }
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Town;

    fn paid() -> Town {
        let town = Town::default();
        let id = town.session();
        town.pay(&id, "4242424242424242");
        town
    }

    #[test]
    fn a_delivery_is_signed_when_it_is_sent_with_every_secret() {
        let town = paid();
        town.sandbox
            .set_signing_secrets(vec!["whsec_old".into(), "whsec_new".into()]);
        town.wait(50);
        let due = town.sandbox.take_due(town.now());
        let header = due[0].request.headers()["stripe-signature"]
            .to_str()
            .unwrap();
        let body = std::str::from_utf8(due[0].request.body()).unwrap();
        let time = town.now().timestamp();
        for secret in ["whsec_old", "whsec_new"] {
            let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
            mac.update(format!("{time}.{body}").as_bytes());
            let expected = format!(",v1={}", hex::encode(mac.finalize().into_bytes()));
            assert!(header.contains(&expected), "{header}");
        }
        assert!(header.starts_with(&format!("t={time},v1=")));
        assert_eq!(
            due[0].request.headers()["content-type"],
            "application/json; charset=utf-8"
        );
        assert_eq!(due[0].function, "bdc-webhook");
        assert!(body.starts_with("{\n  \""), "indented as the provider's");
    }
}
