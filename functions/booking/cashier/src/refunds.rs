//! Giving money back in three phases: intend, call, record. What was asked for before is looked up
//! first, so a refund is made once however often this runs.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Function, count};
use paidonce_core::booking::{Booking, RefundOrder};
use paidonce_core::booking_step::Origin;
use paidonce_core::carry_out::DECISIONS_MAX;
use paidonce_core::planted::{self, Defect};
use paidonce_core::refund::{Command, PaymentRow, RefundReport, Refusal, decide, payment_key};
use paidonce_core::refund_step::{MoneyRows, money_step};
use paidonce_core::step::{Row, Step, Written, from_item, read, write};
use provider::{Answer, NewRefund};

use crate::Cashier;

/// What became of a command to a payment's money.
enum Noted {
    Changed(Box<PaymentRow>),
    Refused(Refusal),
}

impl Cashier {
    /// Gives money back, once.
    pub(crate) async fn refund(
        &self,
        order: RefundOrder,
        event_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let intend = Command::Intend(order.clone());
        match self.note(&order.payment_ref, intend, event_id, now).await? {
            Noted::Changed(row) if row.is_asked(&order.key) => {
                self.ask_for(&row, &order.key, event_id, now).await
            }
            // It is not to be asked for, and a person knows why.
            Noted::Changed(_) => {
                count(Self::NAME, "refund_refused", 1);
                Ok(())
            }
            Noted::Refused(Refusal::LookFirst) => {
                self.reconcile(&order.payment_ref, event_id, now).await
            }
            Noted::Refused(Refusal::Already) => Ok(()),
            Noted::Refused(Refusal::TooMany) => Err("the payment has too many refunds".into()),
        }
    }

    /// Asks the provider what became of a payment's refunds, notes it, and asks for those once more
    /// that it does not know: under their old keys.
    pub(crate) async fn reconcile(
        &self,
        payment_ref: &str,
        event_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let answer = self
            .ask(now, |key| async move {
                self.provider.refunds_of(&key, payment_ref).await
            })
            .await?;
        let known = match answer {
            Answer::Done(_) if planted::is(Defect::RefundResentUnlooked) => Vec::new(),
            Answer::Done(refunds) => refunds,
            Answer::Refused(refusal) => {
                let code = refusal.code.unwrap_or(refusal.kind);
                tracing::error!(payment.id = %payment_ref, code, "The refunds of `{payment_ref}` could not be looked up");
                return self.back_off(payment_ref, event_id, now).await;
            }
            Answer::Unknown(doubt) => {
                tracing::warn!(payment.id = %payment_ref, ?doubt, "The refunds of `{payment_ref}` were not answered");
                return self.back_off(payment_ref, event_id, now).await;
            }
        };
        for refund in &known {
            self.note(
                payment_ref,
                Command::Report(report_of(refund)),
                event_id,
                now,
            )
            .await?;
        }
        let key = payment_key(payment_ref);
        let Some(row) = read::<PaymentRow>(&self.dynamodb, &self.payments_table, &key).await?
        else {
            return Ok(());
        };
        for (key, refund) in row.asked() {
            match refund.refund_id {
                // It is under way at the provider: look again later.
                Some(_) => {
                    let key = key.clone();
                    let unanswered = Command::Unanswered { key };
                    self.note(payment_ref, unanswered, event_id, now).await?;
                }
                None => self.ask_for(&row, key, event_id, now).await?,
            }
        }
        Ok(())
    }

    /// Asks for a refund whose intent is written.
    async fn ask_for(
        &self,
        row: &PaymentRow,
        refund_key: &str,
        event_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let (Some(refund), Some(booking_id)) = (row.refunds.get(refund_key), &row.booking_id)
        else {
            return Err("a refund was intended and is not there".into());
        };
        let payment_ref = &row.payment_ref;
        let metadata = [
            ("booking_id", booking_id.as_str()),
            ("refund_key", refund_key),
        ];
        let metadata = metadata.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut idempotency_key = refund_key.to_owned();
        if planted::is(Defect::RefundKeyPerTry) {
            idempotency_key.push_str(&self.entropy.ulid(now).to_string());
        }
        let new = &NewRefund {
            payment_ref,
            amount: refund.amount,
            metadata: BTreeMap::from(metadata),
            idempotency_key: &idempotency_key,
        };
        let answer = self
            .ask(now, |key| async move {
                self.provider.create_refund(&key, new).await
            })
            .await?;
        let key = refund_key.to_owned();
        let command = match answer {
            Answer::Done(made) => Command::Report(RefundReport {
                key: Some(key),
                ..report_of(&made)
            }),
            // Another call under this key is running, or the key is not let in: not a refusal.
            Answer::Refused(refusal) if matches!(refusal.status, Some(401 | 403)) => {
                tracing::error!(payment.id = %payment_ref, "The provider's key may not make refunds");
                Command::Unanswered { key }
            }
            Answer::Refused(refusal) => {
                count(Self::NAME, "refund_refused", 1);
                let code = refusal.code.unwrap_or(refusal.kind);
                tracing::error!(payment.id = %payment_ref, code, "A refund of `{payment_ref}` was refused");
                Command::Refused { key, code }
            }
            Answer::Unknown(_) if planted::is(Defect::RefundTimeoutRefused) => {
                let code = "timeout".to_owned();
                Command::Refused { key, code }
            }
            Answer::Unknown(doubt) => {
                tracing::warn!(payment.id = %payment_ref, ?doubt, "A refund of `{payment_ref}` was not answered");
                Command::Unanswered { key }
            }
        };
        self.note(payment_ref, command, event_id, now).await?;
        Ok(())
    }

    /// Notes for each refund that is under way that the provider did not say anything.
    async fn back_off(
        &self,
        payment_ref: &str,
        event_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let key = payment_key(payment_ref);
        let row = read::<PaymentRow>(&self.dynamodb, &self.payments_table, &key).await?;
        let Some(row) = row.filter(|row| row.asked().next().is_some()) else {
            return Err("the provider did not say what became of the money".into());
        };
        for (key, _) in row.asked() {
            let key = key.clone();
            self.note(payment_ref, Command::Unanswered { key }, event_id, now)
                .await?;
        }
        Ok(())
    }

    /// Carries out a command on a payment's row, the booking's share in the same step.
    async fn note(
        &self,
        payment_ref: &str,
        command: Command,
        event_id: &str,
        now: DateTime<Utc>,
    ) -> Result<Noted, Failure> {
        let key = payment_key(payment_ref);
        let mut row = read::<PaymentRow>(&self.dynamodb, &self.payments_table, &key)
            .await?
            .ok_or("the money is of a payment that is not known")?;
        for _ in 0..DECISIONS_MAX {
            let change = match decide(&row, command.clone(), now) {
                Ok(change) => change,
                Err(refusal) => return Ok(Noted::Refused(refusal)),
            };
            let booking = match &row.booking_id {
                Some(id) => read::<Booking>(&self.dynamodb, &self.tables.bookings, id).await?,
                None => None,
            };
            let rows = MoneyRows {
                payments_table: &self.payments_table,
                payment: Some(&row),
                booking: booking.as_ref(),
            };
            let origin = Origin {
                who: Self::NAME,
                correlation_id: event_id,
            };
            let id = self.entropy.ulid(now);
            // An intent that another delivery wrote is not ours to act on, so the id is our own.
            let step = Step::new(id, format!("{event_id}:{id}"), now);
            let step = money_step(step, &self.tables, rows, &change, origin);
            match write(&self.dynamodb, &step).await? {
                Written::Applied => return Ok(Noted::Changed(Box::new(change.after))),
                Written::Contended => return Err("others kept writing".into()),
                Written::Stale(found) => {
                    let found = found.into_iter().find(|it| it.name == PaymentRow::NAME);
                    if let Some(found) = found.and_then(|found| found.row) {
                        row = from_item(found)?;
                    }
                }
            }
        }
        Err("the payment kept changing".into())
    }
}

fn report_of(refund: &provider::Refund) -> RefundReport {
    RefundReport {
        refund_id: refund.id.clone(),
        key: refund.metadata.get("refund_key").cloned(),
        amount: refund.amount,
        status: refund.status,
        created: refund.created,
        failure: refund.failure_reason.clone(),
    }
}
