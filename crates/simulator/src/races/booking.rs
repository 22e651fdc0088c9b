//! Races for slots, and for a hold at its deadline.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::errand::Errand;
use super::{Contest, Race, Raced};
use crate::action::{Action, System};
use crate::promises::{Broken, require};
use crate::world::{World, members, request, text};

pub(super) static RACES: &[Race] = &[
    Race {
        name: "a payment on its page and the sweep after its deadline",
        system: System::Booking,
        prepare: |world| Box::pin(paid_page_overdue(world)),
        promise: |world, _| whoever_paid_never_lost_the_slot(world),
    },
    Race {
        name: "a payment on a page of its own and the sweep after its deadline",
        system: System::Booking,
        prepare: |world| Box::pin(paid_by_hand_overdue(world)),
        promise: |world, _| whoever_paid_keeps_the_slot(world),
    },
    Race {
        name: "a payment after the deadline, and somebody else for the slot",
        system: System::Booking,
        prepare: |world| Box::pin(paid_late_and_wanted(world)),
        promise: |world, _| one_of_them_has_the_slot(world),
    },
    Race {
        name: "the closing of a page and the payment on it",
        system: System::Booking,
        prepare: |world| Box::pin(page_is_closed_while_paid(world)),
        promise: |world, _| whoever_paid_never_lost_the_slot(world),
    },
    Race {
        name: "two sweeps after the deadline",
        system: System::Booking,
        prepare: |world| Box::pin(swept_twice(world)),
        promise: |world, _| told_once(world, "released"),
    },
    Race {
        name: "two customers and one slot",
        system: System::Booking,
        prepare: |world| Box::pin(std::future::ready(two_want_one_slot(world))),
        promise: one_wins,
    },
    Race {
        name: "one form twice under one key",
        system: System::Booking,
        prepare: |world| Box::pin(std::future::ready(one_form_twice(world, Some("form-1")))),
        promise: both_have_it,
    },
    Race {
        name: "one form twice without a key",
        system: System::Booking,
        prepare: |world| Box::pin(std::future::ready(one_form_twice(world, None))),
        promise: both_have_it,
    },
    Race {
        name: "a booking that is moved and a customer for its new slot",
        system: System::Booking,
        prepare: |world| Box::pin(moved_to_where_another_wants(world)),
        promise: one_wins,
    },
    Race {
        name: "two bookings that are moved into each other's slots",
        system: System::Booking,
        prepare: |world| Box::pin(moved_crosswise(world)),
        promise: |world, _| {
            let live = world
                .rows("bdc-bookings")
                .iter()
                .filter(|it| text(it, "state") == "PENDING")
                .count();
            require(live == 2, "nobody loses a slot by a move", || {
                format!("{live} are left of 2")
            })
        },
    },
];

/// Takes a booking, and lets what follows at once run. With a quick venue its deposit is due in half an
/// hour.
pub(super) async fn book(
    world: &mut World,
    customer: u32,
    place: u32,
    when: u32,
) -> Option<String> {
    let wish = Action::Book {
        customer,
        place,
        when,
        party: 2,
        keyed: false,
    };
    world.carry_out(wish).await;
    world.fleet.cloud.settle().await;
    world.bookings.last()?.id.clone()
}

pub(super) async fn later(world: &World, minutes: i64) {
    world.fleet.cloud.advance(TimeDelta::minutes(minutes)).await;
}

pub(super) const SWEEP: &str = "bdc-release-sweep";
pub(super) const PAID: &str = "checkout.session.completed";

pub(super) fn sweep(function: &'static str) -> Errand {
    Errand::Invoke(function, json!({"kind": "sweep"}))
}

/// A booking whose deposit is overdue since a minute, which no sweep has seen. Somebody opened its page
/// some time ago, if that is wanted; returns the session.
async fn overdue(world: &mut World, has_page: bool) -> Option<String> {
    later(world, 1).await;
    book(world, 1, 0, 1).await?;
    later(world, 20).await;
    let session = match has_page {
        true => world.carry_out(Action::OpenPayPage { nth: 0 }).await,
        false => String::new(),
    };
    later(world, 11).await;
    let rows = world.rows("bdc-bookings");
    rows.iter()
        .any(|row| text(row, "state") == "PENDING")
        .then_some(session)
}

fn pay(world: &World, session: &str) -> Option<()> {
    let path = format!("sessions/{session}/pay");
    let paid = world.control(&path, &json!({"card": "4242424242424242"}));
    (paid == "200").then_some(())
}

async fn paid_page_overdue(world: &mut World) -> Option<Contest> {
    let session = overdue(world, true).await?;
    pay(world, &session)?;
    Some(Contest {
        first: vec![Errand::Hear(PAID)],
        second: vec![sweep(SWEEP)],
    })
}

async fn paid_by_hand_overdue(world: &mut World) -> Option<Contest> {
    overdue(world, false).await?;
    world
        .carry_out(Action::PayByHand {
            nth: 0,
            percent: 100,
        })
        .await;
    Some(Contest {
        first: vec![Errand::Hear(PAID)],
        second: vec![sweep(SWEEP)],
    })
}

async fn paid_late_and_wanted(world: &mut World) -> Option<Contest> {
    overdue(world, false).await?;
    let wanted = starts_at(world.rows("bdc-bookings").first()?);
    world
        .carry_out(Action::PayByHand {
            nth: 0,
            percent: 100,
        })
        .await;
    Some(Contest {
        first: vec![Errand::Hear(PAID)],
        second: vec![
            sweep(SWEEP),
            form(world, &wish(2, "table-4", &wanted), None),
        ],
    })
}

async fn page_is_closed_while_paid(world: &mut World) -> Option<Contest> {
    let session = overdue(world, true).await?;
    world
        .fleet
        .cloud
        .invoke(SWEEP, json!({"kind": "sweep"}))
        .await
        .ok()?;
    pay(world, &session)?;
    Some(Contest {
        first: vec![super::texts::order(world, "bdc-cashier")?],
        second: vec![Errand::Hear(PAID)],
    })
}

async fn swept_twice(world: &mut World) -> Option<Contest> {
    overdue(world, false).await?;
    Some(Contest {
        first: vec![sweep(SWEEP)],
        second: vec![sweep(SWEEP)],
    })
}

/// The local time at which a booking starts, as a form has it.
fn starts_at(row: &Value) -> String {
    let key = row["place"]["slot_keys"][0].as_str().unwrap_or_default();
    key.split('#').nth(1).unwrap_or_default().to_owned()
}

const EVENING: &str = "2026-07-11T20:00";
const OTHER_EVENING: &str = "2026-07-12T20:00";

pub(super) fn wish(customer: u32, resource: &str, starts_at: &str) -> Value {
    json!({"resource": resource, "starts_at": starts_at, "party": 2, "name": "Ottoline Marchbanks",
        "phone": format!("07700 9001{customer:02}"), "source": "form"})
}

/// A customer's form.
pub(super) fn form(world: &World, wish: &Value, key: Option<&str>) -> Errand {
    let mut headers = vec![
        (
            "authorization",
            format!("Bearer {}", world.fleet.tokens().form),
        ),
        ("content-type", "application/json".to_owned()),
    ];
    headers.extend(key.map(|key| ("idempotency-key", key.to_owned())));
    Errand::Ask(
        "bdc-intake",
        Box::new(request(("POST", "/bookings"), &headers, wish)),
    )
}

/// An order of the staff about a booking.
pub(super) fn by_staff(world: &World, booking: &str, order: &str, body: &Value) -> Errand {
    let headers = [
        (
            "authorization",
            format!("Bearer {}", world.fleet.tokens().staff),
        ),
        ("content-type", "application/json".to_owned()),
    ];
    let path = format!("/bookings/{booking}/{order}");
    Errand::Ask(
        "bdc-intake",
        Box::new(request(("POST", &path), &headers, body)),
    )
}

fn two_want_one_slot(world: &mut World) -> Option<Contest> {
    Some(Contest {
        first: vec![form(world, &wish(1, "table-4", EVENING), None)],
        second: vec![form(world, &wish(2, "table-4", EVENING), None)],
    })
}

fn one_form_twice(world: &mut World, key: Option<&str>) -> Option<Contest> {
    let form = form(world, &wish(1, "table-4", EVENING), key);
    Some(Contest {
        first: vec![form.clone()],
        second: vec![form],
    })
}

async fn moved_to_where_another_wants(world: &mut World) -> Option<Contest> {
    let id = book(world, 1, 0, 1).await?;
    let to = json!({"starts_at": OTHER_EVENING, "resource": "table-4"});
    Some(Contest {
        first: vec![by_staff(world, &id, "reschedule", &to)],
        second: vec![form(world, &wish(2, "table-4", OTHER_EVENING), None)],
    })
}

async fn moved_crosswise(world: &mut World) -> Option<Contest> {
    let one = book(world, 1, 0, 1).await?;
    let other = book(world, 2, 0, 2).await?;
    let rows = world.rows("bdc-bookings");
    let place = |id: &str| {
        rows.iter()
            .find(|row| row["booking_id"] == id)
            .map(starts_at)
    };
    let to_other = json!({"starts_at": place(&other)?, "resource": "table-4"});
    let to_one = json!({"starts_at": place(&one)?, "resource": "table-4"});
    Some(Contest {
        first: vec![by_staff(world, &one, "reschedule", &to_other)],
        second: vec![by_staff(world, &other, "reschedule", &to_one)],
    })
}

/// A page takes money until it is closed, and a hold is not given up before.
fn whoever_paid_never_lost_the_slot(world: &World) -> Result<(), Broken> {
    let was_released = world
        .rows("bdc-audit")
        .iter()
        .any(|row| row["what"] == "released");
    require(!was_released, "whoever paid keeps the slot", || {
        "it was released meanwhile".to_owned()
    })?;
    whoever_paid_keeps_the_slot(world)
}

/// Whoever paid has the slot in the end, as nobody else wants it.
fn whoever_paid_keeps_the_slot(world: &World) -> Result<(), Broken> {
    for row in world.rows("bdc-bookings") {
        require(
            text(&row, "state") == "CONFIRMED",
            "whoever paid keeps the slot",
            || format!("{} is {}", text(&row, "booking_id"), text(&row, "state")),
        )?;
    }
    no_more_than(world, "confirmation", 1)
}

/// The slot was free for whoever came first; the other has no slot, and the money of the first goes back
/// if it was theirs.
fn one_of_them_has_the_slot(world: &World) -> Result<(), Broken> {
    let rows = world.rows("bdc-bookings");
    let live = rows
        .iter()
        .filter(|row| matches!(text(row, "state"), "PENDING" | "CONFIRMED"));
    let live = live.count();
    require(live == 1, "one of them has the slot", || {
        format!("{live} have it")
    })?;
    let ledger = world.fleet.sandbox.ledger();
    let refunds = members(&ledger["refunds"]).count();
    let first_has_it = rows.iter().any(|row| text(row, "state") == "CONFIRMED");
    require(
        (refunds == 0) == first_has_it,
        "money without a slot goes back",
        || format!("{refunds} refunds"),
    )
}

fn one_wins(world: &World, raced: &Raced) -> Result<(), Broken> {
    const PROMISE: &str = "one of two gets the slot";
    let mut won = raced
        .first
        .iter()
        .chain(&raced.second)
        .filter(|it| it.status < 300);
    let (winner, another) = (won.next(), won.next());
    // The one that died and came again may find its own booking there.
    require(winner.is_some() && another.is_none(), PROMISE, || {
        raced.described()
    })?;
    let mut lost = raced
        .first
        .iter()
        .chain(&raced.second)
        .filter(|it| it.status >= 300);
    let is_taken = lost.all(|it| it.body["code"] == "slot_taken");
    require(is_taken, PROMISE, || raced.described())?;
    no_more_than(world, "deposit_request", world.rows("bdc-bookings").len())
}

fn both_have_it(world: &World, raced: &Raced) -> Result<(), Broken> {
    const PROMISE: &str = "one form is one booking";
    let mut answers = raced.first.iter().chain(&raced.second);
    let are_same = answers.all(|it| it.status == 201 && it.body == raced.second[0].body);
    require(are_same, PROMISE, || raced.described())?;
    let rows = world.rows("bdc-bookings").len();
    require(rows == 1, PROMISE, || format!("{rows} bookings"))?;
    told_once(world, "deposit_request")
}

pub(super) fn texts(world: &World, kind: &str) -> usize {
    world
        .fleet
        .cloud
        .messages()
        .iter()
        .filter(|it| it.kind == kind)
        .count()
}

/// A text of a kind went out, once.
pub(super) fn told_once(world: &World, kind: &str) -> Result<(), Broken> {
    let sent = texts(world, kind);
    require(sent == 1, "everybody is told once", || {
        format!("{kind} was sent {sent} times")
    })
}

pub(super) fn no_more_than(world: &World, kind: &str, most: usize) -> Result<(), Broken> {
    let sent = texts(world, kind);
    require(sent <= most, "everybody is told once", || {
        format!("{kind} was sent {sent} times")
    })
}
