//! The operator's commands: the journal against the provider's ledger, and people who were forgotten.

mod files;
mod forget;
mod journal;
mod many;
mod opted_out;
mod support;
mod tie_out;
