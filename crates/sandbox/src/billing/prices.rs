//! Products and prices, as far as a subscription needs one.

use chrono::{DateTime, Months, TimeDelta, Utc};
use serde_json::Value;

use crate::amounts;
use crate::error::ApiError;
use crate::form::Form;
use crate::state::State;

use super::model::{Interval, Price, Product};
use super::show;

/// `POST /v1/products`
pub(crate) fn create_product(
    state: &mut State,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&["name", "metadata[*]", "description"])?;
    let name = form.required("name")?.to_owned();
    let id = add_product(state, name, now);
    show::one(state, "products", &id)
}

/// `POST /v1/prices`
pub(crate) fn create(
    state: &mut State,
    form: &Form,
    now: DateTime<Utc>,
) -> Result<Value, ApiError> {
    form.only(&[
        "currency",
        "unit_amount",
        "product",
        "product_data[name]",
        "recurring[interval]",
        "metadata[*]",
    ])?;
    let id = read(state, form, "", now)?;
    show::one(state, "prices", &id)
}

/// Makes the price whose fields are named `prefix[currency]` and so on, or plainly if there is no
/// prefix, and returns its id.
pub(crate) fn read(
    state: &mut State,
    form: &Form,
    prefix: &str,
    now: DateTime<Utc>,
) -> Result<String, ApiError> {
    let name = |field: &str| match (prefix, field.split_once('[')) {
        ("", _) => field.to_owned(),
        (prefix, Some((stem, rest))) => format!("{prefix}[{stem}][{rest}"),
        (prefix, None) => format!("{prefix}[{field}]"),
    };
    let currency = form.required(&name("currency"))?.to_owned();
    let known = amounts::find(&currency).ok_or_else(|| {
        let message = format!(
            "Invalid currency: {currency}. Supported: {}",
            amounts::codes()
        );
        ApiError::invalid(message).param(name("currency"))
    })?;
    let unit_amount = form
        .integer(&name("unit_amount"))?
        .ok_or_else(|| ApiError::missing(&name("unit_amount")))?;
    if !(0..=amounts::AMOUNT_MAX).contains(&unit_amount) || unit_amount % known.step != 0 {
        let error = ApiError::invalid(format!("Invalid unit_amount: {unit_amount}"));
        return Err(error.param(name("unit_amount")));
    }
    let choices = ["day", "week", "month", "year"];
    let interval = match form.choice(&name("recurring[interval]"), &choices)? {
        Some("day") => Interval::Day,
        Some("week") => Interval::Week,
        Some("year") => Interval::Year,
        Some(_) => Interval::Month,
        None => return Err(ApiError::missing(&name("recurring[interval]"))),
    };
    let product = match (
        form.text(&name("product")),
        form.text(&name("product_data[name]")),
    ) {
        (Some(id), _) if state.billing.products.contains_key(id) => id.to_owned(),
        (Some(id), _) => return Err(ApiError::no_such("product", id, "product")),
        (None, Some(product)) => add_product(state, product.to_owned(), now),
        (None, None) => return Err(ApiError::missing(&name("product"))),
    };
    Ok(add(state, product, currency, unit_amount, interval, now))
}

pub(crate) fn add_product(state: &mut State, name: String, now: DateTime<Utc>) -> String {
    let id = state.ids.next("prod_");
    let product = Product {
        id: id.clone(),
        created: now,
        name,
    };
    state.billing.products.insert(id.clone(), product);
    id
}

pub(crate) fn add(
    state: &mut State,
    product: String,
    currency: String,
    unit_amount: i64,
    interval: Interval,
    now: DateTime<Utc>,
) -> String {
    let id = state.ids.next("price_1");
    let price = Price {
        id: id.clone(),
        created: now,
        product,
        currency,
        unit_amount,
        interval,
    };
    state.billing.prices.insert(id.clone(), price);
    id
}

/// Returns the end of a period that starts then.
pub(crate) fn period_end(interval: Interval, start: DateTime<Utc>) -> DateTime<Utc> {
    match interval {
        Interval::Day => start + TimeDelta::days(1),
        Interval::Week => start + TimeDelta::weeks(1),
        Interval::Month => start + Months::new(1),
        Interval::Year => start + Months::new(12),
    }
}
