//! The dunning webhook and the scheduler, through their handlers: every kind of event, in any order,
//! twice, late and beside itself, and with calls that go wrong.

mod cards;
mod door;
mod endings;
mod faults;
mod order;
mod provider;
mod schedules;
mod support;
