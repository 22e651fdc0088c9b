//! What leaves the fleet: texts, cases, what the relay carries, and what each role may do.

mod batches;
mod capabilities;
mod composer;
mod discretion;
mod escalator;
mod optout;
mod relay;
mod roles;
mod support;
mod wording;
