//! A policy of dunning as JSON, and the dates that follow from an accepted one.

use chrono::{DateTime, TimeDelta, Utc};
use paidonce_core::dunning::policy::{Policy, Terms};

use super::policy_text::check_complaints;

/// A Friday afternoon, Christmas Eve, the night of a clock change, and the last day with data.
const FAILED_S: [i64; 5] = [
    1_783_692_000,
    1_798_106_400,
    1_792_893_600,
    1_774_749_600,
    1_830_268_800,
];

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let policy = match Policy::from_json(text) {
        Ok(policy) => policy,
        Err(complaints) => return check_complaints(text, &complaints),
    };
    // A policy that is accepted can be written down and read again.
    let written = serde_json::to_string(&policy).expect("a policy is JSON");
    assert_eq!(Policy::from_json(&written), Ok(policy.clone()));
    let terms = &policy.terms;
    for at in FAILED_S
        .iter()
        .filter_map(|at| DateTime::from_timestamp(*at, 0))
    {
        check_ladder(terms, at);
        if let Ok(open) = terms.next_open(at) {
            assert!(open >= at);
            assert_eq!(terms.next_open(open), Ok(open), "what is open stays");
            assert!(terms.window.has(open, terms.zone));
        }
        let opening = terms.window.next_opening(at, terms.zone);
        assert!(opening >= at && opening - at <= TimeDelta::days(4));
    }
}

/// Every date of the ladder is in the window of a business day, after the one before it.
fn check_ladder(terms: &Terms, failed_at: DateTime<Utc>) {
    let mut last = failed_at;
    for step in 0..=terms.gaps_business_days.len() {
        let Ok(next) = terms.next_retry(step, last, None) else {
            return;
        };
        let Some(next) = next else {
            assert_eq!(step, terms.gaps_business_days.len());
            return;
        };
        assert!(next > last, "{next} is not after {last}");
        assert!(terms.window.has(next, terms.zone), "{next}");
        let day = next.with_timezone(&terms.zone).date_naive();
        assert_eq!(
            terms.business_days().is_business_day(day),
            Ok(true),
            "{day}"
        );
        for wait in [TimeDelta::days(-3), TimeDelta::hours(30), TimeDelta::MAX] {
            if let Ok(Some(waited)) = terms.next_retry(step, last, Some(wait)) {
                assert!(waited >= next, "a wait never makes it earlier");
            }
        }
        last = next;
    }
}
