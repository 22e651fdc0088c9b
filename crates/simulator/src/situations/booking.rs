//! Situations around a deposit.

use super::{Rolled, Situation, soon, wait};
use crate::action::{Action, Card};
use crate::dice::Dice;
use crate::kinds::Kind;

pub(super) const SITUATIONS: &[Rolled] = &[
    refund_unanswered,
    refund_ordered_twice,
    refunded_by_others,
    reminded_and_moved,
    paid_and_not_heard_of,
    page_not_closed,
    page_not_closed,
    many_are_due,
    secret_is_rolled,
    orders_are_lost,
    orders_are_lost,
    relay_is_broken,
    written_at_once,
    index_is_behind,
    pages_are_pressed_twice,
    poison_beside_orders,
    moved_about,
    debit,
];

fn book(customer: u32, dice: &mut Dice) -> Action {
    Action::Book {
        customer,
        place: dice.roll(2),
        when: dice.roll(8),
        party: dice.between(1, 4),
        keyed: dice.chance(500),
    }
}

const PAY: Action = Action::Pay {
    nth: 0,
    card: Card::Good,
};

const UNANSWERED: &[&[Kind]] = &[
    &[Kind::TimeOutDone],
    &[Kind::TimeOutDone, Kind::KeysForgotten],
    &[Kind::ServerErrorDone],
    &[Kind::TimeOutNotDone],
    &[Kind::ServerError],
    &[Kind::Outage],
];

/// Somebody gives back a paid deposit, and the provider does not answer.
fn refund_unanswered(dice: &mut Dice) -> Situation {
    let back = dice.one(&[
        Action::Cancel {
            nth: 0,
            by_business: true,
        },
        Action::StaffRefund { nth: 0, part: true },
        Action::PayByHand {
            nth: 0,
            percent: 100,
        },
    ]);
    let actions = vec![book(1, dice), PAY, soon(dice), back, wait(1), wait(65)];
    let situation = Situation::new(actions).with(UNANSWERED, dice);
    match dice.chance(500) {
        true => situation.asking("POST /v1/refunds"),
        false => situation,
    }
}

/// The same order twice, and another.
fn refund_ordered_twice(dice: &mut Dice) -> Situation {
    let part = Action::StaffRefund { nth: 0, part: true };
    Situation::new(vec![book(1, dice), PAY, part, soon(dice), part])
        .with(&[&[], &[Kind::Duplicate], &[Kind::AnswerLost]], dice)
}

/// Somebody gives money back in the provider's dashboard, in parts, and the bank takes its time.
fn refunded_by_others(dice: &mut Dice) -> Situation {
    let part = Action::RefundAtProvider { nth: 0, part: true };
    let mut actions = vec![book(1, dice), PAY];
    if dice.chance(500) {
        actions.push(Action::NextRefund { pending: true });
    }
    actions.extend([part, soon(dice)]);
    actions.push(dice.one(&[
        part,
        Action::EndRefund {
            nth: 0,
            failed: false,
        },
        Action::ResendEvent { nth: 4 },
    ]));
    Situation::new(actions).with(
        &[
            &[],
            &[Kind::EventDoubled],
            &[Kind::EventNewId],
            &[Kind::EventReordered],
        ],
        dice,
    )
}

/// A booking that was reminded is moved to a time before which its deposit is due earlier, and still is not
/// paid.
fn reminded_and_moved(dice: &mut Dice) -> Situation {
    let far = Action::Book {
        customer: 1,
        place: 0,
        when: dice.one(&[2, 3]),
        party: 2,
        keyed: false,
    };
    let near = Action::MoveNear { nth: 0, hours: 4 };
    let sweep = Action::Sweep { nth: 0 };
    // Four hours before its deadline it is reminded, and half-way to the new one again, if at all.
    let reminded = wait(dice.between(1_205, 1_230));
    let actions = vec![far, reminded, sweep, near, wait(95), sweep, wait(65)];
    let mut situation = Situation::new(actions).with(&[&[], &[Kind::Duplicate]], dice);
    situation.is_slow = true;
    situation
}

/// Money comes in time, and the provider's word of it late, when the hold is overdue.
fn paid_and_not_heard_of(dice: &mut Dice) -> Situation {
    let paid = dice.one(&[
        PAY,
        Action::PayByHand {
            nth: 0,
            percent: 100,
        },
    ]);
    let mut actions = vec![book(1, dice), paid, wait(65)];
    if dice.chance(300) {
        actions.push(book(2, dice));
    }
    actions.push(wait(dice.one(&[400, 1_500])));
    Situation::new(actions).with(
        &[
            &[Kind::EventLate],
            &[Kind::EventLost],
            &[Kind::EventLate, Kind::TimeOutDone],
            &[Kind::EventLate, Kind::TimeOutNotDone],
        ],
        dice,
    )
}

/// A page that was paid is to be closed, and the provider does not answer.
fn page_not_closed(dice: &mut Dice) -> Situation {
    let actions = vec![
        book(1, dice),
        PAY,
        soon(dice),
        soon(dice),
        wait(45),
        wait(400),
    ];
    let situation = Situation::new(actions).with(
        &[
            &[Kind::EventLate, Kind::TimeOutDone],
            &[Kind::EventLate, Kind::TimeOutNotDone],
        ],
        dice,
    );
    situation.asking("POST /v1/checkout/sessions/*/expire")
}

/// Deposits of several customers are due at once, and one row can't be read.
fn many_are_due(dice: &mut Dice) -> Situation {
    let mut actions: Vec<Action> = (0..6).map(|customer| book(customer, dice)).collect();
    if dice.chance(700) {
        actions.push(Action::BadRow);
    }
    actions.extend([wait(31), wait(5)]);
    Situation::new(actions).with(&[&[], &[Kind::BadDeploy], &[Kind::ThrottledThrough]], dice)
}

/// The signing secret is changed, with events on their way.
fn secret_is_rolled(dice: &mut Dice) -> Situation {
    let actions = vec![
        book(1, dice),
        Action::RotateSecret,
        wait(dice.one(&[12, 31])),
        PAY,
        soon(dice),
        Action::RefundAtProvider { nth: 0, part: true },
    ];
    Situation::new(actions).with(&[&[Kind::SecretRotation]], dice)
}

/// Orders do not leave, or not all of a batch.
fn orders_are_lost(dice: &mut Dice) -> Situation {
    let cancel = Action::Cancel {
        nth: 1,
        by_business: true,
    };
    let actions = vec![book(1, dice), PAY, book(2, dice), soon(dice), cancel];
    Situation::new(actions).with(
        &[
            &[Kind::FailedEntries],
            &[Kind::FailedEntries],
            &[Kind::Delayed],
            &[Kind::Delayed],
            &[Kind::BadDeploy],
            &[Kind::AnswerLost],
        ],
        dice,
    )
}

/// The stream gives orders up, as the relay fails at all that it brings.
fn relay_is_broken(dice: &mut Dice) -> Situation {
    let other = book(2, dice);
    let actions = vec![
        book(1, dice),
        soon(dice),
        Action::BreakRelay,
        dice.one(&[PAY, other]),
        wait(dice.one(&[65, 150])),
    ];
    Situation::new(actions).with(&[&[Kind::BadDeploy]], dice)
}

/// Others write at the same time, wherever somebody writes.
fn written_at_once(dice: &mut Dice) -> Situation {
    let actions = vec![book(1, dice), PAY, book(2, dice), wait(31), wait(5)];
    Situation::new(actions).with(&[&[Kind::Conflict]], dice)
}

/// A booking is reminded, and paid just before its deadline; the index does not know yet.
fn index_is_behind(dice: &mut Dice) -> Situation {
    let sweep = Action::Sweep { nth: 0 };
    let by_hand = Action::PayByHand {
        nth: 0,
        percent: 100,
    };
    let actions = vec![book(1, dice), wait(22), sweep, wait(8), by_hand, sweep];
    Situation::new(actions).with(&[&[Kind::IndexBehind]], dice)
}

/// The button of the payment page is pressed again and again.
fn pages_are_pressed_twice(dice: &mut Dice) -> Situation {
    let open = Action::OpenPayPage { nth: 0 };
    let actions = vec![book(1, dice), open, soon(dice), open, wait(12), PAY];
    Situation::new(actions).with(
        &[
            &[],
            &[Kind::CrashAfter],
            &[Kind::TimeOutDone],
            &[Kind::Conflict],
        ],
        dice,
    )
}

/// A message that nobody can read lies in the queue beside orders.
fn poison_beside_orders(dice: &mut Dice) -> Situation {
    let actions = vec![
        book(1, dice),
        book(2, dice),
        Action::Poison,
        wait(dice.between(20, 29)),
        Action::Poison,
        wait(31),
    ];
    Situation::new(actions).with(&[&[]], dice)
}

/// A booking is paid, moved, asked about and moved again.
fn moved_about(dice: &mut Dice) -> Situation {
    let moved = |dice: &mut Dice| Action::Reschedule {
        nth: 0,
        place: dice.roll(3),
        when: dice.roll(8),
    };
    let stop = Action::Text {
        customer: 1,
        stop: true,
    };
    let actions = vec![book(1, dice), moved(dice), PAY, moved(dice), stop];
    Situation::new(actions)
}

/// The money of a bank debit takes days.
fn debit(dice: &mut Dice) -> Situation {
    let debit = Action::Pay {
        nth: 0,
        card: Card::BankDebit,
    };
    let end = Action::EndDebit {
        nth: 0,
        succeeded: dice.chance(600),
    };
    Situation::new(vec![book(1, dice), debit, wait(65), end])
}
