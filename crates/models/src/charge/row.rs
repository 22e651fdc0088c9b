//! The subscription's row: what is planned, what is claimed, and how a claim ends.

use super::{Debt, KEYS, Since, Turn};

/// Dates of the calendar.
const TRIES: u8 = 2;

/// What is done next. Its number names its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    pub no: u8,
    /// Whether it is for a new card, beside the calendar.
    pub is_extra: bool,
}

/// A charge that is claimed and not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// Its number is its key.
    pub n: usize,
    pub plan_no: u8,
    pub is_extra: bool,
    pub is_leased: bool,
    pub looks: u8,
    pub claimed: Since,
    /// How long ago the provider was asked last: half an hour, or less.
    pub asked_lately: bool,
    pub is_resent: bool,
    /// How many charges there were before it.
    pub charges_before: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub plan: Option<Plan>,
    pub plan_no: u8,
    pub attempt: Option<Attempt>,
    pub attempt_no: usize,
    pub tries_left: u8,
    /// Whether the plan's date is still to come.
    pub rests: bool,
    pub not_made: u8,
    /// A card that came while a charge was open.
    pub card_waits: bool,
    pub is_closed: bool,
    pub in_case: bool,
    /// By the number of the attempt.
    pub noted_declined: [bool; KEYS],
}

impl Row {
    pub(super) fn new() -> Self {
        Self {
            plan: Some(Plan {
                no: 1,
                is_extra: false,
            }),
            plan_no: 1,
            attempt: None,
            attempt_no: 0,
            tries_left: TRIES,
            rests: false,
            not_made: 0,
            card_waits: false,
            is_closed: false,
            in_case: false,
            noted_declined: [false; KEYS],
        }
    }

    fn plan(&mut self, is_extra: bool) {
        self.plan_no += 1;
        let no = self.plan_no;
        self.plan = Some(Plan { no, is_extra });
    }

    pub(super) fn plan_look(&mut self) {
        self.plan(false);
    }

    pub(super) fn claim(&mut self, plan: Plan, charges_before: u8) -> usize {
        self.plan = None;
        self.attempt_no = (self.attempt_no + 1).min(KEYS - 1);
        self.attempt = Some(Attempt {
            n: self.attempt_no,
            plan_no: plan.no,
            is_extra: plan.is_extra,
            is_leased: true,
            looks: 0,
            claimed: Since::Lately,
            asked_lately: true,
            is_resent: false,
            charges_before,
        });
        self.attempt_no
    }

    pub(super) fn close(&mut self) {
        self.attempt = None;
        self.plan = None;
        self.is_closed = true;
    }

    pub(super) fn declined(&mut self, attempt: Attempt) {
        self.noted_declined[attempt.n] = true;
        if !attempt.is_extra {
            self.tries_left -= 1;
        }
        self.go_on();
    }

    /// Once may be the provider's bad day; after that it is a date gone by, and a case.
    pub(super) fn not_made(&mut self, attempt: Attempt) {
        self.not_made += 1;
        if self.not_made > 1 {
            self.in_case = true;
            if !attempt.is_extra {
                self.tries_left -= 1;
            }
        }
        self.go_on();
    }

    /// The charge is over, and the invoice is not: another date, or the card that waited.
    fn go_on(&mut self) {
        self.attempt = None;
        self.plan = None;
        self.rests = true;
        if self.is_closed {
            return;
        }
        if std::mem::take(&mut self.card_waits) {
            self.take_card();
        } else if self.tries_left > 0 {
            self.plan(false);
        }
    }

    /// A new card does not wait for the date.
    fn take_card(&mut self) {
        self.rests = false;
        self.plan(true);
    }

    /// It stays open, and is looked for again.
    pub(super) fn unanswered(&mut self, attempt: Attempt) {
        self.attempt = Some(Attempt {
            looks: attempt.looks.saturating_add(1).min(2),
            is_leased: false,
            ..attempt
        });
        self.in_case |= attempt.claimed == Since::DayAgo;
        self.plan_look();
    }
}

impl Debt {
    pub(super) fn turns(&self) -> impl Iterator<Item = Turn> {
        let is_open = !self.provider.is_paid;
        let is_news = self.provider.is_paid && !self.row.is_closed;
        let possible = [
            (is_open && !self.provider.is_charging(), Turn::CustomerPays),
            (self.has_card && !self.row.is_closed, Turn::BringCard),
            (is_news, Turn::ReportPaid),
        ];
        let turns = possible.into_iter();
        turns.filter_map(|(is_possible, turn)| is_possible.then_some(turn))
    }

    pub(super) fn turn(&mut self, turn: Turn) {
        match turn {
            Turn::CustomerPays => self.provider.is_paid = true,
            Turn::BringCard => {
                self.has_card = false;
                match self.row.attempt {
                    Some(_) => self.row.card_waits = true,
                    None => self.row.take_card(),
                }
            }
            // An event ends the debt; a charge that is open is still settled.
            Turn::ReportPaid => {
                self.row.is_closed = true;
                if self.row.attempt.is_none() {
                    self.row.plan = None;
                }
            }
        }
    }

    /// Whether a claim has neither a holder nor a plan.
    pub(super) fn is_left_behind(&self) -> bool {
        let attempt = self.row.attempt.filter(|it| !it.is_leased);
        attempt.is_some() && self.row.plan.is_none() && self.no_run_is_under_way()
    }
}
