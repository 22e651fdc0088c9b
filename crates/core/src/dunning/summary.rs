//! What came of failed invoices in a month, from the rows of the log alone.
//!
//! Credit is given once and to whom it is due: an invoice that our charge took is ours, also where
//! the provider's report came first and could not say whose it was; what the customer, the provider's
//! own retries or money beside the provider paid is counted beside it. What a month's rows do not
//! tell is said to be unknown.

mod lines;
mod window;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Ending, LogEvent};
use crate::money::{Money, MoneyError};
pub use lines::{MonthLine, month_page};
pub use window::MonthWindow;

/// Invoices of one kind, and their amounts, one for each currency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub invoices: u32,
    pub value: Vec<Money>,
}

/// The month in numbers. The same rows give the same summary, whatever their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Such as `2026-11`, by the calendar of [`Summary::zone`].
    pub month: String,
    pub zone: String,
    /// Invoices of which a charge failed for the first time.
    pub failed: Tally,
    pub recovered_by_us: Tally,
    pub paid_by_customer: Tally,
    pub paid_by_provider: Tally,
    pub paid_out_of_band: Tally,
    /// Paid, and it was not known at the month's end whether our charge did it.
    pub paid_by_unknown: Tally,
    pub written_off: Tally,
    pub voided: Tally,
    /// Covered by a credit or too small to charge.
    pub needing_no_money: Tally,
    /// Heard of in the month, and not ended in it.
    pub still_open: Tally,
    /// Subscriptions, each counted once.
    pub paused: u32,
    pub paused_by_operators: u32,
    pub cancelled: u32,
    /// Given up after the longest time that is waited.
    pub given_up: u32,
    pub charges: Charges,
    pub mails: MailCounts,
    /// The invoices that failed in this month, by the first decline that is known of them.
    pub by_code: Vec<CodeLine>,
}

/// Our own charges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Charges {
    pub made: u32,
    pub succeeded: u32,
    pub declined: u32,
    /// Without an answer at the month's end.
    pub unanswered: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MailCounts {
    pub sent: u32,
    /// Nobody knows whether they were sent.
    pub unanswered: u32,
}

/// What came of the invoices with one decline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CodeLine {
    pub code: String,
    pub failed: u32,
    pub recovered_by_us: u32,
    pub paid_otherwise: u32,
    pub still_open: u32,
    /// How many of a hundred we recovered, rounded down.
    pub recovered_by_us_percent: u32,
}

/// What is known of one invoice.
#[derive(Default)]
struct Story {
    failed: Option<Money>,
    latest: Option<Money>,
    code: Option<String>,
    end: Option<Ending>,
    /// It ended before this month, and a late row tells of it still.
    ended_before: bool,
}

/// How one of our charges stands.
#[derive(Clone, Copy, Default)]
struct Charge {
    made: bool,
    outcome: Option<Settled>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Settled {
    Succeeded,
    Declined,
    Unanswered,
    /// Nothing came of it.
    Dropped,
}

/// All that the rows told.
#[derive(Default)]
struct Month<'a> {
    invoices: BTreeMap<(&'a str, &'a str), Story>,
    charges: BTreeMap<(&'a str, u32), Charge>,
    paused: BTreeSet<&'a str>,
    paused_by_operators: BTreeSet<&'a str>,
    cancelled: BTreeSet<&'a str>,
    given_up: BTreeSet<&'a str>,
    mails: MailCounts,
}

/// Sums up the rows of a month, which may come in any order and twice.
///
/// # Errors
/// A sum that can't be counted.
pub fn summarise(window: &MonthWindow, lines: &[MonthLine]) -> Result<Summary, MoneyError> {
    let ordered: BTreeMap<(&str, &str), &MonthLine> = lines
        .iter()
        .filter(|line| window.has(&line.ts))
        .map(|line| ((line.subscription_id.as_str(), line.ts.as_str()), line))
        .collect();
    let mut month = Month::default();
    for line in ordered.into_values() {
        month.take(line);
    }
    month.sum_up(window)
}

impl<'a> Month<'a> {
    fn take(&mut self, line: &'a MonthLine) {
        let Some(event) = line.event() else {
            return;
        };
        let subscription = line.subscription_id.as_str();
        self.take_charge(line, event);
        self.take_invoice(line, event);
        match event {
            LogEvent::AccessPaused if line.invoice_id.is_some() => {
                self.paused.insert(subscription);
            }
            LogEvent::AccessPaused => {
                self.paused_by_operators.insert(subscription);
            }
            LogEvent::Cancelled => {
                self.cancelled.insert(subscription);
            }
            LogEvent::Closed => {
                self.given_up.insert(subscription);
            }
            LogEvent::EmailSent => self.mails.sent += 1,
            LogEvent::EmailNotSent => {
                let unanswered = line.result.as_deref() == Some(super::MAIL_UNANSWERED);
                self.mails.unanswered += u32::from(unanswered);
            }
            LogEvent::ChargeFailed
            | LogEvent::InvoiceUpdated
            | LogEvent::InvoiceEnded
            | LogEvent::RetryPlanned
            | LogEvent::RetryAttempted
            | LogEvent::RetrySucceeded
            | LogEvent::RetryFailed
            | LogEvent::RetrySkipped
            | LogEvent::RetryUnanswered
            | LogEvent::AccessRestored
            | LogEvent::CardUpdated
            | LogEvent::Looked
            | LogEvent::EmailOrdered
            | LogEvent::EmailClaimed
            | LogEvent::LinkUsed
            | LogEvent::CaseOpened => {}
        }
    }

    fn take_charge(&mut self, line: &'a MonthLine, event: LogEvent) {
        let Some(n) = line.attempt_no else { return };
        let charge = self.charges.entry((&line.subscription_id, n)).or_default();
        match event {
            LogEvent::RetryAttempted => charge.made = true,
            LogEvent::RetrySucceeded => charge.outcome = Some(Settled::Succeeded),
            // The last date of the calendar: the row tells of the pause, and of this charge.
            LogEvent::RetryFailed | LogEvent::AccessPaused => {
                let never_made = line.result.as_deref() == Some("not_made");
                charge.outcome = Some(match never_made {
                    true => Settled::Dropped,
                    false => Settled::Declined,
                });
            }
            LogEvent::RetryUnanswered => charge.outcome = Some(Settled::Unanswered),
            LogEvent::InvoiceEnded if line.ending() == Some(Ending::PaidByUs) => {
                charge.outcome = Some(Settled::Succeeded);
            }
            LogEvent::RetrySkipped | LogEvent::InvoiceEnded => {
                charge.outcome = Some(Settled::Dropped);
            }
            LogEvent::ChargeFailed
            | LogEvent::InvoiceUpdated
            | LogEvent::RetryPlanned
            | LogEvent::AccessRestored
            | LogEvent::CardUpdated
            | LogEvent::Cancelled
            | LogEvent::Looked
            | LogEvent::EmailOrdered
            | LogEvent::EmailClaimed
            | LogEvent::EmailSent
            | LogEvent::EmailNotSent
            | LogEvent::LinkUsed
            | LogEvent::Closed
            | LogEvent::CaseOpened => {}
        }
    }

    fn take_invoice(&mut self, line: &'a MonthLine, event: LogEvent) {
        let Some(invoice_id) = line.invoice_id.as_deref() else {
            return;
        };
        let key = (line.subscription_id.as_str(), invoice_id);
        let story = self.invoices.entry(key).or_default();
        story.latest = line.amount.or(story.latest);
        story.ended_before = line.leaves_nothing_open();
        match event {
            LogEvent::ChargeFailed => story.failed = story.failed.or(line.amount),
            LogEvent::RetrySucceeded => story.end = Some(Ending::PaidByUs),
            LogEvent::InvoiceEnded => story.end = line.ending().or(story.end),
            LogEvent::RetryFailed | LogEvent::AccessPaused | LogEvent::RetrySkipped => {
                // Our charge did not take it, so what was paid meanwhile was paid by somebody else.
                if story.end == Some(Ending::Paid) {
                    story.end = Some(Ending::PaidByCustomer);
                }
                story.heard_code(line);
            }
            LogEvent::Looked => story.heard_code(line),
            LogEvent::InvoiceUpdated
            | LogEvent::RetryPlanned
            | LogEvent::RetryAttempted
            | LogEvent::RetryUnanswered
            | LogEvent::AccessRestored
            | LogEvent::CardUpdated
            | LogEvent::Cancelled
            | LogEvent::EmailOrdered
            | LogEvent::EmailClaimed
            | LogEvent::EmailSent
            | LogEvent::EmailNotSent
            | LogEvent::LinkUsed
            | LogEvent::Closed
            | LogEvent::CaseOpened => {}
        }
    }

    fn sum_up(self, window: &MonthWindow) -> Result<Summary, MoneyError> {
        let mut summary = Summary {
            month: window.month().to_owned(),
            zone: window.zone().name().to_owned(),
            paused: counted(self.paused.len()),
            paused_by_operators: counted(self.paused_by_operators.len()),
            cancelled: counted(self.cancelled.len()),
            given_up: counted(self.given_up.len()),
            charges: charges(self.charges.values()),
            mails: self.mails,
            ..Summary::default()
        };
        let mut by_code = BTreeMap::<&str, CodeLine>::new();
        for story in self.invoices.values() {
            summary.failed.add_if(story.failed)?;
            if story.end.is_some() || !story.ended_before {
                summary.kind_of(story.end).add_if(story.latest)?;
            }
            if story.failed.is_some() {
                let code = story.code.as_deref().unwrap_or("unknown");
                by_code.entry(code).or_default().take(story.end);
            }
        }
        summary.by_code = by_code
            .into_iter()
            .map(|(code, line)| line.named(code))
            .collect();
        Ok(summary)
    }
}

impl Story {
    /// The code on a row is that of the subscription's latest decline; the first one on a row about
    /// this invoice is why it failed.
    fn heard_code(&mut self, line: &MonthLine) {
        if self.code.is_none() {
            self.code.clone_from(&line.failure_code);
        }
    }
}

impl Summary {
    /// Whether nothing at all happened.
    pub fn is_empty(&self) -> bool {
        let named = Self {
            month: self.month.clone(),
            zone: self.zone.clone(),
            ..Self::default()
        };
        *self == named
    }

    fn kind_of(&mut self, end: Option<Ending>) -> &mut Tally {
        match end {
            None => &mut self.still_open,
            Some(Ending::PaidByUs) => &mut self.recovered_by_us,
            Some(Ending::PaidByCustomer) => &mut self.paid_by_customer,
            Some(Ending::PaidByProvider) => &mut self.paid_by_provider,
            Some(Ending::OutOfBand) => &mut self.paid_out_of_band,
            Some(Ending::Paid) => &mut self.paid_by_unknown,
            Some(Ending::Uncollectible) => &mut self.written_off,
            Some(Ending::Voided) => &mut self.voided,
            Some(Ending::Covered | Ending::TooSmall) => &mut self.needing_no_money,
        }
    }
}

impl Tally {
    fn add_if(&mut self, amount: Option<Money>) -> Result<(), MoneyError> {
        let Some(amount) = amount else {
            return Ok(());
        };
        self.invoices += 1;
        let same = |sum: &&mut Money| sum.currency() == amount.currency();
        match self.value.iter_mut().find(same) {
            Some(sum) => *sum = sum.checked_add(amount)?,
            None => self.value.push(amount),
        }
        self.value.sort_by_key(|sum| sum.currency().code());
        Ok(())
    }
}

impl CodeLine {
    fn take(&mut self, end: Option<Ending>) {
        self.failed += 1;
        match end {
            Some(Ending::PaidByUs) => self.recovered_by_us += 1,
            Some(
                Ending::PaidByCustomer | Ending::PaidByProvider | Ending::OutOfBand | Ending::Paid,
            ) => self.paid_otherwise += 1,
            None => self.still_open += 1,
            Some(Ending::Uncollectible | Ending::Voided | Ending::Covered | Ending::TooSmall) => {}
        }
    }

    fn named(self, code: &str) -> Self {
        Self {
            code: code.to_owned(),
            recovered_by_us_percent: percent(self.recovered_by_us, self.failed),
            ..self
        }
    }
}

fn charges<'a>(charges: impl Iterator<Item = &'a Charge>) -> Charges {
    let mut counts = Charges::default();
    for charge in charges {
        counts.made += u32::from(charge.made);
        counts.succeeded += u32::from(charge.outcome == Some(Settled::Succeeded));
        counts.declined += u32::from(charge.outcome == Some(Settled::Declined));
        counts.unanswered += u32::from(charge.outcome == Some(Settled::Unanswered));
    }
    counts
}

fn percent(part: u32, whole: u32) -> u32 {
    let hundredths = u64::from(part) * 100;
    let percent = hundredths.checked_div(u64::from(whole)).unwrap_or_default();
    u32::try_from(percent).unwrap_or(u32::MAX)
}

fn counted(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
