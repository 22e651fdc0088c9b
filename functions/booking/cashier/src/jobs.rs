//! The orders from the queue: close a payment page, give money back, ask what became of money; and
//! the sweep that asks again where an answer is still missing.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use lambda_kit::{Failure, Function, chain, count, each_record};
use paidonce_core::booking::{Booking, Command, Rejection, State};
use paidonce_core::booking_step::{CashierJob, CashierOrder};
use paidonce_core::carry_out::Done;
use paidonce_core::due::{DueWork, work_off};
use paidonce_core::outbox::Envelope;
use paidonce_core::planted::{self, Defect};
use paidonce_core::step::read;
use provider::{Answer, Expiry, PaymentStatus};
use serde_json::{Value, json};

use crate::Cashier;

/// After this long a sweep begins nothing new: a lookup and the refund that follows from it take up
/// to 48 seconds where the provider is silent, and the function has a minute.
const SWEEP_WITHIN: Duration = Duration::from_secs(10);

/// How long the event of a payment may take before a person hears of it where no booking waits for
/// the money: well within the times that the queue sends an order again.
const EVENT_WITHIN: TimeDelta = TimeDelta::minutes(20);

/// What is known of a page after the provider was asked to close it.
pub(crate) enum Page {
    /// Nobody can pay on it.
    Closed,
    /// The customer was faster: this payment is done or on its way.
    Paid {
        payment_ref: String,
        collected: bool,
    },
    Unknown,
}

impl Cashier {
    pub(crate) async fn take_jobs(
        &self,
        event: Value,
        now: DateTime<Utc>,
    ) -> Result<Value, Failure> {
        each_record(event, |body| async move {
            let (event_id, job) = Envelope::read::<CashierJob>(body)?;
            match job.order {
                CashierOrder::ExpireSession { session_id } => {
                    self.expire(&job.booking_id, &session_id, now).await
                }
                CashierOrder::Refund(order) => self.refund(order, &event_id, now).await,
                CashierOrder::Reconcile { payment_ref } => {
                    self.reconcile(&payment_ref, &event_id, now).await
                }
            }
        })
        .await
    }

    /// Looks up what has been under way for long.
    pub(crate) async fn sweep(&self, now: DateTime<Utc>) -> Result<Value, Failure> {
        let due = DueWork::lookups(&self.payments_table);
        let look_up = |key: String| async move {
            let payment_ref = key.strip_prefix("payment#").unwrap_or(&key);
            let looked = self.reconcile(payment_ref, "sweep", now).await;
            looked.map_err(|error| chain(error.as_ref()))
        };
        let swept = work_off(&self.dynamodb, &due, now, SWEEP_WITHIN, look_up).await?;
        count(Self::NAME, "sweep_failures", i64::from(swept.failed));
        Ok(json!(swept))
    }

    /// Closes a page, and notes it on the booking: it may be released then. Money that was faster
    /// keeps the slot until its event comes.
    async fn expire(
        &self,
        booking_id: &str,
        session_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let Some(booking) =
            read::<Booking>(&self.dynamodb, &self.tables.bookings, booking_id).await?
        else {
            return Ok(());
        };
        let page = self.close(session_id, now).await?;
        if let Page::Paid { payment_ref, .. } = &page
            && is_early_to_tell(&booking, payment_ref, now)
        {
            return Err("the event of a payment is still to come".into());
        }
        match self.note_page(booking, session_id, page, now).await? {
            Some(_) => Ok(()),
            None => Err("the provider did not say whether the page is closed".into()),
        }
    }

    /// Writes what became of a page; `None` if that is not known.
    pub(crate) async fn note_page(
        &self,
        booking: Booking,
        session_id: &str,
        page: Page,
        now: DateTime<Utc>,
    ) -> Result<Option<Booking>, Failure> {
        let booking_id = booking.booking_id.clone();
        let (command, verb) = match page {
            Page::Closed => {
                let session_id = session_id.to_owned();
                (Command::CloseSession { session_id }, "closed")
            }
            Page::Paid {
                payment_ref,
                collected,
            } => {
                let command = Command::AwaitFunds {
                    payment_ref,
                    collected,
                };
                (command, "paid")
            }
            Page::Unknown => return Ok(None),
        };
        let command_id = format!("{verb}:{booking_id}:{session_id}");
        match self.order(booking, command, command_id, now).await? {
            Done::Moved(booking) | Done::Rejected(Rejection::Already, booking) => {
                Ok(Some(*booking))
            }
            // The booking has moved on: it doesn't matter to it any more.
            Done::Rejected(
                Rejection::Overtaken(_)
                | Rejection::TooEarly(_)
                | Rejection::TooLate
                | Rejection::Frozen
                | Rejection::NotThatMuch,
                booking,
            ) => Ok(Some(*booking)),
            Done::Missing => Err("the booking is gone".into()),
            Done::Taken(_) | Done::Contended => Err("others kept writing".into()),
        }
    }

    /// Asks the provider to close a page.
    pub(crate) async fn close(
        &self,
        session_id: &str,
        now: DateTime<Utc>,
    ) -> Result<Page, Failure> {
        let answer = self
            .ask(now, |key| async move {
                self.provider.expire_session(&key, session_id).await
            })
            .await?;
        match answer {
            Answer::Done(Expiry::Expired) => Ok(Page::Closed),
            Answer::Done(Expiry::Complete(session)) => Ok(match session.payment_status {
                PaymentStatus::NoPaymentRequired => Page::Closed,
                status @ (PaymentStatus::Paid | PaymentStatus::Unpaid) => Page::Paid {
                    payment_ref: session.payment_intent.unwrap_or(session.id),
                    collected: status == PaymentStatus::Paid,
                },
            }),
            // There is no such page, so nobody can pay on it.
            Answer::Refused(refusal) if refusal.status == Some(404) => Ok(Page::Closed),
            Answer::Refused(refusal) => {
                let code = refusal.code.unwrap_or(refusal.kind);
                tracing::error!(session.id = %session_id, code, "Page `{session_id}` could not be closed");
                Ok(Page::Unknown)
            }
            Answer::Unknown(_) if planted::is(Defect::PageTimeoutClosed) => Ok(Page::Closed),
            Answer::Unknown(doubt) => {
                tracing::warn!(session.id = %session_id, ?doubt, "Closing page `{session_id}` was not answered");
                Ok(Page::Unknown)
            }
        }
    }
}

/// Whether a payment on a page that was closed may yet be heard of by its event, as nearly all are.
fn is_early_to_tell(booking: &Booking, payment_ref: &str, now: DateTime<Utc>) -> bool {
    let closing_at = booking.session.as_ref().and_then(|it| it.closing_at);
    booking.state != State::Pending
        && !booking.knows(payment_ref)
        && closing_at.is_some_and(|at| now - at < EVENT_WITHIN)
}
