//! Carrying out an order to a booking, whoever gives it.

use chrono::{DateTime, Utc};
use lambda_kit::Failure;
use paidonce_core::booking::{CancelledBy, Command};
use paidonce_core::booking_step::Origin;
use paidonce_core::calendar::Wanted;
use paidonce_core::carry_out::{Done, Order};
use paidonce_core::local_time::stamp;

use crate::Intake;

/// How often other units are tried when the chosen ones were just taken.
const PLACES_MAX: u32 = 4;

/// Who orders it, for the audit.
pub(crate) struct By<'a> {
    pub(crate) who: &'a str,
    pub(crate) side: CancelledBy,
}

impl Intake {
    pub(crate) async fn order(
        &self,
        booking_id: &str,
        command: Command,
        command_id: String,
        who: &str,
        now: DateTime<Utc>,
    ) -> Result<Done, Failure> {
        let order = Order {
            client: &self.dynamodb,
            tables: &self.tables,
            command,
            command_id,
            origin: Origin {
                who: &format!("bdc-intake for {who}"),
                correlation_id: booking_id,
            },
            now,
            new_id: &|| self.entropy.ulid(now),
        };
        Ok(order.carry_out(booking_id).await?)
    }

    /// Moves a booking: the new slots are held and the old ones freed in one step.
    pub(crate) async fn move_to(
        &self,
        booking_id: &str,
        wanted: Wanted<'_>,
        by: By<'_>,
        now: DateTime<Utc>,
    ) -> Result<Done, Failure> {
        let resource = wanted.resource;
        let mut place = match resource.capacity {
            1 => wanted.place(self.venue.zone, 0, None),
            _ => self.calendar.free_place(wanted, 0, booking_id).await?,
        };
        for _ in 0..PLACES_MAX {
            let Some(to) = place else {
                break;
            };
            let starts_at = stamp(wanted.starts_at);
            let command_id = format!("reschedule:{booking_id}:{}:{starts_at}", resource.id);
            let command = Command::Reschedule { to, by: by.side };
            let done = self
                .order(booking_id, command, command_id, by.who, now)
                .await?;
            match done {
                Done::Taken(_) if resource.capacity > 1 => {
                    place = self.calendar.free_place(wanted, 0, booking_id).await?;
                }
                done @ (Done::Moved(_)
                | Done::Rejected(..)
                | Done::Taken(_)
                | Done::Missing
                | Done::Contended) => return Ok(done),
            }
        }
        Ok(Done::Taken(Vec::new()))
    }
}
