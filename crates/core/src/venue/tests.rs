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
