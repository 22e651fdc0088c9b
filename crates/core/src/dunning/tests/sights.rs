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
