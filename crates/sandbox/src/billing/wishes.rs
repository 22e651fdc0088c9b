//! The bodies of the controls. What is left out is as usual.

use serde::Deserialize;

use crate::state::Metadata;

use super::model::{CanceledBy, Interval};
use super::portal::Place;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subscribe {
    /// One that there is already; else one is made of the name and the address.
    pub(crate) customer: Option<String>,
    #[serde(default = "name")]
    pub(crate) name: String,
    #[serde(default = "email")]
    pub(crate) email: String,
    #[serde(default = "card")]
    pub(crate) card: String,
    #[serde(default = "amount")]
    pub(crate) amount: i64,
    #[serde(default = "currency")]
    pub(crate) currency: String,
    #[serde(default = "product")]
    pub(crate) product: String,
    #[serde(default = "monthly")]
    pub(crate) interval: Interval,
    #[serde(default = "on_customer")]
    pub(crate) r#where: Place,
    #[serde(default)]
    pub(crate) metadata: Metadata,
}

fn name() -> String {
    "Ada Sandbox".to_owned()
}
fn email() -> String {
    "ada@example.com".to_owned()
}
fn card() -> String {
    "4242424242424242".to_owned()
}
fn amount() -> i64 {
    2_000
}
fn currency() -> String {
    "gbp".to_owned()
}
fn product() -> String {
    "Membership".to_owned()
}
fn monthly() -> Interval {
    Interval::Month
}
fn on_customer() -> Place {
    Place::Customer
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FailRenewal {
    pub(crate) decline: Option<String>,
    pub(crate) advice_code: Option<String>,
    pub(crate) network_decline_code: Option<String>,
    pub(crate) network_advice_code: Option<String>,
    pub(crate) times: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PayByCard {
    #[serde(default = "card")]
    pub(crate) card: String,
    pub(crate) authenticated: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Amount {
    pub(crate) amount: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewCard {
    pub(crate) card: String,
    #[serde(default = "on_customer")]
    pub(crate) r#where: Place,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approval {
    #[serde(default = "yes")]
    pub(crate) approved: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct End {
    #[serde(default = "by_customer")]
    pub(crate) by: CanceledBy,
}

fn by_customer() -> CanceledBy {
    CanceledBy::Customer
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NextPay {
    pub(crate) outcome: Option<String>,
    pub(crate) advice_code: Option<String>,
    pub(crate) network_decline_code: Option<String>,
    pub(crate) network_advice_code: Option<String>,
}
