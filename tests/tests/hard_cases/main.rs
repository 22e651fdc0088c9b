//! The hard cases of bookings and deposits, each under its number: judged by the provider's ledger,
//! what the customer was told, the calendar and the cases.

mod late_money;
mod order;
mod refunds;
mod support;
mod two_payments;
mod wrong_money;
