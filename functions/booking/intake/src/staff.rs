//! Carrying out the orders of the staff, and what they hear of it.

use chrono::{DateTime, Utc};
use lambda_kit::{Caller, Failure, Problem, Reply, Request};
use paidonce_core::booking::{Booking, CancelledBy, Rejection, State};
use paidonce_core::carry_out::Done;
use paidonce_core::local_time::stamp;
use paidonce_core::step::read;
use serde_json::json;

use crate::Intake;
use crate::api::{Fields, no_such_booking, start, view};
use crate::carrying::By;
use crate::orders::{self, Ordered, Task};

impl Intake {
    pub(crate) async fn staff_order(
        &self,
        task: Task,
        id: &str,
        request: &Request,
        caller: &Caller,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        staff_only(caller)?;
        let fields = Fields::of(request)?;
        let ordered = match task {
            Task::Reschedule => return self.reschedule(id, &fields, caller, now).await,
            Task::Attendance => orders::attendance(id, &fields, caller),
            Task::Cancel => orders::cancel(id, &fields),
            Task::Refund => orders::refund(id, &fields, caller),
            Task::Waive => orders::waive(id, &fields, caller),
            Task::Reverse => orders::reverse(id, &fields, caller),
        };
        let Ordered {
            command,
            command_id,
        } = ordered?;
        let done = self
            .order(id, command, command_id, &caller.name(), now)
            .await?;
        Ok(reply(done, caller)?)
    }

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
        let by = By {
            who: &caller.name(),
            side: CancelledBy::Business,
        };
        let done = self.move_to(id, wanted, by, now).await?;
        Ok(reply(done, caller)?)
    }
}

/// Refuses everybody but the staff.
pub(crate) fn staff_only(caller: &Caller) -> Result<(), Problem> {
    match caller {
        Caller::Staff(_) => Ok(()),
        Caller::Source(_) => Err(Problem::new(403, "staff_only", "This needs a staff token.")),
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
