//! The provider's objects as the decisions see them. Nothing is asked here.

use std::cmp::Reverse;

use chrono::{DateTime, Utc};
use paidonce_core::dunning::budget::PastCharge;
use paidonce_core::dunning::declines::Decline;
use paidonce_core::dunning::{CardFailure, CardSeen, FailureSeen, InvoiceStatus, Sight};
use paidonce_core::money::Money;
use provider::{
    Card, Charge, ChargeStatus, Charges, CollectionMethod, Intent, IntentStatus, Invoice,
    PaymentFailure, PaymentMethod,
};

/// The provider refused to ask the bank about a card that was declined too often.
const RATE_LIMITED: &str = "card_decline_rate_limit_exceeded";

/// Reads a live invoice. What would be charged, and what was charged to it before, is not in it.
pub fn sight_of(invoice: &Invoice) -> Sight {
    let intents = || {
        invoice
            .payments
            .iter()
            .filter_map(|it| it.payment_intent.as_ref())
    };
    let latest = intents().max_by_key(|intent| intent.created);
    Sight {
        status: status_of(invoice.status),
        amount: invoice.amount_remaining,
        out_of_band: is_out_of_band(invoice),
        paid_at: invoice.paid_at,
        charges_automatically: invoice.collection_method == CollectionMethod::ChargeAutomatically,
        hosted_url: invoice.hosted_invoice_url.clone(),
        provider_retries_at: invoice.next_payment_attempt,
        latest_charge: latest.and_then(|intent| intent.latest_charge.clone()),
        failure: latest.and_then(failure_of),
        // A payment that can't be seen may be under way.
        is_processing: invoice.has_more_payments || intents().any(is_under_way),
        subscription_ended: false,
        card: None,
        card_failure: None,
        charges: None,
    }
}

/// An invoice that is not there any more: only a draft can be deleted, and nothing is owed for it.
pub fn deleted(amount: Money) -> Sight {
    Sight {
        status: InvoiceStatus::Void,
        amount,
        out_of_band: false,
        paid_at: None,
        charges_automatically: true,
        hosted_url: None,
        provider_retries_at: None,
        latest_charge: None,
        failure: None,
        is_processing: false,
        subscription_ended: false,
        card: None,
        card_failure: None,
        charges: None,
    }
}

pub fn card_of(method: &PaymentMethod) -> CardSeen {
    let card = method.card.as_ref();
    CardSeen {
        payment_method: method.id.clone(),
        fingerprint: card.and_then(|card| card.fingerprint.clone()),
        network: card.and_then(network_of),
        country: card.and_then(|card| card.country.clone()),
        kind: method.kind.clone(),
    }
}

/// What a customer's cards were charged; `None` if older charges are missing.
pub fn past_charges(charges: &Charges) -> Option<Vec<PastCharge>> {
    let past = charges.charges.iter().filter_map(past_charge).collect();
    charges.complete.then_some(past)
}

/// Why the latest charge of a card failed, if it did. The same card may have been given more than once.
pub fn card_failure(charges: &Charges, card: &CardSeen) -> Option<CardFailure> {
    let of_card = |charge: &&Charge| {
        let fingerprint = charge.card.as_ref().and_then(|it| it.fingerprint.as_ref());
        charge.payment_method.as_ref() == Some(&card.payment_method)
            || (fingerprint.is_some() && fingerprint == card.fingerprint.as_ref())
    };
    // They are listed latest first, and stamped in whole seconds.
    let of_card = charges.charges.iter().filter(of_card);
    let latest = of_card.min_by_key(|charge| Reverse(charge.created))?;
    (latest.status == ChargeStatus::Failed).then(|| CardFailure {
        at: latest.created,
        seen: failure_seen(&failure_of_charge(latest), false),
    })
}

/// Keeps the words of a failure apart, as the rules read them.
pub fn failure_seen(failure: &PaymentFailure, needs_action: bool) -> FailureSeen {
    let card = failure.card.as_ref();
    FailureSeen {
        decline: Decline {
            code: failure.code.clone(),
            decline_code: failure.decline_code.clone(),
            advice_code: failure.advice_code.clone(),
            network: card.and_then(network_of),
            network_decline_code: failure.network_decline_code.clone(),
            network_advice_code: failure.network_advice_code.clone(),
            method_kind: failure.method_kind.clone(),
            country: card.and_then(|card| card.country.clone()),
        },
        charge: failure.charge.clone(),
        payment_method: failure.payment_method.clone(),
        fingerprint: card.and_then(|card| card.fingerprint.clone()),
        needs_action,
    }
}

fn status_of(status: provider::InvoiceStatus) -> InvoiceStatus {
    match status {
        provider::InvoiceStatus::Draft => InvoiceStatus::Draft,
        provider::InvoiceStatus::Open => InvoiceStatus::Open,
        provider::InvoiceStatus::Paid => InvoiceStatus::Paid,
        provider::InvoiceStatus::Void => InvoiceStatus::Void,
        provider::InvoiceStatus::Uncollectible => InvoiceStatus::Uncollectible,
    }
}

/// Whether all that was paid came by another way, such as cash.
fn is_out_of_band(invoice: &Invoice) -> bool {
    let elsewhere = invoice.paid_off_provider.minor();
    elsewhere > 0 && elsewhere >= invoice.amount_paid.minor()
}

fn is_under_way(intent: &Intent) -> bool {
    match intent.status {
        IntentStatus::Processing | IntentStatus::RequiresCapture => true,
        IntentStatus::RequiresPaymentMethod
        | IntentStatus::RequiresConfirmation
        | IntentStatus::RequiresAction
        | IntentStatus::Canceled
        | IntentStatus::Succeeded => false,
    }
}

fn failure_of(intent: &Intent) -> Option<FailureSeen> {
    let last = intent.last_error.clone();
    let (failure, needs_action) = match intent.status {
        IntentStatus::RequiresAction => {
            let asked = || PaymentFailure {
                payment_method: intent.payment_method.clone(),
                ..PaymentFailure::default()
            };
            (last.unwrap_or_else(asked), true)
        }
        IntentStatus::RequiresPaymentMethod
        | IntentStatus::RequiresConfirmation
        | IntentStatus::Canceled => (last?, false),
        IntentStatus::Processing | IntentStatus::RequiresCapture | IntentStatus::Succeeded => {
            return None;
        }
    };
    let seen = failure_seen(&failure, needs_action);
    let charge = seen.charge.or_else(|| intent.latest_charge.clone());
    Some(FailureSeen { charge, ..seen })
}

/// What a failed charge says of itself, as the error of its payment would.
fn failure_of_charge(charge: &Charge) -> PaymentFailure {
    let outcome = charge.outcome.clone().unwrap_or_default();
    PaymentFailure {
        code: charge.failure_code.clone(),
        decline_code: outcome.reason,
        advice_code: outcome.advice_code,
        network_decline_code: outcome.network_decline_code,
        network_advice_code: outcome.network_advice_code,
        payment_method: charge.payment_method.clone(),
        card: charge.card.clone(),
        charge: Some(charge.id.clone()),
        ..PaymentFailure::default()
    }
}

/// A card of two networks is counted on that of its brand until one of them took it.
fn network_of(card: &Card) -> Option<String> {
    card.network.clone().or_else(|| card.brand.clone())
}

fn past_charge(charge: &Charge) -> Option<PastCharge> {
    let fingerprint = charge.card.as_ref()?.fingerprint.clone()?;
    let at: DateTime<Utc> = charge.created;
    let outcome = charge.outcome.as_ref();
    let reason = outcome.and_then(|outcome| outcome.reason.as_deref());
    Some(PastCharge {
        at,
        fingerprint,
        succeeded: charge.status != ChargeStatus::Failed,
        rate_limited: [reason, charge.failure_code.as_deref()].contains(&Some(RATE_LIMITED)),
    })
}
