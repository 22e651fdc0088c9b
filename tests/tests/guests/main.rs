//! What customers and staff can do with a booking, how much of it, and what proves it afterwards.

mod manage;
mod staff_money;
mod support;
