//! The stories of the gatekeeper: what an app hears, what an operator may order, and what an outage
//! must never do.

mod answers;
mod entitlements;
mod orders;
mod outages;
mod support;
