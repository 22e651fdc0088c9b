//! The provider's events, made and signed by hand: what a story posts is up to it.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};

use crate::{Answer, Booked, Town};

pub const SIGNING_SECRET_NAME: &str = "bdc-signing-key";

/// A `checkout.session.completed` that pays the deposit of a booking in full.
pub fn deposit_paid(town: &Town, booked: &Booked, event_id: &str, payment_ref: &str) -> Value {
    session_event(
        town,
        "checkout.session.completed",
        event_id,
        &json!({
            "client_reference_id": booked.id,
            "metadata": {"booking_id": booked.id},
            "payment_intent": payment_ref,
            "amount_total": booked.answer["deposit"]["amount"],
        }),
    )
}

/// An event about a session; `object` replaces the fields that matter.
pub fn session_event(town: &Town, kind: &str, event_id: &str, object: &Value) -> Value {
    let mut session = json!({
        "id": "cs_test_story", "object": "checkout.session", "status": "complete",
        "payment_status": "paid", "currency": "gbp", "amount_total": 2000,
        "client_reference_id": null, "metadata": {}, "payment_intent": null, "livemode": false,
    });
    for (field, value) in object.as_object().unwrap() {
        session[field] = value.clone();
    }
    json!({
        "id": event_id, "object": "event", "type": kind, "api_version": "2026-07-29.dahlia",
        "created": town.now().timestamp(), "livemode": false, "pending_webhooks": 1,
        "data": {"object": session}, "request": {"id": null, "idempotency_key": null},
    })
}

impl Town {
    /// Posts an event, signed now with the current secret.
    pub async fn webhook(&self, event: &Value) -> Answer {
        let body = serde_json::to_string_pretty(event).unwrap();
        let header = self.signature(body.as_bytes());
        self.post_event(body.as_bytes(), &header).await
    }

    /// The signature header for a body, made now with the current secret.
    pub fn signature(&self, body: &[u8]) -> String {
        let secrets = self.fleet.cloud.secrets();
        let secret = secrets[SIGNING_SECRET_NAME].as_str();
        paidonce_core::signature::sign(body, &[secret], self.now())
    }

    /// Posts bytes with a signature header of the story's own.
    pub async fn post_event(&self, body: &[u8], header: &str) -> Answer {
        let request = Request::post("/")
            .header("content-type", "application/json; charset=utf-8")
            .header("stripe-signature", header)
            .body(Bytes::copy_from_slice(body))
            .unwrap();
        self.request("bdc-webhook", request).await
    }
}
