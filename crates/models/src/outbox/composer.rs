//! The consumer: read the ledger, claim, send, note; what was claimed and never noted is a case.

use super::{Fault, Flaw, Ledger, Order, Outbox, Post, Step};

/// One delivery of a message, by what its run does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delivery {
    Idle,
    Claim(u8),
    Send(u8),
    /// That the text was taken.
    Note(u8),
    /// That the service said no.
    NoteRefused(u8),
    Escalate,
}

pub(super) fn steps(post: &Post, steps: &mut Vec<Step>) {
    for (order, it) in post.orders.iter().enumerate() {
        let is_sending = it.ledger.is_under_way();
        if it.waiting > 0 && it.deliveries.contains(&Delivery::Idle) && !is_sending {
            steps.push(Step::Deliver(order));
        }
        for (delivery, does) in it.deliveries.iter().enumerate() {
            if *does != Delivery::Idle {
                steps.push(Step::GoOn { order, delivery });
            }
        }
        if is_sending && !it.deliveries.iter().any(|it| it.is_sending()) {
            steps.push(Step::Age(order));
        }
    }
}

pub(super) fn faults(post: &Post, faults: &mut Vec<Fault>) {
    for (order, it) in post.orders.iter().enumerate() {
        if it.was_queued {
            faults.push(Fault::RepeatMessage(order));
        }
        for (delivery, does) in it.deliveries.iter().enumerate() {
            match does {
                Delivery::Idle => {}
                Delivery::Send(_) => faults.extend([
                    Fault::RefuseText { order, delivery },
                    Fault::LoseTextRequest { order, delivery },
                    Fault::LoseTextAnswer { order, delivery },
                ]),
                Delivery::Claim(_)
                | Delivery::Note(_)
                | Delivery::NoteRefused(_)
                | Delivery::Escalate => faults.push(Fault::CrashComposer { order, delivery }),
            }
        }
    }
}

impl Outbox {
    pub(super) fn deliver(&self, order: &mut Order) {
        order.waiting -= 1;
        let does = match order.ledger {
            Ledger::Open(attempt) if self.flaw == Flaw::SentUnclaimed => Delivery::Send(attempt),
            Ledger::Open(attempt) => Delivery::Claim(attempt),
            Ledger::Intended { attempt, .. } if self.flaw == Flaw::UnansweredSentAgain => {
                order.ledger = Ledger::Open(attempt + 1);
                Delivery::Claim(attempt + 1)
            }
            Ledger::Intended { .. } => Delivery::Escalate,
            Ledger::Sent | Ledger::Unanswered | Ledger::Forgotten => return,
        };
        if let Some(idle) = order
            .deliveries
            .iter_mut()
            .find(|it| **it == Delivery::Idle)
        {
            *idle = does;
        }
    }

    pub(super) fn go_on(&self, order: &mut Order, delivery: usize) {
        let next = match order.deliveries[delivery] {
            Delivery::Claim(attempt) if self.may_claim(order, attempt) => {
                let is_old = false;
                order.ledger = Ledger::Intended { attempt, is_old };
                Delivery::Send(attempt)
            }
            // Another delivery of it is sending.
            Delivery::Claim(_) => return order.give_up(delivery),
            Delivery::Send(attempt) => {
                order.texts += 1;
                Delivery::Note(attempt)
            }
            Delivery::Note(_) => {
                order.ledger = Ledger::Sent;
                Delivery::Idle
            }
            Delivery::NoteRefused(attempt) => {
                order.ledger = Ledger::Open(attempt + 1);
                return order.give_up(delivery);
            }
            Delivery::Escalate => {
                self.escalate(order);
                Delivery::Idle
            }
            Delivery::Idle => Delivery::Idle,
        };
        order.deliveries[delivery] = next;
    }

    /// A claim is a row that must not be there yet, under the attempt's own key.
    fn may_claim(&self, order: &Order, attempt: u8) -> bool {
        order.ledger == Ledger::Open(attempt) || self.flaw == Flaw::ClaimUnconditional
    }

    /// Written once, however many found it unanswered.
    fn escalate(&self, order: &mut Order) {
        if let Ledger::Intended { .. } = order.ledger {
            let forgets = self.flaw == Flaw::UnansweredForgotten;
            order.ledger = if forgets {
                Ledger::Forgotten
            } else {
                Ledger::Unanswered
            };
        }
    }

    /// The text went out, and the run does not hear of it.
    pub(super) fn lose_answer(&self, order: &mut Order, delivery: usize) {
        order.texts += 1;
        if self.flaw != Flaw::PublishRepeated {
            order.give_up(delivery);
        }
    }
}

impl Order {
    pub(super) fn age(&mut self) {
        if let Ledger::Intended { is_old, .. } = &mut self.ledger {
            *is_old = true;
        }
    }

    /// The run fails or dies: the message comes again.
    pub(super) fn give_up(&mut self, delivery: usize) {
        self.deliveries[delivery] = Delivery::Idle;
        self.waiting += 1;
    }

    pub(super) fn refuse(&mut self, delivery: usize) {
        if let Delivery::Send(attempt) = self.deliveries[delivery] {
            self.deliveries[delivery] = Delivery::NoteRefused(attempt);
        }
    }
}

impl Ledger {
    fn is_under_way(self) -> bool {
        matches!(self, Self::Intended { is_old: false, .. })
    }
}

impl Delivery {
    fn is_sending(self) -> bool {
        match self {
            Self::Send(_) | Self::Note(_) | Self::NoteRefused(_) => true,
            Self::Idle | Self::Claim(_) | Self::Escalate => false,
        }
    }
}
