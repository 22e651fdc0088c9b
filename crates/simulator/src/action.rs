//! What people, banks and the clock may do. Numbers are taken round the things that there are when an
//! action is performed, so that an action still means something after others were left out.

use serde::Serialize;

use crate::dice::Dice;

/// Which system of the template a world has: each can be deployed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    Booking,
    Dunning,
}

impl System {
    pub const ALL: [Self; 2] = [Self::Booking, Self::Dunning];

    pub fn name(self) -> &'static str {
        match self {
            Self::Booking => "booking",
            Self::Dunning => "dunning",
        }
    }

    /// The system of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.name() == name)
    }
}

/// How a customer pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card {
    Good,
    Declined,
    /// The money takes days.
    BankDebit,
}

impl Card {
    pub(crate) fn number(self) -> &'static str {
        match self {
            Self::Good => "4242424242424242",
            Self::Declined => "4000000000009995",
            Self::BankDebit => "bank",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing but time.
    Wait {
        minutes: u32,
    },

    // Booking.
    Book {
        customer: u32,
        place: u32,
        when: u32,
        party: u32,
        keyed: bool,
    },
    /// The form is sent once more, as it was.
    BookAgain {
        nth: u32,
    },
    OpenPayPage {
        nth: u32,
    },
    Pay {
        nth: u32,
        card: Card,
    },
    EndDebit {
        nth: u32,
        succeeded: bool,
    },
    /// A page that somebody made at the provider by hand, for this much of the deposit, is paid.
    PayByHand {
        nth: u32,
        percent: u32,
    },
    Cancel {
        nth: u32,
        by_business: bool,
    },
    Reschedule {
        nth: u32,
        place: u32,
        when: u32,
    },
    /// It is moved to a full hour of today, so many hours or a little more from now.
    MoveNear {
        nth: u32,
        hours: u32,
    },
    Attend {
        nth: u32,
        attended: bool,
    },
    StaffRefund {
        nth: u32,
        part: bool,
    },
    Waive {
        nth: u32,
    },
    Text {
        customer: u32,
        stop: bool,
    },
    RefundAtProvider {
        nth: u32,
        part: bool,
    },
    NextRefund {
        pending: bool,
    },
    EndRefund {
        nth: u32,
        failed: bool,
    },
    Dispute {
        nth: u32,
        inquiry: bool,
    },
    EndDispute {
        nth: u32,
        won: bool,
    },

    // Dunning.
    FailRenewal {
        nth: u32,
        decline: u32,
        times: u32,
    },
    SaveCard {
        nth: u32,
        card: u32,
        on_subscription: bool,
    },
    OpenCardLink {
        nth: u32,
        press: bool,
    },
    PayInvoice {
        nth: u32,
        card: u32,
    },
    ProviderRetry {
        nth: u32,
    },
    EndInvoice {
        nth: u32,
        how: u32,
    },
    NextPay {
        how: u32,
    },
    OrderAccess {
        nth: u32,
        order: u32,
    },
    MailFate {
        nth: u32,
        complaint: bool,
    },
    Schedule {
        nth: u32,
        how: u32,
    },
    LeaveCustomer {
        nth: u32,
    },

    // Both.
    ResendEvent {
        nth: u32,
    },
    RotateSecret,
    /// The relay is deployed badly: it panics at whatever the stream brings, and sweeps as ever.
    BreakRelay,
    /// A message that nobody can read is put into a queue, beside whatever a sweep orders.
    Poison,
    /// A row that nobody can read is due, before all others.
    BadRow,
    /// A scheduled function is invoked out of turn.
    Sweep {
        nth: u32,
    },
}

const SOON: [u32; 6] = [0, 1, 5, 12, 31, 65];
const LATER: [u32; 5] = [150, 400, 800, 1_500, 3_000];

impl Action {
    pub(crate) fn rolled(system: System, dice: &mut Dice) -> Self {
        match system {
            System::Booking => booking(dice),
            System::Dunning => dunning(dice),
        }
    }

    /// What a life begins with, so that the rest has something to be about.
    pub(crate) fn first(system: System, dice: &mut Dice) -> Self {
        match system {
            System::Booking => book(dice),
            System::Dunning => fail_renewal(dice),
        }
    }
}

fn book(dice: &mut Dice) -> Action {
    Action::Book {
        customer: dice.roll(6),
        place: dice.roll(3),
        when: dice.roll(8),
        party: dice.between(1, 4),
        keyed: dice.chance(500),
    }
}

fn booking(dice: &mut Dice) -> Action {
    let nth = dice.roll(8);
    let kind = dice.weighted(&[
        (16, 0_u8),
        (3, 1),
        (8, 2),
        (20, 3),
        (4, 4),
        (2, 5),
        (7, 6),
        (5, 7),
        (6, 8),
        (4, 9),
        (1, 10),
        (4, 11),
        (3, 12),
        (3, 13),
        (3, 14),
        (3, 15),
        (3, 16),
        (3, 17),
        (2, 18),
        (3, 19),
        (2, 20),
        (24, 21),
    ]);
    match kind {
        0 => book(dice),
        1 => Action::BookAgain { nth },
        2 => Action::OpenPayPage { nth },
        3 => Action::Pay {
            nth,
            card: dice.weighted(&[(8, Card::Good), (1, Card::Declined), (2, Card::BankDebit)]),
        },
        4 => Action::EndDebit {
            nth,
            succeeded: dice.chance(600),
        },
        5 => Action::PayByHand {
            nth,
            percent: dice.one(&[50, 100, 130]),
        },
        6 => Action::Cancel {
            nth,
            by_business: dice.chance(500),
        },
        7 => Action::Reschedule {
            nth,
            place: dice.roll(3),
            when: dice.roll(8),
        },
        8 => Action::Attend {
            nth,
            attended: dice.chance(600),
        },
        9 => Action::StaffRefund {
            nth,
            part: dice.chance(500),
        },
        10 => Action::Waive { nth },
        11 => Action::Text {
            customer: dice.roll(6),
            stop: dice.chance(800),
        },
        12 => Action::RefundAtProvider {
            nth,
            part: dice.chance(400),
        },
        13 => Action::NextRefund {
            pending: dice.chance(600),
        },
        14 => Action::EndRefund {
            nth,
            failed: dice.chance(500),
        },
        15 => Action::Dispute {
            nth,
            inquiry: dice.chance(300),
        },
        16 => Action::EndDispute {
            nth,
            won: dice.chance(500),
        },
        17 => Action::ResendEvent { nth: dice.roll(32) },
        18 => Action::RotateSecret,
        19 => Action::Sweep { nth: dice.roll(4) },
        20 => Action::Poison,
        _ => wait(dice, 700),
    }
}

fn fail_renewal(dice: &mut Dice) -> Action {
    Action::FailRenewal {
        nth: dice.roll(2),
        decline: dice.roll(5),
        times: dice.roll(6),
    }
}

fn dunning(dice: &mut Dice) -> Action {
    let nth = dice.roll(8);
    let kind = dice.weighted(&[
        (10, 0_u8),
        (8, 1),
        (4, 2),
        (5, 3),
        (3, 4),
        (5, 5),
        (9, 6),
        (3, 7),
        (2, 8),
        (9, 9),
        (1, 10),
        (5, 11),
        (2, 12),
        (5, 13),
        (30, 14),
    ]);
    match kind {
        0 => fail_renewal(dice),
        1 => Action::SaveCard {
            nth,
            card: dice.roll(4),
            on_subscription: dice.chance(500),
        },
        2 => Action::OpenCardLink {
            nth,
            press: dice.chance(600),
        },
        3 => Action::PayInvoice {
            nth,
            card: dice.roll(4),
        },
        4 => Action::ProviderRetry { nth },
        5 => Action::EndInvoice {
            nth,
            how: dice.roll(4),
        },
        6 => Action::NextPay { how: dice.roll(6) },
        7 => Action::OrderAccess {
            nth,
            order: dice.roll(3),
        },
        8 => Action::MailFate {
            nth,
            complaint: dice.chance(400),
        },
        9 => Action::Schedule {
            nth,
            how: dice.roll(3),
        },
        10 => Action::LeaveCustomer { nth },
        11 => Action::ResendEvent { nth: dice.roll(32) },
        12 => Action::RotateSecret,
        13 => Action::Sweep { nth: dice.roll(3) },
        _ => wait(dice, 250),
    }
}

fn wait(dice: &mut Dice, soon_per_mille: u32) -> Action {
    let minutes = match dice.chance(soon_per_mille) {
        true => dice.one(&SOON),
        false => dice.one(&LATER),
    };
    Action::Wait { minutes }
}
