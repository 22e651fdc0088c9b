//! The calendar: a slot is held by the booking whose id its row carries.
//!
//! A resource has a grid; a booking takes as many cells of it as its duration needs. A resource
//! with a capacity has that many rows for each cell, so a hold is always a row that must not exist
//! yet, and a release always the deletion of a row that is still this booking's.

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::local_time::slot_stamp;
use crate::step::Row;

/// One held cell of one unit of a resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SlotRow {
    /// Such as `table-4#2026-07-11T20:00`, with `#2` and so on for further units.
    pub slot_key: String,
    /// The owner.
    pub booking_id: String,
    pub held_at: DateTime<Utc>,
}

impl Row for SlotRow {
    const NAME: &'static str = "slot";
    const KEY: &'static str = "slot_key";

    fn key(&self) -> String {
        self.slot_key.clone()
    }
}

/// Returns the starts of the grid cells from `starts_at` up to `ends_at`.
pub fn cells(
    starts_at: DateTime<Utc>,
    ends_at: DateTime<Utc>,
    grid: TimeDelta,
) -> Vec<DateTime<Utc>> {
    let mut cells = Vec::new();
    let mut cell = starts_at;
    while cell < ends_at && grid > TimeDelta::zero() {
        cells.push(cell);
        cell += grid;
    }
    cells
}

/// Returns the key of one cell of one unit (from 1). An hour that the clocks repeat is told apart
/// by its offset.
pub fn slot_key(resource: &str, cell: DateTime<Utc>, unit: u32, zone: Tz) -> String {
    let stamp = slot_stamp(cell, zone);
    if unit == 1 {
        format!("{resource}#{stamp}")
    } else {
        format!("{resource}#{stamp}#{unit}")
    }
}
