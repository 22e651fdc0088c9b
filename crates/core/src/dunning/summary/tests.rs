use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use expect_test::expect;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn london(month: &str) -> MonthWindow {
    MonthWindow::named(month, Tz::Europe__London).unwrap()
}

fn line(subscription: &str, ts: &str, event: &str, more: Value) -> MonthLine {
    let mut row = json!({"subscription_id": subscription, "ts": format!("{ts}#000001#01"), "event": event,
        "after": "retrying"});
    for (name, value) in more.as_object().unwrap() {
        row[name] = value.clone();
    }
    serde_json::from_value(row).unwrap()
}

/// A row about invoice `in_{subscription}` of £20.
fn about(subscription: &str, day: u32, event: &str, more: Value) -> MonthLine {
    let mut all = json!({"invoice_id": format!("in_{subscription}"), "amount": {"amount": 2000, "currency": "GBP"}});
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    line(
        subscription,
        &format!("2026-11-{day:02}T10:00:00.000Z"),
        event,
        all,
    )
}

fn sum(lines: &[MonthLine]) -> Summary {
    summarise(&london("2026-11"), lines).unwrap()
}

/// Everything that may come of an invoice, once each.
fn a_month() -> Vec<MonthLine> {
    let code = |code: &str| json!({"failure_code": code});
    let mut lines = Vec::new();
    let subscriptions = [
        ("ours", "insufficient_funds"),
        ("customer", "expired_card"),
        ("provider", "insufficient_funds"),
        ("cash", "insufficient_funds"),
        ("late", "generic_decline"),
        ("unsure", "generic_decline"),
        ("written", "stolen_card"),
        ("paused", "insufficient_funds"),
        ("open", "insufficient_funds"),
    ];
    for (subscription, word) in subscriptions {
        lines.push(about(
            subscription,
            2,
            "charge_failed",
            json!({"failure_code": "of_before"}),
        ));
        lines.push(about(subscription, 3, "looked", code(word)));
    }
    let ended = |how: &str| json!({"result": how, "after": "recovered"});
    let n = |n: u32, result: &str| json!({"attempt_no": n, "result": result, "after": "recovered"});
    lines.extend([
        about("ours", 4, "retry_attempted", json!({"attempt_no": 1})),
        about(
            "ours",
            4,
            "retry_attempted",
            json!({"attempt_no": 1, "result": "resumed"}),
        ),
        about("ours", 5, "retry_succeeded", n(1, "captured")),
        about("customer", 5, "invoice_ended", ended("paid_by_customer")),
        about("provider", 5, "invoice_ended", ended("paid_by_provider")),
        about("cash", 5, "invoice_ended", ended("out_of_band")),
        about("late", 5, "retry_attempted", json!({"attempt_no": 4})),
        about("late", 6, "invoice_ended", ended("paid")),
        about("late", 7, "retry_succeeded", n(4, "captured")),
        about("unsure", 6, "retry_attempted", json!({"attempt_no": 2})),
        about(
            "unsure",
            7,
            "retry_unanswered",
            json!({"attempt_no": 2, "result": "unanswered"}),
        ),
        about("unsure", 8, "invoice_ended", ended("paid")),
        about("written", 9, "invoice_ended", ended("uncollectible")),
        about("paused", 9, "retry_attempted", json!({"attempt_no": 7})),
        about(
            "paused",
            10,
            "access_paused",
            json!({"attempt_no": 7, "result": "insufficient_funds",
            "failure_code": "insufficient_funds", "after": "paused"}),
        ),
        line(
            "shut",
            "2026-11-11T10:00:00.000Z",
            "access_paused",
            json!({}),
        ),
        line("left", "2026-11-11T10:00:00.000Z", "cancelled", json!({})),
        line(
            "ours",
            "2026-11-12T10:00:00.000Z",
            "email_sent",
            json!({"result": "failed"}),
        ),
        line(
            "open",
            "2026-11-12T10:00:00.000Z",
            "email_not_sent",
            json!({"result": "unanswered"}),
        ),
        line(
            "open",
            "2026-11-12T11:00:00.000Z",
            "email_not_sent",
            json!({"result": "failed"}),
        ),
        line(
            "open",
            "2026-11-12T12:00:00.000Z",
            "a_word_of_later",
            json!({}),
        ),
    ]);
    lines
}

#[test]
fn each_invoice_is_credited_once_and_to_whom_it_is_due() {
    let summary = sum(&a_month());
    let counts = [
        summary.failed.invoices,
        summary.recovered_by_us.invoices,
        summary.paid_by_customer.invoices,
        summary.paid_by_provider.invoices,
        summary.paid_out_of_band.invoices,
        summary.paid_by_unknown.invoices,
        summary.written_off.invoices,
        summary.still_open.invoices,
    ];
    assert_eq!(counts, [9, 2, 1, 1, 1, 1, 1, 2]);
    assert_eq!(summary.recovered_by_us.value[0].display(), "£40.00");
    let charges = &summary.charges;
    assert_eq!(
        (
            charges.made,
            charges.succeeded,
            charges.declined,
            charges.unanswered
        ),
        (4, 2, 1, 1)
    );
    assert_eq!((summary.mails.sent, summary.mails.unanswered), (1, 1));
    let subscriptions = (
        summary.paused,
        summary.paused_by_operators,
        summary.cancelled,
    );
    assert_eq!(subscriptions, (1, 1, 1));
}

#[test]
fn the_recovery_rate_is_told_for_each_decline() {
    let lines: Vec<String> = sum(&a_month())
        .by_code
        .iter()
        .map(|it| {
            format!(
                "{} failed {} ours {} otherwise {} open {} rate {}%\n",
                it.code,
                it.failed,
                it.recovered_by_us,
                it.paid_otherwise,
                it.still_open,
                it.recovered_by_us_percent
            )
        })
        .collect();
    expect![[r#"
        expired_card failed 1 ours 0 otherwise 1 open 0 rate 0%
        generic_decline failed 2 ours 1 otherwise 1 open 0 rate 50%
        insufficient_funds failed 5 ours 1 otherwise 2 open 2 rate 20%
        stolen_card failed 1 ours 0 otherwise 0 open 0 rate 0%
    "#]]
    .assert_eq(&lines.concat());
}

#[test]
fn what_was_paid_while_our_charge_was_declined_is_not_ours() {
    let summary = sum(&[
        about(
            "a",
            5,
            "invoice_ended",
            json!({"result": "paid", "after": "recovered"}),
        ),
        about(
            "a",
            6,
            "retry_failed",
            json!({"attempt_no": 1, "result": "card_declined", "after": "recovered"}),
        ),
    ]);
    assert_eq!(summary.paid_by_customer.invoices, 1);
    assert_eq!(
        (
            summary.paid_by_unknown.invoices,
            summary.recovered_by_us.invoices
        ),
        (0, 0)
    );
}

#[test]
fn a_late_row_about_an_invoice_of_last_month_opens_nothing() {
    let summary = sum(&[about(
        "a",
        6,
        "retry_failed",
        json!({"attempt_no": 1, "after": "recovered"}),
    )]);
    assert_eq!(summary.still_open.invoices, 0);
}

#[test]
fn currencies_are_never_added_up() {
    let euro = json!({"amount": {"amount": 500, "currency": "EUR"}});
    let summary = sum(&[
        about("a", 2, "charge_failed", json!({})),
        about("b", 2, "charge_failed", euro),
        about("c", 2, "charge_failed", json!({})),
    ]);
    let values: Vec<String> = summary.failed.value.iter().map(|it| it.display()).collect();
    assert_eq!(values, ["€5.00", "£40.00"]);
}

#[test]
fn an_empty_month_is_empty() {
    assert!(sum(&[]).is_empty());
    assert!(!sum(&a_month()).is_empty());
}

#[test]
fn a_month_is_the_businesss_own_and_its_first_hour_lies_in_a_neighbouring_partition() {
    // In July London is an hour ahead: its month begins on the last evening of June in UTC.
    let july = london("2026-07");
    let kept = [
        "2026-06-30T22:59:59.999Z#1",
        "2026-06-30T23:00:00.000Z#1",
        "2026-07-31T22:59:59.999Z#1",
        "2026-07-31T23:00:00.000Z#1",
    ]
    .map(|ts| july.has(ts));
    assert_eq!(kept, [false, true, true, false]);
    let partitions = july.partitions();
    assert_eq!(partitions.len(), 8);
    assert_eq!(
        (partitions[0].as_str(), partitions[4].as_str()),
        ("2026-06#0", "2026-07#0")
    );
    assert_eq!(
        london("2026-11").partitions(),
        ["2026-11#0", "2026-11#1", "2026-11#2", "2026-11#3"]
    );
}

#[test]
fn the_month_before_is_the_last_whole_one() {
    let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    let before = |text: &str| MonthWindow::before(at(text), Tz::Europe__London).unwrap();
    assert_eq!(before("2026-12-07T09:00:00Z").month(), "2026-11");
    assert_eq!(before("2027-01-04T09:00:00Z").month(), "2026-12");
    // Still June in UTC, July already in London.
    assert_eq!(before("2026-06-30T23:30:00Z").month(), "2026-06");
    assert!(before("2026-12-07T09:00:00Z").is_over(at("2026-12-01T00:00:00Z")));
    for wrong in ["2026-13", "2026-1", "November", "", "2026-11-01"] {
        assert_eq!(MonthWindow::named(wrong, Tz::UTC), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn the_order_and_the_repetition_of_rows_change_nothing(order in Just(a_month()).prop_shuffle(), twice in 0_usize..30) {
        let mut lines = order.clone();
        lines.extend(order.get(..twice).unwrap_or_default().iter().cloned());
        prop_assert_eq!(sum(&lines), sum(&order));
    }
}
