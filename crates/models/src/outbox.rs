//! Two orders from the step that decides on them to the customer's phone.
//!
//! Follows `core`: `step.rs` and `outbox.rs` (the row is written with the change), the relay
//! (`publish.rs`, `sweep.rs`), and `bdc-composer` (`lib.rs`, `ledger.rs`, `send.rs`).
//!
//! The world: the stream brings a row's record at once, late or never, the sweep may look beside it; a
//! batch of the queue takes some entries and refuses others; the queue delivers twice and at once; runs
//! crash between any two calls; the text service refuses, or does not say whether it sent. Each order
//! is of a message of its own (booking and kind), so it stands for all that one text may be ordered by.
//!
//! Left out: what a message says and whether it is still news, mails instead of texts (they share the
//! ledger), opt-outs and the day's limit; the queue's count of receives: a message that fails too often
//! goes to its dead-letter queue, whose alarm calls a person. A delivery that finds a send under way
//! only comes again, so here it waits. How long a send may be under way is longer than a run lasts.

mod composer;
mod relay;

use stateright::{Model, Property};

pub use composer::Delivery;
pub use relay::{Batch, Call};

/// What is built otherwise than it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The outbox's row is written after the step that it follows from.
    OutboxApart,
    /// A row is marked before the queue has it.
    MarkedFirst,
    /// A batch that was answered counts as taken whole.
    BatchTakenForGranted,
    /// Nobody looks for what the stream missed.
    SweepAbsent,
    /// The text goes out before its claim is written.
    SentUnclaimed,
    /// A claim is written whether or not there is one.
    ClaimUnconditional,
    /// A send without an answer is made again.
    UnansweredSentAgain,
    /// A send without an answer counts as made.
    UnansweredForgotten,
    /// The client repeats a call that was not answered.
    PublishRepeated,
}

/// The model, with how many faults its world has.
#[derive(Clone, Copy, Debug)]
pub struct Outbox {
    pub flaw: Flaw,
    /// Crashes, lost answers, refusals, repeated and lost deliveries together.
    pub faults: u8,
}

pub const ORDERS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Row {
    None,
    /// The run died that should have written it.
    NeverWritten,
    Pending,
    Published,
}

/// The row's record in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Record {
    None,
    Due,
    /// A run has it: it comes again if that run fails.
    Taken,
    Done,
}

/// What the ledger says of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ledger {
    /// It may be sent, as this attempt.
    Open(u8),
    /// This attempt was begun, a moment ago or so long that its run is over.
    Intended {
        attempt: u8,
        is_old: bool,
    },
    Sent,
    /// A person decides.
    Unanswered,
    /// Only where an unanswered send counts as made.
    Forgotten,
}

/// One order, and all that becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// Whether the step that it follows from is written.
    pub is_decided: bool,
    pub row: Row,
    pub record: Record,
    /// How many messages of it wait in the queue.
    pub waiting: u8,
    pub was_queued: bool,
    pub ledger: Ledger,
    pub deliveries: [Delivery; 2],
    /// How often the customer's phone rang.
    pub texts: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Post {
    pub orders: [Order; ORDERS],
    pub from_stream: Option<Batch>,
    pub from_sweep: Option<Batch>,
    pub faults_left: u8,
}

/// Which of the two runs of the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Stream,
    Sweep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Own(Step),
    /// A step of the business decides that a message is to go out.
    Decide(usize),
    Fault(Fault),
}

/// What the fleet does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Only where the row is written apart.
    WriteRow(usize),
    StreamBrings([bool; ORDERS]),
    SweepFinds,
    Relay(By),
    Deliver(usize),
    GoOn {
        order: usize,
        delivery: usize,
    },
    /// So much time passes that whoever sent is over.
    Age(usize),
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    StopBeforeRow(usize),
    StreamGivesUp(usize),
    CrashRelay(By),
    /// The queue takes all of a batch but this order.
    RefuseEntry(By, usize),
    LoseSendAnswer(By),
    RepeatMessage(usize),
    CrashComposer {
        order: usize,
        delivery: usize,
    },
    RefuseText {
        order: usize,
        delivery: usize,
    },
    LoseTextRequest {
        order: usize,
        delivery: usize,
    },
    LoseTextAnswer {
        order: usize,
        delivery: usize,
    },
}

impl Model for Outbox {
    type State = Post;
    type Action = Action;

    fn init_states(&self) -> Vec<Post> {
        let order = Order {
            is_decided: false,
            row: Row::None,
            record: Record::None,
            waiting: 0,
            was_queued: false,
            ledger: Ledger::Open(1),
            deliveries: [Delivery::Idle; 2],
            texts: 0,
        };
        vec![Post {
            orders: [order; ORDERS],
            from_stream: None,
            from_sweep: None,
            faults_left: self.faults,
        }]
    }

    fn actions(&self, post: &Post, actions: &mut Vec<Action>) {
        actions.extend(self.steps(post).into_iter().map(Action::Own));
        let undecided = (0..ORDERS).find(|order| !post.orders[*order].is_decided);
        actions.extend(undecided.map(Action::Decide));
        if post.faults_left > 0 {
            let mut faults = Vec::new();
            self.relay_faults(post, &mut faults);
            composer::faults(post, &mut faults);
            actions.extend(faults.into_iter().map(Action::Fault));
        }
    }

    fn next_state(&self, post: &Post, action: Action) -> Option<Post> {
        let mut to = post.clone();
        match action {
            Action::Own(step) => self.go(&mut to, step),
            Action::Decide(order) => self.decide(&mut to.orders[order]),
            Action::Fault(fault) => self.go_wrong(&mut to, fault),
        }
        for order in &mut to.orders {
            // Which of the two deliveries it is makes no difference.
            order.deliveries.sort_unstable();
        }
        (to != *post).then_some(to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = Self::promises();
        properties.extend(Self::sights());
        properties
    }
}

impl Outbox {
    /// What the fleet itself does next: as long as there is something, it is not at rest.
    fn steps(&self, post: &Post) -> Vec<Step> {
        let mut steps = Vec::new();
        self.relay_steps(post, &mut steps);
        composer::steps(post, &mut steps);
        steps
    }

    fn is_at_rest(&self, post: &Post) -> bool {
        self.steps(post).is_empty()
    }

    fn decide(&self, order: &mut Order) {
        order.is_decided = true;
        if self.flaw != Flaw::OutboxApart {
            order.write_row();
        }
    }

    fn go(&self, post: &mut Post, step: Step) {
        match step {
            Step::WriteRow(order) => post.orders[order].write_row(),
            Step::StreamBrings(records) => self.stream_brings(post, records),
            Step::SweepFinds => self.sweep_finds(post),
            Step::Relay(by) => self.relay(post, by),
            Step::Deliver(order) => self.deliver(&mut post.orders[order]),
            Step::GoOn { order, delivery } => self.go_on(&mut post.orders[order], delivery),
            Step::Age(order) => post.orders[order].age(),
        }
    }

    fn go_wrong(&self, post: &mut Post, fault: Fault) {
        post.faults_left -= 1;
        match fault {
            Fault::StopBeforeRow(order) => post.orders[order].row = Row::NeverWritten,
            Fault::StreamGivesUp(order) => post.orders[order].record = Record::Done,
            Fault::CrashRelay(by) => post.drop_batch(by),
            Fault::RefuseEntry(by, order) => self.send(post, by, |it| it != order),
            Fault::LoseSendAnswer(by) => {
                self.send(post, by, |_| true);
                post.drop_batch(by);
            }
            Fault::RepeatMessage(order) => post.orders[order].waiting += 1,
            Fault::CrashComposer { order, delivery }
            | Fault::LoseTextRequest { order, delivery } => post.orders[order].give_up(delivery),
            Fault::RefuseText { order, delivery } => post.orders[order].refuse(delivery),
            Fault::LoseTextAnswer { order, delivery } => {
                self.lose_answer(&mut post.orders[order], delivery);
            }
        }
    }

    fn promises() -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_TEXT, |_, post: &Post| {
                post.orders.iter().all(|it| it.texts <= 1)
            }),
            Property::always(CLAIMED_FIRST, |_, post: &Post| {
                let is_claimed = |it: &Order| it.texts == 0 || it.ledger != Ledger::Open(1);
                post.orders.iter().all(is_claimed)
            }),
            Property::always(NOTED_IS_TRUE, |_, post: &Post| {
                let is_true = |it: &Order| it.texts == 1 || it.ledger != Ledger::Sent;
                post.orders.iter().all(is_true)
            }),
            Property::always(MARKED_IS_QUEUED, |_, post: &Post| {
                let is_queued = |it: &Order| it.was_queued || it.row != Row::Published;
                post.orders.iter().all(is_queued)
            }),
            Property::always(SENT_OR_CASE, |model: &Self, post: &Post| {
                let ends_well = |it: &Order| !it.is_decided || it.is_over();
                !model.is_at_rest(post) || post.orders.iter().all(ends_well)
            }),
            Property::always(NOTHING_IS_LEFT, |model: &Self, post: &Post| {
                let is_left = |it: &Order| it.row == Row::Pending || it.waiting > 0;
                !model.is_at_rest(post) || !post.orders.iter().any(is_left)
            }),
        ]
    }

    /// What must be among the states, or the promises are about nothing.
    fn sights() -> Vec<Property<Self>> {
        let any = Property::sometimes;
        vec![
            any("both orders are sent", |_, post: &Post| {
                post.orders.iter().all(|it| it.ledger == Ledger::Sent)
            }),
            any("the queue has an order twice", |_, post: &Post| {
                post.orders.iter().any(|it| it.waiting > 1)
            }),
            any(
                "two runs are about to claim one message",
                |_, post: &Post| {
                    let both = [Delivery::Claim(1); 2];
                    post.orders.iter().any(|it| it.deliveries == both)
                },
            ),
            any(
                "the sweep sends what the stream still has",
                |_, post: &Post| {
                    let first = post.orders[0];
                    let sweep_has = post.from_sweep.is_some_and(|it| it.has[0]);
                    sweep_has && first.record == Record::Taken && first.was_queued
                },
            ),
            any("a batch is taken in part", |_, post: &Post| {
                let parts =
                    |it: &Batch| it.call == Call::Mark([true, false]) && it.has == [true; 2];
                post.from_stream.as_ref().is_some_and(parts)
            }),
            any("a text is refused and then sent", |_, post: &Post| {
                let again = |it: &Order| it.deliveries.contains(&Delivery::Note(2));
                post.orders.iter().any(again)
            }),
            any("a text that went out is a case", |_, post: &Post| {
                let is_case = |it: &Order| it.texts == 1 && it.ledger == Ledger::Unanswered;
                post.orders.iter().any(is_case)
            }),
            any("a text that never went out is a case", |_, post: &Post| {
                let is_case = |it: &Order| it.texts == 0 && it.ledger == Ledger::Unanswered;
                post.orders.iter().any(is_case)
            }),
        ]
    }
}

impl Order {
    fn write_row(&mut self) {
        self.row = Row::Pending;
        self.record = Record::Due;
    }

    fn is_over(&self) -> bool {
        match self.ledger {
            Ledger::Sent | Ledger::Unanswered => true,
            Ledger::Open(_) | Ledger::Intended { .. } | Ledger::Forgotten => false,
        }
    }
}

pub const ONE_TEXT: &str = "a message is one text at most";
pub const CLAIMED_FIRST: &str = "no text goes out unclaimed";
pub const NOTED_IS_TRUE: &str = "what is noted as sent was sent";
pub const MARKED_IS_QUEUED: &str = "no row is marked before the queue has it";
pub const SENT_OR_CASE: &str = "in the end every message is sent or a case";
pub const NOTHING_IS_LEFT: &str = "in the end no row is pending and no message waits";
