//! Which places may be wanted: what the venue has, when it is open, how far ahead.

use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::Problem;
use paidonce_core::calendar::Wanted;

use crate::Intake;

/// How far ahead a booking may be.
const AHEAD_MAX: TimeDelta = TimeDelta::days(730);

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
}
