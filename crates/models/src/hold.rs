//! One slot, its booking, the booking's money, and the next customer.
//!
//! Follows `core`: `booking/holding.rs` (release), `booking/money.rs` (receive, await funds),
//! `booking/pay_page.rs`, `carry_out.rs`, `refund.rs`; and the functions `bdc-intake`
//! (`new_booking.rs`), `bdc-webhook` (`deposit.rs`, `again.rs`, `ledger.rs`), `bdc-cashier`
//! (`session.rs`, `jobs.rs`, `refunds.rs`) and `bdc-release-sweep`.
//!
//! The world: the customer pays on the page, on a stray page of the same booking, on both or not at
//! all; events come late, in any order, twice, and the page's one perhaps never; runs stand still
//! between any two calls, crash there, and lose answers. Two runs take events beside the sweep, the
//! page's closing and, for each payment, two runs of its refund. An hour is a stretch between two times
//! that the rules know: before the deadline, within its grace, after the page's end, and two later ones,
//! before the last of which the provider forgets its keys. No run lasts from one hour into the next.
//!
//! Left out: amounts that do not fit, money that takes days, disputes, cancelling and moving, waivers,
//! several units of a resource; the outbox (an order is there once its step is written, see `outbox`);
//! the second booking's own money and release; reports of refunds and of a page's end, which only say
//! earlier what a lookup says. A page replaces no other. A late payment's case beside its refund is not
//! counted: the money must go back all the same. The provider would refuse to give more back than came;
//! here it does not, since a refund of a part has no such help.

mod cashier;
mod faults;
mod promises;
mod sweep;
mod webhook;
mod world;

use stateright::{Model, Property};

pub use promises::*;
pub use sweep::Sweep;
pub use webhook::Handling;

/// The last hour: whatever is still to be done is done in it.
pub const LAST_HOUR: u8 = 4;
/// The hour from which a page takes no money, because it has come to its end.
pub const PAGE_ENDS: u8 = 2;

/// What is built otherwise than it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The slot's row is written whether or not there is one.
    HoldUnconditional,
    /// The event is written down in a step of its own before its work is done.
    EventRecordedFirst,
    /// A confirmation is written over whatever the booking has become.
    ConfirmUnconditional,
    /// Money that is waited for is forgotten once other money confirms.
    AwaitedFundsForgotten,
    /// A second payment counts as well.
    SecondPaymentKept,
    /// A released booking is confirmed without a look at the slot.
    HeldAgainUnasked,
    /// Nobody looks for what is overdue.
    SweepAbsent,
    /// A release is written over whatever the booking has become.
    ReleaseUnconditional,
    /// The slot is freed by a write of its own, whoever holds it by then.
    SlotFreedApart,
    /// A release does not mind the page.
    PageLeftOpen,
    /// A page that can't be closed since the customer has paid on it counts as closed.
    PaidPageTakenForClosed,
    /// Each try of a refund has a key of its own.
    RefundKeyFresh,
    /// A refund without an answer is asked for again, however old its key, without a lookup.
    RefundNotLookedUp,
}

/// The model, with how many faults its world has.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    pub flaw: Flaw,
    /// Crashes, lost answers, repeated deliveries and lost events together.
    pub faults: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Absent,
    Pending,
    Confirmed,
    Released,
}

/// Whose slot it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    First,
    Next,
}

/// What the booking's row says of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Page {
    None,
    Intended,
    Opened,
    /// The provider was asked to close it, in this hour.
    Closing(u8),
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Booking {
    pub state: State,
    pub page: Page,
    /// The hour from which it may be released.
    pub deadline: u8,
    /// Whether it waits for money of which the provider spoke.
    pub awaits_funds: bool,
    /// Kept to tell a booking that was held again.
    pub was_released: bool,
}

impl State {
    fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Confirmed)
    }
}

/// A page as the provider has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RealPage {
    None,
    Open,
    Complete,
    Expired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    None,
    /// To be delivered until it was answered.
    Due,
    Taken,
    Lost,
}

/// One possible payment, with all that becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Payment {
    /// The hour in which the provider took it; the first one and that of the grace count as one.
    pub captured: Option<u8>,
    pub event: Event,
    /// Whether the event is in the ledger.
    pub in_ledger: bool,
    /// Whether its booking counts it as the deposit.
    pub counted: bool,
    /// Whether a person knows of it.
    pub in_case: bool,
    pub refund: Refund,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Refund {
    pub order: Order,
    pub row: RefundRow,
    pub runs: [Run; 2],
    /// How often the provider gave it back.
    pub made: u8,
    /// Whether the provider has its key.
    pub key_known: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    None,
    Outstanding,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefundRow {
    None,
    Asked,
    Made,
}

/// One run of a refund, by what it does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    Idle,
    Look,
    Ask,
    Note,
}

/// One run that opens the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opening {
    Idle,
    Ask,
    Note,
}

/// The order to close the page, and what the run that carries it out has heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Closing {
    None,
    Ordered,
    HeardClosed,
    HeardPaid,
}

/// The payment on the page of the first booking.
pub const ON_PAGE: usize = 0;
/// A payment of the first booking on a page that its row does not know.
pub const STRAY: usize = 1;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Town {
    pub hour: u8,
    pub slot: Option<Who>,
    pub first: Booking,
    pub next: State,
    pub page: RealPage,
    /// Whether the customer was shown the page.
    pub page_shown: bool,
    pub payments: [Payment; 2],
    pub opening: Opening,
    pub handlers: [Option<Handling>; 2],
    pub sweep: Sweep,
    pub closing: Closing,
    pub faults_left: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Own(Step),
    World(Turn),
    Fault(Fault),
}

/// What the fleet does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    AskForPage,
    ShowPage,
    TakeEvent { handler: usize, payment: usize },
    WriteEvent { handler: usize },
    SweepReads,
    SweepWrites,
    SweepFrees,
    AskToClose,
    NoteClosed,
    StartRefund { payment: usize },
    GoOnWithRefund { payment: usize, run: usize },
}

/// What customers and time do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    PassTime,
    ClickOnLink,
    PayOnPage,
    PayStray,
    NextHolds,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    LosePageEvent,
    RepeatEvent { handler: usize, payment: usize },
    LoseAnswerToEvent { handler: usize },
    CrashHandler { handler: usize },
    CrashOpening,
    LoseAnswerToClosing,
    CrashClosing,
    RepeatFreeing,
    RepeatRefund { payment: usize },
    LoseRefundRequest { payment: usize, run: usize },
    LoseRefundAnswer { payment: usize, run: usize },
    CrashRefund { payment: usize, run: usize },
}

impl Model for Hold {
    type State = Town;
    type Action = Action;

    fn init_states(&self) -> Vec<Town> {
        vec![Town::new(self.faults)]
    }

    fn actions(&self, town: &Town, actions: &mut Vec<Action>) {
        actions.extend(self.steps(town).into_iter().map(Action::Own));
        if !town.refund_runs() {
            actions.extend(world::turns(town).map(Action::World));
        }
        if town.faults_left > 0 {
            actions.extend(faults::faults(town).into_iter().map(Action::Fault));
        }
    }

    fn next_state(&self, town: &Town, action: Action) -> Option<Town> {
        let mut to = town.clone();
        match action {
            Action::Own(step) => self.go(&mut to, step),
            Action::World(turn) => to.turn(turn, self.flaw),
            Action::Fault(fault) => self.go_wrong(&mut to, fault),
        }
        // Which of the two runs it is makes no difference.
        to.handlers.sort_unstable();
        (to != *town).then_some(to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = promises::promises();
        properties.extend(promises::sights());
        properties
    }
}

impl Hold {
    /// What the fleet itself does next: as long as there is something, it is not at rest.
    ///
    /// A run of a refund shares no row with anything else, so nothing else needs to move meanwhile.
    fn steps(&self, town: &Town) -> Vec<Step> {
        let mut steps = Vec::new();
        town.refund_steps(&mut steps);
        if town.refund_runs() {
            return steps;
        }
        town.page_steps(&mut steps);
        town.webhook_steps(&mut steps);
        steps.extend(town.sweep_step(self.flaw));
        steps
    }

    fn is_at_rest(&self, town: &Town) -> bool {
        town.hour == LAST_HOUR && self.steps(town).is_empty()
    }

    fn go(&self, town: &mut Town, step: Step) {
        match step {
            Step::AskForPage => town.ask_for_page(),
            Step::ShowPage => town.show_page(),
            Step::TakeEvent { handler, payment } => self.take_event(town, handler, payment),
            Step::WriteEvent { handler } => self.write_event(town, handler, true),
            Step::SweepReads => town.sweep_reads(self.flaw),
            Step::SweepWrites => town.sweep_writes(self.flaw),
            Step::SweepFrees => town.sweep_frees(),
            Step::AskToClose => town.ask_to_close(true),
            Step::NoteClosed => town.note_closed(self.flaw),
            Step::StartRefund { payment } => self.start_refund(town, payment, 0),
            Step::GoOnWithRefund { payment, run } => self.go_on(town, payment, run),
        }
    }
}
