//! A subscription's dunning in plain words, for an operator: how it stands, what happened and by which
//! rule, what follows and why, and what a person must do. It names no person.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};

use super::mail::{Mail, MailKind, MailState};
use super::{Access, AccessBy, CaseReason, Debt, Dunning, LogRow, Plan, Purpose, Status};
use crate::local_time::{human, stamp};

/// Explains a row and its log, the oldest row first. The text ends with a line break.
pub fn explain(row: &Dunning, log: &[LogRow], now: DateTime<Utc>) -> String {
    let mut text = String::new();
    let sections = [
        standing(row),
        invoices(row),
        cases(row),
        next(row, now),
        mails(row),
        history(log),
    ];
    for section in sections.into_iter().filter(|section| !section.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&section);
    }
    text
}

/// A heading and its lines; nothing if there are none.
fn section(heading: &str, lines: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for line in lines {
        if text.is_empty() {
            text.push_str(heading);
            text.push('\n');
        }
        // A line is one line, whatever a rule or a code says.
        let clean = line.replace(char::is_control, " ");
        let _ = writeln!(text, "  {clean}");
    }
    text
}

fn standing(row: &Dunning) -> String {
    let heading = format!(
        "Subscription {} of customer {}",
        row.subscription_id, row.customer_id
    );
    let mut lines = vec![
        format!("status   {}{}", row.status.as_str(), why_status(row)),
        format!("access   {}, {}", row.access().as_str(), who_said(row)),
    ];
    if let Some(why) = &row.closed {
        lines.push(format!("closed   nothing more is done of ourselves: {why}"));
    }
    if let Some(attempt) = &row.attempt {
        lines.push(format!(
            "charge   {} of {} is open since {}, key {}: never failed by a timer, the provider is asked",
            attempt.n,
            attempt.amount,
            stamp(attempt.claimed_at),
            attempt.key
        ));
    }
    section(&heading, lines)
}

fn why_status(row: &Dunning) -> String {
    let since = |at: Option<DateTime<Utc>>| at.map(|at| format!(" since {}", stamp(at)));
    match row.status {
        Status::Retrying => since(row.entered_dunning_at).unwrap_or_default(),
        Status::Paused => since(row.paused_at).unwrap_or_default(),
        Status::Active => ": nothing is overdue".to_owned(),
        Status::Recovered => ": what was open is paid".to_owned(),
        Status::Cancelled => ": the provider says that it has ended".to_owned(),
    }
}

fn who_said(row: &Dunning) -> &'static str {
    match (row.access_by, row.access()) {
        (Some(AccessBy::Operator), _) => {
            "an operator said so; `release` leaves it to the rules again"
        }
        (_, Access::Paused) => "since no date of the calendar follows for what is open",
        (_, Access::Granted) => "by the rules: only after the last date it is paused",
    }
}

fn invoices(row: &Dunning) -> String {
    section(
        "Invoices",
        row.invoices.iter().map(|(id, debt)| invoice(row, id, debt)),
    )
}

fn invoice(row: &Dunning, id: &str, debt: &Debt) -> String {
    let mut line = format!("{id}  {}, failed {}", debt.amount, stamp(debt.failed_at));
    if let Some(end) = &debt.end {
        let _ = write!(line, "; {} at {}", end.how.as_str(), stamp(end.at));
        return line;
    }
    let _ = write!(
        line,
        "; {} of {} dates used",
        debt.steps_used, row.max_attempts
    );
    if let Some(verdict) = &debt.verdict {
        let _ = write!(line, "; {verdict}");
    }
    if let Some(block) = &debt.block {
        let _ = write!(line, "; not charged as it is: {}", block.class.as_str());
    }
    if let Some(until) = debt.not_before {
        let _ = write!(line, "; not before {}", stamp(until));
    }
    if let Some(at) = debt.provider_retries_at {
        let _ = write!(
            line,
            "; THE PROVIDER RETRIES IT TOO, at {}: switch its own retries off",
            stamp(at)
        );
    }
    line
}

fn cases(row: &Dunning) -> String {
    let line = |(reason, since): (&CaseReason, &DateTime<Utc>)| {
        format!(
            "{}, since {}: {}",
            reason.as_str(),
            stamp(*since),
            case_words(*reason).1
        )
    };
    section("A person must look", row.cases.iter().map(line))
}

/// What happened, and what a person does about it.
pub fn case_words(reason: CaseReason) -> (&'static str, &'static str) {
    match reason {
        CaseReason::Fraud => (
            "The bank takes a charge for fraud. The customer was told that another card is needed, and nothing of this.",
            "Look at the customer and the charge at the provider. Don't tell the customer the bank's reason.",
        ),
        CaseReason::PaidAfterCancellation => (
            "Money came for a subscription that had ended.",
            "Decide whether to reinstate it or to give the money back, and do it at the provider.",
        ),
        CaseReason::AmountTooSmall => (
            "What is open is less than the provider takes.",
            "Put it on the next invoice, or write it off at the provider.",
        ),
        CaseReason::ChargeRefused => (
            "The provider refused a charge for a reason that is no decline. It is tried again on the next date, if there is one.",
            "Look the invoice up at the provider, and put the reason right.",
        ),
        CaseReason::NoHolidayData => (
            "There is no bank holiday data for a date that had to be counted.",
            "Bring the data up to date; until then this invoice is not charged.",
        ),
        CaseReason::NobodyToWriteTo => (
            "No mail address is left that takes our mail: there is none, or it came back, or its reader complained.",
            "Reach the customer by other means, and put another address on the customer at the provider.",
        ),
        CaseReason::ChargeUnanswered => (
            "The provider does not say what became of a charge, or does not make it. A charge without an answer is neither repeated nor given up.",
            "Look the invoice up at the provider.",
        ),
        CaseReason::MailUnanswered => (
            "A mail may or may not have reached the customer. It is not sent again.",
            "Write to the customer by hand if it matters.",
        ),
        CaseReason::TooManyInvoices => (
            "More invoices of this subscription are open than are followed. The newest are left alone.",
            "Decide at the provider what is still owed, and void or write off the rest.",
        ),
        CaseReason::Abandoned => (
            "Invoices were left alone for being too old while a charge of them was still to come.",
            "Look at what kept them from being charged, and decide about them at the provider.",
        ),
        CaseReason::TooManyCards => (
            "The customer gave more new cards than are tried for one failure. The latest was not charged.",
            "Charge the invoice at the provider if the card is good.",
        ),
    }
}

fn next(row: &Dunning, now: DateTime<Utc>) -> String {
    let mut lines = Vec::new();
    match &row.plan {
        Some(plan) => lines.push(planned(row, plan, now)),
        None if row.wants_plan() => {
            lines.push("nothing is planned yet: the scheduler's order is on its way".to_owned());
        }
        None => lines.push("nothing is planned".to_owned()),
    }
    if let Some(at) = row.reping_at() {
        lines.push(format!("{}: the customer is reminded", stamp(at)));
    }
    if let Some(at) = row.horizon().filter(|_| row.closed.is_none()) {
        lines.push(format!("{}: given up, if it is still open then", stamp(at)));
    }
    section("What follows", lines)
}

fn planned(row: &Dunning, plan: &Plan, now: DateTime<Utc>) -> String {
    let what = match plan.purpose {
        Purpose::Look => "look at",
        Purpose::Charge => "charge",
        Purpose::ChargeNewCard => "charge, beside the calendar,",
    };
    let overdue = match plan.at + super::OVERDUE_AFTER < now {
        true => " OVERDUE: the daily sweep takes it up;",
        false => "",
    };
    format!(
        "{} ({} in {}): {what} {} by plan {};{overdue} {}",
        stamp(plan.at),
        human(plan.at, row.terms.zone),
        row.terms.zone.name(),
        plan.invoice_id,
        plan.n,
        plan.why
    )
}

fn mails(row: &Dunning) -> String {
    let line = |(no, mail): (&u32, &Mail)| {
        format!(
            "{no}  {}, ordered {}: {}",
            kind(mail.kind),
            stamp(mail.ordered_at),
            state(&mail.state)
        )
    };
    section("Mails", row.mails.items.iter().map(line))
}

fn kind(kind: MailKind) -> String {
    match kind {
        MailKind::Team(reason) => format!("to the team about {}", reason.as_str()),
        MailKind::Failed
        | MailKind::NewCard
        | MailKind::Approve
        | MailKind::PayByHand
        | MailKind::Paused
        | MailKind::Reminder
        | MailKind::FreshLink
        | MailKind::Receipt => kind.as_str().to_owned(),
    }
}

fn state(state: &MailState) -> String {
    match state {
        MailState::Owed => "waits to be sent".to_owned(),
        MailState::Claimed { at } => format!("being sent since {}", stamp(*at)),
        MailState::Sent { at } => format!("sent {}", stamp(*at)),
        MailState::Dropped { why } => format!("not sent: {why}"),
        MailState::Returned => "it came back, or its reader complained".to_owned(),
        MailState::Unanswered => "nobody knows whether it was sent".to_owned(),
    }
}

fn history(log: &[LogRow]) -> String {
    section("What happened", log.iter().map(happened))
}

fn happened(row: &LogRow) -> String {
    let mut line = format!("{}  {}", stamp(row.at), row.event);
    if let Some(n) = row.attempt_no {
        let _ = write!(line, " {n}");
    }
    if let Some(invoice_id) = &row.invoice_id {
        let _ = write!(line, " {invoice_id}");
    }
    if let Some(amount) = row.amount {
        let _ = write!(line, " {amount}");
    }
    if let Some(result) = &row.result {
        let _ = write!(line, " = {result}");
    }
    if row.before != row.after {
        let status = |status: &Option<String>| status.clone().unwrap_or_default();
        let _ = write!(line, " [{} -> {}]", status(&row.before), status(&row.after));
    }
    let _ = write!(line, ": {} ({})", row.why, row.who);
    line
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value, json};

    use super::*;
    use crate::dunning::policy::{BUILT_IN, Policy};

    fn row() -> Dunning {
        let now = "2026-11-30T09:00:00Z".parse().unwrap();
        let terms = Policy::from_json(BUILT_IN).unwrap().terms;
        let row = Dunning::new("sub_1", "cus_1", terms, now);
        let mut row = serde_json::to_value(row).unwrap();
        let more = json!({
            "status": "retrying", "entered_dunning_at": now, "version": 4,
            "email": "perpetua@mail.example", "name": "Perpetua Featherstone",
            "invoices": {"in_1": {"amount": {"amount": 2000, "currency": "GBP"}, "created": now,
                "failed_at": now, "hosted_url": null, "known": true, "steps_used": 1,
                "verdict": "soft by insufficient_funds (declines 2026-11)",
                "provider_retries_at": "2026-12-02T09:00:00Z"}},
            "plan": {"n": 2, "purpose": "charge", "invoice_id": "in_1", "at": "2026-12-01T10:00:00Z",
                "why": "date 2 of 4 (policy 2026-11)"},
            "mails": {"no": 2, "items": {
                "1": {"kind": "failed", "ordered_at": now, "state": {"sent": {"at": now}}},
                "2": {"kind": {"team": "fraud"}, "ordered_at": now, "state": "unanswered"}}},
            "cases": {"fraud": now},
        });
        for (name, value) in more.as_object().unwrap() {
            row[name] = value.clone();
        }
        serde_json::from_value(row).unwrap()
    }

    fn log(more: Value) -> LogRow {
        let mut row = json!({"subscription_id": "sub_1", "ts": "t", "at": "2026-11-30T09:00:00Z",
            "month": "2026-11#0", "event": "retry_failed", "why": "by a rule", "who": "dunr-retrier",
            "correlation_id": "c", "causation_id": "c"});
        for (name, value) in more.as_object().unwrap() {
            row[name] = value.clone();
        }
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn it_says_what_stands_what_happened_and_what_follows() {
        let rows = [
            log(
                json!({"event": "charge_failed", "invoice_id": "in_1", "before": "active",
                "after": "retrying", "amount": {"amount": 2000, "currency": "GBP"}}),
            ),
            log(
                json!({"attempt_no": 1, "invoice_id": "in_1", "result": "insufficient_funds",
                "before": "retrying", "after": "retrying", "why": "a rule\nand its edition"}),
            ),
        ];
        let now = "2026-11-30T12:00:00Z".parse().unwrap();
        expect![[r#"
            Subscription sub_1 of customer cus_1
              status   retrying since 2026-11-30T09:00:00Z
              access   granted, by the rules: only after the last date it is paused

            Invoices
              in_1  £20.00, failed 2026-11-30T09:00:00Z; 1 of 4 dates used; soft by insufficient_funds (declines 2026-11); THE PROVIDER RETRIES IT TOO, at 2026-12-02T09:00:00Z: switch its own retries off

            A person must look
              fraud, since 2026-11-30T09:00:00Z: Look at the customer and the charge at the provider. Don't tell the customer the bank's reason.

            What follows
              2026-12-01T10:00:00Z (Tue 1 Dec 10:00 in Europe/London): charge in_1 by plan 2; date 2 of 4 (policy 2026-11)
              2027-02-28T09:00:00Z: given up, if it is still open then

            Mails
              1  failed, ordered 2026-11-30T09:00:00Z: sent 2026-11-30T09:00:00Z
              2  to the team about fraud, ordered 2026-11-30T09:00:00Z: nobody knows whether it was sent

            What happened
              2026-11-30T09:00:00Z  charge_failed in_1 £20.00 [active -> retrying]: by a rule (dunr-retrier)
              2026-11-30T09:00:00Z  retry_failed 1 in_1 = insufficient_funds: a rule and its edition (dunr-retrier)
        "#]].assert_eq(&explain(&row(), &rows, now));
    }

    #[test]
    fn it_names_no_person() {
        let text = explain(&row(), &[], "2026-11-30T12:00:00Z".parse().unwrap());
        for personal in ["Perpetua", "mail.example", "@"] {
            assert!(!text.contains(personal), "{text}");
        }
    }

    #[test]
    fn a_plan_that_is_overdue_says_so() {
        let text = explain(&row(), &[], "2026-12-01T11:00:00Z".parse().unwrap());
        assert!(text.contains("OVERDUE"), "{text}");
    }

    #[test]
    fn who_shut_access_is_said() {
        let mut row = row();
        row.access = Some(Access::Paused);
        row.access_by = Some(AccessBy::Operator);
        let text = explain(&row, &[], row.moved_at);
        assert!(
            text.contains("access   paused, an operator said so"),
            "{text}"
        );
    }
}
