//! A message to a customer as a mail: the same words as by text, and the same link.

use crate::links::lead;
use crate::{Facts, Kind, Language};

use super::{Mail, one_line};

/// Returns words that passed their check, or the plain ones, as a mail.
pub fn message_mail(
    words: &str,
    kind: Kind,
    language: Language,
    facts: &Facts,
    link: Option<&str>,
) -> Mail {
    let words = words.trim();
    let text = match link {
        Some(link) => format!("{words}\n\n{}{link}\n", lead(kind, language, facts)),
        None => format!("{words}\n"),
    };
    let about = subject(kind, language);
    let subject = one_line(&format!("{}: {about} ({})", facts.venue, facts.booking));
    Mail { subject, text }
}

fn subject(kind: Kind, language: Language) -> &'static str {
    match language {
        Language::En => match kind {
            Kind::DepositRequest => "please pay your deposit",
            Kind::Reminder => "your deposit is due soon",
            Kind::Confirmation => "your booking is confirmed",
            Kind::Released => "your booking was let go",
            Kind::Cancelled => "your booking is cancelled",
            Kind::Rescheduled => "your booking has moved",
            Kind::PaymentChecked => "we are looking into your payment",
            Kind::LateRefund => "your payment came too late",
            Kind::SecondRefund => "your second payment",
        },
        Language::De => match kind {
            Kind::DepositRequest => "Bitte zahlen Sie Ihre Anzahlung",
            Kind::Reminder => "Ihre Anzahlung ist bald fällig",
            Kind::Confirmation => "Ihre Buchung ist bestätigt",
            Kind::Released => "Ihre Buchung wurde freigegeben",
            Kind::Cancelled => "Ihre Buchung ist abgesagt",
            Kind::Rescheduled => "Ihre Buchung ist verschoben",
            Kind::PaymentChecked => "Wir prüfen Ihre Zahlung",
            Kind::LateRefund => "Ihre Zahlung kam zu spät",
            Kind::SecondRefund => "Ihre zweite Zahlung",
        },
        Language::Fr => match kind {
            Kind::DepositRequest => "merci de payer votre acompte",
            Kind::Reminder => "votre acompte est bientôt dû",
            Kind::Confirmation => "votre réservation est confirmée",
            Kind::Released => "votre réservation a été libérée",
            Kind::Cancelled => "votre réservation est annulée",
            Kind::Rescheduled => "votre réservation est déplacée",
            Kind::PaymentChecked => "nous vérifions votre paiement",
            Kind::LateRefund => "votre paiement est arrivé trop tard",
            Kind::SecondRefund => "votre second paiement",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plain, sample};
    use expect_test::expect;

    #[test]
    fn a_mail_has_the_words_of_the_text_and_its_link() {
        let facts = sample();
        let mailed = |kind, link| {
            let words = plain(kind, Language::En, &facts);
            let mail = message_mail(&words, kind, Language::En, &facts, link);
            format!("{}\n\n{}", mail.subject, mail.text)
        };
        expect![[r#"
            The Copper Kettle: please pay your deposit (K7QM2)

            The Copper Kettle: Hi Mary O'Neil, your table for 4 on Sat 11 Jul 20:00 is held for you. Please pay the £20.00 deposit by Fri 10 Jul 18:00, or we have to let it go. Ref K7QM2.

            https://pay
        "#]].assert_eq(&mailed(Kind::DepositRequest, Some("https://pay")));
        expect![[r#"
            The Copper Kettle: your booking is confirmed (K7QM2)

            The Copper Kettle: Hi Mary O'Neil, thank you. We have your £20.00 deposit and your table for 4 on Sat 11 Jul 20:00 is confirmed. Ref K7QM2.

            Change or cancel: https://manage
        "#]].assert_eq(&mailed(Kind::Confirmation, Some("https://manage")));
        expect![[r#"
            The Copper Kettle: your second payment (K7QM2)

            The Copper Kettle: Hi Mary O'Neil, the deposit for your table for 4 on Sat 11 Jul 20:00 was paid already. Ref K7QM2.
        "#]].assert_eq(&mailed(Kind::SecondRefund, None));
    }

    #[test]
    fn a_subject_is_one_line_whatever_the_venue_is_called() {
        let facts = Facts {
            venue: "Kettle\r\nBcc: eve@evil.example".into(),
            ..sample()
        };
        for language in Language::ALL {
            for kind in Kind::ALL {
                let mail = message_mail("Hi", kind, language, &facts, None);
                assert!(!mail.subject.contains(['\r', '\n']), "{}", mail.subject);
                assert!(mail.subject.ends_with("(K7QM2)"), "{}", mail.subject);
            }
        }
    }
}
