//! Disputes as the API shows them.

use chrono::{DateTime, Utc};
use paidonce_core::dispute::DisputeStatus;
use paidonce_core::money::Money;
use serde::Deserialize;

use crate::object::{Object, instant, is_a, money};

/// A Dispute of a charge, or an inquiry about one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispute {
    pub id: String,
    pub payment_intent: Option<String>,
    pub charge: String,
    /// Usually all of the charge, also if part of it was refunded before.
    pub amount: Money,
    pub status: DisputeStatus,
    /// Such as `fraudulent` or `product_not_received`; banks add to the list.
    pub reason: String,
    /// When evidence must be there; nothing if the bank takes none.
    pub due_by: Option<DateTime<Utc>>,
    pub created: DateTime<Utc>,
    /// Whether the money is gone from the balance now: taken, and not given back.
    pub funds_withdrawn: bool,
    /// What the provider keeps for it, in the currency of the balance; nothing if no money moved.
    pub fee: Option<Money>,
    pub livemode: bool,
}

#[derive(Deserialize)]
pub(crate) struct Wire {
    id: String,
    object: String,
    payment_intent: Option<String>,
    charge: String,
    amount: i64,
    currency: String,
    status: DisputeStatus,
    reason: String,
    evidence_details: EvidenceDetails,
    created: i64,
    balance_transactions: Vec<Movement>,
    livemode: bool,
}

#[derive(Deserialize)]
struct EvidenceDetails {
    due_by: Option<i64>,
}

/// Money that moved in or out of the balance because of a dispute.
#[derive(Deserialize)]
struct Movement {
    amount: i64,
    fee: i64,
    currency: String,
}

impl Object for Dispute {
    type Wire = Wire;
    const LIST: &'static str = "/v1/disputes";

    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<Wire> for Dispute {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        is_a("dispute", &wire.object)?;
        let movements = &wire.balance_transactions;
        // The API writes 0 if there is nothing to wait for.
        let due_by = wire.evidence_details.due_by.filter(|seconds| *seconds != 0);
        Ok(Self {
            id: wire.id,
            payment_intent: wire.payment_intent,
            charge: wire.charge,
            amount: money(wire.amount, &wire.currency)?,
            status: wire.status,
            reason: wire.reason,
            due_by: due_by.map(instant).transpose()?,
            created: instant(wire.created)?,
            funds_withdrawn: sum(movements.iter().map(|it| it.amount))? < 0,
            fee: fee(movements)?,
            livemode: wire.livemode,
        })
    }
}

/// Adds what was taken and what was given back of the fee.
fn fee(movements: &[Movement]) -> Result<Option<Money>, String> {
    let Some(first) = movements.first() else {
        return Ok(None);
    };
    if movements.iter().any(|it| it.currency != first.currency) {
        return Err("a dispute moved money in two currencies".to_owned());
    }
    let total = sum(movements.iter().map(|it| it.fee))?;
    money(total, &first.currency).map(Some)
}

fn sum(mut amounts: impl Iterator<Item = i64>) -> Result<i64, String> {
    amounts
        .try_fold(0_i64, i64::checked_add)
        .ok_or_else(|| "the amounts are too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;
    use serde_json::{Value, json};

    fn parse(movements: Value, change: impl FnOnce(&mut Value)) -> Result<Dispute, String> {
        let mut value = json!({
            "amount": 1000, "balance_transactions": movements, "charge": "ch_1",
            "created": 1_234_567_890, "currency": "usd", "evidence": { "receipt": null },
            "evidence_details": { "due_by": 1_723_679_999, "has_evidence": false },
            "id": "du_1", "livemode": false, "metadata": {}, "object": "dispute",
            "payment_intent": null, "reason": "general", "status": "lost",
        });
        change(&mut value);
        object::one(value.to_string().as_bytes())
    }

    fn movement(amount: i64, fee: i64, currency: &str) -> Value {
        json!({ "amount": amount, "fee": fee, "currency": currency, "type": "adjustment" })
    }

    #[test]
    fn the_fee_is_in_the_currency_of_the_balance() {
        let taken = movement(-800, 1500, "gbp");
        let dispute = parse(json!([taken]), |_| {}).unwrap();
        assert_eq!(dispute.amount, Money::from_stripe(1000, "usd").unwrap());
        assert_eq!(dispute.fee, Some(Money::from_stripe(1500, "gbp").unwrap()));
        assert!(dispute.funds_withdrawn);
        let back = json!([taken, movement(800, -1500, "gbp")]);
        let dispute = parse(back, |_| {}).unwrap();
        assert_eq!(dispute.fee, Some(Money::from_stripe(0, "gbp").unwrap()));
        assert!(!dispute.funds_withdrawn);
        let mixed = json!([taken, movement(800, 0, "usd")]);
        assert!(parse(mixed, |_| {}).is_err());
    }

    #[test]
    fn a_bank_that_takes_no_evidence_sets_no_date() {
        let none = parse(json!([]), |value| {
            value["evidence_details"]["due_by"] = 0.into();
        });
        assert_eq!(none.unwrap().due_by, None);
    }

    #[test]
    fn a_status_that_nobody_knows_yet_is_not_guessed() {
        assert!(parse(json!([]), |value| value["status"] = "appealed".into()).is_err());
        assert!(
            parse(json!([]), |value| value["balance_transactions"] =
                Value::Null)
            .is_err()
        );
    }
}
