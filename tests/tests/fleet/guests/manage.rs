//! The customer's page: what it shows, that looking changes nothing, and that each button acts once,
//! late and beside others.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Duration, Utc};
use fleet_tests::{Answer, Booked, NAME, Town};
use http::Request;
use paidonce_core::link::{LinkKey, Purpose};
use serde_json::json;
use tokio::task::JoinSet;

use crate::guests::support::{INTAKE, everything, forfeited, paid, refunded, venue, wish};

/// Long after every booking of these stories.
fn in_a_year(town: &Town) -> DateTime<Utc> {
    town.now() + Duration::days(365)
}

/// The link that stands in a message, as a path.
fn link(town: &Town, booked: &Booked) -> String {
    signed(town, &booked.id, in_a_year(town))
}

fn signed(town: &Town, id: &str, until: DateTime<Utc>) -> String {
    let key = LinkKey::new(town.fleet.link_key().as_bytes()).unwrap();
    format!("/manage/{id}?{}", key.sign(Purpose::Manage, id, until))
}

async fn ask(town: &Town, method: &str, path: &str, form: &str) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Bytes::from(form.to_owned()))
        .unwrap();
    town.request(INTAKE, request).await
}

async fn look(town: &Town, link: &str) -> Answer {
    ask(town, "GET", link, "").await
}

fn below(link: &str, order: &str) -> String {
    link.replace('?', &format!("/{order}?"))
}

async fn cancel(town: &Town, link: &str) -> Answer {
    ask(town, "POST", &below(link, "cancel"), "").await
}

async fn move_to(town: &Town, link: &str, starts_at: &str) -> Answer {
    let form = format!(
        "starts_at={}",
        starts_at.replace(':', "%3A").replace('+', "%2B")
    );
    ask(town, "POST", &below(link, "move"), &form).await
}

/// What a browser opens for a reference that stands on the page of a path.
fn resolved(path: &str, reference: &str) -> String {
    let folder = path.split('?').next().unwrap().rsplit_once('/').unwrap().0;
    match reference.strip_prefix("../") {
        Some(rest) => format!("{}/{rest}", folder.rsplit_once('/').unwrap().0),
        None => format!("{folder}/{reference}"),
    }
}

/// The action of the form that has a button, as a browser reads it.
fn action(page: &Answer, button: &str) -> Option<String> {
    let form = page
        .text
        .split("<form")
        .find(|form| form.contains(button))?;
    let action = form.split("action=\"").nth(1)?.split('"').next()?;
    Some(action.replace("&#x2f;", "/").replace("&amp;", "&"))
}

fn options(page: &Answer) -> Vec<String> {
    let options = page.text.split("<option value=\"").skip(1);
    options
        .map(|option| option.split('"').next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn b20_a_walk_through_the_page_moves_a_booking_and_calls_it_off() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let link = link(&town, &booked);
    let page = look(&town, &link).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("Sat 11 Jul 20:00"), "{}", page.text);
    let holds = "If you cancel now, £20.00 goes back to you. That holds until Fri 10 Jul 20:00; after that nothing does.";
    assert!(page.text.contains(holds), "{}", page.text);
    assert!(options(&page).contains(&"2026-07-12T20:00".to_owned()));

    let order = resolved(&link, &action(&page, "Move my booking").unwrap());
    let moved = ask(&town, "POST", &order, "starts_at=2026-07-12T20%3A00").await;
    assert_eq!(moved.status, 303, "{}", moved.text);
    let back = resolved(&order, &moved.headers["location"]);
    let page = look(&town, &back).await;
    assert!(
        page.text.contains("Your booking is moved."),
        "{}",
        page.text
    );
    assert!(page.text.contains("Sun 12 Jul 20:00"));
    town.settle().await;

    let order = resolved(&back, &action(&page, "Cancel my booking").unwrap());
    let cancelled = ask(&town, "POST", &order, "").await;
    assert_eq!(cancelled.status, 303, "{}", cancelled.text);
    let page = look(&town, &resolved(&order, &cancelled.headers["location"])).await;
    assert!(page.text.contains("This booking is cancelled"));
    assert!(
        page.text.contains("£20.00 goes back to you"),
        "{}",
        page.text
    );
    assert_eq!(
        (action(&page, "Cancel"), action(&page, "Move")),
        (None, None)
    );
    town.settle().await;
    assert_eq!(town.state(&booked), "CANCELLED");
    assert_eq!(refunded(&town), 2000);
    assert_eq!(town.holder("table-4#2026-07-12T20:00"), None);
    let kinds = [
        "deposit_request",
        "confirmation",
        "rescheduled",
        "cancelled",
    ];
    assert_eq!(town.kinds(), kinds);
}

#[tokio::test]
async fn b20_looking_changes_nothing_and_tells_no_name() {
    let town = Town::new();
    let booked = paid(&town, &json!({"notes": "a birthday"})).await;
    let link = link(&town, &booked);
    let before = everything(&town);
    for method in ["GET", "HEAD", "GET"] {
        let page = ask(&town, method, &link, "").await;
        assert_eq!(page.status, 200);
        for hidden in [NAME, "7700", "birthday", "pi_"] {
            assert!(!page.text.contains(hidden), "{hidden}");
        }
        assert_eq!(page.headers["x-robots-tag"], "noindex");
        assert_eq!(page.headers["cache-control"], "no-store");
        assert_eq!(page.headers["referrer-policy"], "no-referrer");
        assert!(page.headers["content-security-policy"].contains("frame-ancestors 'none'"));
    }
    // A scanner that follows what it finds on the page, by GET.
    for order in ["cancel", "move"] {
        let followed = look(&town, &below(&link, order)).await;
        assert_eq!(followed.status, 404);
    }
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn b20_inside_the_window_the_page_says_that_the_deposit_is_kept_and_keeps_it() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let link = link(&town, &booked);
    town.advance_to("2026-07-10T19:00:01Z").await;
    let page = look(&town, &link).await;
    assert!(
        page.text.contains("if you cancel, we keep £20.00"),
        "{}",
        page.text
    );
    assert_eq!(action(&page, "Move my booking"), None);
    // A move to a far day would be the way around the terms.
    let moved = move_to(&town, &link, "2026-07-20T20:00").await;
    assert_eq!(moved.status, 409);
    assert!(moved.text.contains("too late"), "{}", moved.text);
    let cancelled = cancel(&town, &link).await;
    assert_eq!(cancelled.status, 303);
    let page = look(&town, &link).await;
    assert!(page.text.contains("We keep £20.00"), "{}", page.text);
    town.settle().await;
    assert_eq!(
        (town.state(&booked).as_str(), refunded(&town)),
        ("CANCELLED", 0)
    );
}

#[tokio::test]
async fn a_part_of_the_deposit_goes_back_while_the_policy_says_so() {
    let partial = venue(|venue| {
        venue["policy"]["partial_cancellation"] = json!({"until": 120, "percent": 50});
    });
    let town = Town::with_venue(&partial);
    let booked = paid(&town, &json!({})).await;
    let link = link(&town, &booked);
    let page = look(&town, &link).await;
    assert!(
        page.text
            .contains("until Fri 10 Jul 20:00; after that £10.00 does"),
        "{}",
        page.text
    );
    town.advance_to("2026-07-11T12:00:00Z").await;
    let page = look(&town, &link).await;
    assert!(
        page.text
            .contains("£10.00 goes back to you. That holds until Sat 11 Jul 18:00"),
        "{}",
        page.text
    );
    assert_eq!(cancel(&town, &link).await.status, 303);
    town.settle().await;
    assert_eq!(refunded(&town), 1000);
    let page = look(&town, &link).await;
    assert!(page.text.contains("we keep £10.00"), "{}", page.text);
}

#[tokio::test]
async fn a_forged_link_and_one_to_no_booking_look_the_same_and_do_nothing() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let genuine = link(&town, &booked);
    let pay = LinkKey::new(town.fleet.link_key().as_bytes()).unwrap();
    let pay = pay.sign(Purpose::Pay, &booked.id, in_a_year(&town));
    let nobodys = signed(&town, "bkg_nobody", in_a_year(&town));
    let before = everything(&town);
    let mut pages = Vec::new();
    for link in [
        format!("/manage/{}", booked.id),
        genuine.replace("sig=", "sig=A"),
        genuine.replace(&booked.id, "bkg_other"),
        format!("/manage/{}?{pay}", booked.id),
        nobodys,
    ] {
        for answer in [
            look(&town, &link).await,
            cancel(
                &town,
                &if link.contains('?') {
                    link.clone()
                } else {
                    format!("{link}?")
                },
            )
            .await,
        ] {
            pages.push((answer.status, answer.text));
        }
    }
    pages.dedup();
    assert_eq!(pages.len(), 1, "{pages:?}");
    assert_eq!(pages[0].0, 404);
    let expired = signed(&town, &booked.id, town.now());
    let answer = cancel(&town, &expired).await;
    assert_eq!(answer.status, 410);
    assert!(!answer.text.contains("Sat 11 Jul"));
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn a_link_signed_with_a_key_that_was_just_rolled_is_believed() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let old = link(&town, &booked);
    assert_eq!(look(&town, &old).await.status, 200);
    let cloud = &town.fleet.cloud;
    cloud.set_secret("bdc-link-key", "the-next-key-of-all-the-links");
    town.advance(Duration::seconds(1)).await;
    let new = link(&town, &booked);
    assert_eq!(look(&town, &new).await.status, 200, "it is read anew");
    assert_eq!(look(&town, &old).await.status, 200, "the one before counts");
}

#[tokio::test]
async fn a_button_pressed_twice_acts_once() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let link = link(&town, &booked);
    for _ in 0..2 {
        assert_eq!(move_to(&town, &link, "2026-07-12T20:00").await.status, 303);
    }
    for _ in 0..2 {
        assert_eq!(cancel(&town, &link).await.status, 303);
    }
    town.settle().await;
    assert_eq!(refunded(&town), 2000);
    let told = town.history(&booked);
    let count = |what: &str| told.iter().filter(|told| *told == what).count();
    assert_eq!((count("rescheduled"), count("cancelled")), (1, 1));
}

#[tokio::test]
async fn after_the_start_both_buttons_are_too_late() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let link = link(&town, &booked);
    town.advance_to("2026-07-11T19:00:00Z").await;
    let before = everything(&town);
    let page = look(&town, &link).await;
    assert!(
        page.text.contains("This booking has begun"),
        "{}",
        page.text
    );
    assert_eq!(
        (action(&page, "Cancel"), action(&page, "Move")),
        (None, None)
    );
    for answer in [
        cancel(&town, &link).await,
        move_to(&town, &link, "2026-07-12T20:00").await,
    ] {
        assert_eq!(answer.status, 409);
        assert!(answer.text.contains("It is too late"), "{}", answer.text);
    }
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn a_booking_that_is_over_or_released_says_so_and_can_not_be_cancelled() {
    let town = Town::new();
    let forfeited = forfeited(&town).await;
    let over = link(&town, &forfeited);
    let page = look(&town, &over).await;
    assert!(page.text.contains("This booking is over"), "{}", page.text);
    assert_eq!(cancel(&town, &over).await.status, 409);
    assert_eq!(town.state(&forfeited), "FORFEITED");

    let town = Town::new();
    let unpaid = town.pending().await;
    let ended = link(&town, &unpaid);
    let page = look(&town, &ended).await;
    assert!(page.text.contains("Nothing is paid yet"), "{}", page.text);
    town.advance_to("2026-07-10T12:10:00Z").await;
    let page = look(&town, &ended).await;
    assert!(
        page.text.contains("This booking has ended"),
        "{}",
        page.text
    );
    assert_eq!(cancel(&town, &ended).await.status, 409);
    assert_eq!(town.state(&unpaid), "RELEASED");
}

#[tokio::test]
async fn a_time_that_is_taken_or_none_of_ours_moves_nothing() {
    let town = Town::new();
    let booked = paid(&town, &json!({})).await;
    let other = json!({"starts_at": "2026-07-12T20:00", "phone": "07700 900124"});
    town.book(&wish(&town, &other)).await;
    town.settle().await;
    let link = link(&town, &booked);
    let page = look(&town, &link).await;
    assert!(!options(&page).contains(&"2026-07-12T20:00".to_owned()));
    let before = everything(&town);
    let taken = move_to(&town, &link, "2026-07-12T20:00").await;
    assert_eq!(taken.status, 409);
    assert!(taken.text.contains("Somebody else"), "{}", taken.text);
    // The forms of an answer's page lead to the same places.
    let order = below(&link, "move");
    let again = resolved(&order, &action(&taken, "Move my booking").unwrap());
    assert_eq!(again, order);
    for bad in [
        "",
        "soon",
        "2026-07-09T11:00",
        "2026-07-12T20:07",
        "2027-03-28T01:30",
        "2031-01-01T20:00",
    ] {
        let answer = move_to(&town, &link, bad).await;
        assert_eq!(answer.status, 422, "{bad}");
        assert!(
            answer.text.contains("can&#x27;t be booked"),
            "{}",
            answer.text
        );
    }
    assert_eq!(everything(&town), before);
}

#[tokio::test]
async fn b24_the_page_offers_no_hour_that_the_clocks_skip_and_both_that_they_repeat() {
    let town = Town::at("2026-10-20T12:00:00Z");
    let night = json!({"starts_at": "2026-10-24T01:30"});
    let booked = paid(&town, &night).await;
    let link = link(&town, &booked);
    let offered = options(&look(&town, &link).await);
    for twice in ["2026-10-25T01:30+01:00", "2026-10-25T01:30+00:00"] {
        assert!(offered.contains(&twice.to_owned()), "{twice}: {offered:?}");
    }
    let moved = move_to(&town, &link, "2026-10-25T01:30+00:00").await;
    assert_eq!(moved.status, 303, "{}", moved.text);
    assert_eq!(
        town.row(&booked)["place"]["starts_at"],
        "2026-10-25T01:30:00Z"
    );

    let town = Town::at("2027-03-20T12:00:00Z");
    let booked = paid(&town, &json!({"starts_at": "2027-03-27T01:30"})).await;
    let offered = options(&look(&town, &self::link(&town, &booked)).await);
    assert!(
        offered.contains(&"2027-03-28T02:00".to_owned()),
        "{offered:?}"
    );
    assert!(!offered.iter().any(|at| at.starts_with("2027-03-28T01")));
}

#[tokio::test]
async fn a_customer_moves_a_booking_five_times_and_then_has_to_ask() {
    let town = Town::new();
    let booked = paid(&town, &json!({"starts_at": "2026-08-01T20:00"})).await;
    let link = link(&town, &booked);
    for day in 2..=6 {
        let to = format!("2026-08-{day:02}T20:00");
        assert_eq!(move_to(&town, &link, &to).await.status, 303);
    }
    let sixth = move_to(&town, &link, "2026-08-07T20:00").await;
    assert_eq!(sixth.status, 409);
    assert!(
        sixth.text.contains("get in touch with us"),
        "{}",
        sixth.text
    );
    let staff = json!({"starts_at": "2026-08-07T20:00"});
    assert_eq!(town.staff(&booked, "reschedule", &staff).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_customer_and_the_staff_who_cancel_at_once_give_the_money_back_once() {
    let town = Arc::new(Town::new());
    let booked = paid(&town, &json!({})).await;
    let link = link(&town, &booked);
    let mut racers = JoinSet::new();
    for racer in 0..30 {
        let (town, booked, link) = (Arc::clone(&town), booked.clone(), link.clone());
        racers.spawn(async move {
            match racer % 3 {
                0 => cancel(&town, &link).await.status,
                1 => move_to(&town, &link, "2026-07-12T20:00").await.status,
                _ => {
                    let body = json!({"by": "business", "reason": "storm"});
                    town.staff(&booked, "cancel", &body).await.status
                }
            }
        });
    }
    let answers = racers.join_all().await;
    let known = |status: &u16| [200, 303, 409, 503].contains(status);
    assert!(answers.iter().all(known), "{answers:?}");
    assert_eq!(cancel(&town, &link).await.status, 303);
    town.settle().await;
    assert_eq!(town.state(&booked), "CANCELLED");
    assert_eq!(refunded(&town), 2000);
    assert_eq!(town.rows("bdc-slots").len(), 0);
    assert_eq!(
        town.kinds()
            .iter()
            .filter(|kind| *kind == "cancelled")
            .count(),
        1
    );
}

#[tokio::test]
async fn the_link_in_the_confirmation_leads_to_the_page() {
    let town = Town::new();
    town.confirmed().await;
    let base = town.fleet.url(INTAKE);
    let texts = town.texts();
    let text = &texts.last().unwrap().text;
    let link = text.split_whitespace().find(|word| word.starts_with(&base));
    let path = link.unwrap_or_else(|| panic!("{text}")).strip_prefix(&base);
    let request = Request::get(format!("/{}", path.unwrap()));
    let page = town
        .request(INTAKE, request.body(Bytes::new()).unwrap())
        .await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("Cancel my booking"), "{}", page.text);
}

#[tokio::test]
async fn a_dearer_hour_is_not_to_be_had_by_booking_a_cheap_one_first() {
    let dear_saturdays = venue(|venue| {
        let dear = json!({"days": ["Sat"], "deposit": {"per_booking": 5000}});
        venue["resources"][0]["deposit_when"] = json!([dear]);
    });
    let town = Town::with_venue(&dear_saturdays);
    let booked = paid(&town, &json!({"starts_at": "2026-07-16T20:00"})).await;
    let link = link(&town, &booked);
    let offered = options(&look(&town, &link).await);
    assert!(
        offered.contains(&"2026-07-17T20:00".to_owned()),
        "{offered:?}"
    );
    assert!(!offered.iter().any(|at| at.starts_with("2026-07-18")));
    let moved = move_to(&town, &link, "2026-07-18T20:00").await;
    assert_eq!(moved.status, 422);
    assert!(
        moved.text.contains("can&#x27;t be booked"),
        "{}",
        moved.text
    );
    assert_eq!(move_to(&town, &link, "2026-07-17T20:00").await.status, 303);
}

#[tokio::test]
async fn b21_a_booking_that_is_moved_while_its_payment_page_is_open_is_paid_where_it_is() {
    let town = Town::new();
    let booked = town.pending().await;
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(led.status, 303);
    let link = link(&town, &booked);
    assert_eq!(move_to(&town, &link, "2026-07-12T20:00").await.status, 303);
    assert_eq!(town.pay_session(&led, "4242424242424242").0, 200);
    town.settle().await;
    assert_eq!(town.state(&booked), "CONFIRMED");
    let holder = town.holder("table-4#2026-07-12T20:00");
    assert_eq!(holder.as_deref(), Some(booked.id.as_str()));
    assert_eq!(town.holder("table-4#2026-07-11T20:00"), None);
    assert_eq!(refunded(&town), 0);
}

#[tokio::test]
async fn b21_a_booking_that_is_cancelled_while_its_payment_is_on_the_way_gives_it_back() {
    let town = Town::new();
    let booked = town.pending().await;
    let led = town.press_pay(booked.pay_url()).await;
    assert_eq!(town.pay_session(&led, "4242424242424242").0, 200);
    // The customer is faster than the provider's event.
    let link = link(&town, &booked);
    assert_eq!(cancel(&town, &link).await.status, 303);
    town.settle().await;
    assert_eq!(town.state(&booked), "CANCELLED");
    assert_eq!((town.captured(), refunded(&town)), (2000, 2000));
    let page = look(&town, &link).await;
    assert!(
        page.text.contains("£20.00 goes back to you"),
        "{}",
        page.text
    );
}
