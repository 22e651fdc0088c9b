//! What is wrong with a policy is said at once, each with its field.

use super::*;

/// Sets `value` at a path such as `terms.window` and returns the complaints.
fn complaints(path: &str, value: Value) -> Vec<String> {
    let set = changed(|policy| {
        let part = path.split('.').fold(policy, |part, name| &mut part[name]);
        *part = value;
    });
    set.err().unwrap_or_default()
}

#[test]
fn each_field_has_its_limits() {
    let gaps = "terms.gaps_business_days: 1 to 8 gaps of 1 to 15 days";
    let looks = "terms.look_again_minutes: 1 to 6 waits of 1 to 1440 minutes, none shorter than the one before";
    let weekend = "terms.weekend: at most 4 weekdays, each once";
    let abandon = "terms.abandon_after_days: 7 to 365, and longer than the ladder";
    let url = "business.return_url: must begin with https:// and a host";
    for (path, value, complaint) in [
        (
            "terms.edition",
            json!(" "),
            "terms.edition: must have 1 to 40 characters",
        ),
        ("terms.gaps_business_days", json!([]), gaps),
        ("terms.gaps_business_days", json!([0]), gaps),
        ("terms.gaps_business_days", json!([16]), gaps),
        (
            "terms.gaps_business_days",
            json!([1, 1, 1, 1, 1, 1, 1, 1, 1]),
            gaps,
        ),
        ("terms.weekend", json!(["Sat", "Sat"]), weekend),
        (
            "terms.weekend",
            json!(["Wed", "Thu", "Fri", "Sat", "Sun"]),
            weekend,
        ),
        (
            "terms.retry_at",
            json!("08:59"),
            "terms.retry_at: must be in the window",
        ),
        (
            "terms.retry_at",
            json!("17:00"),
            "terms.retry_at: must be in the window",
        ),
        ("terms.look_again_minutes", json!([]), looks),
        ("terms.look_again_minutes", json!([60, 15]), looks),
        ("terms.look_again_minutes", json!([0]), looks),
        ("terms.look_again_minutes", json!([1441]), looks),
        ("terms.abandon_after_days", json!(6), abandon),
        ("terms.abandon_after_days", json!(13), abandon),
        ("terms.abandon_after_days", json!(366), abandon),
        (
            "terms.late_max_minutes",
            json!(14),
            "terms.late_max_minutes: 15 to 1440",
        ),
        (
            "terms.extra_attempts_max",
            json!(21),
            "terms.extra_attempts_max: 0 to 20",
        ),
        (
            "terms.reping_every_days",
            json!(0),
            "terms.reping_every_days: 1 to 60",
        ),
        ("terms.repings_max", json!(13), "terms.repings_max: 0 to 12"),
        (
            "terms.link_valid_days",
            json!(31),
            "terms.link_valid_days: 1 to 30",
        ),
        ("terms.payday", json!(25), "terms.payday: is not a rule"),
        (
            "terms.window",
            json!({"from": "09:00", "to": "17:00", "on": "Mon"}),
            "terms.window.on: is not a rule",
        ),
        (
            "business.name",
            json!("a\r\nBcc: b"),
            "business.name: one line of 1 to 80 characters",
        ),
        (
            "business.product",
            json!(""),
            "business.product: one line of 1 to 80 characters",
        ),
        (
            "business.support_email",
            json!("Billing <billing@anchor.example>"),
            "business.support_email: must be an address such as billing@example.com",
        ),
        (
            "business.postal_address",
            json!(" "),
            "business.postal_address: one line of 1 to 200 characters",
        ),
        ("business.return_url", json!("http://anchor.example"), url),
        ("business.return_url", json!("https:///account"), url),
        ("business.return_url", json!("https://a b.example"), url),
        ("business.return_url", json!("https://me@evil.example"), url),
        (
            "gatekeeper.entitlement_valid_hours",
            json!(169),
            "gatekeeper.entitlement_valid_hours: 1 to 168",
        ),
        (
            "gatekeeper.cache_seconds",
            json!(9),
            "gatekeeper.cache_seconds: 10 to 300",
        ),
    ] {
        assert_eq!(
            complaints(path, value.clone()),
            [complaint],
            "{path}: {value}"
        );
    }
}

#[test]
fn a_window_that_ends_before_it_begins_holds_no_hour_either() {
    assert_eq!(
        complaints("terms.window", json!({"from": "17:00", "to": "09:00"})),
        [
            "terms.window: from must be before to",
            "terms.window: must have 09:00, when the daily sweep sends the mails that waited",
            "terms.retry_at: must be in the window",
        ]
    );
}

#[test]
fn all_complaints_come_at_once() {
    let error = changed(|policy| {
        policy["business"]["name"] = json!("");
        policy["gatekeeper"]["cache_seconds"] = json!(0);
        policy["terms"]["repings_max"] = json!(100);
        policy["terms"]["payday"] = json!(1);
    });
    let complaints = error.unwrap_err();
    let fields: Vec<&str> = complaints
        .iter()
        .filter_map(|complaint| complaint.split(':').next())
        .collect();
    assert_eq!(
        fields,
        [
            "business.name",
            "gatekeeper.cache_seconds",
            "terms.repings_max",
            "terms.payday"
        ]
    );
}

#[test]
fn a_text_that_has_another_shape_is_refused_with_the_place() {
    for (change, complaint) in [
        (json!({"region": "wales"}), "unknown variant `wales`"),
        (
            json!({"zone": "Europe/Londres"}),
            "failed to parse timezone",
        ),
        (json!({"retry_at": "10"}), "\"10\" is no time such as 09:00"),
        (json!({"weekend": ["Holiday"]}), "weekday names expected"),
        (json!({"gaps_business_days": [-1]}), "-1"),
    ] {
        let error = changed(|policy| {
            for (name, value) in change.as_object().unwrap() {
                policy["terms"][name] = value.clone();
            }
        });
        let complaints = error.unwrap_err();
        assert_eq!(complaints.len(), 1, "{change}");
        assert!(complaints[0].contains(complaint), "{complaints:?}");
    }
    let error = changed(|policy| policy["team_email"] = json!("a@b.example")).unwrap_err();
    assert!(
        error[0].starts_with("unknown field `team_email`"),
        "{error:?}"
    );
    assert_eq!(Policy::from_json("").unwrap_err().len(), 1);
}
