//! The mail about a dispute says until when to answer it, why it was opened, and with what.

use fleet_tests::Town;
use serde_json::json;

#[tokio::test]
async fn a_case_about_a_dispute_says_until_when_and_with_what_to_answer_it() {
    let town = Town::new();
    let booked = town.pending().await;
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(town.pay_session(&led, "4242424242424242").0, 200);
    town.settle().await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    let payment = town.row(&booked)["payment_ref"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/_sandbox/payments/{payment}/dispute");
    let (status, answer) = town.provider("POST", &path, &json!({"reason": "fraudulent"}));
    assert_eq!(status, 200, "{answer}");
    town.settle().await;
    assert_eq!(town.cases(), ["disputed"]);

    let row = town.rows("bdc-payments").into_iter();
    let mut rows = row.filter(|row| row["event_id"] == format!("payment#{payment}"));
    let disputes = rows.next().unwrap()["disputes"].clone();
    let (id, dispute) = disputes.as_object().unwrap().iter().next().unwrap();
    let due_by = dispute["due_by"].as_str().unwrap();
    let mail = town.mails().remove(0);
    for part in [
        format!(
            "- {id}, £20.00 for the reason fraudulent, needs_response: hand in the evidence until {due_by}\n"
        ),
        format!(
            "- The evidence pack is at GET /bookings/{}/evidence, with a staff token\n",
            booked.id
        ),
    ] {
        assert!(
            mail.text.contains(&part),
            "`{part}` is not in: {}",
            mail.text
        );
    }
    assert!(!mail.text.contains("Philippa"), "{}", mail.text);
}
