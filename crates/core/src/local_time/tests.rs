use super::*;
use chrono_tz::America::New_York;
use chrono_tz::Asia::Kathmandu;
use chrono_tz::Australia::Lord_Howe;
use chrono_tz::Europe::London;
use chrono_tz::Pacific::Apia;
use proptest::prelude::*;

fn utc(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().to_utc()
}

fn resolved(text: &str, zone: Tz) -> String {
    stamp(resolve(text, zone).unwrap().utc)
}

#[test]
fn wall_time_is_read_in_the_zone() {
    for (text, zone, moment) in [
        ("2026-07-11T20:00", London, "2026-07-11T19:00:00Z"),
        ("2026-01-11T20:00:30", London, "2026-01-11T20:00:30Z"),
        ("2026-07-11T20:00", New_York, "2026-07-12T00:00:00Z"),
        ("2026-07-11T20:00", Kathmandu, "2026-07-11T14:15:00Z"),
        ("2026-07-11T20:00Z", London, "2026-07-11T20:00:00Z"),
        ("2026-07-11T20:00:00+01:00", London, "2026-07-11T19:00:00Z"),
        ("2026-07-11T20:00-05:00", London, "2026-07-12T01:00:00Z"),
        ("2026-03-29T01:30Z", London, "2026-03-29T01:30:00Z"),
        ("2026-10-25T01:30+01:00", London, "2026-10-25T00:30:00Z"),
        ("2026-10-25T01:30+00:00", London, "2026-10-25T01:30:00Z"),
    ] {
        assert_eq!(resolved(text, zone), moment, "{text}");
    }
    let local = resolve("2026-07-11T20:00Z", London).unwrap().local;
    assert_eq!(local.to_string(), "2026-07-11 21:00:00");
}

#[test]
fn a_skipped_time_does_not_exist() {
    let error = resolve("2026-03-29T01:30", London).unwrap_err();
    assert_eq!(
        error.to_string(),
        "2026-03-29 01:30:00 does not exist: the clocks go forward to 2026-03-29 02:00:00"
    );
    assert!(resolve("2026-03-29T00:59", London).is_ok());
    assert!(resolve("2026-03-29T01:00", London).is_err());
    assert!(resolve("2026-03-29T01:59:59", London).is_err());
    assert!(resolve("2026-03-29T02:00", London).is_ok());
    // Samoa had no 30 December 2011.
    let error = resolve("2011-12-30T00:00", Apia).unwrap_err();
    assert!(
        error.to_string().ends_with("to 2011-12-31 00:00:00"),
        "{error}"
    );
}

#[test]
fn a_repeated_time_needs_its_offset_and_is_two_slots() {
    let error = resolve("2026-10-25T01:30", London).unwrap_err();
    assert_eq!(
        error.to_string(),
        "2026-10-25 01:30:00 comes twice: write it with its offset, +01:00 or +00:00"
    );
    let (first, second) = (utc("2026-10-25T00:30:00Z"), utc("2026-10-25T01:30:00Z"));
    assert_eq!(slot_stamp(first, London), "2026-10-25T01:30+01:00");
    assert_eq!(slot_stamp(second, London), "2026-10-25T01:30+00:00");
    assert_eq!(human(first, London), "Sun 25 Oct 01:30 BST");
    assert_eq!(human(second, London), "Sun 25 Oct 01:30 GMT");
    // Lord Howe's clocks go back by half an hour.
    assert!(resolve("2026-04-05T01:45", Lord_Howe).is_err());
    assert!(resolve("2026-04-05T01:29", Lord_Howe).is_ok());
}

#[test]
fn an_ordinary_time_is_short() {
    let starts = utc("2026-07-11T19:00:00Z");
    assert_eq!(slot_stamp(starts, London), "2026-07-11T20:00");
    assert_eq!(human(starts, London), "Sat 11 Jul 20:00");
    assert_eq!(
        human(utc("2026-01-03T09:05:00Z"), London),
        "Sat 3 Jan 09:05"
    );
}

#[test]
fn anything_else_is_unreadable() {
    for text in [
        "",
        "2026-07-11",
        "20:00",
        "2026-07-11 20:00",
        "2026-07-11T20",
        "2026-7-11T20:00",
        "2026-07-11T20:0",
        "2026-02-30T20:00",
        "2026-07-11T24:00",
        "2026-07-11T20:60",
        "2026-07-11T20:00:60",
        "2026-07-11T20:00:61",
        "2026-07-11T20:00:00.5",
        "2026-07-11T20:00 Z",
        "2026-07-11T20:00+25:00",
        "2026-07-11T20:00+1",
        "+2026-07-11T20:00",
        "2026-07-11T20:00Europe/London",
        "2026-07-1１T20:00",
        "tomorrow at 8",
        "2026-07-11t20:00",
    ] {
        assert_eq!(
            resolve(text, London),
            Err(LocalTimeError::Unreadable),
            "{text}"
        );
    }
}

#[test]
fn the_day_before_is_by_the_wall_and_a_duration_by_the_instant() {
    let six = NaiveTime::from_hms_opt(18, 0, 0).unwrap();
    let half_past_one = NaiveTime::from_hms_opt(1, 30, 0).unwrap();
    let starts = utc("2026-03-29T19:00:00Z");
    assert_eq!(human(starts, London), "Sun 29 Mar 20:00");
    assert_eq!(
        human(starts - Duration::hours(24), London),
        "Sat 28 Mar 19:00"
    );
    assert_eq!(
        stamp(days_before_at(starts, London, 1, six)),
        "2026-03-28T18:00:00Z"
    );
    // The evening before decides, by the local day, even if it is the same day in UTC.
    let early = utc("2026-07-10T23:30:00Z");
    assert_eq!(
        stamp(days_before_at(early, London, 1, six)),
        "2026-07-10T17:00:00Z"
    );
    // In the gap: when it ends. In the fold: the first.
    let monday = utc("2026-03-30T10:00:00Z");
    assert_eq!(
        stamp(days_before_at(monday, London, 1, half_past_one)),
        "2026-03-29T01:00:00Z"
    );
    let monday = utc("2026-10-26T10:00:00Z");
    assert_eq!(
        stamp(days_before_at(monday, London, 1, half_past_one)),
        "2026-10-25T00:30:00Z"
    );
}

#[test]
fn every_quarter_of_an_hour_from_2024_to_2037_goes_there_and_back() {
    let mut at = utc("2024-01-01T00:00:00Z");
    let end = utc("2038-01-01T00:00:00Z");
    let (mut skipped, mut repeated, mut last) = (0, 0, String::new());
    while at < end {
        let stamp = slot_stamp(at, London);
        let back = resolve(&stamp, London).unwrap();
        assert_eq!(back.utc, at, "{stamp}");
        assert_ne!(stamp, last);
        repeated += usize::from(stamp.len() > 16);
        let wall = at.naive_utc();
        match resolve(&wall.format("%Y-%m-%dT%H:%M").to_string(), London) {
            Ok(instant) => assert_eq!(instant.local, wall),
            Err(LocalTimeError::Nonexistent { .. }) => skipped += 1,
            Err(LocalTimeError::Ambiguous { first_offset, .. }) => {
                assert_eq!(first_offset.local_minus_utc(), 3600);
            }
            Err(LocalTimeError::Unreadable) => panic!("{wall}"),
        }
        last = stamp;
        at += Duration::minutes(15);
    }
    // Fourteen years: an hour is four quarters, and a repeated one is met twice.
    assert_eq!((skipped, repeated), (14 * 4, 14 * 8));
}

proptest! {
    #[test]
    fn every_second_of_every_zone_goes_there_and_back(
        seconds in 0..4_102_444_800_i64,
        zone in prop::sample::select(chrono_tz::TZ_VARIANTS.to_vec()),
    ) {
        let at = DateTime::from_timestamp(seconds, 0).unwrap();
        let offset = at.with_timezone(&zone).offset().fix().local_minus_utc();
        // Before 1972 Liberia's offset had seconds, which no offset can be written with.
        prop_assume!(offset % 60 == 0);
        let stamp = slot_stamp(at, zone);
        prop_assert_eq!(resolve(&stamp, zone).map(|instant| instant.utc), Ok(at), "{}", stamp);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,30}|[0-9TZ:+-]{0,30}") {
        let _ = resolve(&text, London);
    }
}
