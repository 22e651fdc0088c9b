//! All money that moved, in one view for whoever checks the books.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::billing;
use crate::render;
use crate::state::{Charge, State};

/// What moved in one currency, in its smallest unit.
#[derive(Debug, Default, Serialize)]
struct Total {
    captured: i64,
    /// By refunds that have not failed.
    refunded: i64,
    /// Taken by banks and not given back.
    disputed: i64,
    /// For charges and for disputes.
    fees: i64,
}

/// Lists all money that moved.
pub(crate) fn ledger(state: &State) -> Value {
    let options = &state.options;
    let sessions = state.sessions.values();
    let intents = state.intents.values();
    let charges = state.charges.values();
    let disputes = state.disputes.values();
    let (invoices, subscriptions) = billing::ledger(state);
    json!({
        "sessions": sessions.map(|it| render::session(it, options)).collect::<Vec<_>>(),
        "payment_intents": intents.map(|it| render::intent(it, options)).collect::<Vec<_>>(),
        "charges": charges.map(|it| charge(state, it)).collect::<Vec<_>>(),
        "refunds": state.refunds.values().map(render::refund).collect::<Vec<_>>(),
        "disputes": disputes.map(|it| render::dispute(it, options)).collect::<Vec<_>>(),
        "invoices": invoices,
        "subscriptions": subscriptions,
        "totals": totals(state),
    })
}

/// Shows a charge with what the API tells only elsewhere: its fee, and how its last dispute stands.
fn charge(state: &State, charge: &Charge) -> Value {
    let mut shown = render::charge(charge, &state.options);
    let mut disputes = state.disputes.values().rev();
    let dispute = disputes.find(|dispute| dispute.charge == charge.id);
    shown["fee"] = charge.fee.into();
    shown["dispute_status"] = dispute.map(|dispute| dispute.status.name()).into();
    shown
}

fn totals(state: &State) -> BTreeMap<&str, Total> {
    let mut totals: BTreeMap<&str, Total> = BTreeMap::new();
    for charge in state.charges.values() {
        let total = totals.entry(&charge.currency).or_default();
        total.captured += charge.amount_captured;
        total.fees += charge.fee;
    }
    for refund in state.refunds.values().filter(|it| it.status.is_live()) {
        totals.entry(&refund.currency).or_default().refunded += refund.amount;
    }
    for dispute in state.disputes.values() {
        let total = totals.entry(&dispute.currency).or_default();
        total.disputed += dispute.withdrawn();
        total.fees += dispute.fees();
    }
    totals
}
