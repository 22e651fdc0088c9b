//! `GET /slots`: the starts at which a party could still book.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use lambda_kit::{Failure, Problem, Reply, Request};
use paidonce_core::local_time::{resolve, slot_stamp, stamp};
use paidonce_core::slots::cells;
use paidonce_core::venue::{Resource, Stretch, minutes};
use serde_json::json;

use crate::Intake;
use crate::place::Wanted;

/// The longest stretch that is listed.
const RANGE_MAX: TimeDelta = TimeDelta::days(31);
/// The most slot rows that one request may look at.
const ROWS_MAX: usize = 2000;

impl Intake {
    pub(crate) async fn list_slots(
        &self,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let id = request.query("resource").unwrap_or_default();
        let Some(resource) = self.venue.resource(id) else {
            return Err(Problem::field(
                "resource",
                "unknown_resource",
                "`resource` is not one of ours.",
            )
            .into());
        };
        let party = match request.query("party").map_or(Ok(1), str::parse::<u32>) {
            Ok(party) if (1..=resource.party_max).contains(&party) => party,
            Ok(_) | Err(_) => {
                let detail = format!(
                    "`party` must be a whole number from 1 to {}.",
                    resource.party_max
                );
                return Err(Problem::field("party", "out_of_range", &detail).into());
            }
        };
        let (from, to) = (self.bound(request, "from")?, self.bound(request, "to")?);
        if to <= from || to - from > RANGE_MAX {
            let detail = "`to` must be after `from`, by at most 31 days.";
            return Err(Problem::field("to", "bad_range", detail).into());
        }
        let starts = self.open_starts(resource, Stretch { from, to }, now);
        let Some(cells) = cells_of(resource, &starts) else {
            let detail = "`to` is too far from `from` for this resource; ask for fewer days.";
            return Err(Problem::field("to", "bad_range", detail).into());
        };
        let free = self.free_units(resource, &cells, "").await?;
        let units = resource.units(party);
        let slots: Vec<_> = starts
            .iter()
            .filter_map(|start| {
                let wanted = Wanted {
                    resource,
                    starts_at: *start,
                    units,
                };
                self.place(wanted, 0, Some(&free))?;
                Some(json!({
                    "slot_key": format!("{id}#{}", slot_stamp(*start, self.venue.zone)),
                    "local_time": slot_stamp(*start, self.venue.zone),
                    "starts_at": stamp(*start),
                }))
            })
            .collect();
        Ok(Reply::json(
            200,
            &json!({"resource": id, "zone": self.venue.zone.name(), "slots": slots}),
        ))
    }

    /// The starts of `asked` that are still to come, at which the resource is open.
    fn open_starts(
        &self,
        resource: &Resource,
        asked: Stretch,
        now: DateTime<Utc>,
    ) -> Vec<DateTime<Utc>> {
        let zone = self.venue.zone;
        let first = first_on_grid(asked.from, resource, zone);
        let open = resource.open_during(
            Stretch {
                from: asked.from,
                to: resource.ends_at(asked.to),
            },
            zone,
        );
        let is_open = |start: &DateTime<Utc>| {
            let booking = Stretch {
                from: *start,
                to: resource.ends_at(*start),
            };
            open.iter().any(|stretch| stretch.covers(booking))
        };
        cells(first, asked.to, minutes(resource.grid_minutes))
            .into_iter()
            .filter(|start| *start > now && resource.is_on_grid(*start, zone))
            .filter(is_open)
            .collect()
    }

    /// Reads a bound: a time as in a booking, or a day, which starts at its midnight.
    fn bound(&self, request: &Request, name: &'static str) -> Result<DateTime<Utc>, Problem> {
        let text = request.query(name).unwrap_or_default();
        let text = if text.len() == 10 {
            format!("{text}T00:00")
        } else {
            text.to_owned()
        };
        // In a query, `+` is a blank.
        let instant = resolve(&text.replace(' ', "+"), self.venue.zone);
        instant.map(|instant| instant.utc).map_err(|error| {
            Problem::field(name, "unreadable_time", &format!("`{name}`: {error}."))
        })
    }
}

/// The cells that bookings at these starts would take; `None` if they are too many rows to look at.
fn cells_of(resource: &Resource, starts: &[DateTime<Utc>]) -> Option<Vec<DateTime<Utc>>> {
    let capacity = usize::try_from(resource.capacity).unwrap_or(usize::MAX);
    let mut all = BTreeSet::new();
    for start in starts {
        let grid = minutes(resource.grid_minutes);
        all.extend(cells(*start, resource.ends_at(*start), grid));
        if all.len().saturating_mul(capacity) > ROWS_MAX {
            return None;
        }
    }
    Some(all.into_iter().collect())
}

/// The first start on the resource's grid, not before `from`.
fn first_on_grid(from: DateTime<Utc>, resource: &Resource, zone: Tz) -> DateTime<Utc> {
    let late_s = from.timestamp().rem_euclid(60);
    let minute = from + TimeDelta::seconds(if late_s == 0 { 0 } else { 60 - late_s });
    (0..resource.grid_minutes)
        .map(|passed| minute + minutes(passed))
        .find(|at| resource.is_on_grid(*at, zone))
        .unwrap_or(minute)
}
