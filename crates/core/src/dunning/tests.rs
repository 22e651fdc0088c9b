//! The whole course by the machine alone.
