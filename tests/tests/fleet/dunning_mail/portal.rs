//! The page behind the link: a scanner may look as often as it likes, one click leads on.

use chrono::Duration;
use fleet_tests::{Answer, DunningMail, Town};
use futures::future::join_all;
use local_cloud::FaultKind;
use paidonce_core::dunning::mail::MailKind;
use paidonce_core::dunning::{Dunning, End, Ending, Status};
use serde_json::Value;

use crate::dunning_mail::support::{SUB, fault, put, retrying, row, sent, town};

const SESSIONS: &str = "POST /v1/billing_portal/sessions";

/// A town whose customer got a mail with a link, and is known at the provider.
async fn mailed() -> (Town, Dunning, String) {
    let town = town();
    let customer_id = town.subscriber("4242424242424242").await.customer_id;
    let mut row = retrying(town.now());
    row.customer_id = customer_id;
    row.terms.link_valid_days = 1;
    let mail = sent(&town, row.clone(), MailKind::Failed).await;
    (town, row, link_of(&mail))
}

fn link_of(mail: &DunningMail) -> String {
    mail.card_link().unwrap().to_owned()
}

fn sessions(town: &Town) -> usize {
    let calls = town.fleet.cloud.calls().into_iter();
    calls.filter(|call| call.operation == SESSIONS).count()
}

fn spent(town: &Town) -> Value {
    row(town, SUB)["link"]["spent_at"].clone()
}

fn says(answer: &Answer, status: u16, words: &str) {
    assert_eq!(answer.status, status, "{}", answer.text);
    assert!(answer.text.contains(words), "{}", answer.text);
}

const FINE: &str = "Continue to our payment provider";

#[tokio::test]
async fn bug_h04_a_scanner_changes_nothing_and_the_first_post_leads_on() {
    let (town, _, link) = mailed().await;
    let before = row(&town, SUB);
    for method in ["HEAD", "GET", "GET", "GET", "GET"] {
        let page = town.open_card_link(method, &link).await;
        says(&page, 200, FINE);
        assert!(page.text.contains("£24.00"));
        assert_eq!(page.headers["cache-control"], "no-store");
        assert_eq!(page.headers["referrer-policy"], "no-referrer");
        assert!(page.headers["content-security-policy"].contains("frame-ancestors 'none'"));
    }
    assert_eq!(row(&town, SUB), before);
    assert_eq!(sessions(&town), 0);
    let led = town.open_card_link("POST", &link).await;
    assert_eq!(led.status, 303);
    assert!(spent(&town).is_string());
}

#[tokio::test]
async fn b58_a_second_click_leads_to_the_same_page_for_ten_minutes() {
    let (town, _, link) = mailed().await;
    let first = town.open_card_link("POST", &link).await;
    town.advance(Duration::minutes(9)).await;
    let second = town.open_card_link("POST", &link).await;
    assert_eq!(first.headers["location"], second.headers["location"]);
    town.advance(Duration::minutes(2)).await;
    says(
        &town.open_card_link("GET", &link).await,
        410,
        "This link has been used",
    );
    says(
        &town.open_card_link("POST", &link).await,
        410,
        "This link has been used",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b58_clicks_beside_each_other_open_one_page() {
    let (town, _, link) = mailed().await;
    let answers = join_all((0..10).map(|_| town.open_card_link("POST", &link))).await;
    let led = answers.iter().filter(|answer| answer.status == 303);
    let pages: std::collections::BTreeSet<_> =
        led.map(|it| it.headers["location"].clone()).collect();
    assert_eq!(pages.len(), 1);
    assert!(answers.iter().all(|it| [303, 503].contains(&it.status)));
}

#[tokio::test]
async fn b58_an_older_link_is_dead_once_a_newer_mail_is_sent() {
    let (town, _, old) = mailed().await;
    town.open_card_link("POST", &fresh(&old)).await;
    town.settle().await;
    let mails = town.dunning_mails();
    assert_eq!(mails[1].kind, "fresh_link");
    let new = link_of(&mails[1]);
    says(
        &town.open_card_link("GET", &old).await,
        410,
        "There is a newer link",
    );
    says(
        &town.open_card_link("POST", &old).await,
        410,
        "There is a newer link",
    );
    says(&town.open_card_link("GET", &new).await, 200, FINE);
    assert_eq!(town.open_card_link("POST", &new).await.status, 303);
}

/// The address that the page's button for a fresh link posts to.
fn fresh(link: &str) -> String {
    link.replace('?', "/fresh?")
}

#[tokio::test]
async fn bug_h04_after_its_time_a_link_offers_a_fresh_one() {
    let (town, _, link) = mailed().await;
    town.advance(Duration::hours(25)).await;
    let mut pages = Vec::new();
    for method in ["GET", "POST"] {
        let page = town.open_card_link(method, &link).await;
        assert_eq!(page.status, 410, "{}", page.text);
        assert!(page.text.contains("Send me a fresh link"), "{}", page.text);
        pages.push(page.text);
    }
    let form = pages[0]
        .split("action=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let form = form.replace("&amp;", "&").replace("&#x2f;", "/");
    let base = link.split('?').next().unwrap().rsplit_once('/').unwrap().0;
    let asked = town.open_card_link("POST", &format!("{base}/{form}")).await;
    says(&asked, 200, "Look into your mail");
    assert!(row(&town, SUB)["link"]["asked_at"].is_string());
}

#[tokio::test]
async fn a_fresh_link_is_sent_once_and_the_answer_is_always_the_same() {
    let (town, _, link) = mailed().await;
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(town.open_card_link("POST", &fresh(&link)).await.text);
    }
    town.settle().await;
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let kinds: Vec<_> = town
        .dunning_mails()
        .into_iter()
        .map(|mail| mail.kind)
        .collect();
    assert_eq!(kinds, ["failed", "fresh_link"]);
}

#[tokio::test]
async fn a_forged_link_and_one_to_nothing_look_the_same_and_do_nothing() {
    let (town, _, link) = mailed().await;
    let other = link.replace("/sub_1/", "/sub_2/");
    let newer = link.replace("/sub_1/1?", "/sub_1/2?");
    let unsigned = link.split('?').next().unwrap().to_owned();
    let longer = link.replace("exp=t", "exp=u");
    let mut texts = Vec::new();
    for link in [
        &other,
        &newer,
        &unsigned,
        &longer,
        &fresh(&other),
        &fresh(&unsigned),
    ] {
        let method = if link.contains("fresh") {
            "POST"
        } else {
            "GET"
        };
        let page = town.open_card_link(method, link).await;
        says(&page, 404, "This link does not work");
        texts.push(page.text);
        assert_eq!(town.open_card_link("POST", link).await.status, 404);
    }
    assert!(texts.iter().all(|text| *text == texts[0]));
    assert_eq!(sessions(&town), 0);
    assert_eq!(spent(&town), Value::Null);
}

/// Changes the row of the link as it stands.
async fn standing(change: impl FnOnce(&mut Dunning)) -> Answer {
    let (made, row, link) = mailed().await;
    let town = town();
    let mut row = row;
    row.link.no = 1;
    change(&mut row);
    put(&town, &row).await;
    let page = town.open_card_link("GET", &link).await;
    let posted = town.open_card_link("POST", &link).await;
    assert_eq!((posted.status, &posted.text), (page.status, &page.text));
    assert_eq!(sessions(&town), 0);
    drop(made);
    page
}

#[tokio::test]
async fn what_is_over_needs_no_card() {
    let ended = |how| {
        move |row: &mut Dunning| {
            let at = row.moved_at;
            row.invoices
                .values_mut()
                .for_each(|debt| debt.end = Some(End { how, at }));
        }
    };
    says(
        &standing(ended(Ending::PaidByCustomer)).await,
        200,
        "All paid",
    );
    says(
        &standing(ended(Ending::Voided)).await,
        200,
        "Nothing to pay",
    );
    let left = standing(|row| row.status = Status::Cancelled).await;
    says(&left, 410, "This subscription has ended");
    assert!(!left.text.contains("<form"), "{}", left.text);
}

#[tokio::test]
async fn an_answer_that_does_not_come_leaves_the_link_as_it_was() {
    for kind in [FaultKind::AnswerLost, FaultKind::NotSent] {
        let (town, _, link) = mailed().await;
        let rule = local_cloud::FaultRule::once("dunr-portal", SESSIONS, kind);
        town.fleet.cloud.faults().add(rule.times(3));
        let page = town.open_card_link("POST", &link).await;
        says(&page, 503, "Nothing was charged");
        assert!(page.headers.contains_key("retry-after"));
        assert_eq!(spent(&town), Value::Null, "{kind:?}");
        assert_eq!(
            town.open_card_link("POST", &link).await.status,
            303,
            "{kind:?}"
        );
        assert!(spent(&town).is_string());
    }
}

#[tokio::test]
async fn what_the_provider_refuses_is_our_fault_and_leaves_the_link_as_it_was() {
    let town = town();
    // The provider does not know the customer.
    let mail = sent(&town, retrying(town.now()), MailKind::Failed).await;
    let page = town.open_card_link("POST", &link_of(&mail)).await;
    says(&page, 502, "Something is wrong on our side");
    assert_eq!(spent(&town), Value::Null);
}

#[tokio::test]
async fn a_link_that_could_not_be_noted_as_used_leads_on_at_the_next_click() {
    for kind in [
        FaultKind::AnswerLost,
        FaultKind::Conflict,
        FaultKind::InternalError,
    ] {
        let (town, _, link) = mailed().await;
        fault(&town, "dunr-portal", "TransactWriteItems", kind);
        town.open_card_link("POST", &link).await;
        let again = town.open_card_link("POST", &link).await;
        assert_eq!(again.status, 303, "{kind:?}");
    }
}
