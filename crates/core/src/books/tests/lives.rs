//! Random lives of a booking, through the machines, against what the rows say in the end.

use proptest::prelude::*;

use super::world::World;
use super::{Account, balances};
use crate::booking::{CancelledBy, Paid, State};
use crate::dispute::DisputeStatus;
use crate::money::Money;
use crate::refund::{PaymentRow, Progress, RefundStatus};

#[derive(Clone, Copy, Debug)]
enum Turn {
    Pay(i64),
    Release,
    Waive,
    Cancel(CancelledBy),
    Visit(bool),
    Reverse(bool),
    Refund(i64),
    /// The cashier takes one order; the provider may say no.
    GiveBack(Option<RefundStatus>),
    FailRefund,
    RefundByHand(i64),
    Dispute(DisputeStatus),
}

fn turn() -> impl Strategy<Value = Turn> {
    let amount = prop_oneof![
        Just(2000_i64),
        Just(500),
        Just(1500),
        Just(2500),
        1_i64..3000
    ];
    let status = prop_oneof![
        Just(RefundStatus::Pending),
        Just(RefundStatus::Succeeded),
        Just(RefundStatus::Failed)
    ];
    let dispute = prop_oneof![
        Just(DisputeStatus::WarningNeedsResponse),
        Just(DisputeStatus::NeedsResponse),
        Just(DisputeStatus::Won),
        Just(DisputeStatus::Prevented),
        Just(DisputeStatus::Lost),
    ];
    let by = prop_oneof![Just(CancelledBy::Customer), Just(CancelledBy::Business)];
    prop_oneof![
        6 => amount.clone().prop_map(Turn::Pay),
        1 => Just(Turn::Release),
        1 => Just(Turn::Waive),
        1 => by.prop_map(Turn::Cancel),
        2 => any::<bool>().prop_map(Turn::Visit),
        2 => any::<bool>().prop_map(Turn::Reverse),
        3 => amount.clone().prop_map(Turn::Refund),
        5 => proptest::option::weighted(0.9, status).prop_map(Turn::GiveBack),
        2 => Just(Turn::FailRefund),
        2 => amount.prop_map(Turn::RefundByHand),
        1 => dispute.prop_map(Turn::Dispute),
    ]
}

fn lived(turns: Vec<Turn>, partial: bool) -> World {
    let mut world = World::new();
    if partial {
        world.booking.policy.free_cancellation = 100_000;
        world.booking.policy.partial_cancellation = Some(crate::venue::PartialCancellation {
            until: 0,
            percent: 33,
        });
    }
    for turn in turns {
        match turn {
            Turn::Pay(minor) => world.pay(minor),
            Turn::Release => world.release(),
            Turn::Waive => world.waive(),
            Turn::Cancel(by) => world.cancel(by),
            Turn::Visit(attended) => world.visit(attended),
            Turn::Reverse(refund) => world.reverse(refund),
            Turn::Refund(minor) => world.refund(minor),
            Turn::GiveBack(status) => {
                if let Some(order) = world.orders.pop() {
                    world.give_back_one(order, status);
                }
            }
            Turn::FailRefund => world.fail_last_refund(),
            Turn::RefundByHand(minor) => world.refund_by_hand(minor),
            Turn::Dispute(status) => world.dispute(status),
        }
    }
    world.give_back(RefundStatus::Succeeded);
    world
}

/// What went out to the customer and did not come back.
fn made(row: &PaymentRow) -> i64 {
    let live = row
        .refunds
        .values()
        .filter(|refund| matches!(refund.progress, Progress::Known(status) if status.is_live()));
    live.map(|refund| refund.amount.minor()).sum()
}

fn minor(amount: Option<Money>) -> i64 {
    amount.map_or(0, Money::minor)
}

/// What is still held for the customer of one payment: the deposit while the visit is to come, and
/// what is to go back, or could not.
fn held(world: &World, row: &PaymentRow) -> i64 {
    let mut payments = world.booking.payments.iter();
    let paid = payments.find(|paid| paid.payment_ref == row.payment_ref);
    let Some(paid) = paid else {
        return minor(row.amount) - made(row);
    };
    let to_go_back = minor(paid.returned) - made(row);
    let kept = minor(paid.kept());
    let standing = match world.booking.state {
        State::Pending | State::Confirmed | State::Released => kept,
        State::Cancelled => (kept - earned(paid)).max(0),
        State::Applied | State::Forfeited if paid.counted.is_some() => 0,
        State::Applied | State::Forfeited => kept,
    };
    to_go_back + standing
}

/// What is kept of a cancelled booking, as far as it has not been given back since.
fn earned(paid: &Paid) -> i64 {
    minor(paid.retained)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_books_of_any_life_balance_and_say_what_is_held(
        turns in proptest::collection::vec(turn(), 0..14),
        partial in any::<bool>(),
    ) {
        let world = lived(turns, partial);
        let balances = balances(&world);
        let of = |account: Account| balances.get(account.as_str()).copied().unwrap_or_default();

        let mut clearing = 0;
        let mut lost = false;
        for row in &world.payments {
            clearing += minor(row.amount) - made(row);
            for dispute in row.disputes.values() {
                clearing -= minor(dispute.withdrawn) - minor(dispute.reinstated);
                clearing -= minor(dispute.fee) - minor(dispute.fee_returned);
                lost |= dispute.status == DisputeStatus::Lost;
            }
        }
        prop_assert_eq!(of(Account::ProviderClearing), clearing);

        let owed = -of(Account::DepositLiability) - of(Account::UnallocatedPayments);
        let held: i64 = world.payments.iter().map(|row| held(&world, row)).sum();
        if !lost {
            prop_assert_eq!(owed, held);
            let standing = world.booking.state == State::Confirmed;
            let deposit = if standing { world.booking.kept().minor() } else { 0 };
            prop_assert_eq!(-of(Account::DepositLiability), deposit);
        }
        for account in [Account::RevenueApplied, Account::RevenueForfeited, Account::CancellationRevenue] {
            prop_assert!(of(account) <= 0, "{} is not below nothing", account.as_str());
        }
    }
}
