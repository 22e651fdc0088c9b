//! `bdc-settle-sweep`: applies or forfeits the deposit after the appointment, by mark and policy.
//!
//! Started by a schedule every hour. Touches bookings, outbox and audit. If two run at once the
//! version condition lets one settle; the other finds it settled. Where nobody marked whether the
//! customer came, the policy decides, and asking the team is the default: never a silent forfeit.
//! What one sweep does not get to in its time is the next one's, and its answer says so.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{ConfigError, Entropy, Failure, Function, Setup, chain, count};
use paidonce_core::booking::{Command, State};
use paidonce_core::booking_step::{Origin, Tables};
use paidonce_core::carry_out::{Done, Order};
use paidonce_core::due::{DueWork, work_off};
use serde_json::{Value, json};

/// Well before the function's time-out.
const WITHIN: Duration = Duration::from_secs(90);

pub struct SettleSweep {
    dynamodb: Client,
    tables: Tables,
    entropy: Entropy,
}

impl Function for SettleSweep {
    const NAME: &'static str = "bdc-settle-sweep";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            tables: Tables::named(|name| environment.text(name)),
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, _: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let due = DueWork::bookings(&self.tables.bookings, State::Confirmed);
        let settle = |id| async move {
            self.settle(id, now)
                .await
                .map_err(|error| chain(error.as_ref()))
        };
        let swept = work_off(&self.dynamodb, &due, now, WITHIN, settle).await?;
        count(Self::NAME, "sweep_failures", i64::from(swept.failed));
        Ok(json!(swept))
    }
}

impl SettleSweep {
    async fn settle(&self, booking_id: String, now: DateTime<Utc>) -> Result<(), Failure> {
        let order = Order {
            client: &self.dynamodb,
            tables: &self.tables,
            command: Command::Settle,
            command_id: format!("settle:{booking_id}"),
            origin: Origin {
                who: Self::NAME,
                correlation_id: &booking_id,
            },
            now,
            new_id: &|| self.entropy.ulid(now),
        };
        match order.carry_out(&booking_id).await? {
            Done::Moved(booking) => {
                let state = booking.state.as_str();
                tracing::info!(booking.id = %booking_id, state, "Settled booking `{booking_id}`: {state}");
                Ok(())
            }
            Done::Rejected(..) | Done::Missing => Ok(()),
            Done::Taken(_) => Err("a sweep holds no slots".into()),
            Done::Contended => Err("others kept writing".into()),
        }
    }
}
