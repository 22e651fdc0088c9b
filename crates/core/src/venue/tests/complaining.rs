//! Each complaint names its field and says what is allowed.

use super::*;

#[test]
fn a_complaint_names_the_field_and_says_what_is_allowed() {
    let quiet = "policy.quiet: from and to must differ, by at most 14 hours";
    let times = |from: &str, to: &str| json!({"from": from, "to": to});
    let countries = "phone_countries: must be codes of countries, such as GB";
    for (path, value, complaint) in [
        ("name", json!(" "), "name: must have 1 to 40 characters"),
        (
            "phone_region",
            json!("UK"),
            "phone_region: must be the code of a country, such as GB",
        ),
        ("phone_countries", json!(["GB", "gb"]), countries),
        ("phone_countries", json!(["+44"]), countries),
        ("resources", json!([]), "resources: must not be empty"),
        (
            "holds",
            json!({"per_phone": 0}),
            "holds.per_phone: 1 to 1000",
        ),
        (
            "holds",
            json!({"per_source": 1001}),
            "holds.per_source: 1 to 1000",
        ),
        (
            "sms",
            json!({"parts_per_day_max": 0}),
            "sms.parts_per_day_max: 1 to 1000000",
        ),
        (
            "sms",
            json!({"part_price": {"amount": 0, "currency": "GBP"}}),
            "sms.part_price: 1 to 1000000 minor units",
        ),
        (
            "policy.pay_within",
            json!(43_201),
            "policy.pay_within: 30 minutes to 30 days",
        ),
        (
            "policy.pay_time_min",
            json!(4),
            "policy.pay_time_min: 5 minutes to a day",
        ),
        (
            "policy.start_buffer",
            json!(43_201),
            "policy.start_buffer: at most 30 days",
        ),
        (
            "policy.remind_before",
            json!(1441),
            "policy.remind_before: at most pay_within",
        ),
        (
            "policy.pay_by",
            json!({"days_before": 31, "at": "18:00:00"}),
            "policy.pay_by.days_before: 0 to 30",
        ),
        (
            "policy.pay_by",
            json!({"days_before": 1, "at": "18:00:01"}),
            "policy.pay_by.at: a whole minute, such as 18:00:00",
        ),
        (
            "policy.pay_by",
            json!({"days_before": 1, "at": "18:00:00", "on": "Mon"}),
            "policy.pay_by.on: is not a rule",
        ),
        ("policy.quiet", times("21:00:00", "21:00:00"), quiet),
        ("policy.quiet", times("18:00:00", "08:01:00"), quiet),
        ("policy.quiet", times("08:00:00", "22:01:00"), quiet),
        (
            "policy.quiet",
            times("21:00:30", "08:00:00"),
            "policy.quiet: from and to must be whole minutes, such as 21:00:00",
        ),
        (
            "policy.funds_within",
            json!(20_161),
            "policy.funds_within: at most 14 days",
        ),
        (
            "policy.settle_after",
            json!(43_201),
            "policy.settle_after: at most 30 days",
        ),
        (
            "policy.free_cancellation",
            json!(525_601),
            "policy.free_cancellation: at most a year",
        ),
        (
            "policy.partial_cancellation",
            json!({"until": 1440, "percent": 50}),
            "policy.partial_cancellation.until: must be less than free_cancellation",
        ),
        (
            "policy.partial_cancellation",
            json!({"until": 60, "percent": 100}),
            "policy.partial_cancellation.percent: 1 to 99",
        ),
        (
            "policy.partial_cancellation",
            json!({"until": 60, "percent": 50, "from": 1}),
            "policy.partial_cancellation.from: is not a rule",
        ),
        (
            "policy.late_grace",
            json!(1441),
            "policy.late_grace: at most a day",
        ),
        (
            "policy.case_within",
            json!(29),
            "policy.case_within: 30 minutes to 7 days",
        ),
        (
            "policy.pay_wihtin",
            json!(60),
            "policy.pay_wihtin: is not a rule",
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
fn a_complaint_about_a_resource_names_it() {
    let rows = "party_max: one booking would hold over 40 rows";
    for (field, value, complaint) in [
        ("id", json!("table-5"), "resources.table-5: stands twice"),
        (
            "id",
            json!("a#b"),
            "resources.a#b.id: 1 to 40 letters, digits and hyphens",
        ),
        ("capacity", json!(0), "capacity: 1 to 100"),
        ("party_max", json!(0), "party_max: 1 to 1000"),
        ("party_max", json!(u32::MAX), "party_max: 1 to 1000"),
        (
            "capacity_is",
            json!("guests"),
            "party_max: is over the capacity",
        ),
        ("grid_minutes", json!(2), rows),
        (
            "duration_minutes",
            json!(100),
            "duration_minutes: must be a multiple of the grid, at most a day",
        ),
        (
            "duration_minutes",
            json!(1470),
            "duration_minutes: must be a multiple of the grid, at most a day",
        ),
    ] {
        let complaint = match complaint.starts_with("resources") {
            true => complaint.to_owned(),
            false => format!("resources.table-4.{complaint}"),
        };
        let path = format!("resources.0.{field}");
        assert_eq!(
            complaints(&path, value.clone()),
            [complaint],
            "{field}: {value}"
        );
    }
}

#[test]
fn a_grid_divides_an_hour_and_every_change_of_the_zones_clocks() {
    let grid = |zone: &str, grid: u32| {
        let table = json!({"grid_minutes": grid, "duration_minutes": grid});
        let tables = with_table(zone, &table).err().unwrap_or_default();
        tables
            .into_iter()
            .filter(|what| what.contains("table-4"))
            .collect::<Vec<_>>()
    };
    for good in [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60] {
        assert_eq!(grid("Europe/London", good), Vec::<String>::new(), "{good}");
    }
    for bad in [0, 7, 8, 9, 16, 25, 45, 90, 120] {
        let complaint = "resources.table-4.grid_minutes: must divide an hour";
        assert_eq!(grid("Europe/London", bad), [complaint], "{bad}");
    }
    for good in [1, 2, 3, 5, 6, 10, 15, 30] {
        assert_eq!(
            grid("Australia/Lord_Howe", good),
            Vec::<String>::new(),
            "{good}"
        );
    }
    for bad in [4, 12, 20, 60] {
        let complaint = "resources.table-4.grid_minutes: must divide the 30 minutes by which the \
            clocks of Australia/Lord_Howe change";
        assert_eq!(grid("Australia/Lord_Howe", bad), [complaint], "{bad}");
    }
}
