//! One invoice, charged by runs that may double, die or stand still, at a provider that may not answer.
//!
//! Follows `core`: `dunning/attempt.rs` (errand, claim, resume, not made), `dunning/attempt/settling.rs`,
//! `dunning/cards.rs`, `dunning/upkeep.rs`; and `dunr-retrier` (`lib.rs`, `charge.rs`, `lookup.rs`).
//!
//! The world: a request is lost, or held by the provider for up to half an hour and made after nobody
//! waits for it any more; an answer is lost; the provider stores a failure of its own under the key, and
//! forgets a key after a day; schedules fire twice; a run dies, or stands still until its lease is over
//! and another run has taken over; the customer pays, or brings a new card.
//!
//! The provider here is worse than the real one: it looks whether an invoice is open when a request
//! comes in, not when it charges, so that two keys in flight are two captures. Only the customer's own
//! payment and ours keep each other out.
//!
//! Left out: which day and hour, decline classes and networks' budgets (they only charge less), several
//! invoices, access and mails; the waits between looks, so a look may come at any time; the customer's
//! own failed tries. A lost schedule is the same as one that fires late: the sweep plans it anew.

mod faults;
mod provider;
mod row;
mod run;
mod time;

use stateright::{Model, Property};

pub use provider::{Key, Provider};
pub use row::{Attempt, Plan, Row};
pub use run::{Outcome, Run, Sight};
pub use time::Since;

/// What is built otherwise than it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// A charge is claimed whether or not one is open.
    ClaimUnconditional,
    /// What was not answered is asked for again under another key.
    NewKeyOnRetry,
    /// No answer counts as a decline.
    TimeoutTakenAsDecline,
    /// The old key is sent again however old it is, without a look.
    ResentPastExpiry,
    /// A run writes its outcome whoever holds the claim by then.
    StaleHolderWrites,
    /// That there is no charge counts while the provider may still be about to make it.
    NotMadeAtOnce,
    /// How long it may be about to is counted from the claim, not from when it was asked last.
    NotMadeFromClaim,
    /// Nobody looks for a claim that was left behind.
    SweepAbsent,
}

/// The model, with how many faults its world has.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    pub flaw: Flaw,
    /// Lost requests and answers, crashes, double starts and the provider's failures together.
    pub faults: u8,
}

/// More keys than an invoice gets in a sound world.
pub const KEYS: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Debt {
    pub row: Row,
    pub provider: Provider,
    pub runs: [Run; 2],
    /// Whether the customer has another card to bring.
    pub has_card: bool,
    pub faults_left: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Own(Step),
    World(Turn),
    Fault(Fault),
}

/// What the fleet, the provider and time do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The plan's schedule fires: the row and the live invoice are read.
    Fire {
        run: usize,
    },
    /// The decision is written: a claim, a claim taken over, or what a look has shown.
    Write {
        run: usize,
    },
    Call {
        run: usize,
    },
    Hear {
        run: usize,
    },
    Settle {
        run: usize,
    },
    Sweep,
    Make {
        key: usize,
        is_captured: bool,
    },
    EndLease,
    PassHalfAnHourSinceClaim,
    PassHalfAnHourSinceAsking,
    PassTwentyThreeHours,
    PassDay,
    ReachNextDate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    CustomerPays,
    BringCard,
    ReportPaid,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    FireTwice { run: usize },
    LoseRequest { run: usize },
    StopWaiting { run: usize },
    Crash { run: usize },
    StoreFailure { key: usize },
}

impl Model for Charge {
    type State = Debt;
    type Action = Action;

    fn init_states(&self) -> Vec<Debt> {
        vec![Debt {
            row: Row::new(),
            provider: Provider::new(),
            runs: [Run::Idle; 2],
            has_card: true,
            faults_left: self.faults,
        }]
    }

    fn actions(&self, debt: &Debt, actions: &mut Vec<Action>) {
        actions.extend(self.steps(debt).into_iter().map(Action::Own));
        actions.extend(debt.turns().map(Action::World));
        if debt.faults_left > 0 {
            actions.extend(debt.faults().into_iter().map(Action::Fault));
        }
    }

    fn next_state(&self, debt: &Debt, action: Action) -> Option<Debt> {
        let mut to = debt.clone();
        match action {
            Action::Own(step) => self.go(&mut to, step),
            Action::World(turn) => to.turn(turn),
            Action::Fault(fault) => to.go_wrong(fault),
        }
        // Which of the two runs it is makes no difference.
        to.runs.sort_unstable();
        (to != *debt).then_some(to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = Self::promises();
        properties.extend(Self::sights());
        properties
    }
}

impl Charge {
    /// What happens by itself: as long as there is something, it is not at rest.
    fn steps(&self, debt: &Debt) -> Vec<Step> {
        let mut steps = Vec::new();
        self.run_steps(debt, &mut steps);
        debt.provider.steps(&mut steps);
        debt.time_steps(&mut steps);
        let is_swept = self.flaw != Flaw::SweepAbsent && debt.is_left_behind();
        steps.extend(is_swept.then_some(Step::Sweep));
        steps
    }

    fn is_at_rest(&self, debt: &Debt) -> bool {
        self.steps(debt).is_empty()
    }

    fn go(&self, debt: &mut Debt, step: Step) {
        match step {
            Step::Fire { run } => debt.fire(run),
            Step::Write { run } => self.write(debt, run),
            Step::Call { run } => debt.call(run),
            Step::Hear { run } => debt.hear(run),
            Step::Settle { run } => self.settle(debt, run),
            Step::Sweep => debt.row.plan_look(),
            Step::Make { key, is_captured } => debt.provider.make(key, is_captured),
            Step::EndLease
            | Step::PassHalfAnHourSinceClaim
            | Step::PassHalfAnHourSinceAsking
            | Step::PassTwentyThreeHours
            | Step::PassDay
            | Step::ReachNextDate => debt.pass(step),
        }
    }

    fn promises() -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_CAPTURE, |_, debt: &Debt| debt.provider.captures() <= 1),
            Property::always(ONE_IN_FLIGHT, |_, debt: &Debt| {
                let keys = debt.provider.keys.iter();
                keys.filter(|key| **key == Key::Running).count() <= 1
            }),
            Property::always(BANK_ASKED_ONCE, |_, debt: &Debt| {
                debt.provider.bank_asked.iter().all(|times| *times <= 1)
            }),
            Property::always(DECLINED_IS_TRUE, |_, debt: &Debt| {
                let is_true =
                    |key: usize| !debt.row.noted_declined[key] || !debt.provider.captured[key];
                (0..KEYS).all(is_true)
            }),
            Property::always(NOTHING_STAYS_OPEN, |model: &Self, debt: &Debt| {
                !model.is_at_rest(debt) || debt.row.attempt.is_none()
            }),
            Property::always(OUR_MONEY_IS_KNOWN, |model: &Self, debt: &Debt| {
                let is_known = debt.provider.captures() == 0 || debt.row.is_closed;
                !model.is_at_rest(debt) || is_known
            }),
            Property::always(ENDS_SOMEWHERE, |model: &Self, debt: &Debt| {
                let row = &debt.row;
                let has_ended = row.is_closed || row.tries_left == 0 || row.in_case;
                !model.is_at_rest(debt) || has_ended
            }),
        ]
    }

    /// What must be among the states, or the promises are about nothing.
    fn sights() -> Vec<Property<Self>> {
        let any = Property::sometimes;
        vec![
            any("captured at once", |_, debt: &Debt| {
                debt.row.is_closed && debt.provider.captured[1] && debt.row.plan_no == 1
            }),
            any("two runs carry out one plan", |_, debt: &Debt| {
                debt.runs
                    .iter()
                    .all(|run| matches!(run, Run::Looked { .. }))
            }),
            any(
                "a run takes over from one that stands still",
                |_, debt: &Debt| debt.runs == [Run::Ask { n: 1 }; 2],
            ),
            any(
                "a request that nobody waits for takes the money",
                |_, debt: &Debt| {
                    let is_waiting = debt.runs.iter().any(|run| *run != Run::Idle);
                    debt.provider.captured[1] && debt.row.attempt.is_some() && !is_waiting
                },
            ),
            any(
                "the key answers with what it answered first",
                |_, debt: &Debt| {
                    let resent = debt.row.attempt.is_some_and(|it| it.is_resent);
                    let heard = Run::Note {
                        n: 1,
                        outcome: Outcome::Declined,
                    };
                    resent && debt.provider.keys[1] == Key::Declined && debt.runs.contains(&heard)
                },
            ),
            any("a key that is forgotten is looked up", |_, debt: &Debt| {
                let is_known = debt.row.is_closed && debt.row.attempt.is_none();
                is_known && debt.provider.keys[1] == Key::Forgotten && debt.provider.captured[1]
            }),
            any(
                "a charge that was never made is made under a new key",
                |_, debt: &Debt| debt.row.not_made == 1 && debt.provider.captured[2],
            ),
            any(
                "a new card is charged while the old date is still to come",
                |_, debt: &Debt| debt.row.attempt.is_some_and(|it| it.is_extra),
            ),
            any("the customer was faster", |_, debt: &Debt| {
                debt.row.is_closed && debt.provider.captures() == 0
            }),
            any("every date was declined", |_, debt: &Debt| {
                debt.row.tries_left == 0
            }),
        ]
    }
}

pub const ONE_CAPTURE: &str = "we take an invoice's money once";
pub const ONE_IN_FLIGHT: &str = "one charge is in flight at most";
pub const BANK_ASKED_ONCE: &str = "one attempt asks the bank once";
pub const DECLINED_IS_TRUE: &str = "what is noted as declined took no money";
pub const NOTHING_STAYS_OPEN: &str = "in the end no charge is open";
pub const OUR_MONEY_IS_KNOWN: &str = "in the end the money that we took is known";
pub const ENDS_SOMEWHERE: &str = "in the end the invoice is over, out of dates or a case";
