//! Reading whole tables: page by page, consistently, with a word on how far it is.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use paidonce_core::booking::Booking;
use paidonce_core::step::{Item, Row, from_item};

use crate::OpsError;

/// How many rows one page looks at.
pub(crate) const PAGE_ITEMS: i32 = 100;
/// DynamoDB may leave keys of a batch for later; how often they are asked for again.
const BATCH_TRIES_MAX: usize = 8;

/// The deployed names.
#[derive(Clone, Debug)]
pub struct Tables {
    pub bookings: String,
    pub payments: String,
    pub optout: String,
    pub audit: String,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            bookings: "bdc-bookings".to_owned(),
            payments: "bdc-payments".to_owned(),
            optout: "bdc-optout".to_owned(),
            audit: "bdc-audit".to_owned(),
        }
    }
}

/// Told after each page: how many rows have been looked at.
pub type Progress<'a> = &'a mut (dyn FnMut(u64) + Send);

/// Where a scan is.
pub(crate) struct Scan<'a> {
    client: &'a Client,
    table: &'a str,
    /// A condition on `:wanted`.
    filter: &'static str,
    wanted: String,
    start: Option<Item>,
    is_over: bool,
    looked_at: u64,
}

impl<'a> Scan<'a> {
    pub(crate) fn of(
        client: &'a Client,
        table: &'a str,
        filter: &'static str,
        wanted: String,
    ) -> Self {
        Self {
            client,
            table,
            filter,
            wanted,
            start: None,
            is_over: false,
            looked_at: 0,
        }
    }

    /// The rows of the next page that fit, perhaps none; `None` after the last page.
    pub(crate) async fn page(
        &mut self,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Option<Vec<Item>>, OpsError> {
        if self.is_over {
            return Ok(None);
        }
        let page = self
            .client
            .scan()
            .table_name(self.table)
            .consistent_read(true)
            .limit(PAGE_ITEMS)
            .filter_expression(self.filter)
            .expression_attribute_values(":wanted", AttributeValue::S(self.wanted.clone()))
            .set_exclusive_start_key(self.start.take())
            .send()
            .await
            .map_err(|error| OpsError::Scan {
                table: self.table.to_owned(),
                source: Box::new(error),
            })?;
        self.looked_at += u64::try_from(page.scanned_count()).unwrap_or_default();
        self.start = page.last_evaluated_key.filter(|key| !key.is_empty());
        self.is_over = self.start.is_none();
        progress(self.looked_at);
        Ok(Some(page.items.unwrap_or_default()))
    }

    pub(crate) fn looked_at(&self) -> u64 {
        self.looked_at
    }
}

/// Reads up to a page of bookings by their ids, consistently. Those that are not there are missing;
/// those that do not fit are errors of their own.
pub(crate) async fn bookings(
    client: &Client,
    table: &str,
    ids: &[String],
) -> Result<BTreeMap<String, Result<Booking, paidonce_core::step::RowError>>, OpsError> {
    let mut found = BTreeMap::new();
    let mut wanted = request(table, ids)?;
    for _ in 0..BATCH_TRIES_MAX {
        if wanted.is_empty() {
            return Ok(found);
        }
        let answer = client
            .batch_get_item()
            .set_request_items(Some(wanted))
            .send()
            .await
            .map_err(|error| OpsError::Batch {
                table: table.to_owned(),
                source: Box::new(error),
            })?;
        let items = answer.responses.unwrap_or_default().into_values().flatten();
        for item in items {
            let id = item
                .get(Booking::KEY)
                .and_then(|id| id.as_s().ok())
                .cloned();
            found.insert(id.unwrap_or_default(), from_item(item));
        }
        wanted = answer.unprocessed_keys.unwrap_or_default();
    }
    Err(OpsError::Throttled(table.to_owned()))
}

fn request(table: &str, ids: &[String]) -> Result<HashMap<String, KeysAndAttributes>, OpsError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let keys = ids.iter().map(|id| {
        let id = AttributeValue::S(id.clone());
        HashMap::from([(Booking::KEY.to_owned(), id)])
    });
    let keys = KeysAndAttributes::builder()
        .set_keys(Some(keys.collect()))
        .consistent_read(true)
        .build();
    // It has keys, so it is whole.
    let keys = keys.map_err(|_| OpsError::Throttled(table.to_owned()))?;
    Ok(HashMap::from([(table.to_owned(), keys)]))
}
