//! Every mail, whole: one page on which a reader sees each as it is sent.

use std::fmt::Write;

use expect_test::expect_file;
use paidonce_core::dunning::mail::MailKind;

use super::{CUSTOMERS_KINDS, DunningFacts, check_opening, letter, plain_opening};

fn sample(kind: MailKind) -> DunningFacts {
    let charges = kind == MailKind::Failed;
    DunningFacts {
        kind,
        business: "The Anchor".into(),
        product: "The Anchor wine club".into(),
        support_email: "billing@anchor.example".into(),
        postal_address: Some("1 Harbour Street, Sampletown".into()),
        name: "Mary O’Neil".into(),
        amount: "£24.00".into(),
        open_invoices: usize::from(kind != MailKind::Receipt),
        next_charge: charges.then(|| "Monday 13 July".into()),
        next_is_last: false,
        access_paused: matches!(kind, MailKind::Paused | MailKind::Reminder),
        hosted_url: Some("https://pay.example/i/1".into()),
        card_url: kind
            .has_link()
            .then(|| "https://portal.example/card/sub_1/1?exp=1&sig=2".into()),
    }
}

/// Each kind as it is most of the time, and what else the facts can make of it.
fn all() -> Vec<(String, DunningFacts)> {
    let each = CUSTOMERS_KINDS.into_iter();
    let mut all: Vec<_> = each
        .map(|kind| (kind.as_str().to_owned(), sample(kind)))
        .collect();
    let mut also = |name: &str, kind, change: fn(&mut DunningFacts)| {
        let mut facts = sample(kind);
        change(&mut facts);
        all.push((format!("{}, {name}", kind.as_str()), facts));
    };
    also("the last try", MailKind::Failed, |it| {
        it.next_is_last = true
    });
    also("no try follows", MailKind::Failed, |it| {
        it.next_charge = None
    });
    also("three are open", MailKind::Failed, |it| {
        it.open_invoices = 3
    });
    also("access is kept", MailKind::Paused, |it| {
        it.access_paused = false
    });
    also("another is open", MailKind::Receipt, |it| {
        it.open_invoices = 1
    });
    also("no name, no address", MailKind::Receipt, |it| {
        (it.name, it.postal_address) = (String::new(), None);
    });
    all
}

#[test]
fn each_mail_reads_as_on_this_page() {
    let mut page = String::new();
    for (name, facts) in all() {
        let letter = letter(&facts, &plain_opening(&facts), None, None);
        assert!(letter.html.is_some(), "{name}");
        let (subject, text) = (&letter.subject, &letter.text);
        write!(page, "==== {name}\nSubject: {subject}\n\n{text}\n").unwrap();
    }
    // A text's last blank stands before the signature; a file has none at the end of a line.
    let page = page.replace("-- \n", "--\n");
    expect_file!["mails.txt"].assert_eq(&page);
}

#[test]
fn each_plain_opening_would_pass_as_a_draft() {
    for (name, facts) in all() {
        let plain = plain_opening(&facts);
        let draft = format!("{}\n\n{}", plain.subject, plain.words.join(" "));
        let checked = check_opening(&draft, &facts, &plain);
        assert!(checked.is_ok(), "{name}: {checked:?}");
    }
}
