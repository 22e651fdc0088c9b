//! A subscription in dunning and its parts, as they are stored, and when work on it is due.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::access::Standing;
use super::debt::Debt;
use super::mail::Mails;
use super::policy::Terms;
use super::{CaseReason, Status};
use crate::email::EmailAddress;
use crate::local_time::stamp;
use crate::money::Money;
use crate::step::{Item, Row};

/// Over how many index partitions the due work is spread.
pub const DUE_SHARDS: u64 = 4;
/// How long a schedule may be overdue, or an order without effect, before the sweep looks.
pub const OVERDUE_AFTER: TimeDelta = TimeDelta::minutes(15);

/// How many cards a subscription remembers that are never charged again.
const BARRED_CARDS_MAX: usize = 20;

/// One subscription in or recently out of dunning. It has no `Debug` form: it names a person.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Dunning {
    pub subscription_id: String,
    pub customer_id: String,
    pub status: Status,
    /// What the retrier or an operator said last; see [`Dunning::access`]. Only their roles may
    /// write it, so no event can shut anybody out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_by: Option<AccessBy>,
    /// The invoice that is next in turn: the oldest open one.
    pub invoice_id: Option<String>,
    /// By the provider's ids; the closed ones for a while, the open ones until they close.
    #[serde(default)]
    pub invoices: BTreeMap<String, Debt>,
    /// How many charges we tried in all. It only ever grows, so a key never comes back.
    pub attempt_no: u32,
    /// How many of them an invoice gets by the calendar.
    pub max_attempts: u32,
    /// Attempts beside the calendar, after a new card.
    #[serde(default)]
    pub extra_attempts: u32,
    /// The number of the latest plan, which names its schedule. It only ever grows.
    #[serde(default)]
    pub plan_no: u32,
    pub plan: Option<Plan>,
    pub next_retry_at: Option<DateTime<Utc>>,
    /// One-off schedules that may still be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule_names: Vec<String>,
    /// The one charge that is in flight.
    pub attempt: Option<Attempt>,
    /// The payment method that the customer gave us while a charge was in flight.
    pub card_pending: Option<String>,
    /// The payment method that the customer gave us since the last decline: the next charge names it.
    pub new_card: Option<String>,
    /// Cards that their networks forbid for ever, by fingerprint, since when: the customer may give
    /// the same one again as another payment method.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub barred_cards: BTreeMap<String, DateTime<Utc>>,
    pub failure_code: Option<String>,
    pub entered_dunning_at: Option<DateTime<Utc>>,
    pub paused_at: Option<DateTime<Utc>>,
    /// The rules as they were when dunning began.
    pub terms: Terms,
    /// Absent where the provider has none, and once the person was forgotten.
    pub email: Option<EmailAddress>,
    /// Who else gets the bills, if mail to the first address comes back.
    pub second_email: Option<EmailAddress>,
    pub name: Option<String>,
    #[serde(default)]
    pub link: Link,
    #[serde(default)]
    pub mails: Mails,
    /// How often the customer was reminded while paused.
    #[serde(default)]
    pub repings: u32,
    /// What a person must look at, since when; see `cases_told`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cases: BTreeMap<CaseReason, DateTime<Utc>>,
    /// What the team was told of: the reason and what it was about.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub cases_told: BTreeSet<String>,
    /// Nothing more is done of ourselves, and why.
    pub closed: Option<String>,
    /// When it last changed.
    pub moved_at: DateTime<Utc>,
    pub version: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Granted,
    Paused,
}

/// Who said what access there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessBy {
    Retrier,
    Operator,
}

/// What is to be done next at the provider, and when. Its one-off schedule bears its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub n: u32,
    pub purpose: Purpose,
    pub invoice_id: String,
    pub at: DateTime<Utc>,
    /// By which rule and edition.
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Read the live invoice and what became of its charges; take nothing.
    Look,
    /// Charge by the calendar.
    Charge,
    /// Charge beside the calendar: there is a new card.
    ChargeNewCard,
}

/// One charge that was claimed, and is open until its outcome is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub n: u32,
    /// The plan that it carries out.
    pub plan_no: u32,
    pub purpose: Purpose,
    pub invoice_id: String,
    /// The idempotency key.
    pub key: String,
    pub amount: Money,
    /// Named in the call; absent if the provider takes its own default.
    pub payment_method: Option<String>,
    /// What is charged, as it was seen.
    #[serde(default)]
    pub card: Option<String>,
    /// The latest charge of the invoice before this one: a later one is ours or somebody else's.
    pub charge_before: Option<String>,
    pub claimed_at: DateTime<Utc>,
    /// When the provider was last asked.
    #[serde(default = "long_ago")]
    pub asked_at: DateTime<Utc>,
    /// Until then its holder is at work, and nobody else takes over.
    pub lease_until: DateTime<Utc>,
    /// How often it was looked for without an answer.
    pub looks: u32,
}

/// The link in the latest mail. An older one no longer counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub no: u32,
    pub spent_at: Option<DateTime<Utc>>,
    /// When the customer last asked for a fresh one.
    #[serde(default)]
    pub asked_at: Option<DateTime<Utc>>,
}

impl Dunning {
    /// A subscription that has just come in, with nothing known of it.
    pub fn new(subscription_id: &str, customer_id: &str, terms: Terms, now: DateTime<Utc>) -> Self {
        Self {
            subscription_id: subscription_id.to_owned(),
            customer_id: customer_id.to_owned(),
            status: Status::Active,
            access: None,
            access_by: None,
            invoice_id: None,
            invoices: BTreeMap::new(),
            attempt_no: 0,
            max_attempts: terms.max_attempts(),
            extra_attempts: 0,
            plan_no: 0,
            plan: None,
            next_retry_at: None,
            schedule_names: Vec::new(),
            attempt: None,
            card_pending: None,
            new_card: None,
            barred_cards: BTreeMap::new(),
            failure_code: None,
            entered_dunning_at: None,
            paused_at: None,
            terms,
            email: None,
            second_email: None,
            name: None,
            link: Link::default(),
            mails: Mails::default(),
            repings: 0,
            cases: BTreeMap::new(),
            cases_told: BTreeSet::new(),
            closed: None,
            moved_at: now,
            version: 0,
        }
    }

    /// What the app is told: paused only where the retrier gave up on an invoice that is still open,
    /// or an operator said so.
    ///
    /// `access` outlives the status that it was written in, since an event may end the dunning but
    /// not write it: the retrier's word counts while the status is paused, an operator's always.
    pub fn access(&self) -> Access {
        self.standing().access()
    }

    pub fn standing(&self) -> Standing {
        Standing {
            status: self.status,
            access: self.access,
            access_by: self.access_by,
            paused_at: self.paused_at,
        }
    }

    /// Remembers a card that is never charged again; of very many the latest ones.
    pub(super) fn bar_card(&mut self, fingerprint: &str, now: DateTime<Utc>) {
        let barred = &mut self.barred_cards;
        barred.entry(fingerprint.to_owned()).or_insert(now);
        if barred.len() > BARRED_CARDS_MAX {
            let oldest = barred.iter().min_by_key(|(_, since)| **since);
            if let Some(oldest) = oldest.map(|(fingerprint, _)| fingerprint.clone()) {
                barred.remove(&oldest);
            }
        }
    }

    /// The open invoices, the oldest first.
    pub fn open_debts(&self) -> Vec<(&String, &Debt)> {
        let mut open: Vec<_> = self
            .invoices
            .iter()
            .filter(|(_, it)| it.is_open())
            .collect();
        open.sort_by_key(|(id, debt)| (debt.created, (*id).clone()));
        open
    }

    /// The open invoice that is next in turn.
    pub fn current(&self) -> Option<(&String, &Debt)> {
        self.open_debts().into_iter().next()
    }

    /// When there is something to do of ourselves, if nothing comes.
    pub fn due_at(&self) -> Option<DateTime<Utc>> {
        let mail = self.mails.owed_since().map(|since| since + OVERDUE_AFTER);
        if self.closed.is_some() {
            return mail;
        }
        let plan = self.plan.as_ref().map(|plan| plan.at + OVERDUE_AFTER);
        let attempt = self
            .attempt
            .as_ref()
            .map(|it| it.lease_until + OVERDUE_AFTER);
        let work = match (plan, attempt) {
            (Some(plan), _) => Some(plan),
            (None, Some(attempt)) => Some(attempt),
            (None, None) if self.wants_plan() => Some(self.moved_at + OVERDUE_AFTER),
            (None, None) => None,
        };
        [work, mail, self.reping_at(), self.horizon()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether something must be planned that is not.
    pub fn wants_plan(&self) -> bool {
        let follows = !matches!(self.status, Status::Cancelled) && self.closed.is_none();
        let waits = self.open_debts().iter().any(|(_, debt)| !debt.exhausted)
            || (self.may_try_new_card() && self.current().is_some());
        // Money may have been taken, whatever became of the subscription.
        self.plan.is_none() && (self.attempt.is_some() || follows && waits)
    }

    /// Whether there is a new card, and a try left for it.
    pub fn may_try_new_card(&self) -> bool {
        self.new_card.is_some() && self.extra_attempts < self.terms.extra_attempts_max
    }

    /// When to remind a paused customer next.
    pub fn reping_at(&self) -> Option<DateTime<Utc>> {
        let reminds = self.status == Status::Paused
            && self.current().is_some()
            && self.repings < self.terms.repings_max;
        let days = i64::from(self.terms.reping_every_days) * (i64::from(self.repings) + 1);
        let paused_at = self.paused_at.filter(|_| reminds)?;
        Some(paused_at + TimeDelta::days(days))
    }

    /// When nothing more is done of ourselves about what is still open: long after the latest of it
    /// failed, or after the customer last took it up.
    pub fn horizon(&self) -> Option<DateTime<Utc>> {
        let open = self.open_debts();
        let latest = open.iter().map(|(_, debt)| debt.failed_at).max();
        let begun = latest.max(self.entered_dunning_at);
        let follows = !open.is_empty() && self.status != Status::Cancelled;
        let days = i64::from(self.terms.abandon_after_days);
        Some(begun.filter(|_| follows)? + TimeDelta::days(days))
    }
}

impl Row for Dunning {
    const NAME: &'static str = "dunning";
    const KEY: &'static str = "subscription_id";
    const PERSONAL: &'static [&'static str] = &["email", "second_email", "name"];

    fn key(&self) -> String {
        self.subscription_id.clone()
    }

    // The index is sparse: its two attributes are there only while there is something to do.
    fn item(&self) -> Result<Item, serde_dynamo::Error> {
        let mut item: Item = serde_dynamo::to_item(self)?;
        item.retain(|_, value| !value.is_null());
        if let Some(due_at) = self.due_at() {
            let shard = due_shard(super::names::spread(&self.subscription_id) % DUE_SHARDS);
            item.insert("state_shard".to_owned(), AttributeValue::S(shard));
            item.insert("due_at".to_owned(), AttributeValue::S(stamp(due_at)));
        }
        Ok(item)
    }
}

fn long_ago() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

/// The name of an index partition of due work.
pub fn due_shard(shard: u64) -> String {
    format!("DUE#{shard}")
}
