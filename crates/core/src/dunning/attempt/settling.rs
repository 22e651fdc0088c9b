//! How the outcome of a charge closes it: the money is there, or what stands in the way from now on.

use chrono::{DateTime, Utc};

use super::{
    ErrandKind, Outcome, REST, UNANSWERED_FOR, errand, payer, put_off, spend, spend_plan,
    verdict_of,
};
use crate::dunning::debt::{Debt, Ending};
use crate::dunning::declines::Class;
use crate::dunning::ending::{end, status_of};
use crate::dunning::mail::MailKind;
use crate::dunning::sight::{FailureSeen, Sight, ended, judge};
use crate::dunning::{
    Access, Attempt, CaseReason, Dunning, LogEvent, Rejection, Status, Transition, access, cards,
};
use crate::planted::{self, Defect};

/// It stays open, and is looked for again at the next time. That is no answer of the provider's.
pub(in crate::dunning) fn look_failed(
    row: &Dunning,
    mut to: Transition,
    n: u32,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let errand = errand(row, n, now)?;
    let Some(attempt) = row
        .attempt
        .as_ref()
        .filter(|_| errand.kind == ErrandKind::Resume)
    else {
        return Err(Rejection::Stale);
    };
    spend_plan(&mut to);
    to = to.about(&attempt.invoice_id);
    to.attempt_no = Some(attempt.n);
    Ok(unanswered_after(to, attempt, 0, "not_looked", now))
}

/// The charge was not tried, through no fault of the customer's: it costs nothing, and waits.
fn not_tried(mut to: Transition, attempt: &Attempt, now: DateTime<Utc>) -> Transition {
    to.after.attempt = None;
    let why = "the provider did not let us in";
    put_off(to, &attempt.invoice_id, now + REST, why).with_result("not_tried")
}

pub(in crate::dunning) fn settle(
    row: &Dunning,
    to: Transition,
    n: u32,
    outcome: Outcome,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let Some(attempt) = row.attempt.clone().filter(|attempt| attempt.n == n) else {
        return Err(Rejection::Already);
    };
    let mut to = to.about(&attempt.invoice_id);
    to.attempt_no = Some(n);
    to.amount = Some(attempt.amount);
    Ok(match outcome {
        Outcome::Captured => captured(to, &attempt, now),
        Outcome::Processing => unanswered(to, &attempt, "processing", now),
        Outcome::Unanswered => unanswered(to, &attempt, "unanswered", now),
        Outcome::Declined(failure) => declined(to, &attempt, &failure, now),
        Outcome::NotOpen(sight) => overtaken(to, &attempt, &sight, now),
        Outcome::TooSmall => {
            to.after.attempt = None;
            close(to, &attempt.invoice_id, Ending::TooSmall, now)
        }
        Outcome::NotTried => not_tried(to, &attempt, now),
        Outcome::Refused { code } => refused(to, &attempt, code, now),
    })
}

fn captured(mut to: Transition, attempt: &Attempt, now: DateTime<Utc>) -> Transition {
    to.after.attempt = None;
    end(&mut to, &attempt.invoice_id, Ending::PaidByUs, now);
    // The card works: what else is open is charged with it.
    let works = to.after.card_pending.take().or(attempt.card.clone());
    let gave_up = to.after.open_debts().iter().any(|(_, debt)| debt.exhausted);
    if gave_up || to.after.new_card.is_some() {
        to.after.new_card = works.or(to.after.new_card.take());
    }
    // A card that works has earned its tries back.
    to.after.extra_attempts = 0;
    restore(&mut to);
    if to.after.current().is_some() {
        to.order_plan();
    }
    to.told(LogEvent::RetrySucceeded, format!("key {}", attempt.key))
        .with_result("captured")
}

pub(super) fn declined(
    mut to: Transition,
    attempt: &Attempt,
    failure: &FailureSeen,
    now: DateTime<Utc>,
) -> Transition {
    to.after.attempt = None;
    let invoice_id = attempt.invoice_id.as_str();
    let event = to
        .told(LogEvent::RetryFailed, "")
        .with_result(failure.code());
    to = event;
    if !to.after.invoices.get(invoice_id).is_some_and(Debt::is_open) {
        credit_the_customer(&mut to, invoice_id);
        to.why = "paid by somebody else meanwhile".to_owned();
        if to.after.current().is_some() {
            to.order_plan();
        }
        return to;
    }
    if attempt.payment_method.is_some() && attempt.payment_method == to.after.new_card {
        to.after.new_card = None;
    }
    judge(&mut to, invoice_id, failure, now);
    to.why = verdict_of(&to.after, invoice_id);
    if failure.verdict().class == Class::LookFirst
        && let Some(debt) = to.after.invoices.get_mut(invoice_id)
    {
        debt.known = false;
    }
    let pending = to.after.card_pending.take();
    spend(&mut to, attempt.purpose, invoice_id, now);
    if let Some(card) = pending {
        cards::take(&mut to, card, false);
    } else {
        to.order_plan();
    }
    to
}

/// The invoice was not open any more when the provider was asked.
fn overtaken(
    mut to: Transition,
    attempt: &Attempt,
    sight: &Sight,
    now: DateTime<Utc>,
) -> Transition {
    to.after.attempt = None;
    let invoice_id = attempt.invoice_id.as_str();
    credit_the_customer(&mut to, invoice_id);
    let is_open = to.after.invoices.get(invoice_id).is_some_and(Debt::is_open);
    let payer = payer(&to.after, invoice_id, sight);
    match ended(sight, payer).filter(|_| is_open) {
        Some(ending) => close(to, invoice_id, ending, now),
        None => {
            to = to
                .told(
                    LogEvent::RetrySkipped,
                    "the provider says that it is not open",
                )
                .with_result("overtaken");
            if is_open {
                spend(&mut to, attempt.purpose, invoice_id, now);
            }
            to.order_plan();
            to
        }
    }
}

fn refused(mut to: Transition, attempt: &Attempt, code: String, now: DateTime<Utc>) -> Transition {
    to.after.attempt = None;
    to.after.failure_code = Some(code.clone());
    to = to
        .told(LogEvent::RetryFailed, "refused, which is no decline")
        .with_result(code);
    to.open_case(CaseReason::ChargeRefused, Some(&attempt.invoice_id), now);
    spend(&mut to, attempt.purpose, &attempt.invoice_id, now);
    to.order_plan();
    to
}

/// Nobody knows what became of it: it stays open, and is looked for.
pub(super) fn unanswered(
    to: Transition,
    attempt: &Attempt,
    result: &str,
    now: DateTime<Utc>,
) -> Transition {
    unanswered_after(to, attempt, 1, result, now)
}

/// `asked` is how often the provider was asked to charge and did not answer.
fn unanswered_after(
    mut to: Transition,
    attempt: &Attempt,
    asked: u32,
    result: &str,
    now: DateTime<Utc>,
) -> Transition {
    let open = Attempt {
        looks: attempt.looks + asked,
        lease_until: now,
        ..attempt.clone()
    };
    let why = format!("{} looks", open.looks);
    to.after.attempt = Some(open);
    to = to.told(LogEvent::RetryUnanswered, why).with_result(result);
    let is_old = now - attempt.claimed_at >= UNANSWERED_FOR;
    if is_old && result != "processing" {
        let invoice_id = Some(attempt.invoice_id.as_str());
        to.open_case_about(CaseReason::ChargeUnanswered, invoice_id, &attempt.key, now);
    }
    to.order_plan();
    to
}

pub(super) fn close(
    mut to: Transition,
    invoice_id: &str,
    ending: Ending,
    now: DateTime<Utc>,
) -> Transition {
    end(&mut to, invoice_id, ending, now);
    restore(&mut to);
    if to.after.current().is_some() {
        to.order_plan();
    }
    to.told(LogEvent::InvoiceEnded, "read from the live invoice")
        .with_result(ending.as_str())
}

/// Access comes back once no open invoice stands against it.
fn restore(to: &mut Transition) {
    if status_of(&to.after) != Status::Paused {
        access::set(to, Access::Granted);
    }
}

/// One date of the calendar is used up; after the last one access is paused.
pub(super) fn use_up_step(to: &mut Transition, invoice_id: &str, now: DateTime<Utc>) {
    let max = to.after.max_attempts;
    let Some(debt) = to.after.invoices.get_mut(invoice_id) else {
        return;
    };
    debt.steps_used += 1;
    debt.stepped_at = Some(now);
    let has_dates = debt.steps_used < max && !planted::is(Defect::CutAtFirstDecline);
    if has_dates || debt.exhausted {
        return;
    }
    debt.exhausted = true;
    if matches!(to.event, LogEvent::RetryFailed | LogEvent::RetrySkipped) {
        to.event = LogEvent::AccessPaused;
    }
    access::set(to, Access::Paused);
    to.mail(MailKind::Paused, Some(invoice_id), now);
}

/// A payment whose payer was not known, now that our charge is known not to have made it.
fn credit_the_customer(to: &mut Transition, invoice_id: &str) {
    let debt = to.after.invoices.get_mut(invoice_id);
    if let Some(end) = debt.and_then(|debt| debt.end.as_mut())
        && end.how == Ending::Paid
    {
        end.how = Ending::PaidByCustomer;
    }
}
