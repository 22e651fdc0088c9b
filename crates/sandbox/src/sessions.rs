//! Checkout Sessions: how one starts, and how it ends without a payment.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::error::ApiError;
use crate::events::emit;
use crate::form::Form;
use crate::state::{IntentStatus, Session, SessionStatus, State, Timer};
use crate::{new_session, render};

/// `POST /v1/checkout/sessions`
pub(crate) fn create(
    state: &mut State,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    let mut session = new_session::read(form, now)?;
    let mode = if state.options.livemode {
        "live"
    } else {
        "test"
    };
    session.id = state.ids.next(&format!("cs_{mode}_a1"));
    let shown = render::session(&session, &state.options);
    state.start_timer(session.expires_at, Timer::Expire(session.id.clone()));
    state.sessions.insert(session.id.clone(), session);
    Ok(shown)
}

/// `POST /v1/checkout/sessions/{id}/expire`
pub(crate) fn expire(
    state: &mut State,
    id: &str,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&[])?;
    let session = find(state, id)?;
    if session.status != SessionStatus::Open {
        let status = session.status.name();
        return Err(ApiError::invalid(format!(
            "Only Checkout Sessions with a status in [\"open\"] can be expired. This Checkout \
             Session has a status of `{status}`."
        ))
        .began());
    }
    let due = session.expires_at;
    state.stop_timer(due, Timer::Expire(id.to_owned()));
    close(state, id, now);
    show(state, id)
}

/// `GET /v1/checkout/sessions/{id}`
pub(crate) fn show(state: &State, id: &str) -> Result<Value, ApiError> {
    Ok(render::session(find(state, id)?, &state.options))
}

pub(crate) fn find<'a>(state: &'a State, id: &str) -> Result<&'a Session, ApiError> {
    let session = state.sessions.get(id);
    session.ok_or_else(|| ApiError::no_such("checkout.session", id, "session"))
}

/// Ends an open session unpaid. One that is no longer open stays as it is.
pub(crate) fn close(state: &mut State, id: &str, now: DateTime<Utc>) {
    let Some(session) = state.sessions.get_mut(id) else {
        return;
    };
    if session.status != SessionStatus::Open {
        return;
    }
    session.status = SessionStatus::Expired;
    let shown = render::session(session, &state.options);
    let intent = session.payment_intent.clone();
    if let Some(intent) = intent.and_then(|id| state.intents.get_mut(&id)) {
        intent.status = IntentStatus::Canceled;
        let shown = render::intent(intent, &state.options);
        emit(state, "payment_intent.canceled", &shown, now);
    }
    emit(state, "checkout.session.expired", &shown, now);
}

#[cfg(test)]
mod tests {
    use crate::testing::{SESSION, Town, text};

    #[test]
    fn a_new_session_is_open_unpaid_and_says_where_to_pay() {
        let (_, session) = Town::default().post("/v1/checkout/sessions", SESSION);
        let id = text(&session["id"]);
        assert!(id.starts_with("cs_test_"));
        assert_eq!(session["url"], format!("http://127.0.0.1:8787/pay/{id}"));
        assert_eq!(
            (&session["status"], &session["payment_status"]),
            (&"open".into(), &"unpaid".into())
        );
        assert_eq!(session["amount_total"], 2000);
        assert_eq!(session["metadata"]["booking_id"], "b-1");
        assert!(session["payment_intent"].is_null() && session["customer_details"].is_null());
    }

    #[test]
    fn an_open_session_expires_by_itself_and_says_so_once() {
        let town = Town::default();
        let id = town.session();
        town.wait(3_599);
        assert_eq!(
            town.get(&format!("/v1/checkout/sessions/{id}")).1["status"],
            "open"
        );
        town.wait(1);
        let (_, session) = town.get(&format!("/v1/checkout/sessions/{id}"));
        assert_eq!(
            (&session["status"], &session["url"]),
            (&"expired".into(), &serde_json::Value::Null)
        );
        let events = town.deliver(200);
        assert_eq!(crate::testing::types(&events), ["checkout.session.expired"]);
        assert_eq!(events[0]["created"], 1_784_037_600);
        assert_eq!(town.pay(&id, "4242424242424242").0, 400);
    }

    #[test]
    fn only_an_open_session_can_be_expired() {
        let town = Town::default();
        let id = town.session();
        let path = format!("/v1/checkout/sessions/{id}/expire");
        assert_eq!(town.post(&path, "").1["status"], "expired");
        let (status, body) = town.post(&path, "");
        assert_eq!(status, 400);
        assert!(text(&body["error"]["message"]).contains("has a status of `expired`"));
        assert_eq!(town.post("/v1/checkout/sessions/cs_none/expire", "").0, 404);
        assert_eq!(town.deliver(200).len(), 1);
    }
}
