//! What the stories of the gatekeeper have in common.

use bytes::Bytes;
use chrono::Utc;
use chrono::{DateTime, TimeDelta};
use fleet_tests::{Answer, Subscriber, Town};
use http::Request;
use paidonce_core::dunning::policy::{BUILT_IN, Policy};
use paidonce_core::dunning::{Access, AccessBy, Dunning, Status};
use paidonce_core::step::{Step, Written, write};
use serde_json::json;
use ulid::Ulid;

pub const MONDAY: &str = "2026-11-30T09:00:00Z";

/// A subscription by its id: the gatekeeper knows no more of it.
pub fn subscription(id: &str) -> Subscriber {
    Subscriber {
        customer_id: "cus_1".to_owned(),
        subscription_id: id.to_owned(),
        payment_method: "pm_1".to_owned(),
    }
}

/// A row as the other functions leave it.
pub fn row(
    id: &str,
    status: Status,
    access: Option<(Access, AccessBy)>,
    now: DateTime<Utc>,
) -> Dunning {
    let terms = Policy::from_json(BUILT_IN).unwrap().terms;
    let mut row = Dunning::new(id, "cus_1", terms, now);
    row.status = status;
    row.version = 1;
    row.access = access.map(|(access, _)| access);
    row.access_by = access.map(|(_, by)| by);
    if matches!(status, Status::Retrying | Status::Paused) {
        let open = json!({"amount": {"amount": 2000, "currency": "GBP"}, "created": now,
            "failed_at": now, "hosted_url": null, "known": true, "exhausted": status == Status::Paused});
        let open = serde_json::from_value(open).unwrap();
        row.invoices.insert("in_1".to_owned(), open);
        row.invoice_id = Some("in_1".to_owned());
    }
    row.paused_at = (status == Status::Paused).then(|| now - TimeDelta::days(1));
    row
}

/// A town with these rows.
pub async fn town_with(rows: impl IntoIterator<Item = Dunning>) -> Town {
    let town = Town::at(MONDAY);
    for row in rows {
        let id = Ulid::from_parts(1, u128::from(rand_of(&row.subscription_id)));
        let step = Step::new(id, "test", town.now()).create_subject("dunr-dunning", &row);
        let written = write(&town.fleet.cloud.dynamodb(), &step).await.unwrap();
        assert!(matches!(written, Written::Applied));
    }
    town
}

/// A number that is another one for each id.
fn rand_of(id: &str) -> u64 {
    id.bytes()
        .fold(7, |sum, byte| sum * 31 % 1_000_003 + u64::from(byte))
}

/// A town with one paused subscription `sub_1`.
pub async fn town_with_paused() -> (Town, Subscriber) {
    let now = MONDAY.parse().unwrap();
    let paused = Some((Access::Paused, AccessBy::Retrier));
    let town = town_with([row("sub_1", Status::Paused, paused, now)]).await;
    (town, subscription("sub_1"))
}

/// Any request, with a token or without.
pub async fn ask(town: &Town, method: &str, path: &str, token: Option<&str>, body: &str) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Bytes::from(body.to_owned())).unwrap();
    town.request("dunr-gatekeeper", request).await
}
