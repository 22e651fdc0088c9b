//! What may happen to the money of one payment: refunds and disputes.
//!
//! A refund is intended on the payment's row before the provider is asked, under a key that depends
//! on business facts alone; what the provider says of it is projected onto the row. Reports only
//! ever move a refund or a dispute forward, so the answer to our own call, its webhook, a refund
//! made by hand at the provider and any order of them end in the same row. No answer leaves the
//! refund asked for, and it is looked up later; it is never failed by a timer.
//! `refund_table.txt` beside this file has every status and command, and a test keeps it true.

mod row;
mod status;

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::booking::{Reason, RefundOrder, RefundReason};
use crate::dispute::Dispute;
use crate::money::Money;
use crate::planted::{self, Defect};

pub use row::{lookup_shard, payment_key};
pub use status::RefundStatus;

/// More refunds of one payment than this are a person's business.
const REFUNDS_MAX: usize = 50;
/// When an unanswered refund is looked up for the first time; each further time takes twice as long.
const LOOK_AGAIN: TimeDelta = TimeDelta::minutes(15);
const LOOK_AGAIN_MAX: TimeDelta = TimeDelta::hours(6);
/// How long a refund may be under way at the provider before we look, in case a report was lost.
const PENDING_FOR: TimeDelta = TimeDelta::hours(24);
/// After this long without an answer a person hears of it.
const UNANSWERED_FOR: TimeDelta = TimeDelta::hours(24);
/// After this long under way at the provider, too.
const UNDER_WAY_FOR: TimeDelta = TimeDelta::days(10);
/// How long a payment that is nobody's yet is remembered: another product's, or one whose own event
/// is still to come.
pub const UNCLAIMED_FOR: TimeDelta = TimeDelta::days(35);

/// Over how many index partitions the due lookups are spread.
pub const LOOKUP_SHARDS: u64 = 2;

/// The money of one payment, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRow {
    /// `payment#` and the provider's id of the payment.
    pub event_id: String,
    pub payment_ref: String,
    /// Absent until the event that says whose it is.
    pub booking_id: Option<String>,
    /// What came; absent if it is not known.
    pub amount: Option<Money>,
    pub paid_at: Option<DateTime<Utc>>,
    /// By our key, or by the provider's id for those that others made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refunds: BTreeMap<String, Refund>,
    /// By the provider's id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disputes: BTreeMap<String, Dispute>,
    /// The most that the provider ever said went back, refunds that failed since included.
    #[serde(default)]
    pub refunded_said: i64,
    /// Epoch seconds; absent once it is known whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    pub version: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    pub amount: Money,
    /// Absent on one that others made.
    pub reason: Option<RefundReason>,
    /// The provider's id, once it is known.
    pub refund_id: Option<String>,
    pub progress: Progress,
    pub asked_at: DateTime<Utc>,
    /// How much of it stands for older orders that came to nothing; in minor units.
    #[serde(default)]
    pub makes_up: i64,
    /// How often it was asked for or looked up without an answer.
    pub tries: u32,
    /// When to look at it next; nothing if it is over.
    pub look_at: Option<DateTime<Utc>>,
    /// Why it was refused or failed, as the provider's code.
    pub failure: Option<String>,
    /// A person has been told that it was not answered.
    #[serde(default)]
    pub escalated: bool,
    /// When the provider made it, by the provider's own clock.
    #[serde(default)]
    pub made_at: Option<DateTime<Utc>>,
    /// When we heard that it failed: the money is here again.
    #[serde(default)]
    pub failed_at: Option<DateTime<Utc>>,
}

/// How far a refund is. In order, so that the greater of two reports is the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// It may or may not have been asked for.
    Asked,
    /// The provider said no: no money moved.
    Refused,
    #[serde(untagged)]
    Known(RefundStatus),
}

/// An order to a payment's money, or a report about it.
#[derive(Clone, Debug)]
pub enum Command {
    /// The provider collected it.
    Collected {
        booking_id: String,
        amount: Option<Money>,
        paid_at: DateTime<Utc>,
    },
    /// A refund is about to be asked for.
    Intend(RefundOrder),
    /// The provider was asked, and there is no answer.
    Unanswered {
        key: String,
    },
    Refused {
        key: String,
        code: String,
    },
    /// What the provider says of one refund.
    Report(RefundReport),
    /// What the provider says went back in all.
    SaidRefunded {
        minor: i64,
    },
    ReportDispute {
        dispute_id: String,
        dispute: Dispute,
    },
}

/// What the provider says of one refund.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefundReport {
    pub refund_id: String,
    /// Our key, from the metadata; absent on one that others made.
    pub key: Option<String>,
    pub amount: Money,
    pub status: RefundStatus,
    pub created: DateTime<Utc>,
    pub failure: Option<String>,
}

/// The row as it will stand, and who must hear of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub after: PaymentRow,
    pub what: &'static str,
    pub why: String,
    pub cases: Vec<MoneyCase>,
}

/// What a person must hear of a payment's money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoneyCase {
    pub reason: Reason,
    /// The refund's key, or the dispute's id with its status: each of them is news of its own.
    pub occasion: String,
    pub dispute: Option<Dispute>,
}

/// Why a command changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is known already.
    Already,
    /// It was asked for before, and what became of it is not known: look it up first.
    LookFirst,
    /// There are more refunds of the payment than can be kept.
    TooMany,
}

/// Decides what `command` does to the money of a payment at `now`.
///
/// # Errors
/// Why it does nothing.
pub fn decide(row: &PaymentRow, command: Command, now: DateTime<Utc>) -> Result<Change, Refusal> {
    match command {
        Command::Collected {
            booking_id,
            amount,
            paid_at,
        } => collected(row, booking_id, amount, paid_at),
        Command::Intend(order) => intend(row, order, now),
        Command::Unanswered { key } => unanswered(row, &key, now),
        Command::Refused { key, code } => refused(row, &key, code),
        Command::Report(report) => self::report(row, report, now),
        Command::SaidRefunded { minor } if minor > row.refunded_said => {
            let mut to = row.changing("refund reported");
            to.why = format!("{minor} in all");
            to.after.refunded_said = minor;
            Ok(to)
        }
        Command::SaidRefunded { .. } => Err(Refusal::Already),
        Command::ReportDispute {
            dispute_id,
            dispute,
        } => report_dispute(row, dispute_id, dispute),
    }
}

fn collected(
    row: &PaymentRow,
    booking_id: String,
    amount: Option<Money>,
    paid_at: DateTime<Utc>,
) -> Result<Change, Refusal> {
    if row.booking_id.is_some() {
        return Err(Refusal::Already);
    }
    let mut to = row.changing("payment claimed");
    to.why = format!("booking {booking_id}");
    to.after.booking_id = Some(booking_id);
    to.after.amount = amount;
    to.after.paid_at = Some(paid_at);
    to.after.expires_at = None;
    // Nobody could be told of these while the payment was nobody's.
    let disputed = row.disputes.iter();
    to.cases
        .extend(disputed.map(|(id, dispute)| MoneyCase::disputed(id, dispute)));
    let failed = row.refunds.iter().filter(|(_, it)| !it.progress.is_live());
    to.cases
        .extend(failed.map(|(key, _)| MoneyCase::refund(Reason::RefundFailed, key)));
    Ok(to)
}

fn intend(row: &PaymentRow, order: RefundOrder, now: DateTime<Utc>) -> Result<Change, Refusal> {
    match row.refunds.get(&order.key).map(|refund| refund.progress) {
        Some(Progress::Asked) => return Err(Refusal::LookFirst),
        Some(Progress::Refused | Progress::Known(_)) => return Err(Refusal::Already),
        None => {}
    }
    let left = row
        .amount
        .and_then(|amount| amount.checked_sub(row.refunded()?).ok());
    let fits = left.is_some_and(|left| left.checked_sub(order.amount).is_ok())
        || planted::is(Defect::RefundRoomUnread);
    if row.refunds.len() >= REFUNDS_MAX {
        return Err(Refusal::TooMany);
    }
    // The provider would say no, or pay twice on top of what the bank takes.
    let obstacle = if row.disputes.values().any(Dispute::takes_money) {
        Some((Reason::RefundDue, "disputed"))
    } else if fits {
        None
    } else {
        Some((Reason::RefundFailed, "not_that_much_left"))
    };
    let mut to = row.changing("refund intended");
    to.why = format!("{} as {}", order.amount.decimal(), order.key);
    let mut refund = Refund {
        amount: order.amount,
        reason: Some(order.reason),
        refund_id: None,
        progress: Progress::Asked,
        asked_at: now,
        makes_up: order.makes_up,
        tries: 0,
        look_at: Some(now + LOOK_AGAIN),
        failure: None,
        escalated: false,
        made_at: None,
        failed_at: None,
    };
    if let Some((reason, code)) = obstacle {
        to.what = "refund not asked for";
        to.cases.push(MoneyCase::refund(reason, &order.key));
        refund.progress = Progress::Refused;
        refund.failure = Some(code.to_owned());
        refund.look_at = None;
    }
    to.after.refunds.insert(order.key, refund);
    Ok(to)
}

fn unanswered(row: &PaymentRow, key: &str, now: DateTime<Utc>) -> Result<Change, Refusal> {
    let Some(refund) = row.refunds.get(key).filter(|refund| refund.is_open()) else {
        return Err(Refusal::Already);
    };
    let mut after = refund.clone();
    after.tries += 1;
    let wait = LOOK_AGAIN * 2_i32.saturating_pow(after.tries.min(10).saturating_sub(1));
    after.look_at = Some(now + wait.min(LOOK_AGAIN_MAX));
    let patience = match refund.progress {
        Progress::Asked => UNANSWERED_FOR,
        Progress::Refused | Progress::Known(_) => UNDER_WAY_FOR,
    };
    let is_old = now - refund.asked_at >= patience;
    let mut to = row.changing("refund unanswered");
    to.why = format!("{key}, {} times", after.tries);
    if is_old && !refund.escalated {
        after.escalated = true;
        to.cases
            .push(MoneyCase::refund(Reason::RefundUnanswered, key));
    }
    to.after.refunds.insert(key.to_owned(), after);
    Ok(to)
}

fn refused(row: &PaymentRow, key: &str, code: String) -> Result<Change, Refusal> {
    let Some(refund) = row.refunds.get(key) else {
        return Err(Refusal::Already);
    };
    // Another call or a report knows better.
    if refund.progress != Progress::Asked {
        return Err(Refusal::Already);
    }
    let mut to = row.changing("refund refused");
    to.why = format!("{key}: {code}");
    to.cases.push(MoneyCase::refund(Reason::RefundFailed, key));
    let after = Refund {
        progress: Progress::Refused,
        failure: Some(code),
        look_at: None,
        ..refund.clone()
    };
    to.after.refunds.insert(key.to_owned(), after);
    Ok(to)
}

fn report(row: &PaymentRow, report: RefundReport, now: DateTime<Utc>) -> Result<Change, Refusal> {
    let key = row.key_of(&report);
    let reported = Progress::Known(report.status);
    let known = row.refunds.get(&key);
    if known.is_some_and(|known| known.progress >= reported && known.refund_id.is_some()) {
        return Err(Refusal::Already);
    }
    let was_live = known.is_none_or(|known| known.progress.is_live());
    let progress = known.map_or(reported, |known| known.progress.max(reported));
    let mut to = row.changing(match report.status {
        RefundStatus::Pending | RefundStatus::RequiresAction => "refund under way",
        RefundStatus::Succeeded => "refund made",
        RefundStatus::Canceled | RefundStatus::Failed => "refund failed",
    });
    to.why = format!("{} of {}", report.refund_id, report.amount.decimal());
    if was_live && !progress.is_live() {
        to.cases.push(MoneyCase::refund(Reason::RefundFailed, &key));
    }
    let after = Refund {
        amount: report.amount,
        reason: known.and_then(|known| known.reason),
        refund_id: Some(report.refund_id),
        progress,
        asked_at: known.map_or(report.created, |known| known.asked_at),
        makes_up: known.map_or(0, |known| known.makes_up),
        tries: known.map_or(0, |known| known.tries),
        look_at: progress.is_under_way().then_some(now + PENDING_FOR),
        failure: report
            .failure
            .or_else(|| known.and_then(|known| known.failure.clone())),
        escalated: known.is_some_and(|known| known.escalated),
        made_at: Some(report.created),
        failed_at: known
            .and_then(|known| known.failed_at)
            .or((!progress.is_live()).then_some(now)),
    };
    to.after.refunds.insert(key, after);
    Ok(to)
}

fn report_dispute(
    row: &PaymentRow,
    dispute_id: String,
    dispute: Dispute,
) -> Result<Change, Refusal> {
    let known = row.disputes.get(&dispute_id);
    let merged = known.map_or_else(|| dispute.clone(), |known| known.merged(&dispute));
    if known == Some(&merged) {
        return Err(Refusal::Already);
    }
    let mut to = row.changing("dispute reported");
    to.why = format!("{dispute_id}: {}", merged.status.as_str());
    let is_news = known.is_none_or(|known| {
        let escalates = known.status.is_warning() && !merged.status.is_warning();
        escalates || (known.status != merged.status && merged.status.is_over())
    });
    if is_news {
        to.cases.push(MoneyCase::disputed(&dispute_id, &merged));
    }
    to.after.disputes.insert(dispute_id, merged);
    Ok(to)
}

impl Progress {
    /// Whether the money is no longer to be counted on.
    pub fn is_live(self) -> bool {
        match self {
            Self::Asked => true,
            Self::Refused => false,
            Self::Known(status) => status.is_live(),
        }
    }

    fn is_under_way(self) -> bool {
        match self {
            Self::Asked | Self::Known(RefundStatus::Pending | RefundStatus::RequiresAction) => true,
            Self::Refused
            | Self::Known(
                RefundStatus::Succeeded | RefundStatus::Canceled | RefundStatus::Failed,
            ) => false,
        }
    }
}

impl Refund {
    /// Whether the provider may still say something new by being asked.
    fn is_open(&self) -> bool {
        self.progress.is_under_way()
    }
}

impl MoneyCase {
    fn refund(reason: Reason, key: &str) -> Self {
        Self {
            reason,
            occasion: key.to_owned(),
            dispute: None,
        }
    }

    fn disputed(id: &str, dispute: &Dispute) -> Self {
        Self {
            reason: Reason::Disputed,
            occasion: format!("{id}:{}", dispute.status.as_str()),
            dispute: Some(dispute.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
