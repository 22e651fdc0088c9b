//! One charge: what a schedule that fires may do, what is claimed, and how its outcome closes it.
//!
//! A charge is claimed on the row, with a number and a key of its own, before the provider is asked.
//! What is claimed stays open until its outcome is known. While it is young it is asked for again
//! under the same key, which the provider answers with its first result; later, since the provider
//! forgets keys after a day, the live invoice says whether anybody charged it since.

mod settling;

use chrono::{DateTime, TimeDelta, Utc};

use settling::{close, declined, unanswered, use_up_step};
pub(super) use settling::{look_failed, settle};

use super::budget::{Budget, budget};
use super::debt::{Block, Debt, Ending};
use super::declines::{Class, Wording};
use super::mail::{MailKind, kind_for};
use super::names::attempt_key;
use super::sight::{FailureSeen, InvoiceStatus, Sight, absorb, ended};
use super::{
    Act, Attempt, CaseReason, Dunning, LogEvent, Plan, Purpose, Rejection, Status, Transition,
};
use crate::planted::{self, Defect};

/// How long the holder of a claim is left alone: its function's time-out of 30 seconds, and some. It
/// ends before Lambda's own next try, a minute after a failure: a run that dies is taken over by it.
pub const LEASE: TimeDelta = TimeDelta::seconds(45);
/// A key older than this is not sent again: the provider forgets them after a day.
const KEY_VALID_FOR: TimeDelta = TimeDelta::hours(23);
/// After this many looks without an answer the key is not sent again either: the provider may
/// repeat a failure of its own that it has stored under it.
const RESENDS_MAX: u32 = 2;
/// After this long without an answer a person hears of it.
const UNANSWERED_FOR: TimeDelta = TimeDelta::hours(24);
/// How long after it was asked for the provider may still be about to make a charge: while it may,
/// that there is none says nothing.
const MADE_WITHIN: TimeDelta = TimeDelta::minutes(30);
/// How long an invoice rests that could not be charged for a reason that may pass.
const REST: TimeDelta = TimeDelta::days(1);
/// How long a card rests whose charges could not be counted.
const UNCOUNTED_WAIT: TimeDelta = TimeDelta::days(1);
/// A schedule fires within its minute.
const EARLY_MAX: TimeDelta = TimeDelta::seconds(60);
/// How far the provider's clock may be from ours when it is asked whose payment it was.
const PAID_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// What a fired schedule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    pub invoice_id: String,
    pub kind: ErrandKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrandKind {
    /// Read the live invoice.
    Look,
    /// Read it, and charge it if it still is to be charged.
    Charge,
    /// Find out what became of the charge that is open.
    Resume,
    /// It is too late for today: plan anew, without a look.
    TooLate,
}

/// The outcome of a charge.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The provider took the money.
    Captured,
    /// It is on its way, for days.
    Processing,
    Declined(Box<FailureSeen>),
    /// The invoice was not open any more, and this is how it stands.
    NotOpen(Box<Sight>),
    /// Less than the provider takes.
    TooSmall,
    /// The provider did not let us in: nobody was charged, and the bank was not asked.
    NotTried,
    /// Refused for a reason that is no decline.
    Refused {
        code: String,
    },
    Unanswered,
}

/// Says what the schedule of plan `n` is to do at `now`, before the provider is asked anything.
///
/// # Errors
/// Why it does nothing.
pub fn errand(row: &Dunning, n: u32, now: DateTime<Utc>) -> Result<Errand, Rejection> {
    let any_plan = planted::is(Defect::StaleFiringCharges);
    let plan = row.plan.as_ref().filter(|plan| plan.n == n || any_plan);
    if let Some(attempt) = &row.attempt {
        if plan.is_none() && attempt.plan_no != n {
            return Err(Rejection::Stale);
        }
        if now < attempt.lease_until {
            return Err(Rejection::InFlight(attempt.lease_until));
        }
        return Ok(Errand {
            invoice_id: attempt.invoice_id.clone(),
            kind: ErrandKind::Resume,
        });
    }
    let plan = plan.ok_or(Rejection::Stale)?;
    if now + EARLY_MAX < plan.at && !any_plan {
        return Err(Rejection::TooEarly(plan.at));
    }
    let kind = match plan.purpose {
        Purpose::Look => ErrandKind::Look,
        Purpose::ChargeNewCard => ErrandKind::Charge,
        Purpose::Charge if planted::is(Defect::LateFiringCharges) => ErrandKind::Charge,
        Purpose::Charge if row.terms.is_too_late(plan.at, now) => ErrandKind::TooLate,
        Purpose::Charge => ErrandKind::Charge,
    };
    Ok(Errand {
        invoice_id: plan.invoice_id.clone(),
        kind,
    })
}

pub(super) fn fired_late(
    row: &Dunning,
    mut to: Transition,
    n: u32,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let errand = errand(row, n, now)?;
    if errand.kind != ErrandKind::TooLate {
        return Err(Rejection::Stale);
    }
    spend_plan(&mut to);
    let tomorrow = row.terms.start_of_next_day(now);
    if let Some(debt) = to.after.invoices.get_mut(&errand.invoice_id) {
        debt.not_before = debt.not_before.max(Some(tomorrow));
    }
    to.order_plan();
    Ok(to
        .about(&errand.invoice_id)
        .told(
            LogEvent::RetrySkipped,
            "the schedule fired too late for the day",
        )
        .with_result("late"))
}

pub(super) fn fire(
    row: &Dunning,
    to: Transition,
    n: u32,
    sight: &Sight,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let errand = errand(row, n, now)?;
    let mut to = to.about(&errand.invoice_id);
    match (errand.kind, &row.attempt) {
        (ErrandKind::Resume, Some(attempt)) => resume(to, n, attempt.clone(), sight, now),
        (ErrandKind::Resume, None) | (ErrandKind::TooLate, _) => Err(Rejection::Stale),
        (ErrandKind::Look, _) => {
            spend_plan(&mut to);
            Ok(look(row, to, &errand.invoice_id, sight, now))
        }
        (ErrandKind::Charge, _) => {
            let Some(plan) = row.plan.clone() else {
                return Err(Rejection::Stale);
            };
            spend_plan(&mut to);
            Ok(charge(row, to, &plan, sight, now))
        }
    }
}

/// The plan's own schedule has fired, and deletes itself.
fn spend_plan(to: &mut Transition) {
    let spent = to.after.plan.take();
    to.after.next_retry_at = None;
    if let Some(plan) = spent {
        let name = super::schedule_name(&to.after.subscription_id, plan.n);
        to.after.schedule_names.retain(|it| *it != name);
    }
}

fn look(
    row: &Dunning,
    mut to: Transition,
    invoice_id: &str,
    sight: &Sight,
    now: DateTime<Utc>,
) -> Transition {
    if let Some(ending) = ended(sight, payer(row, invoice_id, sight)) {
        return close(to, invoice_id, ending, now);
    }
    absorb(&mut to, invoice_id, sight, now);
    to.order_plan();
    let why = verdict_of(&to.after, invoice_id);
    to.told(LogEvent::Looked, why)
}

fn charge(
    row: &Dunning,
    mut to: Transition,
    plan: &Plan,
    sight: &Sight,
    now: DateTime<Utc>,
) -> Transition {
    let invoice_id = plan.invoice_id.as_str();
    let ending = ended(sight, payer(row, invoice_id, sight));
    if let Some(ending) = ending.filter(|_| !planted::is(Defect::PaidChargedAgain)) {
        return close(to, invoice_id, ending, now);
    }
    if sight.status == InvoiceStatus::Draft {
        return skip(to, plan, "the invoice is a draft", now);
    }
    absorb(&mut to, invoice_id, sight, now);
    if sight.is_processing {
        return put_off(to, invoice_id, now + REST, "a payment is under way")
            .with_result("processing");
    }
    if sight.card.is_none() {
        no_card(&mut to, invoice_id);
    }
    if is_blocked(&to.after, invoice_id, sight) {
        let why = verdict_of(&to.after, invoice_id);
        return skip(to, plan, &why, now);
    }
    let debt = to.after.invoices.get(invoice_id);
    let advised = debt.and_then(|debt| debt.not_before);
    if let Some(until) = advised.filter(|until| now + EARLY_MAX < *until) {
        let why = verdict_of(&to.after, invoice_id);
        return put_off(to, invoice_id, until, &why).with_result("advised_to_wait");
    }
    match budget_of(sight, now) {
        Budget::Room => claim(to, plan, sight, now),
        Budget::Full {
            until,
            rule,
            edition,
        } => put_off(
            to,
            invoice_id,
            until,
            &format!("{rule} (budgets {edition})"),
        )
        .with_result("budget_full"),
    }
}

/// Another day, at no cost of a date.
fn put_off(mut to: Transition, invoice_id: &str, until: DateTime<Utc>, why: &str) -> Transition {
    if let Some(debt) = to.after.invoices.get_mut(invoice_id) {
        debt.not_before = Some(until);
    }
    to.order_plan();
    to.told(LogEvent::RetrySkipped, why)
}

/// There is nothing that could be charged: the customer is asked for a card.
fn no_card(to: &mut Transition, invoice_id: &str) {
    if let Some(debt) = to.after.invoices.get_mut(invoice_id) {
        debt.verdict = Some("there is no payment method".to_owned());
        debt.block = Some(Block {
            class: Class::Hard,
            wording: Wording::NewCard,
            payment_method: None,
        });
    }
}

/// Whether what would be charged is what must not be: the customer may have another card by now.
pub(super) fn is_blocked(row: &Dunning, invoice_id: &str, sight: &Sight) -> bool {
    let debt = row.invoices.get(invoice_id);
    let Some(block) = debt.and_then(|debt| debt.block.as_ref()) else {
        return false;
    };
    let would_be = sight.card.as_ref().map(|card| &card.payment_method);
    if block.class == Class::Hard && block.payment_method.is_none() {
        return would_be.is_none();
    }
    let differs = |blocked: &String| would_be.is_some_and(|would_be| would_be != blocked);
    !block.payment_method.as_ref().is_some_and(differs)
}

/// What the card's network allows, after all that anybody charged to it.
fn budget_of(sight: &Sight, now: DateTime<Utc>) -> Budget {
    let card = sight.card.as_ref();
    let Some((card, fingerprint)) = card.and_then(|card| Some((card, card.fingerprint.as_ref()?)))
    else {
        return Budget::Room;
    };
    match &sight.charges {
        Some(charges) => budget(card.network.as_deref(), fingerprint, charges, now),
        // More charges than can be counted are more than any network allows.
        None => Budget::Full {
            until: now + UNCOUNTED_WAIT,
            rule: "charges that could not be counted".to_owned(),
            edition: "of the code",
        },
    }
}

fn claim(mut to: Transition, plan: &Plan, sight: &Sight, now: DateTime<Utc>) -> Transition {
    let after = &mut to.after;
    after.attempt_no += 1;
    if plan.purpose == Purpose::ChargeNewCard {
        after.extra_attempts += 1;
    }
    let attempt = Attempt {
        n: after.attempt_no,
        plan_no: plan.n,
        purpose: plan.purpose,
        invoice_id: plan.invoice_id.clone(),
        key: match planted::is(Defect::ChargeKeyOfTheInvoice) {
            true => attempt_key(&plan.invoice_id, 1),
            false => attempt_key(&plan.invoice_id, after.attempt_no),
        },
        amount: sight.amount,
        payment_method: after.new_card.clone(),
        card: sight.card.as_ref().map(|card| card.payment_method.clone()),
        charge_before: sight.latest_charge.clone(),
        claimed_at: now,
        asked_at: now,
        lease_until: now + LEASE,
        looks: 0,
    };
    after.attempt = Some(attempt.clone());
    to.attempt_no = Some(attempt.n);
    to.amount = Some(attempt.amount);
    to.act = Act::Pay(attempt);
    to.told(LogEvent::RetryAttempted, plan.why.clone())
}

/// A date of the calendar goes by without a charge.
fn skip(mut to: Transition, plan: &Plan, why: &str, now: DateTime<Utc>) -> Transition {
    to = to
        .told(LogEvent::RetrySkipped, why)
        .with_result("not_charged");
    spend(&mut to, plan.purpose, &plan.invoice_id, now);
    to.order_plan();
    to
}

/// A try is used up: a date of the calendar, or what the new card promised.
fn spend(to: &mut Transition, purpose: Purpose, invoice_id: &str, now: DateTime<Utc>) {
    match purpose {
        Purpose::Charge => use_up_step(to, invoice_id, now),
        Purpose::ChargeNewCard => {
            to.after.new_card = None;
            write_again(to, invoice_id, now);
        }
        Purpose::Look => {}
    }
}

/// The customer hears that the new card did not help either: with the next date, if there is one.
fn write_again(to: &mut Transition, invoice_id: &str, now: DateTime<Utc>) {
    let Some(debt) = to.after.invoices.get_mut(invoice_id) else {
        return;
    };
    debt.mailed_step = None;
    if debt.exhausted {
        let kind = match debt.block {
            Some(_) => kind_for(debt),
            None => Some(MailKind::Reminder),
        };
        if let Some(kind) = kind {
            to.mail(kind, Some(invoice_id), now);
        }
    }
}

fn resume(
    mut to: Transition,
    n: u32,
    attempt: Attempt,
    sight: &Sight,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    // The plan that brought us here is done with; the charge may have a plan of its own.
    spend_plan(&mut to);
    to.attempt_no = Some(attempt.n);
    let is_young = now - attempt.claimed_at < KEY_VALID_FOR && attempt.looks < RESENDS_MAX;
    if is_young && may_ask_again(&to.after, &attempt, sight, now) {
        let again = Attempt {
            lease_until: now + LEASE,
            asked_at: now,
            // The schedule that brought us here takes over again if this run crashes.
            plan_no: n,
            ..attempt
        };
        to.after.attempt = Some(again.clone());
        to.act = Act::Pay(again);
        return Ok(to
            .told(LogEvent::RetryAttempted, "asked again under the same key")
            .with_result("resumed"));
    }
    if sight.is_processing {
        return Ok(unanswered(to, &attempt, "processing", now));
    }
    let invoice_id = attempt.invoice_id.as_str();
    if let Some(ending) = ended(sight, payer_by_time(&attempt, sight)) {
        to.after.attempt = None;
        return Ok(close(to, invoice_id, ending, now));
    }
    if sight.latest_charge == attempt.charge_before {
        if now - attempt.asked_at.max(attempt.claimed_at) < MADE_WITHIN {
            return Ok(unanswered(to, &attempt, "unanswered", now));
        }
        return Ok(not_made(to, &attempt, now));
    }
    Ok(match &sight.failure {
        Some(failure) => declined(to, &attempt, failure, now),
        None => unanswered(to, &attempt, "unanswered", now),
    })
}

/// The provider never made the charge. Once may be its bad day; after that it is a date gone by, and
/// a person hears of it.
fn not_made(mut to: Transition, attempt: &Attempt, now: DateTime<Utc>) -> Transition {
    to.after.attempt = None;
    let invoice_id = attempt.invoice_id.as_str();
    let debt = to.after.invoices.get_mut(invoice_id);
    let times = debt.map_or(0, |debt| {
        debt.not_made += 1;
        debt.not_made
    });
    to = put_off(
        to,
        invoice_id,
        now + REST,
        "the provider never made the charge",
    )
    .with_result("not_made");
    if times > 1 && to.after.invoices.get(invoice_id).is_some_and(Debt::is_open) {
        to.open_case(CaseReason::ChargeUnanswered, Some(invoice_id), now);
        spend(&mut to, attempt.purpose, invoice_id, now);
    }
    to
}

/// Whether asking once more under the same key can do no harm, even if the first request never
/// arrived: the charge is still wanted, or the invoice is paid and the answer only says by whom.
fn may_ask_again(row: &Dunning, attempt: &Attempt, sight: &Sight, now: DateTime<Utc>) -> bool {
    let debt = row.invoices.get(&attempt.invoice_id);
    let is_wanted = row.status != Status::Cancelled
        && !sight.subscription_ended
        && debt.is_some_and(Debt::is_open)
        && (attempt.purpose != Purpose::Charge || row.terms.is_open(now));
    match sight.status {
        InvoiceStatus::Paid => true,
        InvoiceStatus::Open => is_wanted && !sight.is_processing && sight.amount == attempt.amount,
        // The provider would still take the money, but nobody wants it any more.
        InvoiceStatus::Uncollectible => false,
        InvoiceStatus::Draft | InvoiceStatus::Void => false,
    }
}

/// Who paid an invoice that we did not: the provider at the time that it had announced, or the
/// customer.
fn payer(row: &Dunning, invoice_id: &str, sight: &Sight) -> Ending {
    let announced = row
        .invoices
        .get(invoice_id)
        .and_then(|debt| debt.provider_retries_at);
    Ending::payer(announced, sight.paid_at)
}

fn payer_by_time(attempt: &Attempt, sight: &Sight) -> Ending {
    match sight.paid_at {
        Some(at)
            if attempt.claimed_at - PAID_WITHIN <= at
                && at <= attempt.asked_at.max(attempt.claimed_at) + PAID_WITHIN =>
        {
            Ending::PaidByUs
        }
        Some(_) | None => Ending::PaidByCustomer,
    }
}

fn verdict_of(row: &Dunning, invoice_id: &str) -> String {
    let debt = row.invoices.get(invoice_id);
    let verdict = debt.and_then(|debt| debt.verdict.clone());
    verdict.unwrap_or_else(|| "no reason is known".to_owned())
}
