//! A claim whose answer did not come: what may be asked again, and what was judged already.

use super::*;

/// The charge of the first date is open, without an answer, and its first look is due.
fn unanswered() -> Dunning {
    let row = in_flight();
    let settle = Command::Settle {
        n: 1,
        outcome: Outcome::Unanswered,
    };
    let at = row.moved_at;
    after(&row, vec![(settle, at), (Command::Plan, at)])
}

fn look(row: &Dunning, sight: Box<Sight>) -> Transition {
    let plan = row.plan.as_ref().unwrap();
    decide(row, Command::Fire { n: plan.n, sight }, plan.at).unwrap()
}

/// An open invoice whose latest charge is `charge`, which failed and was judged or not.
fn failed_by(charge: &str, failure: FailureSeen) -> Box<Sight> {
    Box::new(Sight {
        latest_charge: Some(charge.to_owned()),
        failure: Some(FailureSeen {
            charge: Some(charge.to_owned()),
            ..failure
        }),
        ..*open("insufficient_funds")
    })
}

#[test]
fn an_open_charge_is_asked_for_again_under_its_key_and_by_whoever_finds_it() {
    let row = unanswered();
    let n = row.plan.as_ref().map(|plan| plan.n).unwrap();
    let to = look(&row, open("insufficient_funds"));
    let Act::Pay(attempt) = to.act else { panic!() };
    assert_eq!(attempt.key, "dunr-in_1-a1");
    let crashed = to.after;
    let lease = attempt.lease_until;
    let errand_of = |n, at| errand(&crashed, n, at).map(|errand| errand.kind);
    assert_eq!(
        errand_of(n, lease - TimeDelta::seconds(1)),
        Err(Rejection::InFlight(lease))
    );
    assert_eq!(errand_of(n, lease), Ok(ErrandKind::Resume));
}

#[test]
fn b49_what_was_written_off_or_voided_since_is_not_asked_for_again() {
    for (status, how) in [
        (InvoiceStatus::Uncollectible, Ending::Uncollectible),
        (InvoiceStatus::Void, Ending::Voided),
    ] {
        let to = look(&unanswered(), sight(status, "insufficient_funds"));
        assert_eq!(to.act, Act::Nothing, "{status:?} can still be paid");
        let end = to.after.invoices["in_1"].end.as_ref().unwrap();
        assert_eq!((end.how, to.after.attempt), (how, None));
    }
}

#[test]
fn b50_an_open_charge_outlives_its_subscription_and_is_looked_for_but_not_asked_for_again() {
    let row = unanswered();
    let at = row.moved_at;
    let to = decide(&row, Command::ReportCancelled, at).unwrap();
    assert!(to.consequences.contains(&Consequence::Plan));
    let row = after(&to.after, vec![(Command::Plan, at)]);
    assert_eq!(
        row.plan.as_ref().map(|plan| plan.purpose),
        Some(Purpose::Look)
    );
    assert_eq!(look(&row, open("insufficient_funds")).act, Act::Nothing);
    let paid = look(&row, sight(InvoiceStatus::Paid, "insufficient_funds"));
    assert!(matches!(paid.act, Act::Pay(_)), "the answer says who paid");
    let captured = Command::Settle {
        n: 1,
        outcome: Outcome::Captured,
    };
    let to = decide(&paid.after, captured, at).unwrap();
    assert!(
        to.after
            .cases
            .contains_key(&CaseReason::PaidAfterCancellation)
    );
    assert_eq!((to.after.status, to.after.plan), (Status::Cancelled, None));
}

#[test]
fn b53_a_charge_of_another_amount_is_not_repeated_nor_taken_for_never_made_at_once() {
    let row = unanswered();
    let dearer = Box::new(Sight {
        amount: gbp(3000),
        ..*open("insufficient_funds")
    });
    let to = look(&row, dearer.clone());
    assert_eq!(to.act, Act::Nothing);
    assert!(to.after.attempt.is_some(), "it may still be made");
    let row = after(&to.after, vec![(Command::Plan, to.after.moved_at)]);
    let to = look(&row, dearer);
    assert_eq!(to.result.as_deref(), Some("not_made"));
    let row = after(&to.after, vec![(Command::Plan, to.after.moved_at)]);
    assert!(planned_at(&row) >= to.after.moved_at + TimeDelta::days(1));
    let fired = look(&row, open("insufficient_funds"));
    let Act::Pay(next) = fired.act else { panic!() };
    assert_eq!(next.key, "dunr-in_1-a2");
}

#[test]
fn b44_a_decline_by_somebody_else_since_then_puts_the_charge_off() {
    let row = planned();
    let waits = FailureSeen {
        decline: Decline {
            network: Some("mastercard".to_owned()),
            network_advice_code: Some("30".to_owned()),
            ..failure("insufficient_funds").decline
        },
        ..failure("insufficient_funds")
    };
    let to = look(&row, failed_by("ch_2", waits.clone()));
    assert_eq!(
        (to.act, to.result.as_deref()),
        (Act::Nothing, Some("advised_to_wait"))
    );
    assert_eq!(to.after.invoices["in_1"].steps_used, 0);
    let row = after(&to.after, vec![(Command::Plan, to.after.moved_at)]);
    assert!(planned_at(&row) >= to.after.moved_at + TimeDelta::days(10));
    let to = look(&row, failed_by("ch_2", waits));
    assert!(
        matches!(to.act, Act::Pay(_)),
        "the same decline is not waited for twice"
    );
}

#[test]
fn b43_a_new_card_that_somebody_else_was_told_never_to_try_again_is_not_charged() {
    let row = after(
        &planned(),
        vec![
            (card("pm_2", false), minutes(5)),
            (Command::Plan, minutes(5)),
        ],
    );
    let lost = FailureSeen {
        payment_method: Some("pm_2".to_owned()),
        ..failure("lost_card")
    };
    let seen = Box::new(Sight {
        card: Some(CardSeen {
            payment_method: "pm_2".to_owned(),
            ..open("lost_card").card.unwrap()
        }),
        ..*failed_by("ch_2", lost)
    });
    let to = look(&row, seen);
    assert_eq!((to.act, to.after.new_card), (Act::Nothing, None));
}

/// What is seen before a charge of `payment_method`, which is made of a card.
fn of_card(sight: Sight, payment_method: &str, fingerprint: &str) -> Box<Sight> {
    let card = CardSeen {
        payment_method: payment_method.to_owned(),
        fingerprint: Some(fingerprint.to_owned()),
        ..sight.card.clone().unwrap()
    };
    Box::new(Sight {
        card: Some(card),
        ..sight
    })
}

#[test]
fn b45_a_card_that_its_network_forbids_is_not_charged_as_another_payment_method_ever() {
    let forbidden = FailureSeen {
        decline: Decline {
            network: Some("visa".to_owned()),
            network_decline_code: Some("14".to_owned()),
            ..Decline::default()
        },
        fingerprint: Some("card 1".to_owned()),
        ..failure("do_not_honor")
    };
    let seen = failed_by("ch_2", forbidden);
    let to = look(&planned(), of_card(*seen, "pm_1", "card 1"));
    assert_eq!(to.act, Act::Nothing);
    let at = to.after.moved_at;
    let given = |row: &Dunning, payment_method: &str| {
        let at = row.moved_at;
        let commands = vec![(card(payment_method, false), at), (Command::Plan, at)];
        after(row, commands)
    };
    let other = given(&to.after, "pm_2");
    let to = look(&other, of_card(*open("do_not_honor"), "pm_2", "card 2"));
    let Act::Pay(attempt) = to.act else {
        panic!("{:?}", to.why)
    };
    // A softer word about another card opens nothing.
    let declined = Command::Settle {
        n: attempt.n,
        outcome: Outcome::Declined(Box::new(FailureSeen {
            payment_method: Some("pm_2".to_owned()),
            ..failure("insufficient_funds")
        })),
    };
    let row = after(&to.after, vec![(declined, at + TimeDelta::minutes(2))]);
    assert_eq!(row.invoices["in_1"].block, None);
    let to = look(
        &given(&row, "pm_3"),
        of_card(*open("insufficient_funds"), "pm_3", "card 1"),
    );
    assert_eq!((to.act, to.after.new_card), (Act::Nothing, None));
    let block = to.after.invoices["in_1"].block.as_ref();
    let blocked = block.and_then(|block| block.payment_method.as_deref());
    assert_eq!(blocked, Some("pm_3"));
}

#[test]
fn a_card_that_was_renewed_is_charged_although_it_failed_before() {
    let expired = failed_by("ch_1", failure("expired_card"));
    let looked = after(
        &entered(),
        vec![
            (Command::Plan, noon()),
            (
                Command::Fire {
                    n: 1,
                    sight: expired.clone(),
                },
                minutes(1),
            ),
            (card("pm_1", true), minutes(2)),
            (Command::Plan, minutes(2)),
        ],
    );
    let to = look(&looked, expired);
    let Act::Pay(attempt) = to.act else {
        panic!("{:?}", to.why)
    };
    assert_eq!(attempt.payment_method.as_deref(), Some("pm_1"));
}

#[test]
fn b41_a_card_that_waited_for_a_charge_is_taken_up_although_that_was_never_made() {
    let row = unanswered();
    let waits = after(&row, vec![(card("pm_2", false), row.moved_at)]);
    assert_eq!(waits.card_pending.as_deref(), Some("pm_2"));
    let gave_up = Dunning {
        attempt: waits.attempt.clone().map(|attempt| Attempt {
            looks: 2,
            ..attempt
        }),
        ..waits
    };
    let at = gave_up.moved_at + TimeDelta::hours(1);
    let fire = Command::Fire {
        n: gave_up.plan_no,
        sight: open("insufficient_funds"),
    };
    let row = after(&gave_up, vec![(fire, at), (Command::Plan, at)]);
    assert_eq!((row.attempt, row.card_pending), (None, None));
    let purpose = row.plan.as_ref().map(|plan| plan.purpose);
    assert_eq!(
        (row.new_card.as_deref(), purpose),
        (Some("pm_2"), Some(Purpose::ChargeNewCard))
    );
}
