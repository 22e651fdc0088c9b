//! The fleet in a world that breaks it in every way it can: real handlers and real SDK calls, the local
//! cloud and the provider's sandbox, one thread and a virtual clock. Everything comes from a seed.
//!
//! A [`Plan`] is what a seed decides: which system, when, what people do, what goes wrong. [`live`]
//! lives it and judges it from outside ([`Violation`]); the same plan gives the same bytes of
//! [`Trace`].

mod action;
mod campaign;
mod dice;
mod kinds;
mod life;
mod matrix;
mod plan;
mod promises;
mod races;
mod report;
mod search;
mod shrink;
mod situations;
mod trace;
mod world;

pub use action::{Action, Card, System};
pub use campaign::{Campaign, Tally};
pub use kinds::{Kind, Weather};
pub use life::{Life, live};
pub use matrix::{Matrix, MatrixTally, STORIES};
pub use plan::Plan;
pub use promises::Violation;
pub use races::{Effort, Explored, Race, races};
pub use report::{MatrixReport, Report, Story};
pub use search::{Found, Search};
pub use shrink::shrink;
pub use trace::Trace;
