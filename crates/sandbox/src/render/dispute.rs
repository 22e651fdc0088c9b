//! A dispute as the API and the events show it.

use serde_json::{Map, Value, json};

use crate::Options;
use crate::state::{Dispute, DisputeStatus, Movement};

/// What can be put forward; nobody does that here.
const EVIDENCE: &[&str] = &[
    "access_activity_log",
    "billing_address",
    "cancellation_policy",
    "cancellation_policy_disclosure",
    "cancellation_rebuttal",
    "customer_communication",
    "customer_email_address",
    "customer_name",
    "customer_purchase_ip",
    "customer_signature",
    "duplicate_charge_documentation",
    "duplicate_charge_explanation",
    "duplicate_charge_id",
    "product_description",
    "receipt",
    "refund_policy",
    "refund_policy_disclosure",
    "refund_refusal_explanation",
    "service_date",
    "service_documentation",
    "shipping_address",
    "shipping_carrier",
    "shipping_date",
    "shipping_documentation",
    "shipping_tracking_number",
    "uncategorized_file",
    "uncategorized_text",
];

pub(crate) fn dispute(dispute: &Dispute, options: &Options) -> Value {
    let movements = dispute.movements.iter();
    let evidence = EVIDENCE
        .iter()
        .map(|name| ((*name).to_owned(), Value::Null));
    json!({
        "id": dispute.id,
        "object": "dispute",
        "amount": dispute.amount,
        "balance_transactions": movements.map(|it| movement(it, dispute)).collect::<Vec<_>>(),
        "charge": dispute.charge,
        "created": dispute.created.timestamp(),
        "currency": dispute.currency,
        "evidence": Value::Object(evidence.collect::<Map<_, _>>()),
        "evidence_details": {
            "due_by": dispute.due_by.timestamp(),
            "has_evidence": false,
            "past_due": false,
            "submission_count": 0,
        },
        "is_charge_refundable": !dispute.status.bars_refunds(),
        "livemode": options.livemode,
        "metadata": {},
        "payment_intent": dispute.payment_intent,
        "payment_method_details": {
            "card": {
                "brand": "visa",
                "case_type": case_type(dispute.status),
                "network": "visa",
                "network_reason_code": null,
            },
            "type": "card",
        },
        "reason": dispute.reason,
        "status": dispute.status.name(),
    })
}

fn case_type(status: DisputeStatus) -> &'static str {
    match (status.is_inquiry(), status == DisputeStatus::Prevented) {
        (true, _) => "inquiry",
        (false, true) => "block",
        (false, false) => "chargeback",
    }
}

fn movement(movement: &Movement, dispute: &Dispute) -> Value {
    let (category, verb) = match movement.amount < 0 {
        true => ("dispute", "withdrawal"),
        false => ("dispute_reversal", "reversal"),
    };
    let fee = json!({
        "amount": movement.fee,
        "application": null,
        "currency": dispute.currency,
        "description": "Dispute fee",
        "type": "stripe_fee",
    });
    let fees: &[Value] = if movement.fee == 0 { &[] } else { &[fee] };
    json!({
        "id": movement.id,
        "object": "balance_transaction",
        "amount": movement.amount,
        "available_on": movement.created.timestamp(),
        "created": movement.created.timestamp(),
        "currency": dispute.currency,
        "description": format!("Chargeback {verb} for {}", dispute.charge),
        "exchange_rate": null,
        "fee": movement.fee,
        "fee_details": fees,
        "net": movement.amount - movement.fee,
        "reporting_category": category,
        "source": dispute.id,
        "status": "available",
        "type": "adjustment",
    })
}
