//! What the team is told of a month.

use expect_test::expect;
use local_cloud::ModelAnswer;
use serde_json::{Value, json};

use crate::dunning_summary::support::*;

#[tokio::test]
async fn on_the_first_monday_the_team_hears_of_the_month_before() {
    let town = town_with(november()).await;
    town.advance_to("2026-12-07T08:59:00Z").await;
    assert_eq!(summaries(&town), []);
    town.advance_to(TOLD).await;
    let mails = summaries(&town);
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].subject, "Failed payments in November 2026");
    expect![[r#"
        In November 2026, 3 invoices failed, worth £60.00. Our charges recovered 1 invoice, worth £20.00. Beside that, customers paid 1 invoice, worth £20.00. Still open: 1 invoice, worth £20.00.

        Invoices
        - Failed: 3 (£60.00)
        - Recovered by our charges: 1 (£20.00)
        - Paid by the customer: 1 (£20.00)
        - Taken by the provider's own retries: 0
        - Paid outside the provider: 0
        - Paid, not known by whom: 0
        - Written off: 0
        - Voided: 0
        - Covered, or too small to charge: 0
        - Still open: 1 (£20.00)

        By the bank's reason, of the invoices that failed in this month
        - expired_card: 1 failed, 0 recovered by our charges (0%), 1 paid otherwise, 0 still open
        - insufficient_funds: 2 failed, 1 recovered by our charges (50%), 0 paid otherwise, 1 still open

        Beside that
        - Subscriptions paused: 0
        - Paused by an operator: 0
        - Subscriptions cancelled: 0
        - Given up: 0
        - Charges made: 1
        - Charges that succeeded: 1
        - Charges that were declined: 0
        - Charges without an answer: 0
        - Mails sent: 0
        - Mails without an answer: 0

        The month is counted by the clock of Europe/London. Only what our own charges took is counted as recovered by us.
    "#]]
    .assert_eq(&mails[0].text);
    // Every word of it is kept as it was mailed.
    assert_eq!(kept(&town, "2026-11.txt").0, mails[0].text);
    assert_eq!(kept(&town, "2026-11.html").0, mails[0].html);
    let numbers: Value = serde_json::from_str(&kept(&town, "2026-11.json").0).unwrap();
    assert_eq!(
        numbers["failed"],
        json!({"invoices": 3, "value": [{"amount": 6000, "currency": "GBP"}]})
    );
    assert_eq!(numbers["recovered_by_us"]["invoices"], 1);
}

#[tokio::test]
async fn an_empty_month_says_so_without_a_model() {
    let town = town_with(Vec::new()).await;
    town.advance_to(TOLD).await;
    let mails = summaries(&town);
    assert!(
        mails[0]
            .text
            .starts_with("No invoice failed in November 2026, and nothing else happened.")
    );
    assert!(!town.calls("dunr-summary").contains(&"Converse".to_owned()));
}

#[tokio::test]
async fn a_model_that_invents_a_number_is_not_quoted() {
    let invented = [
        ModelAnswer::Text("A fine month: 12 invoices failed and all came back.".to_owned()),
        ModelAnswer::Refused,
        ModelAnswer::TimeOut,
        ModelAnswer::Throttled,
    ];
    for answer in invented {
        let town = town_with(november()).await;
        town.fleet.cloud.script_model(vec![answer]);
        town.advance_to(TOLD).await;
        let text = &summaries(&town)[0].text;
        assert!(
            text.starts_with("In November 2026, 3 invoices failed, worth £60.00. "),
            "{text}"
        );
        assert!(!text.contains("fine month"));
    }
}

#[tokio::test]
async fn a_model_that_keeps_to_the_numbers_is_quoted() {
    let town = town_with(november()).await;
    let words = "In November 2026, payments for 3 invoices did not go through, and our charges brought in £20.00.";
    town.fleet
        .cloud
        .script_model(vec![ModelAnswer::Text(words.to_owned())]);
    town.advance_to(TOLD).await;
    assert!(summaries(&town)[0].text.starts_with(words));
    let asked = town
        .calls("dunr-summary")
        .into_iter()
        .filter(|call| call == "Converse");
    assert_eq!(asked.count(), 1);
}

#[tokio::test]
async fn a_month_that_is_not_over_or_is_none_is_refused() {
    let town = town_with(november()).await;
    for month in ["2026-12", "2026-13", "last"] {
        assert!(
            start(&town, json!({"month": month})).await.is_err(),
            "{month}"
        );
    }
    assert_eq!(summaries(&town), []);
}
