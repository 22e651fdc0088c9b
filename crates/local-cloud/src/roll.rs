//! What a fault rolls beside: from the cloud's seed and what the fault is about, so that it is the
//! same again when a script plays it.

use chrono::Duration;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

/// The dice for the `number`th thing of a cloud.
pub(crate) fn dice(seed: u64, number: u64) -> ChaCha12Rng {
    // Neighbouring numbers must not start alike; the factor is that of splitmix64.
    ChaCha12Rng::seed_from_u64(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Ceilings of rolled times, in seconds: few seconds are as likely as many hours.
const CEILINGS: [i64; 7] = [10, 60, 600, 3_600, 21_600, 86_400, 259_200];

/// Whole seconds, from one to `most`.
pub(crate) fn delay(dice: &mut impl Rng, most: Duration) -> Duration {
    let most = most.num_seconds().max(1);
    let mut ceilings: Vec<i64> = CEILINGS.into_iter().filter(|top| *top < most).collect();
    ceilings.push(most);
    let ceiling = ceilings.choose(dice).copied().unwrap_or(most);
    Duration::seconds(dice.random_range(1..=ceiling))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_short_or_long_and_never_longer_than_asked() {
        let mut dice = dice(1, 2);
        let most = Duration::minutes(10);
        let delays: Vec<Duration> = (0..300).map(|_| delay(&mut dice, most)).collect();
        assert!(
            delays
                .iter()
                .all(|rolled| *rolled >= Duration::seconds(1) && *rolled <= most)
        );
        let short = delays
            .iter()
            .filter(|rolled| **rolled <= Duration::seconds(10));
        assert!(short.count() > 60);
        assert!(delays.iter().any(|rolled| *rolled > Duration::minutes(5)));
    }

    #[test]
    fn the_same_call_of_the_same_cloud_rolls_the_same() {
        let roll = |number| dice(7, number).random_range(0..1_000_000);
        assert_eq!(roll(1), roll(1));
        assert_ne!(roll(1), roll(2));
    }
}
