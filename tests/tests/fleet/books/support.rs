//! Bookings that go through pay, refund and dispute, and the operator's commands as library calls.

use std::collections::BTreeMap;

use bytes::Bytes;
use chrono::NaiveDate;
use fleet_tests::{Booked, Town};
use http::Request;
use lambda_kit::{Entropy, SecretCache};
use ops::Tables;
use ops::books::{Books, Listed, Period, TieOut, read};
use ops::forget::{Forgetting, Outcome, PRIVACY_SALT};
use paidonce_core::booking::Command;
use paidonce_core::booking_step::{self, Origin};
use paidonce_core::carry_out::{Done, Order};
use paidonce_core::phone::Phone;
use provider::{Provider, Secret};
use serde_json::{Value, json};

/// What the template calls the policy that an operator has.
pub const POLICY: &str = "BdcOperatorPolicy";
pub const PHONE: &str = "+447700900123";

/// A booking of the customer at a time, whose deposit request was texted.
pub async fn booked(town: &Town, starts_at: &str) -> Booked {
    let mut wish = town.wish();
    wish["starts_at"] = json!(starts_at);
    let booked = town.book(&wish).await;
    town.settle().await;
    booked
}

/// Pays on the provider's page; returns the payment's id. What follows from it has not run.
pub async fn pay(town: &Town, booked: &Booked) -> String {
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303, "{}", led.text);
    let (status, session) = town.pay_session(&led, "4242424242424242");
    assert_eq!(status, 200, "{session}");
    session["payment_intent"].as_str().unwrap().to_owned()
}

/// A booking whose deposit is paid; with the payment's id.
pub async fn confirmed(town: &Town, starts_at: &str) -> (Booked, String) {
    let booked = booked(town, starts_at).await;
    let payment_ref = pay(town, &booked).await;
    town.settle().await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    (booked, payment_ref)
}

pub async fn staff(town: &Town, booked: &Booked, order: &str, body: Value) {
    let answer = town.staff(booked, order, &body).await;
    assert_eq!(answer.status, 200, "{order}: {}", answer.text);
    town.settle().await;
}

/// The customer came or did not, and the deposit is settled.
pub async fn settled(town: &Town, booked: &Booked, attended: bool) {
    let ends_at = town.row(booked)["place"]["ends_at"]
        .as_str()
        .unwrap()
        .to_owned();
    if town.now() < ends_at.parse::<chrono::DateTime<chrono::Utc>>().unwrap() {
        town.advance_to(&ends_at).await;
    }
    staff(town, booked, "attendance", json!({"attended": attended})).await;
    town.advance(chrono::Duration::hours(3)).await;
    let wanted = if attended { "APPLIED" } else { "FORFEITED" };
    assert_eq!(town.state(booked), wanted);
}

/// Carries an order of the staff out, as their API does.
pub async fn order(town: &Town, booked: &Booked, command: Command) {
    let environment = town.fleet.cloud.setup("bdc-intake").unwrap().environment;
    let tables = booking_step::Tables {
        slots: environment.text("SLOTS_TABLE"),
        cashier_queue: environment.text("CASHIER_QUEUE"),
        ..booking_step::Tables::named(|name| environment.text(name))
    };
    let entropy = Entropy::from_os();
    let new_id = || entropy.ulid(town.now());
    let order = Order {
        client: &town.fleet.cloud.dynamodb(),
        tables: &tables,
        command,
        command_id: format!("staff-{}", new_id()),
        origin: Origin {
            who: "staff",
            correlation_id: "staff",
        },
        now: town.now(),
        new_id: &new_id,
    };
    let done = order.carry_out(&booked.id).await.unwrap();
    assert!(matches!(done, Done::Moved(_)));
    town.settle().await;
}

/// Makes something happen at the provider, and lets all that follows run.
pub async fn happens(town: &Town, path: &str, body: Value) -> Value {
    let (status, answer) = town.provider("POST", &format!("/_sandbox/{path}"), &body);
    assert_eq!(status, 200, "{path}: {answer}");
    town.settle().await;
    answer
}

/// A request to the provider's API, as whoever has the account's key.
pub fn as_another_product(town: &Town, path: &str, form: &str) -> Value {
    let key = town
        .fleet
        .cloud
        .secrets()
        .remove("bdc-provider-key")
        .unwrap();
    let request = Request::post(path)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Bytes::from(form.to_owned()))
        .unwrap();
    let answer = town.fleet.sandbox.call(request, town.now());
    let body: Value = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(answer.status().as_u16(), 200, "{body}");
    body
}

pub fn period(from: &str, to: &str) -> Period {
    let day = |text: &str| text.parse::<NaiveDate>().unwrap();
    Period::new(day(from), day(to), chrono_tz::Europe::London).unwrap()
}

/// July, in which every town starts.
pub fn july() -> Period {
    period("2026-07-01", "2026-07-31")
}

/// The books of a period, tied out, with no more than an operator may do.
pub async fn books_of(town: &Town, period: Period) -> Books {
    let aws = town.fleet.cloud.principal(POLICY);
    let dynamodb = lambda_kit::client!(aws_sdk_dynamodb, &aws);
    let secret = SecretCache::new(&aws, "bdc-provider-key".to_owned());
    let secret = secret.get(town.now()).await.unwrap();
    let url = format!("{}/stripe", town.fleet.base_url());
    let provider = Provider::new(&aws, &url, "2026-07-29.dahlia");
    let key = Secret::new(secret.current());
    let listed = Listed::of(&provider, &key, &period).await.unwrap();
    let tie_out = TieOut::new(listed, &period);
    let tables = Tables::default();
    let mut looked_at = 0;
    let mut progress = |rows| looked_at = rows;
    let books = read(&dynamodb, &tables, period, Some(tie_out), &mut progress)
        .await
        .unwrap();
    assert_eq!(looked_at, books.rows);
    books
}

pub async fn books(town: &Town) -> Books {
    books_of(town, july()).await
}

/// What accounts in pounds stand at in the end, without those at nothing.
pub fn closing(books: &Books) -> BTreeMap<&'static str, i64> {
    let accounts = books.closing.iter();
    let standing = accounts.filter(|((currency, _), sum)| *currency == "GBP" && **sum != 0);
    standing
        .map(|((_, account), sum)| (account.as_str(), *sum))
        .collect()
}

/// What the provider's own ledger says that it has of us, its fees for charges apart.
pub fn at_the_provider(town: &Town) -> i64 {
    let ledger = town.fleet.sandbox.ledger();
    let total = |what: &str| ledger["totals"]["gbp"][what].as_i64().unwrap_or_default();
    let charges = ledger["charges"].as_array().unwrap().iter();
    let charge_fees: i64 = charges.filter_map(|charge| charge["fee"].as_i64()).sum();
    total("captured") - total("refunded") - total("disputed") - (total("fees") - charge_fees)
}

/// Forgets a person with no more than an operator may do.
pub async fn forget_as(town: &Town, phone: &str, dry_run: bool) -> Outcome {
    let aws = town.fleet.cloud.principal(POLICY);
    let forgetting = Forgetting {
        client: &lambda_kit::client!(aws_sdk_dynamodb, &aws),
        tables: &Tables::default(),
        privacy_salt: &SecretCache::new(&aws, PRIVACY_SALT.to_owned()),
        by: "maria",
        entropy: &Entropy::from_os(),
        now: town.now(),
        dry_run,
    };
    let phone = Phone::try_from(phone.to_owned()).unwrap();
    forgetting.person(&phone, &mut |_| ()).await.unwrap()
}

pub async fn forget(town: &Town) -> Outcome {
    forget_as(town, PHONE, false).await
}

pub async fn says(town: &Town, text: &str) {
    town.fleet.cloud.reply_by_sms(PHONE, text);
    town.advance(chrono::Duration::seconds(1)).await;
}
