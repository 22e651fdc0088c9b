use expect_test::expect;
use serde_json::json;

use super::*;

fn tally(invoices: u32, amounts: &[(i64, &str)]) -> Tally {
    let sums = amounts
        .iter()
        .map(|(amount, currency)| json!({"amount": amount, "currency": currency}));
    Tally {
        invoices,
        value: sums
            .map(|sum| serde_json::from_value(sum).unwrap())
            .collect(),
    }
}

fn november() -> Summary {
    Summary {
        month: "2026-11".into(),
        zone: "Europe/London".into(),
        failed: tally(9, &[(18_000, "GBP"), (500, "EUR")]),
        recovered_by_us: tally(4, &[(8_000, "GBP")]),
        paid_by_customer: tally(1, &[(2_000, "GBP")]),
        still_open: tally(2, &[(4_000, "GBP")]),
        paused: 1,
        by_code: vec![paidonce_core::dunning::summary::CodeLine {
            code: "insufficient_funds".into(),
            failed: 5,
            recovered_by_us: 1,
            paid_otherwise: 2,
            still_open: 2,
            recovered_by_us_percent: 20,
        }],
        ..Summary::default()
    }
}

fn checked(draft: &str) -> Result<String, Doubt> {
    check_narrative(draft, "The Anchor", &november())
}

#[test]
fn the_report_tells_the_month_in_numbers() {
    let summary = november();
    let report = report("The Anchor", &summary, &plain_narrative(&summary));
    assert_eq!(report.subject, "Failed payments in November 2026");
    expect![[r#"
        In November 2026, 9 invoices failed, worth £180.00 and €5.00. Our charges recovered 4 invoices, worth £80.00. Beside that, customers paid 1 invoice, worth £20.00. Still open: 2 invoices, worth £40.00.

        Invoices
        - Failed: 9 (£180.00 and €5.00)
        - Recovered by our charges: 4 (£80.00)
        - Paid by the customer: 1 (£20.00)
        - Taken by the provider's own retries: 0
        - Paid outside the provider: 0
        - Paid, not known by whom: 0
        - Written off: 0
        - Voided: 0
        - Covered, or too small to charge: 0
        - Still open: 2 (£40.00)

        By the bank's reason, of the invoices that failed in this month
        - insufficient_funds: 5 failed, 1 recovered by our charges (20%), 2 paid otherwise, 2 still open

        Beside that
        - Subscriptions paused: 1
        - Paused by an operator: 0
        - Subscriptions cancelled: 0
        - Given up: 0
        - Charges made: 0
        - Charges that succeeded: 0
        - Charges that were declined: 0
        - Charges without an answer: 0
        - Mails sent: 0
        - Mails without an answer: 0

        The month is counted by the clock of Europe/London. Only what our own charges took is counted as recovered by us.
    "#]]
    .assert_eq(&report.text);
    assert!(
        report
            .html
            .contains("<td>Failed</td><td align=\"right\">9</td>")
    );
}

#[test]
fn an_empty_month_says_so_and_nothing_else() {
    let summary = Summary {
        month: "2026-11".into(),
        zone: "Europe/London".into(),
        ..Summary::default()
    };
    let report = report("The Anchor", &summary, &plain_narrative(&summary));
    expect![[r#"
        No invoice failed in November 2026, and nothing else happened.

        The month is counted by the clock of Europe/London. Only what our own charges took is counted as recovered by us.
    "#]]
    .assert_eq(&report.text);
}

#[test]
fn nothing_in_a_report_can_be_markup() {
    let mut summary = november();
    summary.by_code[0].code = "<script>".into();
    let report = report("A & B <b>", &summary, "x < y");
    assert!(!report.html.contains("<script>") && !report.html.contains("<b>"));
    assert!(report.html.contains("x &lt; y"));
}

#[test]
fn the_plain_sentences_pass_their_own_check() {
    let plain = plain_narrative(&november());
    assert_eq!(checked(&plain).as_ref(), Ok(&plain));
}

#[test]
fn a_draft_with_a_number_of_its_own_is_refused() {
    let warm = "A month with 9 invoices that failed, £180.00 and €5.00 in sum; our charges recovered 4 invoices.";
    assert!(checked(warm).is_ok(), "{:?}", checked(warm));
    for draft in [
        "We recovered 44% of the money.",
        "Our charges recovered £81.00.",
        "Our charges recovered £8.",
        "In November 2026, 19 invoices failed.",
        "Our charges recovered five invoices.",
        "In October 2026, 9 invoices failed.",
        "See https://example.com for more.",
        "Recovery improved.",
        "You should call the bank.",
        "",
    ] {
        assert!(checked(draft).is_err(), "{draft}");
    }
}
