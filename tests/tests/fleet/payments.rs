//! The provider's money, from its signed event to the booking, and the page that asks for it.

mod cashier;
mod cashier_faults;
mod crash;
mod delayed;
mod misfits;
mod money;
mod not_for_us;
mod once;
mod provider;
mod race;
mod secrets;
mod signature;
mod support;
mod unknown;
