//! `GET /slots`: the starts at which a party could still book.

use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::{Failure, Problem, Reply, Request};
use paidonce_core::calendar::{cells_of, open_starts};
use paidonce_core::local_time::{resolve, slot_stamp, stamp};
use paidonce_core::venue::Stretch;
use serde_json::json;

use crate::Intake;

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
        let zone = self.venue.zone;
        let mut starts = open_starts(resource, Stretch { from, to }, zone);
        starts.retain(|start| *start > now);
        let capacity = usize::try_from(resource.capacity).unwrap_or(usize::MAX);
        if cells_of(resource, &starts).len().saturating_mul(capacity) > ROWS_MAX {
            let detail = "`to` is too far from `from` for this resource; ask for fewer days.";
            return Err(Problem::field("to", "bad_range", detail).into());
        }
        let units = resource.units(party);
        let free = self.calendar.free_starts(resource, units, starts, "");
        let slots: Vec<_> = free
            .await?
            .into_iter()
            .map(|start| {
                json!({
                    "slot_key": format!("{id}#{}", slot_stamp(start, zone)),
                    "local_time": slot_stamp(start, zone),
                    "starts_at": stamp(start),
                })
            })
            .collect();
        Ok(Reply::json(
            200,
            &json!({"resource": id, "zone": self.venue.zone.name(), "slots": slots}),
        ))
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
