use chrono::Days;
use chrono::Weekday::{Fri, Sat, Sun};
use proptest::prelude::*;

use super::Region::{EnglandAndWales, NorthernIreland, Scotland};
use super::*;

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn days_of(region: Region) -> BusinessDays {
    BusinessDays {
        region,
        weekend: vec![Sat, Sun],
    }
}

fn after(region: Region, from: &str, n: u32) -> String {
    days_of(region).after(day(from), n).unwrap().to_string()
}

#[test]
fn every_region_has_every_year_from_2012_to_2028() {
    for region in Region::ALL {
        assert_eq!(covered_until(region), day("2028-12-31"), "{region}");
        let years = &HOLIDAYS.days_off[&region];
        assert!(years.keys().copied().eq(2012..=2028), "{region}");
        for (year, days) in years {
            assert!((7..=12).contains(&days.len()), "{region} {year}: {days:?}");
            let weekend = |day: &&NaiveDate| [Sat, Sun].contains(&day.weekday());
            assert_eq!(days.iter().find(weekend), None, "{region}");
        }
    }
    assert_eq!(edition(), "2026-11");
}

#[test]
fn the_regions_differ_where_their_holidays_do() {
    // St Andrew's Day on a Sunday is kept on the Monday, in Scotland only.
    assert_eq!(after(Scotland, "2025-11-28", 1), "2025-12-02");
    assert_eq!(after(EnglandAndWales, "2025-11-28", 1), "2025-12-01");
    // Easter Monday is an ordinary Monday in Scotland, Good Friday is kept by all.
    assert_eq!(after(EnglandAndWales, "2026-04-02", 1), "2026-04-07");
    assert_eq!(after(NorthernIreland, "2026-04-02", 1), "2026-04-07");
    assert_eq!(after(Scotland, "2026-04-02", 1), "2026-04-06");
    // St Patrick's Day and the Battle of the Boyne.
    assert_eq!(after(NorthernIreland, "2026-03-16", 1), "2026-03-18");
    assert_eq!(after(NorthernIreland, "2026-07-10", 1), "2026-07-14");
    assert_eq!(after(EnglandAndWales, "2026-07-10", 1), "2026-07-13");
    // Scotland has 2 January, and its summer holiday at the other end of August.
    assert_eq!(after(Scotland, "2025-12-31", 1), "2026-01-05");
    assert_eq!(after(EnglandAndWales, "2025-12-31", 1), "2026-01-02");
    assert_eq!(after(Scotland, "2026-07-31", 1), "2026-08-04");
    assert_eq!(after(EnglandAndWales, "2026-08-28", 1), "2026-09-01");
}

#[test]
fn substitute_days_and_days_proclaimed_once_are_kept() {
    for off in [
        "2020-05-08",
        "2022-06-02",
        "2022-06-03",
        "2022-09-19",
        "2023-05-08",
        "2026-12-28",
        "2027-12-27",
        "2027-12-28",
        "2028-01-03",
    ] {
        let is_business_day = days_of(EnglandAndWales).is_business_day(day(off));
        assert_eq!(is_business_day, Ok(false), "{off}");
    }
    // The Friday and the Monday around Christmas 2026, then the end of the month and of the year.
    assert_eq!(after(EnglandAndWales, "2026-12-24", 1), "2026-12-29");
    assert_eq!(after(EnglandAndWales, "2026-12-24", 4), "2027-01-04");
}

#[test]
fn a_weekend_may_be_friday_and_saturday_or_nothing_at_all() {
    let with = |weekend: &[Weekday]| BusinessDays {
        region: EnglandAndWales,
        weekend: weekend.to_vec(),
    };
    let next = |days: &BusinessDays| days.after(day("2026-07-09"), 1).unwrap().to_string();
    assert_eq!(next(&with(&[Fri, Sat])), "2026-07-12", "a Sunday");
    assert_eq!(next(&with(&[])), "2026-07-10");
    let never = with(&[
        Weekday::Mon,
        Weekday::Tue,
        Weekday::Wed,
        Weekday::Thu,
        Fri,
        Sat,
        Sun,
    ]);
    assert!(never.after(day("2026-07-09"), 1).is_err(), "and it ends");
}

#[test]
fn a_year_without_data_is_an_error_and_no_guess() {
    let days = days_of(Scotland);
    let unknown = |year| NoHolidayData {
        year,
        region: Scotland,
    };
    assert_eq!(days.is_business_day(day("2029-01-03")), Err(unknown(2029)));
    assert_eq!(
        days.is_business_day(day("2029-01-06")),
        Err(unknown(2029)),
        "a Saturday"
    );
    assert_eq!(days.is_business_day(day("2011-06-01")), Err(unknown(2011)));
    assert_eq!(days.after(day("2028-12-28"), 1), Ok(day("2028-12-29")));
    assert_eq!(days.after(day("2028-12-28"), 2), Err(unknown(2029)));
    assert!(days.after(NaiveDate::MAX, 1).is_err());
    assert_eq!(
        unknown(2029).to_string(),
        "the bank holidays of 2029 are not known for scotland"
    );
}

#[test]
fn a_year_with_a_day_that_no_calendar_has_is_not_known() {
    let years = BTreeMap::from([
        (2027, vec!["01-01".to_owned(), "02-29".to_owned()]),
        (2028, vec!["02-29".to_owned()]),
    ]);
    assert!(known_years(&years).into_keys().eq([2028]));
}

proptest! {
    #[test]
    fn the_nth_business_day_is_one_and_there_are_n_up_to_it(
        region in proptest::sample::select(Region::ALL.to_vec()),
        offset in 0_u64..5_900,
        n in 1_u32..40,
    ) {
        let days = days_of(region);
        let start = day("2012-01-01").checked_add_days(Days::new(offset)).unwrap();
        let nth = days.after(start, n).unwrap();
        prop_assert_eq!(days.is_business_day(nth), Ok(true));
        prop_assert!(nth > days.after(start, n - 1).unwrap());
        prop_assert!(nth <= days.after(start.succ_opt().unwrap(), n).unwrap());
        let between = start.iter_days().skip(1).take_while(|day| *day <= nth);
        let counted = between.filter(|day| days.is_business_day(*day) == Ok(true)).count();
        prop_assert_eq!(u32::try_from(counted).unwrap(), n);
    }
}
