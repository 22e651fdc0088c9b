//! Calling a booking off, and moving it to another time.

use chrono::{DateTime, Utc};

use super::State::{Applied, Cancelled, Confirmed, Forfeited, Pending, Released};
use super::{
    Booking, Cancellation, CancelledBy, MessageKind, Place, RefundReason, Rejection, Transition,
};
use crate::local_time::stamp;
use crate::money::{Money, Rounding};

pub(super) fn cancel(
    booking: &Booking,
    by: CancelledBy,
    reason: String,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    match booking.state {
        Pending | Confirmed if now >= booking.place.starts_at => Err(Rejection::TooLate),
        Pending | Confirmed => {
            let refund = booking.cancellation_refund(by, now);
            let mut to = booking.moving_to(Cancelled, "cancelled");
            to.why = format!("by the {}", by.as_str());
            to.free = booking.place.slot_keys.clone();
            to.after.cancelled = Some(Cancellation {
                by,
                at: now,
                refund_due: refund.minor() > 0,
            });
            to.after.cancelled_reason = Some(reason).filter(|reason| !reason.is_empty());
            to.after.funds = None;
            // Where the whole deposit goes back, so does all else that came.
            let amount = (refund != booking.kept()).then_some(refund);
            let to = to
                .expiring_page(now)
                .refunding(RefundReason::Cancelled, amount);
            Ok(to.telling(MessageKind::Cancelled))
        }
        Cancelled => Err(Rejection::Already),
        state @ (Released | Applied | Forfeited) => Err(Rejection::Overtaken(state)),
    }
}

pub(super) fn reschedule(
    booking: &Booking,
    place: Place,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let old = &booking.place;
    match booking.state {
        Pending | Confirmed if old.is_same_time(&place) => Err(Rejection::Already),
        Pending | Confirmed if now >= old.starts_at || now >= place.starts_at => {
            Err(Rejection::TooLate)
        }
        Pending | Confirmed => {
            let mut to = booking.staying("rescheduled");
            to.why = format!("from {} {}", old.resource, stamp(old.starts_at));
            to.hold = place
                .slot_keys
                .iter()
                .filter(|key| !old.slot_keys.contains(key))
                .cloned()
                .collect();
            to.free = old
                .slot_keys
                .iter()
                .filter(|key| !place.slot_keys.contains(key))
                .cloned()
                .collect();
            let latest = booking.policy.deposit_due_by(place.starts_at, place.zone);
            if booking.state == Pending && latest < booking.deposit_deadline {
                let due = booking
                    .policy
                    .deposit_deadline(now, place.starts_at, place.zone);
                to.after.deposit_deadline = due;
                to.after.remind_at = booking.policy.remind_at(now, due, place.zone);
            }
            to.after.attendance = None;
            to.after.asked_at = None;
            to.after.place = place;
            Ok(to.telling(MessageKind::Rescheduled))
        }
        state @ (Released | Cancelled | Applied | Forfeited) => Err(Rejection::Overtaken(state)),
    }
}

impl Booking {
    /// What goes back if it is called off `now`: by the business all, by the customer what the
    /// policy says that the booking was made under; of a hold that was never confirmed, all.
    pub fn cancellation_refund(&self, by: CancelledBy, now: DateTime<Utc>) -> Money {
        let percent = match (self.state, by) {
            (Pending | Released | Cancelled | Applied | Forfeited, _)
            | (Confirmed, CancelledBy::Business) => 100,
            (Confirmed, CancelledBy::Customer) => {
                self.policy.refund_percent(now, self.place.starts_at)
            }
        };
        let kept = self.kept();
        // The odd penny is the customer's.
        kept.percent(u32::from(percent) * 100, Rounding::Up)
            .unwrap_or(kept)
    }
}
