//! Situations that a life may be devoted to: what people do, and mostly one kind of trouble that strikes
//! often. By chance alone a mistake that needs three things in a row would meet them once in a thousand lives.

use crate::action::{Action, Card, System};
use crate::dice::Dice;
use crate::kinds::Kind;

/// What a life is devoted to.
pub(crate) struct Situation {
    pub(crate) actions: Vec<Action>,
    /// What goes wrong in it, often; as in any other life if not said.
    pub(crate) kinds: Option<&'static [Kind]>,
    /// The request that the provider gets wrong, where that is the point.
    pub(crate) request: Option<&'static str>,
    /// Two subscriptions of one customer.
    pub(crate) is_shared: bool,
    /// Whether deadlines are long, where that matters.
    pub(crate) is_slow: bool,
}

impl Situation {
    fn new(actions: Vec<Action>) -> Self {
        Self {
            actions,
            kinds: None,
            request: None,
            is_shared: false,
            is_slow: false,
        }
    }

    /// With one of these, or with no trouble at all.
    fn with(mut self, of: &[&'static [Kind]], dice: &mut Dice) -> Self {
        self.kinds = Some(dice.one(of));
        self
    }

    /// Whatever the provider gets wrong is this request.
    fn asking(mut self, request: &'static str) -> Self {
        self.request = Some(request);
        self
    }

    pub(crate) fn rolled(system: System, dice: &mut Dice) -> Self {
        let of = match system {
            System::Booking => BOOKING,
            System::Dunning => DUNNING,
        };
        let mut situation = dice.one(of)(dice);
        // Whatever else may happen then.
        if dice.chance(300) {
            situation.actions.push(Action::rolled(system, dice));
        }
        situation
    }
}

type Rolled = fn(&mut Dice) -> Situation;

const BOOKING: &[Rolled] = &[
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

const DUNNING: &[Rolled] = &[
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

fn wait(minutes: u32) -> Action {
    Action::Wait { minutes }
}

fn soon(dice: &mut Dice) -> Action {
    wait(dice.one(&[0, 1, 5]))
}

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
