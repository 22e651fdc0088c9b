//! Short stories that between them make every handler do what it is there for.

use chrono::{DateTime, Utc};

use crate::action::{Action, Card, System};
use crate::kinds::Weather;
use crate::plan::Plan;

/// A story: what happens, in order, in fair weather.
pub struct MatrixStory {
    pub name: &'static str,
    system: System,
    actions: &'static [Action],
}

const START: &str = "2026-07-09T12:00:00Z";

const BOOK: Action = Action::Book {
    customer: 1,
    place: 0,
    when: 1,
    party: 2,
    keyed: true,
};
const OTHER: Action = Action::Book {
    customer: 2,
    place: 1,
    when: 2,
    party: 3,
    keyed: false,
};
const PAY: Action = Action::Pay {
    nth: 0,
    card: Card::Good,
};
const FAIL: Action = Action::FailRenewal {
    nth: 0,
    decline: 0,
    times: 2,
};

const fn wait(minutes: u32) -> Action {
    Action::Wait { minutes }
}

/// All stories.
pub static STORIES: &[MatrixStory] = &[
    MatrixStory {
        name: "a deposit is paid and applied",
        system: System::Booking,
        actions: &[
            BOOK,
            PAY,
            wait(1_500),
            Action::Attend {
                nth: 0,
                attended: true,
            },
        ],
    },
    MatrixStory {
        name: "nobody pays, and then somebody does",
        system: System::Booking,
        actions: &[
            BOOK,
            Action::OpenPayPage { nth: 0 },
            wait(65),
            Action::BookAgain { nth: 0 },
            Action::PayByHand {
                nth: 0,
                percent: 100,
            },
        ],
    },
    MatrixStory {
        name: "the business cancels and gives the money back",
        system: System::Booking,
        actions: &[
            BOOK,
            PAY,
            Action::Cancel {
                nth: 0,
                by_business: true,
            },
            Action::ResendEvent { nth: 1 },
        ],
    },
    MatrixStory {
        name: "a debit arrives after the booking was moved and the guest said stop",
        system: System::Booking,
        actions: &[
            BOOK,
            Action::Pay {
                nth: 0,
                card: Card::BankDebit,
            },
            Action::Reschedule {
                nth: 0,
                place: 1,
                when: 6,
            },
            Action::Text {
                customer: 1,
                stop: true,
            },
            Action::EndDebit {
                nth: 0,
                succeeded: true,
            },
        ],
    },
    MatrixStory {
        name: "a bank takes money back",
        system: System::Booking,
        actions: &[
            OTHER,
            PAY,
            Action::Dispute {
                nth: 0,
                inquiry: false,
            },
            Action::EndDispute { nth: 0, won: false },
        ],
    },
    MatrixStory {
        name: "two payments, and a refund by hand",
        system: System::Booking,
        actions: &[
            OTHER,
            PAY,
            Action::PayByHand {
                nth: 0,
                percent: 100,
            },
            Action::RefundAtProvider { nth: 0, part: true },
        ],
    },
    MatrixStory {
        name: "a renewal fails twice and is recovered",
        system: System::Dunning,
        actions: &[FAIL, wait(3_000), wait(3_000)],
    },
    MatrixStory {
        name: "a lost card is replaced",
        system: System::Dunning,
        actions: &[
            Action::FailRenewal {
                nth: 0,
                decline: 2,
                times: 0,
            },
            wait(1_500),
            Action::OpenCardLink {
                nth: 0,
                press: true,
            },
            Action::SaveCard {
                nth: 0,
                card: 0,
                on_subscription: false,
            },
            wait(1_500),
        ],
    },
    MatrixStory {
        name: "a charge that nobody knows the end of",
        system: System::Dunning,
        actions: &[FAIL, Action::NextPay { how: 1 }, wait(1_500), wait(400)],
    },
    MatrixStory {
        name: "a mail bounces and the customer pays by hand",
        system: System::Dunning,
        actions: &[
            FAIL,
            Action::MailFate {
                nth: 0,
                complaint: false,
            },
            wait(1_500),
            Action::OrderAccess { nth: 0, order: 0 },
            Action::PayInvoice { nth: 0, card: 0 },
        ],
    },
];

impl MatrixStory {
    pub(super) fn plan(&self, number: usize) -> Plan {
        Plan {
            seed: u64::try_from(number).unwrap_or_default(),
            system: self.system,
            start: START.parse::<DateTime<Utc>>().unwrap_or_default(),
            is_quick: true,
            subscribers: 1,
            shared: false,
            steps: self.actions.iter().copied().enumerate().collect(),
            weather: Weather::fair(),
            script: Some(Vec::new()),
        }
    }
}
