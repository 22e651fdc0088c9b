//! The reasons for which banks decline, by the provider's names of them.

use crate::error::ApiError;
use crate::state::LastError;

/// One `decline_code`, with the `code`, the advice and the network's own code that go with it.
struct Reason {
    decline_code: &'static str,
    code: &'static str,
    message: &'static str,
    advice_code: Option<&'static str>,
    /// Visa's, as in ISO 8583.
    network_code: Option<&'static str>,
}

const GENERIC: &str = "Your card was declined.";
const AGAIN: Option<&str> = Some("try_again_later");
const NEVER: Option<&str> = Some("do_not_try_again");
const CONFIRM: Option<&str> = Some("confirm_card_data");

const fn reason(
    decline_code: &'static str,
    advice_code: Option<&'static str>,
    network_code: Option<&'static str>,
) -> Reason {
    Reason {
        decline_code,
        code: "card_declined",
        message: GENERIC,
        advice_code,
        network_code,
    }
}

/// A reason that has a `code` of the same name.
const fn own(
    code: &'static str,
    message: &'static str,
    advice_code: Option<&'static str>,
    network_code: Option<&'static str>,
) -> Reason {
    Reason {
        decline_code: code,
        code,
        message,
        advice_code,
        network_code,
    }
}

const FUNDS: &str = "Your card has insufficient funds.";
const EXPIRED: &str = "Your card has expired.";
const CVC: &str = "Your card's security code is incorrect.";
const NUMBER: &str = "Your card number is incorrect.";
const PROCESSING: &str = "An error occurred while processing your card. Try again in a little bit.";
const AUTHENTICATE: &str = "Your card was declined. This transaction requires authentication.";

/// The codes of <https://docs.stripe.com/declines/codes>. Which advice goes with which is left to
/// banks there; here it is the usual one.
const REASONS: &[Reason] = &[
    Reason {
        message: FUNDS,
        ..reason("insufficient_funds", AGAIN, Some("51"))
    },
    Reason {
        message: AUTHENTICATE,
        code: "authentication_required",
        ..reason("authentication_required", CONFIRM, Some("1A"))
    },
    own("expired_card", EXPIRED, CONFIRM, Some("54")),
    own("incorrect_cvc", CVC, CONFIRM, Some("N7")),
    own("incorrect_number", NUMBER, CONFIRM, Some("14")),
    own("processing_error", PROCESSING, AGAIN, Some("96")),
    reason("approve_with_id", AGAIN, None),
    reason("call_issuer", None, Some("01")),
    reason("card_not_supported", CONFIRM, Some("57")),
    reason("card_velocity_exceeded", AGAIN, Some("65")),
    reason("currency_not_supported", CONFIRM, None),
    reason("do_not_honor", AGAIN, Some("05")),
    reason("do_not_try_again", NEVER, None),
    reason("duplicate_transaction", None, Some("94")),
    reason("fraudulent", NEVER, Some("59")),
    reason("generic_decline", AGAIN, Some("05")),
    reason("incorrect_pin", None, Some("55")),
    reason("incorrect_zip", CONFIRM, None),
    reason("invalid_account", NEVER, Some("14")),
    reason("invalid_amount", None, Some("13")),
    reason("issuer_not_available", AGAIN, Some("91")),
    reason("lost_card", NEVER, Some("41")),
    reason("merchant_blacklist", NEVER, None),
    reason("new_account_information_available", CONFIRM, None),
    reason("no_action_taken", None, Some("21")),
    reason("not_permitted", None, Some("57")),
    reason("offline_pin_required", None, None),
    reason("online_or_offline_pin_required", None, None),
    reason("pickup_card", NEVER, Some("04")),
    reason("pin_try_exceeded", None, Some("75")),
    reason("reenter_transaction", AGAIN, Some("19")),
    reason("restricted_card", NEVER, Some("62")),
    reason("revocation_of_all_authorizations", NEVER, Some("R1")),
    reason("revocation_of_authorization", NEVER, Some("R0")),
    reason("security_violation", None, Some("63")),
    reason("service_not_allowed", None, Some("57")),
    reason("stolen_card", NEVER, Some("43")),
    reason("stop_payment_order", NEVER, Some("R0")),
    reason("testmode_decline", CONFIRM, None),
    reason("transaction_not_allowed", None, Some("57")),
    reason("try_again_later", AGAIN, None),
    reason("withdrawal_count_limit_exceeded", AGAIN, Some("65")),
];

/// Returns the refusal for a `decline_code`.
///
/// # Errors
/// The provider knows no such code.
pub(crate) fn refusal(decline_code: &str) -> Result<LastError, ApiError> {
    let known = REASONS.iter().find(|it| it.decline_code == decline_code);
    let reason = known.ok_or_else(|| {
        ApiError::invalid(format!("No such decline code: '{decline_code}'")).param("decline")
    })?;
    let text = |text: Option<&str>| text.map(str::to_owned);
    Ok(LastError {
        code: reason.code.to_owned(),
        decline_code: Some(reason.decline_code.to_owned()),
        message: reason.message.to_owned(),
        advice_code: text(reason.advice_code),
        network_decline_code: text(reason.network_code),
        network_advice_code: None,
        payment_method: None,
    })
}

/// Returns the known text that equals a refusal's `code`.
pub(crate) fn code(refusal: &LastError) -> &'static str {
    let known = REASONS.iter().find(|it| it.code == refusal.code);
    known.map_or("card_declined", |it| it.code)
}
