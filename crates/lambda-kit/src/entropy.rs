//! The one source of randomness, so that a simulation can seed it.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha12Rng;
use ulid::Ulid;

/// A shared generator: cheap to clone, safe to use from several tasks.
#[derive(Clone, Debug)]
pub struct Entropy(Arc<Mutex<ChaCha12Rng>>);

impl Entropy {
    /// Seeds itself from the operating system.
    pub fn from_os() -> Self {
        Self(Arc::new(Mutex::new(ChaCha12Rng::from_os_rng())))
    }

    /// Gives the same numbers for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(ChaCha12Rng::seed_from_u64(seed))))
    }

    /// Returns a new id that sorts by `now`.
    pub fn ulid(&self, now: DateTime<Utc>) -> Ulid {
        let mut bytes = [0_u8; 16];
        self.fill(&mut bytes);
        let millis = u64::try_from(now.timestamp_millis()).unwrap_or_default();
        Ulid::from_parts(millis, u128::from_be_bytes(bytes))
    }

    /// Fills `bytes` with random bytes.
    pub fn fill(&self, bytes: &mut [u8]) {
        // A generator has no broken state to protect: a poisoned lock is still good.
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fill_bytes(bytes);
    }
}
