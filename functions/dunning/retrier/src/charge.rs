//! The charge itself: the one call that takes money, under the key of its claim, and its outcome.

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Function, count};
use paidonce_core::dunning::{Attempt, Carried, Command, Dunning, Outcome};
use paidonce_core::planted::{self, Defect};
use provider::{Answer, PayInvoice, PayOutcome};

use crate::Retrier;
use crate::live::failure_seen;

impl Retrier {
    /// Charges what is claimed, and writes what came of it.
    ///
    /// # Errors
    /// If the outcome could not be written. Lambda's next try asks again under the same key.
    pub(crate) async fn charge(
        &self,
        row: Dunning,
        attempt: &Attempt,
        now: DateTime<Utc>,
    ) -> Result<&'static str, Failure> {
        self.put_card_in_place(&row, attempt, now).await?;
        let answer = self.pay(attempt, now).await?;
        let is_locked_out = matches!(answer, PayOutcome::Unauthorised(_));
        let outcome = self.outcome_of(attempt, answer, now).await;
        let (did, metric) = match &outcome {
            Outcome::Captured => ("captured", "charges_captured"),
            Outcome::Declined(_) | Outcome::TooSmall | Outcome::Refused { .. } => {
                ("declined", "charge_declined")
            }
            Outcome::NotTried => ("not_tried", "charge_not_tried"),
            Outcome::Processing => ("processing", "charge_processing"),
            Outcome::NotOpen(_) => ("overtaken", "charge_overtaken"),
            Outcome::Unanswered => ("unanswered", "charge_unanswered"),
        };
        let settle = Command::Settle {
            n: attempt.n,
            outcome,
        };
        match self.order(row, settle, now).await? {
            Carried::Moved(_) => {
                count(Self::NAME, metric, 1);
                // Nothing is taken until somebody puts the key right: it must be heard of.
                if is_locked_out {
                    return Err("the provider's key may not charge".into());
                }
                Ok(did)
            }
            // Another run asked under the same key, and has written the same outcome.
            Carried::Rejected(..) => Ok("settled"),
            Carried::Missing => Err("the subscription is gone".into()),
            Carried::Guarded(_) => Err("a step without guards was stopped by one".into()),
            Carried::Contended => Err("others kept writing".into()),
        }
    }

    /// Makes a new card the subscription's own, so that the next renewal charges it, too.
    ///
    /// A failure stops nothing: the charge names the card.
    async fn put_card_in_place(
        &self,
        row: &Dunning,
        attempt: &Attempt,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let Some(card) = &attempt.payment_method else {
            return Ok(());
        };
        let id = row.subscription_id.as_str();
        let idempotency_key = &format!("{}-card", attempt.key);
        let call = |key| async move {
            let provider = &self.provider;
            provider
                .set_subscription_card(&key, id, card, idempotency_key)
                .await
        };
        let why = match self.ask(now, call).await? {
            Answer::Done(_) => return Ok(()),
            Answer::Refused(refusal) => refusal.code.unwrap_or(refusal.kind),
            Answer::Unknown(doubt) => format!("{:?}", doubt.reason),
        };
        count(Self::NAME, "card_not_set", 1);
        tracing::warn!(subscription.id = %id, why, "The new card of `{id}` is not the subscription's yet");
        Ok(())
    }

    async fn pay(&self, attempt: &Attempt, now: DateTime<Utc>) -> Result<PayOutcome, Failure> {
        let mut idempotency_key = attempt.key.clone();
        if planted::is(Defect::ChargeKeyPerTry) {
            idempotency_key.push_str(&self.entropy.ulid(now).to_string());
        }
        let payment = &PayInvoice {
            invoice_id: &attempt.invoice_id,
            payment_method: attempt.payment_method.as_deref(),
            idempotency_key: &idempotency_key,
        };
        let call = |key| async move { self.provider.pay_invoice(&key, payment).await };
        Ok(PayOutcome::of(self.ask(now, call).await?))
    }

    async fn outcome_of(
        &self,
        attempt: &Attempt,
        answer: PayOutcome,
        now: DateTime<Utc>,
    ) -> Outcome {
        let invoice_id = &attempt.invoice_id;
        match answer {
            PayOutcome::Captured(_) => Outcome::Captured,
            PayOutcome::Processing(_) => Outcome::Processing,
            PayOutcome::Declined { failure, .. } => {
                Outcome::Declined(Box::new(failure_seen(&failure, false)))
            }
            PayOutcome::NeedsAction { failure, .. } => {
                Outcome::Declined(Box::new(failure_seen(&failure, true)))
            }
            PayOutcome::NotOpen => self.overtaken(invoice_id, now).await,
            PayOutcome::TooSmall => Outcome::TooSmall,
            PayOutcome::Refused(refusal) => {
                let code = refusal.code.unwrap_or(refusal.kind);
                tracing::error!(invoice.id = %invoice_id, code, "The charge of `{invoice_id}` was refused");
                Outcome::Refused { code }
            }
            // Nobody was charged: it can be tried another day, once the key is put right.
            PayOutcome::Unauthorised(_) => {
                tracing::error!(invoice.id = %invoice_id, "The provider's key may not charge `{invoice_id}`");
                count(Self::NAME, "retrier_failures", 1);
                Outcome::NotTried
            }
            PayOutcome::Unknown(_) if planted::is(Defect::ChargeTimeoutDeclined) => {
                Outcome::Declined(Box::default())
            }
            PayOutcome::Unknown(doubt) => {
                tracing::warn!(invoice.id = %invoice_id, ?doubt, "The charge of `{invoice_id}` was not answered");
                Outcome::Unanswered
            }
        }
    }

    /// Somebody was faster: how the invoice stands now says who.
    async fn overtaken(&self, invoice_id: &str, now: DateTime<Utc>) -> Outcome {
        match self.live_invoice(invoice_id, now).await {
            Ok(Some(sight)) => Outcome::NotOpen(Box::new(sight)),
            Ok(None) => Outcome::Unanswered,
            Err(error) => {
                tracing::warn!(invoice.id = %invoice_id, %error, "`{invoice_id}` could not be looked up");
                Outcome::Unanswered
            }
        }
    }
}
