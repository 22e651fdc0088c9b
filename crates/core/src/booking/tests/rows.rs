//! A booking as it is stored: what its row holds, and when it is due.

use aws_sdk_dynamodb::types::AttributeValue;

use super::*;

fn text(booking: &Booking, name: &str) -> Option<String> {
    let item = booking.item().unwrap();
    let value = item.get(name).and_then(|it| it.as_s().ok());
    value.cloned()
}

fn due(mut booking: Booking, change: impl FnOnce(&mut Booking)) -> Option<DateTime<Utc>> {
    change(&mut booking);
    booking.due_at()
}

#[test]
fn due_work_is_spread_by_the_id_over_the_partitions_of_its_state() {
    for (id, shard) in [
        ("bkg_1", "PENDING#0"),
        ("bkg_2", "PENDING#1"),
        ("bkg_3", "PENDING#2"),
        ("bkg_4", "PENDING#3"),
        ("bkg_5", "PENDING#0"),
    ] {
        let mut booking = booking(State::Pending);
        booking.booking_id = id.to_owned();
        assert_eq!(Row::key(&booking), id);
        assert_eq!(text(&booking, "state_shard").as_deref(), Some(shard));
        assert_eq!(text(&booking, "due_at"), Some(stamp(hours(20))));
        assert_eq!(text(&booking, "slot_key").as_deref(), Some("table-4#a"));
    }
    let applied = booking(State::Applied);
    assert_eq!(
        (text(&applied, "state_shard"), text(&applied, "due_at")),
        (None, None)
    );
}

#[test]
fn what_is_known_of_a_payments_refunds_is_in_the_row_if_anything_is() {
    let mut booking = booking(State::Confirmed);
    let refunds = |booking: &Booking| {
        let item = booking.item().unwrap();
        let AttributeValue::L(payments) = &item["payments"] else {
            panic!("it is a list")
        };
        payments[0].as_m().unwrap().contains_key("refunds")
    };
    assert!(!refunds(&booking));
    booking.payments[0].refunds.returned = 500;
    assert!(refunds(&booking));
    let read: Booking = crate::step::from_item(booking.item().unwrap()).unwrap();
    assert!(read == booking);
}

#[test]
fn who_called_it_off_has_a_name() {
    let names = [CancelledBy::Customer, CancelledBy::Business].map(CancelledBy::as_str);
    assert_eq!(names, ["customer", "business"]);
}

#[test]
fn an_unpaid_booking_is_due_when_it_is_reminded_and_then_when_it_gives_its_slot_back() {
    let pending = || booking(State::Pending);
    assert_eq!(due(pending(), |_| ()), Some(hours(20)));
    assert_eq!(due(pending(), |it| it.remind_at = None), Some(hours(24)));
    let reminded = due(pending(), |it| it.reminded_at = Some(hours(20)));
    assert_eq!(reminded, Some(hours(24)));
    let late = due(pending(), |it| it.remind_at = Some(hours(30)));
    assert_eq!(late, Some(hours(24)), "not after the deadline");
}

#[test]
fn a_page_that_is_being_closed_keeps_the_slot_until_it_is_over_and_no_other_page_does() {
    let page = |change: fn(&mut Session)| {
        let mut booking = with_open_page();
        booking.remind_at = None;
        change(booking.session.as_mut().unwrap());
        booking.due_at()
    };
    let over = hours(25) + TimeDelta::minutes(5);
    assert_eq!(page(|it| it.closing_at = Some(hours(24))), Some(over));
    assert_eq!(
        page(|_| ()),
        Some(hours(24)),
        "nobody was asked to close it"
    );
    let closed = page(|it| (it.closing_at, it.closed) = (Some(hours(24)), true));
    assert_eq!(closed, Some(hours(24)));
    let short = page(|it| (it.closing_at, it.expires_at) = (Some(hours(20)), hours(21)));
    assert_eq!(short, Some(hours(24)), "not before the deadline");
}

#[test]
fn a_confirmed_booking_is_due_after_its_visit_unless_a_person_has_to_say_something_first() {
    let confirmed = || booking(State::Confirmed);
    let ends_at = confirmed().place.ends_at;
    let settle_at = ends_at + TimeDelta::minutes(i64::from(confirmed().policy.settle_after));
    assert_eq!(confirmed().settle_at(), settle_at);
    assert_eq!(due(confirmed(), |_| ()), Some(settle_at));
    let asked = |it: &mut Booking| it.asked_at = Some(settle_at);
    assert_eq!(due(confirmed(), asked), None);
    let marked = due(confirmed(), |it| {
        asked(it);
        it.attendance = Some(Attendance {
            attended: true,
            marked_by: "bar".to_owned(),
            marked_at: settle_at,
        });
    });
    assert_eq!(marked, Some(settle_at));
    let gone = due(confirmed(), |it| it.payments[0].returned = Some(gbp(2000)));
    assert_eq!(gone, None, "there is nothing to settle");
    for state in [
        State::Released,
        State::Cancelled,
        State::Applied,
        State::Forfeited,
    ] {
        assert_eq!(booking(state).due_at(), None);
    }
}

#[test]
fn a_place_is_the_same_time_in_whichever_unit_of_its_resource() {
    let here = booking(State::Pending).place;
    let same = |change: fn(&mut Place)| {
        let mut there = here.clone();
        change(&mut there);
        here.is_same_time(&there)
    };
    assert!(same(|_| ()));
    assert!(same(
        |it| it.slot_keys = vec!["b".to_owned(), "c".to_owned()]
    ));
    assert!(!same(|it| it.resource = "table-5".to_owned()));
    assert!(!same(|it| it.starts_at -= TimeDelta::minutes(1)));
    assert!(!same(|it| it.ends_at += TimeDelta::minutes(1)));
    assert!(!same(|it| it.slot_keys.truncate(1)));
}
