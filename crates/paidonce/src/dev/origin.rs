//! Keeps other web sites from steering the fleet through the developer's own browser.

use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use lambda_kit::Problem;

use super::answer::Refusal;

/// Refuses what a page of another origin sends; command-line tools name no origin.
pub(crate) async fn only_own(request: Request, next: Next) -> Response {
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_reading || is_own(request.headers()) {
        return next.run(request).await;
    }
    let detail = "A page of another origin may not do this.";
    Refusal::from(Problem::new(403, "other_origin", detail)).into_response()
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
