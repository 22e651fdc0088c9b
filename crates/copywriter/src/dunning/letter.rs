//! A whole mail, as text and as a page: the opening, what it is about, what happens next, the links.

use std::fmt;

use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use paidonce_core::dunning::mail::MailKind;
use serde::Serialize;

use super::plain::BUILT_IN_FRAME;
use super::{DunningFacts, Opening};
use crate::mail::one_line;

/// A mail that is ready to be sent. `Debug` shows nothing of it: it holds a name and a signed link.
#[derive(Clone, PartialEq, Eq)]
pub struct Letter {
    pub subject: String,
    pub text: String,
    /// Absent in a mail to the team.
    pub html: Option<String>,
    /// The operator's frame was not used: it can't be rendered, or leaves something out.
    pub frame_is_broken: bool,
}

impl fmt::Debug for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Letter").finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Fact {
    label: &'static str,
    value: String,
}

#[derive(Serialize)]
struct Link {
    label: &'static str,
    url: String,
}

/// What the page and the text both say.
struct Parts<'a> {
    subject: String,
    greeting: String,
    opening: &'a [String],
    facts: Vec<Fact>,
    next: Vec<String>,
    links: Vec<Link>,
    small_print: Vec<String>,
}

/// Makes the mail to a customer. `frame` is the operator's page, `logo_url` a picture for it.
pub fn letter(
    facts: &DunningFacts,
    opening: &Opening,
    frame: Option<&str>,
    logo_url: Option<&str>,
) -> Letter {
    let parts = Parts {
        subject: one_line(&opening.subject),
        greeting: greeting(facts),
        opening: &opening.words,
        facts: facts_of(facts),
        next: next(facts),
        links: links(facts),
        small_print: small_print(facts),
    };
    let own = frame.map(|frame| page(frame, facts, &parts, logo_url));
    let frame_is_broken = matches!(own, Some(None));
    let html = own.flatten();
    let html = html.or_else(|| page(BUILT_IN_FRAME, facts, &parts, logo_url));
    Letter {
        text: text(&parts),
        subject: parts.subject,
        html,
        frame_is_broken,
    }
}

/// Makes the mail to the team about `subject`: what happened, what to do, and where to look.
pub fn team_letter(
    subscription_id: &str,
    reason: &str,
    lines: &[(&str, String)],
    what: &str,
    todo: &str,
) -> Letter {
    let mut text = format!("A subscription needs a person.\n\n{what}\n{todo}\n\n");
    let given = [("Subscription", subscription_id.to_owned())];
    for (label, value) in given.iter().chain(lines) {
        text.push_str(&format!("{label:<14}{}\n", one_line(value)));
    }
    text.push_str(&format!(
        "\nAll that is known of it: paidonce ops explain {}\n",
        one_line(subscription_id)
    ));
    Letter {
        subject: one_line(&format!("Subscription {subscription_id}: {reason}")),
        text,
        html: None,
        frame_is_broken: false,
    }
}

/// Renders a page; nothing if it leaves out what a mail must say.
fn page(
    frame: &str,
    facts: &DunningFacts,
    parts: &Parts<'_>,
    logo_url: Option<&str>,
) -> Option<String> {
    let mut pages = Environment::new();
    pages.set_auto_escape_callback(|_| AutoEscape::Html);
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    let html = pages
        .render_named_str(
            "frame.html",
            frame,
            context! {
                subject => parts.subject,
                business => facts.business,
                greeting => parts.greeting,
                opening => parts.opening,
                facts => parts.facts,
                next => parts.next,
                links => parts.links,
                small_print => parts.small_print,
                logo_url,
            },
        )
        .ok()?;
    let escape = |text: &str| {
        let escaped = pages.render_str("{{ it }}", context! { it => text });
        escaped.ok().filter(|escaped| !escaped.is_empty())
    };
    let values = parts.facts.iter().map(|fact| fact.value.as_str());
    let urls = parts.links.iter().map(|link| link.url.as_str());
    let next = parts.next.iter().map(String::as_str);
    let small = parts.small_print.iter().map(String::as_str);
    let mut needed = values.chain(urls).chain(next).chain(small);
    needed
        .all(|it| escape(it).is_some_and(|it| html.contains(&it)))
        .then_some(html)
}

fn text(parts: &Parts<'_>) -> String {
    let facts = parts.facts.iter();
    let facts: Vec<String> = facts
        .map(|fact| format!("{}: {}", fact.label, one_line(&fact.value)))
        .collect();
    let links = parts.links.iter();
    let mut blocks = vec![parts.greeting.clone()];
    blocks.extend(parts.opening.iter().cloned());
    blocks.push(facts.join("\n"));
    blocks.extend(parts.next.iter().cloned());
    blocks.extend(links.map(|link| format!("{}:\n{}", link.label, link.url)));
    blocks.push("-- ".to_owned() + "\n" + &parts.small_print.join("\n"));
    blocks.join("\n\n") + "\n"
}

fn greeting(facts: &DunningFacts) -> String {
    match facts.safe_name().as_str() {
        "" => "Hello,".to_owned(),
        name => format!("Hello {name},"),
    }
}

fn facts_of(facts: &DunningFacts) -> Vec<Fact> {
    let mut list = vec![
        Fact {
            label: "For",
            value: facts.product.clone(),
        },
        Fact {
            label: match facts.kind {
                MailKind::Receipt => "Paid",
                MailKind::Failed
                | MailKind::NewCard
                | MailKind::Approve
                | MailKind::PayByHand
                | MailKind::Paused
                | MailKind::Reminder
                | MailKind::FreshLink
                | MailKind::Team(_) => "Open",
            },
            value: facts.amount.clone(),
        },
    ];
    list.extend(facts.next_charge.iter().map(|day| Fact {
        label: "Next try",
        value: day.clone(),
    }));
    list
}

/// What happens next, as far as the facts say.
fn next(facts: &DunningFacts) -> Vec<String> {
    let mut next: Vec<String> = match facts.kind {
        MailKind::Failed => next_charge(facts).into_iter().collect(),
        MailKind::NewCard => {
            vec!["We will not charge that card for it again. Once you have given us another one, we try that one instead.".to_owned()]
        }
        MailKind::Approve => vec!["Nothing is charged before you approve it.".to_owned()],
        MailKind::PayByHand => Vec::new(),
        MailKind::Paused | MailKind::Reminder if facts.access_paused => {
            vec!["Your access is paused for now. It comes back by itself once the payment has gone through.".to_owned()]
        }
        MailKind::Paused | MailKind::Reminder => Vec::new(),
        MailKind::FreshLink => {
            vec!["This link takes the place of all earlier ones.".to_owned()]
        }
        MailKind::Receipt if facts.open_invoices == 0 => {
            vec!["There is nothing more to do.".to_owned()]
        }
        MailKind::Receipt | MailKind::Team(_) => Vec::new(),
    };
    next.extend(others(facts));
    next
}

fn next_charge(facts: &DunningFacts) -> Option<String> {
    let day = facts.next_charge.as_ref()?;
    Some(match facts.next_is_last {
        true => format!(
            "We try it once more on {day}. That is the last time that we try by ourselves. If you would rather use another card, the link below leads to it."
        ),
        false => format!(
            "We try it again on {day}. If your card works by then, you need not do anything. If you would rather use another card, the link below leads to it."
        ),
    })
}

/// What else is open.
fn others(facts: &DunningFacts) -> Option<String> {
    let open = facts.open_invoices;
    match (facts.kind, open) {
        (_, 0) => None,
        (MailKind::Receipt, 1) => Some("Another payment for it is still open.".to_owned()),
        (MailKind::Receipt, _) => Some(format!("{open} other payments for it are still open.")),
        (_, 1) => None,
        (_, _) => Some(format!(
            "{open} payments are open in all. This mail is about the oldest of them."
        )),
    }
}

fn links(facts: &DunningFacts) -> Vec<Link> {
    let by_hand = match facts.kind {
        MailKind::Approve => Some("Approve the payment"),
        MailKind::PayByHand => Some("Pay it now"),
        MailKind::Failed
        | MailKind::NewCard
        | MailKind::Paused
        | MailKind::Reminder
        | MailKind::FreshLink
        | MailKind::Receipt
        | MailKind::Team(_) => None,
    };
    let link =
        |label: &'static str, url: &Option<String>| url.clone().map(|url| Link { label, url });
    let by_hand = by_hand.and_then(|label| link(label, &facts.hosted_url));
    let card = link("Use another card", &facts.card_url);
    by_hand.into_iter().chain(card).collect()
}

fn small_print(facts: &DunningFacts) -> Vec<String> {
    let mut lines = Vec::new();
    if !links(facts).is_empty() {
        lines.push("We never ask for a card number by mail. The links above lead to our own page or to our payment provider.".to_owned());
    }
    lines.push(format!(
        "Questions? Just reply, or write to {}: one of us reads it.",
        facts.support_email
    ));
    let sender = match &facts.postal_address {
        Some(address) => format!("{}, {address}", facts.business),
        None => facts.business.clone(),
    };
    lines.push(format!(
        "You get this mail because of your subscription to {}. Sent by {sender}.",
        facts.product
    ));
    lines
}
