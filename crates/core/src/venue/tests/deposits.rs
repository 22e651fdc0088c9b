//! What deposit a booking takes.

use chrono_tz::Europe::London;

use super::*;

fn deposit(table: &Value, party: u32, starts_at: &str) -> i64 {
    let venue = with_table("Europe/London", table).unwrap();
    let amount = venue.resources[0].deposit(party, at(starts_at, London), London, Currency::GBP);
    amount.unwrap().minor()
}

#[test]
fn a_deposit_is_an_amount_or_a_percentage_for_the_booking_or_each_guest() {
    let minimum = json!({"percent": 20, "of_per_guest": 6500, "minimum": 2000});
    for (rule, party, minor) in [
        (json!({"per_booking": 2000}), 4, 2000),
        (json!({"per_guest": 1000}), 4, 4000),
        (json!({"per_guest": 1000, "minimum": 2500}), 2, 2500),
        (json!({"percent": 20, "of_per_booking": 9000}), 4, 1800),
        (json!({"percent": 20, "of_per_guest": 6500}), 3, 3900),
        (minimum.clone(), 1, 2000),
        (minimum, 2, 2600),
        (json!({"percent": 100, "of_per_guest": 999}), 1, 999),
        // 0.5 goes up, 1.5 too; 1.2 and 2.4 go down.
        (json!({"percent": 50, "of_per_guest": 1}), 1, 1),
        (json!({"percent": 50, "of_per_guest": 1}), 3, 2),
        (json!({"percent": 30, "of_per_guest": 4}), 1, 1),
        // The sum is rounded, not each guest: three times 1.2 is 3.6.
        (json!({"percent": 30, "of_per_guest": 4}), 3, 4),
    ] {
        let table = json!({"deposit": rule});
        assert_eq!(
            deposit(&table, party, "2026-07-11T20:00"),
            minor,
            "{rule} for {party}"
        );
    }
}

#[test]
fn every_given_condition_must_hold_and_the_first_special_case_that_fits_counts() {
    let peak = json!({"days": ["Fri", "Sat"], "from": "18:00:00", "to": "23:00:00"});
    let table = json!({"deposit": {"per_booking": 100}, "deposit_when": [
        {"dates": ["2026-12-24", "2026-12-25"], "deposit": {"per_booking": 600}},
        {"days": peak["days"], "from": peak["from"], "to": peak["to"], "party_from": 5,
            "deposit": {"per_booking": 500}},
        {"days": peak["days"], "from": peak["from"], "to": peak["to"],
            "deposit": {"per_booking": 400}},
        {"party_from": 6, "deposit": {"per_booking": 300}},
        {"to": "10:00:00", "deposit": {"per_booking": 200}},
    ]});
    for (starts_at, party, minor) in [
        ("2026-12-24T20:00", 6, 600),
        ("2026-12-25T09:00", 1, 600),
        // Friday and Saturday evening.
        ("2026-07-10T18:00", 5, 500),
        ("2026-07-11T22:30", 6, 500),
        ("2026-07-10T18:00", 4, 400),
        // A minute too early, too late, the wrong day.
        ("2026-07-10T17:59", 5, 100),
        ("2026-07-10T23:00", 5, 100),
        ("2026-07-12T20:00", 5, 100),
        ("2026-07-12T20:00", 6, 300),
        ("2026-07-12T09:30", 6, 300),
        ("2026-07-12T09:30", 2, 200),
        ("2026-07-12T10:00", 2, 100),
    ] {
        assert_eq!(
            deposit(&table, party, starts_at),
            minor,
            "{starts_at} for {party}"
        );
    }
}

#[test]
fn the_day_and_the_hour_are_those_on_the_wall_at_the_venue() {
    let table = json!({"deposit_when": [
        {"days": ["Sat"], "to": "01:00:00", "deposit": {"per_booking": 1}}]});
    // In UTC it is still Friday.
    assert_eq!(deposit(&table, 2, "2026-07-11T00:30"), 1);
    assert_eq!(deposit(&table, 2, "2026-07-10T23:30Z"), 1);
    assert_eq!(deposit(&table, 2, "2026-07-11T00:30Z"), 2000);
}

#[test]
fn hours_past_midnight_belong_to_the_day_on_which_they_began() {
    let table = json!({"deposit_when": [
        {"days": ["Fri"], "from": "22:00:00", "to": "02:00:00", "deposit": {"per_booking": 2}},
        {"dates": ["2026-12-31"], "from": "20:00:00", "to": "00:00:00",
            "deposit": {"per_booking": 3}},
    ]});
    for (starts_at, minor) in [
        ("2026-07-10T21:30", 2000),
        ("2026-07-10T22:00", 2),
        ("2026-07-11T01:30", 2),
        ("2026-07-11T02:00", 2000),
        ("2026-07-10T01:30", 2000),
        ("2026-07-11T22:00", 2000),
        ("2026-12-31T19:30", 2000),
        ("2026-12-31T23:30", 3),
        ("2027-01-01T00:00", 2000),
    ] {
        assert_eq!(deposit(&table, 2, starts_at), minor, "{starts_at}");
    }
}

#[test]
fn a_complaint_about_a_deposit_says_how_one_is_written() {
    let unclear = "deposit: give per_booking, or per_guest, or percent (1 to 100) with \
        of_per_booking or of_per_guest";
    let zero = "resources.table-4.deposit: must be above zero, and an amount, for every party";
    for (deposit, complaint) in [
        (json!({}), unclear),
        (json!({"per_booking": 1, "per_guest": 1}), unclear),
        (json!({"percent": 20}), unclear),
        (json!({"of_per_guest": 20}), unclear),
        (json!({"percent": 0, "of_per_guest": 6500}), unclear),
        (json!({"percent": 101, "of_per_guest": 6500}), unclear),
        (json!({"percent": 20, "per_guest": 6500}), unclear),
        (
            json!({"per_guest": 10, "minimum": 0}),
            "deposit.minimum: must be above zero",
        ),
        (json!({"per_booking": 0}), zero),
        (json!({"per_booking": -1, "minimum": 100}), zero),
        (json!({"per_guest": i64::MAX}), zero),
        // For one guest it is 0.49, which rounds to nothing.
        (json!({"percent": 1, "of_per_guest": 49}), zero),
    ] {
        let found = complaints("resources.0.deposit", deposit.clone());
        assert_eq!(found.len(), 1, "{deposit}");
        assert!(found[0].starts_with(complaint), "{deposit}: {found:?}");
    }
}

#[test]
fn a_complaint_about_a_special_deposit_names_its_place_in_the_list() {
    let good = json!({"days": ["Fri"], "deposit": {"per_booking": 1}});
    for (when, complaint) in [
        (
            json!({}),
            "deposit: needs a condition: days, dates, from, to or party_from",
        ),
        (
            json!({"days": []}),
            "days: must name a weekday, such as Fri",
        ),
        (
            json!({"dates": []}),
            "dates: must name a day, such as 2026-12-24",
        ),
        (
            json!({"from": "18:00:00", "to": "18:00:00"}),
            "from and to: must differ",
        ),
        (json!({"from": "18:00:30"}), "from and to: whole minutes"),
        (
            json!({"party_from": 7}),
            "party_from: 1 to party_max, which is 6",
        ),
        (
            json!({"party_from": 0}),
            "party_from: 1 to party_max, which is 6",
        ),
    ] {
        let mut entry = when.clone();
        entry["deposit"] = json!({"per_booking": 3000});
        let list = json!([good, entry]);
        let complaint = format!("resources.table-4.deposit_when.1.{complaint}");
        assert_eq!(
            complaints("resources.0.deposit_when", list),
            [complaint],
            "{when}"
        );
    }
    let zero = json!([{"party_from": 2, "deposit": {"percent": 1, "of_per_guest": 24}}]);
    let complaint = "resources.table-4.deposit_when.0.deposit: must be above zero, and an amount, \
        for every party";
    assert_eq!(complaints("resources.0.deposit_when", zero), [complaint]);
    let many = json!(vec![good; 51]);
    let complaint = "resources.table-4.deposit_when: at most 50";
    assert_eq!(complaints("resources.0.deposit_when", many), [complaint]);
}

#[test]
fn a_deposit_that_the_provider_can_not_charge_is_a_complaint() {
    // A Kuwaiti dinar has a thousand fils, and the last must be 0.
    let kuwait = |deposit: &Value| {
        changed(|venue| {
            venue["currency"] = json!("KWD");
            venue["resources"].as_array_mut().unwrap().truncate(1);
            venue["resources"][0]["deposit"] = deposit.clone();
        })
    };
    let fits = json!({"percent": 10, "of_per_guest": 10_100});
    assert_eq!(kuwait(&fits).err(), None);
    let odd = json!({"percent": 10, "of_per_guest": 10_550});
    let complaint =
        "resources.table-4.deposit: the provider can't charge KWD 1.055, the deposit for 1";
    assert_eq!(kuwait(&odd).unwrap_err(), [complaint]);
}
