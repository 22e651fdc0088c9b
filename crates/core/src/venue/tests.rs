use serde_json::{Value, json};

use super::*;

mod complaining;
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

/// A moment by its wall time at the venue, or with an offset.
fn at(text: &str, zone: Tz) -> chrono::DateTime<chrono::Utc> {
    crate::local_time::resolve(text, zone).unwrap().utc
}
