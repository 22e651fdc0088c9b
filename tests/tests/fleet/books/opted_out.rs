//! An opt-out outlives its person's data.

use fleet_tests::Town;
use futures::future::join;
use ops::forget::Outcome;

use crate::books::support::*;

/// The keys and what they want, of the opt-out list.
fn wishes(town: &Town) -> Vec<(String, bool)> {
    let rows = town.rows("bdc-optout").into_iter();
    let wish = |row: serde_json::Value| {
        let key = row["phone"].as_str().unwrap().to_owned();
        (key, row["opted_out"].as_bool().unwrap())
    };
    rows.map(wish).collect()
}

fn is_hidden(key: &str) -> bool {
    key.starts_with("hmac#") && !key.contains("900123")
}

#[tokio::test]
async fn b34_stop_still_holds_for_a_forgotten_phone_and_start_ends_it() {
    let town = Town::new();
    says(&town, "STOP").await;
    assert!(matches!(forget(&town).await, Outcome::Forgotten(done) if done.optout));
    booked(&town, "2026-07-11T20:00").await;
    assert_eq!(town.kinds(), Vec::<String>::new());

    says(&town, "START").await;
    booked(&town, "2026-07-12T20:00").await;
    assert_eq!(town.kinds(), ["deposit_request"]);
    let kept = wishes(&town);
    assert!(
        matches!(kept.as_slice(), [(key, false)] if is_hidden(key)),
        "{kept:?}"
    );

    says(&town, "STOP").await;
    booked(&town, "2026-07-13T20:00").await;
    assert_eq!(town.kinds(), ["deposit_request"]);
    let kept = wishes(&town);
    assert!(
        matches!(kept.as_slice(), [(key, true)] if is_hidden(key)),
        "{kept:?}"
    );
}

#[tokio::test]
async fn b34_an_older_text_that_comes_late_does_not_change_a_hidden_wish() {
    let town = Town::new();
    says(&town, "STOP").await;
    let _ = forget(&town).await;
    let at = "2026-07-09T11:00:00.000Z";
    let body = serde_json::json!({"originationNumber": PHONE, "messageBody": "START"});
    let event = serde_json::json!({"Records": [{"EventSource": "aws:sns", "Sns": {
        "Type": "Notification", "MessageId": "old", "Timestamp": at, "Message": body.to_string()}}]});
    for _ in 0..2 {
        town.fleet
            .cloud
            .invoke("bdc-optout", event.clone())
            .await
            .unwrap();
    }
    assert!(matches!(wishes(&town).as_slice(), [(key, true)] if is_hidden(key)));
}

#[tokio::test]
async fn b34_a_text_beside_the_forgetting_is_kept_once_and_not_lost() {
    for first in ["STOP", "START"] {
        let town = Town::new();
        says(&town, first).await;
        let second = if first == "STOP" { "START" } else { "STOP" };
        town.advance(chrono::Duration::minutes(1)).await;
        town.fleet.cloud.reply_by_sms(PHONE, second);
        let (outcome, ()) = join(forget(&town), town.settle()).await;
        assert!(matches!(outcome, Outcome::Forgotten(done) if done.optout));
        // Whichever was first: there is one row, hidden, with what they said last.
        if wishes(&town).iter().any(|(key, _)| !is_hidden(key)) {
            let _ = forget(&town).await;
        }
        let kept = wishes(&town);
        let stopped = second == "STOP";
        assert!(
            matches!(kept.as_slice(), [(key, wants)] if is_hidden(key) && *wants == stopped),
            "{kept:?}"
        );
    }
}

#[tokio::test]
async fn a_phone_that_never_said_anything_is_nowhere_on_the_list() {
    let town = Town::new();
    let (booked, _) = confirmed(&town, "2026-07-09T20:00").await;
    settled(&town, &booked, true).await;
    let Outcome::Forgotten(done) = forget(&town).await else {
        panic!("nothing is to come");
    };
    assert!(!done.optout && wishes(&town).is_empty());
}
