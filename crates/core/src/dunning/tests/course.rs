//! The course of one invoice, date by date.

use super::*;

fn mails(row: &Dunning) -> Vec<&'static str> {
    row.mails
        .items
        .values()
        .map(|mail| mail.kind.as_str())
        .collect()
}

#[test]
fn four_dates_by_the_calendar_four_mails_and_then_a_pause() {
    let mut row = planned();
    let mut dates = Vec::new();
    for n in 1..=4 {
        let (plan, at) = (row.plan.clone().unwrap(), planned_at(&row));
        dates.push(at.format("%a %Y-%m-%d %H:%M").to_string());
        let facts = mail::facts(&row, row.mails.no).unwrap();
        assert_eq!(
            (facts.next_charge_at, facts.next_is_last),
            (Some(at), n == 4)
        );
        let fire = Command::Fire {
            n: plan.n,
            sight: open("insufficient_funds"),
        };
        let settle = Command::Settle {
            n,
            outcome: Outcome::Declined(Box::new(failure("insufficient_funds"))),
        };
        row = after(&row, vec![(fire, at), (settle, at)]);
        if n < 4 {
            assert_eq!(row.access(), Access::Granted);
            row = after(&row, vec![(Command::Plan, at)]);
        }
    }
    // London is on winter time: 10:00 there is 10:00 UTC.
    assert_eq!(
        dates,
        [
            "Thu 2026-11-05 10:00",
            "Tue 2026-11-10 10:00",
            "Fri 2026-11-13 10:00",
            "Wed 2026-11-18 10:00"
        ]
    );
    assert_eq!((row.status, row.access()), (Status::Paused, Access::Paused));
    assert_eq!(
        mails(&row),
        ["failed", "failed", "failed", "failed", "paused"]
    );
    let facts = mail::facts(&row, row.mails.no).unwrap();
    assert_eq!(facts.next_charge_at, None, "none follows");
}

#[test]
fn b41_a_card_that_comes_in_flight_waits_and_then_has_a_number_and_a_key_of_its_own() {
    let row = in_flight();
    let at = row.moved_at;
    let first = row.attempt.clone().unwrap();
    let row = after(&row, vec![(card("pm_2", false), at)]);
    assert_eq!(
        row.attempt.as_ref(),
        Some(&first),
        "the charge in flight is left alone"
    );
    let declined = Outcome::Declined(Box::new(failure("insufficient_funds")));
    let settle = Command::Settle {
        n: 1,
        outcome: declined,
    };
    let row = after(&row, vec![(settle, at), (Command::Plan, at)]);
    let plan = row.plan.clone().unwrap();
    assert_eq!(plan.purpose, Purpose::ChargeNewCard);
    let fire = Command::Fire {
        n: plan.n,
        sight: open("insufficient_funds"),
    };
    let row = after(&row, vec![(fire, plan.at)]);
    let second = row.attempt.unwrap();
    assert_eq!(
        (second.n, second.payment_method.as_deref()),
        (2, Some("pm_2"))
    );
    assert_ne!(second.key, first.key);
}

#[test]
fn b43_a_lost_card_is_not_charged_again_but_the_calendar_goes_on() {
    let mut row = entered();
    let look = Command::Fire {
        n: 1,
        sight: open("lost_card"),
    };
    row = after(
        &row,
        vec![
            (Command::Plan, noon()),
            (look, minutes(1)),
            (Command::Plan, minutes(1)),
        ],
    );
    for _ in 0..4 {
        let (plan, at) = (row.plan.clone().unwrap(), planned_at(&row));
        let fire = Command::Fire {
            n: plan.n,
            sight: open("lost_card"),
        };
        let to = decide(&row, fire, at).ok().unwrap();
        assert_eq!(to.act, Act::Nothing);
        row = to.after;
        if row.status == Status::Retrying {
            row = after(&row, vec![(Command::Plan, at)]);
        }
    }
    assert_eq!((row.attempt_no, row.access()), (0, Access::Paused));
    assert_eq!(
        mails(&row),
        ["new_card", "new_card", "new_card", "new_card", "paused"]
    );
    // Another card is charged at once.
    let at = row.moved_at;
    let row = after(&row, vec![(card("pm_2", false), at), (Command::Plan, at)]);
    assert_eq!(row.plan.unwrap().purpose, Purpose::ChargeNewCard);
}

#[test]
fn bug_d12_an_old_key_is_never_sent_again() {
    let row = in_flight();
    let unanswered = Command::Settle {
        n: 1,
        outcome: Outcome::Unanswered,
    };
    let at = row.moved_at;
    let row = after(&row, vec![(unanswered, at), (Command::Plan, at)]);
    let n = row.plan_no;
    let fire = |sight| Command::Fire { n, sight };
    let young = decide(
        &row,
        fire(open("insufficient_funds")),
        at + TimeDelta::hours(6),
    );
    assert!(matches!(young.ok().unwrap().act, Act::Pay(again) if again.n == 1));
    let old = at + TimeDelta::hours(23);
    let never_made = decide(&row, fire(open("insufficient_funds")), old)
        .ok()
        .unwrap();
    assert_eq!(
        (never_made.act, never_made.result.as_deref()),
        (Act::Nothing, Some("not_made"))
    );
    let mut paid = sight(InvoiceStatus::Paid, "insufficient_funds");
    paid.paid_at = Some(at);
    let ours = decide(&row, fire(paid), old).ok().unwrap();
    assert_eq!(ours.result.as_deref(), Some("paid_by_us"));
}

#[test]
fn the_worst_of_two_invoices_decides_about_access() {
    let row = after(
        &paused(),
        vec![(failed("in_2"), noon() + TimeDelta::days(20))],
    );
    assert_eq!(row.access(), Access::Paused);
    let row = after(
        &row,
        vec![(ended(Ending::PaidByCustomer), noon() + TimeDelta::days(21))],
    );
    assert_eq!(
        (row.status, row.access()),
        (Status::Retrying, Access::Granted)
    );
}

#[test]
fn an_operators_word_outlives_the_rules_until_it_is_taken_back() {
    let at = paused().moved_at;
    let row = after(&paused(), vec![(Command::Order(Access::Granted), at)]);
    assert_eq!(row.access(), Access::Granted);
    let row = after(&row, vec![(Command::LeaveToRules, at)]);
    assert_eq!(row.access(), Access::Paused);
    let held = after(
        &row,
        vec![
            (Command::Order(Access::Paused), at),
            (ended(Ending::PaidByCustomer), at),
        ],
    );
    assert_eq!(
        (held.status, held.access()),
        (Status::Recovered, Access::Paused)
    );
}
