//! Payments: what the customer does on the page, and what the bank answers.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::cards::{self, Decline, Outcome, Sequel};
use crate::disputes::Claim;
use crate::error::ApiError;
use crate::events::emit;
use crate::state::{
    Card, Charge, ChargeStatus, Intent, IntentStatus, LastError, Method, RefundCourse, Session,
    SessionStatus, State, Timer,
};
use crate::{debits, disputes, render, sessions};

const NOT_CONFIRMED: Decline = Decline {
    code: "payment_intent_authentication_failure",
    decline_code: None,
    message: "You did not confirm the payment. Please choose another card and try again.",
};

/// Tries to pay a session once. `authenticated` is the customer's answer to the bank's question.
///
/// # Errors
/// A `card_error` for a decline; with the code `authentication_required` the bank asks, and the
/// same card can be tried again with an answer. Else the session is not open.
pub(crate) fn pay(
    state: &mut State,
    id: &str,
    card: &str,
    authenticated: Option<bool>,
    now: DateTime<Utc>,
) -> Result<(), ApiError> {
    let session = sessions::find(state, id)?.clone();
    if session.status != SessionStatus::Open {
        let status = session.status.name();
        let message = format!("This Checkout Session has a status of `{status}`.");
        return Err(ApiError::invalid(message).began());
    }
    let number = cards::normalise(card);
    let outcome = cards::outcome(&number)?;
    let method = Method::Card(Card::numbered(&number));
    let intent = open_intent(state, &session, now);
    match (outcome, authenticated) {
        (Outcome::Succeeds(sequel), _) => {
            capture(state, &session, intent, method, sequel, now);
            Ok(())
        }
        (Outcome::Asks, Some(true)) => {
            let sequel = Sequel::Refunds(RefundCourse::AtOnce);
            capture(state, &session, intent, method, sequel, now);
            Ok(())
        }
        (Outcome::Asks, None) => Err(ask(state, intent, now)),
        (Outcome::Asks, Some(false)) => Err(decline(state, intent, method, &NOT_CONFIRMED, now)),
        (Outcome::Declines(reason), _) => Err(decline(state, intent, method, reason, now)),
        (Outcome::Delays, _) => {
            debits::delay(state, &session, intent, now);
            Ok(())
        }
    }
}

/// Returns the session's PaymentIntent, which the first attempt makes.
fn open_intent(state: &mut State, session: &Session, now: DateTime<Utc>) -> Intent {
    let known = session.payment_intent.as_ref();
    if let Some(intent) = known.and_then(|id| state.intents.get(id)) {
        return intent.clone();
    }
    let intent = Intent {
        id: state.ids.next("pi_3"),
        created: now,
        amount: session.amount_total,
        currency: session.currency.clone(),
        metadata: session.intent_metadata.clone(),
        status: IntentStatus::RequiresPaymentMethod,
        latest_charge: None,
        last_error: None,
        customer: None,
        payment_method: None,
        invoice: None,
    };
    state.intents.insert(intent.id.clone(), intent.clone());
    if let Some(session) = state.sessions.get_mut(&session.id) {
        session.payment_intent = Some(intent.id.clone());
    }
    intent
}

fn capture(
    state: &mut State,
    session: &Session,
    mut intent: Intent,
    method: Method,
    sequel: Sequel,
    now: DateTime<Utc>,
) {
    let mut charge = new_charge(state, &intent, method, now);
    collect(state, &mut charge);
    charge.refund_course = match sequel {
        Sequel::Refunds(course) => course,
        Sequel::Dispute(_) | Sequel::Inquiry(_) => RefundCourse::AtOnce,
    };
    intent.status = IntentStatus::Succeeded;
    let intent_id = save(state, intent, &charge);
    complete(state, session, true);
    tell_intent(state, "payment_intent.succeeded", &intent_id, now);
    tell_charge(state, "charge.succeeded", &charge.id, now);
    dispute(state, &charge.id, sequel, now);
    tell_session(state, "checkout.session.completed", &session.id, now);
}

/// Opens the dispute that comes with the card. The provider tells of it before the session.
fn dispute(state: &mut State, charge: &str, sequel: Sequel, now: DateTime<Utc>) {
    let (reason, inquiry) = match sequel {
        Sequel::Refunds(_) => return,
        Sequel::Dispute(reason) => (reason, false),
        Sequel::Inquiry(reason) => (reason, true),
    };
    let claim = Claim {
        reason,
        amount: None,
        inquiry,
    };
    // The charge has just succeeded and the reason is known.
    drop(disputes::open(state, charge, &claim, now));
}

fn decline(
    state: &mut State,
    mut intent: Intent,
    method: Method,
    reason: &'static Decline,
    now: DateTime<Utc>,
) -> ApiError {
    let mut charge = new_charge(state, &intent, method, now);
    charge.status = ChargeStatus::Failed;
    charge.failure = Some(last_error(reason));
    intent.status = IntentStatus::RequiresPaymentMethod;
    intent.last_error = Some(last_error(reason));
    let mut error = ApiError::card(reason.code, reason.message);
    error.decline_code = reason.decline_code;
    let intent_id = save(state, intent, &charge);
    error.payment_intent =
        tell_intent(state, "payment_intent.payment_failed", &intent_id, now).map(Box::new);
    tell_charge(state, "charge.failed", &charge.id, now);
    error
}

fn ask(state: &mut State, mut intent: Intent, now: DateTime<Utc>) -> ApiError {
    let id = intent.id.clone();
    intent.status = IntentStatus::RequiresAction;
    state.intents.insert(id.clone(), intent);
    let message = "Your card's bank asks you to confirm this payment.";
    let mut error = ApiError::card("authentication_required", message);
    error.decline_code = Some("authentication_required");
    error.payment_intent =
        tell_intent(state, "payment_intent.requires_action", &id, now).map(Box::new);
    error
}

pub(crate) fn new_charge(
    state: &mut State,
    intent: &Intent,
    method: Method,
    now: DateTime<Utc>,
) -> Charge {
    Charge {
        id: state.ids.next("ch_3"),
        created: now,
        payment_intent: intent.id.clone(),
        amount: intent.amount,
        amount_captured: 0,
        amount_refunded: 0,
        currency: intent.currency.clone(),
        fee: 0,
        balance_transaction: None,
        metadata: intent.metadata.clone(),
        status: ChargeStatus::Pending,
        method,
        failure: None,
        disputed: false,
        refund_course: RefundCourse::default(),
        customer: intent.customer.clone(),
        payment_method: intent.payment_method.clone(),
    }
}

/// Takes the money. The fee is 1.5 % and 20 of the smallest unit, rounded up.
pub(crate) fn collect(state: &mut State, charge: &mut Charge) {
    charge.status = ChargeStatus::Succeeded;
    charge.amount_captured = charge.amount;
    charge.fee = (charge.amount * 15 + 999) / 1000 + 20;
    charge.balance_transaction = Some(state.ids.next("txn_3"));
}

pub(crate) fn save(state: &mut State, mut intent: Intent, charge: &Charge) -> String {
    let id = intent.id.clone();
    intent.latest_charge = Some(charge.id.clone());
    state.intents.insert(id.clone(), intent);
    state.charges.insert(charge.id.clone(), charge.clone());
    id
}

pub(crate) fn complete(state: &mut State, session: &Session, paid: bool) {
    state.stop_timer(session.expires_at, Timer::Expire(session.id.clone()));
    if let Some(session) = state.sessions.get_mut(&session.id) {
        session.status = SessionStatus::Complete;
        session.paid = paid;
    }
}

pub(crate) fn last_error(reason: &Decline) -> LastError {
    LastError {
        code: reason.code.to_owned(),
        decline_code: reason.decline_code.map(str::to_owned),
        message: reason.message.to_owned(),
        advice_code: None,
        network_decline_code: None,
        network_advice_code: None,
        payment_method: None,
    }
}

pub(crate) fn tell_intent(
    state: &mut State,
    kind: &str,
    id: &str,
    now: DateTime<Utc>,
) -> Option<Value> {
    let shown = render::intent(state.intents.get(id)?, &state.options);
    emit(state, kind, &shown, now);
    Some(shown)
}

pub(crate) fn tell_charge(state: &mut State, kind: &str, id: &str, now: DateTime<Utc>) {
    if let Some(charge) = state.charges.get(id) {
        let shown = render::charge(charge, &state.options);
        emit(state, kind, &shown, now);
    }
}

pub(crate) fn tell_session(state: &mut State, kind: &str, id: &str, now: DateTime<Utc>) {
    if let Some(session) = state.sessions.get(id) {
        let shown = render::session(session, &state.options);
        emit(state, kind, &shown, now);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{SESSION, Town, text, types};

    #[test]
    fn a_paid_session_leaves_an_intent_a_charge_and_three_events() {
        let town = Town::default();
        let id = town.session();
        let (status, session) = town.pay(&id, "4242 4242 4242 4242");
        assert_eq!((status, &session["payment_status"]), (200, &"paid".into()));
        assert_eq!(session["status"], "complete");
        let intent = text(&session["payment_intent"]);
        let (_, shown) = town.get(&format!("/v1/payment_intents/{intent}"));
        assert_eq!(
            (&shown["status"], &shown["metadata"]["booking_id"]),
            (&"succeeded".into(), &"b-1".into())
        );
        let (_, charges) = town.get(&format!("/v1/charges?payment_intent={intent}"));
        assert_eq!(charges["data"][0]["amount_captured"], 2000);
        assert_eq!(charges["data"].as_array().unwrap().len(), 1);
        let events = town.deliver(200);
        let expected = [
            "payment_intent.succeeded",
            "charge.succeeded",
            "checkout.session.completed",
        ];
        assert_eq!(types(&events), expected);
        assert_eq!(events[2]["data"]["object"], session);
        assert_eq!(
            town.pay(&id, "4242424242424242").0,
            400,
            "a session is paid once"
        );
        let ledger = town.sandbox.ledger();
        assert_eq!(ledger["totals"]["gbp"]["captured"], 2000);
        assert_eq!(ledger["charges"][0]["fee"], 50);
    }

    #[test]
    fn a_declined_card_leaves_the_session_open_for_another() {
        let town = Town::default();
        let id = town.session();
        let declines = [
            ("4000000000000002", "card_declined", "generic_decline"),
            ("4000000000009995", "card_declined", "insufficient_funds"),
            ("4000000000009987", "card_declined", "lost_card"),
            ("4000000000000069", "expired_card", ""),
            ("4000000000000127", "incorrect_cvc", ""),
        ];
        for (card, code, decline_code) in declines {
            let (status, body) = town.pay(&id, card);
            let error = &body["error"];
            assert_eq!((status, &error["type"]), (402, &"card_error".into()));
            let codes = (text(&error["code"]), text(&error["decline_code"]));
            assert_eq!(codes, (code.to_owned(), decline_code.to_owned()));
            assert_eq!(error["payment_intent"]["last_payment_error"]["code"], code);
            assert_eq!(
                types(&town.deliver(200)),
                ["payment_intent.payment_failed", "charge.failed"]
            );
        }
        assert_eq!(town.pay(&id, "4242424242424242").0, 200);
        let ledger = town.sandbox.ledger();
        assert_eq!(ledger["payment_intents"].as_array().unwrap().len(), 1);
        assert_eq!(ledger["totals"]["gbp"]["captured"], 2000);
    }

    #[test]
    fn a_card_that_needs_authentication_is_charged_only_after_it() {
        let town = Town::default();
        let id = town.session();
        let (status, body) = town.pay(&id, "4000002500003155");
        assert_eq!(
            (status, &body["error"]["code"]),
            (402, &"authentication_required".into())
        );
        assert_eq!(
            types(&town.deliver(200)),
            ["payment_intent.requires_action"]
        );
        let path = format!("/_sandbox/sessions/{id}/pay");
        let refused = town.post(
            &path,
            r#"{"card":"4000002500003155","authenticated":false}"#,
        );
        assert_eq!(
            refused.1["error"]["code"],
            "payment_intent_authentication_failure"
        );
        let paid = town.post(&path, r#"{"card":"4000002500003155","authenticated":true}"#);
        assert_eq!(paid.1["payment_status"], "paid");
    }

    #[test]
    fn an_expired_session_cancels_its_intent() {
        let town = Town::default();
        let (_, session) = town.post("/v1/checkout/sessions", SESSION);
        town.pay(&text(&session["id"]), "4000000000000002");
        town.deliver(200);
        town.wait(3_600);
        let expected = ["payment_intent.canceled", "checkout.session.expired"];
        assert_eq!(types(&town.deliver(200)), expected);
    }
}
