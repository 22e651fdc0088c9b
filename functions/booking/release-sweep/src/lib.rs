//! `bdc-release-sweep`: reminds once of an unpaid deposit, and puts unpaid slots back on sale.
//!
//! Started by a schedule every five minutes. Touches bookings, slots, outbox and audit. If two run
//! at once, or one runs beside the payment, the version condition lets one write: the other
//! decides again on the row that came back and finds nothing left to do. A slot is deleted only if
//! it is still this booking's. Where a payment page is open the cashier closes it first, and a later
//! sweep releases: whoever paid in that moment keeps the slot. What one sweep does not get to in its
//! time is the next one's, and its answer says so.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{ConfigError, Entropy, Failure, Function, Setup, chain, count};
use paidonce_core::booking::{Booking, Command, Rejection, State};
use paidonce_core::booking_step::{Origin, Tables};
use paidonce_core::carry_out::{Done, Order};
use paidonce_core::due::{DueWork, work_off};
use paidonce_core::planted::{self, Defect};
use paidonce_core::step::read;
use serde_json::{Value, json};

/// Well before the function's time-out.
const WITHIN: Duration = Duration::from_secs(90);

pub struct ReleaseSweep {
    dynamodb: Client,
    tables: Tables,
    entropy: Entropy,
}

impl Function for ReleaseSweep {
    const NAME: &'static str = "bdc-release-sweep";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let tables = Tables {
            slots: environment.text("SLOTS_TABLE"),
            cashier_queue: environment.text("CASHIER_QUEUE"),
            ..Tables::named(|name| environment.text(name))
        };
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            tables,
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, _: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let due = DueWork::bookings(&self.tables.bookings, State::Pending);
        let look_at = |id| async move {
            self.look_at(id, now)
                .await
                .map_err(|error| chain(error.as_ref()))
        };
        let swept = work_off(&self.dynamodb, &due, now, WITHIN, look_at).await?;
        count(Self::NAME, "sweep_failures", i64::from(swept.failed));
        Ok(json!(swept))
    }
}

impl ReleaseSweep {
    /// Releases the booking if its deadline has passed, else reminds if that is due.
    async fn look_at(&self, booking_id: String, now: DateTime<Utc>) -> Result<(), Failure> {
        let table = &self.tables.bookings;
        let Some(mut booking) = read::<Booking>(&self.dynamodb, table, &booking_id).await? else {
            return Ok(());
        };
        if planted::is(Defect::IndexIsTruth) && booking.reminded_at.is_some() {
            // As the index has it: one that waits for its deposit, and is due.
            booking.state = State::Pending;
            booking.deposit_deadline = booking.deposit_deadline.min(now);
        }
        match self
            .order(booking, Command::Release, "release", now)
            .await?
        {
            Done::Rejected(Rejection::TooEarly(_), booking) => {
                settled(self.order(*booking, Command::Remind, "remind", now).await?)
            }
            done @ (Done::Moved(_)
            | Done::Rejected(..)
            | Done::Taken(_)
            | Done::Missing
            | Done::Contended) => settled(done),
        }
    }

    async fn order(
        &self,
        booking: Booking,
        command: Command,
        verb: &str,
        now: DateTime<Utc>,
    ) -> Result<Done, Failure> {
        let booking_id = booking.booking_id.clone();
        let order = Order {
            client: &self.dynamodb,
            tables: &self.tables,
            command,
            command_id: format!("{verb}:{booking_id}"),
            origin: Origin {
                who: Self::NAME,
                correlation_id: &booking_id,
            },
            now,
            new_id: &|| self.entropy.ulid(now),
        };
        let done = order.carry_out_on(booking).await?;
        if let Done::Moved(booking) = &done {
            let state = booking.state.as_str();
            tracing::info!(booking.id = %booking_id, state, "Looked at booking `{booking_id}`: {verb}");
        }
        Ok(done)
    }
}

fn settled(done: Done) -> Result<(), Failure> {
    match done {
        Done::Moved(_) | Done::Rejected(..) | Done::Missing => Ok(()),
        Done::Taken(_) => Err("a sweep holds no slots".into()),
        Done::Contended => Err("others kept writing".into()),
    }
}
