//! Situations around a payment that failed.

use super::{Rolled, Situation, soon, wait};
use crate::action::Action;
use crate::dice::Dice;
use crate::kinds::Kind;

pub(super) const SITUATIONS: &[Rolled] = &[
    card_is_lost,
    over_before_the_date,
    over_before_the_date,
    over_before_the_date,
    charge_unanswered,
    schedules_go_wrong,
    another_card,
    another_card,
    paused_and_paid,
    told_in_any_order,
    two_on_one_day,
    long_course,
    orders_are_late,
];

fn fail(nth: u32, decline: u32, times: u32) -> Action {
    Action::FailRenewal {
        nth,
        decline,
        times,
    }
}

/// A decline that is no more than want of funds.
const SOFT: u32 = 0;
const LOST: u32 = 2;
/// A card that pays: the first one is what subscribers have, and it fails.
const OTHER_CARD: u32 = 1;

/// A card that the bank never lets charge again.
fn card_is_lost(dice: &mut Dice) -> Situation {
    let actions = vec![
        fail(0, LOST, 5),
        wait(dice.one(&[1_500, 3_000])),
        wait(3_000),
    ];
    Situation::new(actions).with(&[&[], &[Kind::EventLate], &[Kind::ScheduleTwice]], dice)
}

/// An invoice is over before its date comes, and the fleet has not heard of it yet.
fn over_before_the_date(dice: &mut Dice) -> Situation {
    let over = dice.one(&[
        Action::LeaveCustomer { nth: 0 },
        Action::PayInvoice {
            nth: 0,
            card: OTHER_CARD,
        },
        Action::EndInvoice { nth: 0, how: 0 },
        Action::LeaveCustomer { nth: 0 },
    ]);
    let before = wait(dice.one(&[800, 1_150, 2_600, 3_000]));
    let actions = vec![fail(0, SOFT, 5), before, over, wait(1_500), wait(3_000)];
    let troubles: [&[Kind]; 3] = [&[Kind::EventLate], &[Kind::EventLate], &[Kind::EventLost]];
    Situation::new(actions).with(&troubles, dice)
}

/// Nobody knows how a charge ended.
fn charge_unanswered(dice: &mut Dice) -> Situation {
    let mut actions = vec![
        fail(0, SOFT, dice.roll(4)),
        Action::NextPay { how: dice.roll(6) },
        wait(dice.one(&[1_300, 1_500])),
    ];
    if dice.chance(400) {
        actions.push(Action::Schedule { nth: 0, how: 1 });
    }
    actions.extend([wait(400), wait(1_500)]);
    Situation::new(actions).with(
        &[
            &[],
            &[Kind::TimeOutDone],
            &[Kind::ServerErrorDone],
            &[Kind::TimeOutNotDone],
            &[Kind::TimeOutDone, Kind::EventLate],
            &[Kind::ServerErrorDone, Kind::EventLate],
        ],
        dice,
    )
}

/// Schedules fire early, late, twice, after their end, or never.
fn schedules_go_wrong(dice: &mut Dice) -> Situation {
    let upset = |dice: &mut Dice| Action::Schedule {
        nth: 0,
        how: dice.roll(3),
    };
    let mut actions = vec![
        fail(0, SOFT, dice.between(1, 5)),
        wait(dice.one(&[1, 5, 400])),
        upset(dice),
        wait(dice.one(&[400, 1_500])),
    ];
    if dice.chance(300) {
        actions.push(upset(dice));
    }
    actions.push(wait(3_000));
    Situation::new(actions).with(
        &[
            &[],
            &[Kind::ScheduleAfterDelete],
            &[Kind::ScheduleLate],
            &[Kind::ScheduleTwice],
        ],
        dice,
    )
}

/// A charge is declined, and the customer gives another card on the same day.
fn another_card(dice: &mut Dice) -> Situation {
    let card = Action::SaveCard {
        nth: 0,
        card: dice.one(&[OTHER_CARD, OTHER_CARD, 2, 3]),
        on_subscription: dice.chance(300),
    };
    let actions = vec![
        fail(0, dice.roll(3), 5),
        wait(dice.one(&[5, 1_300, 1_500, 2_500])),
        card,
        wait(31),
        wait(1_500),
    ];
    let troubles: [&[Kind]; 4] = [&[], &[], &[Kind::EventDoubled], &[Kind::TimeOutDone]];
    Situation::new(actions).with(&troubles, dice)
}

/// Access is paused, and then the customer pays.
fn paused_and_paid(dice: &mut Dice) -> Situation {
    let actions = vec![
        fail(0, SOFT, 5),
        wait(3_000),
        wait(3_000),
        Action::PayInvoice {
            nth: 0,
            card: OTHER_CARD,
        },
        soon(dice),
    ];
    Situation::new(actions).with(&[&[], &[Kind::Duplicate]], dice)
}

/// The provider tells of a failure after it told that the invoice is paid.
fn told_in_any_order(dice: &mut Dice) -> Situation {
    let actions = vec![
        fail(0, SOFT, 5),
        soon(dice),
        Action::ProviderRetry { nth: 0 },
        Action::PayInvoice {
            nth: 0,
            card: OTHER_CARD,
        },
        Action::ResendEvent { nth: dice.roll(32) },
        Action::ResendEvent { nth: dice.roll(32) },
    ];
    Situation::new(actions).with(
        &[
            &[Kind::EventNewId],
            &[Kind::EventReordered, Kind::EventLate],
            &[Kind::EventLost],
        ],
        dice,
    )
}

/// Two subscriptions of one customer fail, so that one mail waits for the next day; then both are paid.
fn two_on_one_day(dice: &mut Dice) -> Situation {
    let pay = |nth| Action::PayInvoice {
        nth,
        card: OTHER_CARD,
    };
    let actions = vec![
        fail(0, SOFT, 5),
        fail(1, SOFT, 5),
        wait(dice.one(&[5, 400])),
        pay(0),
        pay(1),
        wait(1_500),
    ];
    let situation = Situation::new(actions);
    let mut situation = situation.with(&[&[], &[Kind::EventLate], &[Kind::Delayed]], dice);
    situation.is_shared = true;
    situation
}

/// The calendar has all its dates.
fn long_course(dice: &mut Dice) -> Situation {
    let actions = vec![fail(0, dice.roll(2), 5), wait(3_000), wait(3_000)];
    let mut situation = Situation::new(actions);
    situation.is_slow = true;
    situation
}

/// Mails and plans are ordered, and what follows from that is late.
fn orders_are_late(dice: &mut Dice) -> Situation {
    let actions = vec![
        fail(0, SOFT, 5),
        wait(dice.one(&[1, 5])),
        Action::PayInvoice {
            nth: 0,
            card: OTHER_CARD,
        },
        wait(400),
        wait(1_500),
    ];
    Situation::new(actions).with(
        &[
            &[Kind::Delayed],
            &[Kind::FailedEntries],
            &[Kind::AnswerLost],
        ],
        dice,
    )
}
