//! The whole fleet in one process: local cloud, payment provider, every function of the template.
//!
//! `paidonce dev` is built on [`Fleet`], and so are the tests and the simulation. Nothing in here
//! has a clock of its own or opens a port; whoever holds the fleet moves its time.

mod fleet;
mod local_provider;
mod local_secrets;
mod provider_door;

pub use fleet::{Fleet, FleetError, FleetOptions};
pub use local_secrets::{GateTokens, Tokens};
