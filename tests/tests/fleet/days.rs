//! Business days, judged by calendars that others keep.

mod oracles;
