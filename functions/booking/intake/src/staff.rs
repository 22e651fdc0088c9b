//! The orders of the staff: attendance, cancellation, another time.

use chrono::{DateTime, Utc};
use lambda_kit::{Caller, Failure, Problem, Reply, Request};
use paidonce_core::booking::{Booking, CancelledBy, Command, Rejection, State};
use paidonce_core::booking_step::Origin;
use paidonce_core::carry_out::{Done, Order};
use paidonce_core::local_time::stamp;
use paidonce_core::step::read;
use serde_json::json;

use crate::Intake;
use crate::api::{Fields, no_such_booking, start, view};

/// How often other units are tried when the chosen ones were just taken.
const PLACES_MAX: u32 = 4;

impl Intake {
    pub(crate) async fn staff_order(
        &self,
        order: &str,
        id: &str,
        request: &Request,
        caller: &Caller,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        if !caller.is_staff() {
            return Err(Problem::new(403, "staff_only", "This needs a staff token.").into());
        }
        let fields = Fields::of(request)?;
        if order == "reschedule" {
            return self.reschedule(id, &fields, caller, now).await;
        }
        let (command, command_id) = if order == "attendance" {
            let attended = fields.truth("attended")?;
            let marked_by = marked_by(&fields, caller)?;
            (
                Command::MarkAttendance {
                    attended,
                    marked_by,
                },
                format!("attendance:{id}:{attended}"),
            )
        } else {
            let by = canceller(&fields)?;
            let reason = fields.optional_lines("reason", 200)?.unwrap_or_default();
            // Two cancellers are two orders: which of them was first decides about the refund.
            let command_id = format!("cancel:{id}:{}", by.as_str());
            (Command::Cancel { by, reason }, command_id)
        };
        let done = self.order(command, command_id, caller, now, id).await?;
        Ok(reply(done, caller)?)
    }

    async fn order(
        &self,
        command: Command,
        command_id: String,
        caller: &Caller,
        now: DateTime<Utc>,
        booking_id: &str,
    ) -> Result<Done, Failure> {
        let order = Order {
            client: &self.dynamodb,
            tables: &self.tables,
            command,
            command_id,
            origin: Origin {
                who: &format!("bdc-intake for {}", caller.name()),
                correlation_id: booking_id,
            },
            now,
            new_id: &|| self.entropy.ulid(now),
        };
        Ok(order.carry_out(booking_id).await?)
    }

    /// Moves a booking: the new slots are held and the old ones freed in one step.
    async fn reschedule(
        &self,
        id: &str,
        fields: &Fields,
        caller: &Caller,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let instant = start(&fields.text("starts_at", 40)?, self.venue.zone, now)?;
        let booking = read::<Booking>(&self.dynamodb, &self.tables.bookings, id).await?;
        let booking = booking.ok_or_else(no_such_booking)?;
        let resource = fields
            .optional_text("resource", 40)?
            .unwrap_or_else(|| booking.place.resource.clone());
        let wanted = self.wanted(&resource, instant.utc, booking.party, now)?;
        let mut place = self.place(wanted, 0, None);
        if wanted.resource.capacity > 1 {
            let free = self
                .free_units(wanted.resource, &self.cells_of(wanted), id)
                .await;
            place = self.place(wanted, 0, Some(&free?));
        }
        for _ in 0..PLACES_MAX {
            let Some(to) = place else {
                break;
            };
            let command_id = format!("reschedule:{id}:{resource}:{}", stamp(instant.utc));
            let done = self
                .order(Command::Reschedule { to }, command_id, caller, now, id)
                .await?;
            match done {
                Done::Taken(_) if wanted.resource.capacity > 1 => {
                    let free = self
                        .free_units(wanted.resource, &self.cells_of(wanted), id)
                        .await;
                    place = self.place(wanted, 0, Some(&free?));
                }
                done @ (Done::Moved(_)
                | Done::Rejected(..)
                | Done::Taken(_)
                | Done::Missing
                | Done::Contended) => {
                    return Ok(reply(done, caller)?);
                }
            }
        }
        Err(taken().into())
    }
}

fn marked_by(fields: &Fields, caller: &Caller) -> Result<String, Problem> {
    Ok(fields
        .optional_text("by", 40)?
        .unwrap_or_else(|| caller.name()))
}

fn canceller(fields: &Fields) -> Result<CancelledBy, Problem> {
    match fields.optional_text("by", 20)?.as_deref() {
        None | Some("customer") => Ok(CancelledBy::Customer),
        Some("business") => Ok(CancelledBy::Business),
        Some(_) => {
            let detail = "`by` must be `customer` or `business`.";
            Err(Problem::field("by", "unknown_canceller", detail))
        }
    }
}

fn taken() -> Problem {
    Problem {
        field: Some("starts_at"),
        ..Problem::new(409, "slot_taken", "Somebody else has this slot.")
    }
}

fn reply(done: Done, caller: &Caller) -> Result<Reply, Problem> {
    let (rejection, booking) = match done {
        Done::Moved(booking) => return Ok(Reply::json(200, &view(&booking, caller))),
        Done::Rejected(rejection, booking) => (rejection, booking),
        Done::Taken(_) => return Err(taken()),
        Done::Missing => return Err(no_such_booking()),
        Done::Contended => return Err(Problem::busy(1)),
    };
    match rejection {
        Rejection::Already => Ok(Reply::json(200, &view(&booking, caller))),
        Rejection::TooEarly(at) => {
            let detail = format!("Not before {}.", stamp(at));
            Err(Problem::new(409, "too_early", &detail).with("not_before", json!(stamp(at))))
        }
        Rejection::TooLate => Err(in_state(
            booking.state,
            "too_late",
            "The time for this has passed",
        )),
        Rejection::Overtaken(state) => Err(in_state(
            state,
            "wrong_state",
            "This does not go with the booking",
        )),
        Rejection::Frozen => Err(in_state(
            booking.state,
            "frozen",
            "The booking's money is disputed or went back",
        )),
        Rejection::NotThatMuch => Err(Problem::field(
            "amount",
            "not_that_much",
            "`amount` is more than is here of the payment.",
        )),
    }
}

fn in_state(state: State, code: &'static str, sentence: &str) -> Problem {
    let detail = format!("{sentence}: it is {}.", state.as_str());
    Problem::new(409, code, &detail).with("state", json!(state))
}
