//! B16: a chargeback after a forfeit, and what can be shown for it.

use fleet_tests::{Booked, NAME, Town};
use serde_json::{Value, json};

use crate::guests::support::{everything, get_as_staff, paid, wish};

/// A forfeited booking whose customer agreed to the terms, and disputes the deposit afterwards.
async fn charged_back(town: &Town) -> Booked {
    let booked = paid(
        town,
        &json!({"consent": true, "email": "philippa@example.com"}),
    )
    .await;
    town.advance_to("2026-07-11T19:30:00Z").await;
    for attended in [true, false] {
        let body = json!({"attended": attended, "by": "Sam"});
        assert_eq!(town.staff(&booked, "attendance", &body).await.status, 200);
    }
    town.advance_to("2026-07-12T00:00:00Z").await;
    assert_eq!(town.state(&booked), "FORFEITED");
    let payment = town.row(&booked)["payment_ref"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/_sandbox/payments/{payment}/dispute");
    assert_eq!(town.provider("POST", &path, &json!({})).0, 200);
    town.settle().await;
    booked
}

async fn evidence(town: &Town, booked: &Booked) -> Value {
    let path = format!("/bookings/{}/evidence", booked.id);
    let answer = get_as_staff(town, &path, &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

#[tokio::test]
async fn b16_a_chargeback_after_a_forfeit_has_all_that_proves_it() {
    let town = Town::new();
    let booked = charged_back(&town).await;
    let pack = evidence(&town, &booked).await;
    assert_eq!(pack["state"], "FORFEITED");
    assert_eq!(pack["consented_at"], "2026-07-09T12:00:00Z");
    let terms = pack["terms"]["text"].as_str().unwrap();
    assert!(
        terms.contains("Cancel by Fri 10 Jul 20:00 and you get it back"),
        "{terms}"
    );
    let pay_page = town
        .book(&wish(&town, &json!({"starts_at": "2026-08-01T20:00"})))
        .await;
    let shown = town.cashier("GET", pay_page.pay_url()).await.text;
    assert!(shown.contains("The deposit counts towards your bill. Cancel by Fri 31 Jul 20:00"));
    assert_eq!(
        pack["terms"]["button_pressed_at"],
        json!(["2026-07-09T12:00:00Z"])
    );
    assert_eq!(pack["terms"]["policy"]["free_cancellation"], 1440);
    let messages = pack["messages"].as_array().unwrap();
    let mut kinds: Vec<&str> = messages
        .iter()
        .filter_map(|it| it["kind"].as_str())
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["confirmation", "deposit_request"]);
    assert_eq!(pack["messages"][0]["channel"], "text");
    let marks = pack["attendance"]["marks"].as_array().unwrap();
    let marks: Vec<_> = marks
        .iter()
        .map(|mark| (&mark["attended"], &mark["marked_by"]))
        .collect();
    assert_eq!(
        marks,
        [
            (&json!(true), &json!("Sam")),
            (&json!(false), &json!("Sam"))
        ]
    );
    let disputes = pack["payments"][0]["disputes"].as_object().unwrap();
    assert_eq!(
        disputes.values().next().unwrap()["status"],
        "needs_response"
    );
    let texts = &pack["bank"]["texts"];
    assert_eq!(texts["service_date"], "2026-07-11");
    assert_eq!(texts["customer_name"], NAME);
    assert_eq!(texts["customer_email_address"], "philippa@example.com");
    for field in ["cancellation_policy_disclosure", "refund_policy_disclosure"] {
        assert!(texts[field].as_str().unwrap().contains(terms), "{field}");
    }
    let refusal = texts["refund_refusal_explanation"].as_str().unwrap();
    assert!(
        refusal.starts_with("The customer did not come"),
        "{refusal}"
    );
    let files = &pack["bank"]["files"];
    let said = files["customer_communication"].as_str().unwrap();
    assert!(said.contains("deposit request sent by text"), "{said}");
}

#[tokio::test]
async fn b16_the_pack_has_no_phone_no_words_of_a_message_and_no_link() {
    let town = Town::new();
    let booked = charged_back(&town).await;
    let pack = evidence(&town, &booked).await.to_string();
    assert!(!pack.contains("7700") && !pack.contains("sig="), "{pack}");
    for text in town.texts() {
        assert!(!pack.contains(&text.text));
    }
}

#[tokio::test]
async fn b16_a_browser_gets_a_page_that_can_be_read_and_printed() {
    let town = Town::new();
    let hostile = json!({"name": "<script>alert(1)</script>", "starts_at": "2026-07-20T20:00"});
    let booked = town.book(&wish(&town, &hostile)).await;
    let path = format!("/bookings/{}/evidence", booked.id);
    let accept = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let page = get_as_staff(&town, &path, &accept).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(page.headers["cache-control"], "no-store");
    assert!(page.text.contains("&lt;script&gt;") && !page.text.contains("<script"));
    for heading in [
        "Terms",
        "Attendance",
        "Messages",
        "Payments",
        "History",
        "For the bank",
    ] {
        assert!(
            page.text.contains(&format!("<h2>{heading}</h2>")),
            "{heading}"
        );
    }
    let charged_back = charged_back(&town).await;
    let path = format!("/bookings/{}/evidence", charged_back.id);
    let page = get_as_staff(&town, &path, &accept).await;
    assert!(page.text.contains("Dispute du_"), "{}", page.text);
    assert!(page.text.contains("needs_response"));
}

#[tokio::test]
async fn evidence_is_for_the_staff_and_reading_it_changes_nothing() {
    let town = Town::new();
    let booked = charged_back(&town).await;
    let before = everything(&town);
    let path = format!("/bookings/{}/evidence", booked.id);
    let form = town.get(&path).await;
    assert_eq!((form.status, form.code().as_str()), (403, "staff_only"));
    let nobody = get_as_staff(&town, "/bookings/none/evidence", &[]).await;
    assert_eq!(
        (nobody.status, nobody.code().as_str()),
        (404, "unknown_booking")
    );
    for _ in 0..2 {
        evidence(&town, &booked).await;
    }
    assert_eq!(everything(&town), before);
}
