//! A venue's policy as JSON, and what an accepted one is asked all day long.

use chrono::{DateTime, TimeDelta, Utc};
use paidonce_core::calendar::{cells_of, near, open_starts};
use paidonce_core::venue::{Resource, Stretch, Venue};

use super::policy_text::check_complaints;

/// Days with a clock change in Europe, America and Australia, a leap day, and a turn of the year.
const STARTS_S: [i64; 6] = [
    1_774_742_400,
    1_792_890_000,
    1_772_953_200,
    1_835_395_200,
    1_798_757_400,
    1_791_043_200,
];
/// More than one step takes.
const SLOT_ROWS_MAX: usize = 40;

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let venue = match Venue::from_json(text) {
        Ok(venue) => venue,
        Err(complaints) => return check_complaints(text, &complaints),
    };
    let days = STARTS_S
        .iter()
        .filter_map(|at| DateTime::from_timestamp(*at, 0));
    for at in days {
        for resource in venue.resources.iter().take(3) {
            check_starts(&venue, resource, at);
            check_money(&venue, resource, at);
        }
        check_deadlines(&venue, at);
    }
}

fn check_starts(venue: &Venue, resource: &Resource, at: DateTime<Utc>) {
    let asked = Stretch {
        from: at,
        to: at + TimeDelta::hours(12),
    };
    let starts = open_starts(resource, asked, venue.zone);
    assert!(starts.is_sorted());
    for start in starts.iter().take(8) {
        assert!((asked.from..=asked.to).contains(start));
        assert!(resource.is_on_grid(*start, venue.zone) && resource.is_open(*start, venue.zone));
        let rows = cells_of(resource, &[*start]).len();
        let units = usize::try_from(resource.units(resource.party_max)).unwrap_or(usize::MAX);
        assert!((1..=SLOT_ROWS_MAX).contains(&rows.saturating_mul(units)));
    }
    // Two starts whose bookings overlap have a cell in common, or both could be booked.
    for pair in starts.windows(2).take(8) {
        if pair[1] < resource.ends_at(pair[0]) {
            let first = cells_of(resource, &pair[..1]);
            let second = cells_of(resource, &pair[1..]);
            assert!(!first.is_disjoint(&second), "{pair:?} overlap unseen");
        }
    }
    let around = near(resource, at, at, venue.zone, 100);
    assert!(around.iter().all(|start| *start > at));
}

fn check_money(venue: &Venue, resource: &Resource, at: DateTime<Utc>) {
    for party in [1, resource.party_max] {
        let deposit = resource.deposit(party, at, venue.zone, venue.currency);
        let deposit = deposit.expect("an accepted venue has a deposit for every party");
        assert!(deposit.minor() > 0 && deposit.to_stripe().is_ok());
    }
}

fn check_deadlines(venue: &Venue, starts_at: DateTime<Utc>) {
    let policy = &venue.policy;
    for ahead in [
        TimeDelta::minutes(4),
        TimeDelta::hours(20),
        TimeDelta::days(90),
    ] {
        let now = starts_at - ahead;
        let deadline = policy.deposit_deadline(now, starts_at, venue.zone);
        assert!(deadline <= starts_at, "{deadline} is after the start");
        assert!(deadline > now, "{deadline} has passed when it is set");
        if let Some(remind_at) = policy.remind_at(now, deadline, venue.zone) {
            assert!(
                (now..deadline).contains(&remind_at),
                "{remind_at} of {deadline}"
            );
        }
        assert!(policy.refund_percent(now, starts_at) <= 100);
    }
    // Whoever cancels later never gets more back.
    let percents: Vec<u8> = (0..40)
        .map(|hours| policy.refund_percent(starts_at - TimeDelta::hours(hours * 7), starts_at))
        .collect();
    assert!(percents.is_sorted(), "{percents:?}");
}
