//! What money does to a booking: it confirms, it goes back, or a person decides.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::State::{Applied, Cancelled, Confirmed, Forfeited, Pending, Released};
use super::{
    Booking, Consequence, Counted, Funds, Mark, MessageKind, MoneyFacts, Paid, Payment, Place,
    Reason, RefundOrder, RefundReason, Rejection, StaffOrder, Transition,
};
use crate::local_time::stamp;
use crate::money::Money;
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
    match booking.state {
        Pending => Ok(pay_hold(booking, payment, paid, now)),
        Released => match hold_again(booking, &payment, now) {
            Some(place) => Ok(confirm_late(booking, payment, paid, place, now)),
            None => Ok(too_late(booking, paid)),
        },
        Cancelled => Ok(too_late(booking, paid)),
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
    to.after.funds = None;
    let at = to.noting(paid);
    if let Some(over) = over {
        to = to.giving_back(at, over, RefundReason::Over);
    }
    to.count(now);
    // Another page that is still open would take the deposit a second time.
    to.expiring_page(now).telling(MessageKind::Confirmation)
}

/// The money does not fit: the slot stays held while a person looks into it, and the customer may
/// still pay what is missing.
fn mismatch(booking: &Booking, session_id: &str, paid: Paid, now: DateTime<Utc>) -> Transition {
    let mut to = booking.staying("amount mismatch");
    to.after.complete_page(session_id);
    to.why = format!("payment {}", paid.payment_ref);
    let latest = booking.place.starts_at - minutes(booking.policy.start_buffer);
    let until = (now + minutes(booking.policy.case_within)).min(latest);
    to.after.deposit_deadline = until.max(booking.deposit_deadline);
    to.after.remind_at = None;
    let about = paid.clone();
    to.noting(paid);
    to.telling(MessageKind::PaymentChecked)
        .handing_over(Reason::AmountMismatch, Some(&about))
}

/// Where a released booking is held again for money that was paid in time: by the provider's time,
/// not by that of the event's arrival.
fn hold_again(booking: &Booking, payment: &Payment, now: DateTime<Utc>) -> Option<Place> {
    let in_time = payment.paid_at <= booking.deposit_deadline + minutes(booking.policy.late_grace);
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
    give_back_whole(to, paid, RefundReason::Late, MessageKind::LateRefund)
}

fn second(booking: &Booking, paid: Paid) -> Transition {
    let to = booking.staying("second payment");
    give_back_whole(to, paid, RefundReason::Second, MessageKind::SecondRefund)
}

fn give_back_whole(
    mut to: Transition,
    paid: Paid,
    reason: RefundReason,
    message: MessageKind,
) -> Transition {
    to.why = format!("payment {}", paid.payment_ref);
    let about = paid.clone();
    let case = match reason {
        RefundReason::Second => Reason::SecondPayment,
        RefundReason::Late
        | RefundReason::Over
        | RefundReason::Part
        | RefundReason::Cancelled
        | RefundReason::Reversal
        | RefundReason::Staff => Reason::LatePayment,
    };
    let at = to.noting(paid);
    match about.amount.filter(|_| at.is_some()) {
        Some(amount) => {
            let to = to.giving_back(at, amount, reason).telling(message);
            // A second payment ends well by itself; after a late one somebody has lost a slot.
            match reason {
                RefundReason::Second => to,
                RefundReason::Late
                | RefundReason::Over
                | RefundReason::Part
                | RefundReason::Cancelled
                | RefundReason::Reversal
                | RefundReason::Staff => to.handing_over(case, Some(&about)),
            }
        }
        None => to
            .telling(MessageKind::PaymentChecked)
            .handing_over(case, Some(&about)),
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

/// Takes in what is known of a payment: it only grows, so any order of reports ends the same.
pub(super) fn sync(booking: &Booking, facts: MoneyFacts) -> Result<Transition, Rejection> {
    let Some(at) = booking.position(&facts.payment_ref) else {
        return Err(Rejection::Overtaken(booking.state));
    };
    let mut to = booking.staying("money reported");
    to.why = format!("payment {}", facts.payment_ref);
    let was_here = booking.kept();
    to.take_in_refunds(at, &facts);
    let newly_disputed = to.take_in_disputes(&facts.disputes);
    if to.after.payments == booking.payments && to.after.disputes == booking.disputes {
        return Err(Rejection::Already);
    }
    let about = booking.payments.get(at);
    let gone = facts.by_others && was_here.minor() > 0 && to.after.kept().minor() == 0;
    if gone && matches!(booking.state, Confirmed | Applied | Forfeited) {
        to = to.handing_over(Reason::RefundedElsewhere, about);
    }
    if newly_disputed {
        to = to.handing_over(Reason::Disputed, about);
    }
    Ok(to)
}

/// Gives back what the staff say: a repeat of the same amount of the same payment is the same order.
pub(super) fn refund(
    booking: &Booking,
    payment_ref: Option<&str>,
    amount: Option<Money>,
    order: &StaffOrder,
) -> Result<Transition, Rejection> {
    if booking.is_disputed() {
        return Err(Rejection::Frozen);
    }
    let payment_ref = payment_ref.or(booking.payment_ref.as_deref());
    let only = match booking.payments.as_slice() {
        [paid] => Some(paid.payment_ref.as_str()),
        [] | [_, ..] => None,
    };
    let position = payment_ref.or(only).and_then(|it| booking.position(it));
    let paid = position.and_then(|at| booking.payments.get(at));
    let (Some(at), Some(paid)) = (position, paid) else {
        return Err(Rejection::NotThatMuch);
    };
    let here = paid.kept().ok_or(Rejection::NotThatMuch)?;
    let amount = amount.unwrap_or(here);
    let repeated = booking
        .refund_orders
        .contains(&RefundOrder::new(booking, paid, amount, RefundReason::Staff).key);
    if repeated || (here.minor() == 0 && amount.minor() == 0) {
        return Err(Rejection::Already);
    }
    if amount.minor() == 0 || here.checked_sub(amount).is_err() {
        return Err(Rejection::NotThatMuch);
    }
    let mut to = booking.staying("refund ordered");
    to.why = format!(
        "{} of payment {}, by {}",
        amount.decimal(),
        paid.payment_ref,
        order.by
    );
    Ok(to.giving_back(Some(at), amount, RefundReason::Staff))
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
            to.after.funds = None;
            to.count(now);
            Ok(to.expiring_page(now).telling(MessageKind::Confirmation))
        }
        Confirmed if booking.waived.is_some() => Err(Rejection::Already),
        state @ (Confirmed | Released | Cancelled | Applied | Forfeited) => {
            Err(Rejection::Overtaken(state))
        }
    }
}

impl RefundOrder {
    fn new(booking: &Booking, paid: &Paid, amount: Money, reason: RefundReason) -> Self {
        let payment_ref = &paid.payment_ref;
        let scope = match reason {
            RefundReason::Late | RefundReason::Cancelled | RefundReason::Reversal => {
                format!("{}:{payment_ref}", booking.booking_id)
            }
            RefundReason::Second | RefundReason::Over | RefundReason::Part => payment_ref.clone(),
            RefundReason::Staff => format!("{payment_ref}:{}", amount.minor()),
        };
        Self {
            key: format!("refund:{}:{scope}", reason.as_str()),
            payment_ref: payment_ref.clone(),
            amount,
            reason,
        }
    }
}

impl Booking {
    /// Whether this payment is one of the booking's.
    pub fn knows(&self, payment_ref: &str) -> bool {
        self.payment_ref.as_deref() == Some(payment_ref) || self.position(payment_ref).is_some()
    }

    fn position(&self, payment_ref: &str) -> Option<usize> {
        self.payments
            .iter()
            .position(|paid| paid.payment_ref == payment_ref)
    }

    /// What is here of the deposit, in its currency: what came, without what goes back.
    pub fn kept(&self) -> Money {
        let kept = self.payments.iter().filter_map(Paid::kept);
        kept.filter(|kept| kept.currency() == self.deposit.currency())
            .fold(Money::zero(self.deposit.currency()), |sum, kept| {
                sum.checked_add(kept).unwrap_or(sum)
            })
    }

    /// Which payments make up `amount` of what is here, the newest first.
    fn parts_of(&self, amount: Money) -> Vec<(usize, Money)> {
        let mut left = amount;
        let mut parts = Vec::new();
        for (at, paid) in self.payments.iter().enumerate().rev() {
            let kept = paid.kept();
            let kept = kept.filter(|kept| kept.currency() == left.currency());
            let part = match kept {
                Some(kept) if kept.minor() > left.minor() => left,
                Some(kept) => kept,
                None => continue,
            };
            if part.minor() > 0 {
                left = left.checked_sub(part).unwrap_or(left);
                parts.push((at, part));
            }
        }
        parts
    }

    /// What is still to be paid of the deposit.
    pub fn owed(&self) -> Money {
        let zero = Money::zero(self.deposit.currency());
        self.deposit.checked_sub(self.kept()).unwrap_or(zero)
    }

    /// Whether a customer's bank holds or took back money of it.
    pub fn is_disputed(&self) -> bool {
        use crate::dispute::DisputeStatus::{
            Lost, NeedsResponse, Prevented, UnderReview, WarningClosed, WarningNeedsResponse,
            WarningUnderReview, Won,
        };
        self.disputes.values().any(|status| match status {
            NeedsResponse | UnderReview | Lost => true,
            Won | Prevented | WarningNeedsResponse | WarningUnderReview | WarningClosed => false,
        })
    }

    /// Whether the deposit can't be settled: it is disputed, or it went back.
    pub fn is_frozen(&self) -> bool {
        let went_back = !self.payments.is_empty() && self.kept().minor() == 0;
        self.is_disputed() || (went_back && self.waived.is_none())
    }

    fn fit(&self, payment: &Payment) -> Fit {
        let Some(amount) = payment.amount else {
            return Fit::Unreadable;
        };
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
    /// Notes a payment; `None` if there are too many to keep.
    fn noting(&mut self, paid: Paid) -> Option<usize> {
        let at = self.after.payments.len();
        (at < PAYMENTS_MAX).then(|| {
            self.after.payments.push(paid);
            at
        })
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
    pub(super) fn giving_back(
        mut self,
        at: Option<usize>,
        amount: Money,
        reason: RefundReason,
    ) -> Self {
        let Some(paid) = at.and_then(|at| self.after.payments.get_mut(at)) else {
            return self;
        };
        paid.returned = paid
            .returned
            .and_then(|returned| returned.checked_add(amount).ok())
            .or(Some(amount));
        let paid = paid.clone();
        let order = RefundOrder::new(&self.after, &paid, amount, reason);
        if reason == RefundReason::Staff {
            self.after.refund_orders.insert(order.key.clone());
        }
        self.then(Consequence::Refund(order))
    }

    /// Gives back the parts of a deposit whose rest did not come.
    pub(super) fn refunding_parts(self) -> Self {
        self.refunding(RefundReason::Part, None)
    }

    /// Gives back what is here of the deposit, up to `amount`, the newest payment first.
    pub(super) fn refunding(mut self, reason: RefundReason, amount: Option<Money>) -> Self {
        let amount = amount.unwrap_or_else(|| self.after.kept());
        for (at, part) in self.after.parts_of(amount) {
            self = self.giving_back(Some(at), part, reason);
        }
        self
    }

    fn take_in_refunds(&mut self, at: usize, facts: &MoneyFacts) {
        let Some(paid) = self.after.payments.get_mut(at) else {
            return;
        };
        let known = paid.returned.map_or(0, Money::minor);
        let same = paid.amount.map(Money::currency) == Some(facts.refunded.currency());
        if same && facts.refunded.minor() > known {
            paid.returned = Some(facts.refunded);
        }
    }

    /// Says whether one of them is news.
    fn take_in_disputes(
        &mut self,
        disputes: &BTreeMap<String, crate::dispute::DisputeStatus>,
    ) -> bool {
        let mut is_news = false;
        for (id, status) in disputes {
            let known = self.after.disputes.get(id);
            if known.is_none_or(|known| known < status) {
                is_news |= known.is_none() || status.is_over();
                self.after.disputes.insert(id.clone(), *status);
            }
        }
        is_news
    }

    /// Has the page closed on which the customer could still pay, if there is one.
    pub(super) fn expiring_page(mut self, now: DateTime<Utc>) -> Self {
        let page = self.after.open_page().filter(|page| !page.is_over(now));
        let Some(session_id) = page.and_then(super::Session::session_id) else {
            return self;
        };
        if let Some(session) = &mut self.after.session {
            session.closing_at = Some(now);
        }
        self.then(Consequence::ExpireSession { session_id })
    }
}

impl Paid {
    fn new(payment: &Payment) -> Self {
        Self {
            payment_ref: payment.payment_ref.clone(),
            amount: payment.amount,
            paid_at: payment.paid_at,
            returned: None,
            counted: None,
            retained: None,
        }
    }

    /// What is still here of it; `None` if it is not known what came.
    pub fn kept(&self) -> Option<Money> {
        let amount = self.amount?;
        let returned = self
            .returned
            .unwrap_or_else(|| Money::zero(amount.currency()));
        amount
            .checked_sub(returned)
            .ok()
            .or(Some(Money::zero(amount.currency())))
    }

    /// The payment in a line, for a case.
    pub fn described(&self) -> String {
        format!("{} at {}", self.payment_ref, stamp(self.paid_at))
    }
}
