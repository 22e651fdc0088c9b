//! Refunds: never more than was captured.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::amounts;
use crate::error::ApiError;
use crate::events::emit;
use crate::form::Form;
use crate::render;
use crate::state::{Charge, ChargeStatus, Refund, State};

const KNOWN: &[&str] = &[
    "amount",
    "charge",
    "metadata[*]",
    "payment_intent",
    "reason",
];
const REASONS: &[&str] = &["duplicate", "fraudulent", "requested_by_customer"];

/// `POST /v1/refunds`
pub(crate) fn create(
    state: &mut State,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(KNOWN)?;
    let reason = form.choice("reason", REASONS)?.map(str::to_owned);
    let metadata = form.metadata("metadata")?;
    let asked = form.integer("amount")?;
    let charge = charge(state, form)?.clone();
    let amount = refundable(&charge, asked)?;
    let refund = Refund {
        id: state.ids.next("re_3"),
        created: now,
        payment_intent: charge.payment_intent.clone(),
        amount,
        currency: charge.currency.clone(),
        reason,
        metadata,
        balance_transaction: state.ids.next("txn_3"),
        charge: charge.id.clone(),
    };
    let shown = render::refund(&refund);
    state.refunds.insert(refund.id.clone(), refund);
    if let Some(charge) = state.charges.get_mut(&charge.id) {
        charge.amount_refunded += amount;
        let shown = render::charge(charge, &state.options);
        emit(state, "charge.refunded", &shown, now);
    }
    emit(state, "refund.created", &shown, now);
    Ok(shown)
}

/// Returns the charge that is meant: named itself, or by its PaymentIntent.
fn charge<'a>(state: &'a State, form: &Form) -> Result<&'a Charge, ApiError> {
    if let Some(id) = form.text("charge") {
        let charge = state.charges.get(id);
        return charge.ok_or_else(|| ApiError::no_such("charge", id, "charge"));
    }
    let name = "payment_intent";
    let Some(id) = form.text(name) else {
        return Err(ApiError::invalid(
            "One of the following params should be provided for this request: payment_intent or \
             charge.",
        ));
    };
    let intent = state.intents.get(id);
    let intent = intent.ok_or_else(|| ApiError::no_such(name, id, "intent"))?;
    let charge = intent.latest_charge.as_ref();
    let charge = charge.and_then(|id| state.charges.get(id));
    charge
        .filter(|charge| charge.status == ChargeStatus::Succeeded)
        .ok_or_else(|| {
            let message =
                format!("This PaymentIntent ({id}) does not have a successful charge to refund.");
            ApiError::invalid(message).param(name).began()
        })
}

/// Returns how much is to go back: what is asked for, or all that is left.
fn refundable(charge: &Charge, asked: Option<i64>) -> Result<i64, ApiError> {
    let left = charge.amount_captured - charge.amount_refunded;
    if charge.status != ChargeStatus::Succeeded {
        let message = format!(
            "Charge {} did not succeed and cannot be refunded.",
            charge.id
        );
        let error = ApiError::invalid(message).code("charge_not_refundable");
        return Err(error.began());
    }
    if left == 0 {
        let message = format!("Charge {} has already been refunded.", charge.id);
        let error = ApiError::invalid(message).code("charge_already_refunded");
        return Err(error.began());
    }
    match asked {
        None => Ok(left),
        Some(amount) if amount < 1 => Err(ApiError::invalid("Invalid positive integer")
            .param("amount")
            .code("parameter_invalid_integer")),
        Some(amount) if amount > left => {
            let written = |amount| amounts::written(amount, &charge.currency);
            let message = format!(
                "Refund amount ({}) is greater than unrefunded amount on charge ({})",
                written(amount),
                written(left)
            );
            Err(ApiError::invalid(message).param("amount").began())
        }
        Some(amount) => Ok(amount),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Town, text, types};

    fn paid(town: &Town) -> String {
        let id = town.session();
        let (_, session) = town.pay(&id, "4242424242424242");
        town.deliver(200);
        text(&session["payment_intent"])
    }

    #[test]
    fn partial_refunds_add_up_to_the_charge_and_no_further() {
        let town = Town::default();
        let intent = paid(&town);
        let refund =
            |amount: &str| town.post("/v1/refunds", &format!("payment_intent={intent}{amount}"));
        assert_eq!(refund("&amount=1500&metadata[k]=v").1["amount"], 1500);
        let (status, body) = refund("&amount=501");
        assert_eq!((status, &body["error"]["param"]), (400, &"amount".into()));
        assert_eq!(refund("").1["amount"], 500, "no amount: all that is left");
        assert_eq!(refund("").1["error"]["code"], "charge_already_refunded");
        let ledger = town.sandbox.ledger();
        assert_eq!(ledger["totals"]["gbp"]["refunded"], 2000);
        assert_eq!(ledger["charges"][0]["refunded"], true);
        let expected = [
            "charge.refunded",
            "refund.created",
            "charge.refunded",
            "refund.created",
        ];
        assert_eq!(types(&town.deliver(200)), expected);
        assert_eq!(town.get("/v1/refunds?limit=1").1["has_more"], true);
    }

    #[test]
    fn a_charge_that_failed_or_does_not_exist_is_not_refunded() {
        let town = Town::default();
        let id = town.session();
        town.pay(&id, "4000000000000002");
        let charge = text(&town.sandbox.ledger()["charges"][0]["id"]);
        let code = |form: &str| town.post("/v1/refunds", form).1["error"]["code"].clone();
        assert_eq!(code(&format!("charge={charge}")), "charge_not_refundable");
        assert_eq!(code("charge=ch_none"), "resource_missing");
        assert_eq!(town.post("/v1/refunds", "amount=5").0, 400);
    }
}
