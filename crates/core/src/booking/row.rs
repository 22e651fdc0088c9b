//! A booking and its parts, as they are stored, and when work on it is due.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::State;
use crate::dispute::DisputeStatus;
use crate::email::EmailAddress;
use crate::local_time::stamp;
use crate::money::Money;
use crate::phone::Phone;
use crate::step::{Changes, Item, Row};
use crate::venue::{Policy, minutes};

/// Over how many index partitions the due work of one state is spread.
pub const DUE_SHARDS: u64 = 4;

/// A booking as it is stored. It has no `Debug` form: it names a person.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Booking {
    pub booking_id: String,
    pub state: State,
    pub place: Place,
    pub party: u32,
    pub name: String,
    /// Absent once the person was forgotten.
    pub phone: Option<Phone>,
    pub email: Option<EmailAddress>,
    pub notes: Option<String>,
    /// Where the booking came from, such as `form`.
    pub source: String,
    pub deposit: Money,
    pub deposit_deadline: DateTime<Utc>,
    pub remind_at: Option<DateTime<Utc>>,
    pub reminded_at: Option<DateTime<Utc>>,
    pub funds: Option<Funds>,
    pub session: Option<Session>,
    /// The provider's id of the payment that confirmed it. Only the webhook's role may write it.
    pub payment_ref: Option<String>,
    pub paid_at: Option<DateTime<Utc>>,
    /// All money that came for it, whatever became of it.
    #[serde(default)]
    pub payments: Vec<Paid>,
    /// Why the staff gave money back, the last time.
    #[serde(default)]
    pub refund_reason: Option<String>,
    /// Disputes of its payments, by the provider's ids.
    #[serde(default)]
    pub disputes: BTreeMap<String, Disputed>,
    /// Confirmed without the deposit.
    #[serde(default)]
    pub waived: Option<Mark>,
    #[serde(default)]
    pub waived_reason: Option<String>,
    pub attendance: Option<Attendance>,
    /// When the team was asked to mark the attendance.
    pub asked_at: Option<DateTime<Utc>>,
    /// When the deposit was applied or forfeited.
    #[serde(default)]
    pub settled_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub reversal: Option<Reversal>,
    #[serde(default)]
    pub reversal_reason: Option<String>,
    pub cancelled: Option<Cancellation>,
    /// Why, in somebody's own words.
    pub cancelled_reason: Option<String>,
    /// The rules as they were when it was booked.
    pub policy: Policy,
    /// The language that the customer reads; the venue's own if not said.
    #[serde(default)]
    pub language: Option<String>,
    /// When the customer agreed to the terms, where the form asked for that.
    #[serde(default)]
    pub consented_at: Option<DateTime<Utc>>,
    /// How often it was moved.
    #[serde(default)]
    pub moves: u32,
    pub created_at: DateTime<Utc>,
    pub version: u64,
}

/// Which slots a booking holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub resource: String,
    /// What a customer calls it.
    pub label: String,
    pub starts_at: DateTime<Utc>,
    pub ends_at: DateTime<Utc>,
    pub zone: Tz,
    /// The first is the booking's `slot_key` towards the outside.
    pub slot_keys: Vec<String>,
}

/// A payment that takes days, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Funds {
    pub payment_ref: String,
    pub awaited: bool,
}

/// One payment that the provider says succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paid {
    pub payment_ref: String,
    /// `None` if it is not known what came.
    pub amount: Option<Money>,
    pub paid_at: DateTime<Utc>,
    /// How much of it went back, or was ordered to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<Money>,
    /// What we ordered to go back, by the key of the order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub orders: BTreeMap<String, Order>,
    /// What the payment's own row says of its refunds.
    #[serde(default, skip_serializing_if = "Refunds::is_none")]
    pub refunds: Refunds,
    /// What the customer's bank took back for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Money>,
    /// How much of it became the deposit, once it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
    /// What the business keeps of it, once the booking was called off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained: Option<Money>,
}

/// Money that confirmed a booking, or was here when it was confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    pub amount: Money,
    pub at: DateTime<Utc>,
}

/// An order of ours to give money back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub amount: Money,
    /// How much of it stands for older orders that came to nothing; in minor units.
    pub makes_up: i64,
}

/// The refunds of one payment as its own row has them, in its currency's minor units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refunds {
    /// What went back, is on its way, or was to.
    pub returned: i64,
    /// How much of that came to nothing, and is still owed.
    pub stranded: i64,
    /// The keys of our orders that are there.
    pub keys: BTreeSet<String>,
    /// Those of them that came to nothing.
    pub dead: BTreeSet<String>,
}

impl Refunds {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A dispute as it matters to the booking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disputed {
    pub payment_ref: String,
    pub status: DisputeStatus,
    pub amount: Money,
}

/// Who of the staff did something, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub by: String,
    pub at: DateTime<Utc>,
}

/// A forfeit that was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reversal {
    /// Whether the money goes back; else it counts towards the bill.
    pub refund: bool,
    pub amount: Money,
    #[serde(flatten)]
    pub mark: Mark,
}

/// A hosted payment page at the provider. The attempt is part of the idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub attempt: u32,
    /// When we decided to make it: after 23 hours its key is not sent again.
    pub intended_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// What the provider answered; absent until it did.
    pub opened: Option<OpenedSession>,
    /// The provider keeps an error under this attempt's key, so the next click takes another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spent: bool,
    /// What it asks for; on older rows the whole deposit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Money>,
    /// When the provider was to be asked to close it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing_at: Option<DateTime<Utc>>,
    /// The provider said that nobody can pay on it any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// The page before it, which the provider may still have open: its clock is not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedSession {
    pub session_id: String,
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attendance {
    pub attended: bool,
    pub marked_by: String,
    pub marked_at: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelledBy {
    Customer,
    Business,
}

impl CancelledBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Business => "business",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancellation {
    pub by: CancelledBy,
    pub at: DateTime<Utc>,
    /// Whether the policy gives a paid deposit back.
    pub refund_due: bool,
}

impl Place {
    /// Whether it is the same resource at the same time, in whichever of its units.
    pub(super) fn is_same_time(&self, other: &Self) -> bool {
        self.resource == other.resource
            && (self.starts_at, self.ends_at) == (other.starts_at, other.ends_at)
            && self.slot_keys.len() == other.slot_keys.len()
    }
}

impl Booking {
    /// When the deposit may be applied or forfeited.
    pub fn settle_at(&self) -> DateTime<Utc> {
        self.place.ends_at + minutes(self.policy.settle_after)
    }

    /// When the next sweep must look at it; `None` if nothing is to come by itself.
    pub fn due_at(&self) -> Option<DateTime<Utc>> {
        match (self.state, self.remind_at) {
            (State::Pending, Some(remind_at)) if self.reminded_at.is_none() => {
                Some(remind_at.min(self.release_at()))
            }
            (State::Pending, _) => Some(self.release_at()),
            (State::Confirmed, _) if self.asked_at.is_some() && self.attendance.is_none() => None,
            (State::Confirmed, _) if self.is_frozen() => None,
            (State::Confirmed, _) => Some(self.settle_at()),
            (State::Released | State::Cancelled | State::Applied | State::Forfeited, _) => None,
        }
    }

    /// When an unpaid booking gives its slot back: at the deadline; but if a page is being closed
    /// and the provider did not answer, when the page ends by itself.
    fn release_at(&self) -> DateTime<Utc> {
        let closing = self
            .session
            .as_ref()
            .filter(|page| page.closing_at.is_some() && !self.pages_to_close().is_empty())
            .map(Session::is_over_at);
        closing.map_or(self.deposit_deadline, |over| {
            over.max(self.deposit_deadline)
        })
    }
}

impl Row for Booking {
    const NAME: &'static str = "booking";
    const KEY: &'static str = "booking_id";
    const PERSONAL: &'static [&'static str] = &[
        "name",
        "phone",
        "email",
        "notes",
        "session",
        "cancelled_reason",
        "refund_reason",
        "waived_reason",
        "reversal_reason",
    ];

    fn key(&self) -> String {
        self.booking_id.clone()
    }

    fn item(&self) -> Result<Item, serde_dynamo::Error> {
        let mut item: Item = serde_dynamo::to_item(self)?;
        item.retain(|_, value| !value.is_null());
        for (name, text) in self.derived() {
            item.extend(text.map(|text| (name.to_owned(), AttributeValue::S(text))));
        }
        Ok(item)
    }

    // Field by field: a booking has many, and a step changes few.
    fn changes_from(&self, before: &Self) -> Result<Changes, serde_dynamo::Error> {
        let mut changes = Changes::default();
        macro_rules! note_those_that_differ {
            ($($field:ident),*) => {
                // A field that is missing from the list does not compile.
                let Self { $($field),* } = self;
                $(if *$field != before.$field {
                    changes.note(stringify!($field), $field)?;
                })*
            };
        }
        note_those_that_differ!(
            booking_id,
            state,
            place,
            party,
            name,
            phone,
            email,
            notes,
            source,
            deposit,
            deposit_deadline,
            remind_at,
            reminded_at,
            funds,
            session,
            payment_ref,
            paid_at,
            payments,
            refund_reason,
            disputes,
            waived,
            waived_reason,
            attendance,
            asked_at,
            settled_at,
            reversal,
            reversal_reason,
            cancelled,
            cancelled_reason,
            policy,
            language,
            consented_at,
            moves,
            created_at,
            version
        );
        for ((name, text), (_, old)) in self.derived().into_iter().zip(before.derived()) {
            if text != old {
                changes.note(name, &text)?;
            }
        }
        Ok(changes)
    }
}

impl Booking {
    /// Attributes that are kept beside the fields: for the index, and for those who look at the
    /// table, where `place` has all slots.
    fn derived(&self) -> [(&'static str, Option<String>); 3] {
        let due_at = self.due_at();
        let shard = due_at.map(|_| due_shard(self.state, shard_of(&self.booking_id)));
        [
            ("slot_key", self.place.slot_keys.first().cloned()),
            ("state_shard", shard),
            ("due_at", due_at.map(stamp)),
        ]
    }
}

/// The index partition of due work of one state.
pub fn due_shard(state: State, shard: u64) -> String {
    format!("{}#{shard}", state.as_str())
}

fn shard_of(booking_id: &str) -> u64 {
    // Ids end in random characters, so their sum spreads well enough.
    booking_id.bytes().map(u64::from).sum::<u64>() % DUE_SHARDS
}
