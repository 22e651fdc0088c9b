use std::fmt::Write as _;

use chrono::TimeZone;
use expect_test::expect_file;
use proptest::prelude::*;

use super::*;
use crate::dispute::DisputeStatus;
use crate::money::Currency;
use crate::step::Row;

fn hours(hours: i64) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 7, 1, 12, 0, 0).unwrap() + TimeDelta::hours(hours)
}

fn gbp(minor: i64) -> Money {
    Money::new(minor, Currency::GBP).unwrap()
}

fn paid() -> PaymentRow {
    PaymentRow::collected("pi_1", "bkg_1", Some(gbp(2000)), hours(0))
}

fn order(key: &str, amount: i64) -> Command {
    Command::Intend(RefundOrder {
        key: key.to_owned(),
        payment_ref: "pi_1".to_owned(),
        amount: gbp(amount),
        reason: RefundReason::Late,
        makes_up: 0,
    })
}

fn reported(key: Option<&str>, id: &str, amount: i64, status: RefundStatus) -> Command {
    Command::Report(RefundReport {
        refund_id: id.to_owned(),
        key: key.map(str::to_owned),
        amount: gbp(amount),
        status,
        created: hours(1),
        failure: (!status.is_live()).then(|| "expired_or_canceled_card".to_owned()),
    })
}

fn dispute(status: DisputeStatus) -> Dispute {
    Dispute {
        amount: gbp(2000),
        reason: "fraudulent".to_owned(),
        status,
        opened_at: hours(2),
        due_by: Some(hours(200)),
        withdrawn: (!status.is_warning()).then(|| gbp(2000)),
        reinstated: None,
        fee: None,
        fee_returned: None,
        withdrawn_at: Some(hours(2)),
        reinstated_at: None,
        closed_at: status.is_over().then(|| hours(9)),
    }
}

fn with(commands: impl IntoIterator<Item = Command>) -> PaymentRow {
    commands.into_iter().fold(paid(), |row, command| {
        decide(&row, command, hours(1)).map_or(row, |change| change.after)
    })
}

/// A payment on which the refund `k` has come so far.
fn rows() -> Vec<(&'static str, PaymentRow)> {
    let asked = || order("k", 2000);
    let then = |status| with([asked(), reported(Some("k"), "re_1", 2000, status)]);
    let code = "charge_disputed".to_owned();
    let key = || "k".to_owned();
    vec![
        ("nothing asked", paid()),
        ("asked", with([asked()])),
        (
            "refused",
            with([asked(), Command::Refused { key: key(), code }]),
        ),
        ("pending", then(RefundStatus::Pending)),
        ("succeeded", then(RefundStatus::Succeeded)),
        ("failed", then(RefundStatus::Failed)),
        (
            "by hand",
            with([reported(None, "re_9", 500, RefundStatus::Succeeded)]),
        ),
    ]
}

fn commands() -> Vec<(&'static str, Command)> {
    let key = || "k".to_owned();
    let code = "charge_disputed".to_owned();
    let of_k = |status| reported(Some("k"), "re_1", 2000, status);
    vec![
        ("Intend k", order("k", 2000)),
        ("Intend another of 15.01", order("other", 1501)),
        ("Unanswered", Command::Unanswered { key: key() }),
        ("Refused", Command::Refused { key: key(), code }),
        ("Report pending", of_k(RefundStatus::Pending)),
        ("Report succeeded", of_k(RefundStatus::Succeeded)),
        ("Report failed", of_k(RefundStatus::Failed)),
        (
            "Report by hand of 5.00",
            reported(None, "re_9", 500, RefundStatus::Succeeded),
        ),
        ("SaidRefunded 20.00", Command::SaidRefunded { minor: 2000 }),
        (
            "ReportDispute",
            Command::ReportDispute {
                dispute_id: "du_1".to_owned(),
                dispute: dispute(DisputeStatus::NeedsResponse),
            },
        ),
        (
            "Collected again",
            Command::Collected {
                booking_id: "bkg_1".to_owned(),
                amount: Some(gbp(2000)),
                paid_at: hours(0),
            },
        ),
    ]
}

fn described(outcome: Result<Change, Refusal>) -> String {
    match outcome {
        Ok(change) => {
            let cases = change.cases.iter();
            let case: String = cases
                .map(|case| format!(", case {}", case.reason.as_str()))
                .collect();
            let back = change.after.refunded().map_or(0, Money::minor);
            format!("{}, {} back{case}", change.what, gbp(back).decimal())
        }
        Err(Refusal::Already) => "no: already".to_owned(),
        Err(Refusal::LookFirst) => "no: look it up first".to_owned(),
        Err(Refusal::TooMany) => "no: there are too many".to_owned(),
    }
}

#[test]
fn the_table_says_what_every_command_does_to_a_refund_in_every_stage() {
    let mut table = String::from(
        "What every command does to the money of a payment of GBP 20.00, written by a test. The refund\n\
         under the key k is of all of it.\n",
    );
    for (name, command) in commands() {
        let _ = writeln!(table, "\n{name}");
        for (stage, row) in rows() {
            let outcome = described(decide(&row, command.clone(), hours(2)));
            let _ = writeln!(table, "  {stage:<13} {outcome}");
        }
    }
    expect_file!["../refund_table.txt"].assert_eq(&table);
}

#[test]
fn an_unanswered_refund_is_looked_up_ever_less_often_and_a_person_hears_of_it_once_a_day_is_over() {
    let mut row = with([order("k", 2000)]);
    let mut now = hours(1);
    let mut cases = Vec::new();
    for _ in 0..12 {
        now = row.due_at().unwrap().max(now);
        let key = "k".to_owned();
        let change = decide(&row, Command::Unanswered { key }, now).unwrap();
        cases.extend(change.cases.iter().map(|case| (case.reason, now)));
        row = change.after;
        assert!(row.due_at().unwrap() - now <= TimeDelta::hours(6));
    }
    assert_eq!(cases.len(), 1);
    assert!(cases[0].1 - hours(1) >= UNANSWERED_FOR);
    let made = reported(Some("k"), "re_1", 2000, RefundStatus::Succeeded);
    assert_eq!(decide(&row, made, now).unwrap().after.due_at(), None);
}

#[test]
fn a_payment_never_gives_back_more_than_came() {
    let row = with([order("a", 1500), order("b", 501), order("c", 500)]);
    let asked: Vec<&str> = row.asked().map(|(key, _)| key.as_str()).collect();
    assert_eq!(asked, ["a", "c"]);
    assert_eq!(row.refunds["b"].progress, Progress::Refused);
    assert_eq!(row.refunded(), Some(gbp(2000)));
    let failed = reported(Some("a"), "re_1", 1500, RefundStatus::Failed);
    let failed = decide(&row, failed, hours(3)).unwrap().after;
    assert_eq!(
        failed.refunded(),
        Some(gbp(500)),
        "what failed is here again"
    );
}

#[test]
fn what_the_bank_takes_is_not_given_back_on_top() {
    let report = |status| Command::ReportDispute {
        dispute_id: "du_1".to_owned(),
        dispute: dispute(status),
    };
    for (status, asks) in [
        (DisputeStatus::WarningNeedsResponse, true),
        (DisputeStatus::NeedsResponse, false),
        (DisputeStatus::Lost, false),
        (DisputeStatus::Won, true),
    ] {
        let change = decide(&with([report(status)]), order("k", 2000), hours(3)).unwrap();
        assert_eq!(change.after.is_asked("k"), asks, "{status:?}");
        let case = change.cases.first().map(|case| case.reason);
        assert_eq!(case, (!asks).then_some(Reason::RefundDue), "{status:?}");
    }
}

#[test]
fn a_dispute_is_news_when_it_opens_when_an_inquiry_becomes_one_and_when_it_is_over() {
    use DisputeStatus::{Lost, NeedsResponse, UnderReview, WarningNeedsResponse};
    let mut row = paid();
    let mut news = Vec::new();
    for status in [WarningNeedsResponse, NeedsResponse, UnderReview, Lost] {
        let command = Command::ReportDispute {
            dispute_id: "du_1".to_owned(),
            dispute: dispute(status),
        };
        let change = decide(&row, command, hours(3)).unwrap();
        news.extend(change.cases.into_iter().map(|case| case.occasion));
        row = change.after;
    }
    let wanted = [
        "du_1:warning_needs_response",
        "du_1:needs_response",
        "du_1:lost",
    ];
    assert_eq!(news, wanted);
}

#[test]
fn a_dispute_of_a_payment_that_nobody_knew_yet_is_told_when_it_is_claimed() {
    let command = Command::ReportDispute {
        dispute_id: "du_1".to_owned(),
        dispute: dispute(DisputeStatus::NeedsResponse),
    };
    let unclaimed = PaymentRow::unclaimed("pi_1", hours(0));
    let disputed = decide(&unclaimed, command, hours(1)).unwrap().after;
    let claim = Command::Collected {
        booking_id: "bkg_1".to_owned(),
        amount: None,
        paid_at: hours(0),
    };
    let claimed = decide(&disputed, claim, hours(2)).unwrap();
    assert_eq!(claimed.cases.len(), 1);
    assert_eq!(claimed.cases[0].reason, Reason::Disputed);
    let known = claimed.after.facts().disputes;
    assert_eq!(known.len(), 1, "also where it is not known what came");
}

#[test]
fn a_row_reads_back_as_it_was_written() {
    for (stage, row) in rows() {
        let item = row.item().unwrap();
        assert_eq!(
            item.contains_key("due_at"),
            row.due_at().is_some(),
            "{stage}"
        );
        let read: PaymentRow = crate::step::from_item(item).unwrap();
        assert_eq!(read, row, "{stage}");
    }
}

#[test]
fn a_refund_is_looked_at_again_after_a_while_and_no_more_once_it_is_refused() {
    let asked = with([order("k", 700)]);
    assert_eq!(asked.due_at(), Some(hours(1) + LOOK_AGAIN));
    let pending = reported(Some("k"), "re_1", 700, RefundStatus::Pending);
    let pending = decide(&asked, pending, hours(2)).unwrap().after;
    assert_eq!(pending.due_at(), Some(hours(2) + PENDING_FOR));
    let refused = Command::Refused {
        key: "k".to_owned(),
        code: "charge_disputed".to_owned(),
    };
    let refused = decide(&asked, refused, hours(2)).unwrap().after;
    assert_eq!(refused.due_at(), None);
    let failure = refused.refunds["k"].failure.as_deref();
    assert_eq!(failure, Some("charge_disputed"));
}

#[test]
fn a_booking_hears_what_went_back_and_what_of_it_is_still_owed() {
    let told = |row: &PaymentRow| {
        let facts = row.facts();
        let refunds = facts.refunds;
        let count = (refunds.keys.len(), refunds.dead.len());
        (refunds.returned, refunds.stranded, count, facts.by_others)
    };
    let made_at = |id: &str, amount, created| {
        Command::Report(RefundReport {
            refund_id: id.to_owned(),
            key: None,
            amount: gbp(amount),
            status: RefundStatus::Succeeded,
            created,
            failure: None,
        })
    };
    let take = |row: &PaymentRow, command, now| decide(row, command, now).unwrap().after;
    let asked = with([order("k", 700)]);
    assert_eq!(told(&asked), (700, 0, (1, 0), false));
    let failed = reported(Some("k"), "re_1", 700, RefundStatus::Failed);
    let failed = take(&asked, failed, hours(2));
    assert_eq!(told(&failed), (700, 700, (1, 1), false));
    let by_hand = take(&failed, made_at("re_9", 500, hours(3)), hours(3));
    assert_eq!(told(&by_hand), (700, 200, (1, 1), true));
    let mut again = RefundOrder {
        key: "k:2".to_owned(),
        payment_ref: "pi_1".to_owned(),
        amount: gbp(300),
        reason: RefundReason::Staff,
        makes_up: 150,
    };
    let ordered = take(&by_hand, Command::Intend(again.clone()), hours(4));
    assert_eq!(told(&ordered), (850, 50, (2, 1), true));
    let more = take(&by_hand, made_at("re_8", 300, hours(4)), hours(4));
    assert_eq!(told(&more), (800, 0, (1, 1), true), "more than was owed");
    again.makes_up = 250;
    let beyond = take(&by_hand, Command::Intend(again), hours(4));
    assert_eq!(told(&beyond), (750, 0, (2, 1), true));
}

#[test]
fn a_sum_that_is_said_again_is_no_news_and_a_sum_that_is_not_explained_is_seen() {
    let said = || Command::SaidRefunded { minor: 500 };
    let row = with([said()]);
    assert_eq!(decide(&row, said(), hours(2)), Err(Refusal::Already));
    assert!(row.misses_refunds());
    let by_hand = reported(None, "re_9", 500, RefundStatus::Succeeded);
    assert!(!with([said(), by_hand]).misses_refunds());
    let only_asked = with([order("k", 500), said()]);
    assert!(only_asked.misses_refunds());
    assert!(only_asked.is_asked("k") && !row.is_asked("k"));
}

#[test]
fn a_row_that_is_nobodys_goes_by_itself_and_one_that_is_claimed_tells_what_failed_before() {
    let unclaimed = PaymentRow::unclaimed("pi_1", hours(0));
    assert_eq!(unclaimed.key(), "payment#pi_1");
    let ends = (hours(0) + UNCLAIMED_FOR).timestamp();
    assert_eq!(unclaimed.expires_at, Some(ends));
    assert_eq!((paid().expires_at, paid().version), (None, 1));
    let reports = [
        reported(None, "re_1", 500, RefundStatus::Succeeded),
        reported(None, "re_2", 500, RefundStatus::Failed),
    ];
    let row = reports.into_iter().fold(unclaimed, |row, command| {
        decide(&row, command, hours(1)).unwrap().after
    });
    let claim = Command::Collected {
        booking_id: "bkg_1".to_owned(),
        amount: Some(gbp(2000)),
        paid_at: hours(0),
    };
    let claimed = decide(&row, claim, hours(2)).unwrap();
    let told: Vec<&str> = claimed
        .cases
        .iter()
        .map(|it| it.occasion.as_str())
        .collect();
    assert_eq!(told, ["re_2"]);
    assert_eq!(claimed.after.expires_at, None);
}

#[test]
fn every_change_counts_the_version_up_by_one() {
    for (stage, row) in rows() {
        let old = PaymentRow { version: 7, ..row };
        for (name, command) in commands() {
            if let Ok(change) = decide(&old, command, hours(2)) {
                assert_eq!(change.after.version, 8, "{name} of {stage}");
            }
        }
    }
}

#[test]
fn what_is_due_is_in_a_partition_of_its_own_index() {
    let item = with([order("k", 700)]).item().unwrap();
    // The letters of `pi_1` add up to 361.
    let shard = lookup_shard(361 % LOOKUP_SHARDS);
    assert_eq!(item["state_shard"].as_s(), Ok(&shard));
    assert_eq!(lookup_shard(3), "LOOKUP#3");
}

/// All that the provider may say of one payment, our own call's answer included.
fn reports() -> Vec<Command> {
    let status = [
        RefundStatus::Pending,
        RefundStatus::Succeeded,
        RefundStatus::Failed,
    ];
    let ours = status.map(|status| reported(Some("k"), "re_1", 700, status));
    let by_hand = reported(None, "re_9", 500, RefundStatus::Succeeded);
    let said = [500, 1200].map(|minor| Command::SaidRefunded { minor });
    let disputes = [
        DisputeStatus::NeedsResponse,
        DisputeStatus::UnderReview,
        DisputeStatus::Lost,
    ];
    let disputes = disputes.map(|status| Command::ReportDispute {
        dispute_id: "du_1".to_owned(),
        dispute: dispute(status),
    });
    let collected = Command::Collected {
        booking_id: "bkg_1".to_owned(),
        amount: Some(gbp(2000)),
        paid_at: hours(0),
    };
    let mut all: Vec<Command> = ours.into();
    all.extend([by_hand, collected]);
    all.extend(said);
    all.extend(disputes);
    all
}

/// The row without what depends on how often and when it was written.
fn essence(row: &PaymentRow) -> PaymentRow {
    let mut row = row.clone();
    row.version = 0;
    for refund in row.refunds.values_mut() {
        refund.look_at = None;
    }
    row
}

proptest! {
    #[test]
    fn any_order_of_reports_with_any_repeats_ends_in_the_same_row(
        order in Just((0..reports().len()).collect::<Vec<_>>()).prop_shuffle(),
        repeats in prop::collection::vec(0..reports().len(), 0..12),
    ) {
        let reports = reports();
        let first = PaymentRow::unclaimed("pi_1", hours(0));
        let run = |indices: &mut dyn Iterator<Item = usize>| {
            indices.fold(first.clone(), |row, index| {
                let command = reports[index].clone();
                decide(&row, command, hours(5)).map_or(row, |change| change.after)
            })
        };
        let straight = run(&mut (0..reports.len()));
        let mixed = run(&mut order.iter().chain(&repeats).copied());
        prop_assert_eq!(essence(&straight), essence(&mixed));
    }
}
