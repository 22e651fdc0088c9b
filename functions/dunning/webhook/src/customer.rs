//! What an event says of all subscriptions of a customer.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Function, chain, count};
use paidonce_core::dunning::Dunning;
use paidonce_core::step::Row;

use crate::Webhook;
use crate::event::{CardReport, Fact, Received, Report};

/// The index of subscriptions by customer.
const INDEX: &str = "customer-index";
/// How many subscriptions of one customer are looked at: pages, and rows of each.
const PAGES_MAX: usize = 5;
const PAGE_ROWS: i32 = 50;

impl Webhook {
    /// Carries out what an event says on each subscription of its customer, each in a step of its
    /// own. One that fails stops none behind it, and is done when the event comes again.
    ///
    /// The index may be behind: of a subscription that has just come in, the first look at the
    /// provider finds the new card anyway.
    pub(crate) async fn fan_out(
        &self,
        event: &Received,
        card: &CardReport,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let mut failed = None;
        for subscription_id in self.subscriptions(event, &card.customer_id).await? {
            let seen_as = format!("{}/{subscription_id}", event.id);
            let report = Report {
                customer_id: card.customer_id.clone(),
                fact: Fact::Card {
                    payment_method: card.payment_method.clone(),
                    renewed: card.renewed,
                },
                subscription_id,
            };
            if let Err(error) = self.carry_out_as(&seen_as, event, &report, now).await {
                let id = &report.subscription_id;
                tracing::warn!(subscription.id = %id, error = %chain(error.as_ref()), "Subscription `{id}` will hear of its card again");
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn subscriptions(
        &self,
        event: &Received,
        customer_id: &str,
    ) -> Result<Vec<String>, Failure> {
        let mut ids = Vec::new();
        let mut start: Option<HashMap<String, AttributeValue>> = None;
        for _ in 0..PAGES_MAX {
            let page = self
                .dynamodb
                .query()
                .table_name(&self.tables.dunning)
                .index_name(INDEX)
                .key_condition_expression("#customer = :customer")
                .expression_attribute_names("#customer", "customer_id")
                .expression_attribute_values(":customer", AttributeValue::S(customer_id.to_owned()))
                .limit(PAGE_ROWS)
                .set_exclusive_start_key(start.take())
                .send()
                .await?;
            let items = page.items.unwrap_or_default().into_iter();
            ids.extend(
                items.filter_map(|mut item| match item.remove(Dunning::KEY) {
                    Some(AttributeValue::S(id)) => Some(id),
                    _ => None,
                }),
            );
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(ids);
            }
        }
        count(Self::NAME, "customer_too_large", 1);
        tracing::error!(event.id = %event.id, customer.id = customer_id, "Customer `{customer_id}` has more subscriptions than are looked at");
        Ok(ids)
    }
}
