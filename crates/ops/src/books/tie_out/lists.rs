//! What the provider lists, read to the end.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::{DateTime, TimeDelta, Utc};
use paidonce_core::money::Money;
use paidonce_core::refund::RefundStatus;
use provider::{Answer, Charge, ChargeStatus, Dispute, Page, Provider, Refund, Secret};

use super::super::Period;
use crate::OpsError;

/// How long before it is collected a payment may have been begun: a bank debit takes days.
const BEGUN_BEFORE: TimeDelta = TimeDelta::days(15);
/// The provider counts in seconds, and so does an edge.
const MARGIN: TimeDelta = TimeDelta::days(1);
/// The most pages of one list: half a million objects.
const PAGES_MAX: usize = 5_000;
/// Our booking ids: `bkg_` and a ULID.
const BOOKING_ID_BYTES: usize = 30;

/// An object of the provider, as far as it is compared.
#[derive(Clone, Debug)]
pub struct Provided {
    pub amount: Money,
    pub status: String,
    pub created: DateTime<Utc>,
    pub payment_ref: Option<String>,
    /// By its own metadata.
    pub booking_id: Option<String>,
    /// Of a dispute: what the provider keeps for it, and whether the money is gone.
    pub fee_minor: i64,
    pub withdrawn: bool,
    /// Of a refund: our key, by its metadata.
    pub key: Option<String>,
}

/// What the provider has of a period: payments by the PaymentIntent, the others by their own id.
#[derive(Debug, Default)]
pub struct Listed {
    pub charges: BTreeMap<String, Provided>,
    pub refunds: BTreeMap<String, Provided>,
    pub disputes: BTreeMap<String, Provided>,
    /// Collected charges without a PaymentIntent: nothing that we make.
    pub strange: u64,
}

impl Listed {
    /// Reads the provider's lists.
    ///
    /// # Errors
    /// A page that was refused, or not answered: half a list would be taken for the whole.
    pub async fn of(provider: &Provider, key: &Secret, period: &Period) -> Result<Self, OpsError> {
        let Range { start, end } = period.range();
        let mut listed = Self::default();
        let wide = (start - BEGUN_BEFORE)..(end + MARGIN);
        let mut after: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let page = provider.charge_page(key, &wide, after.as_deref()).await;
            after = listed.take(done("charges", page)?, Self::charge);
            if after.is_none() {
                break;
            }
        }
        refuse_more("charges", after.as_ref())?;
        let range = (start - MARGIN)..(end + MARGIN);
        let mut after: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let page = provider.refund_page(key, &range, after.as_deref()).await;
            after = listed.take(done("refunds", page)?, Self::refund);
            if after.is_none() {
                break;
            }
        }
        refuse_more("refunds", after.as_ref())?;
        let mut after: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let page = provider.dispute_page(key, &range, after.as_deref()).await;
            after = listed.take(done("disputes", page)?, Self::dispute);
            if after.is_none() {
                break;
            }
        }
        refuse_more("disputes", after.as_ref())?;
        Ok(listed)
    }

    fn take<T>(&mut self, page: Page<T>, note: impl Fn(&mut Self, T)) -> Option<String> {
        for item in page.items {
            note(self, item);
        }
        page.next
    }

    /// A charge that failed took nothing, and one that is pending has not taken anything yet.
    fn charge(&mut self, charge: Charge) {
        if charge.status != ChargeStatus::Succeeded || charge.amount_captured.minor() == 0 {
            return;
        }
        let Some(payment_ref) = charge.payment_intent.clone() else {
            self.strange += 1;
            return;
        };
        let provided = Provided {
            booking_id: ours(&charge.metadata),
            payment_ref: Some(payment_ref.clone()),
            ..Provided::of(charge.amount_captured, "succeeded", charge.created)
        };
        self.charges.insert(payment_ref, provided);
    }

    fn refund(&mut self, refund: Refund) {
        let provided = Provided {
            booking_id: ours(&refund.metadata),
            payment_ref: refund.payment_intent,
            key: refund.metadata.get("refund_key").cloned(),
            ..Provided::of(refund.amount, &status_name(&refund.status), refund.created)
        };
        self.refunds.insert(refund.id, provided);
    }

    fn dispute(&mut self, dispute: Dispute) {
        let provided = Provided {
            payment_ref: dispute.payment_intent,
            fee_minor: dispute.fee.map_or(0, Money::minor),
            withdrawn: dispute.funds_withdrawn,
            ..Provided::of(dispute.amount, dispute.status.as_str(), dispute.created)
        };
        self.disputes.insert(dispute.id, provided);
    }

    /// The id of the refund that carries a key of ours.
    pub(super) fn refund_of_key(&self, key: &str) -> Option<String> {
        let mut refunds = self.refunds.iter();
        let found = refunds.find(|(_, refund)| refund.key.as_deref() == Some(key));
        found.map(|(id, _)| id.clone())
    }
}

impl Provided {
    fn of(amount: Money, status: &str, created: DateTime<Utc>) -> Self {
        Self {
            amount,
            status: status.to_owned(),
            created,
            payment_ref: None,
            booking_id: None,
            fee_minor: 0,
            withdrawn: false,
            key: None,
        }
    }
}

pub(super) fn status_name(status: &RefundStatus) -> String {
    match status {
        RefundStatus::Pending => "pending",
        RefundStatus::RequiresAction => "requires_action",
        RefundStatus::Succeeded => "succeeded",
        RefundStatus::Canceled => "canceled",
        RefundStatus::Failed => "failed",
    }
    .to_owned()
}

fn ours(metadata: &BTreeMap<String, String>) -> Option<String> {
    let id = metadata.get("booking_id")?;
    (id.starts_with("bkg_") && id.len() == BOOKING_ID_BYTES).then(|| id.clone())
}

fn done<T>(list: &'static str, answer: Answer<T>) -> Result<T, OpsError> {
    let reason = match answer {
        Answer::Done(page) => return Ok(page),
        Answer::Refused(refusal) => {
            let code = refusal.code.unwrap_or(refusal.kind);
            format!("refused ({code})")
        }
        Answer::Unknown(doubt) => format!("no answer ({:?})", doubt.reason),
    };
    Err(OpsError::Provider { list, reason })
}

fn refuse_more(list: &'static str, after: Option<&String>) -> Result<(), OpsError> {
    match after {
        None => Ok(()),
        Some(_) => Err(OpsError::Provider {
            list,
            reason: format!("there are more than {PAGES_MAX} pages"),
        }),
    }
}
