//! The pay page: who may see it, what looking costs, and how often it opens a session.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Duration, Utc};
use fleet_tests::{Answer, Booked, Town, deposit_paid};
use http::Request;
use paidonce_core::link::{LinkKey, Purpose};
use serde_json::json;

use crate::payments::support::{
    CARD, CASHIER, Recorder, everything, hasty_town, let_it_lapse, location, sessions, times,
};

fn writes(town: &Town) -> Vec<String> {
    let mut calls = town.calls(CASHIER);
    calls.retain(|call| call != "GetSecretValue" && call != "GetItem");
    calls
}

/// A link of our own making, genuine for what it says.
fn link(town: &Town, purpose: Purpose, id: &str, path_id: &str, expires: DateTime<Utc>) -> String {
    let key = LinkKey::new(town.fleet.link_key().as_bytes()).unwrap();
    let query = key.sign(purpose, id, expires);
    format!("{}pay/{path_id}?{query}", town.fleet.url(CASHIER))
}

async fn ask(town: &Town, method: &str, path: &str) -> Answer {
    let request = Request::builder().method(method).uri(path);
    town.request(CASHIER, request.body(Bytes::new()).unwrap())
        .await
}

#[tokio::test]
async fn bug_h04_looking_at_the_page_changes_nothing_however_often_and_the_button_still_works() {
    let town = Town::new();
    let booked = town.pending().await;
    let before = everything(&town);
    for method in ["HEAD", "GET", "GET", "HEAD", "GET", "GET"] {
        let page = town.cashier(method, booked.pay_url()).await;
        assert_eq!(page.status, 200, "{method}");
    }
    town.settle().await;
    assert_eq!(writes(&town), Vec::<String>::new());
    assert_eq!(everything(&town), before);
    assert_eq!(sessions(&town).len(), 0);

    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303);
    let before = everything(&town);
    for method in ["GET", "HEAD"] {
        assert_eq!(town.cashier(method, booked.pay_url()).await.status, 200);
    }
    assert_eq!(everything(&town), before);
    assert_eq!(town.pay_session(&led, CARD).0, 200);
    town.settle().await;
    assert_eq!(town.state(&booked), "CONFIRMED");
}

#[tokio::test]
async fn the_page_says_what_is_owed_and_leaks_nothing_of_its_address() {
    let town = Town::new();
    let mut wish = town.wish();
    wish["name"] = json!("<script>Philippa</script>");
    let booked = town.book(&wish).await;
    let page = town.cashier("GET", booked.pay_url()).await;
    for words in [
        "£20.00",
        "table for 2",
        "Sat 11 Jul 20:00",
        "The Anchor",
        "<form method=\"post\">",
    ] {
        assert!(page.text.contains(words), "{words} in {}", page.text);
    }
    assert!(!page.text.contains("script") && !page.text.contains("Philippa"));
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(page.headers["cache-control"], "no-store");
    assert_eq!(page.headers["referrer-policy"], "no-referrer");
    assert!(page.headers["content-security-policy"].contains("default-src 'none'"));
}

#[tokio::test]
async fn a_link_that_is_not_genuine_says_nothing_of_any_booking() {
    let town = Town::new();
    let booked = town.pending().await;
    let mut wish = town.wish();
    wish["resource"] = json!("table-5");
    let other = town.book(&wish).await;
    let nobody = format!("{}z", &booked.id[..booked.id.len() - 1]);
    let later = town.now() + Duration::hours(10);
    let with_id = |id: &str| booked.pay_url().replace(&booked.id, id);
    let forged = booked.pay_url().replace("sig=", "sig=A");
    let links = [
        forged.clone(),
        forged.replace(&booked.id, &nobody),
        with_id(&nobody),
        with_id(&other.id),
        with_id("%2e%2e"),
        booked.pay_url().replace("exp=", "exp=1"),
        booked.pay_url().split('?').next().unwrap().to_owned(),
        format!("{}pay/{}?exp=&sig=", town.fleet.url(CASHIER), booked.id),
        link(&town, Purpose::Manage, &booked.id, &booked.id, later),
        link(&town, Purpose::Pay, &other.id, &booked.id, later),
    ];
    let before = everything(&town);
    let mut pages = Vec::new();
    for link in &links {
        for method in ["GET", "POST"] {
            let page = town.cashier(method, link).await;
            pages.push((page.status, page.text));
        }
    }
    pages.dedup();
    assert_eq!(pages.len(), 1, "one and the same page: {pages:?}");
    assert_eq!(pages[0].0, 404);
    assert_eq!(
        times(&town.calls(CASHIER), "GetItem"),
        0,
        "not even looked up"
    );
    // A genuine link to a booking that is gone looks the same.
    let gone = link(&town, Purpose::Pay, &nobody, &nobody, later);
    let page = town.cashier("GET", &gone).await;
    assert_eq!((page.status, page.text), pages[0]);
    assert_eq!(everything(&town), before);
    assert_eq!(sessions(&town).len(), 0);
}

#[tokio::test]
async fn an_expired_link_says_so_and_where_to_find_another() {
    let town = Town::at("2026-07-11T16:30:00Z");
    let booked = town.pending().await;
    assert_eq!(town.cashier("GET", booked.pay_url()).await.status, 200);
    town.advance_to("2026-07-11T19:00:00Z").await;
    let before = everything(&town);
    for method in ["GET", "POST"] {
        let page = town.cashier(method, booked.pay_url()).await;
        assert_eq!(page.status, 410);
        assert!(page.text.contains("This link has expired"), "{}", page.text);
    }
    // Expired and forged is forged.
    let forged = booked.pay_url().replace("sig=", "sig=A");
    assert_eq!(town.cashier("GET", &forged).await.status, 404);
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn there_is_nothing_else_behind_the_url() {
    let town = Town::new();
    let booked = town.pending().await;
    let before = everything(&town);
    let path = format!("/pay/{}", booked.id);
    for (method, path) in [
        ("DELETE", path.as_str()),
        ("PUT", &path),
        ("GET", "/"),
        ("GET", "/pay"),
        ("POST", "/paid"),
        ("GET", "/pay/a/b"),
        ("GET", "/refund"),
    ] {
        assert_eq!(
            ask(&town, method, path).await.status,
            404,
            "{method} {path}"
        );
    }
    assert_eq!(ask(&town, "GET", "/paid").await.status, 200);
    let huge = Request::post(&path)
        .body(Bytes::from(vec![b'x'; 5_000]))
        .unwrap();
    assert_eq!(town.request(CASHIER, huge).await.status, 413);
    assert_eq!(everything(&town), before);
    assert_eq!(writes(&town), Vec::<String>::new());
}

#[tokio::test]
async fn a_second_press_leads_to_the_same_page_without_asking_the_provider() {
    let (town, recorder) = Recorder::town(None);
    let booked = town.pending().await;
    let first = town.press_pay(booked.pay_url()).await;
    assert_eq!(first.status, 303);
    let before = town.row(&booked);
    town.forget_calls();
    for _ in 0..3 {
        let again = town.press_pay(booked.pay_url()).await;
        assert_eq!((again.status, location(&again)), (303, location(&first)));
    }
    assert_eq!(writes(&town), Vec::<String>::new());
    assert_eq!(town.row(&booked), before);
    assert_eq!((recorder.asked().len(), sessions(&town).len()), (1, 1));
    let session = &sessions(&town)[0];
    assert_eq!(
        (&session["amount_total"], &session["currency"]),
        (&json!(2000), &json!("gbp"))
    );
    assert_eq!(session["client_reference_id"], booked.id.as_str());
    assert_eq!(session["metadata"]["booking_id"], booked.id.as_str());
    let (key, _) = &recorder.asked()[0];
    assert_eq!(*key, format!("deposit:{}:1", booked.id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn presses_at_once_open_one_session() {
    for round in 0..8 {
        let (town, recorder) = Recorder::town(None);
        let booked = town.pending().await;
        let town = Arc::new(town);
        let presses = (0..10).map(|_| {
            let (town, url) = (Arc::clone(&town), booked.pay_url().to_owned());
            tokio::spawn(async move { town.press_pay(&url).await })
        });
        let mut pages = Vec::new();
        for led in futures::future::join_all(presses).await {
            let led = led.unwrap();
            assert!(
                led.status == 303 || led.status == 503,
                "{round}: {}",
                led.status
            );
            pages.extend(led.headers.get("location").cloned());
        }
        assert!(!pages.is_empty());
        pages.dedup();
        assert_eq!(
            (pages.len(), sessions(&town).len()),
            (1, 1),
            "round {round}"
        );
        let mut asked = recorder.asked();
        asked.dedup();
        assert_eq!(asked.len(), 1, "one key and one body");
        assert_eq!(times(&town.history(&booked), "payment page intended"), 1);
        assert_eq!(times(&town.history(&booked), "payment page opened"), 1);
    }
}

async fn assert_both(town: &Town, booked: &Booked, status: u16, words: &str) {
    let before = everything(town);
    for method in ["GET", "HEAD", "POST"] {
        let page = town.cashier(method, booked.pay_url()).await;
        assert_eq!(page.status, status, "{method}");
        assert!(page.text.contains(words), "{method}: {}", page.text);
        assert_eq!(location(&page), "");
    }
    assert_eq!(everything(town), before);
    assert_eq!(sessions(town).len(), 0);
}

#[tokio::test]
async fn after_the_deadline_there_is_nothing_to_pay() {
    let town = hasty_town().await;
    let booked = town.pending().await;
    crate::payments::support::pass_the_deadline(&town).await;
    assert_eq!(town.state(&booked), "PENDING", "the sweep has not come yet");
    assert_both(&town, &booked, 410, "This hold has ended").await;
    town.advance(Duration::minutes(5)).await;
    assert_eq!(town.state(&booked), "RELEASED");
    assert_both(&town, &booked, 410, "This hold has ended").await;
}

#[tokio::test]
async fn a_lapsed_bookings_link_does_not_sell_the_slot_again() {
    let town = hasty_town().await;
    let first = town.pending().await;
    let_it_lapse(&town, &first).await;
    let second = town.pending().await;
    assert_both(&town, &first, 410, "This hold has ended").await;
    assert_eq!(town.cashier("GET", second.pay_url()).await.status, 200);
}

#[tokio::test]
async fn a_paid_or_cancelled_booking_asks_for_nothing() {
    let town = Town::new();
    let booked = town.pending().await;
    let event = deposit_paid(&town, &booked, "evt_1", "pi_1");
    assert_eq!(town.webhook(&event).await.status, 200);
    assert_both(&town, &booked, 200, "All paid").await;
    let cancelled = town
        .staff(
            &booked,
            "cancel",
            &json!({"by": "business", "reason": "flood"}),
        )
        .await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    assert_both(&town, &booked, 410, "This hold has ended").await;
}

#[tokio::test]
async fn a_provider_that_refuses_is_our_fault_and_changes_nothing_for_the_customer() {
    let town = Town::new();
    let booked = town.pending().await;
    let good = town
        .fleet
        .cloud
        .secrets()
        .remove("bdc-provider-key")
        .unwrap();
    town.fleet
        .cloud
        .set_secret("bdc-provider-key", "rk_test_of_somebody_else");
    for _ in 0..2 {
        let page = town.press_pay(booked.pay_url()).await;
        assert_eq!(page.status, 502);
        assert!(page.text.contains("Nothing was charged"), "{}", page.text);
    }
    assert_eq!(town.counted(CASHIER, "session_refused"), 2);
    let row = town.row(&booked);
    assert_eq!(
        (town.state(&booked).as_str(), &row["session"]["attempt"]),
        ("PENDING", &json!(1))
    );
    assert!(row["session"]["opened"].is_null());
    assert_eq!((sessions(&town).len(), town.kinds().len()), (0, 1));
    assert_eq!(town.cashier("GET", booked.pay_url()).await.status, 200);
    town.fleet.cloud.set_secret("bdc-provider-key", &good);
    town.advance(Duration::minutes(5)).await;
    assert_eq!(town.press_pay(booked.pay_url()).await.status, 303);
}
