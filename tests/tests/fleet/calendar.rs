//! The calendar: what is taken, refused, moved, given back and settled, and that no slot is ever
//! sold twice.

mod api_calls;
mod audit;
mod availability;
mod crashes;
mod idempotency;
mod local_time;
mod money_and_phones;
mod races;
mod refusals;
mod releases;
mod settlement;
mod staff;
mod stalls;
mod storms;
mod support;
