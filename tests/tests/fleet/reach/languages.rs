//! Messages in the customer's language, or else the venue's.

use fleet_tests::Town;
use local_cloud::ModelAnswer;
use paidonce_core::sms::{Encoding, measure};
use serde_json::{Value, json};

use crate::reach::support::*;

fn speaking(language: &str) -> Town {
    Town::with_venue(&venue(|venue| venue["language"] = json!(language)))
}

fn first_words(town: &Town) -> Vec<String> {
    let texts = town.texts().into_iter();
    let first = texts.map(|text| text.text.split(" (").next().unwrap().to_owned());
    first
        .map(|text| {
            text.split([':', '.'])
                .nth(1)
                .unwrap_or_default()
                .trim()
                .to_owned()
        })
        .collect()
}

#[tokio::test]
async fn a_whole_life_is_told_in_the_venues_language_without_the_model() {
    for (language, opening, deadline, refund) in [
        (
            "de",
            "Hallo Philippa Quillfeather",
            "bis Fr 10. Jul 13:00",
            "20,00 £ sind auf dem Weg",
        ),
        (
            "fr",
            "Bonjour Philippa Quillfeather",
            "avant le ven 10 juil 13:00",
            "Le remboursement de 20,00 £",
        ),
    ] {
        let town = speaking(language);
        let booked = town.confirmed().await;
        ordered(
            &town,
            &booked,
            "reschedule",
            json!({"starts_at": "2026-07-11T18:00"}),
        )
        .await;
        let order = json!({"by": "business", "reason": ""});
        ordered(&town, &booked, "cancel", order).await;
        let kinds = [
            "deposit_request",
            "confirmation",
            "rescheduled",
            "cancelled",
        ];
        assert_eq!(town.kinds(), kinds, "{language}");
        for text in town.texts() {
            assert!(
                text.text.starts_with(&format!("The Anchor: {opening}, ")),
                "{}",
                text.text
            );
            let size = measure(&text.text);
            assert_eq!(size.encoding, Encoding::Gsm7, "{}", text.text);
            assert!(size.parts <= 3, "{}", text.text);
        }
        assert!(
            town.texts()[0].text.contains(deadline),
            "{}",
            town.texts()[0].text
        );
        assert!(
            town.texts()[3].text.contains(refund),
            "{}",
            town.texts()[3].text
        );
        let asked = town
            .calls(COMPOSER)
            .into_iter()
            .filter(|call| call == "Converse");
        assert_eq!(asked.count(), 0, "{language}: its check reads English");
    }
}

#[tokio::test]
async fn a_bookings_own_language_goes_before_the_venues_and_an_unknown_one_does_not() {
    for (own, opening) in [("fr", "Bonjour"), ("DE", "Hallo"), ("tlh", "Hi")] {
        let town = Town::new();
        let booked = town.book(&town.wish()).await;
        let key = ("booking_id", booked.id.as_str());
        set(&town, "bdc-bookings", key, "language", own).await;
        town.settle().await;
        let first = format!("{opening} Philippa Quillfeather");
        assert!(
            town.texts()[0].text.contains(&first),
            "{own}: {}",
            town.texts()[0].text
        );
    }
}

#[tokio::test]
async fn a_mail_is_in_the_same_language() {
    let town = speaking("de");
    town.fleet.cloud.opt_out_at_carrier(fleet_tests::PHONE_E164);
    booked(&town, &with_email(&town)).await;
    let mail = mails(&town).remove(0);
    assert!(
        mail.subject
            .starts_with("The Anchor: Bitte zahlen Sie Ihre Anzahlung (")
    );
    assert!(mail.text.contains("bis Fr 10. Jul 13:00"), "{}", mail.text);
}

#[tokio::test]
async fn b36_the_model_never_words_a_message_about_money_that_came_or_goes_back() {
    let town = Town::new();
    let warm = "Hi Philippa, your table for 2 on Sat 11 Jul 20:00 is all yours, £20.00 and all.";
    let booked = town.confirmed().await;
    let asked = |town: &Town| -> usize {
        let calls = town.calls(COMPOSER).into_iter();
        calls.filter(|call| call == "Converse").count()
    };
    let before = asked(&town);
    town.fleet
        .cloud
        .script_model(vec![ModelAnswer::Text(warm.to_owned())]);
    paid(&town, &booked, "evt_2", "pi_2").await;
    assert_eq!(town.kinds().last().unwrap(), "second_refund");
    let text = town.texts().last().unwrap().text.clone();
    assert!(
        text.contains("was paid already. Your second payment of £20.00 is on its way"),
        "{text}"
    );
    assert_eq!(asked(&town), before);
    assert_eq!(first_words(&town).len(), 3);
}

#[tokio::test]
async fn b36_a_draft_that_leaves_out_the_refund_is_replaced() {
    let town = Town::new();
    let booked = town.confirmed().await;
    let silent = "Hi Philippa, your table for 2 on Sat 11 Jul 20:00 is cancelled. See you soon!";
    town.fleet
        .cloud
        .script_model(vec![ModelAnswer::Text(silent.to_owned())]);
    let order = json!({"by": "business", "reason": "storm"});
    ordered(&town, &booked, "cancel", order).await;
    let text = town.texts().last().unwrap().text.clone();
    assert!(
        text.contains("is cancelled. £20.00 is on its way back to you."),
        "{text}"
    );
}

#[tokio::test]
async fn a_late_refund_offers_other_times_in_the_customers_language() {
    for (language, times, said) in [
        (
            "en",
            json!(["2026-07-11T17:00:00Z", "2026-07-11T20:30:00Z"]),
            "Free right now: Sat 11 Jul 18:00, Sat 11 Jul 21:30. Ref",
        ),
        (
            "de",
            json!(["2026-07-11T17:00:00Z"]),
            "Zurzeit frei: Sa 11. Jul 18:00. Ref",
        ),
        ("fr", Value::Null, "Vous pouvez réserver à nouveau. Réf"),
    ] {
        let town = speaking(language);
        let booked = town.pending().await;
        town.advance_to("2026-07-10T12:10:00Z").await;
        assert_eq!(town.state(&booked), "RELEASED");
        let mut payload = json!({"booking_id": booked.id, "kind": "late_refund",
            "occasion": "late_refund-9", "refund": {"amount": 2000, "currency": "GBP"}});
        if !times.is_null() {
            payload["other_times"] = times;
        }
        let job = json!({"event_id": "01JZZZZZZZZZZZZZZZZZZZZZZZ", "type": "message.compose",
            "schema_version": 1, "aggregate": format!("booking#{}", booked.id),
            "occurred_at": "2026-07-10T12:10:00Z", "payload": payload});
        let event = queue_event(&[job.to_string()]);
        let reply = town.fleet.cloud.invoke(COMPOSER, event).await.unwrap();
        assert_eq!(reply["batchItemFailures"], json!([]));
        let text = town.texts().last().unwrap().text.clone();
        assert!(text.contains(said), "{text}");
        let amount = match language {
            "en" => "£20.00",
            _ => "20,00 £",
        };
        assert!(text.contains(amount), "{text}");
        assert!(measure(&text).parts <= 3);
    }
}
