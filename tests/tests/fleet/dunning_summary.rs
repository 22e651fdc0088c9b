//! The stories of the monthly summary: what the team is told, once, and what is kept.

mod month;
mod once;
mod support;
