//! B32: what a text takes, and the link that it ends with.

use fleet_tests::Town;
use paidonce_core::link::{LinkError, LinkKey, Purpose};
use paidonce_core::sms::measure;
use serde_json::json;

use crate::reach::support::*;

#[tokio::test]
async fn b32_no_text_takes_more_than_three_parts_and_no_link_is_split() {
    for language in ["en", "de", "fr"] {
        for name in [
            "Nguyễn Văn An",
            "😀 Jo",
            "Þóra Ægisdóttir Þóra Ægisdóttir",
            "Wolfeschlegelsteinhausenbergerdorffwelchevoralternwaren",
        ] {
            let town = Town::with_venue(&venue(|venue| venue["language"] = json!(language)));
            let mut wish = town.wish();
            wish["name"] = json!(name);
            let booked = booked(&town, &wish).await;
            paid(&town, &booked, "evt_1", "pi_1").await;
            ordered(
                &town,
                &booked,
                "reschedule",
                json!({"starts_at": "2026-07-11T18:00"}),
            )
            .await;
            assert_eq!(
                town.kinds(),
                ["deposit_request", "confirmation", "rescheduled"]
            );
            for text in town.texts() {
                assert!(measure(&text.text).parts <= 3, "{language}: {}", text.text);
                let last = text.text.lines().last().unwrap();
                let link = last.rsplit(' ').next().unwrap();
                assert!(
                    link.starts_with("http") && link.contains(&booked.id),
                    "{last}"
                );
                assert!(link.len() > 90 && link.contains("&sig="), "{last}");
            }
        }
    }
}

#[tokio::test]
async fn a_confirmation_ends_with_a_link_to_manage_the_booking_until_it_starts() {
    let town = Town::new();
    let booked = town.confirmed().await;
    let text = town.texts()[1].text.clone();
    let last = text.lines().last().unwrap();
    let link = last.strip_prefix("Change or cancel: ").unwrap();
    let path = format!("{}manage/{}?exp=", town.fleet.url("bdc-intake"), booked.id);
    let query = link.strip_prefix(&path).unwrap();
    let (expires, signature) = query.split_once("&sig=").unwrap();
    let key = LinkKey::new(town.fleet.link_key().as_bytes()).unwrap();
    let verify = |purpose, at: &str| {
        key.verify(purpose, &booked.id, expires, signature, at.parse().unwrap())
    };
    assert_eq!(verify(Purpose::Manage, "2026-07-11T18:59:59Z"), Ok(()));
    let over = verify(Purpose::Manage, "2026-07-11T19:00:00Z");
    assert_eq!(over, Err(LinkError::Expired));
    let to_pay = verify(Purpose::Pay, "2026-07-11T12:00:00Z");
    assert_eq!(to_pay, Err(LinkError::Forged));
}

#[tokio::test]
async fn a_move_before_the_deposit_was_paid_ends_with_a_link_to_pay_it_until_the_new_start() {
    let town = Town::new();
    let booked = town.pending().await;
    ordered(
        &town,
        &booked,
        "reschedule",
        json!({"starts_at": "2026-07-14T18:00"}),
    )
    .await;
    assert_eq!(town.kinds(), ["deposit_request", "rescheduled"]);
    let text = town.texts().remove(1).text;
    assert!(
        text.contains("Please pay the £20.00 deposit by Fri 10 Jul 13:00"),
        "{text}"
    );
    let link = text.lines().last().unwrap();
    assert_eq!(town.press_pay(link).await.status, 303);
    assert_ne!(link, booked.pay_url(), "that one ends with the old start");
}
