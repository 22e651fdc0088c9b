//! The only source of chance: everything that a simulation decides comes from its seed.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// A generator for one purpose of one seed, so that a change in one purpose moves no other.
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64, purpose: &str) -> Self {
        Self(ChaCha8Rng::from_seed(
            Sha256::digest(format!("{seed} {purpose}")).into(),
        ))
    }

    /// A number below `sides`; 0 if there are no sides.
    pub(crate) fn roll(&mut self, sides: u32) -> u32 {
        self.0.random_range(0..sides.max(1))
    }

    /// A number from `from` to `to`, both included.
    pub(crate) fn between(&mut self, from: u32, to: u32) -> u32 {
        from + self.roll(to.saturating_sub(from).saturating_add(1))
    }

    /// Whether something happens that does so in `per_mille` of a thousand cases.
    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        self.roll(1_000) < per_mille
    }

    /// One of `of`, which has at least one.
    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.random_range(0..of.len())]
    }

    /// One of `of`, each as often as its weight.
    pub(crate) fn weighted<T: Copy>(&mut self, of: &[(u32, T)]) -> T {
        let total = of.iter().map(|(weight, _)| *weight).sum();
        let mut rolled = self.roll(total);
        for (weight, value) in of {
            match rolled.checked_sub(*weight) {
                Some(rest) => rolled = rest,
                None => return *value,
            }
        }
        of[0].1
    }

    /// A seed for something that has a generator of its own.
    pub(crate) fn seed(&mut self) -> u64 {
        self.0.random()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_purpose_decide_every_roll() {
        let rolls = |seed, purpose| {
            let mut dice = Dice::new(seed, purpose);
            [(); 20].map(|()| dice.roll(1_000))
        };
        assert_eq!(rolls(1, "plan"), rolls(1, "plan"));
        assert_ne!(rolls(1, "plan"), rolls(2, "plan"));
        assert_ne!(rolls(1, "plan"), rolls(1, "faults"));
    }

    #[test]
    fn weights_decide_how_often_something_comes() {
        let mut dice = Dice::new(1, "weights");
        let often = (0..1_000).filter(|_| dice.weighted(&[(1, 'a'), (0, 'b'), (9, 'c')]) == 'c');
        let often = often.count();
        assert!((850..950).contains(&often), "{often}");
        assert!((0..1_000).all(|_| dice.weighted(&[(1, 'a'), (0, 'b')]) == 'a'));
    }
}
