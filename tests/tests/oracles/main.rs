//! What others have written against the real provider, run against the sandbox: if it is content
//! here, the sandbox is as the provider is, as far as it looks.
//!
//! An oracle that isn't installed is skipped, and says so.

mod serve;
mod stripe_client;
