//! The release sweep: read, and release or have the page closed on the condition of what was read.

use super::{Flaw, ON_PAGE, PAGE_ENDS, Page, State, Step, Town, Who};

/// What one sweep is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sweep {
    Idle,
    Close {
        is_stale: bool,
    },
    Release {
        is_stale: bool,
    },
    /// Only where the slot is freed by a write of its own.
    Free,
}

impl Town {
    pub(super) fn sweep_step(&self, flaw: Flaw) -> Option<Step> {
        match self.sweep {
            Sweep::Idle if flaw == Flaw::SweepAbsent => None,
            Sweep::Idle => self.is_overdue(flaw).map(|_| Step::SweepReads),
            Sweep::Close { .. } | Sweep::Release { .. } => Some(Step::SweepWrites),
            Sweep::Free => Some(Step::SweepFrees),
        }
    }

    /// What a sweep would do to the first booking as it stands.
    fn is_overdue(&self, flaw: Flaw) -> Option<Sweep> {
        let is_stale = false;
        let release = Sweep::Release { is_stale };
        if self.first.state != State::Pending || self.hour < self.first.deadline {
            return None;
        }
        match self.first.page {
            Page::Opened | Page::Closing(_) if flaw == Flaw::PageLeftOpen => Some(release),
            Page::Opened => Some(Sweep::Close { is_stale }),
            // The provider is asked again and again for a while, and its own end comes too.
            Page::Closing(asked) if self.hour < PAGE_ENDS.max(asked + 1) => None,
            // One that is not opened yet is shown to nobody.
            Page::Closing(_) | Page::Closed | Page::Intended | Page::None => Some(release),
        }
    }

    pub(super) fn sweep_reads(&mut self, flaw: Flaw) {
        self.sweep = self.is_overdue(flaw).unwrap_or(Sweep::Idle);
    }

    pub(super) fn sweep_writes(&mut self, flaw: Flaw) {
        let sweep = std::mem::replace(&mut self.sweep, Sweep::Idle);
        match sweep {
            Sweep::Close { is_stale: false } => {
                self.order_closing();
                self.written();
            }
            Sweep::Release { is_stale: false } => self.release(flaw),
            Sweep::Release { is_stale: true } if flaw == Flaw::ReleaseUnconditional => {
                self.release(flaw);
            }
            // Others moved it: whatever is due by then is the next look's.
            Sweep::Close { .. } | Sweep::Release { .. } | Sweep::Idle | Sweep::Free => {}
        }
    }

    fn release(&mut self, flaw: Flaw) {
        self.first.state = State::Released;
        self.first.was_released = true;
        self.written();
        if std::mem::replace(&mut self.first.awaits_funds, false) {
            self.payments[ON_PAGE].in_case = true;
        }
        if flaw == Flaw::SlotFreedApart {
            self.sweep = Sweep::Free;
        } else if self.slot == Some(Who::First) {
            self.slot = None;
        }
    }

    pub(super) fn sweep_frees(&mut self) {
        self.slot = None;
        self.sweep = Sweep::Idle;
    }
}
