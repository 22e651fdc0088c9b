//! A booking that can be made right away, for the greeting and the console.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, Utc, Weekday};
use paidonce_core::local_time::at_wall;
use paidonce_core::venue::{Resource, Venue};

const PARTY: u32 = 4;
/// How many days after the first are tried, should the venue be closed.
const DAYS_TRIED: u64 = 14;

/// A wish that the venue can fulfil, unless the slot is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Example {
    pub(crate) resource: String,
    pub(crate) party: u32,
    /// Wall time at the venue.
    pub(crate) starts_at: NaiveDateTime,
}

impl Example {
    /// For the venue's first resource: 20:00 on the Saturday after next, or else the first start
    /// after it at which the venue is open, on a day that has none of the slots in `taken`.
    pub(crate) fn for_venue(venue: &Venue, now: DateTime<Utc>, taken: &[String]) -> Option<Self> {
        let resource = venue.resources.first()?;
        let today = now.with_timezone(&venue.zone).date_naive();
        let from_saturday = u64::from(today.weekday().days_since(Weekday::Sat));
        let saturday = today.checked_add_days(Days::new(14 - from_saturday))?;
        let days = (0..DAYS_TRIED).filter_map(|days| saturday.checked_add_days(Days::new(days)));
        let is_free = |day: &NaiveDate| {
            let slots_of_day = format!("{}#{day}", resource.id);
            !taken.iter().any(|slot| slot.starts_with(&slots_of_day))
        };
        let hours = [20, 19, 18, 21, 12, 14, 16, 10, 9];
        let starts_at = days
            .filter(is_free)
            .flat_map(|day| hours.map(|hour| day.and_time(time(hour))))
            .find(|start| is_bookable(resource, venue, *start))?;
        Some(Self {
            resource: resource.id.clone(),
            party: PARTY.min(resource.party_max),
            starts_at,
        })
    }

    pub(crate) fn starts_at(&self) -> String {
        self.starts_at.format("%Y-%m-%dT%H:%M").to_string()
    }

    /// The `curl` that makes the booking.
    pub(crate) fn curl(&self, intake_url: &str, token: &str) -> String {
        let (resource, party, starts_at) = (&self.resource, self.party, self.starts_at());
        format!(
            r#"curl {intake_url}bookings \
  -H 'Authorization: Bearer {token}' \
  -H 'Content-Type: application/json' \
  -H 'Idempotency-Key: try-{starts_at}' \
  -d '{{"resource": "{resource}", "starts_at": "{starts_at}", "party": {party},
       "name": "Ada", "phone": "07700 900123", "source": "form"}}'"#
        )
    }
}

fn time(hour: u32) -> NaiveTime {
    NaiveTime::from_hms_opt(hour, 0, 0).unwrap_or_default()
}

fn is_bookable(resource: &Resource, venue: &Venue, local: NaiveDateTime) -> bool {
    let start = at_wall(local, venue.zone);
    resource.is_on_grid(start, venue.zone) && resource.is_open(start, venue.zone)
}

#[cfg(test)]
mod tests {
    use paidonce_core::venue::BUILT_IN;

    use super::*;

    fn venue() -> Venue {
        Venue::from_json(BUILT_IN).unwrap()
    }

    #[test]
    fn the_saturday_after_next_is_eight_to_fourteen_days_away() {
        for day in 1..=7 {
            let now: DateTime<Utc> = format!("2026-06-{day:02}T12:00:00Z").parse().unwrap();
            let example = Example::for_venue(&venue(), now, &[]).unwrap();
            let days = (example.starts_at.date() - now.date_naive()).num_days();
            assert_eq!(example.starts_at.weekday(), Weekday::Sat);
            assert!((8..=14).contains(&days), "{days}");
        }
    }

    #[test]
    fn a_day_with_bookings_is_passed_over() {
        let now = "2026-06-01T12:00:00Z".parse().unwrap();
        let taken = ["table-4#2026-06-13T20:00".to_owned()];
        let example = Example::for_venue(&venue(), now, &taken).unwrap();
        assert_eq!(example.starts_at(), "2026-06-14T20:00");
    }

    #[test]
    fn a_closed_saturday_is_passed_over() {
        let mut venue = venue();
        venue.resources.remove(0);
        venue.resources.remove(0);
        let monday = venue.resources[0].opening[0].clone();
        venue.resources[0].opening = vec![paidonce_core::venue::Opening {
            days: vec![Weekday::Mon],
            ..monday
        }];
        let now = "2026-06-01T12:00:00Z".parse().unwrap();
        let example = Example::for_venue(&venue, now, &[]).unwrap();
        assert_eq!(example.starts_at(), "2026-06-15T20:00");
    }
}
