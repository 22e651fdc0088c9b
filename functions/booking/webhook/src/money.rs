//! What a report about a payment's money does: it is projected onto the payment's row and, where the
//! payment is a booking's, onto the booking, in one step.

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Function, Problem};
use paidonce_core::booking::Booking;
use paidonce_core::booking_step::{CashierOrder, Origin};
use paidonce_core::carry_out::DECISIONS_MAX;
use paidonce_core::payment::Outcome;
use paidonce_core::refund::{PaymentRow, decide, payment_key};
use paidonce_core::refund_step::{MoneyRows, money_step};
use paidonce_core::step::{Found, Row, Step, from_item, read};

use crate::Webhook;
use crate::event::Event;
use crate::ledger::{About, Next, audit};
use crate::report::Report;

/// The rows that a report is about, as they stand.
struct Rows {
    payment: Option<PaymentRow>,
    booking: Option<Booking>,
}

impl Webhook {
    pub(crate) async fn take_in(
        &self,
        event: &Event,
        report: &Report,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let mut rows = self.rows(report).await?;
        for _ in 0..DECISIONS_MAX {
            let step = self.report_step(event, report, &rows, now);
            match self.write(&step, event).await? {
                Next::Finished => return Ok(()),
                Next::Again(found) => self.learn(&mut rows, found).await?,
            }
        }
        Err(Problem::busy(5).into())
    }

    /// Reads the payment and its booking; both at once where the event names both.
    async fn rows(&self, report: &Report) -> Result<Rows, Failure> {
        let key = payment_key(&report.payment_ref);
        let payment = read::<PaymentRow>(&self.dynamodb, &self.payments_table, &key);
        let named = async {
            match &report.booking_id {
                Some(id) => read::<Booking>(&self.dynamodb, &self.tables.bookings, id).await,
                None => Ok(None),
            }
        };
        let (payment, booking) = tokio::try_join!(payment, named)?;
        let mut rows = Rows { payment, booking };
        self.find_booking(&mut rows).await?;
        Ok(rows)
    }

    /// The booking is the one that the payment's own row names.
    async fn find_booking(&self, rows: &mut Rows) -> Result<(), Failure> {
        let owner = rows.payment.as_ref().and_then(|it| {
            let owner = it.booking_id.as_ref()?;
            Some((owner, it.payment_ref.clone()))
        });
        let Some((owner, payment_ref)) = owner else {
            rows.booking = None;
            return Ok(());
        };
        // A booking that was read beside the payment may be from before the payment was its.
        let knows = |it: &Booking| it.booking_id == *owner && it.knows(&payment_ref);
        if !rows.booking.as_ref().is_some_and(knows) {
            rows.booking = read(&self.dynamodb, &self.tables.bookings, owner).await?;
        }
        Ok(())
    }

    async fn learn(&self, rows: &mut Rows, found: Vec<Found>) -> Result<(), Failure> {
        for found in found {
            match (found.name, found.row) {
                (PaymentRow::NAME, row) => rows.payment = row.map(from_item).transpose()?,
                (Booking::NAME, row) => rows.booking = row.map(from_item).transpose()?,
                _ => {}
            }
        }
        self.find_booking(rows).await
    }

    fn report_step(&self, event: &Event, report: &Report, rows: &Rows, now: DateTime<Utc>) -> Step {
        let unclaimed = PaymentRow::unclaimed(&report.payment_ref, now);
        let before = rows.payment.as_ref().unwrap_or(&unclaimed);
        let about = About {
            booking_id: before.booking_id.as_deref(),
            payment_ref: Some(&report.payment_ref),
            amount: report.amount,
        };
        let Ok(change) = decide(before, report.command.clone(), now) else {
            let step = self.ledgered(event, about, Outcome::Already, now);
            let why = format!("payment {}", report.payment_ref);
            let audit = audit(&before.event_id, "money known already", None, why, event);
            return step.audit(&self.tables.audit, audit);
        };
        let step = self.ledgered(event, about, Outcome::Reported, now);
        let money = MoneyRows {
            payments_table: &self.payments_table,
            payment: rows.payment.as_ref(),
            booking: rows.booking.as_ref(),
        };
        let origin = Origin {
            who: Self::NAME,
            correlation_id: &event.id,
        };
        let step = money_step(step, &self.tables, money, &change, origin);
        match &change.after.booking_id {
            Some(booking_id) if change.after.misses_refunds() => {
                let payment_ref = report.payment_ref.clone();
                let reconcile = CashierOrder::Reconcile { payment_ref };
                step.order_cashier(&self.tables, booking_id, reconcile)
            }
            Some(_) | None => step,
        }
    }
}
