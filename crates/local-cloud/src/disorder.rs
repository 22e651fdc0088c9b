//! The disorder that AWS allows and rarely shows: deliveries out of order, twice, late and long after
//! they were handled; small batches; schedules that fire twice, late, or although they were deleted.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::Duration;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

use crate::roll;

/// How disorderly the cloud delivers. The seed decides each case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disorder {
    pub seed: u64,
    /// Of a thousand deliveries that were handled well, so many come a second time.
    pub duplicates_per_mille: u32,
    /// Queues give their messages in any order and in batches of any size, and sources take turns
    /// in any order.
    pub shuffle: bool,
    /// Of a thousand deliveries that were handled well, so many come again much later: a message
    /// within three days and its queue's retention, the records of a stream within a day, an
    /// asynchronous invocation within its event's age.
    pub redeliver_late_per_mille: u32,
    /// Of a thousand first deliveries, so many are late: a message by up to two days and half of its
    /// queue's retention, a stream (with what is behind) by up to 20 hours, an asynchronous invocation
    /// by up to half of its event's age.
    pub delay_per_mille: u32,
    /// Of a thousand messages that were handled well, so many outlive it, as their visibility time-out
    /// ended while the handler was at work: they come again when it has, and that was a receive.
    pub visibility_expires_per_mille: u32,
    /// Of a thousand firings of schedules, so many happen twice.
    pub schedule_twice_per_mille: u32,
    /// Of a thousand firings, so many are late by up to two hours. Who deletes the schedule meanwhile
    /// still prevents it.
    pub schedule_late_per_mille: u32,
    /// Of a thousand one-off schedules that a call deletes, so many fire at their time anyway.
    pub schedule_after_delete_per_mille: u32,
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

    /// Whether something happens that is as frequent as `per_mille` says.
    pub(crate) fn happens(&self, per_mille: impl Fn(&Disorder) -> u32) -> bool {
        match &mut *self.lock() {
            // What never happens costs no roll, so that it changes nothing about the rest.
            Some((disorder, rng)) if per_mille(disorder) > 0 => {
                rng.random_range(0..1_000) < per_mille(disorder)
            }
            Some(_) | None => false,
        }
    }

    /// A delay of at most `most`, if one happens.
    pub(crate) fn delay(
        &self,
        per_mille: impl Fn(&Disorder) -> u32,
        most: Duration,
    ) -> Option<Duration> {
        if most < Duration::seconds(1) || !self.happens(per_mille) {
            return None;
        }
        let mut dice = self.lock();
        let (_, rng) = dice.as_mut()?;
        Some(roll::delay(rng, most))
    }

    /// Brings `items` into the order of their delivery; returns whether it may be another one.
    pub(crate) fn shuffle<T>(&self, items: &mut [T]) -> bool {
        match &mut *self.lock() {
            Some((disorder, rng)) if disorder.shuffle => {
                items.shuffle(rng);
                items.len() > 1
            }
            Some(_) | None => false,
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
    fn what_never_happens_changes_nothing_about_the_rest() {
        let roll = |asked: bool| {
            let dice = Dice::default();
            dice.set(Some(Disorder {
                duplicates_per_mille: 500,
                ..Disorder::default()
            }));
            let duplicate = |_| {
                if asked {
                    assert!(!dice.happens(|disorder| disorder.delay_per_mille));
                }
                dice.duplicate()
            };
            (0..50).map(duplicate).collect::<Vec<_>>()
        };
        assert_eq!(roll(true), roll(false));
    }

    #[test]
    fn the_same_seed_gives_the_same_disorder() {
        let roll = || {
            let dice = Dice::default();
            dice.set(Some(Disorder {
                seed: 7,
                duplicates_per_mille: 500,
                shuffle: true,
                ..Disorder::default()
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
