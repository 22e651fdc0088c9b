//! The payment provider: Stripe over HTTP, as far as the fleet uses it.
//!
//! Calls go through the AWS SDK's own HTTP client, sleep and time, so that whoever replaces those
//! replaces the provider too. A call takes 8 seconds at most and is sent three times at most,
//! always under the same idempotency key. What it comes to is an [`Answer`], in which not to know
//! is a value of its own.

mod account;
mod answer;
mod billing;
mod books;
mod card;
mod charge;
mod dispute;
mod failure;
mod invoice;
mod object;
mod outcome;
mod portal;
mod refund;
mod secret;
mod session;
mod subscription;
#[cfg(test)]
mod testing;
mod wire;

use aws_types::SdkConfig;

use object::Object;

pub use account::{Account, EndpointStatus, WebhookEndpoint};
pub use answer::{Answer, Doubt, Reason, Refusal};
pub use billing::Charges;
pub use card::{Card, PaymentMethod};
pub use charge::{Charge, ChargeOutcome, ChargeStatus};
pub use dispute::Dispute;
pub use failure::PaymentFailure;
pub use invoice::{
    CollectionMethod, Intent, IntentStatus, Invoice, InvoicePayment, InvoicePaymentStatus,
    InvoiceStatus, PayInvoice,
};
pub use object::Page;
pub use outcome::PayOutcome;
pub use portal::{NewPortal, PortalSession};
pub use refund::{NewRefund, Refund};
pub use secret::Secret;
pub use session::{Expiry, NewSession, PaymentStatus, Session, SessionStatus};
pub use subscription::{Subscription, SubscriptionStatus};
use wire::{Call, Form, Reply, Wire};

/// The provider's API. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Provider {
    wire: Wire,
}

impl Provider {
    /// Makes a client of the API at `base_url`, without `/v1`. Makes no network call.
    ///
    /// `api_version` pins how answers are written, such as `2026-07-29.dahlia`.
    pub fn new(aws: &SdkConfig, base_url: &str, api_version: &str) -> Self {
        Self {
            wire: Wire::new(aws, base_url, api_version),
        }
    }

    /// Opens a page on which the customer can pay once.
    ///
    /// The same session under the same key is opened once in 24 hours, however often this is
    /// called; another session under that key is refused as an `idempotency_error`.
    pub async fn create_session(&self, key: &Secret, session: &NewSession<'_>) -> Answer<Session> {
        let form = match session.form() {
            Ok(form) => form,
            Err(error) => return Answer::Refused(Refusal::here("amount", error.to_string())),
        };
        let call = Call {
            path: Session::LIST.to_owned(),
            form: Some(form),
            key: key.clone(),
            idempotency_key: Some(session.idempotency_key.to_owned()),
        };
        Answer::read(self.wire.send(call).await, object::one)
    }

    /// Looks at a session. One that doesn't exist is refused as `resource_missing`.
    pub async fn session(&self, key: &Secret, id: &str) -> Answer<Session> {
        let path = object::path::<Session>(id);
        Answer::read(self.get(key, path).await, object::one)
    }

    /// Makes sure that nobody can pay with a session any more, unless the customer was faster.
    ///
    /// It needs no idempotency key: a session can be expired only once, and one that is no longer
    /// open is looked at to tell why.
    pub async fn expire_session(&self, key: &Secret, id: &str) -> Answer<Expiry> {
        let call = Call {
            path: format!("{}/expire", object::path::<Session>(id)),
            form: Some(Form(String::new())),
            key: key.clone(),
            idempotency_key: None,
        };
        let refusal = match Answer::read(self.wire.send(call).await, object::one::<Session>) {
            Answer::Done(session) => return expiry(session),
            Answer::Unknown(doubt) => return Answer::Unknown(doubt),
            Answer::Refused(refusal) => refusal,
        };
        if refusal.status != Some(400) {
            return Answer::Refused(refusal);
        }
        match self.session(key, id).await {
            Answer::Done(session) => expiry(session),
            Answer::Refused(refusal) => Answer::Refused(refusal),
            Answer::Unknown(doubt) => Answer::Unknown(doubt),
        }
    }

    async fn get(&self, key: &Secret, path: String) -> Result<Reply, String> {
        let call = Call {
            path,
            form: None,
            key: key.clone(),
            idempotency_key: None,
        };
        self.wire.send(call).await
    }
}

fn expiry(session: Session) -> Answer<Expiry> {
    match session.status {
        SessionStatus::Expired => Answer::Done(Expiry::Expired),
        SessionStatus::Complete => Answer::Done(Expiry::Complete(Box::new(session))),
        SessionStatus::Open => {
            let reason = "the session is still open".to_owned();
            Answer::Unknown(Doubt::new(Reason::Unreadable(reason), None))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fault, Town, key, new_session, now};

    async fn opened(town: &Town) -> Session {
        match town
            .provider()
            .create_session(&key(), &new_session("k"))
            .await
        {
            Answer::Done(session) => session,
            other @ (Answer::Refused(_) | Answer::Unknown(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn calls_can_be_awaited_from_any_thread() {
        fn is_send(_: impl Send) {}
        let (provider, key) = (Town::with([]).provider(), key());
        is_send(provider.create_session(&key, &new_session("k")));
        is_send(provider.expire_session(&key, "cs_1"));
    }

    #[tokio::test]
    async fn a_new_session_says_where_to_pay_and_carries_the_booking() {
        let town = Town::with([]);
        let session = opened(&town).await;
        let url = format!("http://127.0.0.1:8787/pay/{}", session.id);
        assert_eq!(session.url, Some(url));
        assert_eq!(
            (session.status, session.payment_status),
            (SessionStatus::Open, PaymentStatus::Unpaid)
        );
        assert_eq!(session.amount, new_session("k").amount);
        assert_eq!(session.expires_at, new_session("k").expires_at);
        assert_eq!(session.client_reference_id.as_deref(), Some("b-1"));
        assert_eq!(session.metadata["booking_id"], "b-1");
        assert_eq!(session.metadata["venue"], "v-1");
        let looked_at = town.provider().session(&key(), &session.id).await;
        assert_eq!(looked_at, Answer::Done(session));
    }

    #[tokio::test]
    async fn the_same_key_opens_one_session_and_other_terms_are_refused() {
        let town = Town::with([]);
        let first = opened(&town).await;
        assert_eq!(opened(&town).await, first);
        assert_eq!(town.sessions(), 1);
        let mut other = new_session("k");
        other.description = "something else";
        let Answer::Refused(refusal) = town.provider().create_session(&key(), &other).await else {
            panic!();
        };
        assert_eq!(refusal.kind, "idempotency_error");
    }

    #[tokio::test]
    async fn a_bad_parameter_a_bad_key_and_an_unknown_session_are_refused() {
        let town = Town::with([]);
        let mut late = new_session("k");
        late.expires_at = now();
        let Answer::Refused(refusal) = town.provider().create_session(&key(), &late).await else {
            panic!();
        };
        assert_eq!(
            (refusal.status, refusal.param.as_deref()),
            (Some(400), Some("expires_at"))
        );
        let wrong = Secret::new("rk_test_other");
        let Answer::Refused(refusal) = town
            .provider()
            .create_session(&wrong, &new_session("k"))
            .await
        else {
            panic!();
        };
        assert_eq!(refusal.status, Some(401));
        for id in ["cs_none", "../../charges/x?y"] {
            let Answer::Refused(refusal) = town.provider().session(&key(), id).await else {
                panic!();
            };
            assert_eq!(refusal.code.as_deref(), Some("resource_missing"));
            assert!(matches!(
                town.provider().expire_session(&key(), id).await,
                Answer::Refused(_)
            ));
        }
        assert_eq!(town.sessions(), 0);
    }

    #[tokio::test]
    async fn an_amount_that_the_provider_cannot_charge_is_refused_unsent() {
        let town = Town::with([]);
        let mut session = new_session("k");
        let dinar = r#"{"amount":1001,"currency":"KWD"}"#;
        session.amount = serde_json::from_str(dinar).unwrap();
        let Answer::Refused(refusal) = town.provider().create_session(&key(), &session).await
        else {
            panic!();
        };
        assert_eq!(
            (refusal.status, refusal.param.as_deref()),
            (None, Some("amount"))
        );
        assert!(town.sent().is_empty());
    }

    #[tokio::test]
    async fn expiring_tells_who_was_faster() {
        let town = Town::with([]);
        let session = opened(&town).await;
        for _ in 0..2 {
            let answer = town.provider().expire_session(&key(), &session.id).await;
            assert_eq!(answer, Answer::Done(Expiry::Expired));
        }
        let town = Town::with([]);
        let session = opened(&town).await;
        town.pay(&session.id);
        let answer = town.provider().expire_session(&key(), &session.id).await;
        let Answer::Done(Expiry::Complete(session)) = answer else {
            panic!();
        };
        assert_eq!(session.payment_status, PaymentStatus::Paid);
    }

    #[tokio::test]
    async fn expiring_survives_a_lost_answer() {
        let town = Town::with([]);
        let session = opened(&town).await;
        town.break_next(Fault::AnswerLost);
        let answer = town.provider().expire_session(&key(), &session.id).await;
        assert_eq!(answer, Answer::Done(Expiry::Expired));
    }

    #[tokio::test]
    async fn an_answer_that_is_lost_every_time_is_unknown_and_the_key_finds_it_later() {
        let town = Town::with([Fault::AnswerLost, Fault::AnswerLost, Fault::AnswerLost]);
        let answer = town
            .provider()
            .create_session(&key(), &new_session("k"))
            .await;
        let Answer::Unknown(doubt) = answer else {
            panic!("{answer:?}");
        };
        assert!(matches!(doubt.reason, Reason::NoAnswer(_)));
        assert_eq!(town.sessions(), 1);
        let found = opened(&town).await;
        assert_eq!(town.sessions(), 1);
        assert_eq!(found.status, SessionStatus::Open);
    }
}
