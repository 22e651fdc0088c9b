//! What customers and staff can do with a booking, how much of it, and what proves it afterwards.

mod cases;
mod evidence;
mod fields;
mod late_money;
mod limits;
mod manage;
mod repeats;
mod staff_money;
mod support;
