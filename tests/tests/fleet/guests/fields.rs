//! What a form may say beside the wish itself: the language, the consent, the address; and B31, the
//! many spellings of a phone.

use fleet_tests::{PHONE_E164, Town};
use serde_json::{Value, json};

use crate::guests::support::{everything, seen_by_staff, wish};

#[tokio::test]
async fn the_language_and_when_the_terms_were_agreed_to_are_kept() {
    let town = Town::new();
    let changes = json!({"language": "de", "consent": true, "client_ip": "203.0.113.7"});
    let booked = town.book(&wish(&town, &changes)).await;
    let row = town.row(&booked);
    assert_eq!(row["language"], "de");
    assert_eq!(row["consented_at"], "2026-07-09T12:00:00Z");
    assert_eq!(seen_by_staff(&town, &booked).await["language"], "de");
    let without = json!({"starts_at": "2026-07-12T20:00", "consent": false});
    let row = town.row(&town.book(&wish(&town, &without)).await);
    assert_eq!(
        (&row["language"], &row["consented_at"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn each_bad_field_is_named() {
    let town = Town::new();
    let before = everything(&town);
    for (changes, code, field) in [
        (json!({"language": "it"}), "unknown_language", "language"),
        (json!({"language": "EN"}), "unknown_language", "language"),
        (json!({"language": 1}), "not_text", "language"),
        (json!({"consent": "yes"}), "not_a_truth", "consent"),
        (
            json!({"client_ip": "localhost"}),
            "bad_address",
            "client_ip",
        ),
        (
            json!({"client_ip": "1.2.3.4, 5.6.7.8"}),
            "bad_address",
            "client_ip",
        ),
    ] {
        let answer = town.post_booking(&wish(&town, &changes), None).await;
        let found = (answer.status, answer.code(), answer.json()["field"].clone());
        assert_eq!(found, (422, code.to_owned(), json!(field)), "{changes}");
    }
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn b31_every_spelling_of_a_phone_is_one_phone() {
    for spelling in [
        "07700 900123",
        "+44 (0)7700 900123",
        "0044 7700 900123",
        "7700900123",
        "+447700900123",
    ] {
        let town = Town::new();
        let booked = town.book(&wish(&town, &json!({"phone": spelling}))).await;
        assert_eq!(town.row(&booked)["phone"], PHONE_E164, "{spelling}");
    }
}

#[tokio::test]
async fn b31_what_is_not_clear_or_no_mobile_is_refused_with_a_hint() {
    let town = Town::new();
    for text in [
        "12345",
        "020 7946 0018",
        "09098 790 123",
        "999",
        "07700 900123 ext 4",
    ] {
        let answer = town
            .post_booking(&wish(&town, &json!({"phone": text})), None)
            .await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (422, "bad_phone"),
            "{text}"
        );
        assert!(!answer.text.contains(text), "it is not repeated");
    }
}
