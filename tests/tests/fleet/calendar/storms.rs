//! Customers, staff, payments and sweeps in any order while every fifth call goes wrong: once the
//! faults stop, the calendar is sound and every booking has come to its end.

use std::collections::BTreeSet;

use chrono::Duration;
use fleet_tests::{Answer, Booked, Town, deposit_paid};
use lambda_kit::Entropy;
use local_cloud::{FaultKind, RandomFaults};
use paidonce_core::audit::{AuditRow, rebuild};
use paidonce_core::booking::Booking;
use paidonce_core::step::Row;
use serde_json::{Value, json};

use crate::calendar::support::{
    assert_calendar_is_sound, assert_nothing_will_come_again, kinds_of, quick_town, wish,
};

const ACTIONS: usize = 70;
const TRIES_MAX: usize = 40;

struct Storm {
    town: Town,
    dice: Entropy,
    bookings: Vec<Booked>,
}

impl Storm {
    fn new(seed: u64) -> Self {
        let town = quick_town();
        town.fleet.cloud.faults().set_random(Some(RandomFaults {
            seed,
            per_mille: 200,
            kinds: FaultKind::ALL.map(|kind| (kind, 1)).to_vec(),
        }));
        Self {
            town,
            dice: Entropy::seeded(seed),
            bookings: Vec::new(),
        }
    }

    fn roll(&self, sides: usize) -> usize {
        let mut bytes = [0; 4];
        self.dice.fill(&mut bytes);
        usize::try_from(u32::from_le_bytes(bytes)).unwrap() % sides
    }

    fn wish(&self) -> Value {
        let hour = self.roll(6) + 18;
        let resource = ["table-4", "table-5", "tasting"][self.roll(3)];
        let starts_at = format!("2026-07-1{}T{hour}:00", self.roll(2) + 1);
        let party = self.roll(4) + 1;
        let changes = json!({"resource": resource, "starts_at": starts_at, "party": party});
        wish(&self.town, &changes)
    }

    async fn book(&mut self, number: usize) {
        let (wish, key) = (self.wish(), format!("k-{number}"));
        for _ in 0..TRIES_MAX {
            let answer = self.town.post_booking(&wish, Some(&key)).await;
            if answer.status == 201 {
                let answer = answer.json();
                let id = answer["booking_id"].as_str().unwrap().to_owned();
                self.bookings.push(Booked { id, answer });
            }
            if answer_is_final(&answer.status) {
                return;
            }
        }
        panic!("the form was never answered");
    }

    async fn order(&self, booked: &Booked, order: &str, body: &Value) -> Answer {
        for _ in 0..TRIES_MAX {
            let answer = self.town.staff(booked, order, body).await;
            if answer_is_final(&answer.status) {
                return answer;
            }
        }
        panic!("the staff were never answered");
    }

    async fn pay(&self, booked: &Booked) {
        let (id, payment) = (format!("evt_{}", booked.id), format!("pi_{}", booked.id));
        let event = deposit_paid(&self.town, booked, &id, &payment);
        for _ in 0..TRIES_MAX {
            if answer_is_final(&self.town.webhook(&event).await.status) {
                return;
            }
        }
        panic!("the provider was never answered");
    }

    async fn act(&mut self, number: usize) {
        let action = self.roll(10);
        let booked = (!self.bookings.is_empty())
            .then(|| self.bookings[self.roll(self.bookings.len())].clone());
        match (action, booked) {
            (0..=3, _) | (_, None) => self.book(number).await,
            (4, Some(booked)) => {
                let by = ["customer", "business"][self.roll(2)];
                self.order(&booked, "cancel", &json!({"by": by})).await;
            }
            (5, Some(booked)) => {
                let to = self.wish();
                let to = json!({"starts_at": to["starts_at"], "resource": to["resource"]});
                self.order(&booked, "reschedule", &to).await;
            }
            (6, Some(booked)) => {
                let body = json!({"attended": self.roll(2) == 0});
                self.order(&booked, "attendance", &body).await;
            }
            (7 | 8, Some(booked)) => self.pay(&booked).await,
            (_, Some(_)) => {
                let minutes = i64::try_from(self.roll(8)).unwrap();
                self.town.advance(Duration::minutes(minutes)).await;
            }
        }
    }
}

fn answer_is_final(status: &u16) -> bool {
    *status < 500
}

fn assert_rebuilt(town: &Town, row: &Value) {
    let rows = town.rows("bdc-audit").into_iter();
    let own = rows.filter(|audit| audit["booking_id"] == row["booking_id"]);
    let own: Vec<AuditRow> = own
        .map(|row| serde_json::from_value(row).unwrap())
        .collect();
    let mut expected = row.clone();
    expected
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !Booking::PERSONAL.contains(&name.as_str()));
    assert_eq!(rebuild(&own), expected);
}

#[tokio::test]
async fn after_any_storm_every_slot_has_one_owner_and_every_booking_its_end() {
    let mut ends = BTreeSet::new();
    for seed in 1..=6 {
        let mut storm = Storm::new(seed);
        for number in 0..ACTIONS {
            storm.act(number).await;
            assert_calendar_is_sound(&storm.town);
        }
        storm.town.fleet.cloud.faults().clear();
        // Messages come back after their visibility time-out, and the longest hold is 30 minutes.
        storm.town.advance_to("2026-07-11T20:00:00Z").await;
        for (number, booked) in storm.bookings.iter().enumerate() {
            let body = json!({"attended": number % 2 == 0});
            storm.order(booked, "attendance", &body).await;
        }
        storm.town.advance_to("2026-07-11T22:00:00Z").await;
        let Storm { town, bookings, .. } = storm;
        assert_calendar_is_sound(&town);
        assert_nothing_will_come_again(&town);
        let rows = town.rows("bdc-bookings");
        assert_eq!(
            rows.len(),
            bookings.len(),
            "seed {seed}: each form made one booking"
        );
        for row in &rows {
            assert_ne!(row["state"], "PENDING", "seed {seed}: overdue");
            ends.insert(row["state"].as_str().unwrap().to_owned());
            assert_rebuilt(&town, row);
        }
        let mut told = 0;
        for booked in &bookings {
            let kinds = kinds_of(&town, booked);
            told += kinds.len();
            let different: BTreeSet<&String> = kinds.iter().collect();
            assert_eq!(different.len(), kinds.len(), "seed {seed}: {kinds:?}");
        }
        assert!(
            (1..=town.texts().len()).contains(&told),
            "seed {seed}: {told}"
        );
        let orders = town.rows("bdc-outbox").into_iter();
        let orders = orders.filter(|row| row["type"] == "message.compose");
        assert!(town.texts().len() <= orders.count(), "seed {seed}");
    }
    for end in ["APPLIED", "CANCELLED", "CONFIRMED", "FORFEITED", "RELEASED"] {
        assert!(ends.contains(end), "the storms saw {ends:?}");
    }
}
