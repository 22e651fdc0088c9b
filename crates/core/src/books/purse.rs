//! Where one payment's money stands, and the lines that moving it writes.

use std::collections::BTreeMap;

use super::account::Account;
use super::facts::{Fact, RefundKind};
use super::{Line, What};
use crate::money::{Currency, Money};

/// Where money stands. Several places are one account: what is on its way back must not be ordered
/// back twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Nobody's deposit, and not on its way back.
    Free,
    /// Ordered to go back.
    Ordered,
    /// It was to go back, and that failed: a person pays by other means.
    Stranded,
    Deposit,
    Applied,
    Forfeited,
    /// Kept of a cancellation.
    Retained,
    Credited,
}

use Place::{Applied, Credited, Deposit, Forfeited, Free, Ordered, Retained, Stranded};

/// Out of where the provider's own refund of an order is paid.
const MADE_OF: [Place; 8] = [
    Ordered, Free, Deposit, Applied, Forfeited, Retained, Credited, Stranded,
];
/// Out of where an order of ours takes it.
const ORDERED_OF: [Place; 7] = [
    Free, Deposit, Applied, Forfeited, Retained, Credited, Stranded,
];
/// An order of the staff stands first for what older ones did not bring back.
const ORDERED_BY_STAFF_OF: [Place; 7] = [
    Stranded, Free, Deposit, Applied, Forfeited, Retained, Credited,
];
/// What others give back pays first what we could not.
const BY_OTHERS_OF: [Place; 8] = [
    Stranded, Free, Deposit, Applied, Forfeited, Retained, Credited, Ordered,
];
/// What a bank keeps ends what is owed to the customer; beyond that it is a loss.
const LOST_OF: [Place; 5] = [Deposit, Free, Stranded, Credited, Ordered];

impl Place {
    fn account(self) -> Account {
        match self {
            Free | Ordered | Stranded => Account::UnallocatedPayments,
            Deposit => Account::DepositLiability,
            Applied => Account::RevenueApplied,
            Forfeited => Account::RevenueForfeited,
            Retained => Account::CancellationRevenue,
            Credited => Account::CustomerCredits,
        }
    }
}

pub(super) struct Purse {
    currency: Currency,
    held: BTreeMap<Place, i64>,
}

impl Purse {
    pub(super) fn of(currency: Currency) -> Self {
        Self {
            currency,
            held: BTreeMap::new(),
        }
    }

    /// Moves the money as the fact says; returns the lines of that, none if no account changes.
    pub(super) fn take_in(&mut self, fact: &Fact) -> Vec<Line> {
        let foreign = fact.amount.filter(|it| it.currency() != self.currency);
        let amount = fact.amount.map_or(0, Money::minor);
        let clearing = Account::ProviderClearing;
        match fact.what {
            What::PaymentReceived => {
                self.put(Free, amount);
                between(clearing, Free.account(), amount)
            }
            // Some of it may have gone back before we heard that it had come.
            What::DepositTaken => self.shift(&[Free], Deposit, amount.min(self.at(Free).max(0))),
            What::DepositApplied => self.shift(&[Deposit], Applied, self.at(Deposit)),
            What::DepositForfeited => self.shift(&[Deposit], Forfeited, self.at(Deposit)),
            What::BookingCancelled => self.cancel(amount),
            What::ForfeitReversed => self.shift(&[Forfeited], Free, self.at(Forfeited)),
            What::ForfeitCredited => self.shift(&[Forfeited], Credited, self.at(Forfeited)),
            What::RefundOrdered => {
                let from = if fact.by_staff {
                    ORDERED_BY_STAFF_OF
                } else {
                    ORDERED_OF
                };
                match fact.refund {
                    RefundKind::Refused => self.shift(&from, Stranded, amount),
                    RefundKind::None | RefundKind::Ours | RefundKind::ByOthers => {
                        self.shift(&from, Ordered, amount)
                    }
                }
            }
            What::RefundMade if fact.refund == RefundKind::ByOthers => {
                self.pay_out(&BY_OTHERS_OF, clearing, amount)
            }
            What::RefundMade => self.pay_out(&MADE_OF, clearing, amount),
            What::RefundFailed => {
                self.put(Stranded, amount);
                between(clearing, Stranded.account(), amount)
            }
            What::DisputeWithdrawn => between(Account::DisputedFunds, clearing, amount),
            What::DisputeReinstated => between(clearing, Account::DisputedFunds, amount),
            What::DisputeFee => between(Account::ProviderFees, clearing, amount),
            What::DisputeFeeReturned => between(clearing, Account::ProviderFees, amount),
            What::DisputeLost if foreign.is_some() => {
                between(Account::DisputeLosses, Account::DisputedFunds, amount)
            }
            What::DisputeLost => self.lose(amount),
        }
    }

    /// Called off: what the business keeps is earned, the rest of the deposit is to go back.
    fn cancel(&mut self, retained: i64) -> Vec<Line> {
        let retained = retained.min(self.at(Deposit));
        let mut lines = self.shift(&[Deposit], Retained, retained);
        lines.extend(self.shift(&[Deposit], Free, self.at(Deposit)));
        gathered(lines)
    }

    fn lose(&mut self, amount: i64) -> Vec<Line> {
        let owed: i64 = LOST_OF.iter().map(|place| self.at(*place).max(0)).sum();
        let mut lines = self.pay_out(&LOST_OF, Account::DisputedFunds, amount.min(owed));
        let loss = amount - amount.min(owed);
        lines.extend(between(
            Account::DisputeLosses,
            Account::DisputedFunds,
            loss,
        ));
        gathered(lines)
    }

    fn at(&self, place: Place) -> i64 {
        self.held.get(&place).copied().unwrap_or_default()
    }

    fn put(&mut self, place: Place, amount: i64) {
        *self.held.entry(place).or_default() += amount;
    }

    fn shift(&mut self, from: &[Place], to: Place, amount: i64) -> Vec<Line> {
        let lines = self.pay_out(from, to.account(), amount);
        self.put(to, amount);
        lines
    }

    /// Takes an amount out of places, in their order. What they don't have is owed by the first
    /// place of all, so that the books balance and the hole is seen.
    fn pay_out(&mut self, from: &[Place], to: Account, amount: i64) -> Vec<Line> {
        let mut left = amount;
        let mut lines = Vec::new();
        for place in from {
            let part = self.at(*place).clamp(0, left);
            self.put(*place, -part);
            lines.extend(between(place.account(), to, part));
            left -= part;
        }
        self.put(Free, -left);
        lines.extend(between(Free.account(), to, left));
        gathered(lines)
    }
}

fn between(debited: Account, credited: Account, amount: i64) -> Vec<Line> {
    gathered(vec![
        Line {
            account: debited,
            debit: amount,
            credit: 0,
        },
        Line {
            account: credited,
            debit: 0,
            credit: amount,
        },
    ])
}

/// One line for each account, debits first; none for an account that ends where it was.
fn gathered(lines: Vec<Line>) -> Vec<Line> {
    let mut sums: BTreeMap<Account, i64> = BTreeMap::new();
    for line in lines {
        *sums.entry(line.account).or_default() += line.signed();
    }
    let mut lines: Vec<Line> = sums
        .into_iter()
        .filter(|(_, sum)| *sum != 0)
        .map(|(account, sum)| Line {
            account,
            debit: sum.max(0),
            credit: (-sum).max(0),
        })
        .collect();
    lines.sort_by_key(|line| (line.credit > 0, line.account));
    lines
}
