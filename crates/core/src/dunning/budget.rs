//! How often a card may be declined before its network takes a fee.
//!
//! The limits are data (`budget.json`), each with its source. They hold for a card at a business,
//! whoever tried: the provider's own retries, another invoice, the customer on a page. So what counts
//! is what the provider lists for the card, not what we remember. We are stricter than the networks
//! where they differ: the first decline counts, other amounts count, and a success resets nothing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

/// A charge that the provider lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastCharge {
    pub at: DateTime<Utc>,
    /// Which card it was, by the provider's fingerprint of its number.
    pub fingerprint: String,
    pub succeeded: bool,
    /// Whether it failed with `card_decline_rate_limit_exceeded`: the provider did not even ask.
    pub rate_limited: bool,
}

/// Whether a card may be charged.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Budget {
    Room,
    /// Not before `until`, if nobody else tries till then.
    Full {
        until: DateTime<Utc>,
        /// What decided, such as `visa 20 in 720 h`; for logs and audit.
        rule: String,
        /// Which edition of the limits it was.
        edition: &'static str,
    },
}

/// Says whether a card may be charged at `at`, after `past`; charges of other cards don't count.
///
/// A network that isn't known, or not named, has the limits of `other`.
pub fn budget(
    network: Option<&str>,
    fingerprint: &str,
    past: &[PastCharge],
    at: DateTime<Utc>,
) -> Budget {
    let table = &*TABLE;
    let of_card = || {
        past.iter()
            .filter(|charge| charge.fingerprint == fingerprint)
    };
    let declines: Vec<DateTime<Utc>> = of_card()
        .filter(|charge| !charge.succeeded)
        .map(|charge| charge.at)
        .collect();
    let (name, limits) = table.of_network(network);
    let by_network = limits.iter().filter_map(|limit| {
        let rule = format!("{name} {} in {} h", limit.declines_max, limit.window_hours);
        Some((limit.room_at(&declines)?, rule))
    });
    let by_provider = of_card()
        .filter(|charge| charge.rate_limited)
        .map(|charge| {
            let until = later(charge.at, table.rate_limited.hours);
            (until, "card_decline_rate_limit_exceeded".to_owned())
        });
    by_network
        .chain(by_provider)
        .filter(|(until, _)| *until > at)
        .max()
        .map_or(Budget::Room, |(until, rule)| Budget::Full {
            until,
            rule,
            edition: &table.edition,
        })
}

/// So many declines in any stretch of so many hours.
#[derive(Deserialize)]
struct Limit {
    declines_max: usize,
    window_hours: u32,
}

/// How long a card rests after the provider refused to ask about it.
#[derive(Default, Deserialize)]
struct Rest {
    hours: u32,
}

/// `budget.json`.
#[derive(Default, Deserialize)]
struct Table {
    edition: String,
    networks: BTreeMap<String, Vec<Limit>>,
    other: Vec<Limit>,
    rate_limited: Rest,
}

// A test reads it and compares the limits.
static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("budget.json")).unwrap_or_default());

impl Table {
    fn of_network(&self, network: Option<&str>) -> (&str, &[Limit]) {
        let network = network.map(str::to_ascii_lowercase);
        network
            .and_then(|network| self.networks.get_key_value(&network))
            .map_or(("other", &self.other), |(name, limits)| (name, limits))
    }
}

impl Limit {
    /// When the stretch that ends then has room for one more; `None` if it always had.
    fn room_at(&self, declines: &[DateTime<Utc>]) -> Option<DateTime<Utc>> {
        let mut latest_first = declines.to_vec();
        latest_first.sort_unstable_by(|a, b| b.cmp(a));
        // While this one is in the stretch, so are those after it, and they are as many as may be.
        let oldest = latest_first.get(self.declines_max.checked_sub(1)?)?;
        Some(later(*oldest, self.window_hours))
    }
}

fn later(at: DateTime<Utc>, hours: u32) -> DateTime<Utc> {
    at.checked_add_signed(TimeDelta::hours(i64::from(hours)))
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
}

#[cfg(test)]
mod tests;
