//! B19: nobody marks whether the customer came.

use fleet::FleetOptions;
use fleet_tests::{Booked, Town};
use serde_json::json;

use crate::hard_cases::support::{AFTERNOON, SETTLE, case, staff, sweep, venue_with};

async fn unmarked_after_the_end(unmarked: &str) -> (Town, Booked) {
    let mut options = FleetOptions::starting(AFTERNOON.parse().unwrap());
    options.venue = Some(venue_with(&json!({"unmarked": unmarked})).to_string());
    let town = Town::with(options);
    let booked = town.paid().await;
    // 20:00 in London, 90 minutes, and two hours until it is settled.
    town.advance_to("2026-07-11T22:29:00Z").await;
    sweep(&town, SETTLE).await;
    assert_eq!(town.state(&booked), "CONFIRMED", "not before its time");
    town.advance_to("2026-07-12T01:00:00Z").await;
    (town, booked)
}

#[tokio::test]
async fn b19_nobody_marks_and_the_policy_asks_so_the_team_is_asked_once_and_nothing_is_forfeited() {
    let (town, booked) = unmarked_after_the_end("ASK").await;
    for _ in 0..3 {
        sweep(&town, SETTLE).await;
        town.settle().await;
    }
    assert_eq!(town.state(&booked), "CONFIRMED");
    case(&town, "attendance_unmarked");
    assert_eq!(town.mails().len(), 1);
    assert_eq!(town.refunded(), 0);
    // The answer, however late, decides.
    let mark = json!({"attended": false, "by": "Sam"});
    staff(&town, &booked, "attendance", &mark).await;
    sweep(&town, SETTLE).await;
    assert_eq!(town.state(&booked), "FORFEITED");
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b19_nobody_marks_and_the_policy_assumes_that_the_customer_came() {
    let (town, booked) = unmarked_after_the_end("ASSUME_ATTENDED").await;
    assert_eq!(town.state(&booked), "APPLIED");
    assert_eq!(town.cases(), Vec::<String>::new());
    town.assert_money_is_accounted_for();
}

#[tokio::test]
async fn b19_a_mark_beside_the_settlement_is_heard_or_comes_too_late_and_is_never_both() {
    for mark_first in [true, false] {
        let town = Town::at(AFTERNOON);
        let booked = town.paid().await;
        town.advance_to("2026-07-11T22:29:00Z").await;
        town.advance_to("2026-07-11T22:31:00Z").await;
        let body = json!({"attended": false, "by": "Sam"});
        let (mark, swept) = if mark_first {
            let mark = town.staff(&booked, "attendance", &body);
            futures::future::join(mark, sweep(&town, SETTLE)).await
        } else {
            let both = futures::future::join(
                sweep(&town, SETTLE),
                town.staff(&booked, "attendance", &body),
            );
            let (swept, mark) = both.await;
            (mark, swept)
        };
        assert_eq!((mark.status, &swept["failed"]), (200, &json!(0)));
        sweep(&town, SETTLE).await;
        town.settle().await;
        assert_eq!(town.state(&booked), "FORFEITED");
        town.assert_money_is_accounted_for();
    }
}
