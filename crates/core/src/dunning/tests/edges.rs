//! Where a rule ends: the moment and the count on either side of it.

use super::*;
use crate::dunning::attempt::LEASE;

/// What a charge or a look of the plan comes to, fired at `now`.
/// The charge of the first date is open: asked for twice, and no answer.
fn asked_twice() -> Dunning {
    let mut row = in_flight();
    let attempt = row.attempt.as_mut().unwrap();
    (attempt.looks, attempt.lease_until) = (2, attempt.claimed_at);
    let at = row.moved_at;
    after(&row, vec![(Command::Plan, at)])
}

#[test]
fn a_schedule_may_fire_a_minute_early() {
    let row = planned();
    let at = planned_at(&row);
    let errand_at = |early| errand(&row, 2, at - TimeDelta::seconds(early)).map(|it| it.kind);
    assert_eq!(errand_at(60), Ok(ErrandKind::Charge));
    assert_eq!(errand_at(61), Err(Rejection::TooEarly(at)));
}

#[test]
fn an_advice_that_ends_within_the_minute_is_not_waited_for() {
    for (seconds, is_charged) in [(60, true), (61, false)] {
        let mut row = planned();
        let at = planned_at(&row);
        let debt = row.invoices.get_mut("in_1").unwrap();
        debt.not_before = Some(at + TimeDelta::seconds(seconds));
        let to = fired(&row, open("insufficient_funds"), at);
        assert_eq!(matches!(to.act, Act::Pay(_)), is_charged, "{seconds}");
    }
}

#[test]
fn a_payment_under_way_and_charges_that_nobody_can_count_are_left_alone_for_a_day() {
    let under_way = Sight {
        is_processing: true,
        ..*open("insufficient_funds")
    };
    let uncounted = Sight {
        charges: None,
        ..*open("insufficient_funds")
    };
    let row = planned();
    let at = planned_at(&row);
    for (sight, result) in [(under_way, "processing"), (uncounted, "budget_full")] {
        let to = fired(&row, Box::new(sight), at);
        let debt = &to.after.invoices["in_1"];
        assert_eq!((to.result.as_deref(), to.act), (Some(result), Act::Nothing));
        assert_eq!(debt.not_before, Some(at + TimeDelta::days(1)), "{result}");
        assert_eq!(debt.steps_used, 0, "it costs no date");
    }
}

#[test]
fn who_asks_again_has_a_lease_from_then_on() {
    let row = in_flight();
    let unanswered = Command::Settle {
        n: 1,
        outcome: Outcome::Unanswered,
    };
    let at = row.moved_at;
    let row = after(&row, vec![(unanswered, at), (Command::Plan, at)]);
    let look = row.plan.as_ref().unwrap().at;
    let minutes = row.terms.look_again_minutes[0];
    assert_eq!(look, at + TimeDelta::minutes(i64::from(minutes)));
    let Act::Pay(again) = fired(&row, open("insufficient_funds"), look).act else {
        panic!()
    };
    assert_eq!((again.claimed_at, again.asked_at), (at, look));
    assert_eq!(again.lease_until, look + LEASE);
}

#[test]
fn a_charge_that_is_not_there_half_an_hour_after_it_was_asked_for_was_never_made() {
    let row = asked_twice();
    let asked_at = row.attempt.as_ref().unwrap().asked_at;
    for (seconds, result) in [(1799, "unanswered"), (1800, "not_made")] {
        let now = asked_at + TimeDelta::seconds(seconds);
        let to = fired(&row, open("insufficient_funds"), now);
        assert_eq!(to.result.as_deref(), Some(result), "{seconds}");
    }
}

#[test]
fn a_payment_of_about_the_time_of_our_charge_is_ours() {
    let row = asked_twice();
    let attempt = row.attempt.clone().unwrap();
    let now = attempt.asked_at + TimeDelta::hours(1);
    let paid_at = |seconds: i64| Some(attempt.claimed_at + TimeDelta::seconds(seconds));
    for (paid_at, how) in [
        (paid_at(-601), Ending::PaidByCustomer),
        (paid_at(-600), Ending::PaidByUs),
        (paid_at(600), Ending::PaidByUs),
        (paid_at(601), Ending::PaidByCustomer),
        (None, Ending::PaidByCustomer),
    ] {
        let paid = Sight {
            paid_at,
            ..*sight(InvoiceStatus::Paid, "insufficient_funds")
        };
        let to = fired(&row, Box::new(paid), now);
        assert_eq!(to.result.as_deref(), Some(how.as_str()), "{paid_at:?}");
    }
}

#[test]
fn by_night_a_charge_of_the_calendar_is_not_asked_for_again_but_one_of_a_new_card_is() {
    for (purpose, is_asked) in [(Purpose::Charge, false), (Purpose::ChargeNewCard, true)] {
        let mut row = asked_twice();
        let attempt = row.attempt.as_mut().unwrap();
        (attempt.purpose, attempt.looks) = (purpose, 1);
        let night = attempt.claimed_at + TimeDelta::hours(16);
        let to = fired(&row, open("insufficient_funds"), night);
        assert_eq!(matches!(to.act, Act::Pay(_)), is_asked, "{purpose:?}");
    }
}

#[test]
fn cards_are_charged_in_the_hours_of_a_business_day_and_not_long_after_their_time() {
    let terms = terms();
    let day = planned_at(&planned());
    let (night, sunday) = (day - TimeDelta::hours(8), day + TimeDelta::days(3));
    for (at, is_open) in [(day, true), (night, false), (sunday, false)] {
        assert_eq!(terms.is_open(at), is_open, "{at}");
    }
    // Of a year without bank holidays the hours are known.
    let (far, far_night) = (day + TimeDelta::days(7000), night + TimeDelta::days(7000));
    assert!(terms.is_open(far) && !terms.is_open(far_night));
    let late = day + TimeDelta::minutes(i64::from(terms.late_max_minutes));
    assert!(!terms.is_too_late(day, late));
    assert!(terms.is_too_late(day, late + TimeDelta::seconds(1)));
    assert!(terms.is_too_late(sunday, sunday));
}

#[test]
fn a_plan_stands_for_a_quarter_of_an_hour_after_its_time_if_it_is_still_what_is_next() {
    let row = planned();
    let end = planned_at(&row) + OVERDUE_AFTER;
    let again = |row: &Dunning, now| decide(row, Command::Plan, now).err();
    let already = Some(Rejection::Already);
    assert_eq!(again(&row, end - TimeDelta::seconds(1)), already);
    assert_eq!(again(&row, end), None);
    let mut other = row.clone();
    other.plan.as_mut().unwrap().invoice_id = "in_9".to_owned();
    assert_eq!(again(&other, minutes(2)), None, "another invoice is next");
    let mut other = row.clone();
    other.plan.as_mut().unwrap().purpose = Purpose::Look;
    assert_eq!(again(&other, minutes(2)), None, "it is not to be looked at");
}

#[test]
fn a_date_that_has_come_while_nobody_planned_is_a_minute_from_now() {
    let mut row = planned();
    let date = planned_at(&row);
    row.plan = None;
    let planned_at = |now| after(&row, vec![(Command::Plan, now)]).plan.unwrap().at;
    let minute = TimeDelta::seconds(60);
    for seconds in [-59, -30, 0, 30 * 60] {
        let now = date + TimeDelta::seconds(seconds);
        assert_eq!(planned_at(now), now + minute, "{seconds}");
    }
    for seconds in [-60, -3600] {
        assert_eq!(planned_at(date + TimeDelta::seconds(seconds)), date);
    }
}

#[test]
fn of_what_the_team_was_told_the_latest_sixty_are_remembered() {
    for (before, remembered) in [(58, 59), (59, 60), (60, 60), (61, 60)] {
        let mut row = planned();
        row.cases_told = (0..before).map(|no| format!("a#{no:02}")).collect();
        let row = after(&row, vec![(ended(Ending::TooSmall), minutes(5))]);
        assert_eq!(row.cases_told.len(), remembered, "{before}");
        assert!(row.cases_told.contains("amount_too_small#in_1"));
    }
}

#[test]
fn of_the_invoices_that_have_ended_the_latest_twelve_are_remembered() {
    let mut row = fresh();
    for no in 1..=14 {
        let id = format!("in_{no:02}");
        let voided = Command::ReportEnded {
            invoice_id: id.clone(),
            ending: Ending::Voided,
        };
        row = after(
            &row,
            vec![(failed(&id), minutes(no)), (voided, minutes(no))],
        );
    }
    let ids: Vec<_> = row.invoices.keys().map(String::as_str).collect();
    assert_eq!((ids.len(), ids[0], ids[11]), (12, "in_03", "in_14"));
}

#[test]
fn a_charge_that_was_not_tried_rests_for_a_day() {
    let row = in_flight();
    let settle = Command::Settle {
        n: 1,
        outcome: Outcome::NotTried,
    };
    let rested = after(&row, vec![(settle, row.moved_at)]);
    let not_before = rested.invoices["in_1"].not_before;
    assert_eq!(not_before, Some(row.moved_at + TimeDelta::days(1)));
}

#[test]
fn a_person_hears_of_a_charge_without_an_answer_after_a_day_and_not_of_one_under_way() {
    for (seconds, outcome, is_told) in [
        (-1, Outcome::Unanswered, false),
        (0, Outcome::Unanswered, true),
        (0, Outcome::Processing, false),
    ] {
        let row = in_flight();
        let now = row.moved_at + TimeDelta::days(1) + TimeDelta::seconds(seconds);
        let row = after(&row, vec![(Command::Settle { n: 1, outcome }, now)]);
        assert_eq!(
            row.cases.contains_key(&CaseReason::ChargeUnanswered),
            is_told
        );
    }
}

#[test]
fn what_has_no_answer_is_free_for_whoever_looks_and_not_looked_for_within_the_minute() {
    let mut row = in_flight();
    row.terms.look_again_minutes = vec![0];
    let now = row.moved_at + TimeDelta::seconds(5);
    let outcome = Outcome::Unanswered;
    let row = after(&row, vec![(Command::Settle { n: 1, outcome }, now)]);
    assert_eq!(row.attempt.as_ref().unwrap().lease_until, now);
    let row = after(&row, vec![(Command::Plan, now)]);
    assert_eq!(planned_at(&row), now + TimeDelta::seconds(60));
}
