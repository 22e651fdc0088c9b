//! The mails of dunning, the page behind their links, and what comes back.

mod feedback;
mod once;
mod portal;
mod support;
mod wording;
