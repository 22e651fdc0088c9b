//! What becomes of money that has arrived: refunds, disputes, and the lists to check books against.

use std::ops::Range;

use chrono::{DateTime, Utc};

use crate::object::{self, Object};
use crate::wire::Call;
use crate::{
    Answer, Charge, Dispute, Doubt, NewRefund, Page, Provider, Reason, Refund, Refusal, Secret,
};

/// One payment has no more refunds than fit on that many pages.
const REFUND_PAGES_MAX: usize = 10;

impl Provider {
    /// Gives money back.
    ///
    /// Done means that the refund exists, not that the customer has the money: see its status. The
    /// same refund under the same key is made once in 24 hours, however often this is called;
    /// whoever asks again later than that looks at [`Provider::refunds_of`] first. Refused is, by
    /// `code`, what was refunded before (`charge_already_refunded`) or taken by the customer's bank
    /// (`charge_disputed`), and by `param` more than is left (`amount`).
    pub async fn create_refund(&self, key: &Secret, refund: &NewRefund<'_>) -> Answer<Refund> {
        let form = match refund.form() {
            Ok(form) => form,
            Err(error) => return Answer::Refused(Refusal::here("amount", error.to_string())),
        };
        let call = Call {
            path: Refund::LIST.to_owned(),
            form: Some(form),
            key: key.clone(),
            idempotency_key: Some(refund.idempotency_key.to_owned()),
        };
        Answer::read(self.wire.send(call).await, object::one)
    }

    /// Returns all refunds of a PaymentIntent, whoever made them, the newest first.
    ///
    /// Never some of them: if they are too many to be read, they are not known.
    pub async fn refunds_of(&self, key: &Secret, payment_ref: &str) -> Answer<Vec<Refund>> {
        let query = [("payment_intent", payment_ref)];
        match self.pages(key, &query, REFUND_PAGES_MAX).await {
            Answer::Done((refunds, true)) => Answer::Done(refunds),
            Answer::Done((_, false)) => {
                let reason = format!("there are more than {REFUND_PAGES_MAX} pages of refunds");
                Answer::Unknown(Doubt::new(Reason::Unreadable(reason), None))
            }
            Answer::Refused(refusal) => Answer::Refused(refusal),
            Answer::Unknown(doubt) => Answer::Unknown(doubt),
        }
    }

    /// Returns up to 100 charges that were created in a range of time, the newest first.
    ///
    /// `after` is the [`Page::next`] of the page before.
    pub async fn charge_page(
        &self,
        key: &Secret,
        created: &Range<DateTime<Utc>>,
        after: Option<&str>,
    ) -> Answer<Page<Charge>> {
        self.page(key, object::created_path::<Charge>(created, after))
            .await
    }

    /// Returns up to 100 refunds that were created in a range of time, as
    /// [`Provider::charge_page`] does. They may be of older charges.
    pub async fn refund_page(
        &self,
        key: &Secret,
        created: &Range<DateTime<Utc>>,
        after: Option<&str>,
    ) -> Answer<Page<Refund>> {
        self.page(key, object::created_path::<Refund>(created, after))
            .await
    }

    /// Returns up to 100 disputes that were created in a range of time, as
    /// [`Provider::charge_page`] does. They are of older charges.
    pub async fn dispute_page(
        &self,
        key: &Secret,
        created: &Range<DateTime<Utc>>,
        after: Option<&str>,
    ) -> Answer<Page<Dispute>> {
        self.page(key, object::created_path::<Dispute>(created, after))
            .await
    }

    /// Looks at a dispute. One that doesn't exist is refused as `resource_missing`.
    pub async fn dispute(&self, key: &Secret, id: &str) -> Answer<Dispute> {
        let path = object::path::<Dispute>(id);
        Answer::read(self.get(key, path).await, object::one)
    }

    pub(crate) async fn page<T: Object>(&self, key: &Secret, path: String) -> Answer<Page<T>> {
        Answer::read(self.get(key, path).await, object::page)
    }

    /// Returns what fits `query`, the newest first, from so many pages at most, and whether that
    /// is all. A page that doesn't come makes all of it unknown.
    pub(crate) async fn pages<T: Object>(
        &self,
        key: &Secret,
        query: &[(&str, &str)],
        pages_max: usize,
    ) -> Answer<(Vec<T>, bool)> {
        let mut items = Vec::new();
        let mut after = None;
        for _ in 0..pages_max {
            let path = object::page_path::<T>(query, after.as_deref());
            let page = match self.page(key, path).await {
                Answer::Done(page) => page,
                Answer::Refused(refusal) => return Answer::Refused(refusal),
                Answer::Unknown(doubt) => return Answer::Unknown(doubt),
            };
            items.extend(page.items);
            if page.next.is_none() {
                return Answer::Done((items, true));
            }
            after = page.next;
        }
        Answer::Done((items, false))
    }
}

#[cfg(test)]
mod tests;
