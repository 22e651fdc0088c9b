//! What the provider says of an invoice: by an event, or when the retrier looks.

use chrono::{DateTime, SubsecRound, Utc};

use super::attempt::is_blocked;
use super::budget::PastCharge;
use super::debt::{Block, Debt, Ending};
use super::declines::{Class, Decline, Verdict, Wording, classify};
use super::policy::Terms;
use super::{CaseReason, Dunning, InvoiceReport, LogEvent, Rejection, Status, Transition};
use crate::money::Money;
use crate::planted::{self, Defect};

/// How many open invoices of one subscription are followed: a row has its limits.
const OPEN_MAX: usize = 24;

/// How the provider says that an invoice stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvoiceStatus {
    Draft,
    Open,
    Paid,
    Void,
    Uncollectible,
}

/// The live invoice, and all that a decision about charging it needs.
#[derive(Clone, Debug)]
pub struct Sight {
    pub status: InvoiceStatus,
    /// What is left to pay.
    pub amount: Money,
    pub out_of_band: bool,
    pub paid_at: Option<DateTime<Utc>>,
    /// Whether the provider charges it by itself, or sends it to be paid by hand.
    pub charges_automatically: bool,
    pub hosted_url: Option<String>,
    pub provider_retries_at: Option<DateTime<Utc>>,
    /// The latest charge of it, whoever made it.
    pub latest_charge: Option<String>,
    /// Why the latest charge failed, if it did.
    pub failure: Option<FailureSeen>,
    /// The provider says that the subscription has ended.
    pub subscription_ended: bool,
    /// A charge is under way that takes days.
    pub is_processing: bool,
    /// What would be charged.
    pub card: Option<CardSeen>,
    /// Why the latest charge of that card failed, if it did, whoever made it: `failure` may be about
    /// another card.
    pub card_failure: Option<CardFailure>,
    /// What was charged to that card lately, by anybody; absent if that could not be told whole.
    pub charges: Option<Vec<PastCharge>>,
}

/// Why a charge failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureSeen {
    pub decline: Decline,
    /// The charge that failed; absent if it never became one.
    pub charge: Option<String>,
    pub payment_method: Option<String>,
    /// Of its card.
    pub fingerprint: Option<String>,
    /// The bank waits for its customer.
    pub needs_action: bool,
}

/// A charge of a card that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardFailure {
    pub at: DateTime<Utc>,
    pub seen: FailureSeen,
}

/// A payment method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardSeen {
    pub payment_method: String,
    /// The same for every payment method made of one card.
    pub fingerprint: Option<String>,
    /// Such as `visa`.
    pub network: Option<String>,
    /// ISO 3166, of the bank.
    pub country: Option<String>,
    /// Such as `card` or `cashapp`.
    pub kind: String,
}

impl FailureSeen {
    /// What the rules say of it.
    pub fn verdict(&self) -> Verdict {
        classify(&self.decline)
    }

    /// The code that stands for it: the bank's own word, where there is one.
    pub fn code(&self) -> String {
        let codes = [&self.decline.decline_code, &self.decline.code];
        let code = codes.into_iter().flatten().next();
        code.cloned().unwrap_or_else(|| "unknown".to_owned())
    }
}

pub(super) fn failed(
    row: &Dunning,
    to: Transition,
    report: InvoiceReport,
    terms: Terms,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    if row.status == Status::Cancelled {
        return Err(Rejection::Stale);
    }
    match row.invoices.get(&report.invoice_id) {
        Some(debt) if debt.is_open() => updated(row, to, report),
        // An event of before its end that comes after it.
        Some(_) if !planted::is(Defect::OldFailureReopens) => Err(Rejection::Already),
        Some(_) | None => Ok(entered(row, to, report, terms, now)),
    }
}

fn updated(
    row: &Dunning,
    mut to: Transition,
    report: InvoiceReport,
) -> Result<Transition, Rejection> {
    let Some(debt) = to.after.invoices.get_mut(&report.invoice_id) else {
        return Err(Rejection::Nothing);
    };
    if debt.as_of.is_some_and(|as_of| report.reported_at < as_of) {
        return Err(Rejection::Already);
    }
    debt.amount = report.amount;
    debt.hosted_url = report.hosted_url.or(debt.hosted_url.take());
    debt.provider_retries_at = report.provider_retries_at;
    to.after.email = report.email.or(to.after.email.take());
    to.after.second_email = report.second_email.or(to.after.second_email.take());
    to.after.name = report.name.or(to.after.name.take());
    let same = row.invoices == to.after.invoices
        && (&row.email, &row.second_email, &row.name)
            == (&to.after.email, &to.after.second_email, &to.after.name);
    if same {
        return Err(Rejection::Already);
    }
    if let Some(debt) = to.after.invoices.get_mut(&report.invoice_id) {
        debt.as_of = Some(report.reported_at);
    }
    let to = to.about(&report.invoice_id);
    Ok(to.told(LogEvent::InvoiceUpdated, "reported by the provider"))
}

fn entered(
    row: &Dunning,
    mut to: Transition,
    report: InvoiceReport,
    terms: Terms,
    now: DateTime<Utc>,
) -> Transition {
    if row.open_debts().len() >= OPEN_MAX {
        to.open_case(CaseReason::TooManyInvoices, None, now);
        return to.told(LogEvent::CaseOpened, "too many open invoices");
    }
    let after = &mut to.after;
    if row.current().is_none() || row.closed.is_some() {
        after.entered_dunning_at = Some(report.reported_at);
        after.extra_attempts = 0;
        after.max_attempts = terms.max_attempts();
        after.terms = terms;
        after.closed = None;
        after.cases.clear();
        after.cases_told.clear();
    }
    after.status = match row.status {
        Status::Active | Status::Retrying | Status::Recovered => Status::Retrying,
        Status::Paused => Status::Paused,
        Status::Cancelled => Status::Cancelled,
    };
    after.email = report.email.or(after.email.take());
    after.second_email = report.second_email.or(after.second_email.take());
    after.name = report.name.or(after.name.take());
    let debt = Debt {
        amount: report.amount,
        as_of: Some(report.reported_at),
        created: report.created,
        failed_at: report.reported_at.min(now),
        hosted_url: report.hosted_url,
        known: false,
        steps_used: 0,
        stepped_at: None,
        mailed_step: None,
        exhausted: false,
        block: None,
        failed_with: None,
        not_before: None,
        not_made: 0,
        verdict: None,
        judged_charge: None,
        provider_retries_at: report.provider_retries_at,
        end: None,
    };
    after.invoices.insert(report.invoice_id.clone(), debt);
    super::ending::prune(after);
    to.order_plan();
    to.about(&report.invoice_id)
        .told(LogEvent::ChargeFailed, "reported by the provider")
}

pub(super) fn action_required(
    row: &Dunning,
    to: Transition,
    report: InvoiceReport,
    terms: Terms,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let invoice_id = report.invoice_id.clone();
    let asks = |debt: &Debt| {
        let block = debt.block.as_ref();
        block.is_some_and(|block| block.wording == Wording::Approve)
    };
    let mut to = match row.invoices.get(&invoice_id) {
        // It is about a charge of before what is known, or of before the customer's new card.
        Some(debt)
            if debt.is_open()
                && (row.new_card.is_some()
                    || debt.as_of.is_some_and(|as_of| report.reported_at < as_of)) =>
        {
            return Err(Rejection::Already);
        }
        Some(debt) if debt.is_open() && asks(debt) => return updated(row, to, report),
        _ => failed(row, to.clone(), report, terms, now).or_else(|why| match why {
            // The same amount and the same page: what is new is that the bank asks.
            Rejection::Already if row.invoices.get(&invoice_id).is_some_and(Debt::is_open) => {
                Ok(to.about(&invoice_id))
            }
            Rejection::Already
            | Rejection::Stale
            | Rejection::TooEarly(_)
            | Rejection::InFlight(_)
            | Rejection::Nothing => Err(why),
        })?,
    };
    if let Some(debt) = to.after.invoices.get_mut(&invoice_id) {
        debt.block = Some(Block {
            class: Class::Action,
            wording: Wording::Approve,
            payment_method: None,
        });
        debt.mailed_step = None;
    }
    to.drop_plan();
    to.order_plan();
    Ok(to.told(LogEvent::ChargeFailed, "the bank asks for approval"))
}

/// Takes over what the live invoice says.
pub(super) fn absorb(to: &mut Transition, invoice_id: &str, sight: &Sight, now: DateTime<Utc>) {
    let Some(debt) = to.after.invoices.get_mut(invoice_id) else {
        return;
    };
    let was_known = std::mem::replace(&mut debt.known, true);
    let (judged, not_before) = (debt.judged_charge.clone(), debt.not_before);
    debt.amount = sight.amount;
    // Events are stamped in whole seconds.
    debt.as_of = Some(now.trunc_subsecs(0));
    debt.hosted_url = sight.hosted_url.clone().or(debt.hosted_url.take());
    debt.provider_retries_at = sight.provider_retries_at;
    // What was judged before is not judged anew: what stood in the way may have been put right since.
    let is_news =
        |failure: &&FailureSeen| !was_known || failure.charge.is_none() || failure.charge != judged;
    if let Some(failure) = sight.failure.as_ref().filter(is_news) {
        judge(to, invoice_id, failure, now);
        // A failure that can't be told from the one before begins no second wait.
        if was_known
            && failure.charge.is_none()
            && let Some(debt) = to.after.invoices.get_mut(invoice_id)
        {
            debt.not_before = not_before;
        }
    }
    by_card(to, invoice_id, sight, now);
    by_hand(to, invoice_id, sight);
    barred(to, invoice_id, sight);
}

/// The card that would be charged is judged by its own latest charge: the failure that the invoice shows
/// is of another one where the customer has tried theirs since.
fn by_card(to: &mut Transition, invoice_id: &str, sight: &Sight, now: DateTime<Utc>) {
    let (Some(card), Some(failed)) = (&sight.card, &sight.card_failure) else {
        return;
    };
    // The customer says that it is good now.
    if to.after.new_card.as_ref() == Some(&card.payment_method) {
        return;
    }
    let verdict = failed.seen.verdict();
    if verdict.for_ever
        && let Some(fingerprint) = &card.fingerprint
    {
        to.after.bar_card(fingerprint, now);
    }
    // What stands in its way already is later than its charge, such as a bank that asks for approval.
    let is_blocked = is_blocked(&to.after, invoice_id, sight);
    let Some(debt) = to.after.invoices.get_mut(invoice_id) else {
        return;
    };
    if is_blocked || debt.judged_charge == failed.seen.charge {
        return;
    }
    debt.verdict = Some(told(&verdict));
    debt.block = stands_in_the_way(&verdict, false, Some(&card.payment_method));
    let rests_until = verdict.wait.map(|wait| failed.at + wait);
    debt.not_before = debt.not_before.max(rests_until);
}

/// The card would be charged by another payment method, but its network forbids the card itself.
fn barred(to: &mut Transition, invoice_id: &str, sight: &Sight) {
    let Some(card) = &sight.card else { return };
    let fingerprint = card.fingerprint.as_ref();
    if !fingerprint.is_some_and(|it| to.after.barred_cards.contains_key(it)) {
        return;
    }
    if let Some(debt) = to.after.invoices.get_mut(invoice_id) {
        debt.verdict = Some("the network of this card forbids any further charge".to_owned());
        debt.block = Some(Block {
            class: Class::Hard,
            wording: Wording::NewCard,
            payment_method: Some(card.payment_method.clone()),
        });
    }
}

/// An invoice or a payment method that is not charged by itself.
fn by_hand(to: &mut Transition, invoice_id: &str, sight: &Sight) {
    let card = sight.card.as_ref();
    let verdict = card.map(|card| {
        classify(&Decline {
            method_kind: Some(card.kind.clone()),
            country: card.country.clone(),
            ..Decline::default()
        })
    });
    let verdict = verdict.filter(|verdict| verdict.class == Class::NoAutoRetry);
    let rule = match (&verdict, sight.charges_automatically) {
        (Some(verdict), _) => told(verdict),
        (None, false) => "the invoice is sent to be paid by hand".to_owned(),
        (None, true) => return,
    };
    if let Some(debt) = to.after.invoices.get_mut(invoice_id) {
        debt.verdict = Some(rule);
        debt.block = Some(Block {
            class: Class::NoAutoRetry,
            wording: Wording::Plain,
            payment_method: card.map(|card| card.payment_method.clone()),
        });
    }
}

/// Judges a failed charge: what stands in the way from now on, and until when.
pub(super) fn judge(
    to: &mut Transition,
    invoice_id: &str,
    failure: &FailureSeen,
    now: DateTime<Utc>,
) {
    let verdict = failure.verdict();
    to.after.failure_code = Some(failure.code());
    if verdict.for_ever
        && let Some(fingerprint) = &failure.fingerprint
    {
        to.after.bar_card(fingerprint, now);
    }
    let is_old_news = failure
        .payment_method
        .as_ref()
        .zip(to.after.new_card.as_ref())
        .is_some_and(|(failed, new)| failed != new);
    let Some(debt) = to.after.invoices.get_mut(invoice_id) else {
        return;
    };
    debt.judged_charge = failure.charge.clone().or(debt.judged_charge.take());
    debt.verdict = Some(told(&verdict));
    debt.failed_with.clone_from(&failure.payment_method);
    let failed_with = failure.payment_method.as_ref();
    debt.block = match is_old_news {
        // The failure is of a card that the customer has replaced.
        true => None,
        false => stands_in_the_way(&verdict, failure.needs_action, failed_with),
    };
    let wait = verdict.wait.filter(|_| !is_old_news);
    debt.not_before = wait.map(|wait| now + wait);
    if verdict.wording == Wording::Person {
        to.open_case(CaseReason::Fraud, Some(invoice_id), now);
    }
}

/// What a verdict about a payment method puts in the way of charging it.
fn stands_in_the_way(
    verdict: &Verdict,
    needs_action: bool,
    payment_method: Option<&String>,
) -> Option<Block> {
    let (class, wording) = match (verdict.class, needs_action) {
        (_, true) => (Class::Action, Wording::Approve),
        (Class::Hard, false) if planted::is(Defect::HardDeclineRetried) => return None,
        (class @ (Class::Hard | Class::Action | Class::NoAutoRetry), false) => {
            (class, verdict.wording)
        }
        (Class::Soft | Class::LookFirst, false) => return None,
    };
    Some(Block {
        class,
        wording,
        payment_method: payment_method.cloned(),
    })
}

/// The rule and its edition, for the history.
fn told(verdict: &Verdict) -> String {
    let Verdict {
        class,
        rule,
        edition,
        ..
    } = verdict;
    format!("{} by {rule} (declines {edition})", class.as_str())
}

/// How a live invoice has ended, if it has; who paid is told by the caller.
pub(super) fn ended(sight: &Sight, payer: Ending) -> Option<Ending> {
    match sight.status {
        InvoiceStatus::Paid if sight.out_of_band => Some(Ending::OutOfBand),
        InvoiceStatus::Paid => Some(payer),
        InvoiceStatus::Void => Some(Ending::Voided),
        InvoiceStatus::Uncollectible => Some(Ending::Uncollectible),
        InvoiceStatus::Draft | InvoiceStatus::Open if sight.amount.minor() == 0 => {
            Some(Ending::Covered)
        }
        InvoiceStatus::Draft | InvoiceStatus::Open => None,
    }
}
