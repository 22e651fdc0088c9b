//! What money does to a booking: it confirms, it goes back, or a person decides.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::State::{Applied, Cancelled, Confirmed, Forfeited, Pending, Released};
use super::{
    Booking, Consequence, Counted, Funds, Mark, MessageKind, Paid, Payment, Place, Reason,
    RefundReason, Refunds, Rejection, StaffOrder, Transition,
};
use crate::money::Money;
use crate::planted::{self, Defect};
use crate::venue::{Overpaid, minutes};

/// More payments of one booking than this are a person's business.
const PAYMENTS_MAX: usize = 20;

/// How a payment fits what is owed.
enum Fit {
    Exact,
    /// By how much it is over.
    Over(Money),
    Short,
    /// Another currency, or nothing that can be read.
    Unreadable,
}

pub(super) fn receive(
    booking: &Booking,
    payment: Payment,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    if booking.knows(&payment.payment_ref) {
        return Err(Rejection::Already);
    }
    let paid = Paid::new(&payment);
    if booking.payments.len() >= PAYMENTS_MAX {
        let to = booking.staying("payment beyond all count");
        return Ok(to.handing_over(Reason::SecondPayment, Some(&paid)));
    }
    match booking.state {
        Pending => Ok(pay_hold(booking, payment, paid, now)),
        Released => match hold_again(booking, &payment, now) {
            Some(place) => Ok(confirm_late(booking, payment, paid, place, now)),
            None if planted::is(Defect::LatePaymentDropped) => Err(Rejection::Overtaken(Released)),
            None => Ok(too_late(booking, paid)),
        },
        Cancelled => Ok(too_late(booking, paid)),
        state @ (Confirmed | Applied | Forfeited) if planted::is(Defect::SecondPaymentKept) => {
            Err(Rejection::Overtaken(state))
        }
        Confirmed | Applied | Forfeited => Ok(second(booking, paid)),
    }
}

/// A payment after the deadline still counts while the slot is this booking's.
fn pay_hold(booking: &Booking, payment: Payment, paid: Paid, now: DateTime<Utc>) -> Transition {
    match booking.fit(&payment) {
        Fit::Exact => confirm(booking, "deposit paid", payment, paid, None, now),
        Fit::Over(over) if booking.policy.overpaid == Overpaid::RefundDifference => {
            confirm(booking, "deposit paid", payment, paid, Some(over), now)
        }
        Fit::Over(_) | Fit::Short | Fit::Unreadable => {
            mismatch(booking, &payment.session_id, paid, now)
        }
    }
}

fn confirm(
    booking: &Booking,
    what: &'static str,
    payment: Payment,
    paid: Paid,
    over: Option<Money>,
    now: DateTime<Utc>,
) -> Transition {
    let mut to = booking.moving_to(Confirmed, what);
    to.why = format!("payment {}", payment.payment_ref);
    to.after.complete_page(&payment.session_id);
    to.after.payment_ref = Some(payment.payment_ref.clone());
    to.after.paid_at = Some(payment.paid_at);
    let at = to.noting(paid);
    if let Some(over) = over {
        to = to.giving_back(at, over, RefundReason::Over);
    }
    to.count(now);
    // Another page that is still open would take the deposit a second time.
    let to = to.expiring_page(now).telling(MessageKind::Confirmation);
    to.minding_funds(now)
}

/// The money does not fit: the slot stays held while a person looks into it, and the customer may
/// still pay what is missing.
fn mismatch(booking: &Booking, session_id: &str, paid: Paid, now: DateTime<Utc>) -> Transition {
    let mut to = booking.staying("amount mismatch");
    to.after.complete_page(session_id);
    to.why = format!("payment {}", paid.payment_ref);
    let latest = booking.place.starts_at - minutes(booking.policy.start_buffer);
    let until = (now + minutes(booking.policy.case_within)).min(latest);
    // Also a hold of the same day gets a moment for a person.
    let grace = (now + minutes(booking.policy.late_grace)).min(booking.place.starts_at);
    to.after.deposit_deadline = until.max(grace).max(booking.deposit_deadline);
    to.after.remind_at = None;
    let about = paid.clone();
    to.noting(paid);
    to.telling(MessageKind::PaymentChecked)
        .handing_over(Reason::AmountMismatch, Some(&about))
}

/// Where a released booking is held again for money that was paid in time: by the provider's time,
/// not by that of the event's arrival.
fn hold_again(booking: &Booking, payment: &Payment, now: DateTime<Utc>) -> Option<Place> {
    let paid_at = match planted::is(Defect::PaidOnArrival) {
        true => now,
        false => payment.paid_at,
    };
    let in_time = paid_at <= booking.deposit_deadline + minutes(booking.policy.late_grace);
    let fits = match booking.fit(payment) {
        Fit::Exact => true,
        Fit::Over(_) => booking.policy.overpaid == Overpaid::RefundDifference,
        Fit::Short | Fit::Unreadable => false,
    };
    let place = payment.hold_again.as_ref()?;
    (in_time && fits && now < place.starts_at).then(|| place.clone())
}

fn confirm_late(
    booking: &Booking,
    payment: Payment,
    paid: Paid,
    place: Place,
    now: DateTime<Utc>,
) -> Transition {
    let over = match booking.fit(&payment) {
        Fit::Over(over) => Some(over),
        Fit::Exact | Fit::Short | Fit::Unreadable => None,
    };
    let mut to = confirm(booking, "late confirm", payment, paid, over, now);
    to.hold = place.slot_keys.clone();
    to.after.place = place;
    to
}

fn too_late(booking: &Booking, paid: Paid) -> Transition {
    let to = booking.staying("late payment");
    let (reason, case) = (RefundReason::Late, Reason::LatePayment);
    let to = give_back_whole(to, &paid, reason, MessageKind::LateRefund, case);
    match paid.amount {
        // Somebody has lost a slot, so the team hears of it though the money goes back by itself.
        Some(_) => to.handing_over(case, Some(&paid)),
        None => to,
    }
}

fn second(booking: &Booking, paid: Paid) -> Transition {
    let to = booking.staying("second payment");
    let (reason, case) = (RefundReason::Second, Reason::SecondPayment);
    give_back_whole(to, &paid, reason, MessageKind::SecondRefund, case)
}

/// Notes a payment and gives it back; where it is not known how much that is, a person looks into it.
fn give_back_whole(
    mut to: Transition,
    paid: &Paid,
    reason: RefundReason,
    message: MessageKind,
    case: Reason,
) -> Transition {
    to.why = format!("payment {}", paid.payment_ref);
    let at = to.noting(paid.clone());
    match paid.amount {
        Some(amount) => to.giving_back(at, amount, reason).telling(message),
        None => to
            .telling(MessageKind::PaymentChecked)
            .handing_over(case, Some(paid)),
    }
}

pub(super) fn await_funds(
    booking: &Booking,
    payment_ref: String,
    collected: bool,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let same = |funds: &Funds| funds.payment_ref == payment_ref;
    if booking.funds.as_ref().is_some_and(same) || booking.knows(&payment_ref) {
        return Err(Rejection::Already);
    }
    match booking.state {
        Pending => {
            let mut to = booking.staying("payment under way");
            let what = if collected {
                "is to be heard of"
            } else {
                "takes days"
            };
            to.why = format!("payment {payment_ref} {what}");
            let until = funds_deadline(booking, collected, now);
            to.after.deposit_deadline = until.max(booking.deposit_deadline);
            to.after.remind_at = None;
            to.after.close_page();
            to.after.funds = Some(Funds {
                payment_ref,
                awaited: true,
            });
            Ok(to)
        }
        // Its event must come, and does in the end; until then a person knows of the money.
        Confirmed | Released | Cancelled | Applied | Forfeited if collected => {
            let mut to = booking.staying("payment seen");
            to.why = format!("payment {payment_ref} is to be heard of");
            to.after.close_page();
            let funds = Funds {
                payment_ref,
                awaited: true,
            };
            let unseen = funds.unseen(now);
            to.after.funds = Some(funds);
            Ok(to.handing_over(Reason::FundsUnseen, Some(&unseen)))
        }
        state @ (Confirmed | Released | Cancelled | Applied | Forfeited) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

/// Until when a slot waits for money. What the customer has paid needs no time before the start, and
/// its event always gets the time that late money has.
fn funds_deadline(booking: &Booking, collected: bool, now: DateTime<Utc>) -> DateTime<Utc> {
    let policy = &booking.policy;
    let starts_at = booking.place.starts_at;
    let until = now + minutes(policy.funds_within);
    if collected {
        until.min(starts_at).max(now + minutes(policy.late_grace))
    } else {
        until.min(starts_at - minutes(policy.start_buffer))
    }
}

pub(super) fn fail_funds(
    booking: &Booking,
    payment_ref: String,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let failed = Funds {
        payment_ref,
        awaited: false,
    };
    let awaited = booking.funds.as_ref().filter(|funds| funds.awaited);
    let is_another = awaited.is_some_and(|funds| funds.payment_ref != failed.payment_ref);
    match booking.state {
        Pending if booking.funds.as_ref() == Some(&failed) => Err(Rejection::Already),
        Pending if is_another => Err(Rejection::Overtaken(Pending)),
        // The sweep releases it: this role can't free a slot.
        Pending => {
            let mut to = booking.staying("payment failed");
            to.why = format!("payment {}", failed.payment_ref);
            if awaited.is_some() {
                to.after.deposit_deadline = now;
            }
            // The page that led to it is complete: the next click gets another.
            to.after.close_page();
            to.after.funds = Some(failed);
            Ok(to)
        }
        state @ (Confirmed | Released | Cancelled | Applied | Forfeited) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

/// Confirms without the deposit, or with the part of it that has come.
pub(super) fn waive(
    booking: &Booking,
    order: StaffOrder,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    match booking.state {
        Pending => {
            let mut to = booking.moving_to(Confirmed, "deposit waived");
            to.why = format!("by {}", order.by);
            to.after.waived = Some(Mark {
                by: order.by,
                at: now,
            });
            to.after.waived_reason = Some(order.reason);
            to.count(now);
            let to = to.expiring_page(now).telling(MessageKind::Confirmation);
            Ok(to.minding_funds(now))
        }
        Confirmed if booking.waived.is_some() => Err(Rejection::Already),
        state @ (Confirmed | Released | Cancelled | Applied | Forfeited) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

impl Booking {
    fn fit(&self, payment: &Payment) -> Fit {
        let Some(amount) = payment.amount else {
            return Fit::Unreadable;
        };
        if planted::is(Defect::AmountNotCompared) {
            return Fit::Exact;
        }
        if amount.currency() != self.deposit.currency() || amount.minor() == 0 {
            return Fit::Unreadable;
        }
        match amount.checked_sub(self.owed()) {
            Ok(over) if over.minor() == 0 => Fit::Exact,
            Ok(over) => Fit::Over(over),
            Err(_) => Fit::Short,
        }
    }
}

impl Transition {
    /// Notes a payment, and that it need not be waited for any more.
    fn noting(&mut self, paid: Paid) -> usize {
        let waited_for = |funds: &mut Funds| funds.payment_ref == paid.payment_ref;
        self.after.funds.take_if(waited_for);
        self.after.payments.push(paid);
        self.after.payments.len() - 1
    }

    /// Hands money over to a person that is on its way to a booking that waits for none.
    pub(super) fn minding_funds(mut self, now: DateTime<Utc>) -> Self {
        self.after.funds.take_if(|funds| !funds.awaited);
        match self.after.funds.as_ref().map(|funds| funds.unseen(now)) {
            Some(unseen) => self.handing_over(Reason::FundsUnseen, Some(&unseen)),
            None => self,
        }
    }

    /// Notes that what is here of the money is the deposit from now on.
    fn count(&mut self, now: DateTime<Utc>) {
        let currency = self.after.deposit.currency();
        for paid in &mut self.after.payments {
            let kept = paid.kept().filter(|it| it.currency() == currency);
            if let Some(amount) = kept.filter(|kept| kept.minor() > 0) {
                paid.counted = Some(Counted { amount, at: now });
            }
        }
    }

    /// Has the pages closed on which the customer could still pay.
    pub(super) fn expiring_page(mut self, now: DateTime<Utc>) -> Self {
        for session_id in self.after.pages_to_close() {
            if let Some(session) = &mut self.after.session {
                session.closing_at = Some(now);
            }
            self = self.then(Consequence::ExpireSession { session_id });
        }
        self
    }
}

impl Paid {
    fn new(payment: &Payment) -> Self {
        Self {
            payment_ref: payment.payment_ref.clone(),
            amount: payment.amount,
            paid_at: payment.paid_at,
            returned: None,
            orders: BTreeMap::new(),
            refunds: Refunds::default(),
            lost: None,
            counted: None,
            retained: None,
        }
    }
}
