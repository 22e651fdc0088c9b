//! The orders of the staff: attendance, cancellation, another time. Each once, twice and too late.

use chrono::Duration;
use fleet_tests::{Booked, NAME, Town};
use serde_json::{Value, json};

use crate::calendar::support::{
    EVENING, assert_calendar_is_sound, assert_nothing_is_under_way, book, free, get_as_staff,
    overdue_town, quick_town, quick_venue, sweep, town_with, wish_of,
};

async fn order(town: &Town, booked: &Booked, order: &str, body: Value) -> (u16, String) {
    let answer = town.staff(booked, order, &body).await;
    (answer.status, answer.code())
}

fn ok() -> (u16, String) {
    (200, String::new())
}

fn refused(code: &str) -> (u16, String) {
    (409, code.to_owned())
}

fn unknown(id: &str) -> Booked {
    Booked {
        id: id.to_owned(),
        answer: Value::Null,
    }
}

#[tokio::test]
async fn orders_are_for_the_staff_only_and_only_they_see_who_it_is() {
    let town = quick_town();
    let booked = town.confirmed().await;
    let before = town.row(&booked);
    let bearer = format!("Bearer {}", town.fleet.tokens().form);
    for order in ["attendance", "cancel", "reschedule"] {
        for (token, expected) in [
            (bearer.as_str(), (403, "staff_only")),
            ("", (401, "unauthorized")),
        ] {
            let request = http::Request::post(format!("/bookings/{}/{order}", booked.id))
                .header("authorization", token)
                .body(bytes::Bytes::from_static(b"{\"attended\": false}"))
                .unwrap();
            let answer = town.request("bdc-intake", request).await;
            assert_eq!((answer.status, answer.code().as_str()), expected, "{order}");
        }
    }
    assert_eq!(town.row(&booked), before);
    let path = format!("/bookings/{}", booked.id);
    let (form, staff) = (town.get(&path).await, get_as_staff(&town, &path).await);
    assert!(!form.text.contains(NAME) && staff.json()["name"] == NAME);
    assert!(!staff.text.contains("7700"), "no phone for anybody");
    assert_eq!(form.json()["state"], "CONFIRMED");
    assert_eq!(form.json()["paid_at"], "2026-07-11T17:00:00Z");
}

#[tokio::test]
async fn an_order_for_no_booking_or_without_its_fields_is_refused() {
    let town = quick_town();
    let booked = town.confirmed().await;
    let before = town.row(&booked);
    let to = json!({"starts_at": "2026-07-12T20:00"});
    for id in ["none", "%20", &"b".repeat(3000)] {
        for (name, body) in [
            ("attendance", json!({"attended": true})),
            ("cancel", json!({})),
            ("reschedule", to.clone()),
        ] {
            let answer = order(&town, &unknown(id), name, body).await;
            assert_eq!(
                answer,
                (404, "unknown_booking".to_owned()),
                "{name} {id:.20}"
            );
        }
    }
    for (name, body, code, field) in [
        ("attendance", json!({}), "not_a_truth", "attended"),
        (
            "attendance",
            json!({"attended": "yes"}),
            "not_a_truth",
            "attended",
        ),
        (
            "attendance",
            json!({"attended": 1}),
            "not_a_truth",
            "attended",
        ),
        (
            "attendance",
            json!({"attended": true, "by": "x".repeat(41)}),
            "too_long",
            "by",
        ),
        (
            "cancel",
            json!({"by": "weather"}),
            "unknown_canceller",
            "by",
        ),
        ("cancel", json!({"by": 1}), "not_text", "by"),
        (
            "cancel",
            json!({"reason": "x".repeat(201)}),
            "too_long",
            "reason",
        ),
        ("reschedule", json!({}), "missing", "starts_at"),
        (
            "reschedule",
            json!({"starts_at": "2027-03-28T01:30"}),
            "nonexistent_local_time",
            "starts_at",
        ),
        (
            "reschedule",
            json!({"starts_at": "2026-07-11T17:00"}),
            "past",
            "starts_at",
        ),
        (
            "reschedule",
            json!({"starts_at": "2026-07-12T20:10"}),
            "off_grid",
            "starts_at",
        ),
        (
            "reschedule",
            json!({"starts_at": "2029-07-12T20:00"}),
            "too_far_ahead",
            "starts_at",
        ),
        (
            "reschedule",
            json!({"starts_at": "2026-07-12T16:00", "resource": "tasting"}),
            "closed",
            "starts_at",
        ),
        (
            "reschedule",
            json!({"starts_at": "2026-07-12T20:00", "resource": "x"}),
            "unknown_resource",
            "resource",
        ),
    ] {
        let answer = town.staff(&booked, name, &body).await;
        let seen = (answer.status, answer.code(), answer.json()["field"].clone());
        assert_eq!(seen, (422, code.to_owned(), json!(field)), "{name} {body}");
    }
    assert_eq!(town.row(&booked), before);
}

#[tokio::test]
async fn attendance_is_marked_from_the_start_on_and_can_be_corrected_until_it_is_settled() {
    let town = quick_town();
    let booked = town.pending().await;
    let came = || json!({"attended": true});
    let missed = || json!({"attended": false, "by": "Ada"});
    assert_eq!(
        order(&town, &booked, "attendance", came()).await,
        refused("wrong_state")
    );
    let event = fleet_tests::deposit_paid(&town, &booked, "evt_1", "pi_1");
    assert_eq!(town.webhook(&event).await.status, 200);
    let early = town.staff(&booked, "attendance", &came()).await;
    assert_eq!((early.status, early.code().as_str()), (409, "too_early"));
    assert_eq!(early.json()["not_before"], "2026-07-11T19:00:00Z");
    town.advance_to("2026-07-11T19:00:00Z").await;
    for body in [came(), came(), missed(), missed()] {
        assert_eq!(order(&town, &booked, "attendance", body).await, ok());
    }
    assert_eq!(town.row(&booked)["attendance"]["marked_by"], "Ada");
    assert_eq!(
        town.history(&booked)[2..],
        ["attendance marked", "attendance marked"],
        "a repeat is no new mark"
    );
    town.advance_to("2026-07-11T21:00:00Z").await;
    assert_eq!(town.state(&booked), "FORFEITED");
    assert_eq!(order(&town, &booked, "attendance", missed()).await, ok());
    assert_eq!(
        order(&town, &booked, "attendance", came()).await,
        refused("too_late")
    );
    assert_eq!(town.state(&booked), "FORFEITED");
}

#[tokio::test]
async fn an_unpaid_booking_is_cancelled_its_slot_is_free_and_no_refund_is_due() {
    let town = quick_town();
    let booked = town.pending().await;
    for _ in 0..2 {
        let answer = town
            .staff(&booked, "cancel", &json!({"reason": "ill"}))
            .await;
        assert_eq!(
            (answer.status, &answer.json()["state"]),
            (200, &json!("CANCELLED"))
        );
        town.settle().await;
    }
    assert_eq!(town.kinds(), ["deposit_request", "cancelled"]);
    assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new());
    assert_eq!(town.cases(), Vec::<String>::new());
    assert_eq!(book(&town, &json!({})).await.slot_key(), booked.slot_key());
    let late = order(&town, &booked, "cancel", json!({})).await;
    assert_eq!(late, ok(), "also once somebody else has the slot");
    assert_eq!(town.rows("bdc-slots").len(), 3);
    assert_calendar_is_sound(&town);
    town.advance(Duration::minutes(35)).await;
    assert_eq!(
        town.state(&booked),
        "CANCELLED",
        "the sweep leaves it alone"
    );
}

#[tokio::test]
async fn bug_b20_who_cancels_and_when_decides_about_the_refund() {
    for (by, at, refund_due) in [
        ("customer", "2026-07-11T18:00:00Z", true),
        ("customer", "2026-07-11T18:00:01Z", false),
        ("business", "2026-07-11T18:59:59Z", true),
    ] {
        let town = quick_town();
        let booked = town.confirmed().await;
        town.advance_to(at).await;
        let answer = town.staff(&booked, "cancel", &json!({"by": by})).await;
        assert_eq!(answer.json()["refund_due"], refund_due, "{by} {at}");
        town.settle().await;
        assert_eq!(town.cases().len(), usize::from(refund_due));
        assert_eq!(
            town.kinds(),
            ["deposit_request", "confirmation", "cancelled"]
        );
        assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new());
        assert_nothing_is_under_way(&town);
    }
}

#[tokio::test]
async fn the_rules_of_the_day_of_booking_decide_and_not_those_of_today() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("rules-of-the-day");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    let open = |venue: &Value| {
        let mut options = fleet::FleetOptions::starting(EVENING.parse().unwrap());
        options.venue = Some(venue.to_string());
        options.state = Some(folder.clone());
        Town::with(options)
    };
    let town = open(&quick_venue());
    let booked = town.confirmed().await;
    town.advance(Duration::minutes(1)).await;
    drop(town);

    let mut stricter = quick_venue();
    stricter["policy"]["free_cancellation"] = json!(525_600);
    stricter["policy"]["settle_after"] = json!(1440);
    stricter["resources"][0]["deposit"] = json!({"per_booking": 9900});
    let town = open(&stricter);
    let other = book(&town, &json!({"starts_at": "2026-07-13T20:00"})).await;
    assert_eq!(other.answer["deposit"]["amount"], 9900);
    assert_eq!(town.rows("bdc-bookings").len(), 2);
    assert_eq!(town.row(&booked)["deposit"]["amount"], 2000);
    let answer = town.staff(&booked, "cancel", &json!({})).await;
    assert_eq!(answer.json()["refund_due"], true, "{}", answer.text);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn after_the_start_and_after_the_end_nothing_is_cancelled_or_moved() {
    let town = quick_town();
    let booked = town.confirmed().await;
    let released = book(&town, &json!({"resource": "table-5"})).await;
    town.advance_to("2026-07-11T19:00:00Z").await;
    let to = || json!({"starts_at": "2026-07-12T20:00"});
    assert_eq!(
        order(&town, &booked, "cancel", json!({})).await,
        refused("too_late")
    );
    assert_eq!(
        order(&town, &booked, "reschedule", to()).await,
        refused("too_late")
    );
    assert_eq!(town.state(&released), "RELEASED");
    for name in ["cancel", "reschedule", "attendance"] {
        let body = json!({"starts_at": "2026-07-12T20:00", "attended": true});
        assert_eq!(
            order(&town, &released, name, body).await,
            refused("wrong_state"),
            "{name}"
        );
    }
    let mark = json!({"attended": true});
    assert_eq!(order(&town, &booked, "attendance", mark).await, ok());
    town.advance_to("2026-07-11T21:00:00Z").await;
    assert_eq!(town.state(&booked), "APPLIED");
    for (name, body) in [("cancel", json!({})), ("reschedule", to())] {
        assert_eq!(
            order(&town, &booked, name, body).await,
            refused("wrong_state"),
            "{name}"
        );
    }
    assert_eq!(town.cases(), Vec::<String>::new());
}

#[tokio::test]
async fn a_move_holds_the_new_cells_and_frees_the_old_in_one_step() {
    let town = quick_town();
    let booked = town.confirmed().await;
    town.forget_calls();
    let to = json!({"starts_at": "2026-07-12T20:00"});
    let answer = town.staff(&booked, "reschedule", &to).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.json()["starts_at"], "2026-07-12T19:00:00Z");
    let writes = town.calls("bdc-intake").into_iter();
    assert_eq!(
        writes.filter(|call| call == "TransactWriteItems").count(),
        1
    );
    assert_eq!(town.rows("bdc-slots").len(), 3);
    assert_eq!(
        town.holder("table-4#2026-07-12T21:00"),
        Some(booked.id.clone())
    );
    assert_eq!(town.state(&booked), "CONFIRMED", "the deposit goes with it");
    assert_eq!(town.row(&booked)["payment_ref"], "pi_confirmed");
    book(&town, &json!({})).await;
    for _ in 0..2 {
        assert_eq!(order(&town, &booked, "reschedule", to.clone()).await, ok());
    }
    town.settle().await;
    let moves = town
        .kinds()
        .into_iter()
        .filter(|kind| kind == "rescheduled");
    assert_eq!(moves.count(), 1, "a repeat is no new move");
    assert_calendar_is_sound(&town);
}

#[tokio::test]
async fn each_move_is_told_and_a_move_back_is_a_move() {
    let town = quick_town();
    let booked = town.confirmed().await;
    for starts_at in ["2026-07-12T20:00", "2026-07-11T20:00", "2026-07-12T20:00"] {
        let to = json!({"starts_at": starts_at});
        assert_eq!(order(&town, &booked, "reschedule", to).await, ok());
        town.settle().await;
        assert_calendar_is_sound(&town);
    }
    assert_eq!(town.kinds()[2..], ["rescheduled"; 3]);
    assert_eq!(
        town.holder("table-4#2026-07-12T20:00"),
        Some(booked.id.clone())
    );
}

#[tokio::test]
async fn a_move_onto_its_own_cells_keeps_those_that_both_places_have() {
    let town = quick_town();
    let booked = town.confirmed().await;
    let held_at = |town: &Town| {
        let rows = town.rows("bdc-slots");
        let row = rows
            .into_iter()
            .find(|row| row["slot_key"] == "table-4#2026-07-11T21:00");
        row.unwrap()["held_at"].clone()
    };
    let before = held_at(&town);
    town.advance(Duration::minutes(1)).await;
    let to = json!({"starts_at": "2026-07-11T20:30"});
    assert_eq!(order(&town, &booked, "reschedule", to).await, ok());
    let keys: Vec<Value> = town
        .rows("bdc-slots")
        .into_iter()
        .map(|row| row["slot_key"].clone())
        .collect();
    assert_eq!(
        keys,
        ["20:30", "21:00", "21:30"].map(|time| json!(format!("table-4#2026-07-11T{time}")))
    );
    assert_eq!(held_at(&town), before);
    assert_calendar_is_sound(&town);
}

#[tokio::test]
async fn a_move_to_a_taken_place_changes_nothing() {
    let town = quick_town();
    let booked = town.confirmed().await;
    let other = book(&town, &json!({"starts_at": "2026-07-12T20:00"})).await;
    town.settle().await;
    let (before, slots) = (town.row(&booked), town.rows("bdc-slots"));
    for starts_at in ["2026-07-12T20:00", "2026-07-12T19:00", "2026-07-12T21:00"] {
        let answer = town
            .staff(&booked, "reschedule", &json!({"starts_at": starts_at}))
            .await;
        let problem = answer.json();
        assert_eq!(
            (answer.code().as_str(), &problem["field"]),
            ("slot_taken", &json!("starts_at"))
        );
    }
    assert_eq!((town.row(&booked), town.rows("bdc-slots")), (before, slots));
    town.settle().await;
    assert_eq!(town.kinds().len(), 3);
    assert_eq!(town.holder(other.slot_key()), Some(other.id));
}

#[tokio::test]
async fn a_move_to_another_resource_needs_a_place_for_the_whole_party() {
    let town = quick_town();
    let booked = book(&town, &json!({"party": 5})).await;
    let to = |resource: &str| json!({"starts_at": "2026-07-16T20:00", "resource": resource});
    let small = town.staff(&booked, "reschedule", &to("table-5")).await;
    assert_eq!(
        (small.status, small.code().as_str()),
        (422, "party_too_large")
    );
    assert_eq!(
        order(&town, &booked, "reschedule", to("tasting")).await,
        ok()
    );
    assert_eq!(
        town.rows("bdc-slots").len(),
        5 * 2,
        "a seat for each guest and hour"
    );
    assert_eq!(
        town.row(&booked)["deposit"]["amount"],
        2000,
        "as it was asked for"
    );
    assert_eq!(
        free(&town, "table-4", 2, "2026-07-11T20:00", "2026-07-11T20:01")
            .await
            .len(),
        1
    );
    assert_calendar_is_sound(&town);

    let others = json!({"resource": "tasting", "starts_at": "2026-07-16T20:00", "party": 7});
    book(&town, &others).await;
    let next = json!({"starts_at": "2026-07-16T19:00"});
    assert_eq!(
        order(&town, &booked, "reschedule", next).await,
        ok(),
        "it may use its own seats"
    );
    assert_calendar_is_sound(&town);
    let back = json!({"starts_at": "2026-07-16T20:00"});
    assert_eq!(order(&town, &booked, "reschedule", back).await, ok());
    assert_calendar_is_sound(&town);
    let full = book(&town, &json!({"party": 1, "starts_at": "2026-07-17T20:00"})).await;
    let answer = order(&town, &full, "reschedule", to("tasting")).await;
    assert_eq!(answer, refused("slot_taken"));
    assert_calendar_is_sound(&town);
}

#[tokio::test]
async fn a_move_to_where_it_is_does_nothing_also_when_a_lower_unit_has_become_free() {
    let town = quick_town();
    let seats = |party: u32| json!({"resource": "tasting", "starts_at": "2026-07-16T20:00", "party": party});
    let first = book(&town, &seats(6)).await;
    let second = town.book(&wish_of(&town, 124, &seats(6))).await;
    assert_eq!(order(&town, &first, "cancel", json!({})).await, ok());
    let third = book(&town, &seats(1)).await;
    town.settle().await;
    let before = (town.row(&second), town.row(&third), town.rows("bdc-slots"));
    for booked in [&second, &third] {
        let here = json!({"starts_at": "2026-07-16T20:00"});
        assert_eq!(order(&town, booked, "reschedule", here).await, ok());
    }
    town.settle().await;
    assert_eq!(
        (town.row(&second), town.row(&third), town.rows("bdc-slots")),
        before
    );
    assert!(!town.kinds().contains(&"rescheduled".to_owned()));
}

#[tokio::test]
async fn an_unpaid_booking_that_is_moved_nearer_is_due_sooner_and_one_moved_away_is_not_due_later()
{
    let venue = {
        let mut venue = quick_venue();
        venue["policy"]["pay_within"] = json!(1440);
        venue["policy"]["start_buffer"] = json!(120);
        venue
    };
    let town = town_with("2026-07-11T12:00:00Z", &venue);
    let booked = book(&town, &json!({"starts_at": "2026-07-13T20:00"})).await;
    assert_eq!(booked.answer["deposit_deadline"], "2026-07-12T12:00:00Z");
    let near = json!({"starts_at": "2026-07-11T20:00"});
    let moved = town.staff(&booked, "reschedule", &near).await;
    assert_eq!(moved.json()["deposit_deadline"], "2026-07-11T17:00:00Z");
    let far = json!({"starts_at": "2026-08-11T20:00"});
    let moved = town.staff(&booked, "reschedule", &far).await;
    assert_eq!(moved.json()["deposit_deadline"], "2026-07-11T17:00:00Z");
    town.advance_to("2026-07-11T17:05:00Z").await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new());
}

#[tokio::test]
async fn a_move_to_a_day_whose_hour_to_pay_by_comes_sooner_is_due_then() {
    let mut venue = quick_venue();
    venue["policy"]["pay_within"] = json!(2880);
    venue["policy"]["pay_by"] = json!({"days_before": 1, "at": "18:00:00"});
    let town = town_with("2026-07-11T12:00:00Z", &venue);
    let booked = book(&town, &json!({"starts_at": "2026-07-14T20:00"})).await;
    assert_eq!(booked.answer["deposit_deadline"], "2026-07-13T12:00:00Z");
    // The new start is after the old deadline, but 18:00 on the day before is not.
    let nearer = json!({"starts_at": "2026-07-13T20:00"});
    let moved = town.staff(&booked, "reschedule", &nearer).await;
    assert_eq!(moved.json()["deposit_deadline"], "2026-07-12T17:00:00Z");
    town.advance_to("2026-07-12T17:05:00Z").await;
    assert_eq!(town.state(&booked), "RELEASED");
}

#[tokio::test]
async fn an_order_after_the_release_finds_the_slot_gone() {
    let (town, bookings) = overdue_town(1).await;
    sweep(&town, "bdc-release-sweep").await;
    let to = json!({"starts_at": "2026-08-20T20:00"});
    let answer = town.staff(&bookings[0], "reschedule", &to).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (409, "wrong_state")
    );
    assert_eq!(answer.json()["state"], "RELEASED");
    assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new());
}
