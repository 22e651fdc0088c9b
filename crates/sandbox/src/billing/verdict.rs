//! What a bank says to one attempt to pay an invoice.

use crate::state::{LastError, State};

use super::faults::Fault;
use super::model::{Invoice, MethodKind, PaymentMethod};
use super::paying::Payer;
use super::test_cards::{self, Charged};

/// What the bank says.
pub(crate) enum Verdict {
    Pays,
    Declines(LastError),
    Asks,
}

/// Asks the bank. What was to go wrong on demand comes first, then the card's own nature.
pub(crate) fn verdict(
    state: &mut State,
    invoice: &Invoice,
    method: &PaymentMethod,
    payer: Payer,
) -> Verdict {
    if let Payer::Customer {
        confirmed: Some(false),
    } = payer
    {
        return Verdict::Declines(not_confirmed());
    }
    if let Payer::Api = payer {
        match state.billing.next_pay.take() {
            Some(Fault::Decline(refusal)) => return Verdict::Declines(refusal),
            Some(Fault::RequiresAction) => return Verdict::Asks,
            other => state.billing.next_pay = other,
        }
    }
    if let Some(refusal) = failing(state, invoice, method) {
        return Verdict::Declines(refusal);
    }
    let number = match &method.kind {
        MethodKind::Card { number, .. } => number,
        MethodKind::Other(_) => return Verdict::Pays,
    };
    let confirmed = match payer {
        Payer::Customer { confirmed } => confirmed,
        Payer::Api | Payer::Provider => None,
    };
    match (test_cards::charged(number), confirmed) {
        (Charged::Pays, _) => Verdict::Pays,
        (Charged::Declines(code), _) => Verdict::Declines(test_cards::refusal(code)),
        (Charged::Asks { .. }, Some(_)) => Verdict::Pays,
        (Charged::Asks { always: false }, None) if method.confirmed => Verdict::Pays,
        (Charged::Asks { .. }, None) => Verdict::Asks,
    }
}

/// Returns why a card is declined whatever it is, and counts one such try.
fn failing(state: &mut State, invoice: &Invoice, method: &PaymentMethod) -> Option<LastError> {
    let subscription = invoice.subscription.as_ref()?;
    let subscription = state.billing.subscriptions.get_mut(subscription)?;
    let failing = subscription.failing.as_mut()?;
    if failing.fingerprint != method.fingerprint() || failing.times == Some(0) {
        return None;
    }
    failing.times = failing.times.map(|times| times - 1);
    Some(failing.refusal.clone())
}

fn not_confirmed() -> LastError {
    LastError {
        message: "You did not confirm the payment.".to_owned(),
        ..test_cards::refusal("authentication_required")
    }
}
