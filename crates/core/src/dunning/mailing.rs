//! What becomes of a mail, and of the link in it.

use chrono::{DateTime, TimeDelta, Utc};

use super::mail::{MailKind, MailState, NoMail, facts};
use super::{CaseReason, Dunning, LogEvent, MailNote, Rejection, Status, Transition};

/// How long its holder has for a mail: three times the mailer's time-out.
const CLAIM: TimeDelta = TimeDelta::seconds(90);
/// How long a link that was used leads to the same page again: people click twice.
const USED_AGAIN_FOR: TimeDelta = TimeDelta::minutes(10);
/// What the history says came of a mail of which nobody knows whether it was sent.
pub(crate) const MAIL_UNANSWERED: &str = "unanswered";

/// How soon the customer may ask for a fresh link again.
const ASKED_AGAIN_AFTER: TimeDelta = TimeDelta::hours(24);

pub(super) fn claim(
    row: &Dunning,
    mut to: Transition,
    no: u32,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let Some(mail) = row.mails.items.get(&no) else {
        return Err(Rejection::Stale);
    };
    to.invoice_id.clone_from(&mail.invoice_id);
    let to = to.with_result(mail.kind.as_str());
    match (&mail.state, facts(row, no)) {
        (MailState::Claimed { at }, _) if now < *at + CLAIM => {
            Err(Rejection::InFlight(*at + CLAIM))
        }
        (MailState::Claimed { .. }, _) => note(row, to, no, MailNote::Unanswered, now),
        (_, Err(NoMail::Done)) => Err(Rejection::Already),
        (_, Err(NoMail::Overtaken)) => note(
            row,
            to,
            no,
            MailNote::Dropped(NoMail::Overtaken.as_str()),
            now,
        ),
        (_, Ok(facts)) => {
            let mut to = to.told(LogEvent::EmailClaimed, format!("mail {no}"));
            if facts.kind.has_link() {
                to.after.link.no = facts.link_no;
                to.after.link.spent_at = None;
            }
            set(&mut to, no, MailState::Claimed { at: now });
            Ok(to)
        }
    }
}

pub(super) fn note(
    row: &Dunning,
    to: Transition,
    no: u32,
    note: MailNote,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let Some(mail) = row.mails.items.get(&no) else {
        return Err(Rejection::Stale);
    };
    let (kind, invoice_id) = (mail.kind, mail.invoice_id.clone());
    let mut to = to.with_result(kind.as_str());
    to.invoice_id.clone_from(&invoice_id);
    let tells = !matches!(kind, MailKind::Team(_));
    match (&mail.state, note) {
        (MailState::Claimed { .. }, MailNote::Sent) => {
            set(&mut to, no, MailState::Sent { at: now });
            Ok(to.told(LogEvent::EmailSent, format!("mail {no}")))
        }
        (MailState::Claimed { .. }, MailNote::NotSent) => {
            set(&mut to, no, MailState::Owed);
            Ok(to.told(LogEvent::EmailNotSent, "the mail service did not take it"))
        }
        (MailState::Claimed { .. }, MailNote::Unanswered) => {
            set(&mut to, no, MailState::Unanswered);
            if tells {
                to.open_case(CaseReason::MailUnanswered, invoice_id.as_deref(), now);
            }
            let to = to.told(LogEvent::EmailNotSent, "nobody knows whether it was sent");
            Ok(to.with_result(MAIL_UNANSWERED))
        }
        (MailState::Owed | MailState::Claimed { .. }, MailNote::Dropped(why)) => {
            let why = why.to_owned();
            set(&mut to, no, MailState::Dropped { why: why.clone() });
            Ok(to.told(LogEvent::EmailNotSent, why))
        }
        (MailState::Owed | MailState::Claimed { .. }, MailNote::NobodyToWriteTo) => {
            let why = "nobody to write to".to_owned();
            set(&mut to, no, MailState::Dropped { why: why.clone() });
            if tells {
                to.open_case(CaseReason::NobodyToWriteTo, invoice_id.as_deref(), now);
            }
            Ok(to.told(LogEvent::EmailNotSent, why))
        }
        (MailState::Sent { .. } | MailState::Claimed { .. }, MailNote::Returned) => {
            set(&mut to, no, MailState::Returned);
            returned(&mut to, row, kind, invoice_id.as_deref(), now);
            Ok(to.told(LogEvent::EmailNotSent, "it came back"))
        }
        (
            MailState::Owed
            | MailState::Sent { .. }
            | MailState::Dropped { .. }
            | MailState::Returned
            | MailState::Unanswered,
            _,
        ) => Err(Rejection::Already),
    }
}

/// What came back goes to the second contact, or a person hears of it.
fn returned(
    to: &mut Transition,
    row: &Dunning,
    kind: MailKind,
    invoice_id: Option<&str>,
    now: DateTime<Utc>,
) {
    let again = kind != MailKind::Receipt && kind.is_to_customer();
    match &row.second_email {
        Some(_) if again => to.mail(kind, invoice_id, now),
        None if again => to.open_case(CaseReason::NobodyToWriteTo, invoice_id, now),
        Some(_) | None => {}
    }
}

pub(super) fn spend_link(
    row: &Dunning,
    mut to: Transition,
    no: u32,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    if row.link.no != no {
        return Err(Rejection::Stale);
    }
    match row.link.spent_at {
        Some(at) if now - at < USED_AGAIN_FOR => Err(Rejection::Already),
        Some(_) => Err(Rejection::Stale),
        None => {
            to.after.link.spent_at = Some(now);
            Ok(to.told(LogEvent::LinkUsed, format!("link {no}")))
        }
    }
}

pub(super) fn ask_for_link(
    row: &Dunning,
    mut to: Transition,
    no: u32,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    // Who has left is not written to about money, whatever is still open.
    let current = row.current().filter(|_| row.status != Status::Cancelled);
    let Some((invoice_id, _)) = current else {
        return Err(Rejection::Nothing);
    };
    if row.status == Status::Cancelled {
        return Err(Rejection::Nothing);
    }
    // Once a day, by whichever link: whoever holds an old one can't flood the customer.
    let asked = row.link.asked_at;
    if asked.is_some_and(|at| now - at < ASKED_AGAIN_AFTER) || no > row.link.no {
        return Err(Rejection::Already);
    }
    to.after.link.asked_at = Some(now);
    to.mail(MailKind::FreshLink, Some(invoice_id), now);
    Ok(to.told(LogEvent::EmailOrdered, "the customer asks for a fresh link"))
}

fn set(to: &mut Transition, no: u32, state: MailState) {
    if let Some(mail) = to.after.mails.items.get_mut(&no) {
        mail.state = state;
    }
}
