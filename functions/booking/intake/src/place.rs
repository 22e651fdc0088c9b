//! Choosing the slots of a booking: which cells, and which unit of each.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::{Failure, Problem};
use paidonce_core::booking::Place;
use paidonce_core::slots::{SlotRow, cells, slot_key};
use paidonce_core::step::Row;
use paidonce_core::venue::{Resource, minutes};

use crate::Intake;

/// How far ahead a booking may be.
const AHEAD_MAX: TimeDelta = TimeDelta::days(730);
/// DynamoDB's own limit on the keys of one batch read.
const BATCH_KEYS_MAX: usize = 100;
/// How often the keys that a batch read left out are asked for again.
const BATCH_READS_MAX: usize = 20;

/// A place that is wanted: a resource, a start and a number of units.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) starts_at: DateTime<Utc>,
    pub(crate) units: u32,
}

impl Intake {
    /// Checks that the resource can be booked then for such a party.
    pub(crate) fn wanted(
        &self,
        resource_id: &str,
        starts_at: DateTime<Utc>,
        party: u32,
        now: DateTime<Utc>,
    ) -> Result<Wanted<'_>, Problem> {
        let Some(resource) = self.venue.resource(resource_id) else {
            return Err(Problem::field(
                "resource",
                "unknown_resource",
                "`resource` is not one of ours.",
            ));
        };
        if party > resource.party_max {
            let detail = format!(
                "`party` is over {}, the most for this resource.",
                resource.party_max
            );
            return Err(Problem::field("party", "party_too_large", &detail));
        }
        if starts_at > now + AHEAD_MAX {
            return Err(Problem::field(
                "starts_at",
                "too_far_ahead",
                "`starts_at` is over two years ahead.",
            ));
        }
        if !resource.is_on_grid(starts_at, self.venue.zone) {
            let detail = format!(
                "`starts_at` must be a multiple of {} minutes after midnight.",
                resource.grid_minutes
            );
            return Err(Problem::field("starts_at", "off_grid", &detail));
        }
        if !resource.is_open(starts_at, self.venue.zone) {
            return Err(Problem::field(
                "starts_at",
                "closed",
                "`starts_at` is outside the opening times.",
            ));
        }
        Ok(Wanted {
            resource,
            starts_at,
            units: resource.units(party),
        })
    }

    /// The place in the units from `first_unit` on, round and round, for each cell but those for
    /// which `free` names the units to take.
    pub(crate) fn place(
        &self,
        wanted: Wanted<'_>,
        first_unit: u32,
        free: Option<&FreeUnits>,
    ) -> Option<Place> {
        let Wanted {
            resource,
            starts_at,
            units,
        } = wanted;
        let zone = self.venue.zone;
        let ends_at = resource.ends_at(starts_at);
        let mut slot_keys = Vec::new();
        for cell in cells(starts_at, ends_at, minutes(resource.grid_minutes)) {
            let in_turn =
                (0..resource.capacity).map(|offset| (first_unit + offset) % resource.capacity + 1);
            let chosen: Vec<u32> = in_turn
                .filter(|unit| free.is_none_or(|free| free.is_free(cell, *unit)))
                .take(usize::try_from(units).unwrap_or(usize::MAX))
                .collect();
            if chosen.len() < usize::try_from(units).unwrap_or(usize::MAX) {
                return None;
            }
            slot_keys.extend(
                chosen
                    .iter()
                    .map(|unit| slot_key(&resource.id, cell, *unit, zone)),
            );
        }
        let (label, resource) = (resource.label.clone(), resource.id.clone());
        Some(Place {
            resource,
            label,
            starts_at,
            ends_at,
            zone,
            slot_keys,
        })
    }

    /// Reads which units of which cells are taken, by others than `owner`.
    pub(crate) async fn free_units(
        &self,
        resource: &Resource,
        starts: &[DateTime<Utc>],
        owner: &str,
    ) -> Result<FreeUnits, Failure> {
        let mut by_key = BTreeMap::new();
        for cell in starts {
            for unit in 1..=resource.capacity {
                by_key.insert(
                    slot_key(&resource.id, *cell, unit, self.venue.zone),
                    (*cell, unit),
                );
            }
        }
        let keys: Vec<&String> = by_key.keys().collect();
        let mut taken = BTreeSet::new();
        for batch in keys.chunks(BATCH_KEYS_MAX) {
            for slot_key in self.held(batch, owner).await? {
                taken.extend(by_key.get(&slot_key).copied());
            }
        }
        Ok(FreeUnits { taken })
    }

    async fn held(&self, slot_keys: &[&String], owner: &str) -> Result<Vec<String>, Failure> {
        let mut request = Some(self.batch_of(slot_keys)?);
        let mut held = Vec::new();
        for _ in 0..BATCH_READS_MAX {
            let Some(keys) = request.take() else {
                return Ok(held);
            };
            let mut answer = self
                .dynamodb
                .batch_get_item()
                .request_items(&self.tables.slots, keys)
                .send()
                .await?;
            let rows = answer
                .responses
                .as_mut()
                .and_then(|tables| tables.remove(&self.tables.slots));
            for row in rows.unwrap_or_default() {
                let row: SlotRow = paidonce_core::step::from_item(row)?;
                if row.booking_id != owner {
                    held.push(row.slot_key);
                }
            }
            request = answer
                .unprocessed_keys
                .and_then(|mut tables| tables.remove(&self.tables.slots));
        }
        Err("the slots could not be read in full".into())
    }

    fn batch_of(&self, slot_keys: &[&String]) -> Result<KeysAndAttributes, Failure> {
        let mut keys = KeysAndAttributes::builder().consistent_read(true);
        for slot_key in slot_keys {
            let value = AttributeValue::S((*slot_key).clone());
            keys = keys.keys([(SlotRow::KEY.to_owned(), value)].into());
        }
        Ok(keys.build()?)
    }
}

/// Which units are not held by others, as it was when they were read.
pub(crate) struct FreeUnits {
    taken: BTreeSet<(DateTime<Utc>, u32)>,
}

impl FreeUnits {
    pub(crate) fn is_free(&self, cell: DateTime<Utc>, unit: u32) -> bool {
        !self.taken.contains(&(cell, unit))
    }
}
