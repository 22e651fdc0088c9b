//! Looking for a way to break a promise.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;

use stateright::{Checker, HasDiscoveries, Model};

/// Returns whether some run of a model breaks a promise, by the promise's name.
///
/// Nothing else that the run may break counts.
pub fn breaks<M>(model: M, promise: &'static str) -> bool
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Eq + Hash + Send + Sync,
    M::Action: Clone + Debug + Eq,
{
    let is_broken = HasDiscoveries::AnyOf(BTreeSet::from([promise]));
    let checked = model.checker().finish_when(is_broken).spawn_bfs().join();
    checked.discovery(promise).is_some()
}
