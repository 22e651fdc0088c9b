//! Subscriptions, and the prices of what they are for.

use serde_json::{Value, json};

use crate::Options;
use crate::billing::model::{
    CanceledBy, Interval, Price, Product, Subscription, SubscriptionStatus,
};
use crate::state::State;

pub(crate) fn product(product: &Product, options: &Options) -> Value {
    json!({
        "id": product.id,
        "object": "product",
        "active": true,
        "created": product.created.timestamp(),
        "description": null,
        "livemode": options.livemode,
        "metadata": {},
        "name": product.name,
    })
}

pub(crate) fn price(price: &Price, options: &Options) -> Value {
    json!({
        "id": price.id,
        "object": "price",
        "active": true,
        "billing_scheme": "per_unit",
        "created": price.created.timestamp(),
        "currency": price.currency,
        "livemode": options.livemode,
        "lookup_key": null,
        "metadata": {},
        "nickname": null,
        "product": price.product,
        "recurring": {
            "interval": interval(price.interval),
            "interval_count": 1,
            "meter": null,
            "trial_period_days": null,
            "usage_type": "licensed",
        },
        "tax_behavior": "unspecified",
        "type": "recurring",
        "unit_amount": price.unit_amount,
        "unit_amount_decimal": price.unit_amount.to_string(),
    })
}

fn interval(interval: Interval) -> &'static str {
    match interval {
        Interval::Day => "day",
        Interval::Week => "week",
        Interval::Month => "month",
        Interval::Year => "year",
    }
}

pub(crate) fn subscription(state: &State, subscription: &Subscription) -> Value {
    let (start, end) = (
        subscription.period_start.timestamp(),
        subscription.period_end.timestamp(),
    );
    let items = subscription.items.iter().map(|item| {
        let price = state.billing.prices.get(&item.price);
        json!({
            "id": item.id,
            "object": "subscription_item",
            "created": subscription.created.timestamp(),
            "current_period_end": end,
            "current_period_start": start,
            "discounts": [],
            "metadata": {},
            "price": price.map(|price| self::price(price, &state.options)),
            "quantity": item.quantity,
            "subscription": subscription.id,
            "tax_rates": [],
        })
    });
    let first = subscription.items.first();
    let price = first.and_then(|item| state.billing.prices.get(&item.price));
    let canceled_at = subscription.canceled_at.map(|at| at.timestamp());
    let ended = subscription.status == SubscriptionStatus::Canceled;
    json!({
        "id": subscription.id,
        "object": "subscription",
        "billing_cycle_anchor": subscription.created.timestamp(),
        "cancel_at": null,
        "cancel_at_period_end": false,
        "canceled_at": canceled_at,
        "cancellation_details": {
            "comment": null,
            "feedback": null,
            "reason": subscription.canceled_by.map(cancellation_reason),
        },
        "collection_method": "charge_automatically",
        "created": subscription.created.timestamp(),
        "currency": price.map(|price| &price.currency),
        "customer": subscription.customer,
        "days_until_due": null,
        "default_payment_method": subscription.default_payment_method,
        "default_source": null,
        "description": null,
        "discounts": [],
        "ended_at": canceled_at.filter(|_| ended),
        "items": {
            "object": "list",
            "data": items.collect::<Vec<_>>(),
            "has_more": false,
            "url": format!("/v1/subscription_items?subscription={}", subscription.id),
        },
        "latest_invoice": subscription.latest_invoice,
        "livemode": state.options.livemode,
        "metadata": subscription.metadata,
        "pause_collection": null,
        "start_date": subscription.created.timestamp(),
        "status": subscription.status.name(),
        "trial_end": null,
        "trial_start": null,
    })
}

fn cancellation_reason(by: CanceledBy) -> &'static str {
    match by {
        CanceledBy::Api | CanceledBy::Customer => "cancellation_requested",
        CanceledBy::Provider => "payment_failed",
    }
}
