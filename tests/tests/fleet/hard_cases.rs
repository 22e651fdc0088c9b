//! The hard cases of bookings and deposits, each under its number: judged by the provider's ledger,
//! what the customer was told, the calendar and the cases.

mod bank;
mod deadlines;
mod disputes;
mod due;
mod late_money;
mod moving;
mod order;
mod refund_faults;
mod refunds;
mod reports;
mod settlement;
mod support;
mod two_payments;
mod wrong_money;
