//! Models of the three protocols that the promise stands on, for a checker that walks every order of
//! events up to a bound: who has the slot and where is the money (`hold`), how an order becomes one
//! text (`outbox`), and how an invoice is charged once (`charge`).
//!
//! A model is of what the code does, not of what a textbook says: its head names the modules that it
//! follows and what it leaves out. Each takes a flaw, and `Flaw::None` is as built; the others are
//! mistakes that are easily made, and the checker must refute each of them. A model that no flaw can
//! break proves nothing.
//!
//! The worlds are small and end: faults are counted, and what repairs them is not. So "in the end" is
//! "where nothing is left to do", and [`circle`] checks that every run gets there.

pub mod charge;
pub mod hold;
pub mod outbox;

mod ends;
mod refute;

pub use ends::circle;
pub use refute::breaks;
