//! The sandbox on a socket of this machine, with a clock that can be moved from outside.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use sandbox::{Endpoint, Options, Sandbox};
use serde_json::{Value, json};

const BODY_BYTES_MAX: usize = 256 * 1024;

/// What the dunning's endpoint signs with.
pub(crate) const DUNNING_SECRET: &str = "whsec_dunning";

/// The sandbox, and how far its clock is ahead of the real one.
struct Served {
    sandbox: Sandbox,
    ahead: Mutex<TimeDelta>,
}

impl Served {
    /// The clients compare signatures with the clock of their machine, so that is where it starts.
    #[expect(
        clippy::disallowed_methods,
        reason = "the client in another process reads the same clock"
    )]
    fn now(&self) -> DateTime<Utc> {
        Utc::now() + *self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves a new sandbox until the runtime ends, and returns where.
///
/// Beside the provider's own paths, `POST /clock/{seconds}` moves the clock and `GET /due` takes
/// the webhooks that are due, as a list of `function`, `signature` and `body`.
pub(crate) async fn serve() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = Options {
        base_url: format!("http://{address}"),
        pages_url: format!("http://{address}/pay"),
        webhook_events: vec!["checkout.session.completed".to_owned()],
        more_endpoints: vec![Endpoint {
            function: "dunr-webhook".to_owned(),
            url: format!("http://{address}/url/dunr-webhook/"),
            signing_secrets: vec!["whsec_old".to_owned(), DUNNING_SECRET.to_owned()],
            enabled_events: vec!["*".to_owned()],
        }],
        ..Options::default()
    };
    let served = Arc::new(Served {
        sandbox: Sandbox::new(options),
        ahead: Mutex::new(TimeDelta::zero()),
    });
    let router = Router::new()
        .route("/clock/{seconds}", post(move_clock))
        .route("/due", get(take_due))
        .fallback(answer)
        .with_state(served);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

async fn move_clock(
    State(served): State<Arc<Served>>,
    axum::extract::Path(seconds): axum::extract::Path<i64>,
) {
    let mut ahead = served.ahead.lock().unwrap_or_else(PoisonError::into_inner);
    *ahead += TimeDelta::seconds(seconds);
}

async fn take_due(State(served): State<Arc<Served>>) -> String {
    let now = served.now();
    let due = served.sandbox.take_due(now).into_iter().map(|delivery| {
        served.sandbox.delivered(&delivery.id, 200, now);
        let header = &delivery.request.headers()["stripe-signature"];
        json!({
            "function": delivery.function,
            "signature": header.to_str().unwrap(),
            "body": String::from_utf8(delivery.request.body().to_vec()).unwrap(),
        })
    });
    Value::Array(due.collect()).to_string()
}

async fn answer(State(served): State<Arc<Served>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = to_bytes(body, BODY_BYTES_MAX).await.unwrap();
    let request = http::Request::from_parts(parts, body);
    let response = if request.uri().path().starts_with("/pay/") {
        served.sandbox.page(request, served.now())
    } else {
        served.sandbox.call(request, served.now())
    };
    response.map(Body::from)
}
