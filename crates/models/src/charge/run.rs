//! The runs of the retrier: read, write, call, hear, settle.

use super::{Attempt, Charge, Debt, Flaw, Since, Step};

/// After so many looks without an answer the key is not sent again.
const RESENDS_MAX: u8 = 2;

/// The live invoice as a run has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sight {
    pub is_paid: bool,
    pub charges: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    Captured,
    Declined,
    NotOpen,
    Unanswered,
}

/// One run, by what it does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Run {
    Idle,
    /// Writes what follows from what it has seen, for this plan.
    Looked {
        plan_no: u8,
        sight: Sight,
    },
    Ask {
        n: usize,
    },
    Wait {
        n: usize,
    },
    Note {
        n: usize,
        outcome: Outcome,
    },
}

/// What becomes of a claim that is found open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resume {
    AskAgain,
    Close,
    NotMade,
    Declined,
    Wait,
}

impl Charge {
    pub(super) fn run_steps(&self, debt: &Debt, steps: &mut Vec<Step>) {
        if let Some(run) = debt.free_run().filter(|_| self.is_due(debt)) {
            steps.push(Step::Fire { run });
        }
        for (run, does) in debt.runs.iter().enumerate() {
            steps.extend(match does {
                Run::Idle => None,
                Run::Looked { .. } => Some(Step::Write { run }),
                Run::Ask { .. } => Some(Step::Call { run }),
                Run::Wait { n } => debt.provider.answer(*n).map(|_| Step::Hear { run }),
                Run::Note { .. } => Some(Step::Settle { run }),
            });
        }
    }

    /// Whether the plan's schedule fires, and something follows from it.
    fn is_due(&self, debt: &Debt) -> bool {
        let row = &debt.row;
        let is_begun = |run: &super::Run| matches!(run, Run::Looked { plan_no, .. } if *plan_no == row.plan_no);
        let has_fired = debt.runs.iter().any(is_begun);
        let resumes = |it: Attempt| !it.is_leased && !self.only_waits(it, debt.sight());
        let does = row.attempt.map_or(!row.rests, resumes);
        row.plan.is_some() && !has_fired && does
    }

    /// A look that changes nothing more.
    fn only_waits(&self, attempt: Attempt, sight: Sight) -> bool {
        self.resumed(attempt, sight, true) == Resume::Wait && attempt.looks >= RESENDS_MAX
    }

    pub(super) fn write(&self, debt: &mut Debt, run: usize) {
        let Run::Looked { plan_no, sight } = debt.runs[run] else {
            return;
        };
        debt.runs[run] = Run::Idle;
        let plan = debt.row.plan.filter(|plan| plan.no == plan_no);
        match (debt.row.attempt, plan) {
            (Some(attempt), _) if self.flaw != Flaw::ClaimUnconditional => {
                let is_its = plan.is_some() || attempt.plan_no == plan_no;
                if is_its && !attempt.is_leased {
                    self.resume(debt, run, attempt, (plan_no, sight));
                }
            }
            (_, None) => {}
            (_, Some(_)) if sight.is_paid => debt.row.close(),
            (_, Some(plan)) => {
                let n = debt.row.claim(plan, sight.charges);
                debt.runs[run] = Run::Ask { n };
            }
        }
    }

    fn resume(&self, debt: &mut Debt, run: usize, attempt: Attempt, (plan_no, sight): (u8, Sight)) {
        let is_wanted = !debt.row.is_closed;
        debt.row.plan = None;
        match self.resumed(attempt, sight, is_wanted) {
            Resume::AskAgain if self.flaw == Flaw::NewKeyOnRetry => {
                let is_extra = attempt.is_extra;
                let plan = super::Plan {
                    no: plan_no,
                    is_extra,
                };
                let n = debt.row.claim(plan, attempt.charges_before);
                debt.runs[run] = Run::Ask { n };
            }
            Resume::AskAgain => {
                debt.row.attempt = Some(Attempt {
                    is_leased: true,
                    asked_lately: true,
                    is_resent: true,
                    plan_no,
                    ..attempt
                });
                debt.runs[run] = Run::Ask { n: attempt.n };
            }
            Resume::Close => debt.row.close(),
            Resume::NotMade => debt.row.not_made(attempt),
            Resume::Declined => debt.row.declined(attempt),
            Resume::Wait => debt.row.unanswered(attempt),
        }
    }

    fn resumed(&self, attempt: Attempt, sight: Sight, is_wanted: bool) -> Resume {
        let is_valid = attempt.claimed < Since::TwentyThreeHoursAgo && attempt.looks < RESENDS_MAX;
        let is_young = is_valid || self.flaw == Flaw::ResentPastExpiry;
        let was_claimed_lately = attempt.claimed == Since::Lately;
        let may_be_about_to = match self.flaw {
            Flaw::NotMadeAtOnce => false,
            Flaw::NotMadeFromClaim => was_claimed_lately,
            Flaw::None
            | Flaw::ClaimUnconditional
            | Flaw::NewKeyOnRetry
            | Flaw::TimeoutTakenAsDecline
            | Flaw::ResentPastExpiry
            | Flaw::StaleHolderWrites
            | Flaw::SweepAbsent => attempt.asked_lately,
        };
        match sight.is_paid {
            // The answer says by whom.
            true if is_young => Resume::AskAgain,
            true => Resume::Close,
            false if is_young && is_wanted => Resume::AskAgain,
            false if sight.charges != attempt.charges_before => Resume::Declined,
            false if may_be_about_to => Resume::Wait,
            false => Resume::NotMade,
        }
    }

    /// Writes the outcome, if the claim that it is of is still open.
    pub(super) fn settle(&self, debt: &mut Debt, run: usize) {
        let Run::Note { n, outcome } = debt.runs[run] else {
            return;
        };
        debt.runs[run] = Run::Idle;
        let is_its = |it: &Attempt| it.n == n || self.flaw == Flaw::StaleHolderWrites;
        let Some(attempt) = debt.row.attempt.filter(is_its) else {
            return;
        };
        match outcome {
            Outcome::Captured | Outcome::NotOpen => debt.row.close(),
            Outcome::Declined => debt.row.declined(attempt),
            Outcome::Unanswered if self.flaw == Flaw::TimeoutTakenAsDecline => {
                debt.row.declined(attempt);
            }
            Outcome::Unanswered => debt.row.unanswered(attempt),
        }
    }
}

impl Debt {
    pub(super) fn free_run(&self) -> Option<usize> {
        self.runs.iter().position(|run| *run == Run::Idle)
    }

    pub(super) fn no_run_is_under_way(&self) -> bool {
        self.runs == [Run::Idle; 2]
    }

    fn sight(&self) -> Sight {
        Sight {
            is_paid: self.provider.is_paid,
            charges: self.provider.charges,
        }
    }

    pub(super) fn fire(&mut self, run: usize) {
        if let Some(plan) = self.row.plan {
            self.look(run, plan.no);
        }
    }

    pub(super) fn look(&mut self, run: usize, plan_no: u8) {
        let sight = self.sight();
        self.runs[run] = Run::Looked { plan_no, sight };
    }

    pub(super) fn call(&mut self, run: usize) {
        if let Run::Ask { n } = self.runs[run] {
            let claim = self.row.attempt.filter(|it| it.n == n);
            let is_repeat = claim.is_some_and(|it| it.is_resent);
            self.runs[run] = match self.provider.take_in(n, is_repeat) {
                Some(outcome) => Run::Note { n, outcome },
                None => Run::Wait { n },
            };
        }
    }

    pub(super) fn hear(&mut self, run: usize) {
        if let Run::Wait { n } = self.runs[run]
            && let Some(outcome) = self.provider.answer(n)
        {
            self.runs[run] = Run::Note { n, outcome };
        }
    }
}
