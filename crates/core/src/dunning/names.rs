//! Names that depend on business facts alone: idempotency keys, schedules, spread.

use sha2::{Digest, Sha256};

/// EventBridge Scheduler's limit on a schedule's name.
const SCHEDULE_NAME_MAX: usize = 64;
/// How much of a hash stands for a subscription whose id can't be in a name.
const HASH_BYTES: usize = 16;

/// The idempotency key of one charge. The provider answers a key with its first result for a day,
/// declines included, so each attempt has one of its own.
pub fn attempt_key(invoice_id: &str, n: u32) -> String {
    format!("dunr-{invoice_id}-a{n}")
}

/// The name of a plan's schedule, `dunr-retry-{sub}-{n}`: unique for each plan, and the same
/// however often it is asked for.
///
/// A subscription whose id doesn't fit the scheduler's rules (`[0-9a-zA-Z-_.]`, 64 characters) is
/// named by its hash.
pub fn schedule_name(subscription_id: &str, n: u32) -> String {
    let plain = format!("dunr-retry-{subscription_id}-{n}");
    let fits = plain.len() <= SCHEDULE_NAME_MAX
        && plain
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if fits {
        return plain;
    }
    let hash = Sha256::digest(subscription_id);
    let short = hex::encode(hash.get(..HASH_BYTES).unwrap_or_default());
    format!("dunr-retry-{short}-{n}")
}

/// A number that spreads ids evenly.
pub(crate) fn spread(id: &str) -> u64 {
    let hash = Sha256::digest(id);
    hash.iter()
        .take(8)
        .fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn bug_g13_a_schedule_name_fits_and_no_two_are_the_same() {
        assert_eq!(schedule_name("sub_1", 2), "dunr-retry-sub_1-2");
        let long = "s".repeat(60);
        let odd = ["a/b", "a:b", "süb", long.as_str(), &format!("{long}x")];
        let mut seen = BTreeSet::new();
        for id in odd.iter().copied().chain(["sub_1"]) {
            for n in [1, 10, 4_294_967_295] {
                let name = schedule_name(id, n);
                assert!(name.len() <= SCHEDULE_NAME_MAX, "{name}");
                assert!(seen.insert(name));
            }
        }
    }

    #[test]
    fn bug_g13_ids_that_would_be_cut_alike_have_names_of_their_own() {
        let names: BTreeSet<_> = (0..100_000)
            .map(|n| schedule_name(&format!("{}-{n}", "s".repeat(64)), 1))
            .collect();
        assert_eq!(names.len(), 100_000);
    }
}
