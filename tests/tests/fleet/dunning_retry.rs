//! Whatever the provider, the network and the schedules do, an invoice is charged at most once.

mod answers;
mod cards;
mod declines;
mod endings;
mod schedules;
mod support;
mod sweep;
