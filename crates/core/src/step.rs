//! The one sender of writes: a business step is written whole or not at all.
//!
//! A [`Step`] gathers a guard, changes, an audit row and outbox rows into one
//! `TransactWriteItems`. Every change is conditional on the version that was decided on, so a lost
//! race comes back as [`Written::Stale`] with the rows as they stand, to be decided on again.
//! Every row remembers the command that last moved it: a writer whose first answer was lost
//! recognises its own write and gets [`Written::Applied`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use aws_sdk_dynamodb::types::builders::{
    ConditionCheckBuilder, DeleteBuilder, PutBuilder, UpdateBuilder,
};
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ulid::Ulid;

use crate::planted::{self, Defect};

pub use crate::write::{ReadError, WriteError, read, write};
/// A row that does not fit its type.
pub use serde_dynamo::Error as RowError;

/// A row as DynamoDB has it.
pub type Item = HashMap<String, AttributeValue>;

/// DynamoDB's own limit on the parts of one transaction.
pub(crate) const PARTS_MAX: usize = 100;

/// Something that is stored as one row with one key attribute.
pub trait Row: Serialize {
    /// What the row is called in a [`Found`].
    const NAME: &'static str;
    /// The key attribute.
    const KEY: &'static str;
    /// Attributes about a person: never copied into the audit.
    const PERSONAL: &'static [&'static str] = &[];

    /// The value of the key attribute.
    fn key(&self) -> String;

    /// The row as it is stored, derived attributes included.
    ///
    /// # Errors
    /// A value that has no stored form: a defect.
    fn item(&self) -> Result<Item, serde_dynamo::Error> {
        let mut item: Item = serde_dynamo::to_item(self)?;
        item.retain(|_, value| !value.is_null());
        Ok(item)
    }

    /// What is to be written so that `before`, as stored, becomes this row.
    ///
    /// # Errors
    /// As [`Row::item`].
    fn changes_from(&self, before: &Self) -> Result<Changes, serde_dynamo::Error> {
        let (old, new) = (before.item()?, self.item()?);
        let mut changes = Changes::default();
        changes
            .removed
            .extend(old.keys().filter(|name| !new.contains_key(*name)).cloned());
        let differs = |(name, value): &(String, AttributeValue)| old.get(name) != Some(value);
        changes.set.extend(new.into_iter().filter(differs));
        Ok(changes)
    }
}

/// The attributes that differ between two states of a row, in order: the same change is the same
/// bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    pub set: BTreeMap<String, AttributeValue>,
    pub removed: BTreeSet<String>,
}

impl Changes {
    /// Notes the value of an attribute that differs; one that has no value any more is removed.
    ///
    /// # Errors
    /// As [`Row::item`].
    pub fn note<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), serde_dynamo::Error> {
        let value: AttributeValue = serde_dynamo::to_attribute_value(value)?;
        if value.is_null() {
            self.removed.insert(name.to_owned());
        } else {
            self.set.insert(name.to_owned(), value);
        }
        Ok(())
    }
}

/// What a change did to a row's attributes, for the audit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Diff {
    pub(crate) set: Item,
    pub(crate) removed: Vec<String>,
}

/// One business step under construction. Its id is the transaction's client token and the stem of
/// its audit and outbox ids, so it must be new for each step.
#[derive(Clone, Debug)]
pub struct Step {
    pub(crate) id: Ulid,
    pub(crate) now: DateTime<Utc>,
    pub(crate) command_id: String,
    pub(crate) parts: Vec<Part>,
    pub(crate) diff: Diff,
    pub(crate) emitted: u128,
    /// The version of the row that the step is about, as it will be.
    pub(crate) subject_version: u64,
    defect: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) key: String,
    pub(crate) item: TransactWriteItem,
}

/// What became of a step.
#[must_use]
#[derive(Clone, Debug)]
pub enum Written {
    /// Everything is written, by this call or by an earlier one of the same command.
    Applied,
    /// Nothing is written: these rows were not as decided on. Decide again on them.
    Stale(Vec<Found>),
    /// Nothing is written, and nothing is known to be wrong: others were writing. Try again later.
    Contended,
}

/// A row that was not as the step expected it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The [`Row::NAME`] of the part.
    pub name: &'static str,
    /// The key that the part was about.
    pub key: String,
    /// The row as it stands; `None` if there is none.
    pub row: Option<Item>,
}

/// How far a count goes up, and how far it may.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    pub add: u32,
    /// The most that the count may be afterwards.
    pub max: u32,
    pub expires_at: DateTime<Utc>,
}

impl Step {
    /// Starts a step. `command_id` names the order that this step carries out: the same order
    /// carried out twice must have the same one, another order another one.
    pub fn new(id: Ulid, command_id: impl Into<String>, now: DateTime<Utc>) -> Self {
        Self {
            id,
            now,
            command_id: command_id.into(),
            parts: Vec::new(),
            diff: Diff::default(),
            emitted: 0,
            subject_version: 0,
            defect: None,
        }
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Adds a row that must not exist yet.
    #[must_use]
    pub fn create<R: Row>(self, table: &str, row: &R) -> Self {
        self.put(table, row, "attribute_not_exists(#key)", &[])
    }

    /// Adds the new row that this step is about; its audit row tells of its attributes.
    #[must_use]
    pub fn create_subject<R: Row>(mut self, table: &str, row: &R) -> Self {
        let Some(item) = self.or_defect(row.item()) else {
            return self;
        };
        self.diff.set = audited::<R>(&item);
        let command_id = AttributeValue::S(self.command_id.clone());
        self.diff.set.insert("last_command".to_owned(), command_id);
        self.subject_version = 1;
        self.put_item::<R>(table, row.key(), item, "attribute_not_exists(#key)", &[])
    }

    /// Adds a row that must not exist yet, or whose time to live (`expires_at`, epoch seconds) is
    /// past: DynamoDB deletes such rows days late.
    #[must_use]
    pub fn create_or_replace_expired<R: Row>(self, table: &str, row: &R) -> Self {
        let now = AttributeValue::N(self.now.timestamp().to_string());
        let condition = "attribute_not_exists(#key) OR #expires_at < :now";
        self.put(
            table,
            row,
            condition,
            &[("#expires_at", "expires_at", ":now", now)],
        )
    }

    /// Puts a row under a condition of the caller's; `#key` is the key attribute.
    #[must_use]
    pub fn put<R: Row>(
        mut self,
        table: &str,
        row: &R,
        condition: &str,
        operands: &[(&str, &str, &str, AttributeValue)],
    ) -> Self {
        match self.or_defect(row.item()) {
            Some(item) => self.put_item::<R>(table, row.key(), item, condition, operands),
            None => self,
        }
    }

    pub(crate) fn put_item<R: Row>(
        self,
        table: &str,
        key: String,
        mut item: Item,
        condition: &str,
        operands: &[(&str, &str, &str, AttributeValue)],
    ) -> Self {
        let command_id = AttributeValue::S(self.command_id.clone());
        item.insert("last_command".to_owned(), command_id);
        let mut put = Put::builder()
            .table_name(table)
            .set_item(Some(item))
            .condition_expression(condition)
            .expression_attribute_names("#key", R::KEY)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        for (alias, name, placeholder, value) in operands {
            put = put
                .expression_attribute_names(*alias, *name)
                .expression_attribute_values(*placeholder, value.clone());
        }
        self.add_put(R::NAME, key, put)
    }

    /// Changes a row from `before` to `after`, if it still is what `before` was.
    ///
    /// Only the attributes that differ are written, so an older writer never drops a newer field.
    #[must_use]
    pub fn change<R: Row>(mut self, table: &str, before: &R, after: &R, seen_version: u64) -> Self {
        let key = before.key();
        let Some(Changes { mut set, removed }) = self.or_defect(after.changes_from(before)) else {
            return self;
        };
        self.subject_version = seen_version + 1;
        let version = AttributeValue::N(self.subject_version.to_string());
        set.insert("version".to_owned(), version);
        let command_id = AttributeValue::S(self.command_id.clone());
        set.insert("last_command".to_owned(), command_id);
        self.diff.set = audited::<R>(&set);
        self.diff.removed = removed.iter().cloned().collect();
        let update = update_of(set, &removed);
        let update = update
            .table_name(table)
            .key(R::KEY, AttributeValue::S(key.clone()))
            .condition_expression(if planted::is(Defect::LastWriteWins) {
                "attribute_exists(#key) AND #version >= :seen"
            } else {
                "attribute_exists(#key) AND #version = :seen"
            })
            .expression_attribute_names("#key", R::KEY)
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":seen", AttributeValue::N(seen_version.to_string()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        self.add_update(R::NAME, key, update)
    }

    /// Requires that the row still has this version, without changing it.
    #[must_use]
    pub fn unchanged<R: Row>(mut self, table: &str, key: &str, seen_version: u64) -> Self {
        self.subject_version = seen_version;
        let check = ConditionCheck::builder()
            .condition_expression("#version = :seen")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":seen", AttributeValue::N(seen_version.to_string()));
        self.check(R::NAME, R::KEY, table, key, check)
    }

    /// Adds a condition on a row that is not changed.
    #[must_use]
    pub fn check(
        mut self,
        name: &'static str,
        key_name: &str,
        table: &str,
        key: &str,
        check: ConditionCheckBuilder,
    ) -> Self {
        let check = check
            .table_name(table)
            .key(key_name, AttributeValue::S(key.to_owned()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build();
        if let Some(check) = self.or_defect(check) {
            self.parts.push(Part {
                name,
                key: key.to_owned(),
                item: TransactWriteItem::builder().condition_check(check).build(),
            });
        }
        self
    }

    /// Deletes a row if it is still `owner`'s. A row that is gone already is as good.
    #[must_use]
    pub fn delete_owned<R: Row>(self, table: &str, key: &str, owner: (&str, &str)) -> Self {
        let delete = Delete::builder()
            .table_name(table)
            .key(R::KEY, AttributeValue::S(key.to_owned()))
            .condition_expression("attribute_not_exists(#key) OR #owner = :owner")
            .expression_attribute_names("#key", R::KEY)
            .expression_attribute_names("#owner", owner.0)
            .expression_attribute_values(":owner", AttributeValue::S(owner.1.to_owned()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        self.add_delete(R::NAME, key, delete)
    }

    /// Deletes a row, whosever it is. Nothing that is right does so.
    pub(crate) fn delete<R: Row>(self, table: &str, key: &str) -> Self {
        let delete = Delete::builder()
            .table_name(table)
            .key(R::KEY, AttributeValue::S(key.to_owned()));
        self.add_delete(R::NAME, key, delete)
    }

    /// Counts up the attribute `count` of a row, which need not exist yet, unless it would then be
    /// over its limit.
    ///
    /// Others may count on it in between, so a later look finds the last of them as its
    /// `last_command`: what tells whether this step was written is a row of its own beside it.
    #[must_use]
    pub fn count_up<R: Row>(self, table: &str, row: &R, counter: Counter) -> Self {
        let number = |number: i64| AttributeValue::N(number.to_string());
        let room = i64::from(counter.max) - i64::from(counter.add);
        // Without a row there is a count of nothing, which must leave room as well.
        let condition = match room < 0 {
            true => "#count <= :room",
            false => "attribute_not_exists(#count) OR #count <= :room",
        };
        let update = Update::builder()
            .table_name(table)
            .key(R::KEY, AttributeValue::S(row.key()))
            .update_expression("SET #last = :command, #expires = :expires ADD #count :add")
            .condition_expression(condition)
            .expression_attribute_names("#count", "count")
            .expression_attribute_names("#last", "last_command")
            .expression_attribute_names("#expires", "expires_at")
            .expression_attribute_values(":command", AttributeValue::S(self.command_id.clone()))
            .expression_attribute_values(":expires", number(counter.expires_at.timestamp()))
            .expression_attribute_values(":add", number(i64::from(counter.add)))
            .expression_attribute_values(":room", number(room))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        self.add_update(R::NAME, row.key(), update)
    }

    /// Leaves the changed attributes out of the audit row that follows: it is about another subject.
    #[must_use]
    pub fn without_diff(mut self) -> Self {
        self.diff = Diff::default();
        self
    }

    pub(crate) fn or_defect<T, E: std::fmt::Display>(&mut self, result: Result<T, E>) -> Option<T> {
        result
            .map_err(|error| self.defect = Some(error.to_string()))
            .ok()
    }

    fn add_put(mut self, name: &'static str, key: String, put: PutBuilder) -> Self {
        if let Some(put) = self.or_defect(put.build()) {
            let item = TransactWriteItem::builder().put(put).build();
            self.parts.push(Part { name, key, item });
        }
        self
    }

    fn add_update(mut self, name: &'static str, key: String, update: UpdateBuilder) -> Self {
        if let Some(update) = self.or_defect(update.build()) {
            let item = TransactWriteItem::builder().update(update).build();
            self.parts.push(Part { name, key, item });
        }
        self
    }

    fn add_delete(mut self, name: &'static str, key: &str, delete: DeleteBuilder) -> Self {
        if let Some(delete) = self.or_defect(delete.build()) {
            let item = TransactWriteItem::builder().delete(delete).build();
            self.parts.push(Part {
                name,
                key: key.to_owned(),
                item,
            });
        }
        self
    }

    /// The parts to send, or what is wrong with the step.
    pub(crate) fn checked(&self) -> Result<&[Part], String> {
        match &self.defect {
            Some(defect) => Err(defect.clone()),
            None if self.parts.is_empty() => Err("the step is empty".to_owned()),
            None if self.parts.len() > PARTS_MAX => {
                Err(format!("the step has {} parts", self.parts.len()))
            }
            None => Ok(&self.parts),
        }
    }
}

/// Reads a row into its type. Unknown attributes are left alone.
///
/// # Errors
/// A row that does not fit its type.
pub fn from_item<T: DeserializeOwned>(item: Item) -> Result<T, serde_dynamo::Error> {
    serde_dynamo::from_item(item)
}

/// The attributes as the audit keeps them: none about a person.
fn audited<'a, R: Row>(
    attributes: impl IntoIterator<Item = (&'a String, &'a AttributeValue)>,
) -> Item {
    attributes
        .into_iter()
        .filter(|(name, _)| !R::PERSONAL.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn update_of(set: BTreeMap<String, AttributeValue>, removed: &BTreeSet<String>) -> UpdateBuilder {
    let mut update = Update::builder();
    let mut expression = String::from("SET ");
    for (index, (name, value)) in set.into_iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        // Writing to a string can't fail.
        let _ = write!(expression, "{separator}#s{index} = :s{index}");
        update = update
            .expression_attribute_names(format!("#s{index}"), name)
            .expression_attribute_values(format!(":s{index}"), value);
    }
    for (index, name) in removed.iter().enumerate() {
        let separator = if index == 0 { " REMOVE " } else { ", " };
        let _ = write!(expression, "{separator}#r{index}");
        update = update.expression_attribute_names(format!("#r{index}"), name);
    }
    update.update_expression(expression)
}
