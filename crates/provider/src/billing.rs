//! Billing: invoices and their payment, subscriptions and what they charge.

use chrono::{DateTime, Utc};

use crate::invoice::PAYMENTS;
use crate::object::{self, Object};
use crate::subscription::{self, CUSTOMER};
use crate::wire::Call;
use crate::{
    Answer, Charge, Invoice, NewPortal, Page, PayInvoice, PaymentMethod, PortalSession, Provider,
    Secret, Subscription,
};

/// A customer who is charged more often than that is not looked at further.
const CHARGE_PAGES_MAX: usize = 5;

/// Charges of one customer, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charges {
    pub charges: Vec<Charge>,
    /// Whether these are all; otherwise older ones are missing.
    pub complete: bool,
}

impl Provider {
    /// Looks at an invoice and the payments towards it. One that doesn't exist is refused as
    /// `resource_missing`.
    pub async fn invoice(&self, key: &Secret, id: &str) -> Answer<Invoice> {
        let path = object::expanded_path::<Invoice>(id, PAYMENTS);
        Answer::read(self.get(key, path).await, object::one)
    }

    /// Asks the provider to charge what is open of an invoice, now and without the customer.
    ///
    /// [`crate::PayOutcome::of`] says what the answer means. The same attempt under the same key is
    /// made once in 24 hours, however often this is called, and its first result comes again,
    /// a decline too: a new attempt needs a new key, and whoever asks again later than that looks at
    /// the invoice first. Done does not mean that it is paid: see its status.
    pub async fn pay_invoice(&self, key: &Secret, payment: &PayInvoice<'_>) -> Answer<Invoice> {
        let call = Call {
            path: format!("{}/pay", object::path::<Invoice>(payment.invoice_id)),
            form: Some(payment.form()),
            key: key.clone(),
            idempotency_key: Some(payment.idempotency_key.to_owned()),
        };
        let reply = self.wire.send(call).await;
        let replayed = reply.as_ref().is_ok_and(|reply| reply.replayed);
        Answer::read(reply, object::one).map(|invoice: Invoice| Invoice {
            replayed,
            ..invoice
        })
    }

    /// Returns up to 100 open invoices that are charged automatically, the newest first, without
    /// the payments towards them.
    ///
    /// `after` is the [`Page::next`] of the page before.
    pub async fn open_invoices(&self, key: &Secret, after: Option<&str>) -> Answer<Page<Invoice>> {
        let query = [
            ("status", "open"),
            ("collection_method", "charge_automatically"),
        ];
        let path = object::page_path::<Invoice>(&query, after);
        self.page(key, path).await
    }

    /// Looks at a subscription and its customer's default payment method. One that doesn't exist
    /// is refused as `resource_missing`.
    pub async fn subscription(&self, key: &Secret, id: &str) -> Answer<Subscription> {
        let path = object::expanded_path::<Subscription>(id, CUSTOMER);
        Answer::read(self.get(key, path).await, object::one)
    }

    /// Makes a payment method of the customer the one that a subscription charges first.
    ///
    /// It charges nothing. A method of somebody else is refused.
    pub async fn set_subscription_card(
        &self,
        key: &Secret,
        subscription_id: &str,
        payment_method: &str,
        idempotency_key: &str,
    ) -> Answer<Subscription> {
        let call = Call {
            path: object::path::<Subscription>(subscription_id),
            form: Some(subscription::card_form(payment_method)),
            key: key.clone(),
            idempotency_key: Some(idempotency_key.to_owned()),
        };
        Answer::read(self.wire.send(call).await, object::one)
    }

    /// Looks at a payment method. One that doesn't exist is refused as `resource_missing`.
    pub async fn payment_method(&self, key: &Secret, id: &str) -> Answer<PaymentMethod> {
        let path = object::path::<PaymentMethod>(id);
        Answer::read(self.get(key, path).await, object::one)
    }

    /// Returns what a customer was charged since a time, whoever asked for it and whether it
    /// failed or not: 500 charges at most, the newest first.
    pub async fn charges_of_customer(
        &self,
        key: &Secret,
        customer: &str,
        since: DateTime<Utc>,
    ) -> Answer<Charges> {
        let since = since.timestamp().to_string();
        let query = [("customer", customer), ("created[gte]", since.as_str())];
        let pages = self.pages(key, &query, CHARGE_PAGES_MAX).await;
        pages.map(|(charges, complete)| Charges { charges, complete })
    }

    /// Opens the provider's page on which a customer changes the card.
    ///
    /// The answer's address lets whoever has it act as the customer, so it goes to nobody else.
    pub async fn portal_session(
        &self,
        key: &Secret,
        portal: &NewPortal<'_>,
    ) -> Answer<PortalSession> {
        let call = Call {
            path: PortalSession::LIST.to_owned(),
            form: Some(portal.form()),
            key: key.clone(),
            idempotency_key: Some(portal.idempotency_key.to_owned()),
        };
        Answer::read(self.wire.send(call).await, object::one)
    }
}

#[cfg(test)]
mod tests;
