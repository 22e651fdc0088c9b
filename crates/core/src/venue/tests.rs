use serde_json::{Value, json};

use super::*;

mod complaining;
mod deadline_rules;
mod deposits;
mod opening_times;

/// The built-in venue, changed.
fn changed(change: impl FnOnce(&mut Value)) -> Result<Venue, Vec<String>> {
    let mut venue = serde_json::from_str(BUILT_IN).unwrap();
    change(&mut venue);
    Venue::from_json(&venue.to_string())
}

/// Sets `value` at a path such as `resources.0.deposit` and returns the complaints.
fn complaints(path: &str, value: Value) -> Vec<String> {
    let set = changed(|venue| {
        let mut part = venue;
        for name in path.split('.') {
            part = match name.parse::<usize>() {
                Ok(index) => &mut part[index],
                Err(_) => &mut part[name],
            };
        }
        *part = value;
    });
    set.err().unwrap_or_default()
}

/// A venue in `zone` whose first resource has some fields changed.
fn with_table(zone: &str, fields: &Value) -> Result<Venue, Vec<String>> {
    changed(|venue| {
        venue["zone"] = json!(zone);
        for (name, value) in fields.as_object().unwrap() {
            venue["resources"][0][name] = value.clone();
        }
    })
}

/// The built-in venue's policy with some fields changed.
fn policy(fields: &Value) -> Policy {
    let venue = changed(|venue| {
        for (name, value) in fields.as_object().unwrap() {
            venue["policy"][name] = value.clone();
        }
    });
    venue.unwrap().policy
}

/// A moment by its wall time at the venue, or with an offset.
fn at(text: &str, zone: Tz) -> chrono::DateTime<chrono::Utc> {
    crate::local_time::resolve(text, zone).unwrap().utc
}

#[test]
fn the_built_in_venue_is_valid_and_has_the_defaults() {
    let venue = Venue::from_json(BUILT_IN).unwrap();
    assert_eq!(venue.language, Language::En);
    assert_eq!(venue.phone_countries, Vec::<String>::new());
    assert_eq!((venue.holds.per_phone, venue.holds.per_source), (3, 200));
    assert_eq!(venue.sms.parts_per_day_max, 1000);
    assert_eq!(format!("{:?}", venue.sms.part_price), "GBP 0.04");
}

#[test]
fn each_limit_can_be_set_by_itself() {
    let venue = changed(|venue| {
        venue["language"] = json!("de");
        venue["holds"] = json!({"per_phone": 1});
        venue["sms"] = json!({"part_price": {"amount": 7, "currency": "EUR"}});
    });
    let venue = venue.unwrap();
    assert_eq!(venue.language, Language::De);
    assert_eq!((venue.holds.per_phone, venue.holds.per_source), (1, 200));
    assert_eq!(venue.sms.parts_per_day_max, 1000);
    assert_eq!(format!("{:?}", venue.sms.part_price), "EUR 0.07");
}

#[test]
fn a_phone_may_book_if_its_country_is_on_the_list_or_there_is_none() {
    let phone = |text: &str| Phone::parse(text, "GB").unwrap();
    let open = Venue::from_json(BUILT_IN).unwrap();
    let british = changed(|venue| venue["phone_countries"] = json!(["GB", "IE"])).unwrap();
    for (text, country, takes) in [
        ("07700 900123", "GB", true),
        ("07418 123456", "GB", true),
        ("07624 412345", "IM", false),
        ("+353 85 012 3456", "IE", true),
        ("+1 415 555 2671", "US", false),
        ("+1 613 782 7274", "CA", false),
        ("+33 6 12 34 56 78", "FR", false),
    ] {
        let phone = phone(text);
        assert_eq!(phone.country().as_deref(), Some(country), "{text}");
        assert_eq!(british.takes_phone(&phone), takes, "{text}");
        assert!(open.takes_phone(&phone), "{text}");
    }
}

#[test]
fn a_policy_reads_rows_that_are_older_or_newer_than_it() {
    let new = policy(&json!({
        "pay_by": {"days_before": 1, "at": "18:00:00"},
        "quiet": {"from": "21:00:00", "to": "08:00:00"},
        "partial_cancellation": {"until": 60, "percent": 50},
    }));
    let mut row = serde_json::to_value(&new).unwrap();
    assert_eq!(serde_json::from_value::<Policy>(row.clone()).unwrap(), new);
    row["of_next_year"] = json!(1);
    for part in ["pay_by", "quiet", "partial_cancellation"] {
        row[part]["of_next_year"] = json!(1);
    }
    assert_eq!(serde_json::from_value::<Policy>(row.clone()).unwrap(), new);
    for part in ["pay_by", "quiet", "partial_cancellation"] {
        row.as_object_mut().unwrap().remove(part);
    }
    let old: Policy = serde_json::from_value(row).unwrap();
    assert_eq!((old.pay_by, old.quiet), (None, None));
}

#[test]
fn the_venue_of_the_documentation_is_one() {
    let page = include_str!("../../../../docs/venue.md");
    let example = page
        .split("```json")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let venue = Venue::from_json(example.unwrap()).unwrap();
    // Every rule that there is stands in it, so that a new one is not forgotten there.
    let shown: serde_json::Value = serde_json::from_str(example.unwrap()).unwrap();
    let rules = serde_json::to_value(&venue.policy).unwrap();
    let shown = shown["policy"].as_object().unwrap();
    let rules = rules.as_object().unwrap().keys();
    let missing: Vec<_> = rules.filter(|rule| !shown.contains_key(*rule)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
