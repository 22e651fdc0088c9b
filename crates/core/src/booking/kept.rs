//! What is here of a booking's money: what came, without what goes back or a bank took.

use super::{Booking, Disputed, Order, Paid};
use crate::dispute::DisputeStatus;
use crate::money::Money;

impl Booking {
    /// Whether this payment is one of the booking's.
    pub fn knows(&self, payment_ref: &str) -> bool {
        self.payment_ref.as_deref() == Some(payment_ref) || self.position(payment_ref).is_some()
    }

    pub(super) fn position(&self, payment_ref: &str) -> Option<usize> {
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
    pub(super) fn parts_of(&self, amount: Money) -> Vec<(usize, Money)> {
        self.parts(Paid::kept, Some(amount))
    }

    /// All that is here, of each payment in its own currency.
    pub(super) fn all_parts(&self) -> Vec<(usize, Money)> {
        let payments = self.payments.iter().enumerate().rev();
        let kept = payments.filter_map(|(at, paid)| Some((at, paid.kept()?)));
        kept.filter(|(_, kept)| kept.minor() > 0).collect()
    }

    /// Which payments make up `amount`, or all, of what there is of each in the deposit's currency.
    pub(super) fn parts(
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
    pub(super) fn went_back(&self) -> bool {
        let currency = self.deposit.currency();
        let minor = |money: Option<Money>| money.map_or(0, Money::minor);
        let mut here = self.payments.iter().filter(|paid| {
            let of_deposit = paid.amount.is_some_and(|it| it.currency() == currency);
            of_deposit && minor(paid.amount) > minor(paid.returned)
        });
        !self.payments.is_empty() && here.next().is_none()
    }

    pub(super) fn knows_refunds(&self) -> bool {
        self.payments.iter().any(|paid| paid.returned.is_some())
    }

    /// What the bank took of a payment for good.
    pub(super) fn lost_of(&self, payment_ref: &str) -> Option<Money> {
        let lost = self.disputes.values();
        let lost =
            lost.filter(|it| it.payment_ref == payment_ref && it.status == DisputeStatus::Lost);
        lost.map(|it| it.amount).max_by_key(|amount| amount.minor())
    }
}

impl Paid {
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
    pub(super) fn refundable(&self) -> Option<Money> {
        let kept = self.kept()?;
        let sum = kept.minor().saturating_add(self.still_owed());
        Money::new(sum, kept.currency()).ok()
    }

    /// What came to nothing, as far as no newer order stands for it.
    pub(super) fn still_owed(&self) -> i64 {
        let made_up: i64 = self.on_the_way().map(|order| order.makes_up).sum();
        (self.refunds.stranded - made_up).max(0)
    }

    /// The orders that are not on the payment's row yet.
    fn on_the_way(&self) -> impl Iterator<Item = &Order> {
        let known = |(key, _): &(&String, &Order)| !self.refunds.keys.contains(*key);
        self.orders.iter().filter(known).map(|(_, order)| order)
    }

    /// Adds up what went back, is on its way or was to.
    pub(super) fn tally(&mut self) {
        let on_the_way = self.on_the_way();
        let on_the_way: i64 = on_the_way.map(|it| it.amount.minor() - it.makes_up).sum();
        let sum = self.refunds.returned + on_the_way;
        let currency = self.amount.map(Money::currency);
        let returned = currency.and_then(|currency| Money::new(sum, currency).ok());
        self.returned = returned.filter(|returned| returned.minor() > 0);
    }
}
