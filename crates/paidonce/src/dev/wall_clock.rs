//! How the virtual clock follows the real one.

use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

/// The real time.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the command reads the real clock"
)]
pub(crate) fn real_now() -> DateTime<Utc> {
    Utc::now()
}

/// Says where the virtual clock should be.
#[derive(Debug)]
pub(crate) struct WallClock {
    scale: i32,
    anchor: Mutex<Anchor>,
}

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    real: DateTime<Utc>,
    virtually: DateTime<Utc>,
}

impl Anchor {
    /// What the virtual clock shows when the real one shows `real`.
    fn at(self, real: DateTime<Utc>, scale: i32) -> DateTime<Utc> {
        let passed = (real - self.real).max(TimeDelta::zero());
        let passed = passed.checked_mul(scale);
        passed
            .and_then(|passed| self.virtually.checked_add_signed(passed))
            .unwrap_or(self.virtually)
    }
}

impl WallClock {
    /// Starts at `virtually` now, and runs `scale` times as fast as the real time.
    pub(crate) fn starting(virtually: DateTime<Utc>, scale: u32) -> Self {
        let real = real_now();
        Self {
            scale: i32::try_from(scale).unwrap_or(i32::MAX),
            anchor: Mutex::new(Anchor { real, virtually }),
        }
    }

    /// Where the virtual clock should be now.
    pub(crate) fn due(&self) -> DateTime<Utc> {
        let anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        anchor.at(real_now(), self.scale)
    }

    /// Goes on from where the virtual clock was moved to.
    pub(crate) fn go_on_from(&self, virtually: DateTime<Utc>) {
        let real = real_now();
        let mut anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        *anchor = Anchor { real, virtually };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_virtual_clock_runs_by_its_scale_and_never_back() {
        let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let hour = TimeDelta::hours(1);
        let anchor = Anchor {
            real: start,
            virtually: start + hour,
        };
        assert_eq!(anchor.at(start + hour, 24), start + hour * 25);
        assert_eq!(anchor.at(start + hour, 0), start + hour);
        assert_eq!(anchor.at(start - hour, 1), start + hour);
    }
}
