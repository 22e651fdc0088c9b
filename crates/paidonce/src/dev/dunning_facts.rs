//! What dunning's log says, as lines in the terminal.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use paidonce_core::dunning::LogRow;
use paidonce_core::local_time::human;

/// `retry planned for Tue 1 Dec 10:00, sub_1`. Nothing for what another line tells: a mail has a line
/// of its own, and the orders and claims before it are no facts about money.
pub(crate) fn dunning_fact(row: &LogRow, zone: Tz) -> Option<String> {
    if row.event.starts_with("email_") && row.event != "email_not_sent" {
        return None;
    }
    let what = row.event.replace('_', " ");
    let when = planned(row).map(|at| format!(" for {}", human(at, zone)));
    let states = match (row.before.as_deref(), row.after.as_deref()) {
        (Some(before), Some(after)) if before != after => format!(": {before} → {after}"),
        (None, Some(after)) => format!(": {after}"),
        (Some(_), Some(_) | None) | (None, None) => String::new(),
    };
    let charge = charge(row).map(|said| format!(" ({said})"));
    Some(format!(
        "{what}{}{states}{}, {}",
        when.unwrap_or_default(),
        charge.unwrap_or_default(),
        row.subscription_id
    ))
}

/// How much, and what the bank said: nothing for what is not about a charge.
fn charge(row: &LogRow) -> Option<String> {
    if row.event == "retry_planned" || row.event.starts_with("access_") {
        return None;
    }
    let amount = row.amount.map(|amount| amount.display());
    // The code stays on the row until the next charge: it is news only where one has just failed.
    let said = match row.event.as_str() {
        "retry_failed" | "looked" => row.failure_code.as_ref().or(row.result.as_ref()),
        _ => None,
    };
    let parts: Vec<String> = amount.into_iter().chain(said.cloned()).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// When the plan that the row tells of is for.
fn planned(row: &LogRow) -> Option<DateTime<Utc>> {
    if row.event != "retry_planned" {
        return None;
    }
    row.set.get("plan")?.get("at")?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(event: &str, more: &serde_json::Value) -> LogRow {
        let mut row = json!({"subscription_id": "sub_1", "ts": "", "at": "2026-11-30T09:01:00Z",
            "month": "2026-11#0", "event": event, "why": "", "who": "dunr-webhook",
            "correlation_id": "", "causation_id": ""});
        for (field, value) in more.as_object().unwrap() {
            row[field] = value.clone();
        }
        serde_json::from_value(row).unwrap()
    }

    fn told(event: &str, more: &serde_json::Value) -> Option<String> {
        dunning_fact(&row(event, more), Tz::Europe__London)
    }

    #[test]
    fn a_fact_has_its_amount_its_change_of_state_and_what_was_said() {
        let failed = json!({"amount": {"amount": 2000, "currency": "GBP"}, "before": "active",
            "after": "retrying"});
        let line = "charge failed: active → retrying (£20.00), sub_1";
        assert_eq!(told("charge_failed", &failed).as_deref(), Some(line));
        let declined = json!({"before": "retrying", "after": "retrying",
            "failure_code": "insufficient_funds", "result": "declined"});
        let line = "retry failed (insufficient_funds), sub_1";
        assert_eq!(told("retry_failed", &declined).as_deref(), Some(line));
    }

    #[test]
    fn a_plan_says_when_on_the_wall_clock() {
        let plan = json!({"set": {"plan": {"at": "2026-12-01T10:00:00Z"}}});
        let line = "retry planned for Tue 1 Dec 10:00, sub_1";
        assert_eq!(told("retry_planned", &plan).as_deref(), Some(line));
    }

    #[test]
    fn a_mail_has_a_line_of_its_own() {
        for event in ["email_ordered", "email_claimed", "email_sent"] {
            assert_eq!(told(event, &json!({})), None, "{event}");
        }
        assert!(told("email_not_sent", &json!({})).is_some());
    }
}
