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
}

/// Whether this thread has the defect.
#[cfg(all(feature = "plants", debug_assertions))]
pub fn is(defect: Defect) -> bool {
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
