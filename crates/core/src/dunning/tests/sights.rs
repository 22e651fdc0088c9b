//! What is taken over of what the provider says, by a report or by a look.

use super::*;
use crate::dunning::debt::Block;
use crate::dunning::declines::{Class, Wording};

const ALREADY: Option<Rejection> = Some(Rejection::Already);

fn reported(amount: i64, seconds: i64) -> InvoiceReport {
    InvoiceReport {
        amount: gbp(amount),
        reported_at: noon() + TimeDelta::seconds(seconds),
        ..report("in_1")
    }
}

fn failed_by(report: InvoiceReport) -> Command {
    Command::ReportFailed {
        report,
        terms: Box::new(terms()),
    }
}

fn asks(seconds: i64) -> Command {
    Command::ReportActionRequired {
        report: reported(2000, seconds),
        terms: Box::new(terms()),
    }
}

#[test]
fn what_was_reported_before_the_invoice_was_last_seen_is_no_news() {
    let row = planned();
    assert_eq!(row.invoices["in_1"].as_of, Some(minutes(1)));
    for (seconds, rejection) in [(59, ALREADY), (60, None), (61, None)] {
        let failed = failed_by(reported(3000, seconds));
        assert_eq!(decide(&row, failed, minutes(2)).err(), rejection);
        let asked = asks(seconds);
        assert_eq!(decide(&row, asked, minutes(2)).err(), rejection);
    }
}

#[test]
fn a_report_is_news_by_its_amount_or_by_whom_to_write_to() {
    let row = planned();
    let rejection = |report| decide(&row, failed_by(report), minutes(2)).err();
    assert_eq!(rejection(reported(2000, 90)), ALREADY);
    assert_eq!(rejection(reported(3000, 90)), None);
    let other = InvoiceReport {
        email: EmailAddress::parse("eve@example.com").ok(),
        ..reported(2000, 90)
    };
    let to = decide(&row, failed_by(other.clone()), minutes(2)).unwrap();
    assert!(to.after.email == other.email);
    assert_eq!(to.after.invoices["in_1"].as_of, Some(other.reported_at));
}

#[test]
fn a_bank_asks_for_approval_once_whatever_stood_in_the_way_before() {
    let mut row = planned();
    row.invoices.get_mut("in_1").unwrap().block = Some(Block {
        class: Class::Hard,
        wording: Wording::NewCard,
        payment_method: None,
    });
    let row = after(&row, vec![(asks(90), minutes(2))]);
    let block = row.invoices["in_1"].block.as_ref().unwrap();
    assert_eq!(block.wording, Wording::Approve);
    assert_eq!(decide(&row, asks(90), minutes(3)).err(), ALREADY);
}

#[test]
fn what_is_not_charged_by_itself_is_paid_by_hand() {
    let row = after(&entered(), vec![(Command::Plan, noon())]);
    let looked = |kind: &str, country: &str, charges_automatically| {
        let mut sight = open("insufficient_funds");
        sight.charges_automatically = charges_automatically;
        let card = sight.card.as_mut().unwrap();
        (card.kind, card.country) = (kind.to_owned(), Some(country.to_owned()));
        let row = after(&row, vec![(Command::Fire { n: 1, sight }, minutes(1))]);
        let debt = row.invoices["in_1"].clone();
        (debt.block, debt.verdict.unwrap())
    };
    assert_eq!(looked("card", "GB", true).0, None);
    for (kind, country, automatically, why) in [
        ("cashapp", "GB", true, "by method_kind cashapp"),
        ("card", "IN", true, "by country IN"),
        ("card", "GB", false, "is sent to be paid by hand"),
    ] {
        let (block, verdict) = looked(kind, country, automatically);
        let expected = Block {
            class: Class::NoAutoRetry,
            wording: Wording::Plain,
            payment_method: Some("pm_1".to_owned()),
        };
        assert_eq!(block, Some(expected), "{kind} {country}");
        assert!(verdict.contains(why), "{verdict}");
    }
}

#[test]
fn a_live_invoice_has_ended_by_its_status_or_with_nothing_left_to_pay() {
    use InvoiceStatus::*;
    for (status, out_of_band, amount, ending) in [
        (Draft, false, 2000, None),
        (Draft, false, 0, Some(Ending::Covered)),
        (Open, false, 2000, None),
        (Open, false, 1, None),
        (Open, false, 0, Some(Ending::Covered)),
        (Paid, false, 0, Some(Ending::PaidByUs)),
        (Paid, true, 0, Some(Ending::OutOfBand)),
        (Void, false, 2000, Some(Ending::Voided)),
        (Uncollectible, true, 2000, Some(Ending::Uncollectible)),
    ] {
        let sight = Sight {
            amount: gbp(amount),
            out_of_band,
            ..*sight(status, "insufficient_funds")
        };
        let told = crate::dunning::sight::ended(&sight, Ending::PaidByUs);
        assert_eq!(told, ending, "{status:?} {amount}");
    }
}

/// The customer tried a card of their own on the provider's page after the one that would be charged failed.
fn with_another_tried_since(own: &str) -> Sight {
    let seen = FailureSeen {
        charge: Some("ch_own".to_owned()),
        ..failure(own)
    };
    let mut shown = failure("insufficient_funds");
    shown.charge = Some("ch_other".to_owned());
    shown.payment_method = Some("pm_other".to_owned());
    Sight {
        failure: Some(shown),
        card_failure: Some(CardFailure { at: noon(), seen }),
        ..*open("insufficient_funds")
    }
}

#[test]
fn a_card_is_judged_by_its_own_last_charge_when_another_was_tried_since() {
    let row = planned();
    let at = planned_at(&row);
    for (own, block) in [
        ("lost_card", Some(Wording::NewCard)),
        ("authentication_required", Some(Wording::Approve)),
        ("insufficient_funds", None),
    ] {
        let to = fired(&row, Box::new(with_another_tried_since(own)), at);
        let debt = &to.after.invoices["in_1"];
        let blocked = debt.block.as_ref().map(|block| block.wording);
        assert_eq!(blocked, block, "{own}");
        assert_eq!(matches!(to.act, Act::Pay(_)), block.is_none(), "{own}");
    }
}

#[test]
fn a_bank_that_asks_for_approval_is_not_overruled_by_an_older_charge_of_the_card() {
    let row = planned();
    let at = planned_at(&row);
    let mut sight = with_another_tried_since("insufficient_funds");
    sight.failure = Some(failure("authentication_required"));
    for asked_by in [Some("pm_1".to_owned()), None] {
        sight.failure.as_mut().unwrap().payment_method = asked_by;
        let to = fired(&row, Box::new(sight.clone()), at);
        let block = to.after.invoices["in_1"].block.clone();
        assert_eq!(block.map(|block| block.wording), Some(Wording::Approve));
        assert_eq!(to.act, Act::Nothing);
    }
}

#[test]
fn what_its_network_said_of_a_card_holds_when_another_was_tried_since() {
    let row = planned();
    let at = planned_at(&row);
    let mut sight = with_another_tried_since("insufficient_funds");
    let own = sight.card_failure.as_mut().unwrap();
    own.at = at - TimeDelta::days(1);
    own.seen.decline.network = Some("mastercard".to_owned());
    own.seen.decline.network_advice_code = Some("30".to_owned());
    let to = fired(&row, Box::new(sight.clone()), at);
    let until = to.after.invoices["in_1"].not_before;
    assert_eq!(
        until,
        Some(at + TimeDelta::days(9)),
        "ten days from its charge"
    );
    assert_eq!(to.act, Act::Nothing);

    let forbidden = sight.card_failure.as_mut().unwrap();
    forbidden.seen.decline.network_advice_code = Some("03".to_owned());
    let to = fired(&row, Box::new(sight), at);
    assert!(to.after.barred_cards.contains_key("f_1"));
    assert_eq!(to.act, Act::Nothing);
}

#[test]
fn a_card_that_the_customer_gave_anew_is_charged_whatever_it_failed_with_before() {
    let renewed = card("pm_1", true);
    let mut row = planned();
    row.invoices.get_mut("in_1").unwrap().failed_with = Some("pm_1".to_owned());
    let row = after(
        &row,
        vec![(renewed, minutes(2)), (Command::Plan, minutes(2))],
    );
    let at = planned_at(&row);
    let to = fired(&row, Box::new(with_another_tried_since("lost_card")), at);
    assert!(matches!(to.act, Act::Pay(_)));
}
