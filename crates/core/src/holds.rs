//! How many unpaid bookings one phone, one source or one address may hold slots with at once.
//!
//! Each may use as many tokens as it has bookings allowed. A booking takes one token of each in the
//! step that makes it, so a booking more than allowed can't be written, however many try at once. A
//! token is not given back: whoever finds one taken looks at the booking behind it, and takes it
//! over once that is not waiting for its deposit any more.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::batch_read::{BatchReadError, read_many};
use crate::booking::{Booking, State};
use crate::phone::Phone;
use crate::step::{Row, Step};

/// How long after the deposit's deadline a token runs out by itself: longer than the sweep that
/// releases takes.
const MARGIN: TimeDelta = TimeDelta::hours(1);

/// One token of a scope, with the booking that has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HoldRow {
    pub scope_key: String,
    pub booking_id: String,
    /// Epoch seconds.
    pub expires_at: i64,
}

impl Row for HoldRow {
    const NAME: &'static str = "hold";
    const KEY: &'static str = "scope_key";

    fn key(&self) -> String {
        self.scope_key.clone()
    }
}

/// Whose unpaid bookings are counted together, and how many they may be. It is known by a hash: a
/// phone or an address is not kept here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    hash: String,
    cap: u32,
}

/// A token that a booking is to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    key: String,
    /// The booking that has it and needs it no more.
    replaces: Option<String>,
}

impl Scope {
    pub fn of_phone(phone: &Phone, cap: u32) -> Self {
        Self::new(&["phone", phone.e164()], cap)
    }

    pub fn of_source(caller: &str, source: &str, cap: u32) -> Self {
        Self::new(&["source", caller, source], cap)
    }

    /// Of IPv6 the first 64 bits count: whoever has one address there has all of them.
    pub fn of_address(address: IpAddr, cap: u32) -> Self {
        let address = match address.to_canonical() {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("{:016x}", address.to_bits() >> 64),
        };
        Self::new(&["address", &address], cap)
    }

    fn new(parts: &[&str], cap: u32) -> Self {
        Self {
            hash: digest(parts),
            cap: cap.max(1),
        }
    }

    /// Whether a token's key is one of this scope's.
    pub fn has(&self, key: &str) -> bool {
        key.strip_prefix("hold#")
            .and_then(|rest| rest.strip_prefix(self.hash.as_str()))
            .is_some_and(|rest| rest.starts_with('#'))
    }

    /// Any of the tokens, whoever has it.
    pub fn any(&self, chance: u128) -> Token {
        let number = u32::try_from(chance % u128::from(self.cap)).unwrap_or_default();
        Token {
            key: self.key(number + 1),
            replaces: None,
        }
    }

    fn key(&self, number: u32) -> String {
        format!("hold#{}#{number}", self.hash)
    }

    /// Looks for a token that nobody needs, any of them by `chance`; `None` if each is a booking's
    /// that waits for its deposit.
    ///
    /// # Errors
    /// If the rows could not be read.
    pub async fn free(
        &self,
        client: &Client,
        tables: HoldTables<'_>,
        now: DateTime<Utc>,
        chance: u128,
    ) -> Result<Option<Token>, BatchReadError> {
        let keys: Vec<String> = (1..=self.cap).map(|number| self.key(number)).collect();
        let rows = read_many::<HoldRow, HoldRow>(client, tables.holds, &keys, &[]).await?;
        let taken: BTreeMap<String, String> = rows
            .into_iter()
            .filter(|row| row.expires_at >= now.timestamp())
            .map(|row| (row.scope_key, row.booking_id))
            .collect();
        let mut free: Vec<Token> = keys
            .into_iter()
            .filter(|key| !taken.contains_key(key))
            .map(|key| Token {
                key,
                replaces: None,
            })
            .collect();
        if free.is_empty() {
            let waiting = waiting(client, tables.bookings, taken.values()).await?;
            let done = taken.into_iter().filter(|(_, id)| !waiting.contains(id));
            free.extend(done.map(|(key, id)| Token {
                key,
                replaces: Some(id),
            }));
        }
        let count = u128::try_from(free.len().max(1)).unwrap_or(1);
        let at = usize::try_from(chance % count).unwrap_or_default();
        Ok(free.into_iter().nth(at))
    }
}

/// Where tokens and bookings are.
#[derive(Clone, Copy, Debug)]
pub struct HoldTables<'a> {
    pub holds: &'a str,
    pub bookings: &'a str,
}

/// Which of the bookings wait for their deposit.
async fn waiting(
    client: &Client,
    table: &str,
    ids: impl Iterator<Item = &String>,
) -> Result<BTreeSet<String>, BatchReadError> {
    #[derive(Deserialize)]
    struct Standing {
        booking_id: String,
        state: State,
    }
    let ids: BTreeSet<String> = ids.cloned().collect();
    let ids: Vec<String> = ids.into_iter().collect();
    let attributes = ["booking_id", "state"];
    let found = read_many::<Booking, Standing>(client, table, &ids, &attributes).await?;
    let waiting = found.into_iter().filter(|it| it.state == State::Pending);
    Ok(waiting.map(|it| it.booking_id).collect())
}

impl Step {
    /// Takes a token for a booking whose deposit is due then.
    #[must_use]
    pub fn take_hold(
        self,
        table: &str,
        token: &Token,
        booking_id: &str,
        deposit_deadline: DateTime<Utc>,
    ) -> Self {
        let row = HoldRow {
            scope_key: token.key.clone(),
            booking_id: booking_id.to_owned(),
            expires_at: (deposit_deadline + MARGIN).timestamp(),
        };
        self.create_or_replace(table, &row, token.replaces.as_deref())
    }

    /// Adds a row that must not exist yet, be past its time to live, or be that of a booking which
    /// needs it no more.
    #[must_use]
    pub fn create_or_replace<R: Row>(
        self,
        table: &str,
        row: &R,
        replaced_booking: Option<&str>,
    ) -> Self {
        let Some(replaced) = replaced_booking else {
            return self.create_or_replace_expired(table, row);
        };
        let now = AttributeValue::N(self.now().timestamp().to_string());
        let replaced = AttributeValue::S(replaced.to_owned());
        self.put(
            table,
            row,
            "attribute_not_exists(#key) OR #expires_at < :now OR #owner = :owner",
            &[
                ("#expires_at", "expires_at", ":now", now),
                ("#owner", "booking_id", ":owner", replaced),
            ],
        )
    }
}

/// A hash of texts that can't be mistaken for that of other texts.
pub fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_as_many_tokens_as_are_allowed_and_shows_no_phone() {
        let phone = Phone::parse("07700 900123", "GB").unwrap();
        let scope = Scope::of_phone(&phone, 3);
        let keys: BTreeSet<String> = (0..99).map(|chance| scope.any(chance).key).collect();
        assert_eq!(keys.len(), 3);
        assert!(
            keys.iter()
                .all(|key| scope.has(key) && !key.contains("7700"))
        );
        let other = Phone::parse("07700 900124", "GB").unwrap();
        assert!(!Scope::of_phone(&other, 3).has(&scope.any(0).key));
        assert!(!Scope::of_source("form", phone.e164(), 3).has(&scope.any(0).key));
    }

    #[test]
    fn a_household_has_one_address_in_either_protocol() {
        let scope = |text: &str| Scope::of_address(text.parse().unwrap(), 10);
        assert_eq!(scope("203.0.113.7"), scope("::ffff:203.0.113.7"));
        assert_eq!(scope("2001:db8::1"), scope("2001:db8::2"));
        assert_ne!(scope("2001:db8::1"), scope("2001:db8:0:1::1"));
        assert_ne!(scope("203.0.113.7"), scope("203.0.113.8"));
    }

    #[test]
    fn texts_are_not_run_together() {
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
    }

    #[test]
    fn tokens_are_numbered_from_one_and_chosen_by_chance() {
        let scope = Scope::of_source("form", "web", 3);
        let key = |chance| scope.any(chance).key;
        let numbers =
            [0, 1, 2, 3, 5].map(|chance| key(chance).rsplit_once('#').unwrap().1.to_owned());
        assert_eq!(numbers, ["1", "2", "3", "1", "3"]);
        assert!(key(0).starts_with("hold#"));
    }

    #[test]
    fn a_token_runs_out_an_hour_after_the_deposit_was_due() {
        let (now, due) = (
            DateTime::UNIX_EPOCH,
            DateTime::UNIX_EPOCH + TimeDelta::days(1),
        );
        let token = Scope::of_source("form", "web", 1).any(0);
        let step =
            Step::new(ulid::Ulid::nil(), "book", now).take_hold("holds", &token, "bkg_1", due);
        let part = &step.checked().unwrap()[0];
        assert_eq!(part.key, token.key);
        let item = part.item.put().unwrap().item();
        let expires_at = AttributeValue::N((25 * 60 * 60).to_string());
        assert_eq!(item["expires_at"], expires_at);
        assert_eq!(item["booking_id"], AttributeValue::S("bkg_1".to_owned()));
    }
}
