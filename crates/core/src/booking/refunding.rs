//! Giving money back: which payments it comes from, under which keys, and what became of it.

use super::State::{Applied, Confirmed, Forfeited};
use super::{
    Booking, Consequence, MoneyFacts, Order, Paid, Reason, RefundOrder, RefundReason, Rejection,
    StaffOrder, Transition,
};
use crate::money::Money;
use crate::planted::{self, Defect};

/// Takes in what the payment's own row says, which any order of reports leaves the same.
pub(super) fn sync(booking: &Booking, facts: MoneyFacts) -> Result<Transition, Rejection> {
    let Some(at) = booking.position(&facts.payment_ref) else {
        return Err(Rejection::Overtaken(booking.state));
    };
    let mut to = booking.staying("money reported");
    to.why = format!("payment {}", facts.payment_ref);
    to.after.disputes.extend(facts.disputes);
    let lost = to.after.lost_of(&facts.payment_ref);
    if let Some(paid) = to.after.payments.get_mut(at) {
        paid.refunds = facts.refunds;
        paid.lost = lost;
        paid.tally();
    }
    if to.after.payments == booking.payments && to.after.disputes == booking.disputes {
        return Err(Rejection::Already);
    }
    let about = booking.payments.get(at);
    let went_back = to.after.payments.get(at).and_then(|it| it.returned);
    let more = went_back != about.and_then(|paid| paid.returned);
    let gone = more && !booking.went_back() && to.after.went_back();
    if facts.by_others && gone && matches!(booking.state, Confirmed | Applied | Forfeited) {
        to = to.handing_over(Reason::RefundedElsewhere, about);
    }
    Ok(to)
}

/// Gives back what the staff say: of one payment, or of all, the newest first. A repeat of the same
/// amount of the same payment is the same order, unless the provider did not carry it out.
pub(super) fn refund(
    booking: &Booking,
    payment_ref: Option<&str>,
    amount: Option<Money>,
    order: StaffOrder,
) -> Result<Transition, Rejection> {
    if booking.is_disputed() {
        return Err(Rejection::Frozen);
    }
    let parts = match payment_ref {
        Some(payment_ref) => {
            let at = booking.position(payment_ref);
            let at = at.ok_or(Rejection::NotThatMuch)?;
            let here = booking.payments.get(at).and_then(Paid::refundable);
            let here = here.ok_or(Rejection::NotThatMuch)?;
            vec![(at, amount.unwrap_or(here))]
        }
        None => booking.parts(Paid::refundable, amount),
    };
    let is_ordered = |(at, part): &(usize, Money)| {
        let paid = booking.payments.get(*at);
        paid.is_some_and(|paid| {
            let key = RefundOrder::new(booking, paid, *part, RefundReason::Staff).key;
            paid.orders.contains_key(&key)
        })
    };
    let sum: i64 = parts.iter().map(|(_, part)| part.minor()).sum();
    let nothing_is_here = amount.is_none() && booking.knows_refunds() && sum == 0;
    if nothing_is_here || (!parts.is_empty() && parts.iter().all(is_ordered)) {
        return Err(Rejection::Already);
    }
    let fits = |(at, part): &(usize, Money)| {
        let here = booking.payments.get(*at).and_then(Paid::refundable);
        let has_room = |here: Money| here.checked_sub(*part).is_ok();
        here.is_some_and(has_room) || planted::is(Defect::RefundRoomUnread)
    };
    let is_whole = amount.is_none_or(|amount| amount.minor() == sum);
    if sum == 0 || !is_whole || !parts.iter().all(fits) {
        return Err(Rejection::NotThatMuch);
    }
    let mut to = booking.staying("refund ordered");
    to.why = format!("{sum} in minor units, by {}", order.by);
    to.after.refund_reason = Some(order.reason);
    for (at, part) in parts {
        to = to.giving_back(at, part, RefundReason::Staff);
    }
    Ok(to)
}

impl RefundOrder {
    pub(super) fn new(booking: &Booking, paid: &Paid, amount: Money, reason: RefundReason) -> Self {
        let payment_ref = &paid.payment_ref;
        let scope = match reason {
            RefundReason::Late | RefundReason::Cancelled | RefundReason::Reversal => {
                format!("{}:{payment_ref}", booking.booking_id)
            }
            RefundReason::Second | RefundReason::Over | RefundReason::Part => payment_ref.clone(),
            RefundReason::Staff if planted::is(Defect::StaffRefundTwice) => {
                format!("{payment_ref}:{}:{}", amount.minor(), paid.orders.len())
            }
            RefundReason::Staff => format!("{payment_ref}:{}", amount.minor()),
        };
        let first = format!("refund:{}:{scope}", reason.as_str());
        // What the provider did not carry out may be ordered again, under a key of its own.
        let again = (2..).map(|time| format!("{first}:{time}"));
        let mut keys = std::iter::once(first.clone()).chain(again);
        let key = keys.find(|key| !paid.refunds.dead.contains(key));
        let makes_up = match reason {
            RefundReason::Staff => paid.still_owed().min(amount.minor()),
            RefundReason::Late
            | RefundReason::Second
            | RefundReason::Over
            | RefundReason::Part
            | RefundReason::Cancelled
            | RefundReason::Reversal => 0,
        };
        Self {
            makes_up,
            key: key.unwrap_or(first),
            payment_ref: payment_ref.clone(),
            amount,
            reason,
        }
    }
}

impl Transition {
    /// Notes what the business keeps of the deposit: all that is here but `owed`.
    pub(super) fn retaining(mut self, owed: Money) -> Self {
        let parts = self.after.parts_of(owed);
        for (at, paid) in self.after.payments.iter_mut().enumerate() {
            let part = parts.iter().find(|(position, _)| *position == at);
            let kept = paid.kept().filter(|_| paid.counted.is_some());
            paid.retained = match (kept, part) {
                (Some(kept), Some((_, part))) => kept.checked_sub(*part).ok(),
                (kept, _) => kept,
            };
        }
        self
    }

    /// Orders that `amount` of the payment at `at` goes back.
    pub(super) fn giving_back(mut self, at: usize, amount: Money, reason: RefundReason) -> Self {
        let Some(paid) = self.after.payments.get(at) else {
            return self;
        };
        let order = RefundOrder::new(&self.after, paid, amount, reason);
        if let Some(paid) = self.after.payments.get_mut(at) {
            let makes_up = order.makes_up;
            paid.orders
                .insert(order.key.clone(), Order { amount, makes_up });
            paid.tally();
        }
        self.then(Consequence::Refund(order))
    }

    /// Gives back `amount` of what is here of the deposit, or all that came, foreign money included,
    /// the newest payment first. Where a bank disputes it a person decides: a refund on top would
    /// pay twice.
    pub(super) fn refunding(mut self, reason: RefundReason, amount: Option<Money>) -> Self {
        let parts = match amount {
            Some(amount) => self.after.parts_of(amount),
            None => self.after.all_parts(),
        };
        if let Some((at, _)) = parts.first().filter(|_| self.after.is_disputed()) {
            let about = self.after.payments.get(*at).cloned();
            return self.handing_over(Reason::RefundDue, about.as_ref());
        }
        for (at, part) in parts {
            self = self.giving_back(at, part, reason);
        }
        self
    }
}
