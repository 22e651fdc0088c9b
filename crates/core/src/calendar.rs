//! Which units of a resource are free, and at which starts a party could still book.
//!
//! What is read here may be another's a moment later: a booking is sure of its slots only once its
//! step has created their rows.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use crate::batch_read::{BatchReadError, read_many};
use crate::booking::Place;
use crate::slots::{SlotRow, cells, slot_key};
use crate::venue::{Resource, minutes};

mod starts;

pub use starts::{cells_of, near, open_starts};

/// The slots of a venue.
#[derive(Clone, Debug)]
pub struct Calendar {
    client: Client,
    slots_table: String,
    zone: Tz,
}

/// A place that is wanted: a resource, a start and a number of units.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub resource: &'a Resource,
    pub starts_at: DateTime<Utc>,
    pub units: u32,
}

impl<'a> Wanted<'a> {
    /// The same number of units of the same resource as a booking has; nothing if its length is not
    /// the resource's any more.
    pub fn like(place: &Place, resource: &'a Resource) -> Option<Self> {
        let wanted = Self {
            resource,
            starts_at: place.starts_at,
            units: 0,
        };
        let cells = u32::try_from(wanted.cells().len()).ok()?;
        let rows = u32::try_from(place.slot_keys.len()).ok()?;
        let fits = resource.ends_at(place.starts_at) == place.ends_at
            && cells > 0
            && rows.is_multiple_of(cells);
        fits.then(|| Self {
            units: rows / cells,
            ..wanted
        })
    }

    /// The starts of the cells that it takes.
    pub fn cells(self) -> Vec<DateTime<Utc>> {
        let ends_at = self.resource.ends_at(self.starts_at);
        cells(self.starts_at, ends_at, minutes(self.resource.grid_minutes))
    }

    /// The place in the units from `first_unit` on, round and round; of those that are `free`, if it
    /// is known. `None` if these are too few.
    pub fn place(self, zone: Tz, first_unit: u32, free: Option<&FreeUnits>) -> Option<Place> {
        let resource = self.resource;
        let units = usize::try_from(self.units).unwrap_or(usize::MAX);
        let mut slot_keys = Vec::new();
        for cell in self.cells() {
            let in_turn =
                (0..resource.capacity).map(|offset| (first_unit + offset) % resource.capacity + 1);
            let chosen: Vec<u32> = in_turn
                .filter(|unit| free.is_none_or(|free| free.is_free(cell, *unit)))
                .take(units)
                .collect();
            if chosen.len() < units {
                return None;
            }
            let keys = chosen
                .iter()
                .map(|unit| slot_key(&resource.id, cell, *unit, zone));
            slot_keys.extend(keys);
        }
        Some(Place {
            resource: resource.id.clone(),
            label: resource.label.clone(),
            starts_at: self.starts_at,
            ends_at: resource.ends_at(self.starts_at),
            zone,
            slot_keys,
        })
    }
}

/// Which units are not held by others, as it was when they were read.
#[derive(Clone, Debug)]
pub struct FreeUnits {
    taken: BTreeSet<(DateTime<Utc>, u32)>,
}

impl FreeUnits {
    fn is_free(&self, cell: DateTime<Utc>, unit: u32) -> bool {
        !self.taken.contains(&(cell, unit))
    }
}

impl Calendar {
    pub fn new(client: Client, slots_table: String, zone: Tz) -> Self {
        Self {
            client,
            slots_table,
            zone,
        }
    }

    /// A place in units that are free, but for what `owner` holds itself; `None` if they are too few.
    ///
    /// # Errors
    /// If the slots could not be read.
    pub async fn free_place(
        &self,
        wanted: Wanted<'_>,
        first_unit: u32,
        owner: &str,
    ) -> Result<Option<Place>, BatchReadError> {
        let free = self
            .free_units(wanted.resource, wanted.cells(), owner)
            .await?;
        Ok(wanted.place(self.zone, first_unit, Some(&free)))
    }

    /// Those of the starts at which so many units are free, but for what `owner` holds itself.
    ///
    /// # Errors
    /// If the slots could not be read.
    pub async fn free_starts(
        &self,
        resource: &Resource,
        units: u32,
        starts: Vec<DateTime<Utc>>,
        owner: &str,
    ) -> Result<Vec<DateTime<Utc>>, BatchReadError> {
        let free = self
            .free_units(resource, cells_of(resource, &starts), owner)
            .await?;
        let is_free = |starts_at: &DateTime<Utc>| {
            let wanted = Wanted {
                resource,
                starts_at: *starts_at,
                units,
            };
            wanted.place(self.zone, 0, Some(&free)).is_some()
        };
        Ok(starts.into_iter().filter(is_free).collect())
    }

    /// Reads which units of which cells are taken, by others than `owner`.
    async fn free_units(
        &self,
        resource: &Resource,
        cells: impl IntoIterator<Item = DateTime<Utc>>,
        owner: &str,
    ) -> Result<FreeUnits, BatchReadError> {
        let mut by_key = BTreeMap::new();
        for cell in cells {
            for unit in 1..=resource.capacity {
                let key = slot_key(&resource.id, cell, unit, self.zone);
                by_key.insert(key, (cell, unit));
            }
        }
        let keys: Vec<String> = by_key.keys().cloned().collect();
        let held = read_many::<SlotRow, SlotRow>(&self.client, &self.slots_table, &keys, &[]);
        let by_others = |row: &SlotRow| row.booking_id != owner;
        let taken = held.await?.into_iter().filter(by_others);
        Ok(FreeUnits {
            taken: taken
                .filter_map(|row| by_key.get(&row.slot_key).copied())
                .collect(),
        })
    }
}
