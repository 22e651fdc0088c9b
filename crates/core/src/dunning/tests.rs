use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use chrono::{TimeDelta, TimeZone};
use expect_test::expect_file;

use super::declines::Decline;
use super::mail::MailState;
use super::policy::{BUILT_IN, Policy};
use super::*;
use crate::step::Row;

mod answers;
mod claims;
mod corners;
mod course;
mod edges;
mod sights;
mod world;

/// Wednesday 4 November 2026, noon in London: the first charge failed.
fn noon() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 4, 12, 0, 0).unwrap()
}

fn minutes(minutes: i64) -> DateTime<Utc> {
    noon() + TimeDelta::minutes(minutes)
}

fn terms() -> Terms {
    Policy::from_json(BUILT_IN).unwrap().terms
}

fn gbp(minor: i64) -> Money {
    Money::new(minor, crate::money::Currency::GBP).unwrap()
}

fn report(invoice_id: &str) -> InvoiceReport {
    InvoiceReport {
        invoice_id: invoice_id.to_owned(),
        amount: gbp(2000),
        created: noon(),
        reported_at: noon(),
        hosted_url: Some("https://pay.example/in_1".to_owned()),
        provider_retries_at: None,
        email: EmailAddress::parse("ada@example.com").ok(),
        second_email: None,
        name: None,
    }
}

fn failed(invoice_id: &str) -> Command {
    Command::ReportFailed {
        report: report(invoice_id),
        terms: Box::new(terms()),
    }
}

fn ended(ending: Ending) -> Command {
    Command::ReportEnded {
        invoice_id: "in_1".to_owned(),
        ending,
    }
}

fn card(payment_method: &str, renewed: bool) -> Command {
    Command::ReportCard {
        payment_method: payment_method.to_owned(),
        renewed,
    }
}

fn failure(decline_code: &str) -> FailureSeen {
    FailureSeen {
        decline: Decline {
            code: Some("card_declined".to_owned()),
            decline_code: Some(decline_code.to_owned()),
            method_kind: Some("card".to_owned()),
            ..Decline::default()
        },
        charge: None,
        payment_method: Some("pm_1".to_owned()),
        fingerprint: None,
        needs_action: decline_code == "authentication_required",
    }
}

fn sight(status: InvoiceStatus, decline_code: &str) -> Box<Sight> {
    Box::new(Sight {
        status,
        amount: gbp(2000),
        out_of_band: false,
        paid_at: None,
        charges_automatically: true,
        hosted_url: Some("https://pay.example/in_1".to_owned()),
        provider_retries_at: None,
        latest_charge: Some("ch_1".to_owned()),
        failure: Some(failure(decline_code)),
        is_processing: false,
        subscription_ended: false,
        card: Some(CardSeen {
            payment_method: "pm_1".to_owned(),
            fingerprint: Some("f_1".to_owned()),
            network: Some("visa".to_owned()),
            country: Some("GB".to_owned()),
            kind: "card".to_owned(),
        }),
        card_failure: None,
        charges: Some(Vec::new()),
    })
}

fn open(decline_code: &str) -> Box<Sight> {
    sight(InvoiceStatus::Open, decline_code)
}

/// Carries commands out one after the other; each must be taken.
fn after(row: &Dunning, commands: Vec<(Command, DateTime<Utc>)>) -> Dunning {
    let mut row = row.clone();
    for (command, now) in commands {
        let told = format!("{command:?}");
        row = match decide(&row, command, now) {
            Ok(transition) => transition.after,
            Err(rejection) => panic!("{told}: {rejection:?}"),
        };
    }
    row
}

fn fresh() -> Dunning {
    Dunning::new("sub_1", "cus_1", terms(), noon())
}

fn entered() -> Dunning {
    after(&fresh(), vec![(failed("in_1"), noon())])
}

/// Looked at, and the first date planned: Thursday 5 November, 10:00.
fn planned() -> Dunning {
    let look = Command::Fire {
        n: 1,
        sight: open("insufficient_funds"),
    };
    let commands = vec![
        (Command::Plan, noon()),
        (look, minutes(1)),
        (Command::Plan, minutes(1)),
    ];
    after(&entered(), commands)
}

fn planned_at(row: &Dunning) -> DateTime<Utc> {
    row.plan.as_ref().map(|plan| plan.at).unwrap()
}

/// The schedule of the plan fires.
fn fired(row: &Dunning, sight: Box<Sight>, now: DateTime<Utc>) -> Transition {
    let n = row.plan.as_ref().unwrap().n;
    decide(row, Command::Fire { n, sight }, now).unwrap()
}

fn in_flight() -> Dunning {
    let row = planned();
    let fire = Command::Fire {
        n: 2,
        sight: open("insufficient_funds"),
    };
    after(&row, vec![(fire, planned_at(&row))])
}

/// Every date by the calendar declined.
fn paused() -> Dunning {
    let mut row = planned();
    for _ in 0..4 {
        let (plan, at) = (row.plan.clone().unwrap(), planned_at(&row));
        let fire = Command::Fire {
            n: plan.n,
            sight: open("insufficient_funds"),
        };
        let declined = Outcome::Declined(Box::new(failure("insufficient_funds")));
        let n = row.attempt_no + 1;
        let settle = Command::Settle {
            n,
            outcome: declined,
        };
        row = after(&row, vec![(fire, at), (settle, at)]);
        if row.status == Status::Retrying {
            row = after(&row, vec![(Command::Plan, at)]);
        }
    }
    row
}

fn rows() -> Vec<(&'static str, Dunning)> {
    let recovered = after(
        &planned(),
        vec![(ended(Ending::PaidByCustomer), minutes(5))],
    );
    let cancelled = after(&planned(), vec![(Command::ReportCancelled, minutes(5))]);
    let late = noon() + TimeDelta::days(100);
    vec![
        ("ACTIVE, nothing known", fresh()),
        ("RETRYING, nothing planned yet", entered()),
        ("RETRYING, the first date planned", planned()),
        ("RETRYING, a charge in flight", in_flight()),
        ("PAUSED", paused()),
        (
            "PAUSED, closed past the horizon",
            after(&paused(), vec![(Command::Tend, late)]),
        ),
        ("RECOVERED", recovered),
        ("CANCELLED", cancelled),
    ]
}

fn commands(row: &Dunning) -> Vec<(&'static str, Command, DateTime<Utc>)> {
    let at = row
        .plan
        .as_ref()
        .map_or_else(|| minutes(10), |plan| plan.at);
    let soon = row.moved_at.max(at);
    let n = row.plan.as_ref().map_or(row.plan_no, |plan| plan.n);
    let fire = |sight: Box<Sight>| Command::Fire { n, sight };
    let attempt = row.attempt_no;
    let settle = |outcome| Command::Settle {
        n: attempt,
        outcome,
    };
    let after_lease = soon + TimeDelta::minutes(15);
    let paid = sight(InvoiceStatus::Paid, "insufficient_funds");
    let void = sight(InvoiceStatus::Void, "insufficient_funds");
    vec![
        ("ReportFailed, a new invoice", failed("in_2"), soon),
        ("ReportFailed, the known one again", failed("in_1"), soon),
        (
            "ReportActionRequired",
            Command::ReportActionRequired {
                report: InvoiceReport {
                    reported_at: soon,
                    ..report("in_1")
                },
                terms: Box::new(terms()),
            },
            soon,
        ),
        (
            "ReportEnded: the customer paid",
            ended(Ending::PaidByCustomer),
            soon,
        ),
        (
            "ReportEnded: paid out of band",
            ended(Ending::OutOfBand),
            soon,
        ),
        ("ReportEnded: voided", ended(Ending::Voided), soon),
        (
            "ReportEnded: uncollectible",
            ended(Ending::Uncollectible),
            soon,
        ),
        ("ReportCard: another one", card("pm_2", false), soon),
        (
            "ReportCard: the failing one, renewed",
            card("pm_1", true),
            soon,
        ),
        ("ReportCancelled", Command::ReportCancelled, soon),
        ("Plan", Command::Plan, soon),
        (
            "Fire, early",
            fire(open("insufficient_funds")),
            at - TimeDelta::hours(2),
        ),
        (
            "Fire: open, a soft decline",
            fire(open("insufficient_funds")),
            soon,
        ),
        ("Fire: open, a hard decline", fire(open("lost_card")), soon),
        (
            "Fire: open, to be approved",
            fire(open("authentication_required")),
            soon,
        ),
        ("Fire: paid meanwhile", fire(paid.clone()), soon),
        ("Fire: voided meanwhile", fire(void), soon),
        (
            "Fire after the lease: open",
            fire(open("insufficient_funds")),
            after_lease,
        ),
        (
            "Fire after the lease: paid",
            fire(paid.clone()),
            after_lease,
        ),
        (
            "Fire, of another plan",
            Command::Fire {
                n: 99,
                sight: paid.clone(),
            },
            soon,
        ),
        (
            "FiredLate, the next morning",
            Command::FiredLate { n },
            at + TimeDelta::hours(4),
        ),
        ("Settle: captured", settle(Outcome::Captured), soon),
        (
            "Settle: a soft decline",
            settle(Outcome::Declined(Box::new(failure("insufficient_funds")))),
            soon,
        ),
        (
            "Settle: a hard decline",
            settle(Outcome::Declined(Box::new(failure("lost_card")))),
            soon,
        ),
        (
            "Settle: fraud",
            settle(Outcome::Declined(Box::new(failure("fraudulent")))),
            soon,
        ),
        (
            "Settle: to be approved",
            settle(Outcome::Declined(Box::new(failure(
                "authentication_required",
            )))),
            soon,
        ),
        (
            "Settle: paid by somebody else",
            settle(Outcome::NotOpen(paid)),
            soon,
        ),
        ("Settle: too small", settle(Outcome::TooSmall), soon),
        (
            "Settle: refused",
            settle(Outcome::Refused {
                code: "odd".to_owned(),
            }),
            soon,
        ),
        ("Settle: no answer", settle(Outcome::Unanswered), soon),
        ("Settle: under way", settle(Outcome::Processing), soon),
        (
            "ClaimMail, the latest",
            Command::ClaimMail { no: row.mails.no },
            soon,
        ),
        ("SpendLink", Command::SpendLink { no: row.link.no }, soon),
        ("AskForLink", Command::AskForLink { no: row.link.no }, soon),
        ("Order: pause", Command::Order(Access::Paused), soon),
        ("Order: grant", Command::Order(Access::Granted), soon),
        ("LeaveToRules", Command::LeaveToRules, soon),
        ("Tend, at once", Command::Tend, soon),
        (
            "Tend, an hour later",
            Command::Tend,
            soon + TimeDelta::hours(1),
        ),
    ]
}

#[test]
fn every_status_and_command_is_in_the_table() {
    let mut table = String::from(
        "What may happen to a subscription. Written by a test: status, command, outcome.\n",
    );
    for (name, row) in rows() {
        writeln!(table, "\n{name}, access {}", row.access().as_str()).unwrap();
        for (what, command, now) in commands(&row) {
            let told = match decide(&row, command, now) {
                Ok(transition) => outcome(&row, &transition),
                Err(Rejection::TooEarly(_)) => "- too early".to_owned(),
                Err(Rejection::InFlight(_)) => "- in flight".to_owned(),
                Err(rejection) => format!("- {rejection:?}").to_lowercase(),
            };
            writeln!(table, "  {what:<38} {told}").unwrap();
        }
    }
    expect_file!["../dunning_table.txt"].assert_eq(&table);
}

fn outcome(before: &Dunning, transition: &Transition) -> String {
    let after = &transition.after;
    let mut told = format!(
        "{} [{}",
        after.status.as_str().to_uppercase(),
        transition.event.as_str()
    );
    if let Some(result) = &transition.result {
        write!(told, ": {result}").unwrap();
    }
    told.push(']');
    if after.access() != before.access() {
        write!(told, ", access {}", after.access().as_str()).unwrap();
    }
    if let Act::Pay(attempt) = &transition.act {
        write!(told, ", charge {}", attempt.key).unwrap();
    }
    if let Some(plan) = after.plan.as_ref().filter(|_| after.plan != before.plan) {
        write!(
            told,
            ", {:?} at {}",
            plan.purpose,
            plan.at.format("%a %d %H:%M")
        )
        .unwrap();
    }
    for consequence in &transition.consequences {
        match consequence {
            Consequence::Plan => told.push_str(", plan"),
            Consequence::Tidy(names) => write!(told, ", tidy {}", names.len()).unwrap(),
            Consequence::Mail(no) => {
                let mail = after.mails.items.get(no);
                let kind = mail.map_or("?", |mail| mail.kind.as_str());
                write!(told, ", mail {kind}").unwrap();
            }
        }
    }
    for reason in after
        .cases
        .keys()
        .filter(|it| !before.cases.contains_key(it))
    {
        write!(told, ", case {}", reason.as_str()).unwrap();
    }
    told
}

#[test]
fn a_stored_row_is_read_as_it_was_written() {
    for (name, row) in rows() {
        let item = row.item().unwrap();
        let read: Dunning = crate::step::from_item(item).unwrap();
        assert!(read == row, "{name}");
    }
}

#[test]
fn only_the_retrier_and_an_operator_ever_change_the_stored_access() {
    for (name, row) in rows() {
        for (what, command, now) in commands(&row) {
            let may = matches!(
                command,
                Command::Fire { .. }
                    | Command::Settle { .. }
                    | Command::Order(_)
                    | Command::LeaveToRules
            );
            if let Ok(to) = decide(&row, command, now) {
                let stored = |row: &Dunning| (row.access, row.access_by);
                assert!(may || stored(&to.after) == stored(&row), "{name}: {what}");
            }
        }
    }
}

#[test]
fn nothing_is_due_of_what_has_ended_and_something_is_of_all_that_has_not() {
    let due: BTreeMap<_, _> = rows()
        .into_iter()
        .map(|(name, mut row)| {
            for mail in row.mails.items.values_mut() {
                mail.state = MailState::Sent { at: noon() };
            }
            (name, row.due_at().is_some())
        })
        .collect();
    for (name, is_due) in due {
        let expected = name.starts_with("RETRYING") || name == "PAUSED";
        assert_eq!(is_due, expected, "{name}");
    }
}
