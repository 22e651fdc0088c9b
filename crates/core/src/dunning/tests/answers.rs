//! What a command is answered, beyond the table: what is news, and what was so already.

use super::*;
use crate::dunning::debt::{Block, End};
use crate::dunning::declines::{Class, Wording};

const ALREADY: Option<Rejection> = Some(Rejection::Already);

fn refused(row: &Dunning, command: Command) -> Option<Rejection> {
    decide(row, command, row.moved_at).err()
}

fn mails(row: &Dunning) -> Vec<&'static str> {
    let mails = row.mails.items.values();
    mails.map(|mail| mail.kind.as_str()).collect()
}

/// Charges the plan's card, and the bank declines.
fn declined(row: &Dunning, decline_code: &str) -> Dunning {
    let plan = row.plan.clone().unwrap();
    let sight = open(decline_code);
    let row = after(row, vec![(Command::Fire { n: plan.n, sight }, plan.at)]);
    let settle = Command::Settle {
        n: row.attempt_no,
        outcome: Outcome::Declined(Box::new(failure(decline_code))),
    };
    after(&row, vec![(settle, plan.at)])
}

#[test]
fn what_is_taken_counts_the_version_up_and_is_dated() {
    for (name, row) in rows() {
        for (what, command, now) in commands(&row) {
            if let Ok(to) = decide(&row, command, now) {
                let dated = (to.after.version, to.after.moved_at);
                assert_eq!(dated, (row.version + 1, now), "{name}: {what}");
            }
        }
    }
}

#[test]
fn a_card_beyond_those_that_are_tried_is_what_the_next_date_charges() {
    let mut row = planned();
    row.extra_attempts = row.terms.extra_attempts_max;
    let row = after(&row, vec![(card("pm_2", false), minutes(5))]);
    assert_eq!(row.new_card.as_deref(), Some("pm_2"));
    assert!(row.cases.is_empty());
    let row = after(&row, vec![(Command::Plan, minutes(5))]);
    assert_eq!(row.plan.unwrap().purpose, Purpose::Charge);
}

#[test]
fn a_pause_begins_once_and_so_do_its_reminders() {
    let mut row = paused();
    row.repings = 1;
    let later = row.moved_at + TimeDelta::days(1);
    let after = after(&row, vec![(failed("in_2"), later)]);
    assert_eq!((after.paused_at, after.repings), (row.paused_at, 1));
}

#[test]
fn what_was_left_alone_is_over_with_its_invoice_and_who_was_forgotten_stays_so() {
    for (closed, then) in [("abandoned", None), ("forgotten", Some("forgotten"))] {
        let mut row = paused();
        row.closed = Some(closed.to_owned());
        let row = after(&row, vec![(ended(Ending::PaidByCustomer), minutes(90000))]);
        assert_eq!(row.closed.as_deref(), then);
    }
}

#[test]
fn an_operators_word_is_news_until_the_operator_has_said_it() {
    let order = Command::Order;
    let row = after(&planned(), vec![(order(Access::Paused), minutes(5))]);
    assert_eq!(refused(&row, order(Access::Paused)), ALREADY);
    assert_eq!(refused(&row, order(Access::Granted)), None);
    assert_eq!(paused().access, Some(Access::Paused));
    assert_eq!(refused(&paused(), order(Access::Paused)), None);
}

#[test]
fn left_to_the_rules_who_left_unpaused_has_access() {
    for (row, access) in [(planned(), Access::Granted), (paused(), Access::Paused)] {
        let at = row.moved_at;
        let commands = [
            Command::ReportCancelled,
            Command::Order(Access::Paused),
            Command::LeaveToRules,
        ];
        let row = after(&row, commands.map(|it| (it, at)).to_vec());
        assert_eq!(row.access(), access);
        assert_eq!(row.access, Some(access));
    }
}

#[test]
fn what_stood_in_the_way_for_want_of_a_card_is_gone_with_a_card_and_an_approval_is_not() {
    for (class, wording, is_charged) in [
        (Class::Hard, Wording::NewCard, true),
        (Class::Action, Wording::Approve, false),
    ] {
        let mut row = planned();
        let plan = row.plan.clone().unwrap();
        row.invoices.get_mut("in_1").unwrap().block = Some(Block {
            class,
            wording,
            payment_method: None,
        });
        let seen = Sight {
            failure: None,
            ..*open("insufficient_funds")
        };
        let fire = Command::Fire {
            n: plan.n,
            sight: Box::new(seen),
        };
        let to = decide(&row, fire, plan.at).unwrap();
        assert_eq!(matches!(to.act, Act::Pay(_)), is_charged, "{class:?}");
    }
}

#[test]
fn a_new_card_that_is_declined_too_is_written_about() {
    let given = |row: &Dunning| {
        let at = row.moved_at;
        after(row, vec![(card("pm_2", false), at), (Command::Plan, at)])
    };
    let row = declined(&given(&planned()), "insufficient_funds");
    let at = row.moved_at;
    let row = after(&row, vec![(Command::Plan, at)]);
    assert_eq!(mails(&row), ["failed", "failed"], "with the next date");
    for (code, kind) in [
        ("insufficient_funds", "reminder"),
        ("lost_card", "new_card"),
        ("authentication_required", "approve"),
    ] {
        let row = declined(&given(&paused()), code);
        assert_eq!(mails(&row).last(), Some(&kind), "no date follows");
    }
}

#[test]
fn a_look_says_by_which_rule_it_goes_on() {
    let row = after(&entered(), vec![(Command::Plan, noon())]);
    let why = |failure| {
        let sight = Sight {
            failure,
            ..*open("insufficient_funds")
        };
        let sight = Box::new(sight);
        let looked = decide(&row, Command::Fire { n: 1, sight }, minutes(1));
        looked.unwrap().why
    };
    assert_eq!(why(None), "no reason is known");
    let said = why(Some(failure("insufficient_funds")));
    assert!(
        said.starts_with("SOFT by ") && said.contains("declines"),
        "{said}"
    );
}

#[test]
fn a_card_is_reported_once() {
    let row = after(&planned(), vec![(card("pm_2", false), minutes(5))]);
    assert_eq!(refused(&row, card("pm_2", false)), ALREADY);
    let at = in_flight().moved_at;
    let mut row = after(&in_flight(), vec![(card("pm_2", false), at)]);
    assert_eq!(refused(&row, card("pm_2", false)), ALREADY, "it waits");
    row.card_pending = None;
    row.attempt.as_mut().unwrap().payment_method = Some("pm_2".to_owned());
    assert_eq!(refused(&row, card("pm_2", false)), ALREADY, "it is charged");
    let mut row = planned();
    row.invoices.get_mut("in_1").unwrap().block = Some(Block {
        class: Class::Hard,
        wording: Wording::NewCard,
        payment_method: Some("pm_2".to_owned()),
    });
    assert_eq!(refused(&row, card("pm_2", false)), ALREADY, "it has failed");
}

#[test]
fn what_a_network_said_of_a_card_holds_until_there_is_another_or_it_is_renewed() {
    let mut row = planned();
    let debt = row.invoices.get_mut("in_1").unwrap();
    debt.failed_with = Some("pm_1".to_owned());
    debt.not_before = Some(minutes(20000));
    assert_eq!(refused(&row, card("pm_1", false)), Some(Rejection::Already));
    for (payment_method, renewed) in [("pm_1", true), ("pm_2", false)] {
        let row = after(&row, vec![(card(payment_method, renewed), minutes(5))]);
        assert_eq!(row.invoices["in_1"].not_before, None, "{payment_method}");
    }
}

#[test]
fn of_two_endings_the_second_is_news_only_where_money_may_still_come() {
    use Ending::*;
    let all = [
        PaidByUs,
        PaidByCustomer,
        PaidByProvider,
        Paid,
        OutOfBand,
        Voided,
        Uncollectible,
        Covered,
        TooSmall,
    ];
    let (before_money, at) = (&all[..6], noon());
    for how in all {
        let mut row = planned();
        row.invoices.get_mut("in_1").unwrap().end = Some(End { how, at });
        let news: Vec<_> = all
            .into_iter()
            .filter(|it| refused(&row, ended(*it)).is_none())
            .collect();
        let expected = match how {
            Uncollectible | TooSmall => before_money,
            Paid => &[PaidByUs],
            PaidByUs | PaidByCustomer | PaidByProvider | OutOfBand | Voided | Covered => &[],
        };
        assert_eq!(news, expected, "{how:?}");
    }
}

#[test]
fn a_date_that_can_be_counted_again_is_no_case_any_more() {
    let mut row = entered();
    row.cases.insert(CaseReason::NoHolidayData, noon());
    row.cases_told = ["fraud#in_1", "no_holiday_data#"].map(str::to_owned).into();
    let row = after(&row, vec![(Command::Plan, noon())]);
    assert!(row.cases.is_empty());
    assert_eq!(row.cases_told, BTreeSet::from(["fraud#in_1".to_owned()]));
}

#[test]
fn an_invoice_that_comes_after_one_that_was_given_up_is_looked_at_first() {
    let at = paused().moved_at;
    let row = after(&paused(), vec![(failed("in_2"), at), (Command::Plan, at)]);
    let plan = row.plan.unwrap();
    assert_eq!(
        (plan.purpose, plan.invoice_id.as_str()),
        (Purpose::Look, "in_2")
    );
}

#[test]
fn another_amount_is_news_of_an_open_invoice_and_not_of_one_that_has_ended() {
    let dearer = || Command::ReportFailed {
        report: InvoiceReport {
            amount: gbp(3000),
            reported_at: minutes(30),
            ..report("in_1")
        },
        terms: Box::new(terms()),
    };
    let row = after(&planned(), vec![(dearer(), minutes(30))]);
    assert_eq!(row.invoices["in_1"].amount, gbp(3000));
    let over = after(&planned(), vec![(ended(Ending::Voided), minutes(5))]);
    assert_eq!(decide(&over, dearer(), minutes(30)).err(), ALREADY);
}

#[test]
fn a_decline_is_of_the_card_that_was_charged() {
    for (new_card, then) in [("pm_2", None), ("pm_3", Some("pm_3"))] {
        let mut row = in_flight();
        row.attempt.as_mut().unwrap().payment_method = Some("pm_2".to_owned());
        row.new_card = Some(new_card.to_owned());
        let declined = Outcome::Declined(Box::new(failure("insufficient_funds")));
        let settle = Command::Settle {
            n: 1,
            outcome: declined,
        };
        let row = after(&row, vec![(settle, row.moved_at)]);
        assert_eq!(row.new_card.as_deref(), then);
    }
}

#[test]
fn access_is_given_back_in_writing_once_nothing_that_was_given_up_is_open() {
    let at = paused().moved_at;
    let mut two = after(&paused(), vec![(failed("in_2"), at)]);
    let second = two.invoices.get_mut("in_2").unwrap();
    (second.known, second.exhausted) = (true, true);
    for (row, access) in [(paused(), Access::Granted), (two, Access::Paused)] {
        assert_eq!(row.access, Some(Access::Paused));
        let row = after(&row, vec![(card("pm_2", false), at), (Command::Plan, at)]);
        let plan = row.plan.clone().unwrap();
        let sight = open("insufficient_funds");
        let row = after(&row, vec![(Command::Fire { n: plan.n, sight }, plan.at)]);
        let captured = Command::Settle {
            n: row.attempt_no,
            outcome: Outcome::Captured,
        };
        let row = after(&row, vec![(captured, plan.at)]);
        assert_eq!((row.access, row.access()), (Some(access), access));
    }
}

#[test]
fn what_was_paid_while_a_charge_was_declined_the_customer_paid() {
    for (ending, how) in [
        (Ending::PaidByCustomer, Ending::PaidByCustomer),
        (Ending::PaidByProvider, Ending::PaidByCustomer),
        (Ending::Voided, Ending::Voided),
    ] {
        let row = in_flight();
        let at = row.moved_at;
        let declined = Outcome::Declined(Box::new(failure("insufficient_funds")));
        let settle = Command::Settle {
            n: 1,
            outcome: declined,
        };
        let row = after(&row, vec![(ended(ending), at), (settle, at)]);
        assert_eq!(row.invoices["in_1"].end.as_ref().unwrap().how, how);
    }
}

#[test]
fn a_date_that_can_not_be_counted_takes_the_plan_away_and_is_a_persons() {
    let row = planned();
    let now = noon() + TimeDelta::days(7000);
    let to = decide(&row, Command::Plan, now).unwrap();
    assert_eq!((to.event, to.after.plan), (LogEvent::CaseOpened, None));
    assert!(to.after.cases.contains_key(&CaseReason::NoHolidayData));
    let tidied = Consequence::Tidy(row.schedule_names);
    assert!(to.consequences.contains(&tidied));
}
