//! The whole fleet through its handlers. One binary: linking the SDK once is the long part.

mod books;
mod calendar;
mod days;
mod dunning;
mod dunning_gate;
mod dunning_hook;
mod dunning_mail;
mod dunning_ops;
mod dunning_retry;
mod dunning_summary;
mod guests;
mod hard_cases;
mod messages;
mod payments;
mod reach;
mod stories;
