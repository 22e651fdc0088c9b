//! Fuzzing of what comes from outside: a function per parser, run on any bytes.
//!
//! A target panics where the parser does, and where one of the properties that its file states does
//! not hold. `scripts/fuzz.sh` runs them under libFuzzer, guided by what is covered of our crates;
//! `cargo test -p fuzz` runs each over its committed corpus, inputs that once failed included.

mod input;
mod personal;
mod rows;
mod targets;
mod world;

/// Something to run on any bytes.
#[derive(Debug)]
pub struct Target {
    /// The name of its folder in `corpus/`.
    pub name: &'static str,
    /// Panics where a property does not hold.
    pub run: fn(&[u8]),
}

/// Every target but [`PLANTED`].
pub static TARGETS: [Target; 16] = [
    of("booking_webhook", targets::webhooks::booking),
    of("canonical_json", targets::canonical_json::run),
    of("dunning_policy_json", targets::dunning_policy_json::run),
    of("dunning_webhook", targets::webhooks::dunning),
    of("email", targets::email::run),
    of("function_url", targets::function_url::run),
    of("inbound_sms", targets::inbound_sms::run),
    of("intake", targets::intake::run),
    of("link_token", targets::link_token::run),
    of("local_time", targets::local_time::run),
    of("money", targets::money::run),
    of("phone", targets::phone::run),
    of("signature", targets::signature::run),
    of("sms_text", targets::sms_text::run),
    of("task_payloads", targets::task_payloads::run),
    of("venue_json", targets::venue_json::run),
];

/// A target with a fault in it, which a guided fuzzer finds.
pub static PLANTED: Target = of("planted", targets::planted::run);

const fn of(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run }
}

/// Returns the target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    let mut all = TARGETS.iter().chain([&PLANTED]);
    all.find(|target| target.name == name)
}
