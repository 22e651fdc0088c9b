//! What may happen to an unpaid hold: one reminder, and the release.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::State::{Applied, Cancelled, Confirmed, Forfeited, Pending, Released};
use super::{
    Booking, Funds, MessageKind, Paid, Reason, RefundReason, Refunds, Rejection, Session,
    Transition,
};
use crate::local_time::stamp;
use crate::planted::{self, Defect};

pub(super) fn remind(booking: &Booking, now: DateTime<Utc>) -> Result<Transition, Rejection> {
    match (booking.state, booking.remind_at) {
        (Pending, _) if booking.reminded_at.is_some() => Err(Rejection::Already),
        (Pending, _) if now >= booking.deposit_deadline => Err(Rejection::TooLate),
        (Pending, Some(remind_at)) if now < remind_at => Err(Rejection::TooEarly(remind_at)),
        (Pending, None) => Err(Rejection::TooEarly(booking.deposit_deadline)),
        (Pending, Some(_)) => {
            let mut to = booking.staying("reminded");
            to.why = format!("due {}", stamp(booking.deposit_deadline));
            to.after.reminded_at = Some(now);
            Ok(to.telling(MessageKind::Reminder))
        }
        (state @ (Confirmed | Released | Cancelled | Applied | Forfeited), _) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

/// Gives the slot back. A page of which we have not heard that it is over is closed first: whoever
/// paid on it keeps the slot, also where the event that says so was lost.
pub(super) fn release(booking: &Booking, now: DateTime<Utc>) -> Result<Transition, Rejection> {
    let unheard_of = |page: &&Session| page.closing_at.is_none() || now < page.is_over_at();
    let pages = booking.pages_to_close();
    let page = booking.session.as_ref().filter(|_| !pages.is_empty());
    let page = page.filter(unheard_of);
    let page = page.filter(|_| !planted::is(Defect::PageLeftOpen));
    match (booking.state, page) {
        (Pending, _) if now < booking.deposit_deadline => {
            Err(Rejection::TooEarly(booking.deposit_deadline))
        }
        (Pending, Some(page)) if page.closing_at.is_some() => {
            Err(Rejection::TooEarly(page.is_over_at()))
        }
        (Pending, Some(_)) => Ok(close_pages(booking, now)),
        (Pending, None) => {
            let mut to = booking.moving_to(Released, "released");
            to.why = format!("unpaid at {}", stamp(booking.deposit_deadline));
            to.free = booking.place.slot_keys.clone();
            let to = to
                .refunding(RefundReason::Part, None)
                .telling(MessageKind::Released);
            Ok(match booking.funds.as_ref().filter(|funds| funds.awaited) {
                // The customer is done at the provider, and nobody has said what came of it.
                Some(funds) => to.handing_over(Reason::FundsUnseen, Some(&funds.unseen(now))),
                None => to,
            })
        }
        (Released, _) => Err(Rejection::Already),
        (state @ (Confirmed | Cancelled | Applied | Forfeited), _) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

fn close_pages(booking: &Booking, now: DateTime<Utc>) -> Transition {
    let mut to = booking.staying("payment page closing");
    to.why = format!("unpaid at {}", stamp(booking.deposit_deadline));
    // It is too late for a reminder that is still to come.
    to.after.remind_at = None;
    to.expiring_page(now)
}

impl Funds {
    /// The payment as a case tells of it: what came of it is not known.
    pub(super) fn unseen(&self, now: DateTime<Utc>) -> Paid {
        Paid {
            payment_ref: self.payment_ref.clone(),
            amount: None,
            paid_at: now,
            returned: None,
            orders: BTreeMap::new(),
            refunds: Refunds::default(),
            lost: None,
            counted: None,
            retained: None,
        }
    }
}
