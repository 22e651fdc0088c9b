//! Ids that look like the provider's, counted instead of drawn, so that a run can be repeated.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// In ASCII order, so that ids sort by the time that they were made.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const COUNTER_WIDTH: usize = 7;
const TAIL_WIDTH: usize = 17;

/// A counter of everything that was ever named.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ids {
    seed: u64,
    count: u64,
}

impl Ids {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, count: 0 }
    }

    /// Returns a new id: the prefix, the counter, and a tail that differs from seed to seed.
    pub(crate) fn next(&mut self, prefix: &str) -> String {
        self.count += 1;
        let digest = Sha256::digest(format!("{}/{}", self.seed, self.count));
        let tail = digest.iter().take(TAIL_WIDTH);
        let tail: String = tail.map(|byte| digit(u64::from(*byte))).collect();
        format!("{prefix}{}{tail}", self.counter())
    }

    /// Returns the counter: what is counted later has a higher one.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    fn counter(&self) -> String {
        let mut rest = self.count;
        let mut digits = [' '; COUNTER_WIDTH];
        for place in digits.iter_mut().rev() {
            *place = digit(rest);
            rest /= 62;
        }
        digits.iter().collect()
    }
}

fn digit(value: u64) -> char {
    let index = usize::try_from(value % 62).unwrap_or_default();
    char::from(ALPHABET[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_the_order_in_which_they_were_made() {
        let mut ids = Ids::new(7);
        let made: Vec<String> = (0..500).map(|_| ids.next("ch_3")).collect();
        assert!(made.is_sorted());
    }

    #[test]
    fn the_same_seed_names_the_same_things() {
        let (mut one, mut same, mut other) = (Ids::new(1), Ids::new(1), Ids::new(2));
        let id = one.next("evt_1");
        assert_eq!(id, same.next("evt_1"));
        assert_ne!(id, other.next("evt_1"));
    }
}
