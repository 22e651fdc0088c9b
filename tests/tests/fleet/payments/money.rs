//! Events about sessions and their money, and the case that each of them may end in.

use fleet_tests::{Booked, Town, session_event};
use serde_json::{Value, json};

use crate::payments::support::case;

/// A session event about a booking; `object` replaces what matters.
pub(crate) fn about(town: &Town, booked: &Booked, kind: &str, id: &str, object: &Value) -> Value {
    let mut whole = json!({"id": "cs_1", "metadata": {"booking_id": booked.id},
        "payment_intent": "pi_1", "amount_total": 2000, "currency": "gbp"});
    for (field, value) in object.as_object().unwrap() {
        whole[field] = value.clone();
    }
    session_event(town, kind, id, &whole)
}

pub(crate) fn completed(town: &Town, booked: &Booked, id: &str, object: &Value) -> Value {
    about(town, booked, "checkout.session.completed", id, object)
}

pub(crate) async fn take(town: &Town, event: &Value) {
    let answer = town.webhook(event).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    town.settle().await;
}

/// The one case of `reason`: its only entry has `facts`, and its only mail has all of `words`.
pub(crate) fn assert_one_case(
    town: &Town,
    reason: &str,
    subject: &str,
    facts: &Value,
    words: &[&str],
) {
    assert_eq!(town.cases(), [reason]);
    let case = case(town, reason);
    assert_eq!(case["subject"], subject);
    let entries = case["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    for (name, value) in facts.as_object().unwrap() {
        assert_eq!(entries[0]["facts"][name], *value, "{name}");
    }
    assert!(entries[0]["mailed_at"].is_string());
    let mails = town.mails();
    assert_eq!(mails.len(), 1);
    for word in words.iter().copied().chain([subject, reason]) {
        assert!(mails[0].text.contains(word), "{word} in {}", mails[0].text);
    }
}

pub(crate) fn gbp(amount: i64) -> Value {
    json!({"amount": amount, "currency": "GBP"})
}
