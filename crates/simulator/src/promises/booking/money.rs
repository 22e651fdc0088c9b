//! The promises about the money of deposits: by the provider's ledger, and what a person is told of it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::is_named;
use crate::promises::{Broken, require};
use crate::world::{STAFF_REFUND, members, text};

pub(super) fn no_more_goes_back_than_came(ledger: &Value) -> Result<(), Broken> {
    for charge in members(&ledger["charges"]) {
        let payment = text(charge, "payment_intent");
        let captured = charge["amount_captured"].as_i64().unwrap_or_default();
        let refunded = live_refunds(ledger, payment);
        require(refunded <= captured, "no more goes back than came", || {
            format!("{payment}: {captured} came, {refunded} went back")
        })?;
    }
    Ok(())
}

/// What the provider took for a booking, whatever went back later.
fn captured_for(id: &str, ledger: &Value) -> i64 {
    let own = members(&ledger["sessions"]).filter(|it| it["metadata"]["booking_id"] == id);
    let payments: Vec<&str> = own.map(|it| text(it, "payment_intent")).collect();
    let charges = members(&ledger["charges"]);
    let own = charges.filter(|it| payments.contains(&text(it, "payment_intent")));
    own.filter_map(|it| it["amount_captured"].as_i64()).sum()
}

/// A booking is confirmed by its whole deposit, or by a person.
pub(super) fn confirmed_by_the_whole_deposit(
    bookings: &[Value],
    ledger: &Value,
) -> Result<(), Broken> {
    for booking in bookings {
        let is_confirmed = text(booking, "state") == "CONFIRMED" && booking["waived"].is_null();
        if is_confirmed {
            let id = text(booking, "booking_id");
            let captured = captured_for(id, ledger);
            let deposit = booking["deposit"]["amount"].as_i64().unwrap_or_default();
            require(
                captured >= deposit,
                "confirmed by the whole deposit",
                || format!("{id} is confirmed, and {captured} of {deposit} came"),
            )?;
        }
    }
    Ok(())
}

/// The staff's order to give so much back is one order, however often it is sent.
pub(super) fn an_order_moves_money_once(ledger: &Value) -> Result<(), Broken> {
    let mut given = BTreeMap::new();
    for refund in members(&ledger["refunds"]) {
        let live = !matches!(text(refund, "status"), "failed" | "canceled");
        if live && refund["amount"] == STAFF_REFUND {
            let count: &mut u32 = given.entry(text(refund, "payment_intent")).or_default();
            *count += 1;
            require(*count <= 1, "an order moves money once", || {
                format!(
                    "{} was given back {count} times",
                    text(refund, "payment_intent")
                )
            })?;
        }
    }
    Ok(())
}

/// The team is told of no failed refund where the provider has none.
pub(super) fn no_false_alarm(ledger: &Value, cases: &[Value]) -> Result<(), Broken> {
    for case in cases
        .iter()
        .filter(|case| case["reason"] == "refund_failed")
    {
        for entry in members(&case["entries"]) {
            let payment = text(&entry["facts"], "payment_ref");
            let mut refunds =
                members(&ledger["refunds"]).filter(|it| it["payment_intent"] == payment);
            // What somebody gave back in the provider's dashboard leaves no room for ours: that is news.
            let is_well = |it: &Value| {
                let ours = it["metadata"].as_object().is_some_and(|it| !it.is_empty());
                ours && matches!(text(it, "status"), "succeeded" | "pending")
            };
            let some = !payment.is_empty() && live_refunds(ledger, payment) > 0;
            let all_well = some && refunds.all(is_well);
            require(!all_well, "no false alarm", || {
                format!("the team was told that a refund of {payment} failed, and none did")
            })?;
        }
    }
    Ok(())
}

/// Whether the provider itself has not finished a refund.
pub(super) fn provider_is_at_it(ledger: &Value, payment: &str) -> bool {
    let mut refunds = members(&ledger["refunds"]);
    refunds.any(|it| {
        it["payment_intent"] == payment
            && matches!(text(it, "status"), "pending" | "requires_action")
    })
}

/// Every penny that the provider took for a booking is kept by it, went back, or is named in a case.
pub(super) fn money_is_accounted_for(
    charge: &Value,
    ledger: &Value,
    bookings: &[Value],
    cases: &[Value],
) -> Result<(), Broken> {
    let payment = text(charge, "payment_intent");
    let mut sessions = members(&ledger["sessions"]);
    let session = sessions.find(|it| it["payment_intent"] == payment);
    let id = session
        .map(|it| text(&it["metadata"], "booking_id"))
        .unwrap_or_default();
    let captured = charge["amount_captured"].as_i64().unwrap_or_default();
    if captured == 0 || !id.starts_with("bkg_") {
        return Ok(());
    }
    let booking = bookings.iter().find(|row| row["booking_id"] == id);
    let kept = booking.map_or(0, |booking| kept(booking, payment));
    let refunded = live_refunds(ledger, payment);
    let is_released = booking.is_some_and(|it| text(it, "state") == "RELEASED");
    let whole = refunded + kept == captured && !(is_released && kept > 0);
    require(
        whole || is_named(cases, payment),
        "every penny is accounted for",
        || format!("{payment} of {id}: {captured} came, {refunded} went back, {kept} is kept"),
    )
}

/// What the provider gave back of a payment, or is giving back.
fn live_refunds(ledger: &Value, payment: &str) -> i64 {
    let refunds = members(&ledger["refunds"]);
    let live = refunds.filter(|refund| {
        refund["payment_intent"] == payment
            && !matches!(text(refund, "status"), "failed" | "canceled")
    });
    live.filter_map(|refund| refund["amount"].as_i64()).sum()
}

/// What a booking says that it has of a payment.
fn kept(booking: &Value, payment: &str) -> i64 {
    let own = members(&booking["payments"]).filter(|paid| paid["payment_ref"] == payment);
    let amount = |money: &Value| money["amount"].as_i64().unwrap_or_default();
    own.map(|paid| (amount(&paid["amount"]) - amount(&paid["returned"])).max(0))
        .sum()
}
