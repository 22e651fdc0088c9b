//! Charges as the API shows them: what was taken, and what went back.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use paidonce_core::money::Money;
use serde::Deserialize;

use crate::object::{Object, instant, is_a, money};

/// A Charge: one attempt to take money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    pub id: String,
    pub payment_intent: Option<String>,
    pub status: ChargeStatus,
    /// Whether the money was taken, or will be if it is captured.
    pub paid: bool,
    /// Nothing of a charge that failed.
    pub amount_captured: Money,
    /// By refunds that have not failed. What a bank took in a dispute is not in it.
    pub amount_refunded: Money,
    /// Whether a bank ever disputed it or asked about it, whatever came of that.
    pub disputed: bool,
    pub created: DateTime<Utc>,
    /// That of the payment, as it was when the charge was made.
    pub metadata: BTreeMap<String, String>,
    pub livemode: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChargeStatus {
    Succeeded,
    Pending,
    Failed,
}

#[derive(Deserialize)]
pub(crate) struct Wire {
    id: String,
    object: String,
    payment_intent: Option<String>,
    status: ChargeStatus,
    paid: bool,
    amount_captured: i64,
    amount_refunded: i64,
    currency: String,
    disputed: bool,
    created: i64,
    metadata: Option<BTreeMap<String, String>>,
    livemode: bool,
}

impl Object for Charge {
    type Wire = Wire;
    const LIST: &'static str = "/v1/charges";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<Wire> for Charge {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        is_a("charge", &wire.object)?;
        Ok(Self {
            id: wire.id,
            payment_intent: wire.payment_intent,
            status: wire.status,
            paid: wire.paid,
            amount_captured: money(wire.amount_captured, &wire.currency)?,
            amount_refunded: money(wire.amount_refunded, &wire.currency)?,
            disputed: wire.disputed,
            created: instant(wire.created)?,
            metadata: wire.metadata.unwrap_or_default(),
            livemode: wire.livemode,
        })
    }
}
