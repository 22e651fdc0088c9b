//! What the provider is asked before a decision: the live invoice, and for a charge also what would
//! be charged and what was charged to that card before.

use std::future::Future;

use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::Failure;
use paidonce_core::dunning::{CardSeen, Dunning, Errand, InvoiceStatus, Sight};
use paidonce_core::money::Money;
use paidonce_core::planted::{self, Defect};
use provider::{Answer, Charges, PaymentMethod, Secret, Subscription, SubscriptionStatus};

use crate::Retrier;
use crate::live::{card_failure, card_of, deleted, past_charges, sight_of};

/// The longest stretch over which a network counts declines.
const CHARGES_SINCE: TimeDelta = TimeDelta::days(30);

/// What was seen before a charge.
pub(crate) enum Seen {
    Invoice(Box<Sight>),
    /// The subscription has ended, and its invoice is not to be charged any more.
    Cancelled,
}

impl Retrier {
    /// Reads the live invoice.
    ///
    /// # Errors
    /// If the provider did not say how it stands.
    pub(crate) async fn invoice_of(
        &self,
        row: &Dunning,
        errand: &Errand,
        now: DateTime<Utc>,
    ) -> Result<Box<Sight>, Failure> {
        if let Some(sight) = self.live_invoice(&errand.invoice_id, now).await? {
            return Ok(Box::new(sight));
        }
        let subscription = self.subscription_of(row, now).await?;
        missing(row, errand, subscription.as_ref()).map(Box::new)
    }

    /// Reads the live invoice of a charge that is open, and whether anybody still wants it.
    ///
    /// # Errors
    /// If the provider did not say it.
    pub(crate) async fn invoice_and_subscription(
        &self,
        row: &Dunning,
        errand: &Errand,
        now: DateTime<Utc>,
    ) -> Result<Box<Sight>, Failure> {
        let mut sight = self.invoice_of(row, errand, now).await?;
        if sight.status == InvoiceStatus::Open {
            let subscription = self.subscription_of(row, now).await?;
            sight.subscription_ended = subscription.as_ref().is_none_or(has_ended);
        }
        Ok(sight)
    }

    /// Reads all that the decision to charge needs.
    ///
    /// # Errors
    /// If the provider did not say it: nothing is charged on half a view.
    pub(crate) async fn all_of(
        &self,
        row: &Dunning,
        errand: &Errand,
        now: DateTime<Utc>,
    ) -> Result<Seen, Failure> {
        let (invoice, subscription) = tokio::join!(
            self.live_invoice_with_card(&errand.invoice_id, now),
            self.subscription_of(row, now)
        );
        let (invoice, subscription) = (invoice?, subscription?);
        let Some((mut sight, own_card)) = invoice else {
            let sight = missing(row, errand, subscription.as_ref())?;
            return Ok(Seen::Invoice(Box::new(sight)));
        };
        let Some(subscription) = subscription else {
            return Err("the provider does not know the subscription of its invoice".into());
        };
        let is_over = !matches!(sight.status, InvoiceStatus::Draft | InvoiceStatus::Open);
        if is_over && !planted::is(Defect::PaidChargedAgain) {
            return Ok(Seen::Invoice(Box::new(sight)));
        }
        if has_ended(&subscription) && !planted::is(Defect::CancelledCharged) {
            return Ok(Seen::Cancelled);
        }
        let charged = row.new_card.clone().or(own_card);
        let charged = charged
            .or(subscription.default_payment_method)
            .or(subscription.customer_default_payment_method);
        if let Some(charged) = charged {
            let (method, charges) = tokio::join!(
                self.payment_method(&charged, now),
                self.charges_of(&subscription.customer, now)
            );
            // One of an older kind can be charged, but not looked at.
            let card = method?.as_ref().map_or_else(|| unseen(charged), card_of);
            let charges = charges?;
            sight.card_failure = card_failure(&charges, &card);
            sight.charges = past_charges(&charges);
            sight.card = Some(card);
        }
        Ok(Seen::Invoice(Box::new(sight)))
    }

    pub(crate) async fn live_invoice(
        &self,
        invoice_id: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Sight>, Failure> {
        let seen = self.live_invoice_with_card(invoice_id, now).await?;
        Ok(seen.map(|(sight, _)| sight))
    }

    /// Reads an invoice and the payment method of its own; `None` if it is not there.
    async fn live_invoice_with_card(
        &self,
        invoice_id: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<(Sight, Option<String>)>, Failure> {
        let call = |key| async move { self.provider.invoice(&key, invoice_id).await };
        let invoice = known("the invoice", self.ask(now, call).await?)?;
        Ok(invoice.map(|invoice| (sight_of(&invoice), invoice.default_payment_method)))
    }

    async fn subscription_of(
        &self,
        row: &Dunning,
        now: DateTime<Utc>,
    ) -> Result<Option<Subscription>, Failure> {
        let id = row.subscription_id.as_str();
        let call = |key| async move { self.provider.subscription(&key, id).await };
        known("the subscription", self.ask(now, call).await?)
    }

    async fn payment_method(
        &self,
        id: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<PaymentMethod>, Failure> {
        let call = |key| async move { self.provider.payment_method(&key, id).await };
        known("the payment method", self.ask(now, call).await?)
    }

    async fn charges_of(&self, customer: &str, now: DateTime<Utc>) -> Result<Charges, Failure> {
        let since = now - CHARGES_SINCE;
        let call = |key| async move {
            self.provider
                .charges_of_customer(&key, customer, since)
                .await
        };
        let charges = known("the charges", self.ask(now, call).await?)?;
        Ok(charges.ok_or("the provider does not know the customer")?)
    }

    /// Calls the provider; a second time with the secret read anew if the key is not let in.
    pub(crate) async fn ask<T, Fut: Future<Output = Answer<T>>>(
        &self,
        now: DateTime<Utc>,
        call: impl Fn(Secret) -> Fut,
    ) -> Result<Answer<T>, Failure> {
        let secret = self.provider_key.get(now).await?;
        let answer = call(Secret::new(secret.current())).await;
        let is_locked_out =
            matches!(&answer, Answer::Refused(refusal) if refusal.status == Some(401));
        if !is_locked_out {
            return Ok(answer);
        }
        let fresh = self.provider_key.refreshed(now).await?;
        if fresh.current() == secret.current() {
            return Ok(answer);
        }
        Ok(call(Secret::new(fresh.current())).await)
    }
}

/// What a lookup found, or `None` if it is not there.
fn known<T>(what: &str, answer: Answer<T>) -> Result<Option<T>, Failure> {
    match answer {
        Answer::Done(found) => Ok(Some(found)),
        Answer::Refused(refusal) if refusal.status == Some(404) => Ok(None),
        Answer::Refused(refusal) => {
            let code = refusal.code.unwrap_or(refusal.kind);
            tracing::error!(code, "The provider refused to show {what}");
            Err(format!("the provider refused to show {what}: {code}").into())
        }
        Answer::Unknown(doubt) => {
            Err(format!("the provider did not show {what}: {:?}", doubt.reason).into())
        }
    }
}

/// An invoice that is gone counts as voided, but only if the provider knows its subscription: a key
/// of another account would find none of them.
fn missing(
    row: &Dunning,
    errand: &Errand,
    subscription: Option<&Subscription>,
) -> Result<Sight, Failure> {
    let invoice_id = &errand.invoice_id;
    if subscription.is_none() {
        return Err("the provider knows neither the invoice nor its subscription".into());
    }
    tracing::warn!(invoice.id = %invoice_id, "Invoice `{invoice_id}` is not there any more");
    let debt = row.invoices.get(invoice_id).map(|debt| debt.amount);
    let amount: Option<Money> = debt.or(row.attempt.as_ref().map(|attempt| attempt.amount));
    let amount = amount.ok_or("an invoice is planned for that is not on the row")?;
    Ok(deleted(amount))
}

fn unseen(payment_method: String) -> CardSeen {
    CardSeen {
        payment_method,
        fingerprint: None,
        network: None,
        country: None,
        kind: "source".to_owned(),
    }
}

fn has_ended(subscription: &Subscription) -> bool {
    match subscription.status {
        SubscriptionStatus::Canceled | SubscriptionStatus::IncompleteExpired => true,
        SubscriptionStatus::Incomplete
        | SubscriptionStatus::Trialing
        | SubscriptionStatus::Active
        | SubscriptionStatus::PastDue
        | SubscriptionStatus::Unpaid
        | SubscriptionStatus::Paused => false,
    }
}
