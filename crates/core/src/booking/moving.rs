//! Calling a booking off, and moving it to another time.

use chrono::{DateTime, Utc};

use super::State::{Applied, Cancelled, Confirmed, Forfeited, Pending, Released};
use super::{
    Booking, Cancellation, CancelledBy, MessageKind, Place, Reason, RefundReason, Rejection,
    Transition,
};
use crate::local_time::stamp;
use crate::money::{Money, Rounding};
use crate::planted::{self, Defect};
use crate::venue::minutes;

/// After so many moves a customer has to ask: each is a text that the venue pays for.
const CUSTOMER_MOVES_MAX: u32 = 5;

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
            let to = to.expiring_page(now).minding_funds(now);
            // Where the whole deposit goes back, so does all else that came.
            let amount = (refund != booking.kept()).then_some(refund);
            let due = booking.is_disputed() && refund.minor() > 0;
            let owed = if due {
                refund
            } else {
                Money::zero(refund.currency())
            };
            let to = to
                .refunding(RefundReason::Cancelled, amount)
                .retaining(owed);
            // A booking of before payments were kept on it has its money only by name.
            let by_name = booking.payments.is_empty() && booking.payment_ref.is_some();
            let to = if by_name {
                to.handing_over(Reason::RefundDue, None)
            } else {
                to
            };
            Ok(to.telling(MessageKind::Cancelled))
        }
        Cancelled => Err(Rejection::Already),
        state @ (Released | Applied | Forfeited) => Err(Rejection::Overtaken(state)),
    }
}

pub(super) fn reschedule(
    booking: &Booking,
    place: Place,
    by: CancelledBy,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let old = &booking.place;
    match booking.state {
        Pending | Confirmed if old.is_same_time(&place) => Err(Rejection::Already),
        Pending | Confirmed if now >= old.starts_at || now >= place.starts_at => {
            Err(Rejection::TooLate)
        }
        Pending | Confirmed if by == CancelledBy::Customer && !booking.customer_may_move(now) => {
            Err(Rejection::TooLate)
        }
        Pending | Confirmed => {
            let mut to = booking.staying("rescheduled");
            to.why = format!(
                "from {} {} by the {}",
                old.resource,
                stamp(old.starts_at),
                by.as_str()
            );
            to.after.moves = booking.moves.saturating_add(1);
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
                to.bring_forward(latest, &place, now);
            }
            to.after.attendance = None;
            to.after.asked_at = None;
            to.after.place = place;
            Ok(to.telling(MessageKind::Rescheduled))
        }
        state @ (Released | Cancelled | Applied | Forfeited) => Err(Rejection::Overtaken(state)),
    }
}

impl Transition {
    /// The deposit of a hold that moves to an earlier time is due earlier. Where money is here or on
    /// its way, nobody is asked for it again.
    fn bring_forward(&mut self, latest: DateTime<Utc>, place: &Place, now: DateTime<Utc>) {
        let policy = &self.after.policy;
        let awaited = self.after.funds.as_ref().is_some_and(|funds| funds.awaited);
        if awaited || self.after.kept().minor() > 0 {
            let grace = (now + minutes(policy.late_grace)).min(place.starts_at);
            self.after.deposit_deadline = latest.max(grace).min(self.after.deposit_deadline);
            self.after.remind_at = None;
            return;
        }
        let due = policy.deposit_deadline(now, place.starts_at, place.zone);
        self.after.remind_at = policy.remind_at(now, due, place.zone);
        if planted::is(Defect::RemindedAgain) {
            self.after.reminded_at = None;
        }
        self.after.deposit_deadline = due;
    }
}

impl Booking {
    /// Whether the customer may move it without asking anybody: a few times, and while a cancellation
    /// would be free. Later a move to a far day would be the way around the terms.
    pub fn customer_may_move(&self, now: DateTime<Utc>) -> bool {
        let starts_at = self.place.starts_at;
        match self.state {
            Pending | Confirmed if now >= starts_at || self.moves >= CUSTOMER_MOVES_MAX => false,
            Pending => true,
            Confirmed => self.policy.refund_percent(now, starts_at) == 100,
            Released | Cancelled | Applied | Forfeited => false,
        }
    }

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
        let part = kept.percent(u32::from(percent) * 100, Rounding::Up);
        part.map_or(kept, |part| refundable(part, kept))
    }
}

/// How many minor units apart the amounts are that the provider can move, at most.
const PROVIDER_STEP_MAX: usize = 100;

/// The next amount from `part` up that the provider can give back: of some currencies it moves no
/// single minor units.
fn refundable(part: Money, kept: Money) -> Money {
    let amounts = (part.minor()..=kept.minor()).take(PROVIDER_STEP_MAX);
    let mut amounts = amounts.filter_map(|minor| Money::new(minor, part.currency()).ok());
    amounts
        .find(|amount| amount.to_stripe().is_ok())
        .unwrap_or(kept)
}
