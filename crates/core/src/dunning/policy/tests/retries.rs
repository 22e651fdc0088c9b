//! When the next attempt is due.

use chrono::{DateTime, Datelike as _, NaiveDate, TimeDelta, Utc};
use chrono_tz::Tz;
use proptest::prelude::*;

use super::*;
use crate::dunning::business_days::{NoHolidayData, Region};
use crate::local_time::stamp;

fn utc(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn next(terms: &Terms, step: usize, after: &str, wait: Option<TimeDelta>) -> String {
    let at = terms.next_retry(step, utc(after), wait).unwrap();
    stamp(at.unwrap())
}

#[test]
fn the_ladder_is_climbed_in_business_days_at_its_hour() {
    let terms = terms(&json!({}));
    // Failed on Maundy Thursday 2026, in summer time; then Easter, and the first bank holiday of May.
    let first = next(&terms, 0, "2026-04-02T21:00:00Z", None);
    assert_eq!(first, "2026-04-07T09:00:00Z");
    let second = next(&terms, 1, &first, None);
    assert_eq!(second, "2026-04-10T09:00:00Z");
    let third = next(&terms, 2, &second, None);
    assert_eq!(third, "2026-04-15T09:00:00Z");
    assert_eq!(next(&terms, 3, &third, None), "2026-04-20T09:00:00Z");
    assert_eq!(terms.next_retry(4, utc(&third), None), Ok(None));
}

#[test]
fn the_day_of_a_failure_is_the_businesss_own() {
    // 23:30 in London on Thursday the 9th is Friday morning in Auckland.
    let failed = "2026-07-09T22:30:00Z";
    assert_eq!(
        next(&terms(&json!({})), 0, failed, None),
        "2026-07-10T09:00:00Z"
    );
    let auckland = terms(&json!({"zone": "Pacific/Auckland"}));
    assert_eq!(
        next(&auckland, 0, failed, None),
        "2026-07-12T22:00:00Z",
        "Monday there"
    );
}

#[test]
fn an_hour_on_the_wall_stays_that_over_a_clock_change() {
    let terms = terms(&json!({}));
    assert_eq!(
        next(&terms, 0, "2026-03-27T10:00:00Z", None),
        "2026-03-30T09:00:00Z"
    );
    assert_eq!(
        next(&terms, 0, "2026-10-23T09:00:00Z", None),
        "2026-10-26T10:00:00Z"
    );
}

#[test]
fn advice_makes_a_retry_later_and_never_earlier() {
    let terms = terms(&json!({}));
    let failed = "2026-07-09T09:00:00Z"; // a Thursday, 10:00 in London
    for (wait, at) in [
        (TimeDelta::zero(), "2026-07-10T09:00:00Z"),
        (TimeDelta::hours(-5), "2026-07-10T09:00:00Z"),
        (TimeDelta::hours(1), "2026-07-10T09:00:00Z"),
        (TimeDelta::hours(24), "2026-07-10T09:00:00Z"),
        // In the window of a business day: then at once.
        (TimeDelta::hours(30), "2026-07-10T15:00:00Z"),
        // After it: at the hour of the next business day.
        (TimeDelta::hours(31), "2026-07-13T09:00:00Z"),
        (TimeDelta::days(2), "2026-07-13T09:00:00Z"),
        (TimeDelta::days(4), "2026-07-13T09:00:00Z"),
        (TimeDelta::days(6), "2026-07-15T09:00:00Z"),
        (TimeDelta::days(8), "2026-07-17T09:00:00Z"),
        (TimeDelta::days(10), "2026-07-20T09:00:00Z"),
    ] {
        assert_eq!(next(&terms, 0, failed, Some(wait)), at, "{wait}");
    }
}

#[test]
fn a_moment_outside_the_window_or_on_a_day_off_waits_for_the_next_opening() {
    let terms = terms(&json!({}));
    for (at, open) in [
        ("2026-07-10T08:00:00Z", "2026-07-10T08:00:00Z"),
        ("2026-07-10T07:00:00Z", "2026-07-10T08:00:00Z"),
        ("2026-07-10T16:00:00Z", "2026-07-13T08:00:00Z"),
        ("2026-07-11T12:00:00Z", "2026-07-13T08:00:00Z"),
        ("2026-12-25T12:00:00Z", "2026-12-29T09:00:00Z"),
    ] {
        assert_eq!(stamp(terms.next_open(utc(at)).unwrap()), open, "{at}");
    }
}

#[test]
fn a_ladder_that_leaves_the_known_years_is_an_error() {
    let terms = terms(&json!({}));
    let unknown = NoHolidayData {
        year: 2029,
        region: Region::EnglandAndWales,
    };
    assert_eq!(
        terms.next_retry(0, utc("2028-12-29T10:00:00Z"), None),
        Err(unknown)
    );
    let wait = Some(TimeDelta::days(10));
    assert_eq!(
        terms.next_retry(0, utc("2028-12-22T10:00:00Z"), wait),
        Err(unknown)
    );
    assert_eq!(terms.next_open(utc("2028-12-29T18:00:00Z")), Err(unknown));
    assert!(terms.next_retry(0, DateTime::<Utc>::MAX_UTC, wait).is_err());
}

/// The days of 2026 and 2027 on which a zone's clocks change, and their neighbours.
fn days_of_clock_changes(zone: Tz) -> Vec<NaiveDate> {
    use chrono::{Offset as _, TimeZone as _};
    let first: NaiveDate = "2026-01-01".parse().unwrap();
    let offset = |day: NaiveDate| {
        let noon = day.and_hms_opt(12, 0, 0).unwrap();
        zone.offset_from_utc_datetime(&noon).fix()
    };
    first
        .iter_days()
        .take_while(|day| day.year() < 2028)
        .filter(|day| offset(day.pred_opt().unwrap()) != offset(day.succ_opt().unwrap()))
        .collect()
}

#[test]
fn over_every_clock_change_of_a_zone_a_retry_is_in_the_window() {
    let mut seen = 0;
    for zone in [
        "Europe/London",
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Cairo",
        "Asia/Beirut",
        "America/Santiago",
        "Pacific/Auckland",
        "Asia/Jerusalem",
    ] {
        // Seven-day weeks, and a window that has the small hours, so that the changes fall into it.
        let terms = terms(&json!({
            "zone": zone, "weekend": [], "gaps_business_days": [1], "retry_at": "02:15",
            "window": {"from": "00:00", "to": "09:30"},
        }));
        for day in days_of_clock_changes(terms.zone) {
            for hour in 0..24 {
                let after = day
                    .pred_opt()
                    .unwrap()
                    .and_hms_opt(hour, 0, 0)
                    .unwrap()
                    .and_utc();
                let at = terms.next_retry(0, after, None).unwrap().unwrap();
                assert!(terms.window.has(at, terms.zone), "{zone} {after}: {at}");
                assert!(
                    at > after && at - after < TimeDelta::days(5),
                    "{zone} {after}: {at}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 1000, "{seen}");
}

proptest! {
    #[test]
    fn a_retry_is_on_a_business_day_in_the_window_and_not_before_the_wait_is_over(
        zone in proptest::sample::select(chrono_tz::TZ_VARIANTS.to_vec()),
        region in proptest::sample::select(Region::ALL.to_vec()),
        second in 1_704_067_200_i64..1_830_000_000,
        gap in 1_u32..=15,
        wait_minutes in 0_i64..40_000,
    ) {
        let terms = terms(&json!({
            "zone": zone.name(), "region": region, "gaps_business_days": [gap],
        }));
        let after = DateTime::from_timestamp(second, 0).unwrap();
        let wait = TimeDelta::minutes(wait_minutes);
        let plain = terms.next_retry(0, after, None).unwrap().unwrap();
        let at = terms.next_retry(0, after, Some(wait)).unwrap().unwrap();
        prop_assert!(at >= plain && at >= after + wait && plain > after);
        prop_assert!(terms.window.has(at, zone));
        let day = at.with_timezone(&zone).date_naive();
        prop_assert_eq!(terms.business_days().is_business_day(day), Ok(true));
        if after + wait <= plain {
            prop_assert_eq!(at, plain);
        }
        prop_assert_eq!(terms.next_open(at), Ok(at));
    }
}
