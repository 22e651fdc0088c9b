//! What may happen to a subscription whose invoice failed.
//!
//! ```text
//!              an invoice failed            every date used up
//!   ACTIVE ───────────────────▶ RETRYING ──────────────────────▶ PAUSED
//!     ▲                         │   ▲  │                         │   │
//!     │ voided, covered         │   │  └──────────┐              │   │
//!     └─────────────────────────┘   │ another     │ paid         │   │ paid
//!                                   │ failed      ▼              │   ▼
//!                                   └───────── RECOVERED ◀───────┴────
//!      any ── the provider cancelled the subscription ──▶ CANCELLED
//! ```
//!
//! It never cancels: the strongest thing that it does of itself is to pause access. One charge is in
//! flight at most. It is claimed on this row, with its key, before the provider is asked, and closed
//! by its outcome; no answer leaves it open until the provider says what became of it, and it is
//! never failed by a timer. Access is the worst of the open invoices. `dunning_table.txt` beside this
//! file has every status and command, and a test keeps it true.

pub mod access;
mod attempt;
pub mod budget;
pub mod business_days;
mod cards;
mod debt;
pub mod declines;
mod ending;
pub mod events;
pub mod explain;
pub mod mail;
mod mailing;
pub mod names;
mod planning;
pub mod policy;
mod row;
pub mod seen;
mod sight;
mod step;
pub mod summary;
pub mod suppression;
mod upkeep;
pub mod window;

#[cfg(test)]
mod tests;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::email::EmailAddress;
use crate::money::Money;

pub use attempt::{Errand, ErrandKind, LEASE, Outcome, errand};
pub use debt::{Block, Debt, End, Ending};
pub use names::{attempt_key, schedule_name};
pub use row::{
    Access, AccessBy, Attempt, DUE_SHARDS, Dunning, Link, OVERDUE_AFTER, Plan, Purpose, due_shard,
};
pub use sight::{CardFailure, CardSeen, FailureSeen, InvoiceStatus, Sight};
pub use step::{
    Carried, DunningOrder, DunningTables, LogRow, MONTH_SHARDS, PlanJob, SchedulerJob, TidyJob,
    create_step, dunning_step, idle_firing_step, month_shard,
};

use mail::MailKind;
pub(crate) use mailing::MAIL_UNANSWERED;
use policy::Terms;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing is overdue.
    Active,
    Retrying,
    /// No charge follows of itself, and access is paused.
    Paused,
    Recovered,
    /// The provider says that the subscription has ended.
    Cancelled,
}

impl Status {
    pub const ALL: [Self; 5] = [
        Self::Active,
        Self::Retrying,
        Self::Paused,
        Self::Recovered,
        Self::Cancelled,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Retrying => "retrying",
            Self::Paused => "paused",
            Self::Recovered => "recovered",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a person in the team must look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseReason {
    /// The bank says fraud: nobody else is told so.
    Fraud,
    /// Money came after the subscription had ended.
    PaidAfterCancellation,
    /// The provider takes no amount as small as that.
    AmountTooSmall,
    /// The provider refused a charge for a reason that is no decline.
    ChargeRefused,
    /// There is no bank holiday data for a date that had to be counted.
    NoHolidayData,
    /// No mail address is left to write to.
    NobodyToWriteTo,
    /// A charge has been without an answer for a day.
    ChargeUnanswered,
    /// Nobody knows whether a mail was sent.
    MailUnanswered,
    /// More invoices are open on one subscription than are followed.
    TooManyInvoices,
    /// It was left alone while a charge was still to come.
    Abandoned,
    /// More new cards were given than are tried.
    TooManyCards,
}

impl CaseReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fraud => "fraud",
            Self::PaidAfterCancellation => "paid_after_cancellation",
            Self::AmountTooSmall => "amount_too_small",
            Self::ChargeRefused => "charge_refused",
            Self::NoHolidayData => "no_holiday_data",
            Self::NobodyToWriteTo => "nobody_to_write_to",
            Self::ChargeUnanswered => "charge_unanswered",
            Self::MailUnanswered => "mail_unanswered",
            Self::TooManyInvoices => "too_many_invoices",
            Self::Abandoned => "abandoned",
            Self::TooManyCards => "too_many_cards",
        }
    }
}

/// An order, or a report of a fact.
#[derive(Clone, Debug)]
pub enum Command {
    /// A charge of an invoice failed.
    ReportFailed {
        report: InvoiceReport,
        terms: Box<Terms>,
    },
    /// The bank wants its customer to approve the payment of an invoice.
    ReportActionRequired {
        report: InvoiceReport,
        terms: Box<Terms>,
    },
    /// An invoice needs no more money, or gets none.
    ReportEnded {
        invoice_id: String,
        ending: Ending,
    },
    /// The customer has another payment method now, or the same one anew.
    ReportCard {
        payment_method: String,
        /// The same payment method with a new number or date.
        renewed: bool,
    },
    /// The provider says that the subscription has ended.
    ReportCancelled,
    /// What is to be done next must be decided.
    Plan,
    /// The schedule of plan `n` fired, and the provider was looked at.
    Fire {
        n: u32,
        sight: Box<Sight>,
    },
    /// The schedule of plan `n` fired so late that another day is better.
    FiredLate {
        n: u32,
    },
    /// The schedule of plan `n` fired to look for an open charge, and nobody could be asked.
    LookFailed {
        n: u32,
    },
    /// The outcome of charge `n`.
    Settle {
        n: u32,
        outcome: Outcome,
    },
    ClaimMail {
        no: u32,
    },
    NoteMail {
        no: u32,
        note: MailNote,
    },
    /// The customer used the link of a mail.
    SpendLink {
        no: u32,
    },
    /// The customer asks for a fresh link.
    AskForLink {
        no: u32,
    },
    /// An operator shuts access, or opens it.
    Order(Access),
    /// An operator leaves access to the rules again.
    LeaveToRules,
    /// Look whether something was missed.
    Tend,
}

/// What became of a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailNote {
    Sent,
    /// The mail service said no, or was not asked: it may be tried again.
    NotSent,
    /// It is not to be sent.
    Dropped(&'static str),
    /// There is nobody to send it to.
    NobodyToWriteTo,
    Unanswered,
    /// It came back, or the reader complained.
    Returned,
}

/// What the provider says of an invoice that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvoiceReport {
    pub invoice_id: String,
    pub amount: Money,
    pub created: DateTime<Utc>,
    /// When the event was made.
    pub reported_at: DateTime<Utc>,
    pub hosted_url: Option<String>,
    pub provider_retries_at: Option<DateTime<Utc>>,
    pub email: Option<EmailAddress>,
    pub second_email: Option<EmailAddress>,
    pub name: Option<String>,
}

/// What the history calls a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogEvent {
    ChargeFailed,
    InvoiceUpdated,
    InvoiceEnded,
    RetryPlanned,
    RetryAttempted,
    RetrySucceeded,
    RetryFailed,
    RetrySkipped,
    RetryUnanswered,
    AccessPaused,
    AccessRestored,
    CardUpdated,
    Cancelled,
    Looked,
    EmailOrdered,
    EmailClaimed,
    EmailSent,
    EmailNotSent,
    LinkUsed,
    Closed,
    CaseOpened,
}

impl LogEvent {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChargeFailed => "charge_failed",
            Self::InvoiceUpdated => "invoice_updated",
            Self::InvoiceEnded => "invoice_ended",
            Self::RetryPlanned => "retry_planned",
            Self::RetryAttempted => "retry_attempted",
            Self::RetrySucceeded => "retry_succeeded",
            Self::RetryFailed => "retry_failed",
            Self::RetrySkipped => "retry_skipped",
            Self::RetryUnanswered => "retry_unanswered",
            Self::AccessPaused => "access_paused",
            Self::AccessRestored => "access_restored",
            Self::CardUpdated => "card_updated",
            Self::Cancelled => "cancelled",
            Self::Looked => "looked",
            Self::EmailOrdered => "email_ordered",
            Self::EmailClaimed => "email_claimed",
            Self::EmailSent => "email_sent",
            Self::EmailNotSent => "email_not_sent",
            Self::LinkUsed => "link_used",
            Self::Closed => "closed",
            Self::CaseOpened => "case_opened",
        }
    }
}

/// What leaves by the outbox once the change is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// To the scheduler: decide what is next, and make its schedule.
    Plan,
    /// To the scheduler: these schedules are no longer wanted.
    Tidy(Vec<String>),
    /// To the mailer.
    Mail(u32),
}

/// What the retrier does at the provider after the change is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Nothing,
    /// Charge the invoice under this key; again under the same one, if it was sent before.
    Pay(Attempt),
}

/// The row as it will stand, and what follows.
#[derive(Clone)]
pub struct Transition {
    pub after: Dunning,
    pub event: LogEvent,
    /// What came of it, for the history: an outcome, an ending, a kind of mail.
    pub result: Option<String>,
    /// By which rule and edition.
    pub why: String,
    /// The invoice that it is about.
    pub invoice_id: Option<String>,
    pub amount: Option<Money>,
    pub attempt_no: Option<u32>,
    pub consequences: Vec<Consequence>,
    pub act: Act,
}

/// Why a command changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It is so already.
    Already,
    /// It is about a plan, an attempt, a mail or a link that another has taken the place of.
    Stale,
    /// Not before this instant.
    TooEarly(DateTime<Utc>),
    /// Somebody is at it until this instant.
    InFlight(DateTime<Utc>),
    /// There is nothing to do.
    Nothing,
}

/// How many things a row remembers that the team was told of.
const CASES_TOLD_MAX: usize = 60;

/// Decides what `command` does to a subscription at `now`.
///
/// # Errors
/// Why it does nothing.
pub fn decide(
    row: &Dunning,
    command: Command,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let to = row.changing(now);
    let mut to = match command {
        Command::ReportFailed { report, terms } => sight::failed(row, to, report, *terms, now),
        Command::ReportActionRequired { report, terms } => {
            sight::action_required(row, to, report, *terms, now)
        }
        Command::ReportEnded { invoice_id, ending } => {
            ending::reported(row, to, &invoice_id, ending, now)
        }
        Command::ReportCard {
            payment_method,
            renewed,
        } => cards::reported(row, to, payment_method, renewed),
        Command::ReportCancelled => ending::cancelled(row, to),
        Command::Plan => planning::plan(row, to, now),
        Command::Fire { n, sight } => attempt::fire(row, to, n, &sight, now),
        Command::FiredLate { n } => attempt::fired_late(row, to, n, now),
        Command::LookFailed { n } => attempt::look_failed(row, to, n, now),
        Command::Settle { n, outcome } => attempt::settle(row, to, n, outcome, now),
        Command::ClaimMail { no } => mailing::claim(row, to, no, now),
        Command::NoteMail { no, note } => mailing::note(row, to, no, note, now),
        Command::SpendLink { no } => mailing::spend_link(row, to, no, now),
        Command::AskForLink { no } => mailing::ask_for_link(row, to, no, now),
        Command::Order(ordered) => access::order(row, to, ordered),
        Command::LeaveToRules => access::leave_to_rules(row, to),
        Command::Tend => upkeep::tend(row, to, now),
    }?;
    to.conclude(row, now);
    Ok(to)
}

impl Dunning {
    /// The row to be changed, its version counted up.
    fn changing(&self, now: DateTime<Utc>) -> Transition {
        let mut after = self.clone();
        after.version += 1;
        after.moved_at = now;
        Transition {
            after,
            event: LogEvent::InvoiceUpdated,
            result: None,
            why: String::new(),
            invoice_id: None,
            amount: None,
            attempt_no: None,
            consequences: Vec::new(),
            act: Act::Nothing,
        }
    }
}

impl Transition {
    fn told(mut self, event: LogEvent, why: impl Into<String>) -> Self {
        self.event = event;
        self.why = why.into();
        self
    }

    fn about(mut self, invoice_id: &str) -> Self {
        self.invoice_id = Some(invoice_id.to_owned());
        self.amount = self.after.invoices.get(invoice_id).map(|debt| debt.amount);
        self
    }

    fn with_result(mut self, result: impl Into<String>) -> Self {
        self.result = Some(result.into());
        self
    }

    /// Orders a mail.
    fn mail(&mut self, kind: MailKind, invoice_id: Option<&str>, now: DateTime<Utc>) {
        let no = self.after.mails.order(kind, invoice_id, now);
        self.consequences.push(Consequence::Mail(no));
    }

    /// Tells the team, once for each reason and what it is about.
    fn open_case(&mut self, reason: CaseReason, about: Option<&str>, now: DateTime<Utc>) {
        self.open_case_about(reason, about, about.unwrap_or_default(), now);
    }

    /// As [`Self::open_case`], where an invoice may be an occasion more than once.
    fn open_case_about(
        &mut self,
        reason: CaseReason,
        invoice_id: Option<&str>,
        occasion: &str,
        now: DateTime<Utc>,
    ) {
        let told = format!("{}#{occasion}", reason.as_str());
        if !self.after.cases_told.insert(told) {
            return;
        }
        while self.after.cases_told.len() > CASES_TOLD_MAX {
            self.after.cases_told.pop_first();
        }
        self.after.cases.insert(reason, now);
        self.mail(MailKind::Team(reason), invoice_id, now);
    }

    /// Orders that what is next be decided.
    fn order_plan(&mut self) {
        if !self.consequences.contains(&Consequence::Plan) {
            self.consequences.push(Consequence::Plan);
        }
    }

    /// Nothing is planned any more; its schedule goes.
    fn drop_plan(&mut self) {
        self.after.plan = None;
        self.after.next_retry_at = None;
        let names = std::mem::take(&mut self.after.schedule_names);
        if !names.is_empty() {
            self.consequences.push(Consequence::Tidy(names));
        }
    }

    /// Makes the row agree with itself: which invoice is next, the status, what is to be planned.
    fn conclude(&mut self, before: &Dunning, now: DateTime<Utc>) {
        let is_free = self.after.attempt.is_none() && self.after.current().is_some();
        let is_followed = is_free && self.after.status != Status::Cancelled;
        if is_followed && let Some(card) = self.after.card_pending.take() {
            cards::take(self, card, false);
        }
        let open = self.after.open_debts();
        let waits = open.is_empty() || open.iter().any(|(_, debt)| !debt.exhausted);
        let is_stuck = is_followed && !waits && !self.after.may_try_new_card();
        if is_stuck && self.after.new_card.take().is_some() {
            self.open_case(CaseReason::TooManyCards, None, now);
        }
        let after = &mut self.after;
        after.invoice_id = after.current().map(|(id, _)| id.clone());
        let status = ending::status_of(after);
        if status == Status::Paused && after.paused_at.is_none() {
            after.paused_at = Some(now);
            after.repings = 0;
        }
        if !ending::stays_paused(before, after, status) {
            after.paused_at = None;
        }
        after.status = status;
        if after.current().is_none() && after.closed.as_deref() == Some("abandoned") {
            after.closed = None;
        }
        if after.current().is_none() && after.attempt.is_none() {
            after.new_card = None;
            after.card_pending = None;
        }
        let planned_for = after.plan.as_ref().map(|plan| plan.invoice_id.clone());
        let is_gone = planned_for
            .is_some_and(|id| !after.invoices.get(&id).is_some_and(Debt::is_open))
            && after.attempt.is_none();
        let is_over = self.after.status == Status::Cancelled && self.after.attempt.is_none();
        if is_gone || is_over {
            self.drop_plan();
        }
        if self.after.wants_plan() && !before.wants_plan() && self.act == Act::Nothing {
            self.order_plan();
        }
    }
}
