use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::local_time::stamp;

fn utc(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn declined(at: DateTime<Utc>) -> PastCharge {
    PastCharge {
        at,
        fingerprint: "fp-1".to_owned(),
        succeeded: false,
        rate_limited: false,
    }
}

/// Declines, the last at noon on 1 July 2026 and the others before it at even steps.
fn declines(count: i32, step: TimeDelta) -> Vec<PastCharge> {
    let last = utc("2026-07-01T12:00:00Z");
    (0..count).map(|n| declined(last - step * n)).collect()
}

/// Until when, and by which rule; nothing if there is room.
fn full(network: Option<&str>, past: &[PastCharge], at: &str) -> Option<(String, String)> {
    match budget(network, "fp-1", past, utc(at)) {
        Budget::Room => None,
        Budget::Full { until, rule, .. } => Some((stamp(until), rule)),
    }
}

fn some(until: &str, rule: &str) -> Option<(String, String)> {
    Some((until.to_owned(), rule.to_owned()))
}

#[test]
fn visa_allows_twenty_declines_in_thirty_days() {
    let at = "2026-07-01T13:00:00Z";
    let day = TimeDelta::days(1);
    assert_eq!(full(Some("visa"), &declines(19, day), at), None);
    // The twentieth last was on 12 June.
    let until = some("2026-07-12T12:00:00Z", "visa 20 in 720 h");
    assert_eq!(full(Some("visa"), &declines(20, day), at), until);
    assert_eq!(full(Some("VISA"), &declines(25, day), at), until);
    let past = declines(20, day);
    assert_eq!(full(Some("visa"), &past, "2026-07-12T11:59:59Z"), until);
    assert_eq!(full(Some("visa"), &past, "2026-07-12T12:00:00Z"), None);
}

#[test]
fn mastercard_allows_ten_in_a_day_and_thirty_five_in_thirty() {
    let network = Some("mastercard");
    let at = "2026-07-01T13:00:00Z";
    let hour = TimeDelta::hours(1);
    assert_eq!(full(network, &declines(9, hour), at), None);
    let in_a_day = some("2026-07-02T03:00:00Z", "mastercard 10 in 24 h");
    assert_eq!(full(network, &declines(10, hour), at), in_a_day);
    let by_five_hours = TimeDelta::hours(5);
    assert_eq!(full(network, &declines(34, by_five_hours), at), None);
    let in_thirty = some("2026-07-24T10:00:00Z", "mastercard 35 in 720 h");
    assert_eq!(full(network, &declines(35, by_five_hours), at), in_thirty);
    // Both are full: the one that lasts longer is told.
    assert_eq!(
        full(network, &declines(35, hour), at),
        some("2026-07-30T02:00:00Z", "mastercard 35 in 720 h")
    );
}

#[test]
fn another_network_or_none_has_the_strictest_limit() {
    let at = "2026-07-01T13:00:00Z";
    let day = TimeDelta::days(1);
    for network in [Some("amex"), Some("a_network_of_next_year"), None] {
        assert_eq!(full(network, &declines(9, day), at), None);
        let until = some("2026-07-22T12:00:00Z", "other 10 in 720 h");
        assert_eq!(full(network, &declines(10, day), at), until);
    }
}

#[test]
fn what_counts_is_this_card_and_what_was_declined() {
    let at = "2026-07-01T13:00:00Z";
    let mut past = declines(10, TimeDelta::days(1));
    past[3].succeeded = true;
    assert_eq!(full(None, &past, at), None, "a success is no decline");
    past.push(declined(utc("2026-06-15T12:00:00Z")));
    past[3].fingerprint = "fp-2".to_owned();
    assert!(full(None, &past, at).is_some(), "others' attempts count");
    past[4].fingerprint = "fp-2".to_owned();
    assert_eq!(full(None, &past, at), None, "another card does not");
    assert_eq!(full(Some("visa"), &[], at), None);
}

#[test]
fn a_card_that_the_provider_refuses_to_ask_about_rests_for_three_days() {
    let mut past = declines(2, TimeDelta::days(1));
    past[1].rate_limited = true;
    let until = some("2026-07-03T12:00:00Z", "card_decline_rate_limit_exceeded");
    assert_eq!(full(Some("visa"), &past, "2026-07-01T13:00:00Z"), until);
    assert_eq!(full(Some("visa"), &past, "2026-07-03T12:00:00Z"), None);
    past[1].fingerprint = "fp-2".to_owned();
    assert_eq!(full(Some("visa"), &past, "2026-07-01T13:00:00Z"), None);
}

#[test]
fn every_limit_names_its_source() {
    let text: Value = serde_json::from_str(include_str!("../budget.json")).unwrap();
    let networks = text["networks"].as_object().unwrap();
    let limits = networks.values().chain([&text["other"]]);
    let mut rows = vec![&text["rate_limited"]];
    rows.extend(limits.flat_map(|limits| limits.as_array().unwrap()));
    assert_eq!(rows.len(), 5);
    for row in rows {
        assert!(row["source"].as_str().unwrap().len() > 20, "{row}");
    }
    let past = declines(20, TimeDelta::hours(1));
    let at = utc("2026-07-01T13:00:00Z");
    let Budget::Full { edition, .. } = budget(Some("visa"), "fp-1", &past, at) else {
        panic!("twenty are too many");
    };
    assert_eq!(edition, "2026-11");
}

#[test]
fn the_longest_ladder_fits_into_any_networks_limit() {
    let limits = TABLE.networks.values().chain([&TABLE.other]);
    for limit in limits.flatten() {
        // The first failure, eight steps, and then one more.
        assert!(limit.declines_max >= 10, "{} h", limit.window_hours);
    }
}

fn any_past() -> impl Strategy<Value = Vec<PastCharge>> {
    let charge = (0_i64..5_000_000, 0..3_u8, any::<bool>(), 0..20_u8);
    let charge = charge.prop_map(|(second, card, succeeded, rare)| PastCharge {
        at: utc("2026-05-01T00:00:00Z") + TimeDelta::seconds(second),
        fingerprint: format!("fp-{card}"),
        succeeded,
        rate_limited: rare == 0 && !succeeded,
    });
    proptest::collection::vec(charge, 0..200)
}

proptest! {
    #[test]
    fn there_is_room_exactly_where_counting_says_so(
        past in any_past(),
        network in proptest::sample::select(vec![None, Some("visa"), Some("mastercard")]),
        second in 0_i64..6_000_000,
    ) {
        let at = utc("2026-05-01T00:00:00Z") + TimeDelta::seconds(second);
        let room = |at: DateTime<Utc>| {
            let mut declines = past.iter().filter(|charge| charge.fingerprint == "fp-1" && !charge.succeeded);
            let limits: &[(usize, i64)] = match network {
                Some("visa") => &[(20, 720)],
                Some("mastercard") => &[(10, 24), (35, 720)],
                _ => &[(10, 720)],
            };
            let counted = |hours: i64| {
                let since = at - TimeDelta::hours(hours);
                declines.clone().filter(|charge| charge.at > since).count()
            };
            let within = limits.iter().all(|(max, hours)| counted(*hours) < *max);
            within && !declines.any(|charge| charge.rate_limited && charge.at > at - TimeDelta::hours(72))
        };
        match budget(network, "fp-1", &past, at) {
            Budget::Room => prop_assert!(room(at)),
            Budget::Full { until, .. } => {
                prop_assert!(!room(at) && until > at);
                prop_assert!(room(until) && !room(until - TimeDelta::seconds(1)));
                prop_assert_eq!(budget(network, "fp-1", &past, until), Budget::Room);
            }
        }
    }
}
