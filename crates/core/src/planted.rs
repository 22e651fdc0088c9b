//! Defects put in on purpose, to see whether a simulation finds them.
//!
//! Each is a mistake that others made, at the place where they would have made it here:
//! `if planted::is(Defect::…)`. No deployed function can have one. [`is`] is a constant `false`
//! unless the feature `plants` is on *and* the build has debug assertions, which no release has;
//! only the simulator and tests turn the feature on; and a thread has no defect until `plant` gives
//! it one. A simulation runs on one thread, so many of them run beside each other.

mod defects;

pub use defects::Defect;

/// Whether this build can have a defect at all.
pub const POSSIBLE: bool = cfg!(all(feature = "plants", debug_assertions));

#[cfg(all(feature = "plants", debug_assertions))]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Defect>> = const { std::cell::Cell::new(None) };
    static REACHED: std::cell::Cell<Reached> = const { std::cell::Cell::new(Reached(0)) };
}

/// The defects whose places were come to: what is wrong there would have been done there. Until then a
/// defect changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached(u64);

const _: () = assert!(Defect::ALL.len() <= 64);

impl Reached {
    pub const fn has(self, defect: Defect) -> bool {
        self.0 & (1 << defect as u64) != 0
    }
}

/// Whether this thread has the defect.
#[cfg(all(feature = "plants", debug_assertions))]
pub fn is(defect: Defect) -> bool {
    REACHED.set(Reached(REACHED.get().0 | (1 << defect as u64)));
    PLANTED.get() == Some(defect)
}

/// Whether this thread has the defect: never, in a build like this.
#[cfg(not(all(feature = "plants", debug_assertions)))]
pub const fn is(_: Defect) -> bool {
    false
}

/// Gives this thread a defect instead of the one that it has, or takes that away. A build that is not
/// [`POSSIBLE`] stays as it is.
#[cfg(feature = "plants")]
pub fn plant(defect: Option<Defect>) {
    #[cfg(debug_assertions)]
    PLANTED.set(defect);
    #[cfg(not(debug_assertions))]
    let _ = defect;
}

/// The defects whose places this thread came to since this was last asked; none in a build that is not
/// [`POSSIBLE`].
#[cfg(feature = "plants")]
pub fn take_reached() -> Reached {
    #[cfg(debug_assertions)]
    return REACHED.take();
    #[cfg(not(debug_assertions))]
    Reached(0)
}

// Seen by the compiler: a build without the feature, and each release, has none.
#[cfg(not(all(feature = "plants", debug_assertions)))]
const _: () = {
    let mut at = 0;
    while at < Defect::ALL.len() {
        assert!(!is(Defect::ALL[at]));
        at += 1;
    }
};

#[cfg(test)]
mod tests;
