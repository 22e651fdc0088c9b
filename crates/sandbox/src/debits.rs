//! Bank debits: the page is done at once, the money comes days later, or does not.

use chrono::{DateTime, TimeDelta, Utc};

use crate::cards::Decline;
use crate::error::ApiError;
use crate::payments::{
    collect, complete, last_error, new_charge, save, tell_charge, tell_intent, tell_session,
};
use crate::sessions;
use crate::state::{Charge, ChargeStatus, Intent, IntentStatus, Method, Session, State, Timer};

/// How long a delayed method takes.
const SETTLES_AFTER: TimeDelta = TimeDelta::days(3);

const NOT_COLLECTED: Decline = Decline {
    code: "payment_intent_payment_attempt_failed",
    decline_code: Some("insufficient_funds"),
    message: "The bank could not collect the debit.",
};

/// Completes a session whose money is still to come.
pub(crate) fn delay(state: &mut State, session: &Session, mut intent: Intent, now: DateTime<Utc>) {
    let charge = new_charge(state, &intent, Method::BankDebit, now);
    intent.status = IntentStatus::Processing;
    let intent_id = save(state, intent, &charge);
    complete(state, session, false);
    state.start_timer(now + SETTLES_AFTER, Timer::Settle(session.id.clone()));
    tell_intent(state, "payment_intent.processing", &intent_id, now);
    tell_charge(state, "charge.pending", &charge.id, now);
    tell_session(state, "checkout.session.completed", &session.id, now);
}

/// Ends a delayed payment, well or not.
///
/// # Errors
/// The session has no payment that is still on its way.
pub(crate) fn settle(
    state: &mut State,
    id: &str,
    succeeded: bool,
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    let session = sessions::find(state, id)?;
    let intent = session.payment_intent.as_ref();
    let intent = intent.and_then(|id| state.intents.get(id)).cloned();
    let is_pending = |intent: &Intent| intent.status == IntentStatus::Processing;
    let charge = intent
        .as_ref()
        .and_then(|intent| intent.latest_charge.as_ref());
    let charge = charge.and_then(|id| state.charges.get(id)).cloned();
    let (Some(intent), Some(charge)) = (intent.filter(is_pending), charge) else {
        return Err(ApiError::invalid(
            "This session has no delayed payment on its way.",
        ));
    };
    state.stop_timer(charge.created + SETTLES_AFTER, Timer::Settle(id.to_owned()));
    if succeeded {
        arrive(state, id, intent, charge, now);
    } else {
        bounce(state, id, intent, charge, now);
    }
    Ok(())
}

/// Ends a delayed payment whose time has come. If it already ended, nothing happens.
pub(crate) fn settle_due(state: &mut State, id: &str, now: DateTime<Utc>) {
    // The only error is that there is nothing left to settle.
    drop(settle(state, id, true, now));
}

fn arrive(state: &mut State, id: &str, mut intent: Intent, mut charge: Charge, now: DateTime<Utc>) {
    collect(state, &mut charge);
    intent.status = IntentStatus::Succeeded;
    let intent_id = save(state, intent, &charge);
    if let Some(session) = state.sessions.get_mut(id) {
        session.paid = true;
    }
    tell_intent(state, "payment_intent.succeeded", &intent_id, now);
    tell_charge(state, "charge.succeeded", &charge.id, now);
    tell_session(state, "checkout.session.async_payment_succeeded", id, now);
}

fn bounce(state: &mut State, id: &str, mut intent: Intent, mut charge: Charge, now: DateTime<Utc>) {
    charge.status = ChargeStatus::Failed;
    charge.failure = Some(last_error(&NOT_COLLECTED));
    intent.status = IntentStatus::RequiresPaymentMethod;
    intent.last_error = Some(last_error(&NOT_COLLECTED));
    let intent_id = save(state, intent, &charge);
    tell_intent(state, "payment_intent.payment_failed", &intent_id, now);
    tell_charge(state, "charge.failed", &charge.id, now);
    tell_session(state, "checkout.session.async_payment_failed", id, now);
}

#[cfg(test)]
mod tests {
    use crate::testing::{Town, types};

    fn delayed(town: &Town) -> String {
        let id = town.session();
        let (_, session) = town.pay(&id, "bank");
        assert_eq!(
            (&session["status"], &session["payment_status"]),
            (&"complete".into(), &"unpaid".into())
        );
        town.deliver(200);
        id
    }

    #[test]
    fn a_bank_debit_arrives_after_three_days() {
        let town = Town::default();
        let id = delayed(&town);
        town.wait(3 * 86_400);
        assert_eq!(
            town.get(&format!("/v1/checkout/sessions/{id}")).1["payment_status"],
            "paid"
        );
        let events = town.deliver(200);
        assert_eq!(
            types(&events)[2],
            "checkout.session.async_payment_succeeded"
        );
        let settled = town.post(
            &format!("/_sandbox/sessions/{id}/settle"),
            r#"{"succeeded":false}"#,
        );
        assert_eq!(settled.0, 400, "what has arrived does not bounce");
    }

    #[test]
    fn a_bank_debit_that_bounces_takes_nothing() {
        let town = Town::default();
        let id = delayed(&town);
        town.post(
            &format!("/_sandbox/sessions/{id}/settle"),
            r#"{"succeeded":false}"#,
        );
        assert_eq!(
            types(&town.deliver(200))[2],
            "checkout.session.async_payment_failed"
        );
        town.wait(4 * 86_400);
        assert_eq!(town.deliver(200).len(), 0);
        assert_eq!(town.sandbox.ledger()["totals"]["gbp"]["captured"], 0);
    }
}
