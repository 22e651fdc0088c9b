//! What may happen around the visit: the attendance mark, the deposit applied or forfeited, and a
//! forfeit taken back.

use chrono::{DateTime, Utc};

use super::State::{Applied, Cancelled, Confirmed, Forfeited, Pending, Released};
use super::{
    Attendance, Booking, Mark, Reason, RefundReason, Rejection, Reversal, StaffOrder, Transition,
};
use crate::planted::{self, Defect};
use crate::venue::Unmarked;

pub(super) fn mark(
    booking: &Booking,
    attended: bool,
    marked_by: String,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let same = booking
        .attendance
        .as_ref()
        .is_some_and(|mark| mark.attended == attended);
    match booking.state {
        Confirmed | Applied | Forfeited if same => Err(Rejection::Already),
        Confirmed if now < booking.place.starts_at => {
            Err(Rejection::TooEarly(booking.place.starts_at))
        }
        Confirmed => {
            let mut to = booking.staying("attendance marked");
            to.why = format!("attended: {attended}, marked by {marked_by}");
            to.after.attendance = Some(Attendance {
                attended,
                marked_by,
                marked_at: now,
            });
            Ok(to)
        }
        // Settled by another mark, or by none: correcting that moves money, which is another order.
        Applied | Forfeited => Err(Rejection::TooLate),
        state @ (Pending | Released | Cancelled) => Err(Rejection::Overtaken(state)),
    }
}

pub(super) fn settle(booking: &Booking, now: DateTime<Utc>) -> Result<Transition, Rejection> {
    let settle_at = booking.settle_at();
    let attended = booking.attendance.as_ref().map(|mark| mark.attended);
    match (booking.state, attended, booking.policy.unmarked) {
        (Confirmed, _, _) if now < settle_at => Err(Rejection::TooEarly(settle_at)),
        (Confirmed, _, _) if booking.is_frozen() => Err(Rejection::Frozen),
        (Confirmed, Some(true), _) => Ok(booking
            .moving_to(Applied, "deposit applied")
            .because("the customer came")
            .settled(now)),
        (Confirmed, Some(false), _) => Ok(booking
            .moving_to(Forfeited, "deposit forfeited")
            .because("the customer did not come")
            .settled(now)),
        (Confirmed, None, Unmarked::AssumeAttended) => Ok(booking
            .moving_to(Applied, "deposit applied")
            .because("nobody marked it, and the policy assumes that the customer came")
            .settled(now)),
        (Confirmed, None, Unmarked::Ask) if planted::is(Defect::UnmarkedForfeited) => Ok(booking
            .moving_to(Forfeited, "deposit forfeited")
            .because("nobody marked it")
            .settled(now)),
        (Confirmed, None, Unmarked::Ask) if booking.asked_at.is_some() => Err(Rejection::Already),
        (Confirmed, None, Unmarked::Ask) => {
            let mut to = booking
                .staying("attendance asked for")
                .because("nobody marked it");
            to.after.asked_at = Some(now);
            Ok(to.handing_over(Reason::AttendanceUnmarked, None))
        }
        (Applied | Forfeited, _, _) => Err(Rejection::Already),
        (state @ (Pending | Released | Cancelled), _, _) => Err(Rejection::Overtaken(state)),
    }
}

/// Takes a forfeit back, once. The state stays: what was forfeited was forfeited, and this is the
/// correction on top of it.
pub(super) fn reverse_forfeit(
    booking: &Booking,
    refund: bool,
    order: StaffOrder,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    match booking.state {
        Forfeited if booking.reversal.is_some() => Err(Rejection::Already),
        Forfeited if booking.is_frozen() => Err(Rejection::Frozen),
        Forfeited => {
            let mut to = booking.staying("forfeit reversed");
            let how = if refund { "refunded" } else { "credited" };
            to.why = format!("{how}, by {}", order.by);
            to.after.reversal = Some(Reversal {
                refund,
                amount: booking.kept(),
                mark: Mark {
                    by: order.by,
                    at: now,
                },
            });
            to.after.reversal_reason = Some(order.reason);
            Ok(if refund {
                to.refunding(RefundReason::Reversal, None)
            } else {
                to
            })
        }
        state @ (Pending | Confirmed | Released | Cancelled | Applied) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

impl Transition {
    fn settled(mut self, now: DateTime<Utc>) -> Self {
        self.after.settled_at = Some(now);
        self
    }
}
