use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::{TimeDelta, TimeZone};
use expect_test::expect_file;

use super::*;
use crate::dispute::DisputeStatus;
use crate::local_time::stamp;
use crate::phone::Phone;
use crate::step::Row;
use crate::venue::{BUILT_IN, Unmarked, Venue};

mod edges;
mod money;
mod moves;
mod pages;
mod rows;
mod visits;

/// Booked on 1 July 12:00 for 11 July 20:00, deposit due on 2 July 12:00.
fn booked_at() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 7, 1, 12, 0, 0).unwrap()
}

fn hours(hours: i64) -> DateTime<Utc> {
    booked_at() + TimeDelta::hours(hours)
}

fn place(resource: &str, starts_at: DateTime<Utc>) -> Place {
    Place {
        resource: resource.to_owned(),
        label: "table".to_owned(),
        starts_at,
        ends_at: starts_at + TimeDelta::minutes(60),
        zone: chrono_tz::Europe::London,
        slot_keys: vec![format!("{resource}#a"), format!("{resource}#b")],
    }
}

pub(crate) fn booking(state: State) -> Booking {
    let policy = Venue::from_json(BUILT_IN).unwrap().policy;
    let starts_at = Utc.with_ymd_and_hms(2026, 7, 11, 19, 0, 0).unwrap();
    let deposit_deadline =
        policy.deposit_deadline(booked_at(), starts_at, chrono_tz::Europe::London);
    let paid = !matches!(state, State::Pending | State::Released | State::Cancelled);
    Booking {
        booking_id: "bkg_1".to_owned(),
        state,
        place: place("table-4", starts_at),
        party: 2,
        name: "Mary".to_owned(),
        phone: Phone::parse("07700 900123", "GB").ok(),
        email: None,
        notes: None,
        source: "form".to_owned(),
        deposit: gbp(2000),
        deposit_deadline,
        remind_at: policy.remind_at(booked_at(), deposit_deadline, chrono_tz::Europe::London),
        reminded_at: None,
        funds: None,
        session: None,
        payment_ref: paid.then(|| "pi_1".to_owned()),
        paid_at: paid.then(|| hours(1)),
        payments: paid.then(|| paid_in_full("pi_1")).into_iter().collect(),
        refund_reason: None,
        disputes: BTreeMap::new(),
        waived: None,
        waived_reason: None,
        attendance: None,
        asked_at: None,
        settled_at: None,
        reversal: None,
        reversal_reason: None,
        cancelled: None,
        cancelled_reason: None,
        policy,
        language: None,
        consented_at: None,
        moves: 0,
        created_at: booked_at(),
        version: 3,
    }
}

fn gbp(minor: i64) -> Money {
    Money::new(minor, crate::money::Currency::GBP).unwrap()
}

fn paid_in_full(payment_ref: &str) -> Paid {
    Paid {
        payment_ref: payment_ref.to_owned(),
        amount: Some(gbp(2000)),
        paid_at: hours(1),
        returned: None,
        orders: BTreeMap::new(),
        refunds: Refunds::default(),
        lost: None,
        counted: None,
        retained: None,
    }
}

/// A payment that the provider took at `paid_at`; a released booking finds its old slots free.
fn payment_at(payment_ref: &str, amount: Option<Money>, paid_at: DateTime<Utc>) -> Command {
    Command::ReceivePayment(Payment {
        payment_ref: payment_ref.to_owned(),
        session_id: "cs_1".to_owned(),
        amount,
        paid_at,
        hold_again: Some(booking(State::Pending).place),
    })
}

fn payment(payment_ref: &str, amount: Option<Money>) -> Command {
    payment_at(payment_ref, amount, hours(1))
}

fn staff() -> StaffOrder {
    StaffOrder {
        by: "bar".to_owned(),
        reason: "a regular".to_owned(),
    }
}

fn reported(by_others: i64, status: Option<DisputeStatus>) -> Command {
    let disputed = status.map(|status| Disputed {
        payment_ref: "pi_1".to_owned(),
        status,
        amount: gbp(2000),
    });
    Command::SyncMoney(MoneyFacts {
        payment_ref: "pi_1".to_owned(),
        refunds: Refunds {
            returned: by_others,
            ..Refunds::default()
        },
        by_others: by_others > 0,
        disputes: disputed
            .map(|it| ("du_1".to_owned(), it))
            .into_iter()
            .collect(),
    })
}

fn opened() -> OpenedSession {
    OpenedSession {
        session_id: "cs_1".to_owned(),
        url: "https://pay.example/cs_1".to_owned(),
    }
}

/// Every command, in the moments that matter to it.
fn commands() -> Vec<(&'static str, Command, DateTime<Utc>)> {
    let attendance = |attended| Command::MarkAttendance {
        attended,
        marked_by: "bar".to_owned(),
    };
    let cancel = |by| Command::Cancel {
        by,
        reason: String::new(),
    };
    let later = place(
        "table-5",
        Utc.with_ymd_and_hms(2026, 7, 12, 19, 0, 0).unwrap(),
    );
    let usd = Money::from_stripe(2000, "usd").ok();
    vec![
        (
            "ReceivePayment of the deposit",
            payment("pi_2", Some(gbp(2000))),
            hours(1),
        ),
        (
            "ReceivePayment, heard of past the deadline",
            payment("pi_2", Some(gbp(2000))),
            hours(25),
        ),
        (
            "ReceivePayment, made past the deadline and its grace",
            payment_at("pi_2", Some(gbp(2000)), hours(25)),
            hours(25),
        ),
        (
            "ReceivePayment, heard of after the start",
            payment("pi_2", Some(gbp(2000))),
            hours(250),
        ),
        (
            "ReceivePayment, the known one again",
            payment("pi_1", Some(gbp(2000))),
            hours(1),
        ),
        (
            "ReceivePayment of too little",
            payment("pi_2", Some(gbp(1999))),
            hours(1),
        ),
        (
            "ReceivePayment of too much",
            payment("pi_2", Some(gbp(2500))),
            hours(1),
        ),
        (
            "ReceivePayment in another currency",
            payment("pi_2", usd),
            hours(1),
        ),
        (
            "ReceivePayment of no readable amount",
            payment("pi_2", None),
            hours(1),
        ),
        (
            "AwaitFunds",
            Command::AwaitFunds {
                payment_ref: "pi_2".to_owned(),
                collected: false,
            },
            hours(1),
        ),
        (
            "FailFunds",
            Command::FailFunds {
                payment_ref: "pi_2".to_owned(),
            },
            hours(1),
        ),
        (
            "SyncMoney: a part went back by hand",
            reported(500, None),
            hours(2),
        ),
        (
            "SyncMoney: all went back by hand",
            reported(2000, None),
            hours(2),
        ),
        (
            "SyncMoney: disputed",
            reported(0, Some(DisputeStatus::NeedsResponse)),
            hours(2),
        ),
        (
            "SyncMoney: an inquiry",
            reported(0, Some(DisputeStatus::WarningNeedsResponse)),
            hours(2),
        ),
        (
            "Refund of a part, by the staff",
            Command::Refund {
                payment_ref: None,
                amount: Some(gbp(500)),
                order: staff(),
            },
            hours(2),
        ),
        (
            "Refund of more than there is",
            Command::Refund {
                payment_ref: None,
                amount: Some(gbp(2001)),
                order: staff(),
            },
            hours(2),
        ),
        ("Waive", Command::Waive(staff()), hours(2)),
        ("Remind, too early", Command::Remind, hours(1)),
        ("Remind, when due", Command::Remind, hours(21)),
        ("Remind, past the deadline", Command::Remind, hours(24)),
        ("Release, before the deadline", Command::Release, hours(23)),
        ("Release, at the deadline", Command::Release, hours(24)),
        (
            "MarkAttendance, before the start",
            attendance(true),
            hours(240),
        ),
        ("MarkAttendance: came", attendance(true), hours(248)),
        (
            "MarkAttendance: did not come",
            attendance(false),
            hours(248),
        ),
        ("Settle, before it is due", Command::Settle, hours(249)),
        ("Settle, unmarked", Command::Settle, hours(260)),
        (
            "ReverseForfeit, by a refund",
            Command::ReverseForfeit {
                refund: true,
                order: staff(),
            },
            hours(270),
        ),
        (
            "ReverseForfeit, to the customer's credit",
            Command::ReverseForfeit {
                refund: false,
                order: staff(),
            },
            hours(270),
        ),
        (
            "Cancel by the customer, in time",
            cancel(CancelledBy::Customer),
            hours(2),
        ),
        (
            "Cancel by the customer, too late for a refund",
            cancel(CancelledBy::Customer),
            hours(240),
        ),
        (
            "Cancel by the business",
            cancel(CancelledBy::Business),
            hours(240),
        ),
        (
            "Cancel, after the start",
            cancel(CancelledBy::Business),
            hours(248),
        ),
        (
            "Reschedule",
            Command::Reschedule {
                to: later.clone(),
                by: CancelledBy::Business,
            },
            hours(2),
        ),
        (
            "Reschedule by the customer, when it is too late to cancel for nothing",
            Command::Reschedule {
                to: later.clone(),
                by: CancelledBy::Customer,
            },
            hours(240),
        ),
        (
            "Reschedule, after the start",
            Command::Reschedule {
                to: later,
                by: CancelledBy::Business,
            },
            hours(248),
        ),
        ("IntendSession", Command::IntendSession, hours(1)),
        (
            "IntendSession, past the deadline",
            Command::IntendSession,
            hours(24),
        ),
        (
            "RecordSession of no known attempt",
            Command::RecordSession {
                attempt: 1,
                opened: opened(),
            },
            hours(1),
        ),
        (
            "SpendSession of no known attempt",
            Command::SpendSession { attempt: 1 },
            hours(1),
        ),
        (
            "CloseSession of no known page",
            Command::CloseSession {
                session_id: "cs_1".to_owned(),
            },
            hours(1),
        ),
    ]
}

fn described(outcome: Result<Transition, Rejection>) -> String {
    let transition = match outcome {
        Ok(transition) => transition,
        Err(rejection) => return format!("no: {}", refusal(rejection)),
    };
    let mut text = format!("{}: {}", transition.after.state.as_str(), transition.what);
    for (slots, verb) in [(&transition.hold, "holds"), (&transition.free, "frees")] {
        if !slots.is_empty() {
            let _ = write!(text, ", {verb} {} slots", slots.len());
        }
    }
    for consequence in transition.consequences {
        let _ = match consequence {
            Consequence::Message(kind) => write!(text, ", message {}", kind.as_str()),
            Consequence::Handover(reason, _) => write!(text, ", case {}", reason.as_str()),
            Consequence::Refund(order) => {
                write!(text, ", {} back as {}", order.amount.decimal(), order.key)
            }
            Consequence::ExpireSession { session_id } => write!(text, ", closes {session_id}"),
        };
    }
    text
}

fn refusal(rejection: Rejection) -> String {
    match rejection {
        Rejection::Already => "already".to_owned(),
        Rejection::Overtaken(state) => format!("overtaken, it is {}", state.as_str()),
        Rejection::TooEarly(at) => format!("not before {}", stamp(at)),
        Rejection::TooLate => "too late".to_owned(),
        Rejection::Frozen => "its money is disputed or went back".to_owned(),
        Rejection::NotThatMuch => "there is not that much of its money here".to_owned(),
    }
}

#[test]
fn the_table_says_what_every_command_does_in_every_state() {
    let mut table = String::from(
        "What every command does to a booking, written by a test. The booking was made on 1 July 2026\n\
         12:00Z for 11 July 19:00Z, deposit GBP 20.00, due on 2 July 12:00Z, paid by pi_1 where paid.\n",
    );
    for (name, command, now) in commands() {
        let _ = writeln!(table, "\n{name} ({})", stamp(now));
        for state in State::ALL {
            let outcome = described(decide(&booking(state), command.clone(), now));
            let _ = writeln!(table, "  {:<10} {outcome}", state.as_str());
        }
    }
    expect_file!["../booking_table.txt"].assert_eq(&table);
}

#[test]
fn a_transition_counts_the_version_up_and_terminal_states_are_never_left() {
    for (name, command, now) in commands() {
        for state in State::ALL {
            let before = booking(state);
            let Ok(transition) = decide(&before, command.clone(), now) else {
                continue;
            };
            assert_eq!(transition.after.version, before.version + 1, "{name}");
            let terminal = matches!(
                state,
                State::Released | State::Cancelled | State::Applied | State::Forfeited
            );
            // Money that was paid in time gets a released slot again, if it is free.
            let held_again = state == State::Released && transition.what == "late confirm";
            assert!(
                !terminal || held_again || transition.after.state == state,
                "{name} leaves {state:?}"
            );
        }
    }
}

#[test]
fn attendance_decides_between_applied_and_forfeited() {
    for (attended, state) in [(true, State::Applied), (false, State::Forfeited)] {
        let mut marked = booking(State::Confirmed);
        marked.attendance = Some(Attendance {
            attended,
            marked_by: "bar".to_owned(),
            marked_at: hours(248),
        });
        let settled = decide(&marked, Command::Settle, hours(260)).map(|to| to.after.state);
        assert_eq!(settled, Ok(state));
    }
}

#[test]
fn the_team_is_asked_once_and_the_policy_may_assume() {
    let mut asked = booking(State::Confirmed);
    asked.asked_at = Some(hours(260));
    assert_eq!(
        decide(&asked, Command::Settle, hours(261)).err(),
        Some(Rejection::Already)
    );
    assert_eq!(
        asked.due_at(),
        None,
        "an asked booking waits for the mark, not for a sweep"
    );
    let mut assuming = booking(State::Confirmed);
    assuming.policy.unmarked = Unmarked::AssumeAttended;
    let settled = decide(&assuming, Command::Settle, hours(260)).map(|to| to.after.state);
    assert_eq!(settled, Ok(State::Applied));
}

#[test]
fn a_payment_page_is_taken_up_again_until_its_key_is_too_old() {
    let mut booking = booking(State::Pending);
    let first = decide(&booking, Command::IntendSession, hours(0))
        .map(|to| to.after)
        .ok()
        .unwrap();
    let session = first.session.clone().unwrap();
    assert_eq!((session.attempt, session.opened), (1, None));
    booking = first;
    assert_eq!(
        decide(&booking, Command::IntendSession, hours(1)).err(),
        Some(Rejection::Already)
    );
    booking = decide(
        &booking,
        Command::RecordSession {
            attempt: 1,
            opened: opened(),
        },
        hours(1),
    )
    .map(|to| to.after)
    .ok()
    .unwrap();
    assert_eq!(
        decide(&booking, Command::IntendSession, hours(2)).err(),
        Some(Rejection::Already)
    );
    booking.deposit_deadline = hours(100);
    let second = decide(&booking, Command::IntendSession, hours(24))
        .map(|to| to.after)
        .ok()
        .unwrap();
    assert_eq!(
        second.session.map(|session| session.attempt),
        Some(2),
        "an expired page gets a new key"
    );
}

#[test]
fn money_that_failed_before_it_was_awaited_does_not_hold_the_slot() {
    let failed = decide(
        &booking(State::Pending),
        Command::FailFunds {
            payment_ref: "pi_2".to_owned(),
        },
        hours(1),
    );
    let failed = failed.map(|to| to.after).ok().unwrap();
    let awaited = decide(
        &failed,
        Command::AwaitFunds {
            payment_ref: "pi_2".to_owned(),
            collected: false,
        },
        hours(2),
    );
    assert_eq!(awaited.err(), Some(Rejection::Already));
    assert_eq!(
        failed.deposit_deadline,
        booking(State::Pending).deposit_deadline
    );
}

#[test]
fn due_work_leads_from_the_reminder_to_the_deadline_and_then_ends() {
    let pending = booking(State::Pending);
    assert_eq!(pending.due_at(), Some(hours(20)));
    let reminded = decide(&pending, Command::Remind, hours(20))
        .map(|to| to.after)
        .ok()
        .unwrap();
    assert_eq!(reminded.due_at(), Some(hours(24)));
    let released = decide(&reminded, Command::Release, hours(24))
        .map(|to| to.after)
        .ok()
        .unwrap();
    assert_eq!(released.due_at(), None);
    assert!(!released.item().unwrap().contains_key("state_shard"));
}

/// A booking whose payment page is open until hour 25, an hour past the deadline.
fn with_open_page() -> Booking {
    let mut booking = booking(State::Pending);
    booking.session = Some(Session {
        attempt: 1,
        intended_at: hours(23),
        expires_at: hours(25),
        opened: Some(opened()),
        spent: false,
        amount: None,
        closing_at: None,
        closed: false,
        replaces: None,
    });
    booking
}

#[test]
fn an_open_payment_page_is_closed_before_the_slot_is_given_back() {
    let booking = with_open_page();
    let closing = decide(&booking, Command::Release, hours(24)).ok().unwrap();
    assert_eq!(closing.after.state, State::Pending);
    let expire = Consequence::ExpireSession {
        session_id: "cs_1".to_owned(),
    };
    assert_eq!(closing.consequences, [expire]);
    let late = hours(25) + TimeDelta::minutes(5);
    assert_eq!(
        decide(&closing.after, Command::Release, hours(25)).err(),
        Some(Rejection::TooEarly(late)),
        "the provider did not say yet that nobody can pay"
    );
    assert_eq!(closing.after.due_at(), Some(late));
    let close = Command::CloseSession {
        session_id: "cs_1".to_owned(),
    };
    let closed = decide(&closing.after, close, hours(24)).ok().unwrap().after;
    assert_eq!(closed.due_at(), Some(hours(24)), "the next sweep is soon");
    for (booking, at) in [(&closed, hours(24)), (&closing.after, late)] {
        let released = decide(booking, Command::Release, at).map(|to| to.after.state);
        assert_eq!(released, Ok(State::Released));
    }
}

#[test]
fn a_customer_who_was_faster_than_the_closing_keeps_the_slot() {
    let closing = decide(&with_open_page(), Command::Release, hours(24))
        .ok()
        .unwrap();
    let paid = Command::AwaitFunds {
        payment_ref: "pi_1".to_owned(),
        collected: true,
    };
    let waiting = decide(&closing.after, paid, hours(24)).ok().unwrap().after;
    let released = decide(&waiting, Command::Release, hours(25)).err();
    assert_eq!(released, Some(Rejection::TooEarly(hours(24 + 72))));
}

#[test]
fn a_page_whose_money_failed_makes_way_for_another() {
    let mut booking = with_open_page();
    booking.deposit_deadline = hours(30);
    let failed = Command::FailFunds {
        payment_ref: "pi_1".to_owned(),
    };
    let failed = decide(&booking, failed, hours(23)).ok().unwrap().after;
    let next = decide(&failed, Command::IntendSession, hours(24))
        .ok()
        .unwrap();
    assert_eq!(next.after.session.map(|session| session.attempt), Some(2));
}

#[test]
fn an_attempt_that_the_provider_will_never_open_makes_way_for_the_next() {
    let first = decide(&booking(State::Pending), Command::IntendSession, hours(0));
    let first = first.map(|to| to.after).ok().unwrap();
    let spent = decide(&first, Command::SpendSession { attempt: 1 }, hours(0));
    let spent = spent.map(|to| to.after).ok().unwrap();
    let next = decide(&spent, Command::IntendSession, hours(1))
        .map(|to| to.after)
        .ok()
        .unwrap();
    assert_eq!(next.session.map(|session| session.attempt), Some(2));
}

/// A row that is compared as a whole, as rows are by default.
#[derive(Serialize)]
#[serde(transparent)]
struct Whole(Booking);

impl Row for Whole {
    const NAME: &'static str = "booking";
    const KEY: &'static str = "booking_id";

    fn key(&self) -> String {
        self.0.key()
    }

    fn item(&self) -> Result<crate::step::Item, serde_dynamo::Error> {
        self.0.item()
    }
}

#[test]
fn what_differs_field_by_field_is_what_differs_in_the_whole_row() {
    for (name, command, now) in commands() {
        for state in State::ALL {
            let before = booking(state);
            let Ok(transition) = decide(&before, command.clone(), now) else {
                continue;
            };
            let after = transition.after;
            let by_field = after.changes_from(&before).unwrap();
            assert_eq!(
                by_field,
                Whole(after).changes_from(&Whole(before)).unwrap(),
                "{name}"
            );
            assert!(!by_field.set.is_empty(), "{name}");
        }
    }
}

#[test]
fn money_that_is_collected_is_waited_for_up_to_the_start_and_never_shorter_than_late_money() {
    let await_at = |booking: &Booking, now: DateTime<Utc>| {
        let command = Command::AwaitFunds {
            payment_ref: "pi_1".to_owned(),
            collected: true,
        };
        let awaited = decide(booking, command, now).ok().unwrap();
        awaited.after.deposit_deadline
    };
    let mut booking = booking(State::Pending);
    let starts_at = booking.place.starts_at;
    // Booked so late that the deposit is due at the start itself.
    booking.deposit_deadline = starts_at;
    let hour = TimeDelta::hours(1);
    assert_eq!(await_at(&booking, starts_at - hour), starts_at);
    let grace = TimeDelta::minutes(booking.policy.late_grace.into());
    assert_eq!(await_at(&booking, starts_at), starts_at + grace);
}

#[test]
fn a_customer_moves_a_booking_a_few_times_and_not_around_the_terms() {
    let starts_at = booking(State::Confirmed).place.starts_at;
    let free_until = starts_at - TimeDelta::hours(24);
    let mut booked = booking(State::Confirmed);
    assert!(booked.customer_may_move(free_until));
    assert!(!booked.customer_may_move(free_until + TimeDelta::seconds(1)));
    for day in 1..=5 {
        let to = place("table-4", starts_at + TimeDelta::days(day));
        let by = CancelledBy::Customer;
        let command = Command::Reschedule { to, by };
        booked = decide(&booked, command, hours(2)).unwrap().after;
    }
    assert_eq!(booked.moves, 5);
    let to = place("table-4", starts_at + TimeDelta::days(6));
    let command = |by| Command::Reschedule { to: to.clone(), by };
    let sixth = decide(&booked, command(CancelledBy::Customer), hours(2));
    assert_eq!(sixth.err(), Some(Rejection::TooLate));
    assert!(decide(&booked, command(CancelledBy::Business), hours(2)).is_ok());
}
