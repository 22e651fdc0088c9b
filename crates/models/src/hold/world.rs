//! What customers and time do.

use super::{
    Booking, Closing, Event, Flaw, LAST_HOUR, ON_PAGE, Opening, Order, PAGE_ENDS, Page, Payment,
    RealPage, Refund, RefundRow, Run, STRAY, State, Sweep, Town, Turn, Who,
};

pub(super) fn turns(town: &Town) -> impl Iterator<Item = Turn> {
    let is_unpaid = |payment: usize| town.payments[payment].captured.is_none();
    let possible = [
        (
            town.hour < LAST_HOUR && town.no_run_is_under_way(),
            Turn::PassTime,
        ),
        (town.may_click(), Turn::ClickOnLink),
        (
            town.page == RealPage::Open && town.page_shown,
            Turn::PayOnPage,
        ),
        (is_unpaid(STRAY) && town.hour <= PAGE_ENDS, Turn::PayStray),
        (town.next == State::Absent, Turn::NextHolds),
    ];
    possible
        .into_iter()
        .filter_map(|(is_possible, turn)| is_possible.then_some(turn))
}

impl Town {
    pub(super) fn new(faults: u8) -> Self {
        let payment = Payment {
            captured: None,
            event: Event::None,
            in_ledger: false,
            counted: false,
            in_case: false,
            refund: Refund {
                order: Order::None,
                row: RefundRow::None,
                runs: [Run::Idle; 2],
                made: 0,
                key_known: false,
            },
        };
        let first = Booking {
            state: State::Pending,
            page: Page::None,
            deadline: 1,
            awaits_funds: false,
            was_released: false,
        };
        Self {
            hour: 0,
            slot: Some(Who::First),
            first,
            next: State::Absent,
            page: RealPage::None,
            page_shown: false,
            payments: [payment; 2],
            opening: Opening::Idle,
            handlers: [None; 2],
            sweep: Sweep::Idle,
            closing: Closing::None,
            faults_left: faults,
        }
    }

    pub(super) fn state(&self, who: Who) -> State {
        match who {
            Who::First => self.first.state,
            Who::Next => self.next,
        }
    }

    /// Notes that the booking was written: whoever read it before decided on what it was.
    pub(super) fn written(&mut self) {
        for handling in self.handlers.iter_mut().flatten() {
            handling.is_stale = true;
        }
        match &mut self.sweep {
            Sweep::Close { is_stale } | Sweep::Release { is_stale } => *is_stale = true,
            Sweep::Idle | Sweep::Free => {}
        }
    }

    pub(super) fn is_handled(&self, payment: usize) -> bool {
        let mut handled = self.handlers.iter().flatten();
        handled.any(|it| it.payment == payment)
    }

    /// A run does not last for hours.
    fn no_run_is_under_way(&self) -> bool {
        let is_noting = match self.closing {
            Closing::None | Closing::Ordered => false,
            Closing::HeardClosed | Closing::HeardPaid => !self.is_early_to_tell(),
        };
        let is_idle = self.opening == Opening::Idle && self.sweep == Sweep::Idle && !is_noting;
        is_idle && !self.refund_runs() && self.handlers == [None; 2]
    }

    fn may_click(&self) -> bool {
        let is_new = matches!(self.first.page, Page::None | Page::Intended);
        let is_held = self.first.state == State::Pending && self.hour < self.first.deadline;
        is_held && is_new && self.opening == Opening::Idle
    }

    pub(super) fn turn(&mut self, turn: Turn, flaw: Flaw) {
        match turn {
            Turn::PassTime => self.pass_time(),
            Turn::ClickOnLink => self.click(),
            Turn::PayOnPage => {
                self.page = RealPage::Complete;
                self.capture(ON_PAGE);
            }
            Turn::PayStray => self.capture(STRAY),
            Turn::NextHolds => self.next_holds(flaw),
        }
    }

    fn pass_time(&mut self) {
        self.hour += 1;
        if self.hour == PAGE_ENDS && self.page == RealPage::Open {
            self.page = RealPage::Expired;
        }
        if self.hour == LAST_HOUR {
            for payment in &mut self.payments {
                payment.refund.key_known = false;
            }
        }
    }

    /// The page is intended on the row before the provider is asked.
    fn click(&mut self) {
        if self.first.page == Page::None {
            self.first.page = Page::Intended;
            self.written();
        }
        self.opening = Opening::Ask;
    }

    fn capture(&mut self, payment: usize) {
        self.payments[payment].captured = Some(self.hour.max(1));
        self.payments[payment].event = Event::Due;
    }

    /// The slot's row must not be there; the booking is written in the same step.
    fn next_holds(&mut self, flaw: Flaw) {
        if self.slot.is_none() || flaw == Flaw::HoldUnconditional {
            self.slot = Some(Who::Next);
            self.next = State::Pending;
        }
    }
}
