//! The API's objects: one, or a page of a list. What is known is read strictly, the rest is left.

use std::ops::Range;

use chrono::{DateTime, Utc};
use form_urlencoded::Serializer;
use paidonce_core::money::Money;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The most that the API puts on one page.
const PAGE_SIZE: &str = "100";

/// Some objects of a list, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Says where the next page goes on; nothing if this was the last one.
    pub next: Option<String>,
}

/// An object that the API shows.
pub(crate) trait Object: TryFrom<Self::Wire, Error = String> {
    type Wire: DeserializeOwned;
    /// Where all of them are listed.
    const LIST: &'static str;

    fn id(&self) -> &str;
}

#[derive(Deserialize)]
pub(crate) struct List<W> {
    object: String,
    data: Vec<W>,
    has_more: bool,
}

impl<W> List<W> {
    /// Returns what it shows, and whether there is more.
    pub(crate) fn into_parts(self) -> Result<(Vec<W>, bool), String> {
        is_a("list", &self.object)?;
        Ok((self.data, self.has_more))
    }
}

/// The id of an object that the API shows as its id alone, or in whole.
#[derive(Deserialize)]
#[serde(from = "Expandable")]
pub(crate) struct Id(String);

#[derive(Deserialize)]
#[serde(untagged)]
enum Expandable {
    Id(String),
    Object { id: String },
}

impl From<Expandable> for Id {
    fn from(expandable: Expandable) -> Self {
        match expandable {
            Expandable::Id(id) | Expandable::Object { id } => Self(id),
        }
    }
}

impl Id {
    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

pub(crate) fn one<T: Object>(body: &[u8]) -> Result<T, String> {
    let wire: T::Wire = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    T::try_from(wire)
}

/// Reads a page. One object that can't be read makes the page unreadable: a list with a hole in it
/// would be taken for the whole.
pub(crate) fn page<T: Object>(body: &[u8]) -> Result<Page<T>, String> {
    let list: List<T::Wire> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let (items, has_more) = list.into_parts()?;
    let items = items.into_iter().map(T::try_from);
    let items: Vec<T> = items.collect::<Result<_, _>>()?;
    let next = match (has_more, items.last()) {
        (false, _) => None,
        (true, Some(last)) => Some(last.id().to_owned()),
        (true, None) => return Err("an empty page says that there is more".to_owned()),
    };
    Ok(Page { items, next })
}

pub(crate) fn is_a(expected: &str, object: &str) -> Result<(), String> {
    match object == expected {
        true => Ok(()),
        false => Err(format!("this is a {object}")),
    }
}

pub(crate) fn instant(seconds: i64) -> Result<DateTime<Utc>, String> {
    DateTime::from_timestamp(seconds, 0).ok_or_else(|| format!("{seconds} is no time"))
}

pub(crate) fn money(amount: i64, currency: &str) -> Result<Money, String> {
    Money::from_stripe(amount, currency).map_err(|error| error.to_string())
}

/// Escapes an id: it comes from a row or an event, and must not lead elsewhere.
pub(crate) fn path<T: Object>(id: &str) -> String {
    let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
    format!("{}/{id}", T::LIST)
}

/// Writes the path of an object that is to be shown with what it refers to.
pub(crate) fn expanded_path<T: Object>(id: &str, expand: &str) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("expand[]", expand);
    format!("{}?{}", path::<T>(id), query.finish())
}

/// Writes the path of a page of what fits `query`, behind the object `after`.
pub(crate) fn page_path<T: Object>(query: &[(&str, &str)], after: Option<&str>) -> String {
    let mut written = Serializer::new(String::new());
    written.extend_pairs(query).append_pair("limit", PAGE_SIZE);
    if let Some(after) = after {
        written.append_pair("starting_after", after);
    }
    format!("{}?{}", T::LIST, written.finish())
}

/// Writes the path of a page of what was created in a range of time. The API counts in seconds, so
/// ranges that meet neither share an object nor miss one.
pub(crate) fn created_path<T: Object>(
    created: &Range<DateTime<Utc>>,
    after: Option<&str>,
) -> String {
    let from = created.start.timestamp().to_string();
    let to = created.end.timestamp().to_string();
    let query = [
        ("created[gte]", from.as_str()),
        ("created[lt]", to.as_str()),
    ];
    page_path::<T>(&query, after)
}
