//! What a second reading found: each went wrong once, on paper or in a test.

use super::*;

fn fire(row: &Dunning, sight: Box<Sight>) -> (Command, DateTime<Utc>) {
    let plan = row.plan.clone().unwrap();
    (Command::Fire { n: plan.n, sight }, plan.at)
}

fn kinds(row: &Dunning) -> Vec<&'static str> {
    let mails = row.mails.items.values();
    mails.map(|mail| mail.kind.as_str()).collect()
}

fn open_case_mails(row: &Dunning) -> usize {
    kinds(row).iter().filter(|kind| **kind == "team").count()
}

#[test]
fn who_was_left_alone_unpaid_does_not_get_access_back_by_failing_again() {
    let late = noon() + TimeDelta::days(120);
    let row = after(
        &paused(),
        vec![(Command::Tend, late), (failed("in_2"), late)],
    );
    assert_eq!(
        (row.closed.as_deref(), row.access()),
        (None, Access::Paused)
    );
}

#[test]
fn every_payment_after_the_end_is_news_of_its_own() {
    let row = after(
        &planned(),
        vec![
            (failed("in_2"), minutes(5)),
            (Command::ReportCancelled, minutes(6)),
        ],
    );
    let paid = |id: &str| Command::ReportEnded {
        invoice_id: id.to_owned(),
        ending: Ending::PaidByCustomer,
    };
    let row = after(
        &row,
        vec![(paid("in_1"), minutes(7)), (paid("in_2"), minutes(8))],
    );
    assert_eq!(open_case_mails(&row), 2);
}

#[test]
fn b47_an_old_request_to_approve_does_not_stand_in_the_way_of_a_new_card() {
    let row = after(
        &planned(),
        vec![
            (card("pm_2", false), minutes(5)),
            (Command::Plan, minutes(5)),
        ],
    );
    let asks = Command::ReportActionRequired {
        report: report("in_1"),
        terms: Box::new(terms()),
    };
    assert_eq!(
        decide(&row, asks, minutes(6)).err(),
        Some(Rejection::Already)
    );
    let (fire, at) = fire(&row, open("authentication_required"));
    assert!(matches!(
        decide(&row, fire, at).ok().unwrap().act,
        Act::Pay(_)
    ));
}

#[test]
fn b43_who_withdrew_gets_no_mail_about_this_payment_any_more() {
    let look = Command::Fire {
        n: 1,
        sight: open("revocation_of_authorization"),
    };
    let mut row = after(
        &entered(),
        vec![
            (Command::Plan, noon()),
            (look, minutes(1)),
            (Command::Plan, minutes(1)),
        ],
    );
    for _ in 0..4 {
        let (fire, at) = fire(&row, open("revocation_of_authorization"));
        row = after(&row, vec![(fire, at)]);
        if row.status == Status::Retrying {
            row = after(&row, vec![(Command::Plan, at)]);
        }
    }
    assert_eq!(row.access(), Access::Paused);
    for no in row.mails.items.keys() {
        assert_eq!(mail::facts(&row, *no), Err(mail::NoMail::Overtaken));
    }
}

#[test]
fn a_fresh_link_can_be_asked_for_once_a_day_by_whichever_link() {
    let row = planned();
    let ask = || Command::AskForLink { no: 0 };
    let row = after(&row, vec![(ask(), minutes(5))]);
    let no = row.mails.no;
    let sent = MailNote::Sent;
    let row = after(
        &row,
        vec![
            (Command::ClaimMail { no }, minutes(6)),
            (Command::NoteMail { no, note: sent }, minutes(6)),
        ],
    );
    assert_eq!(
        decide(&row, ask(), minutes(7)).err(),
        Some(Rejection::Already)
    );
    assert!(decide(&row, ask(), minutes(5 + 24 * 60)).is_ok());
}

#[test]
fn a_new_card_does_not_wait_for_the_old_cards_network() {
    let row = after(
        &entered(),
        vec![(card("pm_2", false), noon()), (Command::Plan, noon())],
    );
    let mut waits = open("insufficient_funds");
    let failure = waits.failure.as_mut().unwrap();
    failure.decline.network = Some("mastercard".to_owned());
    failure.decline.network_advice_code = Some("30".to_owned());
    let (fire, at) = fire(&row, waits);
    assert!(matches!(
        decide(&row, fire, at).ok().unwrap().act,
        Act::Pay(_)
    ));
}

#[test]
fn a_card_beyond_those_that_are_tried_is_a_persons_and_orders_nothing_each_day() {
    let mut row = paused();
    row.extra_attempts = row.terms.extra_attempts_max;
    let at = row.moved_at;
    let row = after(&row, vec![(card("pm_9", false), at)]);
    assert!(row.cases.contains_key(&CaseReason::TooManyCards));
    assert!(!row.wants_plan());
}

#[test]
fn bug_f07_a_schedule_that_fires_too_late_is_put_on_another_day() {
    let row = planned();
    let (plan, at) = (row.plan.clone().unwrap(), planned_at(&row));
    let late = at + TimeDelta::hours(4);
    let row = after(
        &row,
        vec![
            (Command::FiredLate { n: plan.n }, late),
            (Command::Plan, late),
        ],
    );
    assert_eq!(row.plan.unwrap().at, at + TimeDelta::days(1));
}

#[test]
fn bug_d14_a_charge_that_is_never_made_is_a_persons_the_second_time() {
    let mut row = planned();
    for times in 1..=2 {
        let (fire, at) = fire(&row, open("insufficient_funds"));
        row = after(&row, vec![(fire, at)]);
        let n = row.attempt_no;
        let unanswered = || Command::Settle {
            n,
            outcome: Outcome::Unanswered,
        };
        row = after(&row, vec![(unanswered(), at), (Command::Plan, at)]);
        let (look, at) = super::corners::fire(&row, open("insufficient_funds"));
        row = after(
            &row,
            vec![(look, at), (unanswered(), at), (Command::Plan, at)],
        );
        let (look, at) = super::corners::fire(&row, open("insufficient_funds"));
        row = after(&row, vec![(look, at), (Command::Plan, at)]);
        assert!(row.attempt.is_none(), "the provider never made it");
        let is_told = row.cases.contains_key(&CaseReason::ChargeUnanswered);
        assert_eq!(
            (is_told, row.invoices["in_1"].steps_used),
            (times == 2, times - 1)
        );
    }
}

#[test]
fn b50_nobody_is_charged_again_who_has_left_by_what_the_provider_says() {
    let row = in_flight();
    let at = row.moved_at;
    let unanswered = Command::Settle {
        n: 1,
        outcome: Outcome::Unanswered,
    };
    let row = after(&row, vec![(unanswered, at), (Command::Plan, at)]);
    let mut left = open("insufficient_funds");
    left.subscription_ended = true;
    let (fire, at) = fire(&row, left);
    assert_eq!(decide(&row, fire, at).ok().unwrap().act, Act::Nothing);
}

#[test]
fn b52_a_card_that_works_pays_what_was_given_up_before() {
    let at = paused().moved_at;
    let row = after(&paused(), vec![(failed("in_2"), at), (Command::Plan, at)]);
    let (look, at) = fire(&row, open("insufficient_funds"));
    let row = after(&row, vec![(look, at), (Command::Plan, at)]);
    assert_eq!(row.plan.clone().unwrap().invoice_id, "in_2");
    let (charge, at) = fire(&row, open("insufficient_funds"));
    let row = after(&row, vec![(charge, at)]);
    let settle = Command::Settle {
        n: row.attempt_no,
        outcome: Outcome::Captured,
    };
    let row = after(&row, vec![(settle, at), (Command::Plan, at)]);
    let plan = row.plan.unwrap();
    assert_eq!(
        (plan.purpose, plan.invoice_id.as_str()),
        (Purpose::ChargeNewCard, "in_1")
    );
}

#[test]
fn a_second_invoice_is_planned_at_once_when_the_first_was_paid_by_hand_meanwhile() {
    let row = in_flight();
    let at = row.moved_at;
    let declined = Outcome::Declined(Box::new(failure("insufficient_funds")));
    let settle = Command::Settle {
        n: 1,
        outcome: declined,
    };
    let row = after(
        &row,
        vec![(failed("in_2"), at), (ended(Ending::PaidByCustomer), at)],
    );
    let to = decide(&row, settle, at).ok().unwrap();
    assert!(to.consequences.contains(&Consequence::Plan));
}

#[test]
fn who_has_no_card_at_all_is_asked_for_one_and_not_charged() {
    let row = planned();
    let mut none = open("insufficient_funds");
    none.card = None;
    let (fire, at) = fire(&row, none);
    let to = decide(&row, fire, at).ok().unwrap();
    assert_eq!(to.act, Act::Nothing);
    let row = after(&to.after, vec![(Command::Plan, at)]);
    assert_eq!(kinds(&row).last(), Some(&"new_card"));
}

#[test]
fn a_row_never_holds_more_open_invoices_than_are_followed() {
    let mut row = planned();
    for number in 2..=40 {
        if let Ok(to) = decide(&row, failed(&format!("in_{number}")), minutes(5)) {
            row = to.after;
        }
    }
    assert_eq!(row.open_debts().len(), 24);
    assert!(row.cases.contains_key(&CaseReason::TooManyInvoices));
}

#[test]
fn who_leaves_while_paused_stays_paused_also_where_the_invoice_is_given_up() {
    let at = paused().moved_at;
    let given_up = || (ended(Ending::Uncollectible), at);
    let left = || (Command::ReportCancelled, at);
    for commands in [vec![given_up(), left()], vec![left(), given_up()]] {
        let row = after(&paused(), commands);
        assert_eq!(
            (row.status, row.access()),
            (Status::Cancelled, Access::Paused)
        );
    }
    let paid = after(&paused(), vec![left(), (ended(Ending::OutOfBand), at)]);
    assert_eq!(paid.access(), Access::Granted);
}

#[test]
fn a_card_that_comes_while_the_last_try_is_in_flight_is_a_persons_and_not_forgotten() {
    let mut row = paused();
    row.extra_attempts = row.terms.extra_attempts_max - 1;
    let at = row.moved_at;
    let row = after(&row, vec![(card("pm_5", false), at), (Command::Plan, at)]);
    let (charge, at) = fire(&row, open("insufficient_funds"));
    let row = after(&row, vec![(charge, at), (card("pm_6", false), at)]);
    let settle = Command::Settle {
        n: row.attempt_no,
        outcome: Outcome::Declined(Box::new(failure("insufficient_funds"))),
    };
    let row = after(&row, vec![(settle, at)]);
    assert!(row.cases.contains_key(&CaseReason::TooManyCards));
    assert_eq!(row.new_card, None);
}

#[test]
fn one_good_card_pays_all_that_is_open_however_many_they_are() {
    let mut row = paused();
    let at = row.moved_at;
    for number in 2..=8 {
        row = after(&row, vec![(failed(&format!("in_{number}")), at)]);
        let debt = row.invoices.get_mut(&format!("in_{number}")).unwrap();
        (debt.known, debt.exhausted) = (true, true);
    }
    row = after(&row, vec![(card("pm_2", false), at), (Command::Plan, at)]);
    for _ in 0..8 {
        let (charge, at) = fire(&row, open("insufficient_funds"));
        row = after(&row, vec![(charge, at)]);
        let settle = Command::Settle {
            n: row.attempt_no,
            outcome: Outcome::Captured,
        };
        row = after(&row, vec![(settle, at)]);
        if row.current().is_some() {
            row = after(&row, vec![(Command::Plan, at)]);
        }
    }
    assert_eq!(
        (row.status, row.access()),
        (Status::Recovered, Access::Granted)
    );
}

#[test]
fn bug_d14_a_look_that_could_not_be_taken_waits_for_the_next_and_is_no_answer() {
    let row = in_flight();
    let at = row.moved_at;
    let unanswered = Command::Settle {
        n: 1,
        outcome: Outcome::Unanswered,
    };
    let mut row = after(&row, vec![(unanswered, at), (Command::Plan, at)]);
    for _ in 0..5 {
        let plan = row.plan.clone().unwrap();
        let failed = Command::LookFailed { n: plan.n };
        row = after(&row, vec![(failed, plan.at), (Command::Plan, plan.at)]);
        let next = row.plan.clone().unwrap();
        assert!(next.at >= plan.at + TimeDelta::minutes(15));
    }
    let (look, at) = fire(&row, open("insufficient_funds"));
    let to = decide(&row, look, at).ok().unwrap();
    assert!(matches!(to.act, Act::Pay(again) if again.key == "dunr-in_1-a1"));
}

#[test]
fn a_key_that_may_not_charge_costs_the_customer_nothing() {
    let mut row = planned();
    for _ in 0..6 {
        let (charge, at) = fire(&row, open("insufficient_funds"));
        row = after(&row, vec![(charge, at)]);
        let settle = Command::Settle {
            n: row.attempt_no,
            outcome: Outcome::NotTried,
        };
        row = after(&row, vec![(settle, at), (Command::Plan, at)]);
    }
    assert_eq!(
        (row.status, row.invoices["in_1"].steps_used),
        (Status::Retrying, 0)
    );
}
