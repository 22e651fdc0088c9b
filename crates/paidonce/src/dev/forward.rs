//! The port: what comes in goes to a function, the provider, the controls or the console.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::middleware;
use axum::response::Response;
use axum::routing::{any, get};
use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{Method, Uri};
use lambda_kit::Problem;

use super::answer::{Answered, Refusal, bytes_of, not_found};
use super::{Shared, console, control, origin};

/// What a Function URL takes; more is refused as AWS does.
const URL_BODY_BYTES_MAX: usize = 6 * 1024 * 1024;
const PROVIDER_BODY_BYTES_MAX: usize = 256 * 1024;
/// What the template calls the policy that `paidonce ops` needs.
const OPERATOR_POLICIES: [&str; 2] = ["BdcOperatorPolicy", "DunrOperatorPolicy"];

pub(crate) fn router(dev: Shared) -> Router {
    let local = Router::new()
        .route("/", get(console::show))
        .nest("/_local", control::router())
        .layer(middleware::from_fn(origin::only_own));
    let aws = Router::new()
        .route("/_aws", any(to_aws))
        .route("/_aws/", any(to_aws))
        .layer(middleware::from_fn(origin::only_tools));
    Router::new()
        .merge(local)
        .merge(aws)
        .route("/url/{function}", any(to_function))
        .route("/url/{function}/", any(to_function))
        .route("/url/{function}/{*path}", any(to_function))
        .route("/stripe/{*path}", any(to_provider))
        .route("/pay/{*id}", any(to_hosted_page))
        .fallback(async || Refusal::from(not_found()))
        .method_not_allowed_fallback(async || {
            Refusal::from(Problem::new(
                405,
                "method_not_allowed",
                "This can't be done here.",
            ))
        })
        .with_state(dev)
}

async fn to_function(State(dev): State<Shared>, request: Request) -> Answered {
    let path = request.uri().path().to_owned();
    let function = path.split('/').nth(2).unwrap_or_default().to_owned();
    let request = buffered(request, &format!("/url/{function}"), URL_BODY_BYTES_MAX).await?;
    let (method, shown) = (request.method().clone(), request.uri().path().to_owned());
    let complaints = dev.terminal.complaints();
    let response = dev.call(&function, request).await?;
    // A refusal that the function has logged is told already.
    if dev.terminal.complaints() == complaints {
        tell_refusal(&dev, &function, &method, &shown, &response);
    }
    Ok(response.map(Body::from))
}

async fn to_provider(State(dev): State<Shared>, request: Request) -> Answered {
    let request = buffered(request, "/stripe", PROVIDER_BODY_BYTES_MAX).await?;
    let (method, shown) = (request.method().clone(), request.uri().path().to_owned());
    let response = dev
        .fleet
        .sandbox
        .call(request, dev.fleet.cloud.clock().now());
    dev.activity.notify_one();
    tell_refusal(&dev, "provider", &method, &shown, &response);
    Ok(response.map(Body::from))
}

async fn to_hosted_page(
    State(dev): State<Shared>,
    Path(id): Path<String>,
    request: Request,
) -> Answered {
    let request = buffered(request, "", PROVIDER_BODY_BYTES_MAX).await?;
    let method = request.method().clone();
    let response = dev
        .fleet
        .sandbox
        .page(request, dev.fleet.cloud.clock().now());
    dev.activity.notify_one();
    tell_refusal(&dev, "provider", &method, &format!("/pay/{id}"), &response);
    Ok(response.map(Body::from))
}

/// AWS, for the operator's commands: what the template's policy for operators allows, and no more.
async fn to_aws(State(dev): State<Shared>, request: Request) -> Answered {
    let request = buffered(request, "/_aws", URL_BODY_BYTES_MAX).await?;
    let response = dev.fleet.cloud.call_aws(&OPERATOR_POLICIES, request);
    dev.activity.notify_one();
    Ok(response.map(Body::from))
}

/// The request with its whole body, and its path relative to `prefix`.
async fn buffered(
    request: Request,
    prefix: &str,
    bytes_max: usize,
) -> Result<http::Request<Bytes>, Problem> {
    let (mut parts, body) = request.into_parts();
    let body = bytes_of(body, bytes_max).await?;
    parts.uri = relative(&parts.uri, prefix).ok_or_else(not_found)?;
    Ok(http::Request::from_parts(parts, body))
}

fn relative(uri: &Uri, prefix: &str) -> Option<Uri> {
    let path = uri.path().strip_prefix(prefix)?;
    let path = if path.is_empty() { "/" } else { path };
    let text = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    text.parse::<PathAndQuery>().ok().map(Uri::from)
}

/// What went wrong from a caller's point of view is worth a line; what went well tells itself.
fn tell_refusal(dev: &Shared, who: &str, method: &Method, path: &str, response: &Response<Bytes>) {
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) {
        return;
    }
    let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap_or_default();
    let code = [&body["code"], &body["error"]["code"]]
        .into_iter()
        .find_map(|code| code.as_str())
        .map(|code| format!(" {code}"))
        .unwrap_or_default();
    dev.terminal.fact(
        who,
        &format!("{method} {path} answered {}{code}", status.as_u16()),
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fleet::{Fleet, FleetOptions};
    use paidonce_core::venue::{BUILT_IN, Venue};
    use serde_json::{Value, json};
    use tower::ServiceExt;

    use super::*;
    use crate::dev::Dev;
    use crate::dev::terminal::Terminal;

    /// A command whose clock stands still, from noon on 1 June 2026.
    struct Port(Shared);

    impl Port {
        fn open() -> Self {
            let start = "2026-06-01T12:00:00Z".parse().unwrap();
            let fleet = Fleet::start(FleetOptions::starting(start)).unwrap();
            let venue = Venue::from_json(BUILT_IN).unwrap();
            Self(Arc::new(Dev::of(fleet, venue, Terminal::silent(), 0)))
        }

        async fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
            let token = self.0.fleet.tokens().form;
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header("authorization", format!("Bearer {token}"))
                .header("content-type", "application/json")
                .body(Body::from(body.to_owned()))
                .unwrap();
            let answer = router(Arc::clone(&self.0)).oneshot(request).await.unwrap();
            let status = answer.status().as_u16();
            let body = bytes_of(answer.into_body(), 1_000_000).await.unwrap();
            (status, String::from_utf8(body.to_vec()).unwrap())
        }

        async fn json(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
            let (status, body) = self.send(method, path, body).await;
            (status, serde_json::from_str(&body).unwrap())
        }

        async fn book(&self, name: &str) -> (u16, Value) {
            let wish = json!({"resource": "table-4", "starts_at": "2026-07-11T20:00", "party": 2,
                "name": name, "phone": "07700 900123", "source": "form"});
            self.json("POST", "/url/bdc-intake/bookings", &wish.to_string())
                .await
        }
    }

    #[test]
    fn a_path_is_relative_to_the_url_and_keeps_its_escapes() {
        let relative = |uri: &str| relative(&uri.parse().unwrap(), "/url/bdc-intake").unwrap();
        assert_eq!(relative("/url/bdc-intake"), "/");
        assert_eq!(relative("/url/bdc-intake/"), "/");
        assert_eq!(
            relative("/url/bdc-intake/slots?from=2026-07-11&x=%2F"),
            "/slots?from=2026-07-11&x=%2F"
        );
        assert_eq!(relative("/url/bdc-intake/a%2Fb"), "/a%2Fb");
    }

    #[tokio::test]
    async fn a_booking_is_texted_and_let_go_a_day_later() {
        let port = Port::open();
        assert_eq!(port.book("Ada").await.0, 201);
        let day = r#"{"advance_s": 87000}"#;
        let (status, moved) = port.json("POST", "/_local/clock", day).await;
        assert_eq!(
            (status, &moved["now"]),
            (200, &json!("2026-06-02T12:10:00Z"))
        );
        let (_, sent) = port.json("GET", "/_local/messages", "").await;
        let sent = sent["messages"].as_array().unwrap();
        let kinds: Vec<_> = sent.iter().map(|message| &message["kind"]).collect();
        assert_eq!(kinds, ["deposit_request", "reminder", "released"]);
        let (_, table) = port.json("GET", "/_local/tables/bdc-bookings", "").await;
        assert_eq!(table["rows"][0]["state"], "RELEASED");
    }

    /// What an SDK sends, as far as it is read.
    async fn aws(port: &Port, target: &str, body: &str, more: &[(&str, &str)]) -> (u16, Value) {
        let service = if target.starts_with("Dynamo") {
            "dynamodb"
        } else {
            "secretsmanager"
        };
        let credential =
            format!("AWS4-HMAC-SHA256 Credential=x/20260601/eu-west-2/{service}/aws4_request");
        let mut request = Request::builder()
            .method("POST")
            .uri("/_aws/")
            .header("host", "127.0.0.1:8787")
            .header("authorization", credential)
            .header("x-amz-target", target);
        for (name, value) in more {
            request.headers_mut().unwrap().insert(
                http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let answer = router(Arc::clone(&port.0)).oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = bytes_of(answer.into_body(), 1_000_000).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn an_operators_tools_reach_what_their_policy_allows_and_a_browser_reaches_nothing() {
        let port = Port::open();
        assert_eq!(port.book("Ada").await.0, 201);
        let scan = "DynamoDB_20120810.Scan";
        let table = |name: &str| json!({ "TableName": name }).to_string();
        let (status, found) = aws(&port, scan, &table("bdc-bookings"), &[]).await;
        assert_eq!((status, &found["Count"]), (200, &json!(1)));
        let why = json!({"TableName": "dunr-dunning", "Key": {"subscription_id": {"S": "sub_1"}}});
        let get = "DynamoDB_20120810.GetItem";
        assert_eq!(aws(&port, get, &why.to_string(), &[]).await.0, 200);
        for (target, body) in [
            (scan, table("bdc-slots")),
            (
                "secretsmanager.GetSecretValue",
                json!({"SecretId": "bdc-link-key"}).to_string(),
            ),
        ] {
            let (status, refused) = aws(&port, target, &body, &[]).await;
            assert_eq!(status, 400);
            assert_eq!(refused["__type"], "AccessDeniedException", "{body}");
        }
        for header in [
            ("origin", "http://127.0.0.1:8787"),
            ("origin", "https://elsewhere.example"),
            ("sec-fetch-site", "same-origin"),
            ("host", "elsewhere.example:8787"),
        ] {
            let (status, refused) = aws(&port, scan, &table("bdc-bookings"), &[header]).await;
            assert_eq!(
                (status, &refused["code"]),
                (403, &json!("other_origin")),
                "{header:?}"
            );
        }
        let (status, refused) = port.json("POST", "/_aws/", "{}").await;
        assert_eq!((status, &refused["code"]), (403, &json!("other_origin")));
    }

    #[tokio::test]
    async fn a_foreign_name_that_leads_here_reads_nothing() {
        let port = Port::open();
        for (host, status) in [("127.0.0.1:8787", 200), ("elsewhere.example:8787", 403)] {
            for path in ["/", "/_local/secrets"] {
                let request = Request::builder().uri(path).header("host", host);
                let request = request.body(Body::empty()).unwrap();
                let answer = router(Arc::clone(&port.0)).oneshot(request).await.unwrap();
                assert_eq!(answer.status(), status, "{host} {path}");
            }
        }
    }

    #[tokio::test]
    async fn what_is_not_there_is_a_problem_document() {
        let port = Port::open();
        let asked = [
            ("GET", "/nothing", 404, "not_found"),
            ("GET", "/_local/tables/nothing", 404, "unknown_table"),
            ("DELETE", "/_local/clock", 405, "method_not_allowed"),
            ("POST", "/_local/clock", 400, "invalid_json"),
        ];
        for (method, path, status, code) in asked {
            let (answered, problem) = port.json(method, path, "").await;
            assert_eq!(
                (answered, &problem["code"]),
                (status, &json!(code)),
                "{path}"
            );
        }
    }

    #[tokio::test]
    async fn the_console_shows_a_booking_and_runs_no_markup_from_outside() {
        let port = Port::open();
        assert_eq!(port.book("<b>Ada</b>").await.0, 201);
        let (status, page) = port.send("GET", "/", "").await;
        assert_eq!(status, 200);
        assert!(page.contains("&lt;b&gt;Ada") && !page.contains("<b>Ada"));
        assert!(page.contains("PENDING") && page.contains("Pay link"));
    }
}
