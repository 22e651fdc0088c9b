//! Races for the money of one payment.

use local_cloud::Call;
use serde_json::{Value, json};

use super::booking::{PAID, book, by_staff, no_more_than};
use super::errand::Errand;
use super::orders::Side;
use super::texts::order;
use super::{Contest, Race, Raced};
use crate::action::{Action, Card, System};
use crate::promises::{Broken, require};
use crate::world::{World, members, request, text};

pub(super) static RACES: &[Race] = &[
    Race {
        name: "a cancellation by the business and the payment",
        system: System::Booking,
        prepare: |world| Box::pin(cancelled_while_paid(world, "business")),
        promise: |world, _| all_of_it_goes_back(world),
    },
    Race {
        name: "a cancellation by the customer and the payment",
        system: System::Booking,
        prepare: |world| Box::pin(cancelled_while_paid(world, "customer")),
        promise: |world, _| no_more_than(world, "cancelled", 1),
    },
    Race {
        name: "the button of a payment page twice",
        system: System::Booking,
        prepare: |world| Box::pin(pressed_twice(world)),
        promise: |world, _| one_page_is_open(world),
    },
    Race {
        name: "two payments of one booking",
        system: System::Booking,
        prepare: |world| Box::pin(paid_twice(world)),
        promise: |world, _| one_of_two_goes_back(world),
    },
    Race {
        name: "a refund that is made and the event that its charge was refunded",
        system: System::Booking,
        prepare: |world| Box::pin(refunded_and_told(world, "charge.refunded")),
        promise: refunded_once,
    },
    Race {
        name: "a refund that is made and the event that there is one",
        system: System::Booking,
        prepare: |world| Box::pin(refunded_and_told(world, "refund.created")),
        promise: refunded_once,
    },
    Race {
        name: "one order of a refund twice",
        system: System::Booking,
        prepare: |world| Box::pin(refunded_twice(world)),
        promise: refunded_once,
    },
    Race {
        name: "a refund in part and the provider that forgets its key",
        system: System::Booking,
        prepare: |world| Box::pin(key_is_forgotten(world)),
        promise: |world, _| made_once(world),
    },
    Race {
        name: "a refund that is made and one by hand at the provider",
        system: System::Booking,
        prepare: |world| Box::pin(refunded_by_hand(world)),
        promise: |_, raced| what_is_known_to_be_gone_is_not_asked_for(raced),
    },
    Race {
        name: "a refund that the staff order and the event of one by hand",
        system: System::Booking,
        prepare: |world| Box::pin(ordered_and_refunded_by_hand(world)),
        promise: |_, raced| no_refund_is_refused(raced),
    },
];

async fn cancelled_while_paid(world: &mut World, by: &str) -> Option<Contest> {
    let id = book(world, 1, 0, 1).await?;
    let paid = world
        .carry_out(Action::Pay {
            nth: 0,
            card: Card::Good,
        })
        .await;
    (paid == "200").then_some(())?;
    Some(Contest {
        first: vec![Errand::Hear(PAID)],
        second: vec![by_staff(world, &id, "cancel", &json!({"by": by}))],
    })
}

async fn pressed_twice(world: &mut World) -> Option<Contest> {
    book(world, 1, 0, 1).await?;
    let base = world.fleet.url("bdc-cashier");
    let path = world
        .bookings
        .last()?
        .pay_url
        .strip_prefix(&base)?
        .to_owned();
    let press = || {
        let asked = ("POST", format!("/{path}"));
        let asked = request((asked.0, &asked.1), &[], &Value::Null);
        vec![Errand::Ask("bdc-cashier", Box::new(asked))]
    };
    Some(Contest {
        first: press(),
        second: press(),
    })
}

fn one_page_is_open(world: &World) -> Result<(), Broken> {
    let ledger = world.fleet.sandbox.ledger();
    let open = members(&ledger["sessions"]).filter(|it| text(it, "status") == "open");
    let open = open.count();
    require(open <= 1, "one page at a time", || {
        format!("a booking can be paid on {open} pages")
    })
}

async fn paid_twice(world: &mut World) -> Option<Contest> {
    book(world, 1, 0, 1).await?;
    world
        .carry_out(Action::Pay {
            nth: 0,
            card: Card::Good,
        })
        .await;
    world
        .carry_out(Action::PayByHand {
            nth: 0,
            percent: 100,
        })
        .await;
    Some(Contest {
        first: vec![Errand::Hear(PAID)],
        second: vec![Errand::Hear(PAID)],
    })
}

/// A booking that is paid and confirmed.
async fn paid(world: &mut World) -> Option<String> {
    let id = book(world, 1, 0, 1).await?;
    world
        .carry_out(Action::Pay {
            nth: 0,
            card: Card::Good,
        })
        .await;
    world.fleet.cloud.settle().await;
    let rows = world.rows("bdc-bookings");
    rows.iter()
        .any(|row| text(row, "state") == "CONFIRMED")
        .then_some(id)
}

/// The order to give back a deposit, of a booking that the business has cancelled just now.
async fn refund_order(world: &mut World) -> Option<Errand> {
    paid(world).await?;
    world
        .carry_out(Action::Cancel {
            nth: 0,
            by_business: true,
        })
        .await;
    order(world, "bdc-cashier")
}

async fn refunded_and_told(world: &mut World, kind: &'static str) -> Option<Contest> {
    Some(Contest {
        first: vec![refund_order(world).await?],
        second: vec![Errand::Hear(kind)],
    })
}

async fn refunded_twice(world: &mut World) -> Option<Contest> {
    let order = refund_order(world).await?;
    Some(Contest {
        first: vec![order.clone()],
        second: vec![order],
    })
}

/// The order to give back a part of a deposit. No event tells of it in time, and of a part the provider would
/// not say that there is no more to give back.
async fn key_is_forgotten(world: &mut World) -> Option<Contest> {
    paid(world).await?;
    let events_are_late = json!({"rules": [{"delay_s": 3_600}]});
    world.control("webhooks", &events_are_late);
    world
        .carry_out(Action::StaffRefund { nth: 0, part: true })
        .await;
    Some(Contest {
        first: vec![order(world, "bdc-cashier")?],
        second: vec![Errand::AtProvider("forget-keys".to_owned(), json!({}))],
    })
}

/// Somebody gives back a part in the provider's dashboard.
fn by_hand(world: &World) -> Option<Errand> {
    let ledger = world.fleet.sandbox.ledger();
    let charge = members(&ledger["charges"]).next()?;
    let path = format!("payments/{}/refund", text(charge, "id"));
    Some(Errand::AtProvider(path, json!({"amount": 300})))
}

async fn refunded_by_hand(world: &mut World) -> Option<Contest> {
    Some(Contest {
        first: vec![refund_order(world).await?],
        second: vec![by_hand(world)?, Errand::Hear("refund.created")],
    })
}

async fn ordered_and_refunded_by_hand(world: &mut World) -> Option<Contest> {
    let id = paid(world).await?;
    Some(Contest {
        first: vec![by_staff(
            world,
            &id,
            "refund",
            &json!({"reason": "goodwill"}),
        )],
        second: vec![by_hand(world)?, Errand::Hear("charge.refunded")],
    })
}

/// How much came, and how much went back.
fn totals(world: &World) -> (i64, i64) {
    let ledger = world.fleet.sandbox.ledger();
    let sum = |of: &str, what: &str| {
        members(&ledger[of])
            .filter_map(|it| it[what].as_i64())
            .sum::<i64>()
    };
    (sum("charges", "amount_captured"), sum("refunds", "amount"))
}

fn all_of_it_goes_back(world: &World) -> Result<(), Broken> {
    let (came, went) = totals(world);
    require(
        came > 0 && came == went,
        "a deposit goes back whole",
        || format!("{came} came and {went} went back"),
    )?;
    no_more_than(world, "cancelled", 1)
}

fn one_of_two_goes_back(world: &World) -> Result<(), Broken> {
    let (came, went) = totals(world);
    require(
        went > 0 && came == 2 * went,
        "of two payments one goes back",
        || format!("{came} came and {went} went back"),
    )
}

fn refunded_once(world: &World, raced: &Raced) -> Result<(), Broken> {
    all_of_it_goes_back(world)?;
    made_once(world)?;
    no_refund_is_refused(raced)
}

fn made_once(world: &World) -> Result<(), Broken> {
    let ledger = world.fleet.sandbox.ledger();
    let refunds = members(&ledger["refunds"]).count();
    require(
        refunds == 1,
        "an order of a refund moves money once",
        || format!("{refunds} refunds"),
    )
}

/// Nobody knew of the refund by hand before the other was asked for, or it is not asked for.
fn what_is_known_to_be_gone_is_not_asked_for(raced: &Raced) -> Result<(), Broken> {
    let written = |by: Side| {
        let is_write = |(side, call): &(Side, Call)| {
            *side == by && call.operation == "TransactWriteItems" && call.outcome == "ok"
        };
        raced.calls.iter().position(is_write)
    };
    let is_known = match (written(Side::Second), written(Side::First)) {
        (Some(told), Some(intended)) => told < intended,
        (_, None) | (None, Some(_)) => false,
    };
    if is_known {
        no_refund_is_refused(raced)
    } else {
        Ok(())
    }
}

/// More than there is is never asked for.
fn no_refund_is_refused(raced: &Raced) -> Result<(), Broken> {
    let is_refused =
        |(_, call): &&(Side, Call)| call.operation == "POST /v1/refunds" && call.outcome != "ok";
    let refused = raced.calls.iter().find(is_refused);
    require(
        refused.is_none(),
        "no more is asked for than there is",
        || format!("{refused:?}"),
    )
}
