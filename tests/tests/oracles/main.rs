//! What others have written against the real provider and the real AWS, run against what plays them
//! here: if it is content, the imitation is as the real one is, as far as it looks.
//!
//! An oracle that isn't installed is skipped, and says so.

mod asked;
mod clouds;
mod serve;
mod settled;
mod signatures;
mod stripe_client;
