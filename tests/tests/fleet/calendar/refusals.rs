//! A refusal of `POST /bookings` names its field and changes nothing.

use fleet_tests::{Answer, PHONE, Town};
use serde_json::{Value, json};

use crate::calendar::support::{WRITTEN_TABLES, post, wish};

fn refusal(answer: &Answer) -> (u16, String, String) {
    let problem = answer.json();
    assert_eq!(problem["status"], answer.status, "{}", answer.text);
    assert_eq!(answer.headers["content-type"], "application/problem+json");
    assert!(!problem["detail"].as_str().unwrap().is_empty());
    let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    (answer.status, text("code"), text("field"))
}

fn assert_nothing_changed(town: &Town) {
    for table in WRITTEN_TABLES {
        assert_eq!(town.rows(table), Vec::<Value>::new(), "{table}");
    }
    let written = town
        .calls("bdc-intake")
        .into_iter()
        .filter(|call| call.contains("Write") || call.contains("Put") || call.contains("Update"));
    assert_eq!(written.count(), 0, "a refusal is not even sent");
}

/// Each wish is refused as said, under a key that a good wish can still use.
async fn assert_refused(cases: &[(Value, &str, &str)]) {
    let town = Town::new();
    for (changes, code, field) in cases {
        let wish = wish(&town, changes);
        for key in [None, Some("k-1")] {
            let answer = town.post_booking(&wish, key).await;
            let expected = (422, (*code).to_owned(), (*field).to_owned());
            assert_eq!(refusal(&answer), expected, "{changes}");
        }
    }
    assert_nothing_changed(&town);
    let answer = town.post_booking(&town.wish(), Some("k-1")).await;
    assert_eq!(answer.status, 201, "a refusal does not use up the key");
}

#[tokio::test]
async fn a_time_that_can_not_be_booked_is_refused_by_its_name() {
    let time = |text: &str| json!({"starts_at": text});
    let tasting = |text: &str| json!({"resource": "tasting", "starts_at": text});
    assert_refused(&[
        (
            time("2027-03-28T01:30"),
            "nonexistent_local_time",
            "starts_at",
        ),
        (
            time("2026-10-25T01:30"),
            "ambiguous_local_time",
            "starts_at",
        ),
        (time("2026-07-09T13:00"), "past", "starts_at"),
        (time("2026-07-09T12:30"), "past", "starts_at"),
        (time("1999-12-31T23:30"), "past", "starts_at"),
        (time("2026-07-11T20:10"), "off_grid", "starts_at"),
        (time("2026-07-11T20:00:30"), "off_grid", "starts_at"),
        (time("2026-07-11T20:00+00:07"), "off_grid", "starts_at"),
        (tasting("2026-07-11T16:30"), "off_grid", "starts_at"),
        (tasting("2026-07-12T16:00"), "closed", "starts_at"),
        (tasting("2026-07-11T14:00"), "closed", "starts_at"),
        (tasting("2026-07-11T21:00"), "closed", "starts_at"),
        (time("2028-07-11T20:00"), "too_far_ahead", "starts_at"),
        (time("9999-12-31T23:30"), "too_far_ahead", "starts_at"),
    ])
    .await;
}

#[tokio::test]
async fn a_text_that_is_no_time_is_refused_as_unreadable() {
    let mut cases = Vec::new();
    for text in [
        "tomorrow",
        "2026-7-11T20:00",
        "2026-02-30T20:00",
        "2026-07-11",
        "2026-07-11 20:00",
        "2026-07-11T24:00",
        "2026-07-11T20:00:60",
        "2026-07-11T20:00[Europe/London]",
        "2026-07-11T20:00+25:00",
        "１２026-07-11T20:00",
    ] {
        cases.push((json!({"starts_at": text}), "unreadable_time", "starts_at"));
    }
    assert_refused(&cases).await;
}

#[tokio::test]
async fn a_phone_that_can_not_be_texted_is_refused_and_not_repeated() {
    let town = Town::new();
    for phone in [
        "call me",
        "07700900123 ext 5",
        "020 7946 0018",
        "0800 123 4567",
        "0909 879 0000",
        "60777",
        "999",
        "900124",
        "7946 0018",
        "+44 7700 90012",
        "+999 1234567",
        "07700 900123 / 07700 900124",
    ] {
        let wish = wish(&town, &json!({"phone": phone}));
        let answer = town.post_booking(&wish, None).await;
        let expected = (422, "bad_phone".to_owned(), "phone".to_owned());
        assert_eq!(refusal(&answer), expected, "{phone}");
        assert!(!answer.text.contains(phone), "{}", answer.text);
    }
    assert_nothing_changed(&town);
}

#[tokio::test]
async fn a_missing_or_overlong_field_is_refused_by_its_name() {
    let mut cases = Vec::new();
    for field in ["resource", "starts_at", "name", "phone", "source"] {
        cases.push((json!({field: null}), "missing", field));
        cases.push((json!({field: " \t "}), "missing", field));
        cases.push((json!({field: 5}), "not_text", field));
        cases.push((json!({field: ["a"]}), "not_text", field));
        cases.push((json!({field: {"a": 1}}), "not_text", field));
        cases.push((json!({field: true}), "not_text", field));
        cases.push((json!({field: "x".repeat(81)}), "too_long", field));
        for one_line in ["a\u{0}b", "a\nb", "a\r\nb", "a\u{2028}b"] {
            cases.push((json!({field: one_line}), "unreadable", field));
        }
    }
    for (field, most) in [("email", 254), ("notes", 500)] {
        cases.push((json!({field: 5}), "not_text", field));
        cases.push((json!({field: "é".repeat(most + 1)}), "too_long", field));
        cases.push((json!({field: "a\u{7}b"}), "unreadable", field));
    }
    for email in [
        "mary",
        "mary@localhost",
        "Mary <mary@example.com>",
        "a@b.com,c@d.com",
    ] {
        cases.push((json!({"email": email}), "bad_email", "email"));
    }
    let injected = "mary@example.com\nBcc: eve@example.com";
    cases.push((json!({"email": injected}), "unreadable", "email"));
    assert_refused(&cases).await;
}

#[tokio::test]
async fn notes_and_a_reason_may_have_several_lines() {
    let town = Town::new();
    let lines = "By the window.\nNo nuts.";
    let booked = crate::calendar::support::book(&town, &json!({"notes": lines})).await;
    let seen = town
        .staff(&booked, "cancel", &json!({"reason": lines}))
        .await;
    assert_eq!((seen.status, &seen.json()["notes"]), (200, &json!(lines)));
}

#[tokio::test]
async fn a_party_that_does_not_fit_or_is_no_number_is_refused() {
    let party = |party: Value| json!({"party": party});
    let mut cases = vec![
        (party(json!(7)), "party_too_large", "party"),
        (party(json!(1000)), "party_too_large", "party"),
        (
            json!({"resource": "table-5", "party": 5}),
            "party_too_large",
            "party",
        ),
        (
            json!({"resource": "table-9"}),
            "unknown_resource",
            "resource",
        ),
        (
            json!({"resource": "TABLE-4"}),
            "unknown_resource",
            "resource",
        ),
        (
            json!({"resource": "table-4#x"}),
            "unknown_resource",
            "resource",
        ),
    ];
    for odd in [
        json!(0),
        json!(-1),
        json!(1001),
        json!(1.5),
        json!("2"),
        json!(true),
        json!([2]),
        json!({}),
        json!(u64::MAX),
        Value::Null,
    ] {
        cases.push((party(odd), "out_of_range", "party"));
    }
    assert_refused(&cases).await;
}

#[tokio::test]
async fn a_body_that_is_no_json_object_is_refused() {
    let town = Town::new();
    let bearer = format!("Bearer {}", town.fleet.tokens().form);
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for body in [
        "",
        "{",
        "null",
        "[]",
        "5",
        "\"text\"",
        "{} {}",
        "{\"party\": 1e999}",
        "{'a': 1}",
        &deep,
    ] {
        let answer = post(
            &town,
            &[("authorization", bearer.as_bytes())],
            body.to_owned(),
        )
        .await;
        let expected = (400, "invalid_json".to_owned(), String::new());
        assert_eq!(refusal(&answer), expected, "{body:.20}");
    }
    let latin = b"{\"name\": \"Ren\xe9\"}".to_vec();
    let answer = post(&town, &[("authorization", bearer.as_bytes())], latin).await;
    assert_eq!(refusal(&answer).1, "invalid_json");
    assert_nothing_changed(&town);
}

#[tokio::test]
async fn a_body_over_the_limit_and_a_body_that_is_not_the_base64_it_claims_are_refused() {
    let town = Town::new();
    let padded = format!("{}{}", town.wish(), " ".repeat(16 * 1024));
    let bearer = format!("Bearer {}", town.fleet.tokens().form);
    let answer = post(&town, &[("authorization", bearer.as_bytes())], padded).await;
    assert_eq!(refusal(&answer).1, "body_too_large");
    assert_eq!(answer.status, 413);

    let event = |body: &str| {
        json!({"version": "2.0", "rawPath": "/bookings", "headers": {"authorization": bearer},
            "requestContext": {"http": {"method": "POST"}}, "body": body, "isBase64Encoded": true})
    };
    let invoke = |body: &str| town.fleet.cloud.invoke("bdc-intake", event(body));
    for garbage in ["%%%", "e30", "eyJhIjox\u{0}"] {
        let answer = invoke(garbage).await.unwrap();
        assert_eq!(answer["statusCode"], 400);
        assert!(answer["body"].as_str().unwrap().contains("unreadable_body"));
    }
    assert_nothing_changed(&town);
    let encoded = "eyJwYXJ0eSI6IDB9"; // {"party": 0}
    let answer = invoke(encoded).await.unwrap();
    assert_eq!(answer["statusCode"], 422, "honest base64 is read");
}

#[tokio::test]
async fn a_bad_idempotency_key_is_refused_by_its_name() {
    let town = Town::new();
    let bearer = format!("Bearer {}", town.fleet.tokens().form);
    let long = "k".repeat(256);
    let keys: [&[u8]; 5] = [b"", b"   ", b"a\tb", "clé".as_bytes(), long.as_bytes()];
    for key in keys {
        let headers: [(&str, &[u8]); 2] = [
            ("authorization", bearer.as_bytes()),
            ("idempotency-key", key),
        ];
        let answer = post(&town, &headers, town.wish().to_string()).await;
        let expected = (
            400,
            "bad_idempotency_key".to_owned(),
            "Idempotency-Key".to_owned(),
        );
        assert_eq!(refusal(&answer), expected, "{key:?}");
    }
    assert_nothing_changed(&town);
    let longest = "k".repeat(255);
    let answer = town.post_booking(&town.wish(), Some(&longest)).await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn without_a_token_that_we_gave_out_there_is_no_answer_but_401() {
    let town = Town::new();
    let tokens = town.fleet.tokens();
    let mut headers: Vec<String> = vec![
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {}", tokens.form),
        tokens.form.clone(),
        format!("Bearer {}x", tokens.form),
        format!("Bearer {}", &tokens.form[1..]),
        format!("Bearer {}", tokens.form.to_uppercase()),
        format!("Bearer {} {}", tokens.form, tokens.staff),
    ];
    let others = town.fleet.cloud.secrets().into_values();
    headers.extend(others.map(|secret| format!("Bearer {secret}")));
    for header in headers {
        let answer = post(
            &town,
            &[("authorization", header.as_bytes())],
            town.wish().to_string(),
        )
        .await;
        assert_eq!(
            (answer.status, answer.code()),
            (401, "unauthorized".to_owned())
        );
        assert_eq!(answer.json()["field"], Value::Null);
    }
    let answer = post(&town, &[], town.wish().to_string()).await;
    assert_eq!(answer.status, 401);
    assert_nothing_changed(&town);
}

#[tokio::test]
async fn what_is_not_there_is_404_and_an_id_that_can_not_be_is_no_failure_of_ours() {
    let town = Town::new();
    for path in [
        "/",
        "/booking",
        "/bookings/a/b",
        "/bookings/a/attendance/x",
        "/slots/x",
    ] {
        let answer = town.get(path).await;
        assert_eq!(
            (answer.status, answer.code()),
            (404, "not_found".to_owned()),
            "{path}"
        );
    }
    let long = format!("/bookings/{}", "b".repeat(3000));
    for path in [
        "/bookings/none",
        "/bookings/%00",
        "/bookings/%F0%9F%92%A9",
        &long,
    ] {
        let answer = town.get(path).await;
        let expected = (404, "unknown_booking".to_owned());
        assert_eq!((answer.status, answer.code()), expected, "{path:.30}");
    }
    assert!(!town.get("/bookings/none").await.text.contains(PHONE));
    assert_nothing_changed(&town);
}
