//! The disorder that AWS allows and rarely shows: messages out of order and twice, small batches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

/// How disorderly the cloud delivers. The seed decides each case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disorder {
    pub seed: u64,
    /// Of a thousand deliveries that were handled well, so many come a second time.
    pub duplicates_per_mille: u32,
    /// Queues give their messages in any order and in batches of any size, and sources take turns
    /// in any order.
    pub shuffle: bool,
}

/// The disorder in force; none at first.
#[derive(Debug, Default)]
pub(crate) struct Dice(Mutex<Option<(Disorder, ChaCha12Rng)>>);

impl Dice {
    pub(crate) fn set(&self, disorder: Option<Disorder>) {
        *self.lock() =
            disorder.map(|disorder| (disorder, ChaCha12Rng::seed_from_u64(disorder.seed)));
    }

    /// Whether this delivery comes a second time.
    pub(crate) fn duplicate(&self) -> bool {
        match &mut *self.lock() {
            Some((disorder, rng)) => rng.random_range(0..1_000) < disorder.duplicates_per_mille,
            None => false,
        }
    }

    /// Brings `items` into the order of their delivery.
    pub(crate) fn shuffle<T>(&self, items: &mut [T]) {
        if let Some((disorder, rng)) = &mut *self.lock()
            && disorder.shuffle
        {
            items.shuffle(rng);
        }
    }

    /// How many to take of at most `most`.
    pub(crate) fn batch_size(&self, most: usize) -> usize {
        match &mut *self.lock() {
            Some((disorder, rng)) if disorder.shuffle => rng.random_range(1..=most.max(1)),
            Some(_) | None => most,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Disorder, ChaCha12Rng)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_disorder_nothing_is_out_of_order() {
        let dice = Dice::default();
        let mut items = [1, 2, 3];
        dice.shuffle(&mut items);
        assert_eq!(
            (items, dice.batch_size(10), dice.duplicate()),
            ([1, 2, 3], 10, false)
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_disorder() {
        let roll = || {
            let dice = Dice::default();
            dice.set(Some(Disorder {
                seed: 7,
                duplicates_per_mille: 500,
                shuffle: true,
            }));
            let mut items: Vec<u32> = (0..20).collect();
            dice.shuffle(&mut items);
            (
                items,
                dice.batch_size(10),
                [dice.duplicate(), dice.duplicate(), dice.duplicate()],
            )
        };
        assert_eq!(roll(), roll());
    }
}
