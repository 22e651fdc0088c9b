//! The mails about a subscription: ordered by what happens, truthful when they leave.
//!
//! An order says only which kind of mail is due. What it says (the amount, the next date, whether
//! one follows) is read from the row as it stands when the mail is sent, so a mail that waited tells
//! the truth or is dropped. Each mail has a number and is sent at most once.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::debt::{Block, Debt, Ending};
use super::declines::{Class, Wording};
use super::row::Dunning;
use super::{CaseReason, Status};
use crate::money::Money;
use crate::planted::{self, Defect};

/// How many mails of the past a row remembers.
const MAILS_KEPT: usize = 12;

/// What a mail is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailKind {
    /// A charge failed, and another one follows.
    Failed,
    /// This card won't be charged again: please give us another one.
    NewCard,
    /// The bank wants its customer to approve the payment.
    Approve,
    /// This way of paying is not charged again by itself: please pay by hand.
    PayByHand,
    /// No charge follows, and access is paused.
    Paused,
    /// Access has been paused for a while.
    Reminder,
    /// The customer asked for a fresh link.
    FreshLink,
    /// It is paid.
    Receipt,
    /// A person in the team must look at something.
    Team(CaseReason),
}

impl MailKind {
    /// A name for logs and tags; also the name of the template.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::NewCard => "new_card",
            Self::Approve => "approve",
            Self::PayByHand => "pay_by_hand",
            Self::Paused => "paused",
            Self::Reminder => "reminder",
            Self::FreshLink => "fresh_link",
            Self::Receipt => "receipt",
            Self::Team(_) => "team",
        }
    }

    /// Whether it asks for money: at most one such mail a day, and only the latest counts.
    pub fn is_dunning(self) -> bool {
        match self {
            Self::Failed
            | Self::NewCard
            | Self::Approve
            | Self::PayByHand
            | Self::Paused
            | Self::Reminder => true,
            Self::FreshLink | Self::Receipt | Self::Team(_) => false,
        }
    }

    /// Whether it brings a link to another card.
    pub fn has_link(self) -> bool {
        self.is_dunning() || self == Self::FreshLink
    }

    pub fn is_to_customer(self) -> bool {
        !matches!(self, Self::Team(_))
    }
}

/// All mails about one subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mails {
    /// The number of the latest. It only ever grows.
    pub no: u32,
    /// The latest, by their numbers.
    #[serde(default)]
    pub items: BTreeMap<u32, Mail>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    pub kind: MailKind,
    /// The invoice that a receipt is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoice_id: Option<String>,
    pub ordered_at: DateTime<Utc>,
    /// When the sweep ordered it once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered_again_at: Option<DateTime<Utc>>,
    pub state: MailState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailState {
    Owed,
    /// It is being sent, and it is not known yet whether it was.
    Claimed {
        at: DateTime<Utc>,
    },
    Sent {
        at: DateTime<Utc>,
    },
    /// It was never sent: overtaken, or nobody to send it to.
    Dropped {
        why: String,
    },
    /// It came back, or its reader complained.
    Returned,
    /// Nobody knows whether it was sent. It is not sent again.
    Unanswered,
}

impl Mail {
    pub(crate) fn ordered_last(&self) -> DateTime<Utc> {
        self.ordered_again_at.unwrap_or(self.ordered_at)
    }
}

impl MailState {
    pub fn is_owed(&self) -> bool {
        matches!(self, Self::Owed)
    }
}

/// The order to the mailer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailJob {
    pub subscription_id: String,
    pub no: u32,
}

/// What a mail may say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailFacts {
    pub kind: MailKind,
    pub invoice_id: String,
    /// What is open of the invoice; what was paid, in a receipt.
    pub amount: Money,
    /// How many invoices are open, this one included.
    pub open_invoices: usize,
    /// When the next charge is tried of ourselves; none follows if absent.
    pub next_charge_at: Option<DateTime<Utc>>,
    /// The next charge is the last one by the calendar.
    pub next_is_last: bool,
    /// Where the invoice can be paid or approved by hand.
    pub hosted_url: Option<String>,
    /// How many charges have failed by the calendar, the first one included.
    pub failed_charges: u32,
    /// The number of the card link that this mail brings.
    pub link_no: u32,
}

/// Why a mail is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMail {
    /// There is no such mail, or it was sent or dropped.
    Done,
    /// What it would say is no longer so.
    Overtaken,
}

impl NoMail {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Overtaken => "overtaken",
        }
    }
}

impl Mails {
    /// Orders a mail. One that asks for money replaces those that wait.
    pub(crate) fn order(
        &mut self,
        kind: MailKind,
        invoice_id: Option<&str>,
        now: DateTime<Utc>,
    ) -> u32 {
        let waiting = self.items.values_mut().filter(|it| it.state.is_owed());
        for mail in waiting.filter(|it| kind.is_dunning() && it.kind.is_dunning()) {
            mail.state = MailState::Dropped {
                why: "replaced".to_owned(),
            };
        }
        self.no += 1;
        let mail = Mail {
            kind,
            invoice_id: invoice_id.map(str::to_owned),
            ordered_at: now,
            ordered_again_at: None,
            state: MailState::Owed,
        };
        self.items.insert(self.no, mail);
        self.prune();
        self.no
    }

    /// Those that wait, and since when the first of them does.
    pub fn owed(&self) -> impl Iterator<Item = (u32, &Mail)> {
        let items = self.items.iter().map(|(no, mail)| (*no, mail));
        items.filter(|(_, mail)| mail.state.is_owed())
    }

    /// Those of which it is not known yet whether they were sent, since when.
    pub(crate) fn claimed(&self) -> impl Iterator<Item = (u32, DateTime<Utc>)> {
        self.items.iter().filter_map(|(no, mail)| match mail.state {
            MailState::Claimed { at } => Some((*no, at)),
            MailState::Owed
            | MailState::Sent { .. }
            | MailState::Dropped { .. }
            | MailState::Returned
            | MailState::Unanswered => None,
        })
    }

    /// Since when something about them is to be done.
    pub(crate) fn owed_since(&self) -> Option<DateTime<Utc>> {
        let owed = self.owed().map(|(_, mail)| mail.ordered_last());
        owed.chain(self.claimed().map(|(_, at)| at)).min()
    }

    fn prune(&mut self) {
        while self.items.len() > MAILS_KEPT {
            let oldest = self.items.iter().find(|(_, mail)| !mail.state.is_owed());
            let Some(no) = oldest.map(|(no, _)| *no) else {
                return;
            };
            self.items.remove(&no);
        }
    }
}

/// Which mail an open invoice calls for after a failed charge; none where silence is safer.
pub(crate) fn kind_for(debt: &Debt) -> Option<MailKind> {
    let Some(block) = &debt.block else {
        return Some(MailKind::Failed);
    };
    match (block.wording, block.class) {
        (Wording::Silent, _) => None,
        (Wording::Approve, _) => Some(MailKind::Approve),
        (_, Class::NoAutoRetry) => Some(MailKind::PayByHand),
        (_, Class::Action) => Some(MailKind::PayByHand),
        (_, Class::Hard) => Some(MailKind::NewCard),
        (_, Class::Soft | Class::LookFirst) => Some(MailKind::Failed),
    }
}

/// What mail `no` may say now, if it is still owed.
///
/// # Errors
/// Why it must not be sent.
pub fn facts(row: &Dunning, no: u32) -> Result<MailFacts, NoMail> {
    let mail = row.mails.items.get(&no).filter(|it| it.state.is_owed());
    facts_of(row, mail.ok_or(NoMail::Done)?, row.link.no + 1)
}

/// What mail `no` says, which is claimed by whoever asks: its link is the row's own.
///
/// # Errors
/// If it is not claimed, or no longer true.
pub fn claimed_facts(row: &Dunning, no: u32) -> Result<MailFacts, NoMail> {
    let is_claimed = |it: &&Mail| matches!(it.state, MailState::Claimed { .. });
    let mail = row.mails.items.get(&no).filter(is_claimed);
    facts_of(row, mail.ok_or(NoMail::Done)?, row.link.no)
}

fn facts_of(row: &Dunning, mail: &Mail, link_no: u32) -> Result<MailFacts, NoMail> {
    let named = mail.invoice_id.as_ref();
    let named = named.and_then(|id| row.invoices.get_key_value(id));
    let is_blind = planted::is(Defect::OvertakenMailSent);
    let current = if is_blind { named } else { row.current() };
    let (invoice_id, debt) = match mail.kind {
        MailKind::Receipt | MailKind::Team(_) => {
            let is_team = matches!(mail.kind, MailKind::Team(_));
            let current = current.filter(|_| is_team);
            named.or(current).ok_or(NoMail::Overtaken)?
        }
        MailKind::Failed
        | MailKind::NewCard
        | MailKind::Approve
        | MailKind::PayByHand
        | MailKind::Paused
        | MailKind::FreshLink
        | MailKind::Reminder => current.ok_or(NoMail::Overtaken)?,
    };
    if mail.kind.has_link() && !is_blind && !still_true(row, mail.kind, debt) {
        return Err(NoMail::Overtaken);
    }
    let charges = matches!(mail.kind, MailKind::Failed);
    let next = row
        .next_retry_at
        .filter(|_| charges && debt.block.is_none());
    Ok(MailFacts {
        kind: mail.kind,
        invoice_id: invoice_id.clone(),
        amount: debt.amount,
        open_invoices: row.open_debts().len(),
        next_charge_at: next,
        next_is_last: next.is_some() && debt.steps_used + 1 >= row.max_attempts,
        hosted_url: debt.hosted_url.clone(),
        failed_charges: debt.steps_used + 1,
        link_no,
    })
}

/// Whether a mail with a link still fits what is. Whoever asks for a link gets one after the case
/// was closed, too.
fn still_true(row: &Dunning, kind: MailKind, debt: &Debt) -> bool {
    let is_over = row.closed.is_some() && kind.is_dunning();
    if row.status == Status::Cancelled || is_over {
        return false;
    }
    let is_silent = |block: &Block| block.wording == Wording::Silent;
    if debt.block.as_ref().is_some_and(is_silent) {
        return false;
    }
    match kind {
        MailKind::Failed => row.status == Status::Retrying && row.next_retry_at.is_some(),
        MailKind::Paused | MailKind::Reminder => row.status == Status::Paused,
        MailKind::NewCard | MailKind::Approve | MailKind::PayByHand => kind_for(debt) == Some(kind),
        MailKind::FreshLink | MailKind::Receipt | MailKind::Team(_) => true,
    }
}

/// Whether the end of an invoice is one that the customer gets a receipt for.
pub(crate) fn wants_receipt(ending: Ending) -> bool {
    ending.is_paid()
}
