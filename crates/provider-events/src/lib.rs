//! The payment provider's signed events: who may post them, and their envelope.
//!
//! A webhook makes a [`Door`] of its configuration. The door checks the signature over the raw bytes
//! and says whether an event is for this deployment; what an event's object means is the webhook's
//! own matter, which reads it into a type of its own with [`Event`].

mod door;
mod event;

pub use door::{BODY_BYTES_MAX, Door, NotForUs};
pub use event::{Data, Event, id_of, instant, is_id, train};
