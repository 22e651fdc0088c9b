//! Deposits in every currency's own minor unit, and one phone however it is written.

use fleet::{Fleet, FleetOptions};
use fleet_tests::{PHONE_E164, Town};
use serde_json::{Value, json};

use crate::calendar::support::{WRITTEN_TABLES, book, venue, wish};

#[tokio::test]
async fn bug_d01_a_deposit_is_in_the_minor_unit_of_its_currency_and_shown_as_money() {
    for (currency, minor, shown) in [
        ("GBP", 2000, "20.00"),
        ("EUR", 1999, "19.99"),
        ("JPY", 500, "500"),
        ("KWD", 5000, "5.000"),
    ] {
        let town = Town::with_venue(&venue(|venue| {
            venue["currency"] = json!(currency);
            venue["resources"][0]["deposit"] = json!({"per_booking": minor});
        }));
        let booked = town.book(&town.wish()).await;
        assert_eq!(
            booked.answer["deposit"],
            json!({"amount": minor, "currency": currency})
        );
        town.settle().await;
        let text = town.texts().remove(0).text;
        assert!(text.contains(shown), "{currency}: {text}");
        assert!(
            !text.contains(&format!("{shown}.")) || shown.contains('.'),
            "{text}"
        );
        if currency == "JPY" {
            assert!(!text.contains("500.") && !text.contains("5.00"), "{text}");
        }
    }
}

#[tokio::test]
async fn a_deposit_follows_the_party_and_the_evening() {
    let town = Town::with_venue(&venue(|venue| {
        venue["resources"][0]["deposit"] = json!({"percent": 15, "of_per_guest": 6530});
        venue["resources"][0]["deposit_when"] = json!([
            {"days": ["Fri", "Sat"], "from": "18:00:00", "party_from": 5,
                "deposit": {"percent": 50, "of_per_guest": 6530, "minimum": 20_000}},
        ]);
    }));
    for (starts_at, party, minor) in [
        ("2026-07-16T20:00", 5, 4898),
        ("2026-07-17T20:00", 4, 3918),
        ("2026-07-17T16:00", 5, 4898),
        ("2026-07-18T20:00", 5, 20_000),
        ("2026-07-24T20:00", 6, 20_000),
    ] {
        let booked = book(&town, &json!({"starts_at": starts_at, "party": party})).await;
        let deposit = json!({"amount": minor, "currency": "GBP"});
        assert_eq!(booked.answer["deposit"], deposit, "{starts_at} for {party}");
    }
}

#[tokio::test]
async fn bug_d02_a_deposit_for_each_guest_is_exact_for_every_party() {
    for minor in [1, 10, 29, 333, 819, 1999, 1001] {
        let town = Town::with_venue(&venue(|venue| {
            venue["resources"][1]["deposit"] = json!({"per_guest": minor});
        }));
        for party in 1..=4_i64 {
            let changes = json!({"resource": "table-5", "party": party,
                "starts_at": format!("2026-07-1{party}T20:00")});
            let booked = book(&town, &changes).await;
            assert_eq!(booked.answer["deposit"]["amount"], minor * party);
        }
    }
}

#[test]
fn bug_d02_a_deposit_that_is_no_whole_number_of_minor_units_stops_the_start() {
    for amount in [
        json!(19.99),
        json!(2000.0),
        json!("2000"),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(1e300),
        Value::Null,
    ] {
        let venue = venue(|venue| {
            venue["resources"][0]["deposit"] = json!({"per_booking": amount});
        });
        let mut options = FleetOptions::starting(fleet_tests::NOON.parse().unwrap());
        options.venue = Some(venue.to_string());
        assert!(Fleet::start(options).is_err(), "{amount}");
    }
}

const SPELLINGS: [&str; 7] = [
    "07700 900123",
    "+447700900123",
    "+44 (0)7700 900123",
    "0044 7700 900123",
    "(07700) 900-123",
    "07700.900.123",
    "\u{660}\u{667}\u{667}\u{660}\u{660} \u{669}\u{660}\u{660}\u{661}\u{662}\u{663}",
];

#[tokio::test]
async fn bug_h07_one_phone_has_one_spelling_so_one_stop_counts_for_all() {
    let town = Town::new();
    town.fleet.cloud.reply_by_sms(PHONE_E164, "STOP");
    town.settle().await;
    for (day, phone) in SPELLINGS.iter().enumerate() {
        let starts_at = format!("2026-07-{}T20:00", day + 11);
        let booked = book(&town, &json!({"phone": phone, "starts_at": starts_at})).await;
        assert_eq!(town.row(&booked)["phone"], PHONE_E164, "{phone}");
    }
    town.settle().await;
    assert_eq!(town.kinds(), Vec::<String>::new());
    town.advance(chrono::Duration::minutes(1)).await;
    town.fleet.cloud.reply_by_sms(PHONE_E164, "START");
    town.settle().await;
    book(&town, &json!({"starts_at": "2026-07-30T20:00"})).await;
    town.settle().await;
    assert_eq!(town.kinds(), ["deposit_request"]);
}

#[tokio::test]
async fn bug_h07_a_phone_of_another_country_keeps_its_country() {
    for (phone, e164) in [
        ("+1 415 555 2671", "+14155552671"),
        ("07624 900123", "+447624900123"),
        ("+33 6 12 34 56 78", "+33612345678"),
    ] {
        let town = Town::new();
        let booked = book(&town, &json!({"phone": phone})).await;
        assert_eq!(town.row(&booked)["phone"], e164, "{phone}");
    }
}

#[tokio::test]
async fn a_person_is_stored_with_the_booking_and_nowhere_else() {
    let town = Town::new();
    let notes = "allergic to shellfish, wheelchair";
    let changes = json!({"email": "philippa@example.com", "notes": notes});
    let posted = town.post_booking(&wish(&town, &changes), Some("k-1")).await;
    assert_eq!(posted.status, 201);
    for table in WRITTEN_TABLES {
        let text = json!(town.rows(table)).to_string();
        for personal in [
            fleet_tests::NAME,
            "7700900123",
            "philippa@example.com",
            "shellfish",
        ] {
            assert_eq!(
                text.contains(personal),
                table == "bdc-bookings",
                "{table}: {personal}"
            );
        }
    }
}
