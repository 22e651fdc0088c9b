//! What is fuzzed: one function per parser, each with what must hold of its answers.

pub(crate) mod canonical_json;
pub(crate) mod dunning_policy_json;
pub(crate) mod email;
pub(crate) mod function_url;
pub(crate) mod inbound_sms;
pub(crate) mod intake;
pub(crate) mod link_token;
pub(crate) mod local_time;
pub(crate) mod money;
pub(crate) mod phone;
pub(crate) mod planted;
pub(crate) mod policy_text;
pub(crate) mod signature;
pub(crate) mod sms_text;
pub(crate) mod task_payloads;
pub(crate) mod venue_json;
pub(crate) mod webhooks;
