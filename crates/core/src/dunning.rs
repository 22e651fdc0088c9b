//! Failed subscription invoices: when and whether one may be charged again.

pub mod budget;
pub mod business_days;
pub mod declines;
pub mod policy;
pub mod window;
