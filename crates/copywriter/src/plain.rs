//! The plain wording of each kind of message, from the templates beside this file.

use std::sync::LazyLock;

use minijinja::{Environment, context};
use paidonce_core::sms;

use crate::name::safe_name;
use crate::{Facts, Kind};

/// The longest name of a venue that is sent, in letters.
const VENUE_LETTERS_MAX: usize = 40;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    for kind in Kind::ALL {
        templates
            .add_template(kind.as_str(), source(kind))
            .expect("the templates are compiled in, and a test renders each");
    }
    templates
});

fn source(kind: Kind) -> &'static str {
    match kind {
        Kind::DepositRequest => include_str!("templates/deposit_request.txt"),
        Kind::Reminder => include_str!("templates/reminder.txt"),
        Kind::Confirmation => include_str!("templates/confirmation.txt"),
        Kind::Released => include_str!("templates/released.txt"),
        Kind::Cancelled => include_str!("templates/cancelled.txt"),
        Kind::Rescheduled => include_str!("templates/rescheduled.txt"),
        Kind::PaymentChecked => include_str!("templates/payment_checked.txt"),
        Kind::LateRefund => include_str!("templates/late_refund.txt"),
        Kind::SecondRefund => include_str!("templates/second_refund.txt"),
    }
}

/// Returns the plain wording, one line, without the link.
pub fn plain(kind: Kind, facts: &Facts) -> String {
    plain_for(kind, facts, &safe_name(&facts.name))
}

/// Returns the plain wording for a name that is already safe; an empty one isn't mentioned.
pub(crate) fn plain_for(kind: Kind, facts: &Facts, safe_name: &str) -> String {
    let text = TEMPLATES
        .get_template(kind.as_str())
        .and_then(|template| {
            template.render(context! {
                venue => facts.venue.chars().take(VENUE_LETTERS_MAX).collect::<String>(),
                name => safe_name,
                party => facts.party,
                what => facts.what,
                starts => facts.starts,
                deadline => facts.deadline,
                deposit => facts.deposit,
                refund => facts.refund,
                booking => facts.booking,
            })
        })
        .expect("the templates are compiled in, and a test renders each");
    sms::normalise(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use expect_test::expect;
    use paidonce_core::sms::{Encoding, measure};

    fn all(facts: &Facts) -> String {
        Kind::ALL
            .iter()
            .map(|kind| format!("{}\n  {}\n", kind.as_str(), plain(*kind, facts)))
            .collect()
    }

    #[test]
    fn every_kind_has_plain_words() {
        expect![[r#"
            deposit_request
              The Copper Kettle: Hi Mary O'Neil, your table for 4 on Sat 11 Jul 20:00 is held for you. Please pay the £20.00 deposit by Fri 10 Jul 18:00, or we have to let it go. Ref K7QM2.
            reminder
              The Copper Kettle: Hi Mary O'Neil, a reminder: please pay the £20.00 deposit for your table for 4 on Sat 11 Jul 20:00 by Fri 10 Jul 18:00, or we have to let it go. Ref K7QM2.
            confirmation
              The Copper Kettle: Hi Mary O'Neil, thank you. We have your £20.00 deposit and your table for 4 on Sat 11 Jul 20:00 is confirmed. Ref K7QM2.
            released
              The Copper Kettle: Hi Mary O'Neil, the deposit did not reach us in time, so we had to let your table for 4 on Sat 11 Jul 20:00 go. You are welcome to book again. Ref K7QM2.
            cancelled
              The Copper Kettle: Hi Mary O'Neil, your table for 4 on Sat 11 Jul 20:00 is cancelled. Ref K7QM2.
            rescheduled
              The Copper Kettle: Hi Mary O'Neil, your table for 4 has moved to Sat 11 Jul 20:00. Please pay the £20.00 deposit by Fri 10 Jul 18:00, or we have to let it go. Ref K7QM2.
        "#]].assert_eq(&all(&sample()));
    }

    #[test]
    fn what_is_unknown_is_not_mentioned() {
        let facts = Facts {
            name: "http://evil.example".into(),
            deadline: None,
            deposit: None,
            ..sample()
        };
        let settled = [
            Kind::Confirmation,
            Kind::Released,
            Kind::Cancelled,
            Kind::Rescheduled,
        ];
        let text: String = settled
            .iter()
            .map(|kind| format!("{}\n  {}\n", kind.as_str(), plain(*kind, &facts)))
            .collect();
        expect![[r#"
            confirmation
              The Copper Kettle: thank you. Your table for 4 on Sat 11 Jul 20:00 is confirmed. Ref K7QM2.
            released
              The Copper Kettle: the deposit did not reach us in time, so we had to let your table for 4 on Sat 11 Jul 20:00 go. You are welcome to book again. Ref K7QM2.
            cancelled
              The Copper Kettle: your table for 4 on Sat 11 Jul 20:00 is cancelled. Ref K7QM2.
            rescheduled
              The Copper Kettle: your table for 4 has moved to Sat 11 Jul 20:00. Ref K7QM2.
        "#]].assert_eq(&text);
    }

    #[test]
    fn every_kind_fits_two_parts_with_a_link_of_ninety_letters() {
        let facts = Facts {
            name: "Maximiliana Featherstonehaugh".into(),
            party: 12,
            what: "private room".into(),
            ..sample()
        };
        let link = "x".repeat(90);
        for kind in Kind::ALL {
            let text = format!("{}\n{link}", plain(kind, &facts));
            let size = measure(&text);
            assert_eq!(size.encoding, Encoding::Gsm7, "{text}");
            assert!(size.parts <= 2, "{} units: {text}", size.units);
        }
    }
}
