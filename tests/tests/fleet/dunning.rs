//! The stories of dunning: from a failed invoice to money or to a pause, and never to an end.

mod calendar;
mod course;
mod first_failure;
mod month;
mod roles;
mod support;
