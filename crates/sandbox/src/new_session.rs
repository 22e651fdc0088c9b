//! The parameters of a new Checkout Session: what the provider takes, and what it refuses.

use chrono::{DateTime, TimeDelta, Utc};
use http::Uri;

use crate::amounts::{self, AMOUNT_MAX};
use crate::error::ApiError;
use crate::form::Form;
use crate::state::{Session, SessionStatus};

const OPEN_MIN: TimeDelta = TimeDelta::minutes(30);
const OPEN_MAX: TimeDelta = TimeDelta::hours(24);
const REFERENCE_LENGTH_MAX: usize = 200;
const URL_LENGTH_MAX: usize = 5_000;
const PAYMENT_METHOD_TYPES: &[&str] = &[
    "bacs_debit",
    "card",
    "link",
    "sepa_debit",
    "us_bank_account",
];

/// The parameters that this double takes. What would change the amount and isn't here is refused.
const KNOWN: &[&str] = &[
    "cancel_url",
    "client_reference_id",
    "customer_email",
    "expires_at",
    "line_items[#][price_data][currency]",
    "line_items[#][price_data][product_data][description]",
    "line_items[#][price_data][product_data][name]",
    "line_items[#][price_data][unit_amount]",
    "line_items[#][quantity]",
    "locale",
    "metadata[*]",
    "mode",
    "payment_intent_data[description]",
    "payment_intent_data[metadata][*]",
    "payment_method_types[#]",
    "submit_type",
    "success_url",
];

/// Reads a session that has no id yet.
pub(crate) fn read(form: &Form, now: DateTime<Utc>) -> Result<Session, ApiError> {
    form.only(KNOWN)?;
    if form.required("mode")? != "payment" {
        let message = "Invalid mode: only payment can be taken here.";
        return Err(ApiError::invalid(message).param("mode"));
    }
    let items = line_items(form)?;
    form.required("success_url")?;
    Ok(Session {
        id: String::new(),
        created: now,
        expires_at: expiry(form, now)?,
        amount_total: items.total,
        currency: items.currency,
        description: items.names.join(", "),
        client_reference_id: reference(form)?,
        customer_email: email(form)?,
        metadata: form.metadata("metadata")?,
        intent_metadata: form.metadata("payment_intent_data[metadata]")?,
        payment_method_types: method_types(form)?,
        success_url: url(form, "success_url")?.unwrap_or_default(),
        cancel_url: url(form, "cancel_url")?,
        status: SessionStatus::Open,
        paid: false,
        payment_intent: None,
    })
}

#[derive(Default)]
struct LineItems {
    total: i64,
    currency: String,
    names: Vec<String>,
}

fn line_items(form: &Form) -> Result<LineItems, ApiError> {
    let mut items = LineItems::default();
    let count = form.items("line_items");
    if count == 0 {
        return Err(ApiError::missing("line_items"));
    }
    for index in 0..count {
        let price = format!("line_items[{index}][price_data]");
        let currency_param = format!("{price}[currency]");
        let currency = form.required(&currency_param)?;
        if amounts::find(currency).is_none() {
            let codes = amounts::codes();
            let message = format!("Invalid currency: {currency}. These are supported: {codes}");
            return Err(ApiError::invalid(message).param(currency_param));
        }
        if index > 0 && currency != items.currency {
            let message = "All line items must have the same currency.";
            return Err(ApiError::invalid(message).param(currency_param));
        }
        items.currency = currency.to_owned();
        let name = form.required(&format!("{price}[product_data][name]"))?;
        items.names.push(name.to_owned());
        let amount = positive(form, &format!("{price}[unit_amount]"), 0)?;
        let quantity = positive(form, &format!("line_items[{index}][quantity]"), 1)?;
        items.total = items.total.saturating_add(amount.saturating_mul(quantity));
    }
    check_amount(&items)?;
    Ok(items)
}

fn positive(form: &Form, name: &str, least: i64) -> Result<i64, ApiError> {
    form.required(name)?;
    match form.integer(name)? {
        Some(value) if value >= least => Ok(value),
        Some(_) | None => Err(ApiError::invalid("Invalid non-negative integer")
            .param(name)
            .code("parameter_invalid_integer")),
    }
}

fn check_amount(items: &LineItems) -> Result<(), ApiError> {
    let Some(currency) = amounts::find(&items.currency) else {
        return Ok(());
    };
    let written = |amount| amounts::written(amount, currency.code);
    if items.total < currency.minimum {
        let least = written(currency.minimum);
        let message = format!(
            "The Checkout Session's total amount due must add up to at least {least} {}",
            currency.code
        );
        return Err(ApiError::invalid(message).code("amount_too_small"));
    }
    if items.total > AMOUNT_MAX {
        let most = written(AMOUNT_MAX);
        let message = format!("The Checkout Session's total amount must be at most {most}");
        return Err(ApiError::invalid(message).code("amount_too_large"));
    }
    if items.total % currency.step != 0 {
        let message = format!(
            "Amounts in {} must be a multiple of {}",
            currency.code, currency.step
        );
        return Err(ApiError::invalid(message)
            .param("line_items[0][price_data][unit_amount]")
            .code("parameter_invalid_integer"));
    }
    Ok(())
}

fn expiry(form: &Form, now: DateTime<Utc>) -> Result<DateTime<Utc>, ApiError> {
    let Some(seconds) = form.integer("expires_at")? else {
        return Ok(now + OPEN_MAX);
    };
    let wrong = |limit: &str| {
        let message =
            format!("The `expires_at` timestamp must be {limit} from Checkout Session creation.");
        ApiError::invalid(message).param("expires_at")
    };
    let open_s = seconds.saturating_sub(now.timestamp());
    if open_s < OPEN_MIN.num_seconds() {
        return Err(wrong("at least 30 minutes"));
    }
    if open_s > OPEN_MAX.num_seconds() {
        return Err(wrong("less than 24 hours"));
    }
    DateTime::from_timestamp(seconds, 0).ok_or_else(|| wrong("a time"))
}

fn reference(form: &Form) -> Result<Option<String>, ApiError> {
    let name = "client_reference_id";
    match form.text(name) {
        Some(text) if text.chars().count() > REFERENCE_LENGTH_MAX => {
            let message = "Invalid string: it must be at most 200 characters";
            Err(ApiError::invalid(message).param(name))
        }
        text => Ok(text.map(str::to_owned)),
    }
}

fn email(form: &Form) -> Result<Option<String>, ApiError> {
    match form.text("customer_email") {
        Some(text) if !text.contains('@') => {
            let message = format!("Invalid email address: {text}");
            let error = ApiError::invalid(message).param("customer_email");
            Err(error.code("email_invalid"))
        }
        text => Ok(text.map(str::to_owned)),
    }
}

fn method_types(form: &Form) -> Result<Vec<String>, ApiError> {
    let mut types = Vec::new();
    for index in 0..form.items("payment_method_types") {
        let name = format!("payment_method_types[{index}]");
        types.extend(form.choice(&name, PAYMENT_METHOD_TYPES)?.map(str::to_owned));
    }
    if types.is_empty() {
        types = vec!["card".into(), "bacs_debit".into()];
    }
    Ok(types)
}

fn url(form: &Form, name: &str) -> Result<Option<String>, ApiError> {
    let is_web = |text: &str| {
        // The placeholder's braces are not allowed in an address; the provider takes them out.
        let uri: Option<Uri> = text.replace(['{', '}'], "").parse().ok();
        let scheme = uri.as_ref().and_then(Uri::scheme_str);
        scheme.is_some_and(|scheme| scheme == "https" || scheme == "http")
    };
    match form.text(name) {
        Some(text) if text.len() > URL_LENGTH_MAX || !is_web(text) => {
            Err(ApiError::invalid("Not a valid URL")
                .param(name)
                .code("url_invalid"))
        }
        text => Ok(text.map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{SESSION, Town, text};

    fn refused(form: &str) -> (u16, String, String) {
        let (status, body) = Town::default().post("/v1/checkout/sessions", form);
        let error = &body["error"];
        assert_eq!(error["type"], "invalid_request_error");
        (status, text(&error["param"]), text(&error["code"]))
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            (
                "currency]=gbp",
                "currency]=GBP",
                "line_items[0][price_data][currency]",
                "",
            ),
            (
                "unit_amount]=2000",
                "unit_amount]=29",
                "",
                "amount_too_small",
            ),
            (
                "unit_amount]=2000",
                "unit_amount]=100000000",
                "",
                "amount_too_large",
            ),
            (
                "unit_amount]=2000",
                "unit_amount]=20.5",
                "line_items[0][price_data][unit_amount]",
                "parameter_invalid_integer",
            ),
            (
                "[quantity]=1",
                "[quantity]=0",
                "line_items[0][quantity]",
                "parameter_invalid_integer",
            ),
            ("mode=payment", "mode=setup", "mode", ""),
            (
                "mode=payment",
                "mode=payment&colour=red",
                "colour",
                "parameter_unknown",
            ),
            (
                "success_url=",
                "success_url=ftp",
                "success_url",
                "url_invalid",
            ),
            (
                "types[0]=card",
                "types[0]=cash",
                "payment_method_types[0]",
                "",
            ),
            ("success_url", "locale", "success_url", "parameter_missing"),
        ];
        for (from, to, param, code) in cases {
            let (status, named, coded) = refused(&SESSION.replacen(from, to, 1));
            assert_eq!(
                (status, named.as_str(), coded.as_str()),
                (400, param, code),
                "{to}"
            );
        }
    }

    #[test]
    fn a_session_is_open_for_thirty_minutes_to_a_day() {
        let with =
            |seconds: i64| SESSION.replace("1784037600", &(1_784_034_000 + seconds).to_string());
        for wrong in [0, 1_799, 86_401] {
            assert_eq!(refused(&with(wrong)).1, "expires_at");
        }
        for right in [1_800, 86_400] {
            assert_eq!(
                Town::default()
                    .post("/v1/checkout/sessions", &with(right))
                    .0,
                200
            );
        }
    }
}
