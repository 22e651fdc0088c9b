//! The cashier: a page is opened and closed at the provider, and money goes back, each in three phases.

use super::{
    Closing, Flaw, Hold, LAST_HOUR, ON_PAGE, Opening, Order, Page, Payment, RealPage, Refund,
    RefundRow, Run, State, Step, Town,
};

/// The hour until which a slot waits for money of which the provider spoke.
const FUNDS_WITHIN: u8 = 3;

impl Town {
    pub(super) fn page_steps(&self, steps: &mut Vec<Step>) {
        match self.opening {
            Opening::Idle => {}
            Opening::Ask => steps.push(Step::AskForPage),
            Opening::Note => steps.push(Step::ShowPage),
        }
        match self.closing {
            Closing::None => {}
            Closing::Ordered => steps.push(Step::AskToClose),
            Closing::HeardPaid if self.is_early_to_tell() => {}
            Closing::HeardClosed | Closing::HeardPaid => steps.push(Step::NoteClosed),
        }
    }

    /// The refunds of two payments share no row either: the second waits for the first.
    pub(super) fn refund_steps(&self, steps: &mut Vec<Step>) {
        let ordered = self.payments.iter().enumerate();
        let mut ordered = ordered.filter(|(_, it)| it.is_being_refunded());
        if let Some((payment, it)) = ordered.next() {
            if it.refund.order == Order::Outstanding && it.refund.runs[0] == Run::Idle {
                steps.push(Step::StartRefund { payment });
            }
            for run in it.running() {
                steps.push(Step::GoOnWithRefund { payment, run });
            }
        }
    }

    /// Under one key, so however often it is asked for there is one page.
    pub(super) fn ask_for_page(&mut self) {
        if self.page == RealPage::None {
            self.page = RealPage::Open;
        }
        self.opening = Opening::Note;
    }

    pub(super) fn show_page(&mut self) {
        self.opening = Opening::Idle;
        let is_wanted = self.first.state == State::Pending;
        if is_wanted && self.first.page == Page::Intended {
            self.first.page = Page::Opened;
            self.written();
        }
        self.page_shown |= is_wanted;
    }

    pub(super) fn order_closing(&mut self) {
        self.first.page = Page::Closing(self.hour);
        if self.closing == Closing::None {
            self.closing = Closing::Ordered;
        }
    }

    /// `heard`: the answer reaches the run.
    pub(super) fn ask_to_close(&mut self, heard: bool) {
        let answer = match self.page {
            RealPage::Complete => Closing::HeardPaid,
            RealPage::Open | RealPage::Expired | RealPage::None => {
                self.page = RealPage::Expired;
                Closing::HeardClosed
            }
        };
        if heard {
            self.closing = answer;
        }
    }

    /// Whether the event of a payment that nobody waits for is given more time before it is a case.
    pub(super) fn is_early_to_tell(&self) -> bool {
        let asked_now = self.first.page == Page::Closing(self.hour) && self.hour < LAST_HOUR;
        let is_heard_of = self.payments[ON_PAGE].is_known();
        self.first.state != State::Pending && !is_heard_of && asked_now
    }

    pub(super) fn note_closed(&mut self, flaw: Flaw) {
        let heard = std::mem::replace(&mut self.closing, Closing::None);
        let is_paid = heard == Closing::HeardPaid && flaw != Flaw::PaidPageTakenForClosed;
        let is_known = self.payments[ON_PAGE].is_known() || self.first.awaits_funds;
        if is_paid && is_known {
            return;
        }
        if self.first.page == Page::Closed && !is_paid {
            return;
        }
        self.first.page = Page::Closed;
        self.written();
        if is_paid {
            self.await_funds();
        }
    }

    fn await_funds(&mut self) {
        self.first.awaits_funds = true;
        if self.first.state == State::Pending {
            let until = FUNDS_WITHIN.max(self.hour + 1).min(LAST_HOUR);
            self.first.deadline = until.max(self.first.deadline);
        } else {
            self.payments[ON_PAGE].in_case = true;
        }
    }

    pub(super) fn refund_runs(&self) -> bool {
        let mut runs = self.payments.iter().map(|it| it.running().count());
        runs.any(|count| count > 0)
    }
}

impl Hold {
    /// Intends the refund on the payment's row; one that was intended before is looked up first.
    pub(super) fn start_refund(&self, town: &mut Town, payment: usize, run: usize) {
        let looks = !matches!(self.flaw, Flaw::RefundKeyFresh | Flaw::RefundNotLookedUp);
        let refund = &mut town.payments[payment].refund;
        refund.runs[run] = match refund.row {
            RefundRow::None => Run::Ask,
            RefundRow::Asked if looks => Run::Look,
            RefundRow::Asked => Run::Ask,
            RefundRow::Made => Run::Idle,
        };
        if refund.row == RefundRow::None {
            refund.row = RefundRow::Asked;
        }
    }

    pub(super) fn go_on(&self, town: &mut Town, payment: usize, run: usize) {
        let refund = &mut town.payments[payment].refund;
        refund.runs[run] = match refund.runs[run] {
            Run::Look if refund.made == 0 => Run::Ask,
            Run::Look | Run::Note => {
                refund.row = RefundRow::Made;
                refund.order = Order::Done;
                Run::Idle
            }
            Run::Ask => {
                refund.ask_provider(self.flaw);
                Run::Note
            }
            Run::Idle => Run::Idle,
        };
    }
}

impl Refund {
    /// What the provider does when it is asked: nothing more under a key that it knows.
    pub(super) fn ask_provider(&mut self, flaw: Flaw) {
        if !self.key_known || flaw == Flaw::RefundKeyFresh {
            self.made += 1;
        }
        self.key_known = true;
    }
}

impl Payment {
    pub(super) fn is_being_refunded(&self) -> bool {
        self.refund.order == Order::Outstanding || self.running().next().is_some()
    }

    fn running(&self) -> impl Iterator<Item = usize> {
        let runs = self.refund.runs;
        (0..runs.len()).filter(move |run| runs[*run] != Run::Idle)
    }
}
