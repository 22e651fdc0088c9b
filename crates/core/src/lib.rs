//! The state machines and the conditional writes.
//!
//! `decide` functions are pure: the row, a command and the time in, a transition or a rejection
//! out. A [`step::Step`] then writes the change, its audit row and the events that follow from it
//! in one transaction, under the condition that the row is still what was decided on.

pub mod audit;
pub mod batch_read;
pub mod booking;
pub mod booking_step;
pub mod books;
pub mod calendar;
pub mod canonical;
pub mod carry_out;
pub mod case;
pub mod dispute;
pub mod due;
pub mod dunning;
pub mod email;
pub mod evidence;
pub mod forget;
pub mod holds;
pub mod idempotency;
pub mod language;
pub mod link;
pub mod local_time;
pub mod money;
pub mod optout;
pub mod outbox;
pub mod payment;
pub mod phone;
pub mod planted;
pub mod refund;
pub mod refund_step;
pub mod signature;
pub mod slots;
pub mod sms;
pub mod step;
pub mod terms;
pub mod venue;
mod write;
