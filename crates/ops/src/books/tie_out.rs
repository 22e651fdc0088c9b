//! The provider's lists of a period against our rows: by id, amount and status.
//!
//! What the provider lists is in memory, our rows pass by. Both are asked about a little more than
//! the period, since a payment may have been begun days before it was collected; a break is only
//! what belongs into the period.

mod lists;

use std::collections::BTreeSet;
use std::ops::Range;

use chrono::{DateTime, Utc};
use paidonce_core::dispute::Dispute;
use paidonce_core::money::Money;
use paidonce_core::refund::{PaymentRow, Progress, Refund};
use serde::Serialize;

pub use lists::{Listed, Provided};

use super::Period;

/// Something that the two sides don't agree on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Break {
    pub kind: BreakKind,
    /// `payment`, `refund` or `dispute`.
    pub object: &'static str,
    /// The provider's id, or our key of a refund that has none yet.
    pub id: String,
    pub booking_id: Option<String>,
    pub payment_ref: Option<String>,
    pub here: Option<String>,
    pub there: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakKind {
    MissingHere,
    MissingThere,
    AmountDiffers,
    StatusDiffers,
}

impl BreakKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingHere => "missing here",
            Self::MissingThere => "missing there",
            Self::AmountDiffers => "amount differs",
            Self::StatusDiffers => "status differs",
        }
    }
}

/// How many of each were listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    pub payments: u64,
    pub refunds: u64,
    pub disputes: u64,
}

/// How the comparison ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tied {
    pub breaks: Vec<Break>,
    /// What agrees.
    pub agreed: Compared,
    /// What others on the same account made: no break.
    pub of_others: Compared,
}

/// A comparison under way.
#[derive(Debug)]
pub struct TieOut {
    listed: Listed,
    range: Range<DateTime<Utc>>,
    /// Payments that a listed refund or dispute is of, and those of them that are ours.
    asked_for: BTreeSet<String>,
    ours: BTreeSet<String>,
    breaks: Vec<Break>,
    agreed: Compared,
}

impl TieOut {
    pub fn new(listed: Listed, period: &Period) -> Self {
        let later = listed.refunds.values().chain(listed.disputes.values());
        let asked_for = later.filter_map(|it| it.payment_ref.clone()).collect();
        Self {
            listed,
            range: period.range(),
            asked_for,
            ours: BTreeSet::new(),
            breaks: Vec::new(),
            agreed: Compared::default(),
        }
    }

    /// Compares what the provider listed of one payment.
    pub fn look_at(&mut self, row: &PaymentRow) {
        if row.booking_id.is_none() {
            return;
        }
        if self.asked_for.contains(&row.payment_ref) {
            self.ours.insert(row.payment_ref.clone());
        }
        self.payment(row);
        for (key, refund) in &row.refunds {
            self.refund(row, key, refund);
        }
        for (id, dispute) in &row.disputes {
            self.dispute(row, id, dispute);
        }
    }

    fn payment(&mut self, row: &PaymentRow) {
        let there = self.listed.charges.remove(&row.payment_ref);
        let is_of_then = row.paid_at.is_some_and(|at| self.range.contains(&at));
        let here = row.amount.map(shown);
        let about = ("payment", row.payment_ref.as_str());
        match there {
            None if is_of_then => self.note(row, about, BreakKind::MissingThere, here, None),
            None => {}
            Some(there) if row.amount != Some(there.amount) => {
                let there = Some(shown(there.amount));
                self.note(row, about, BreakKind::AmountDiffers, here, there);
            }
            Some(_) => self.agreed.payments += 1,
        }
    }

    fn refund(&mut self, row: &PaymentRow, key: &str, refund: &Refund) {
        let by_id = refund.refund_id.clone();
        let id = by_id.or_else(|| self.listed.refund_of_key(key));
        let there = id.as_ref().and_then(|id| self.listed.refunds.remove(id));
        let at = refund.made_at.unwrap_or(refund.asked_at);
        let status = match refund.progress {
            Progress::Asked => "asked".to_owned(),
            Progress::Refused => "refused".to_owned(),
            Progress::Known(status) => lists::status_name(&status),
        };
        let about = ("refund", id.as_deref().unwrap_or(key));
        let is_known = match refund.progress {
            Progress::Asked | Progress::Refused => false,
            Progress::Known(_) => true,
        };
        match there {
            None if is_known && self.range.contains(&at) => {
                let here = Some(shown(refund.amount));
                self.note(row, about, BreakKind::MissingThere, here, None);
            }
            None => {}
            Some(there) if there.amount != refund.amount => {
                let (here, there) = (Some(shown(refund.amount)), Some(shown(there.amount)));
                self.note(row, about, BreakKind::AmountDiffers, here, there);
            }
            Some(there) if there.status != status => {
                let (here, there) = (Some(status), Some(there.status));
                self.note(row, about, BreakKind::StatusDiffers, here, there);
            }
            Some(_) => self.agreed.refunds += 1,
        }
    }

    fn dispute(&mut self, row: &PaymentRow, id: &str, dispute: &Dispute) {
        let there = self.listed.disputes.remove(id);
        let about = ("dispute", id);
        let fee = net(dispute.fee, dispute.fee_returned);
        let taken = net(dispute.withdrawn, dispute.reinstated);
        let status = dispute.status.as_str();
        match there {
            None if self.range.contains(&dispute.opened_at) => {
                let here = Some(shown(dispute.amount));
                self.note(row, about, BreakKind::MissingThere, here, None);
            }
            None => {}
            Some(there) if there.amount != dispute.amount || there.fee_minor != fee => {
                let here = format!("{}, fee {fee}", shown(dispute.amount));
                let there = format!("{}, fee {}", shown(there.amount), there.fee_minor);
                self.note(
                    row,
                    about,
                    BreakKind::AmountDiffers,
                    Some(here),
                    Some(there),
                );
            }
            Some(there) if there.status != status || there.withdrawn != (taken > 0) => {
                let word = |taken: bool| if taken { "taken" } else { "not taken" };
                let here = format!("{status}, {}", word(taken > 0));
                let there = format!("{}, {}", there.status, word(there.withdrawn));
                self.note(
                    row,
                    about,
                    BreakKind::StatusDiffers,
                    Some(here),
                    Some(there),
                );
            }
            Some(_) => self.agreed.disputes += 1,
        }
    }

    fn note(
        &mut self,
        row: &PaymentRow,
        (object, id): (&'static str, &str),
        kind: BreakKind,
        here: Option<String>,
        there: Option<String>,
    ) {
        self.breaks.push(Break {
            kind,
            object,
            id: id.to_owned(),
            booking_id: row.booking_id.clone(),
            payment_ref: Some(row.payment_ref.clone()),
            here,
            there,
        });
    }

    /// Ends the comparison: what is left on the provider's side is missing here, or is another's.
    pub fn finish(mut self) -> Tied {
        let mut of_others = Compared {
            payments: self.listed.strange,
            ..Compared::default()
        };
        for (payment_ref, charge) in std::mem::take(&mut self.listed.charges) {
            let id = (payment_ref.clone(), Some(payment_ref));
            match charge.booking_id.is_some() {
                true => self.missing_here("payment", id, charge),
                false => of_others.payments += 1,
            }
        }
        for (id, refund) in std::mem::take(&mut self.listed.refunds) {
            match refund.booking_id.is_some() || self.is_ours(&refund) {
                true => self.missing_here("refund", (id, refund.payment_ref.clone()), refund),
                false => of_others.refunds += 1,
            }
        }
        for (id, dispute) in std::mem::take(&mut self.listed.disputes) {
            match self.is_ours(&dispute) {
                true => self.missing_here("dispute", (id, dispute.payment_ref.clone()), dispute),
                false => of_others.disputes += 1,
            }
        }
        self.breaks.sort_by(|one, two| {
            (one.object, one.kind, &one.id).cmp(&(two.object, two.kind, &two.id))
        });
        Tied {
            breaks: self.breaks,
            agreed: self.agreed,
            of_others,
        }
    }

    fn is_ours(&self, provided: &Provided) -> bool {
        let payment_ref = provided.payment_ref.as_ref();
        payment_ref.is_some_and(|payment_ref| self.ours.contains(payment_ref))
    }

    fn missing_here(
        &mut self,
        object: &'static str,
        (id, payment_ref): (String, Option<String>),
        provided: Provided,
    ) {
        if !self.range.contains(&provided.created) {
            return;
        }
        self.breaks.push(Break {
            kind: BreakKind::MissingHere,
            object,
            id,
            booking_id: provided.booking_id,
            payment_ref,
            here: None,
            there: Some(shown(provided.amount)),
        });
    }
}

fn shown(amount: Money) -> String {
    format!("{} {}", amount.decimal(), amount.currency())
}

fn net(one: Option<Money>, other: Option<Money>) -> i64 {
    one.map_or(0, Money::minor) - other.map_or(0, Money::minor)
}
