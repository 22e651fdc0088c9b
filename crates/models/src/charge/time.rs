//! Time, as far as the rules know it.
//!
//! A run may stand still until its lease is over; nothing lasts longer. What the provider holds it
//! makes within half an hour.

use super::{Debt, Step};

/// How long ago a charge was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Since {
    Lately,
    HalfAnHourAgo,
    TwentyThreeHoursAgo,
    DayAgo,
}

impl Debt {
    pub(super) fn time_steps(&self, steps: &mut Vec<Step>) {
        let is_quiet = self.no_run_is_under_way();
        let is_idle = is_quiet && !self.provider.is_charging();
        let Some(attempt) = self.row.attempt else {
            let waits = self.row.rests && self.row.plan.is_some();
            steps.extend((waits && is_idle).then_some(Step::ReachNextDate));
            return;
        };
        if attempt.is_leased {
            steps.push(Step::EndLease);
            return;
        }
        let is_past = |since| attempt.claimed >= since;
        let is_asked_lately = attempt.asked_lately && is_past(Since::HalfAnHourAgo);
        if is_asked_lately && is_idle {
            steps.push(Step::PassHalfAnHourSinceAsking);
        }
        match attempt.claimed {
            Since::Lately if is_quiet && (is_idle || self.provider.holds_repeat) => {
                steps.push(Step::PassHalfAnHourSinceClaim);
            }
            Since::HalfAnHourAgo if is_quiet => steps.push(Step::PassTwentyThreeHours),
            Since::TwentyThreeHoursAgo if is_quiet && !attempt.asked_lately => {
                steps.push(Step::PassDay);
            }
            Since::Lately | Since::HalfAnHourAgo | Since::TwentyThreeHoursAgo | Since::DayAgo => {}
        }
    }

    pub(super) fn pass(&mut self, step: Step) {
        if step == Step::ReachNextDate {
            self.row.rests = false;
        }
        let Some(attempt) = &mut self.row.attempt else {
            return;
        };
        if step == Step::EndLease {
            attempt.is_leased = false;
        } else if step == Step::PassHalfAnHourSinceAsking {
            attempt.asked_lately = false;
        } else if step == Step::PassHalfAnHourSinceClaim {
            attempt.claimed = Since::HalfAnHourAgo;
            attempt.asked_lately &= attempt.is_resent;
        } else if step == Step::PassTwentyThreeHours {
            attempt.claimed = Since::TwentyThreeHoursAgo;
        } else if step == Step::PassDay {
            attempt.claimed = Since::DayAgo;
            self.provider.forget(attempt.n);
        }
    }
}
