//! The retrier's own work on one charge: what the schedule is for, the claim and its step, the
//! outcome and its step. No call is made, so this is what a retry costs beside waiting.

use std::hint::black_box;

use chrono::{DateTime, TimeDelta, Utc};
use divan::Bencher;
use paidonce_core::booking_step::Origin;
use paidonce_core::dunning::budget::PastCharge;
use paidonce_core::dunning::declines::Decline;
use paidonce_core::dunning::policy::{BUILT_IN, Policy};
use paidonce_core::dunning::{
    CardSeen, Command, Dunning, DunningTables, ErrandKind, FailureSeen, InvoiceReport,
    InvoiceStatus, Outcome, Sight, Transition, decide, dunning_step, errand,
};
use paidonce_core::money::{Currency, Money};
use paidonce_core::step::Step;
use ulid::Ulid;

/// How many charges of the card are counted: as many as Visa allows in a month.
const PAST_CHARGES: i64 = 20;

fn main() {
    divan::main();
}

/// A retry that is declined: all of it.
#[divan::bench]
fn claim_decline_and_build_both_steps(bencher: Bencher<'_, '_>) {
    let (tables, row, sight) = (tables(), row(), sight(PAST_CHARGES - 1));
    let (n, at) = planned(&row);
    bencher.bench(|| {
        let errand = errand(black_box(&row), n, at).expect("it is due");
        assert_eq!(errand.kind, ErrandKind::Charge);
        let sight = Box::new(sight.clone());
        let claim = decide(&row, Command::Fire { n, sight }, at).expect("it is claimed");
        let claimed = step(&tables, &row, &claim, at);
        let settle = Command::Settle {
            n: claim.after.attempt_no,
            outcome: Outcome::Declined(Box::new(failure())),
        };
        let settled = decide(&claim.after, settle, at).expect("it is settled");
        (claimed, step(&tables, &claim.after, &settled, at))
    });
}

#[divan::bench]
fn only_decide_on_the_claim(bencher: Bencher<'_, '_>) {
    let (row, sight) = (row(), sight(PAST_CHARGES - 1));
    let (n, at) = planned(&row);
    bencher.bench(|| {
        let sight = Box::new(sight.clone());
        decide(black_box(&row), Command::Fire { n, sight }, at)
    });
}

#[divan::bench]
fn only_build_the_step_of_the_claim(bencher: Bencher<'_, '_>) {
    let (tables, row) = (tables(), row());
    let (n, at) = planned(&row);
    let sight = Box::new(sight(PAST_CHARGES - 1));
    let claim = decide(&row, Command::Fire { n, sight }, at).expect("it is claimed");
    bencher.bench(|| step(&tables, black_box(&row), &claim, at));
}

fn step(tables: &DunningTables, row: &Dunning, to: &Transition, at: DateTime<Utc>) -> Step {
    let origin = Origin {
        who: "dunr-retrier",
        correlation_id: &row.subscription_id,
    };
    let step = Step::new(Ulid::nil(), "retry:1", at);
    dunning_step(step, tables, row, to, origin)
}

fn tables() -> DunningTables {
    DunningTables::named(|name| format!("dunr-{}", name.to_lowercase()))
}

/// Noon on Wednesday 4 November 2026.
fn noon() -> DateTime<Utc> {
    DateTime::from_timestamp(1_793_793_600, 0).expect("a time of this century")
}

fn planned(row: &Dunning) -> (u32, DateTime<Utc>) {
    let plan = row.plan.as_ref().expect("a charge is planned");
    (plan.n, plan.at)
}

/// Looked at, and the first date planned.
fn row() -> Dunning {
    let policy = Policy::from_json(BUILT_IN).expect("it is valid");
    let terms = policy.terms;
    let report = InvoiceReport {
        invoice_id: "in_1SandboxInvoice0000001".to_owned(),
        amount: gbp(),
        created: noon(),
        reported_at: noon(),
        hosted_url: Some("https://pay.example/in_1".to_owned()),
        provider_retries_at: None,
        email: None,
        second_email: None,
        name: None,
    };
    let failed = Command::ReportFailed {
        report,
        terms: Box::new(terms.clone()),
    };
    let look = Command::Fire {
        n: 1,
        sight: Box::new(sight(0)),
    };
    let minute = noon() + TimeDelta::minutes(1);
    let course = [
        (failed, noon()),
        (Command::Plan, noon()),
        (look, minute),
        (Command::Plan, minute),
    ];
    let fresh = Dunning::new("sub_1Sandbox000000001", "cus_1Sandbox01", terms, noon());
    course.into_iter().fold(fresh, |row, (command, at)| {
        decide(&row, command, at).expect("it is taken").after
    })
}

fn gbp() -> Money {
    Money::new(2_000, Currency::GBP).expect("an amount")
}

fn failure() -> FailureSeen {
    FailureSeen {
        decline: Decline {
            code: Some("card_declined".to_owned()),
            decline_code: Some("insufficient_funds".to_owned()),
            network: Some("visa".to_owned()),
            network_decline_code: Some("51".to_owned()),
            method_kind: Some("card".to_owned()),
            country: Some("GB".to_owned()),
            ..Decline::default()
        },
        charge: Some("ch_1".to_owned()),
        payment_method: Some("pm_1".to_owned()),
        fingerprint: Some("AOB934RVNwzk6xtn".to_owned()),
        needs_action: false,
    }
}

fn sight(charges: i64) -> Sight {
    let past = |day| PastCharge {
        at: noon() - TimeDelta::days(day),
        fingerprint: "AOB934RVNwzk6xtn".to_owned(),
        succeeded: false,
        rate_limited: false,
    };
    Sight {
        status: InvoiceStatus::Open,
        amount: gbp(),
        out_of_band: false,
        paid_at: None,
        charges_automatically: true,
        hosted_url: Some("https://pay.example/in_1".to_owned()),
        provider_retries_at: None,
        latest_charge: Some("ch_1".to_owned()),
        failure: Some(failure()),
        is_processing: false,
        subscription_ended: false,
        card: Some(CardSeen {
            payment_method: "pm_1".to_owned(),
            fingerprint: Some("AOB934RVNwzk6xtn".to_owned()),
            network: Some("visa".to_owned()),
            country: Some("GB".to_owned()),
            kind: "card".to_owned(),
        }),
        card_failure: None,
        charges: Some((0..charges).map(past).collect()),
    }
}
