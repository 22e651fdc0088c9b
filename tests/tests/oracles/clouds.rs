//! Two other imitations of AWS, moto and ministack, are told the same calls as the local cloud, by
//! AWS's own Python SDK; then all answers are compared.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::post;
use chrono::TimeDelta;
use local_cloud::{LocalCloud, Options};

use crate::asked::{Oracle, last_word};

/// Tables, queues and a group of schedules in the shape of the fleet's; all three are built from it.
const TEMPLATE: &str = include_str!("clouds/template.json");
const POLICY: &str = "everything";
const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// A new local cloud.
pub(crate) fn cloud() -> LocalCloud {
    let options = Options {
        parameters: [].into(),
        base_url: "http://127.0.0.1:8787".to_owned(),
        start: "2027-03-01T09:00:00Z".parse().unwrap(),
        seed: 1,
        state: None,
    };
    LocalCloud::from_template(TEMPLATE, options).unwrap()
}

/// Serves a new local cloud until the runtime ends, and returns where.
///
/// Beside AWS's own paths, `POST /_clock/{seconds}` moves the clock.
async fn serve() -> String {
    let cloud = cloud();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new()
        .route("/_clock/{seconds}", post(move_clock))
        .fallback(answer)
        .with_state(Arc::new(cloud));
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

async fn move_clock(State(cloud): State<Arc<LocalCloud>>, Path(seconds): Path<i64>) {
    cloud.advance(TimeDelta::seconds(seconds)).await;
}

async fn answer(State(cloud): State<Arc<LocalCloud>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap();
    let request = http::Request::from_parts(parts, body);
    cloud.call_aws(&[POLICY], request).map(Body::from)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_other_imitations_of_aws_answer_as_the_local_cloud_does() {
    let oracle = Oracle::clouds("import botocore, moto.moto_server, ministack");
    let address = serve().await;
    if let Some(told) = last_word(oracle, "clouds/compare.py", vec![address]).await {
        assert_eq!(told, "0 unknown disagreements, 0 entries not seen");
    }
}
