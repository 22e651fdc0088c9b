//! Which events are believed: the signature, the bytes, the header, the time.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use bytes::Bytes;
use chrono::{DateTime, Duration};
use fleet_tests::{SIGNING_SECRET_NAME, Town, deposit_paid};
use http::Request;
use paidonce_core::signature::sign;
use serde_json::Value;

use crate::payments::support::{WEBHOOK, everything, invoke, ledger, raw_event};

/// A header that is genuine but for its time, in seconds from now.
fn signed_at(town: &Town, body: &[u8], seconds: i64) -> String {
    let secret = town
        .fleet
        .cloud
        .secrets()
        .remove(SIGNING_SECRET_NAME)
        .unwrap();
    let at = DateTime::from_timestamp(town.now().timestamp() + seconds, 0).unwrap();
    sign(body, &[&secret], at)
}

fn signature_of(header: &str) -> &str {
    header.split_once(",v1=").unwrap().1
}

#[tokio::test]
async fn bug_a01_the_signature_is_over_the_bytes_that_were_sent() {
    let town = Town::new();
    let booked = town.pending().await;
    let mut event = deposit_paid(&town, &booked, "evt_a01", "pi_a01");
    event["n"] = "café".into();
    let text = event
        .to_string()
        .replace("\":", "\" :  ")
        .replace('é', "\\u00e9");
    let header = town.signature(text.as_bytes());
    let same: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(same, event, "the same event in other bytes");

    let before = everything(&town);
    let answer = town.post_event(same.to_string().as_bytes(), &header).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (400, "bad_signature")
    );
    assert_eq!(everything(&town), before);
    assert_eq!(town.counted(WEBHOOK, "signature_fail"), 1);

    assert_eq!(town.post_event(text.as_bytes(), &header).await.status, 200);
    town.settle().await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    assert_eq!(
        ledger(&town),
        [("evt_a01".to_owned(), "confirmed".to_owned())]
    );
}

#[tokio::test]
async fn bug_a02_a_base64_body_is_decoded_and_one_that_is_none_is_refused_unread() {
    let town = Town::new();
    let booked = town.pending().await;
    let text = loop_until_awkward(deposit_paid(&town, &booked, "evt_a02", "pi_a02"));
    let header = town.signature(text.as_bytes());
    let headers = [("stripe-signature", header.as_str())];
    let encoded = STANDARD.encode(&text);
    let (url_safe, unpadded) = (URL_SAFE.encode(&text), STANDARD_NO_PAD.encode(&text));
    assert!(url_safe != encoded && unpadded != encoded);

    let before = everything(&town);
    for broken in ["%%%not-base64", &url_safe, &unpadded, ""] {
        let (status, _) = invoke(&town, raw_event(broken, Some(true), &headers)).await;
        assert_eq!(status, 400, "{broken}");
    }
    assert_eq!(town.calls(WEBHOOK), Vec::<String>::new());
    assert_eq!(everything(&town), before);

    // A literal body that could be base64: believed as it stands, and then it is no event.
    let literal = "MTIzNDU2";
    let own_header = town.signature(literal.as_bytes());
    let own_headers = [("stripe-signature", own_header.as_str())];
    let event = raw_event(literal, Some(false), &own_headers);
    assert_eq!(invoke(&town, event).await, (400, "not_an_event".to_owned()));
    assert_eq!(town.counted(WEBHOOK, "signature_fail"), 0);

    assert_eq!(
        invoke(&town, raw_event(&encoded, Some(true), &headers))
            .await
            .0,
        200
    );
    assert_eq!(town.state(&booked), "CONFIRMED");
    assert_eq!(invoke(&town, raw_event(&text, None, &headers)).await.0, 200);
    assert_eq!(
        invoke(&town, raw_event(&text, Some(false), &headers))
            .await
            .0,
        200
    );
    assert_eq!(ledger(&town).len(), 1);
}

/// The event in bytes whose base64 has padding, `+` and `/`.
fn loop_until_awkward(event: Value) -> String {
    let mut event = event;
    for blanks in 0..12 {
        event["note"] = format!("{}???>>>", " ".repeat(blanks)).into();
        let text = event.to_string();
        let encoded = STANDARD.encode(&text);
        if encoded.ends_with('=') && encoded.contains('/') && encoded.contains('+') {
            return text;
        }
    }
    panic!("no body of these is awkward");
}

#[tokio::test]
async fn bug_a03_the_case_of_the_headers_name_does_not_matter_and_two_values_are_none() {
    let town = Town::new();
    let booked = town.pending().await;
    let text = deposit_paid(&town, &booked, "evt_a03", "pi_a03").to_string();
    let genuine = town.signature(text.as_bytes());
    let other = format!("t={},v1={}", town.now().timestamp(), "0".repeat(64));

    let before = everything(&town);
    for values in [[genuine.as_str(), &other], [&other, &genuine]] {
        let headers = [
            ("stripe-signature", values[0]),
            ("Stripe-Signature", values[1]),
        ];
        let event = raw_event(&text, Some(false), &headers);
        assert_eq!(
            invoke(&town, event).await,
            (400, "bad_signature".to_owned())
        );
    }
    assert_eq!(everything(&town), before);
    for name in ["stripe-signature", "Stripe-Signature", "STRIPE-SIGNATURE"] {
        let event = raw_event(&text, Some(false), &[(name, genuine.as_str())]);
        assert_eq!(invoke(&town, event).await.0, 200, "{name}");
    }
    assert_eq!(town.state(&booked), "CONFIRMED");
}

#[tokio::test]
async fn bug_a04_any_one_of_several_signatures_is_enough_and_there_is_a_cap() {
    let town = Town::new();
    let booked = town.pending().await;
    let text = deposit_paid(&town, &booked, "evt_a04", "pi_a04").to_string();
    let header = town.signature(text.as_bytes());
    let (good, zeros) = (signature_of(&header), "0".repeat(64));
    let with = |signatures: &[&str]| {
        let time = town.now().timestamp();
        format!("t={time},v1={}", signatures.join(",v1="))
    };
    let before = everything(&town);
    let zeros = zeros.as_str();
    for refused in [with(&[zeros, zeros]), with(&[good; 50]), with(&[good; 17])] {
        assert_eq!(town.post_event(text.as_bytes(), &refused).await.status, 400);
    }
    assert_eq!(everything(&town), before);
    let mut sixteen = [zeros; 16];
    sixteen[15] = good;
    for accepted in [
        &[good, zeros][..],
        &[zeros, good],
        &[zeros, good, zeros],
        &sixteen,
    ] {
        assert_eq!(
            town.post_event(text.as_bytes(), &with(accepted))
                .await
                .status,
            200
        );
    }
    assert_eq!(town.state(&booked), "CONFIRMED");
    assert_eq!(ledger(&town).len(), 1);
}

#[tokio::test]
async fn bug_a05_a_time_far_from_ours_is_refused_in_either_direction() {
    let town = Town::new();
    let booked = town.pending().await;
    let text = deposit_paid(&town, &booked, "evt_a05", "pi_a05").to_string();
    let body = text.as_bytes();
    let before = everything(&town);
    let now = town.now().timestamp();
    let endless = "99999999999999999999";
    let mut refused: Vec<String> = [301, -301, 3_600, -3_600, 1_000_000_000_000, -now - 5]
        .map(|seconds| signed_at(&town, body, seconds))
        .into();
    assert!(refused[5].starts_with("t=-5,"));
    let good = signed_at(&town, body, 0);
    refused.push(good.replace(&now.to_string(), endless));
    refused.push(good.replace(&now.to_string(), &format!("+{now}")));
    refused.push(good.replace(&now.to_string(), &format!("0{now}")));
    refused.push(format!("t={now},{good}"));
    refused.push(good.replace("v1=", "v0="));
    for header in &refused {
        assert_eq!(town.post_event(body, header).await.status, 400, "{header}");
    }
    assert_eq!(everything(&town), before);
    assert_eq!(town.counted(WEBHOOK, "signature_fail"), 11);
    for seconds in [299, 300, -299, -300] {
        let header = signed_at(&town, body, seconds);
        assert_eq!(
            town.post_event(body, &header).await.status,
            200,
            "{seconds}"
        );
    }
    assert_eq!(town.state(&booked), "CONFIRMED");
}

#[tokio::test]
async fn bug_a05_a_clock_that_is_two_minutes_slow_still_takes_genuine_events() {
    let town = Town::new();
    let booked = town.pending().await;
    let mut event = deposit_paid(&town, &booked, "evt_slow", "pi_slow");
    event["created"] = (town.now() + Duration::seconds(120)).timestamp().into();
    let text = event.to_string();
    let header = signed_at(&town, text.as_bytes(), 120);
    assert_eq!(town.post_event(text.as_bytes(), &header).await.status, 200);
    assert_eq!(town.state(&booked), "CONFIRMED");
}

#[tokio::test]
async fn a_refused_event_makes_no_call_but_for_the_secret() {
    let town = Town::new();
    let booked = town.pending().await;
    let text = deposit_paid(&town, &booked, "evt_no", "pi_no").to_string();
    let genuine = town.signature(text.as_bytes());
    let before = everything(&town);

    let garbage = format!("t={},v1={}", town.now().timestamp(), "a".repeat(64));
    assert_eq!(town.post_event(text.as_bytes(), &garbage).await.status, 400);
    assert_eq!(
        town.calls(WEBHOOK),
        ["GetSecretValue"; 2],
        "the current and the previous"
    );
    for header in ["", "t=,v1=", "v1=00", &genuine.replace('t', "T"), &garbage] {
        assert_eq!(town.post_event(text.as_bytes(), header).await.status, 400);
    }
    let other_body = text.replace("2000", "2001");
    assert_eq!(
        town.post_event(other_body.as_bytes(), &genuine)
            .await
            .status,
        400
    );
    assert_eq!(town.counted(WEBHOOK, "signature_fail"), 7);
    let huge = vec![b' '; bdc_webhook::BODY_BYTES_MAX + 1];
    assert_eq!(
        town.post_event(&huge, &town.signature(&huge)).await.status,
        413
    );
    let get = Request::get("/").body(Bytes::new()).unwrap();
    assert_eq!(town.request(WEBHOOK, get).await.status, 405);
    assert_eq!(town.calls(WEBHOOK).len(), 2, "the secret is warm");
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn what_is_signed_and_no_event_is_refused_for_good() {
    let town = Town::new();
    town.pending().await;
    let before = everything(&town);
    let session = r#"{"id":"evt_1","type":"checkout.session.completed","created":1,"livemode":false,"data":{"object":[]}}"#;
    for body in ["null", "[]", "{", "{\"id\":\"\"}", session, "\u{feff}{}"] {
        let answer = town
            .post_event(body.as_bytes(), &town.signature(body.as_bytes()))
            .await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "not_an_event"),
            "{body}"
        );
    }
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn a_warm_webhook_makes_two_calls_one_after_the_other() {
    let town = Town::new();
    let (first, second) = (town.pending().await, {
        let mut wish = town.wish();
        wish["resource"] = "table-5".into();
        town.book(&wish).await
    });
    town.settle().await;
    let event = deposit_paid(&town, &first, "evt_1", "pi_1");
    assert_eq!(town.webhook(&event).await.status, 200);
    town.forget_calls();
    let event = deposit_paid(&town, &second, "evt_2", "pi_2");
    assert_eq!(town.webhook(&event).await.status, 200);
    assert_eq!(town.calls(WEBHOOK), ["GetItem", "TransactWriteItems"]);
    // A duplicate reads, finds itself in the ledger, and is done.
    town.forget_calls();
    assert_eq!(town.webhook(&event).await.status, 200);
    assert_eq!(town.calls(WEBHOOK), ["GetItem", "TransactWriteItems"]);
}
