//! The runs that take the provider's events: read, decide, write on the condition of what was read.

use super::{Event, Flaw, Hold, ON_PAGE, Order, Page, Payment, State, Step, Town, Who};

/// A run between its read and its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handling {
    pub payment: usize,
    /// Whether the booking was written since it was read.
    pub(super) is_stale: bool,
    /// What it decided on, where it does not decide again.
    decided_on: Option<State>,
}

impl Town {
    pub(super) fn webhook_steps(&self, steps: &mut Vec<Step>) {
        for (payment, it) in self.payments.iter().enumerate() {
            if let Some(handler) = self.free_handler().filter(|_| it.event == Event::Due) {
                steps.push(Step::TakeEvent { handler, payment });
            }
        }
        for (handler, handling) in self.handlers.iter().enumerate() {
            if handling.is_some() {
                steps.push(Step::WriteEvent { handler });
            }
        }
    }

    pub(super) fn free_handler(&self) -> Option<usize> {
        self.handlers.iter().position(Option::is_none)
    }

    /// Whether money can still hold the slot again: taken within the deadline and its grace.
    fn is_in_time(&self, payment: usize) -> bool {
        let captured = self.payments[payment].captured;
        captured.is_some_and(|hour| hour <= self.first.deadline)
    }

    fn confirm(&mut self, payment: usize, flaw: Flaw) {
        self.payments[payment].counted = true;
        self.first.state = State::Confirmed;
        self.first.awaits_funds &= payment != ON_PAGE && flaw != Flaw::AwaitedFundsForgotten;
        // Money of which the provider spoke, and that is not what confirms.
        self.payments[ON_PAGE].in_case |= self.first.awaits_funds;
        match self.first.page {
            Page::Opened | Page::Closing(_) if payment == ON_PAGE => self.first.page = Page::Closed,
            // Another page that is still open would take the deposit a second time.
            Page::Opened | Page::Closing(_) => self.order_closing(),
            Page::None | Page::Intended | Page::Closed => {}
        }
        self.written();
    }

    fn give_back(&mut self, payment: usize) {
        self.payments[payment].refund.order = Order::Outstanding;
        self.first.awaits_funds &= payment != ON_PAGE;
        self.written();
    }
}

impl Hold {
    pub(super) fn take_event(&self, town: &mut Town, handler: usize, payment: usize) {
        if self.flaw == Flaw::EventRecordedFirst {
            if town.payments[payment].in_ledger {
                town.payments[payment].event = Event::Taken;
                return;
            }
            town.payments[payment].in_ledger = true;
        }
        town.handlers[handler] = Some(Handling {
            payment,
            is_stale: false,
            decided_on: (self.flaw == Flaw::ConfirmUnconditional).then_some(town.first.state),
        });
    }

    /// Writes what the event does, in one step with its row in the ledger. `heard`: the provider
    /// gets the answer, and sends the event no more.
    pub(super) fn write_event(&self, town: &mut Town, handler: usize, heard: bool) {
        let Some(handling) = town.handlers[handler] else {
            return;
        };
        let payment = handling.payment;
        let is_ledgered = town.payments[payment].in_ledger && self.flaw != Flaw::EventRecordedFirst;
        if !is_ledgered && handling.is_stale && handling.decided_on.is_none() {
            // Decide again on the row that came back.
            let is_stale = false;
            town.handlers[handler] = Some(Handling {
                is_stale,
                ..handling
            });
            return;
        }
        if !is_ledgered {
            let state = handling.decided_on.unwrap_or(town.first.state);
            self.receive(town, state, payment);
            town.payments[payment].in_ledger = true;
        }
        if heard {
            town.payments[payment].event = Event::Taken;
        }
        town.handlers[handler] = None;
    }

    fn receive(&self, town: &mut Town, state: State, payment: usize) {
        if town.payments[payment].is_known() {
            return;
        }
        match state {
            State::Absent => {}
            State::Pending => town.confirm(payment, self.flaw),
            State::Released if self.may_hold_again(town, payment) => {
                town.slot = Some(Who::First);
                town.confirm(payment, self.flaw);
            }
            State::Confirmed if self.flaw == Flaw::SecondPaymentKept => {
                town.confirm(payment, self.flaw)
            }
            State::Released | State::Confirmed => town.give_back(payment),
        }
    }

    /// The slots are taken in the step that confirms, each on the condition that it is nobody's.
    fn may_hold_again(&self, town: &Town, payment: usize) -> bool {
        let is_free = town.slot.is_none() || self.flaw == Flaw::HeldAgainUnasked;
        is_free && town.is_in_time(payment)
    }
}

impl Payment {
    pub(super) fn is_known(&self) -> bool {
        self.counted || self.refund.order != Order::None
    }

    /// Whether what became of the money is certain, or somebody looks into it.
    pub(super) fn is_settled(&self) -> bool {
        let is_back = self.refund.made == 1 && self.refund.order == Order::Done;
        self.captured.is_none() || self.counted || is_back || self.in_case
    }
}
