//! Whom a message reaches, and how: quiet hours, opt-outs and mail, the day's limit, languages, and
//! the team's digest.

mod digest;
mod disputes;
mod instead;
mod languages;
mod quiet;
mod spending;
mod support;
mod texts;
