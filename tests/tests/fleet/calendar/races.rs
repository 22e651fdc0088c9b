//! Many customers at once, on many threads: no slot is sold twice, and none is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleet_tests::{Answer, Town};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::calendar::support::{
    assert_calendar_is_sound, is_replayed, kinds_of, overdue_town, quick_town, sweep, tokens,
    venue, wish, wish_of,
};

/// How often a customer who was told to try again tries.
const TRIES_MAX: usize = 50;

/// Sends every request at once; a customer who is told that we are busy tries again.
async fn race(town: &Arc<Town>, requests: Vec<(Value, Option<String>)>) -> Vec<Answer> {
    let mut racers = JoinSet::new();
    for (wish, key) in requests {
        let town = Arc::clone(town);
        racers.spawn(async move {
            let mut answer = town.post_booking(&wish, key.as_deref()).await;
            for _ in 0..TRIES_MAX {
                if answer.status != 503 {
                    break;
                }
                answer = town.post_booking(&wish, key.as_deref()).await;
            }
            answer
        });
    }
    racers.join_all().await
}

fn count(answers: &[Answer]) -> BTreeMap<(u16, String), usize> {
    let mut counts = BTreeMap::new();
    for answer in answers {
        *counts.entry((answer.status, answer.code())).or_default() += 1;
    }
    counts
}

fn counted(sold: usize, refused: usize) -> BTreeMap<(u16, String), usize> {
    [
        ((201, String::new()), sold),
        ((409, "slot_taken".to_owned()), refused),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .collect()
}

async fn many_want_one_slot(racers: usize) {
    let town = Arc::new(Town::new());
    let requests = (0..racers)
        .map(|racer| {
            let key = format!("k-{racer}");
            (wish_of(&town, racer, &json!({})), Some(key))
        })
        .collect();
    let answers = race(&town, requests).await;
    assert_eq!(count(&answers), counted(1, racers - 1));
    let bookings = town.rows("bdc-bookings");
    assert_eq!(bookings.len(), 1);
    assert_eq!(
        town.rows("bdc-slots").len(),
        3,
        "90 minutes are three cells"
    );
    assert_eq!(town.kept_answers().len(), 1);
    let winner = bookings[0]["booking_id"].as_str().unwrap();
    assert_eq!(
        tokens(&town),
        [winner; 2],
        "nobody else's phone or form counts"
    );
    assert_eq!(town.rows("bdc-outbox").len(), 1);
    assert_eq!(town.rows("bdc-audit").len(), 1);
    assert_calendar_is_sound(&town);
    town.settle().await;
    assert_eq!(town.kinds(), ["deposit_request"]);
}

async fn one_form_many_times(resource: &str, key: Option<&str>) {
    let town = Arc::new(Town::new());
    let wish = wish(&town, &json!({"resource": resource}));
    let requests = (0..64).map(|_| (wish.clone(), key.map(str::to_owned)));
    let answers = race(&town, requests.collect()).await;
    assert_eq!(count(&answers), counted(64, 0), "{resource}");
    let replayed = answers.iter().filter(|answer| is_replayed(answer)).count();
    assert_eq!(replayed, 63, "all but the first");
    let texts: BTreeSet<&String> = answers.iter().map(|answer| &answer.text).collect();
    assert_eq!(texts.len(), 1, "byte for byte the same");
    let bookings = town.rows("bdc-bookings");
    assert_eq!(bookings.len(), 1);
    let id = bookings[0]["booking_id"].as_str().unwrap();
    assert_eq!(tokens(&town), [id; 2], "of the phone and of the form");
    assert_calendar_is_sound(&town);
    town.settle().await;
    assert_eq!(town.kinds(), ["deposit_request"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bug_c01_of_64_customers_one_gets_the_slot() {
    many_want_one_slot(64).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bug_c01_of_200_customers_one_gets_the_slot() {
    many_want_one_slot(200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_submissions_under_one_key_are_one_booking_for_all() {
    for resource in ["table-4", "tasting"] {
        one_form_many_times(resource, Some("k-1")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_submissions_of_one_form_without_a_key_are_one_booking_for_all() {
    for resource in ["table-4", "tasting"] {
        one_form_many_times(resource, None).await;
    }
}

#[tokio::test]
async fn bug_c01_a_booking_that_overlaps_another_is_refused() {
    let town = Town::new();
    town.book(&town.wish()).await;
    for (starts_at, status) in [
        ("2026-07-11T18:30", 201),
        ("2026-07-11T19:00", 409),
        ("2026-07-11T19:30", 409),
        ("2026-07-11T20:30", 409),
        ("2026-07-11T21:00", 409),
        ("2026-07-11T21:30", 201),
    ] {
        let wish = wish(&town, &json!({"starts_at": starts_at}));
        let answer = town.post_booking(&wish, None).await;
        assert_eq!(answer.status, status, "{starts_at}: {}", answer.text);
        assert_calendar_is_sound(&town);
    }
    let other = wish(&town, &json!({"resource": "table-5"}));
    assert_eq!(town.post_booking(&other, None).await.status, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bug_c01_overlapping_wishes_at_once_leave_no_overlap_and_no_half_of_a_booking() {
    let town = Arc::new(Town::new());
    let starts = ["19:00", "19:30", "20:00", "20:30", "21:00", "21:30"];
    let request = |racer: usize| {
        let starts_at = format!("2026-07-11T{}", starts[racer % starts.len()]);
        let changes = json!({"starts_at": starts_at});
        (wish_of(&town, racer, &changes), None)
    };
    let requests = (0..60).map(request).collect();
    let answers = race(&town, requests).await;
    let sold = town.rows("bdc-bookings").len();
    assert_eq!(sold, 2, "whatever comes first leaves room for one more");
    assert_eq!(count(&answers), counted(sold, 60 - sold));
    assert_eq!(town.rows("bdc-slots").len(), 3 * sold);
    assert_calendar_is_sound(&town);
}

fn class_of_five() -> Value {
    venue(|venue| {
        venue["resources"] = json!([{"id": "class", "label": "class", "grid_minutes": 30,
            "duration_minutes": 60, "capacity": 5, "party_max": 3, "deposit": {"per_guest": 500}}]);
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_capacity_of_five_sells_exactly_five() {
    let town = Arc::new(Town::with_venue(&class_of_five()));
    let class = json!({"resource": "class"});
    let request = |racer| (wish_of(&town, racer, &class), None);
    let answers = race(&town, (0..40).map(request).collect()).await;
    assert_eq!(count(&answers), counted(5, 35));
    assert_eq!(town.rows("bdc-slots").len(), 10);
    assert_calendar_is_sound(&town);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_party_gets_a_seat_for_each_guest_or_none() {
    let town = Arc::new(Town::new());
    let seats = |party: u32| json!({"resource": "tasting", "party": party});
    let request = |racer| (wish_of(&town, racer, &seats(5)), None);
    let answers = race(&town, (0..30).map(request).collect()).await;
    assert_eq!(count(&answers), counted(2, 28), "5 + 5 of 12 seats");
    assert_eq!(town.rows("bdc-slots").len(), 2 * 5 * 2);
    let party = |party: u32| wish_of(&town, 30, &seats(party));
    assert_eq!(
        town.post_booking(&party(3), None).await.code(),
        "slot_taken"
    );
    assert_eq!(
        town.rows("bdc-slots").len(),
        20,
        "not even two of the three"
    );
    assert_eq!(town.post_booking(&party(2), None).await.status, 201);
    assert_eq!(
        town.post_booking(&party(1), None).await.code(),
        "slot_taken"
    );
    assert_calendar_is_sound(&town);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parties_of_every_size_fill_the_seats_and_never_more() {
    let town = Arc::new(Town::new());
    let request = |racer: usize| {
        let changes = json!({"resource": "tasting", "party": racer % 4 + 1});
        (wish_of(&town, racer, &changes), None)
    };
    let answers = race(&town, (0..40).map(request).collect()).await;
    let sold = answers.iter().filter(|answer| answer.status == 201).count();
    let rows = town.rows("bdc-bookings");
    let seats: u64 = rows.iter().map(|row| row["party"].as_u64().unwrap()).sum();
    assert_eq!(rows.len(), sold);
    assert_eq!(seats, 12, "ten parties of one would fill any gap");
    assert_calendar_is_sound(&town);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_cancellations_at_once_are_one_cancellation() {
    let town = quick_town();
    let booked = town.paid().await;
    let town = Arc::new(town);
    let mut racers = JoinSet::new();
    for _ in 0..50 {
        let (town, booked) = (Arc::clone(&town), booked.clone());
        racers.spawn(async move { town.staff(&booked, "cancel", &json!({})).await.status });
    }
    assert_eq!(racers.join_all().await, [200; 50]);
    town.settle().await;
    assert_eq!(
        town.kinds(),
        ["deposit_request", "confirmation", "cancelled"]
    );
    assert_eq!(town.cases(), Vec::<String>::new());
    assert_eq!((town.refunds().len(), town.refunded()), (1, 2000));
    town.assert_money_is_accounted_for();
    let history = town.history(&booked);
    let cancelled = history.iter().filter(|what| *what == "cancelled");
    assert_eq!(cancelled.count(), 1);
    assert_calendar_is_sound(&town);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_moves_at_once_to_one_slot_move_one_booking() {
    let town = Town::new();
    let mut bookings = Vec::new();
    for day in 10..20 {
        let changes = json!({"starts_at": format!("2026-08-{day}T12:00")});
        bookings.push(town.book(&wish(&town, &changes)).await);
    }
    let town = Arc::new(town);
    let mut racers = JoinSet::new();
    for racer in 0..50 {
        let (town, booked) = (Arc::clone(&town), bookings[racer % 10].clone());
        racers.spawn(async move {
            let to = json!({"starts_at": "2026-08-25T20:00"});
            let answer = town.staff(&booked, "reschedule", &to).await;
            (answer.status, answer.code(), booked.id)
        });
    }
    let mut moved = BTreeSet::new();
    for (status, code, id) in racers.join_all().await {
        match status {
            200 => drop(moved.insert(id)),
            _ => assert_eq!((status, code.as_str()), (409, "slot_taken")),
        }
    }
    assert_eq!(moved.len(), 1);
    assert_eq!(town.holder("table-4#2026-08-25T20:00"), moved.pop_first());
    assert_eq!(town.rows("bdc-slots").len(), 30);
    assert_calendar_is_sound(&town);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sweeps_beside_each_other_release_and_tell_once() {
    let (town, bookings) = overdue_town(6).await;
    let town = Arc::new(town);
    let mut racers = JoinSet::new();
    for _ in 0..20 {
        let town = Arc::clone(&town);
        racers.spawn(async move { sweep(&town, "bdc-release-sweep").await });
    }
    for swept in racers.join_all().await {
        assert_eq!(swept["failed"], 0, "a lost race is no failure");
    }
    town.settle().await;
    assert_eq!(town.rows("bdc-slots"), Vec::<Value>::new());
    for booked in bookings {
        assert_eq!(town.history(&booked), ["slot held", "reminded", "released"]);
        let mut kinds = kinds_of(&town, &booked);
        kinds.sort();
        assert_eq!(kinds, ["deposit_request", "released", "reminder"]);
    }
}
