//! Roles in use: nothing is denied that is needed, nothing is allowed that is not, and one role alone
//! can say that a deposit is paid.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem, Update};
use chrono::Duration;
use fleet_tests::{Booked, PHONE_E164, Town, deposit_paid, session_event};
use local_cloud::{FaultKind, FaultRule};
use serde_json::{Value, json};

use crate::messages::support::*;

async fn booked(town: &Town, resource: &str, starts_at: &str) -> Booked {
    let mut wish = wish_at(town, resource, starts_at);
    wish["party"] = json!(3);
    wish["email"] = json!("philippa.quillfeather@example.net");
    let booked = town.book(&wish).await;
    town.settle().await;
    booked
}

async fn paid(town: &Town, booked: &Booked) {
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303, "{}", led.text);
    assert_eq!(town.pay_session(&led, "4000000000000002").0, 402);
    assert_eq!(town.pay_session(&led, "4242424242424242").0, 200);
    town.settle().await;
    assert_eq!(town.state(booked), "CONFIRMED");
}

async fn ordered(town: &Town, booked: &Booked, order: &str, body: Value) {
    let answer = town.staff(booked, order, &body).await;
    assert_eq!(answer.status, 200, "{order}: {}", answer.text);
    town.settle().await;
}

/// A day on which everything happens that the fleet can do.
async fn an_eventful_day(town: &Town) {
    let faults = town.fleet.cloud.faults();
    let comes = booked(town, "table-4", "2026-07-09T19:00").await;
    paid(town, &comes).await;
    let unmarked = booked(town, "table-5", "2026-07-09T19:00").await;
    paid(town, &unmarked).await;
    let unpaid = booked(town, "table-4", "2026-07-09T22:00").await;
    let cancelled = booked(town, "table-5", "2026-07-09T22:00").await;
    paid(town, &cancelled).await;
    let order = json!({"by": "business", "reason": "storm"});
    ordered(town, &cancelled, "cancel", order).await;
    let moved = booked(town, "tasting", "2026-07-10T15:00").await;
    let order = json!({"starts_at": "2026-07-10T16:00"});
    ordered(town, &moved, "reschedule", order).await;

    let list = "/slots?resource=tasting&party=2&from=2026-07-10T15:00&to=2026-07-10T20:00";
    assert_eq!(town.get(list).await.status, 200);
    let show = format!("/bookings/{}", comes.id);
    assert_eq!(town.get(&show).await.status, 200);
    let wish = wish_at(town, "table-4", "2026-07-09T17:00");
    assert_eq!(town.post_booking(&wish, Some("key-1")).await.status, 201);
    odd_payments(town, &comes).await;

    // A text that nobody answers for, a mail after STOP, and a text from nowhere.
    faults.add(FaultRule::once("bdc-composer", "Publish", FaultKind::Slow));
    let unanswered = booked(town, "table-5", "2026-07-10T19:00").await;
    town.fleet.cloud.reply_by_sms(PHONE_E164, "STOP");
    town.fleet.cloud.reply_by_sms("nobody", "STOP");
    town.advance(Duration::minutes(5)).await;
    ordered(
        town,
        &unanswered,
        "cancel",
        json!({"by": "customer", "reason": ""}),
    )
    .await;
    town.fleet.cloud.reply_by_sms(PHONE_E164, "START");

    // A row that the stream gives up on.
    let down = FaultRule::once("bdc-relay", "SendMessageBatch", FaultKind::CrashBefore);
    faults.add(down.times(13));
    booked(town, "table-5", "2026-07-10T13:00").await;
    town.advance(Duration::minutes(12)).await;
    assert_eq!(waiting(town, "bdc-relay-dlq").len(), 1);

    town.advance_to("2026-07-09T19:45:00Z").await;
    assert_eq!(town.state(&unpaid), "RELEASED");
    // Too late to be booked, and still answered by its key.
    assert_eq!(town.post_booking(&wish, Some("key-1")).await.status, 201);
    let late = deposit_paid(town, &unpaid, "evt_late", "pi_late");
    assert_eq!(town.webhook(&late).await.status, 200);
    ordered(town, &comes, "attendance", json!({"attended": true})).await;
    town.advance(Duration::hours(4)).await;
    assert_eq!(town.state(&comes), "APPLIED");
    assert_eq!(town.state(&unmarked), "CONFIRMED");
    ordered(town, &unmarked, "attendance", json!({"attended": false})).await;
    town.advance(Duration::hours(1)).await;
    assert_eq!(town.state(&unmarked), "FORFEITED");
    the_morning_after(town, &comes).await;
    held_again(town).await;
}

/// A dispute, the digest of what is open, what proves the booking, and the case closed.
async fn the_morning_after(town: &Town, comes: &Booked) {
    let payment = town.row(comes)["payment_ref"].as_str().unwrap().to_owned();
    let dispute = format!("/_sandbox/payments/{payment}/dispute");
    let (status, answer) = town.provider("POST", &dispute, &json!({"reason": "fraudulent"}));
    assert_eq!(status, 200, "{answer}");
    town.advance_to("2026-07-10T07:05:00Z").await;
    let digests = town.mails().into_iter();
    assert_eq!(digests.filter(|mail| mail.kind == "digest").count(), 1);
    let evidence = format!("/bookings/{}/evidence", comes.id);
    let read = town.as_staff("GET", &evidence, &Value::Null).await;
    assert_eq!(read.status, 200, "{}", read.text);
    let open = town
        .as_staff("GET", "/cases?status=open", &Value::Null)
        .await;
    assert_eq!(open.status, 200, "{}", open.text);
    let done = json!({"reason": "handed in"});
    let close = format!("/cases/{}%23disputed/close", comes.id);
    let closed = town.as_staff("POST", &close, &done).await;
    assert_eq!(closed.status, 200, "{}", closed.text);
}

/// As many unpaid bookings as the day needs at once, so that a later one looks for those that are
/// over.
fn town_with_few_holds() -> Town {
    let mut venue: Value = serde_json::from_str(paidonce_core::venue::BUILT_IN).unwrap();
    venue["holds"] = json!({"per_phone": 4, "per_source": 1000});
    Town::with_venue(&venue)
}

/// Money that was paid in time and heard of late, for a slot that is free: it is held again.
async fn held_again(town: &Town) {
    let booked = booked(town, "table-4", "2026-07-10T11:00").await;
    let paid_at = town.now().timestamp();
    let keep = json!({"by": "business", "reason": "closed"});
    let deadline = town.row(&booked)["deposit_deadline"].clone();
    town.advance_to(deadline.as_str().unwrap()).await;
    town.advance(Duration::minutes(6)).await;
    assert_eq!(town.state(&booked), "RELEASED");
    let mut late = deposit_paid(town, &booked, "evt_in_time", "pi_in_time");
    late["created"] = json!(paid_at);
    for id in ["evt_in_time", "evt_in_time_too"] {
        late["id"] = json!(id);
        assert_eq!(town.webhook(&late).await.status, 200);
    }
    town.settle().await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    ordered(town, &booked, "cancel", keep).await;
}

/// Money that doesn't fit, and signatures that are not known at first.
async fn odd_payments(town: &Town, comes: &Booked) {
    let second = deposit_paid(town, comes, "evt_second", "pi_second");
    assert_eq!(town.webhook(&second).await.status, 200);
    town.fleet.rotate_signing_secret("whsec_of_tomorrow");
    town.advance(Duration::seconds(1)).await;
    let ghost = json!({"metadata": {"booking_id": "bkg_01kx3bzgg0zzzzzzzzzzzzzzzz"},
        "payment_intent": "pi_ghost"});
    let mut ghost = session_event(town, "checkout.session.completed", "evt_ghost", &ghost);
    ghost["created"] = json!(town.now().timestamp() - 3600);
    assert_eq!(town.webhook(&ghost).await.status, 200);
    let body = second.to_string();
    let refused = town.post_event(body.as_bytes(), "t=1,v1=00").await;
    assert_eq!(refused.status, 400);
    town.settle().await;
}

#[tokio::test]
async fn every_permission_is_used_and_none_is_missing() {
    let town = town_with_few_holds();
    an_eventful_day(&town).await;
    // The dispute's was closed. The payments that were made up can't be refunded; the one that was unmarked is closed.
    let cases = [
        "late_payment",
        "refund_failed",
        "refund_failed",
        "refund_failed",
        "unanswered_send",
        "unknown_reference",
    ];
    assert_eq!(town.cases(), cases);
    assert_eq!(town.fleet.cloud.denied(), []);
    let mut unused = town.fleet.cloud.unused_permissions();
    // Dunning's are for its own stories.
    unused.retain(|permission| !permission.starts_with("dunr-"));
    assert_eq!(unused, Vec::<String>::new());
}

/// The ways to write an attribute of a booking: each ends as the code of its refusal, or as `ok`.
async fn tries(client: &Client, booking_id: &str) -> Vec<String> {
    let update = |expression: &str| {
        Update::builder()
            .table_name("bdc-bookings")
            .key("booking_id", text(booking_id))
            .update_expression(expression)
            .condition_expression("attribute_exists(booking_id)")
    };
    let set =
        update("SET payment_ref = :ref").expression_attribute_values(":ref", text("pi_forged"));
    let aliased = update("SET #a = :ref")
        .expression_attribute_names("#a", "payment_ref")
        .expression_attribute_values(":ref", text("pi_forged"));
    let row = [
        ("booking_id", text(booking_id)),
        ("payment_ref", text("pi_forged")),
    ];
    let row = row.map(|(name, value)| (name.to_owned(), value));
    let put = Put::builder()
        .table_name("bdc-bookings")
        .set_item(Some(row.into()));
    let items = [
        TransactWriteItem::builder().update(set.build().unwrap()),
        TransactWriteItem::builder().update(aliased.build().unwrap()),
        TransactWriteItem::builder().update(update("REMOVE payment_ref").build().unwrap()),
        TransactWriteItem::builder().put(put.build().unwrap()),
    ];
    let mut outcomes = Vec::new();
    for item in items {
        #[expect(clippy::disallowed_methods, reason = "what no function may do")]
        let write = client.transact_write_items();
        let written = write.transact_items(item.build()).send().await;
        outcomes.push(match written {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.code().unwrap_or_default().to_owned(),
        });
    }
    outcomes
}

#[tokio::test]
async fn no_role_but_the_webhooks_can_write_a_payment_reference() {
    let mut town = Town::new();
    let booked = town.pending().await;
    let before = town.row(&booked);
    let denied = "AccessDeniedException";
    let functions = town.fleet.cloud.functions().into_iter();
    let others: Vec<String> = functions.filter(|name| name != "bdc-webhook").collect();
    assert_eq!(others.len(), 18);
    for function in others {
        let client = lambda_kit::client!(
            aws_sdk_dynamodb,
            &town.fleet.cloud.setup(&function).unwrap().aws
        );
        let outcomes = tries(&client, &booked.id).await;
        assert_eq!(outcomes, [denied; 4], "{function}");
        assert_eq!(town.row(&booked), before, "{function}");
    }
    let client = lambda_kit::client!(
        aws_sdk_dynamodb,
        &town.fleet.cloud.setup("bdc-webhook").unwrap().aws
    );
    let outcomes = tries(&client, &booked.id).await;
    assert_eq!(
        outcomes,
        ["ok", "ok", "ok", denied],
        "it creates no booking"
    );
    town.unchecked = true;
}

#[tokio::test]
async fn no_role_can_change_or_delete_what_is_in_the_audit() {
    let mut town = Town::new();
    let booked = town.pending().await;
    let row = town.rows("bdc-audit").remove(0);
    for function in town.fleet.cloud.functions() {
        let client = lambda_kit::client!(
            aws_sdk_dynamodb,
            &town.fleet.cloud.setup(&function).unwrap().aws
        );
        #[expect(clippy::disallowed_methods, reason = "what no function may do")]
        let (update, delete) = (client.update_item(), client.delete_item());
        let key = || {
            [
                ("booking_id", text(&*booked.id)),
                ("ts", text(row["ts"].as_str().unwrap())),
            ]
        };
        let key = || key().map(|(name, value)| (name.to_owned(), value)).into();
        let update = update
            .table_name("bdc-audit")
            .set_key(Some(key()))
            .update_expression("SET why = :why")
            .expression_attribute_values(":why", text("because"));
        let delete = delete.table_name("bdc-audit").set_key(Some(key()));
        let codes = [
            update.send().await.unwrap_err().code().map(str::to_owned),
            delete.send().await.unwrap_err().code().map(str::to_owned),
        ];
        let denied = Some("AccessDeniedException".to_owned());
        assert_eq!(codes, [denied.clone(), denied], "{function}");
    }
    town.unchecked = true;
}

#[tokio::test]
async fn the_composer_can_publish_to_no_topic() {
    let mut town = Town::new();
    let aws = town.fleet.cloud.setup("bdc-composer").unwrap().aws;
    let sns = lambda_kit::client!(aws_sdk_sns, &aws);
    for topic in ["paidonce-alarms", "bdc-inbound-sms"] {
        let arn = format!("arn:aws:sns:eu-west-2:000000000000:{topic}");
        let published = sns.publish().topic_arn(arn).message("hello").send().await;
        let code = published.unwrap_err().code().map(str::to_owned);
        assert_eq!(code.as_deref(), Some("AccessDeniedException"), "{topic}");
    }
    town.unchecked = true;
}
