//! How an invoice or a subscription ends, and what status that leaves.

use chrono::{DateTime, Utc};

use super::debt::{Debt, End, Ending};
use super::mail::{MailKind, wants_receipt};
use super::policy::Access as Leaves;
use super::{CaseReason, Dunning, LogEvent, Rejection, Status, Transition};

/// How many ended invoices a row remembers.
const ENDED_KEPT: usize = 12;

pub(super) fn reported(
    row: &Dunning,
    to: Transition,
    invoice_id: &str,
    ending: Ending,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let Some(debt) = row.invoices.get(invoice_id) else {
        return Err(Rejection::Nothing);
    };
    let attempt = row
        .attempt
        .as_ref()
        .filter(|it| it.invoice_id == invoice_id);
    // A charge of ours that is not answered yet may have done it: its answer says who paid.
    let ending = match ending {
        Ending::PaidByCustomer | Ending::PaidByProvider if attempt.is_some() => Ending::Paid,
        Ending::PaidByUs
        | Ending::PaidByCustomer
        | Ending::PaidByProvider
        | Ending::Paid
        | Ending::OutOfBand
        | Ending::Voided
        | Ending::Uncollectible
        | Ending::Covered
        | Ending::TooSmall => ending,
    };
    if !supersedes(debt, ending) {
        return Err(Rejection::Already);
    }
    let mut to = to.about(invoice_id);
    end(&mut to, invoice_id, ending, now);
    Ok(to
        .told(LogEvent::InvoiceEnded, "reported by the provider")
        .with_result(ending.as_str()))
}

/// Whether a report is news: money may still come for what was given up.
fn supersedes(debt: &Debt, ending: Ending) -> bool {
    match &debt.end {
        None => true,
        Some(end) => match end.how {
            Ending::Uncollectible | Ending::TooSmall => {
                ending.is_paid() || matches!(ending, Ending::OutOfBand | Ending::Voided)
            }
            Ending::Paid => matches!(ending, Ending::PaidByUs),
            Ending::PaidByUs
            | Ending::PaidByCustomer
            | Ending::PaidByProvider
            | Ending::OutOfBand
            | Ending::Voided
            | Ending::Covered => false,
        },
    }
}

/// Ends an invoice, and tells whom it concerns.
pub(super) fn end(to: &mut Transition, invoice_id: &str, ending: Ending, now: DateTime<Utc>) {
    let cancelled = to.after.status == Status::Cancelled;
    let receipts = to.after.terms.receipts;
    let Some(debt) = to.after.invoices.get_mut(invoice_id) else {
        return;
    };
    let had_receipt = debt.end.as_ref().is_some_and(|end| wants_receipt(end.how));
    debt.end = Some(End {
        how: ending,
        at: now,
    });
    debt.block = None;
    debt.exhausted = false;
    if ending.is_paid() {
        to.after.failure_code = None;
    }
    if cancelled && ending.is_paid() {
        to.open_case(CaseReason::PaidAfterCancellation, Some(invoice_id), now);
    } else if wants_receipt(ending) && receipts && !had_receipt {
        to.mail(MailKind::Receipt, Some(invoice_id), now);
    } else if ending == Ending::TooSmall {
        to.open_case(CaseReason::AmountTooSmall, Some(invoice_id), now);
    }
    prune(&mut to.after);
}

pub(super) fn cancelled(row: &Dunning, mut to: Transition) -> Result<Transition, Rejection> {
    if row.status == Status::Cancelled {
        return Err(Rejection::Already);
    }
    to.after.status = Status::Cancelled;
    to.drop_plan();
    Ok(to.told(LogEvent::Cancelled, "reported by the provider"))
}

/// The status that a row's invoices make.
pub(super) fn status_of(row: &Dunning) -> Status {
    if row.status == Status::Cancelled {
        return Status::Cancelled;
    }
    let open = row.open_debts();
    if open.iter().any(|(_, debt)| debt.exhausted) {
        return Status::Paused;
    }
    if !open.is_empty() {
        return Status::Retrying;
    }
    match row.status {
        Status::Retrying | Status::Paused => after_the_last(row),
        Status::Active | Status::Recovered | Status::Cancelled => row.status,
    }
}

/// Whether access that was paused stays so under `status`.
///
/// Leaving does not bring it back, also where the invoice is given up and the policy keeps it so.
pub(super) fn stays_paused(before: &Dunning, after: &Dunning, status: Status) -> bool {
    let gave_up = after.open_debts().iter().any(|(_, debt)| debt.exhausted);
    let ends = after.invoices.values().filter_map(|debt| debt.end.as_ref());
    let last = ends.max_by_key(|end| end.at).map(|end| end.how);
    let keeps = |leaves: Leaves| match leaves {
        Leaves::Keep => true,
        Leaves::Restore => false,
    };
    let is_kept = match last {
        Some(Ending::Uncollectible) => keeps(after.terms.uncollectible_access),
        Some(Ending::Voided) => keeps(after.terms.voided_access),
        Some(
            Ending::PaidByUs
            | Ending::PaidByCustomer
            | Ending::PaidByProvider
            | Ending::Paid
            | Ending::OutOfBand
            | Ending::Covered
            | Ending::TooSmall,
        )
        | None => false,
    };
    match status {
        Status::Paused => true,
        Status::Cancelled => before.paused_at.is_some() && (gave_up || is_kept),
        Status::Active | Status::Retrying | Status::Recovered => false,
    }
}

/// The status once nothing is open any more, by how the last invoice ended.
fn after_the_last(row: &Dunning) -> Status {
    let ends = row.invoices.values().filter_map(|debt| debt.end.as_ref());
    let Some(last) = ends.max_by_key(|end| end.at) else {
        return Status::Active;
    };
    let leaves = |leaves: Leaves| match (leaves, row.status) {
        (Leaves::Keep, Status::Paused) => Status::Paused,
        (
            Leaves::Keep | Leaves::Restore,
            Status::Active
            | Status::Retrying
            | Status::Recovered
            | Status::Cancelled
            | Status::Paused,
        ) => Status::Active,
    };
    match last.how {
        Ending::PaidByUs
        | Ending::PaidByCustomer
        | Ending::PaidByProvider
        | Ending::Paid
        | Ending::OutOfBand => Status::Recovered,
        Ending::Covered | Ending::TooSmall => Status::Active,
        Ending::Voided => leaves(row.terms.voided_access),
        Ending::Uncollectible => leaves(row.terms.uncollectible_access),
    }
}

/// Forgets the oldest invoices that have ended.
pub(super) fn prune(row: &mut Dunning) {
    let mut ended: Vec<_> = row
        .invoices
        .iter()
        .filter_map(|(id, debt)| debt.end.as_ref().map(|end| (end.at, id.clone())))
        .collect();
    ended.sort();
    let surplus = ended.len().saturating_sub(ENDED_KEPT);
    for (_, id) in ended.into_iter().take(surplus) {
        row.invoices.remove(&id);
    }
}
