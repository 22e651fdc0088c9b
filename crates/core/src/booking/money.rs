//! What money does to a booking: it confirms, it goes back, or a person decides.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::State::{Applied, Cancelled, Confirmed, Forfeited, Pending, Released};
use super::{
    Booking, Consequence, Counted, Disputed, Funds, Mark, MessageKind, MoneyFacts, Order, Paid,
    Payment, Place, Reason, RefundOrder, RefundReason, Refunds, Rejection, StaffOrder, Transition,
};
use crate::dispute::DisputeStatus;
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
    if booking.payments.len() >= PAYMENTS_MAX {
        let to = booking.staying("payment beyond all count");
        return Ok(to.handing_over(Reason::SecondPayment, Some(&paid)));
    }
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
        to = to.giving_back(Some(at), over, RefundReason::Over);
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
    match about.amount {
        Some(amount) => {
            let to = to.giving_back(Some(at), amount, reason).telling(message);
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
        here.is_some_and(|here| here.checked_sub(*part).is_ok())
    };
    let is_whole = amount.is_none_or(|amount| amount.minor() == sum);
    if sum == 0 || !is_whole || !parts.iter().all(fits) {
        return Err(Rejection::NotThatMuch);
    }
    let mut to = booking.staying("refund ordered");
    to.why = format!("{sum} in minor units, by {}", order.by);
    to.after.refund_reason = Some(order.reason);
    for (at, part) in parts {
        to = to.giving_back(Some(at), part, RefundReason::Staff);
    }
    Ok(to)
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

    /// Which payments make up `amount` of what is here of the deposit, the newest first.
    fn parts_of(&self, amount: Money) -> Vec<(usize, Money)> {
        self.parts(Paid::kept, Some(amount))
    }

    /// All that is here, of each payment in its own currency.
    fn all_parts(&self) -> Vec<(usize, Money)> {
        let payments = self.payments.iter().enumerate().rev();
        let kept = payments.filter_map(|(at, paid)| Some((at, paid.kept()?)));
        kept.filter(|(_, kept)| kept.minor() > 0).collect()
    }

    /// Which payments make up `amount`, or all, of what there is of each in the deposit's currency.
    fn parts(
        &self,
        there_is: fn(&Paid) -> Option<Money>,
        amount: Option<Money>,
    ) -> Vec<(usize, Money)> {
        let currency = amount.unwrap_or(self.deposit).currency();
        let mut left = amount.map_or(i64::MAX, Money::minor);
        let mut parts = Vec::new();
        for (at, paid) in self.payments.iter().enumerate().rev() {
            let there = there_is(paid).filter(|there| there.currency() == currency);
            let part = there.map_or(0, Money::minor).min(left);
            if let Some(part) = Money::new(part, currency).ok().filter(|it| it.minor() > 0) {
                left = left.saturating_sub(part.minor());
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

    /// Whether a customer's bank asks for money back that is here.
    pub fn is_disputed(&self) -> bool {
        let is_here = |payment_ref: &str| {
            let paid = self
                .payments
                .iter()
                .find(|it| it.payment_ref == payment_ref);
            let kept = paid.and_then(Paid::kept);
            kept.is_none_or(|kept| kept.minor() > 0)
        };
        let open = |it: &&Disputed| !it.status.is_warning() && !it.status.is_over();
        let mut open = self.disputes.values().filter(open);
        open.any(|it| is_here(&it.payment_ref))
    }

    /// Whether there is no deposit to settle: it is disputed, or nothing is here of it any more.
    pub fn is_frozen(&self) -> bool {
        self.is_disputed() || self.has_nothing()
    }

    /// Whether money came and nothing of it is here: it went back, or the bank took it.
    pub fn has_nothing(&self) -> bool {
        !self.payments.is_empty() && self.kept().minor() == 0 && self.waived.is_none()
    }

    /// Whether the whole deposit went back, whatever a bank did with it.
    fn went_back(&self) -> bool {
        let currency = self.deposit.currency();
        let minor = |money: Option<Money>| money.map_or(0, Money::minor);
        let mut here = self.payments.iter().filter(|paid| {
            let of_deposit = paid.amount.is_some_and(|it| it.currency() == currency);
            of_deposit && minor(paid.amount) > minor(paid.returned)
        });
        !self.payments.is_empty() && here.next().is_none()
    }

    fn knows_refunds(&self) -> bool {
        self.payments.iter().any(|paid| paid.returned.is_some())
    }

    /// What the bank took of a payment for good.
    fn lost_of(&self, payment_ref: &str) -> Option<Money> {
        let lost = self.disputes.values();
        let lost =
            lost.filter(|it| it.payment_ref == payment_ref && it.status == DisputeStatus::Lost);
        lost.map(|it| it.amount).max_by_key(|amount| amount.minor())
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
        let Some(paid) = at.and_then(|at| self.after.payments.get(at)) else {
            return self;
        };
        let order = RefundOrder::new(&self.after, paid, amount, reason);
        if let Some(paid) = at.and_then(|at| self.after.payments.get_mut(at)) {
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
            self = self.giving_back(Some(at), part, reason);
        }
        self
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

    /// What is still here of it; `None` if it is not known what came.
    pub fn kept(&self) -> Option<Money> {
        let amount = self.amount?;
        let gone = [self.returned, self.lost].into_iter().flatten();
        let gone: i64 = gone.map(Money::minor).sum();
        let kept = amount.minor().saturating_sub(gone).max(0);
        Money::new(kept, amount.currency()).ok()
    }

    /// What the staff may order to go back: what is here, and what is still owed of orders that came
    /// to nothing.
    fn refundable(&self) -> Option<Money> {
        let kept = self.kept()?;
        let sum = kept.minor().saturating_add(self.still_owed());
        Money::new(sum, kept.currency()).ok()
    }

    /// What came to nothing, as far as no newer order stands for it.
    fn still_owed(&self) -> i64 {
        let made_up: i64 = self.on_the_way().map(|order| order.makes_up).sum();
        (self.refunds.stranded - made_up).max(0)
    }

    /// The orders that are not on the payment's row yet.
    fn on_the_way(&self) -> impl Iterator<Item = &Order> {
        let known = |(key, _): &(&String, &Order)| !self.refunds.keys.contains(*key);
        self.orders.iter().filter(known).map(|(_, order)| order)
    }

    /// Adds up what went back, is on its way or was to.
    fn tally(&mut self) {
        let on_the_way = self.on_the_way();
        let on_the_way: i64 = on_the_way.map(|it| it.amount.minor() - it.makes_up).sum();
        let sum = self.refunds.returned + on_the_way;
        let currency = self.amount.map(Money::currency);
        let returned = currency.and_then(|currency| Money::new(sum, currency).ok());
        self.returned = returned.filter(|returned| returned.minor() > 0);
    }

    /// The payment in a line, for a case.
    pub fn described(&self) -> String {
        format!("{} at {}", self.payment_ref, stamp(self.paid_at))
    }
}
