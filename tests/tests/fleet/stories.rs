//! The fleet's stories, one file each.

mod booking_flow;
