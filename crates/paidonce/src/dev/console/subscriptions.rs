//! The subscriptions on the console: the provider's own, with what dunning does about each.

use local_cloud::Message;
use paidonce_core::dunning::{Access, Dunning};
use paidonce_core::local_time::human;
use serde::Serialize;
use serde_json::Value;

use super::view::{SHOWN_MAX, rows};
use crate::dev::Dev;

#[derive(Serialize)]
pub(super) struct SubscriptionView {
    id: String,
    /// Dunning's word, or the provider's while dunning knows nothing of it.
    status: String,
    access: &'static str,
    name: String,
    next_retry: Option<String>,
    open: Vec<Open>,
    mails: Vec<MailView>,
    has_ended: bool,
}

/// An invoice that is open.
#[derive(Serialize)]
struct Open {
    invoice_id: String,
    amount: String,
    hosted_url: Option<String>,
}

#[derive(Serialize)]
struct MailView {
    at: String,
    kind: String,
    link: Option<String>,
}

/// The latest first.
pub(super) fn subscriptions(dev: &Dev, messages: &[Message]) -> Vec<SubscriptionView> {
    let ledger = dev.fleet.sandbox.ledger();
    let dunned = rows::<Dunning>(dev, "dunr-dunning");
    let all = ledger["subscriptions"].as_array().into_iter().flatten();
    let all = all.rev().take(SHOWN_MAX);
    all.map(|subscription| {
        let id = subscription["id"].as_str().unwrap_or_default();
        let row = dunned.iter().find(|row| row.subscription_id == id);
        view(dev, subscription, row, messages)
    })
    .collect()
}

fn view(
    dev: &Dev,
    subscription: &Value,
    row: Option<&Dunning>,
    messages: &[Message],
) -> SubscriptionView {
    let id = subscription["id"].as_str().unwrap_or_default();
    let at_provider = subscription["status"].as_str().unwrap_or_default();
    let zone = row.map_or(dev.venue.zone, |row| row.terms.zone);
    let next = row.and_then(|row| row.next_retry_at);
    let mails = messages
        .iter()
        .rev()
        .filter(|message| is_about(message, id));
    SubscriptionView {
        id: id.to_owned(),
        status: row
            .map_or(at_provider, |row| row.status.as_str())
            .to_owned(),
        access: match row.map(Dunning::access) {
            Some(Access::Paused) => "paused",
            Some(Access::Granted) | None => "granted",
        },
        name: row.and_then(|row| row.name.clone()).unwrap_or_default(),
        next_retry: next.map(|at| human(at, zone)),
        open: row.map(open).unwrap_or_default(),
        mails: mails
            .map(|mail| MailView {
                at: human(mail.at, zone),
                kind: mail.kind.replace('_', " "),
                link: link(mail),
            })
            .collect(),
        has_ended: at_provider == "canceled",
    }
}

fn open(row: &Dunning) -> Vec<Open> {
    let invoices = row.invoices.iter().filter(|(_, debt)| debt.is_open());
    let shown = invoices.map(|(id, debt)| Open {
        invoice_id: id.clone(),
        amount: debt.amount.display(),
        hosted_url: debt.hosted_url.clone(),
    });
    shown.collect()
}

fn is_about(message: &Message, subscription_id: &str) -> bool {
    let tags = message.mail.as_ref().map(|mail| &mail.tags);
    let about = tags.and_then(|tags| tags.get("subscription"));
    about.is_some_and(|about| about == subscription_id)
}

fn link(mail: &Message) -> Option<String> {
    let mut words = mail.text.split_whitespace();
    let link = words.find(|word| word.starts_with("http"));
    link.map(str::to_owned)
}
