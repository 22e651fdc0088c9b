//! What an attempt to pay an invoice came to.

use crate::{
    Answer, Doubt, Intent, IntentStatus, Invoice, InvoiceStatus, PaymentFailure, Reason, Refusal,
};

/// What [`crate::Provider::pay_invoice`] came to, for whoever must decide how to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an unknown outcome must be resolved"]
pub enum PayOutcome {
    /// The invoice is paid.
    Captured(Box<Invoice>),
    /// The payment is under way; an event will tell how it ended.
    Processing(Box<Invoice>),
    /// It was tried and failed. The same key will only ever repeat this.
    Declined {
        failure: Box<PaymentFailure>,
        /// Whether this failure is an earlier request's, told again.
        replayed: bool,
    },
    /// Nothing goes on until the customer authenticates, such as at the invoice's hosted page.
    NeedsAction {
        failure: Box<PaymentFailure>,
        replayed: bool,
    },
    /// It was not tried: the invoice is paid, void or otherwise not to be paid now. Look at it.
    NotOpen,
    /// It was not tried: the provider charges no amount as small as this.
    TooSmall,
    /// It was not tried, for another reason that a person must see to.
    Refused(Refusal),
    /// It was not tried: the key is wrong or may not do this. The same attempt can be made under
    /// the same key once that is put right, for the provider keeps no result of it.
    Unauthorised(Refusal),
    /// It may have been tried. Look at the invoice, or ask again under the same key.
    Unknown(Doubt),
}

impl PayOutcome {
    /// Reads the answer of [`crate::Provider::pay_invoice`].
    pub fn of(answer: Answer<Invoice>) -> Self {
        match answer {
            Answer::Done(invoice) => Self::of_invoice(invoice),
            Answer::Refused(refusal) => Self::of_refusal(refusal),
            Answer::Unknown(doubt) => Self::Unknown(doubt),
        }
    }

    fn of_invoice(invoice: Invoice) -> Self {
        match invoice.status {
            InvoiceStatus::Paid => Self::Captured(Box::new(invoice)),
            InvoiceStatus::Open => match waits_for_customer(&invoice) {
                Some(failure) => Self::NeedsAction {
                    failure: Box::new(failure),
                    replayed: invoice.replayed,
                },
                None => Self::Processing(Box::new(invoice)),
            },
            InvoiceStatus::Draft | InvoiceStatus::Void | InvoiceStatus::Uncollectible => {
                Self::NotOpen
            }
        }
    }

    fn of_refusal(mut refusal: Refusal) -> Self {
        let replayed = refusal.replayed;
        if refusal.kind == "idempotency_error" {
            // Another request used the key, and what that one came to is not told.
            return Self::Unknown(Doubt::new(Reason::KeyReused, None));
        }
        if matches!(refusal.status, Some(401 | 403)) {
            return Self::Unauthorised(refusal);
        }
        if needs_action(&refusal) {
            let failure = refusal.failure.unwrap_or_else(|| {
                let code = refusal.code;
                Box::new(PaymentFailure {
                    code,
                    ..PaymentFailure::default()
                })
            });
            return Self::NeedsAction { failure, replayed };
        }
        if let Some(failure) = refusal.failure.take() {
            return Self::Declined { failure, replayed };
        }
        match refusal.code.as_deref() {
            Some("amount_too_small") => Self::TooSmall,
            _ if is_not_open(&refusal) => Self::NotOpen,
            _ => Self::Refused(refusal),
        }
    }
}

/// The payment that the customer must authenticate, if the invoice has one.
fn waits_for_customer(invoice: &Invoice) -> Option<PaymentFailure> {
    let mut intents = invoice.payments.iter();
    let waits = |intent: &&Intent| intent.status == IntentStatus::RequiresAction;
    let intent = intents.find_map(|payment| payment.payment_intent.as_ref().filter(waits))?;
    Some(PaymentFailure {
        payment_method: intent.payment_method.clone(),
        charge: intent.latest_charge.clone(),
        payment_intent: Some(intent.id.clone()),
        ..PaymentFailure::default()
    })
}

/// Banks name it in the decline code, too. See <https://docs.stripe.com/error-codes>.
fn needs_action(refusal: &Refusal) -> bool {
    const CODES: [&str; 3] = [
        "authentication_required",
        "invoice_payment_intent_requires_action",
        "payment_intent_action_required",
    ];
    let failure = refusal.failure.as_deref();
    let decline = failure.and_then(|failure| failure.decline_code.as_deref());
    [refusal.code.as_deref(), decline]
        .into_iter()
        .flatten()
        .any(|code| CODES.contains(&code))
}

/// The API documents no code for this, and says only sentences such as "Invoice is already paid".
/// One that is not known here makes a refusal, never a decline.
fn is_not_open(refusal: &Refusal) -> bool {
    const CODES: [&str; 2] = ["invoice_already_paid", "payment_intent_unexpected_state"];
    const SENTENCES: [&str; 7] = [
        "already paid",
        "already been paid",
        "no longer be paid",
        "not open",
        "no longer open",
        "no longer payable",
        "forgiven",
    ];
    const WORDS: [&str; 4] = ["draft", "void", "voided", "uncollectible"];
    if refusal.status != Some(400) {
        return false;
    }
    let code = refusal.code.as_deref();
    let message = refusal.message.to_lowercase();
    let mut words = message.split(|char: char| !char.is_alphanumeric());
    code.is_some_and(|code| CODES.contains(&code))
        || SENTENCES.iter().any(|sentence| message.contains(sentence))
        || words.any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests;
