//! B9 to B11: events before their booking, of nobody's booking, and in any order.

use std::collections::BTreeSet;

use fleet_tests::{Booked, CARD, Town};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::hard_cases::support::{
    brisk_town, case, minutes, mischief, move_refund, next_refund, sweep, take, told,
};

fn stranger(town: &Town) -> Booked {
    let id = format!("bkg_{}", &"01jzq0".repeat(5)[..26]);
    let is_known = |row: &Value| row["booking_id"] == id.as_str();
    assert!(!town.rows("bdc-bookings").iter().any(is_known));
    Booked {
        id,
        answer: json!({"deposit": {"amount": 2000}}),
    }
}

#[tokio::test]
async fn b09_an_event_before_its_booking_comes_again_and_then_is_one_case() {
    let town = Town::new();
    let unknown = stranger(&town);
    let page = town.page_by_hand(&unknown, 2000, "gbp");
    let payment = town.pay_page(&page, CARD);
    town.settle().await;
    assert_eq!(town.events(), Vec::<Value>::new(), "not taken yet");
    assert!(town.fleet.sandbox.webhook_counts().failed >= 1);
    assert_eq!(town.cases(), Vec::<String>::new());
    // The provider sends again after 1, 5 and 30 minutes.
    minutes(&town, 40).await;
    let facts = case(&town, "unknown_reference")["facts"].clone();
    assert_eq!(facts["payment_ref"], payment.as_str());
    assert_eq!(facts["paid"], json!({"amount": 2000, "currency": "GBP"}));
    take(&town, &told(&town, "checkout.session.completed")).await;
    assert_eq!(town.mails().len(), 1);
    assert_eq!(town.rows("bdc-bookings"), Vec::<Value>::new());
    // What becomes of it later is kept with it.
    town.refund_by_hand(&payment, None);
    town.settle().await;
    let refunds = town.payment(&payment)["refunds"].clone();
    assert_eq!(refunds.as_object().unwrap().len(), 1);
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b10_events_of_the_other_mode_or_another_product_touch_nothing() {
    let town = Town::new();
    let booked = town.pending().await;
    let before = (town.row(&booked), town.rows("bdc-slots"));
    town.withhold_events(true);
    town.pay(&booked, CARD).await;
    let real = told(&town, "checkout.session.completed");
    let mut live = real.clone();
    live["livemode"] = json!(true);
    live["id"] = json!("evt_live");
    town.withhold_events(false);
    let row = town.row(&booked);
    take(&town, &live).await;
    assert_eq!(town.row(&booked), row);
    assert_eq!(town.events()[0]["outcome"], "wrong_mode");
    // Another product's money on the same account: paid, refunded and disputed.
    let other = Booked {
        id: "order-77".to_owned(),
        answer: Value::Null,
    };
    let page = town.page_by_hand(&other, 1200, "gbp");
    let payment = town.pay_page(&page, CARD);
    town.settle().await;
    town.refund_by_hand(&payment, Some(100));
    town.dispute(&payment, false);
    town.settle().await;
    let row = town.payment(&payment);
    assert_eq!(row["booking_id"], Value::Null, "nobody's");
    assert!(row["expires_at"].is_i64(), "and forgotten in time");
    assert_eq!(town.cases(), Vec::<String>::new());
    assert_eq!(
        (town.state(&booked), town.rows("bdc-slots")),
        ("PENDING".to_owned(), before.1)
    );
    assert_eq!(town.fleet.sandbox.webhook_counts().failed, 0);
    take(&town, &real).await;
    assert_eq!(town.state(&booked), "CONFIRMED");
}

/// What happens to a payment at the provider after it was made.
#[derive(Clone, Copy, Debug)]
struct Story {
    refunded: Option<i64>,
    is_pending_first: bool,
    refund_fails: bool,
    dispute_ends: &'static str,
}

/// A town in which all of that has happened at the provider, and nothing is told yet. Returns the
/// events of the wanted kinds.
async fn untold(story: Story, kinds: &[&str]) -> (Town, Booked, String, Vec<Value>) {
    let town = Town::new();
    let booked = town.pending().await;
    town.withhold_events(true);
    let payment = town.pay(&booked, CARD).await;
    if story.is_pending_first {
        next_refund(&town, "pending");
    }
    let refund = town.refund_by_hand(&payment, story.refunded);
    let refund_id = refund["id"].as_str().unwrap();
    if story.is_pending_first {
        move_refund(&town, refund_id, "succeeded");
    }
    if story.refund_fails {
        move_refund(&town, refund_id, "failed");
    }
    let dispute = town.dispute(&payment, false);
    town.move_dispute(&dispute, story.dispute_ends);
    town.withhold_events(false);
    let mut events = town.told_by_provider();
    events.retain(|event| kinds.contains(&event["type"].as_str().unwrap()));
    (town, booked, payment, events)
}

/// All that must be the same in the end: the rows without their versions and who wrote last, the
/// cases, the texts, the calendar.
fn end(town: &Town, booked: &Booked, payment: &str) -> Value {
    let strip = |mut row: Value| {
        let fields = row.as_object_mut().unwrap();
        fields.retain(|name, _| name != "version" && name != "last_command");
        row
    };
    let mut payment_row = strip(town.payment(payment));
    for refund in payment_row["refunds"].as_object_mut().unwrap().values_mut() {
        // How often it was looked up.
        refund["tries"] = json!(0);
    }
    json!({
        "booking": strip(town.row(booked)),
        "payment": payment_row,
        "cases": town.cases(),
        "texts": town.kinds(),
        "holder": town.holder(booked.slot_key()),
        "refunds": town.refunds(),
    })
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = |order: &Vec<usize>| {
            let order = order.clone();
            let left = (0..count).filter(move |next| !order.contains(next));
            left.collect::<Vec<_>>()
        };
        let grown = all.iter().flat_map(|order| {
            let with = |next: usize| order.iter().copied().chain([next]).collect::<Vec<usize>>();
            longer(order).into_iter().map(with).collect::<Vec<_>>()
        });
        all = grown.collect();
    }
    all
}

const WON: Story = Story {
    refunded: Some(500),
    is_pending_first: false,
    refund_fails: false,
    dispute_ends: "won",
};

#[tokio::test]
async fn b11_every_order_of_a_payments_events_ends_the_same() {
    let kinds = [
        "checkout.session.completed",
        "charge.refunded",
        "refund.created",
        "charge.dispute.created",
        "charge.dispute.closed",
    ];
    let mut ends = BTreeSet::new();
    for order in permutations(kinds.len()) {
        let (town, booked, payment, events) = untold(WON, &kinds).await;
        assert_eq!(events.len(), kinds.len());
        for at in &order {
            let answer = town.webhook(&events[*at]).await;
            assert_eq!(answer.status, 200, "{order:?}");
        }
        town.settle().await;
        ends.insert(end(&town, &booked, &payment).to_string());
        town.assert_money_is_accounted_for();
        assert_eq!(ends.len(), 1, "{order:?}: {ends:#?}");
    }
    let end: Value = serde_json::from_str(ends.first().unwrap()).unwrap();
    assert_eq!(end["booking"]["state"], "CONFIRMED");
    assert_eq!(end["booking"]["payments"][0]["returned"]["amount"], 500);
    assert_eq!(end["cases"], json!(["disputed"]));
    assert_eq!(end["texts"], json!(["deposit_request", "confirmation"]));
}

/// Every event that the provider makes of a payment's money.
const ALL_KINDS: [&str; 10] = [
    "checkout.session.completed",
    "charge.refunded",
    "charge.refund.updated",
    "refund.created",
    "refund.updated",
    "refund.failed",
    "charge.dispute.created",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
    "charge.dispute.closed",
];

/// The end after the events came in this order, then those of `again` once more.
async fn end_after(story: Story, order: &[usize], again: &[usize], settles: bool) -> Value {
    let (town, booked, payment, events) = untold(story, &ALL_KINDS).await;
    for at in order.iter().chain(again) {
        // An order may name more events than the story has.
        let Some(event) = events.get(*at) else {
            continue;
        };
        assert_eq!(town.webhook(event).await.status, 200);
        if settles {
            town.settle().await;
        }
    }
    town.settle().await;
    town.assert_money_is_accounted_for();
    end(&town, &booked, &payment)
}

fn stories() -> impl Strategy<Value = Story> {
    let refunded = prop_oneof![Just(Some(500)), Just(None)];
    let ends = prop_oneof![Just("won"), Just("lost"), Just("prevented")];
    let story = |(refunded, is_pending_first, refund_fails, dispute_ends)| Story {
        refunded,
        is_pending_first,
        refund_fails,
        dispute_ends,
    };
    (refunded, any::<bool>(), any::<bool>(), ends).prop_map(story)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn b11_any_order_with_repeats_ends_like_the_order_in_which_it_happened(
        story in stories(),
        order in Just((0..14).collect::<Vec<usize>>()).prop_shuffle(),
        again in prop::collection::vec(0..14_usize, 0..6),
        settles in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let in_order: Vec<usize> = (0..14).collect();
        let (mut expected, mut found) = runtime.block_on(async {
            let expected = end_after(story, &in_order, &[], true).await;
            (expected, end_after(story, &order, &again, settles).await)
        });
        if story.refund_fails || story.dispute_ends == "lost" {
            // Whether the deposit seemed to be gone in between, and by whom, depends on the order.
            for end in [&mut found, &mut expected] {
                let cases = end["cases"].as_array_mut().unwrap();
                cases.retain(|case| case != "refunded_elsewhere");
            }
        }
        prop_assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn bug_b01_the_provider_itself_may_reorder_double_and_delay_all_of_it() {
    for rule in [
        json!({"reorder": true}),
        json!({"duplicates": 3, "new_id": true, "reorder": true, "delay_s": 20}),
        json!({"lose": 1, "duplicates": 1}),
    ] {
        let town = brisk_town();
        mischief(&town, &rule);
        let booked = town.pending().await;
        let payment = town.pay(&booked, CARD).await;
        let dispute = town.dispute(&payment, true);
        town.refund_by_hand(&payment, Some(700));
        town.move_dispute(&dispute, "warning_closed");
        minutes(&town, 10).await;
        sweep(&town, "bdc-cashier").await;
        town.settle().await;
        let row = town.row(&booked);
        assert_eq!(row["state"], "CONFIRMED", "{rule}");
        assert_eq!(row["payments"][0]["returned"]["amount"], 700, "{rule}");
        assert_eq!(
            row["disputes"][&dispute]["status"], "warning_closed",
            "{rule}"
        );
        town.assert_money_is_accounted_for();
    }
}
