//! The plain wording of each kind of message in each language, from the templates beside this file.

use std::sync::LazyLock;

use minijinja::{Environment, context};
use paidonce_core::language::Language;
use paidonce_core::sms;

use crate::name::safe_name;
use crate::{Facts, Kind};

/// The longest name of a venue that is sent, in letters.
const VENUE_LETTERS_MAX: usize = 40;
/// The most other times that one message offers.
const OTHER_TIMES_MAX: usize = 3;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    for language in Language::ALL {
        for kind in Kind::ALL {
            templates
                .add_template_owned(name_of(kind, language), source(kind, language))
                .expect("the templates are compiled in, and a test renders each");
        }
    }
    templates
});

fn name_of(kind: Kind, language: Language) -> String {
    format!("{}/{}", language.as_str(), kind.as_str())
}

/// The template of each kind in the folder of one language.
macro_rules! template_in {
    ($folder:literal, $kind:expr) => {
        match $kind {
            Kind::DepositRequest => {
                include_str!(concat!("templates/", $folder, "/deposit_request.txt"))
            }
            Kind::Reminder => include_str!(concat!("templates/", $folder, "/reminder.txt")),
            Kind::Confirmation => include_str!(concat!("templates/", $folder, "/confirmation.txt")),
            Kind::Released => include_str!(concat!("templates/", $folder, "/released.txt")),
            Kind::Cancelled => include_str!(concat!("templates/", $folder, "/cancelled.txt")),
            Kind::Rescheduled => include_str!(concat!("templates/", $folder, "/rescheduled.txt")),
            Kind::PaymentChecked => {
                include_str!(concat!("templates/", $folder, "/payment_checked.txt"))
            }
            Kind::LateRefund => include_str!(concat!("templates/", $folder, "/late_refund.txt")),
            Kind::SecondRefund => {
                include_str!(concat!("templates/", $folder, "/second_refund.txt"))
            }
        }
    };
}

fn source(kind: Kind, language: Language) -> &'static str {
    match language {
        Language::En => template_in!("en", kind),
        Language::De => template_in!("de", kind),
        Language::Fr => template_in!("fr", kind),
    }
}

/// Returns the plain wording, one line, without the link.
pub fn plain(kind: Kind, language: Language, facts: &Facts) -> String {
    plain_for(kind, language, facts, &safe_name(&facts.name))
}

/// Returns the plain wording for a name that is already safe; an empty one isn't mentioned.
pub(crate) fn plain_for(kind: Kind, language: Language, facts: &Facts, safe_name: &str) -> String {
    let other_times: Vec<&String> = facts.other_times.iter().take(OTHER_TIMES_MAX).collect();
    let text = TEMPLATES
        .get_template(&name_of(kind, language))
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
                other_times,
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

    /// Every kind with all that it can say of a booking.
    fn all(language: Language, facts: &Facts) -> String {
        Kind::ALL
            .iter()
            .map(|kind| format!("{}\n  {}\n", kind.as_str(), plain(*kind, language, facts)))
            .collect()
    }

    fn with_refund() -> Facts {
        Facts {
            refund: Some("£15.00".into()),
            other_times: vec!["Sat 11 Jul 18:00".into(), "Sat 11 Jul 21:30".into()],
            ..sample()
        }
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
            payment_checked
              The Copper Kettle: Hi Mary O'Neil, we got a payment for your table for 4 on Sat 11 Jul 20:00 that we have to look into. We will get in touch with you. Ref K7QM2.
            late_refund
              The Copper Kettle: Hi Mary O'Neil, sorry, your payment came after we had to let your table for 4 on Sat 11 Jul 20:00 go. You are welcome to book again. Ref K7QM2.
            second_refund
              The Copper Kettle: Hi Mary O'Neil, the deposit for your table for 4 on Sat 11 Jul 20:00 was paid already. Ref K7QM2.
        "#]].assert_eq(&all(Language::En, &sample()));
    }

    #[test]
    fn a_refund_is_named_wherever_there_is_one() {
        expect![[r#"
            deposit_request
              The Copper Kettle: Hi Mary O'Neil, your table for 4 on Sat 11 Jul 20:00 is held for you. Please pay the £20.00 deposit by Fri 10 Jul 18:00, or we have to let it go. Ref K7QM2.
            reminder
              The Copper Kettle: Hi Mary O'Neil, a reminder: please pay the £20.00 deposit for your table for 4 on Sat 11 Jul 20:00 by Fri 10 Jul 18:00, or we have to let it go. Ref K7QM2.
            confirmation
              The Copper Kettle: Hi Mary O'Neil, thank you. We have your £20.00 deposit and your table for 4 on Sat 11 Jul 20:00 is confirmed. You paid £15.00 too much, which is on its way back to you. Ref K7QM2.
            released
              The Copper Kettle: Hi Mary O'Neil, the deposit did not reach us in time, so we had to let your table for 4 on Sat 11 Jul 20:00 go. £15.00 is on its way back to you. You are welcome to book again. Ref K7QM2.
            cancelled
              The Copper Kettle: Hi Mary O'Neil, your table for 4 on Sat 11 Jul 20:00 is cancelled. £15.00 is on its way back to you. Ref K7QM2.
            rescheduled
              The Copper Kettle: Hi Mary O'Neil, your table for 4 has moved to Sat 11 Jul 20:00. Please pay the £20.00 deposit by Fri 10 Jul 18:00, or we have to let it go. Ref K7QM2.
            payment_checked
              The Copper Kettle: Hi Mary O'Neil, we got a payment for your table for 4 on Sat 11 Jul 20:00 that we have to look into. We will get in touch with you. Ref K7QM2.
            late_refund
              The Copper Kettle: Hi Mary O'Neil, sorry, your payment came after we had to let your table for 4 on Sat 11 Jul 20:00 go. £15.00 is on its way back to you. Free right now: Sat 11 Jul 18:00, Sat 11 Jul 21:30. Ref K7QM2.
            second_refund
              The Copper Kettle: Hi Mary O'Neil, the deposit for your table for 4 on Sat 11 Jul 20:00 was paid already. Your second payment of £15.00 is on its way back to you. Ref K7QM2.
        "#]].assert_eq(&all(Language::En, &with_refund()));
        for language in Language::ALL {
            for kind in Kind::ALL {
                let named = plain(kind, language, &with_refund()).contains("£15.00");
                let can_have_one = match kind {
                    Kind::Confirmation
                    | Kind::Released
                    | Kind::Cancelled
                    | Kind::LateRefund
                    | Kind::SecondRefund => true,
                    Kind::DepositRequest
                    | Kind::Reminder
                    | Kind::Rescheduled
                    | Kind::PaymentChecked => false,
                };
                assert_eq!(named, can_have_one, "{kind:?} {language:?}");
            }
        }
    }

    #[test]
    fn every_kind_has_german_and_french_words() {
        expect![[r#"
            deposit_request
              The Copper Kettle: Hallo Mary O'Neil, wir halten Ihre Buchung für Sie frei: table für 4, Sat 11 Jul 20:00. Bitte zahlen Sie die Anzahlung von £20.00 bis Fri 10 Jul 18:00, sonst müssen wir sie freigeben. Ref K7QM2.
            reminder
              The Copper Kettle: Hallo Mary O'Neil, eine Erinnerung: Bitte zahlen Sie die Anzahlung von £20.00 für Ihre Buchung (table für 4, Sat 11 Jul 20:00) bis Fri 10 Jul 18:00, sonst müssen wir sie freigeben. Ref K7QM2.
            confirmation
              The Copper Kettle: Hallo Mary O'Neil, vielen Dank. Ihre Anzahlung von £20.00 ist da. Ihre Buchung ist bestätigt: table für 4, Sat 11 Jul 20:00. Sie haben £15.00 zu viel gezahlt, das Geld ist auf dem Weg zurück zu Ihnen. Ref K7QM2.
            released
              The Copper Kettle: Hallo Mary O'Neil, die Anzahlung kam nicht rechtzeitig, deshalb mussten wir Ihre Buchung freigeben: table für 4, Sat 11 Jul 20:00. £15.00 sind auf dem Weg zurück zu Ihnen. Sie können gern neu buchen. Ref K7QM2.
            cancelled
              The Copper Kettle: Hallo Mary O'Neil, Ihre Buchung ist abgesagt: table für 4, Sat 11 Jul 20:00. £15.00 sind auf dem Weg zurück zu Ihnen. Ref K7QM2.
            rescheduled
              The Copper Kettle: Hallo Mary O'Neil, Ihre Buchung ist verschoben: table für 4, jetzt Sat 11 Jul 20:00. Bitte zahlen Sie die Anzahlung von £20.00 bis Fri 10 Jul 18:00, sonst müssen wir sie freigeben. Ref K7QM2.
            payment_checked
              The Copper Kettle: Hallo Mary O'Neil, zu Ihrer Buchung (table für 4, Sat 11 Jul 20:00) kam eine Zahlung, die wir noch prüfen müssen. Wir melden uns bei Ihnen. Ref K7QM2.
            late_refund
              The Copper Kettle: Hallo Mary O'Neil, Ihre Zahlung kam leider erst, als wir Ihre Buchung schon freigeben mussten: table für 4, Sat 11 Jul 20:00. £15.00 sind auf dem Weg zurück zu Ihnen. Zurzeit frei: Sat 11 Jul 18:00, Sat 11 Jul 21:30. Ref K7QM2.
            second_refund
              The Copper Kettle: Hallo Mary O'Neil, die Anzahlung für Ihre Buchung (table für 4, Sat 11 Jul 20:00) war schon bezahlt. Ihre zweite Zahlung von £15.00 ist auf dem Weg zurück zu Ihnen. Ref K7QM2.
        "#]].assert_eq(&all(Language::De, &with_refund()));
        expect![[r#"
            deposit_request
              The Copper Kettle: Bonjour Mary O'Neil, nous gardons votre réservation pour vous : table pour 4, Sat 11 Jul 20:00. Merci de payer l'acompte de £20.00 avant le Fri 10 Jul 18:00, sinon nous devrons la libérer. Réf K7QM2.
            reminder
              The Copper Kettle: Bonjour Mary O'Neil, un rappel : merci de payer l'acompte de £20.00 pour votre réservation (table pour 4, Sat 11 Jul 20:00) avant le Fri 10 Jul 18:00, sinon nous devrons la libérer. Réf K7QM2.
            confirmation
              The Copper Kettle: Bonjour Mary O'Neil, merci. Nous avons votre acompte de £20.00. Votre réservation est confirmée : table pour 4, Sat 11 Jul 20:00. Vous avez payé £15.00 de trop, le remboursement est en cours. Réf K7QM2.
            released
              The Copper Kettle: Bonjour Mary O'Neil, l'acompte n'est pas arrivé à temps, nous avons donc libéré votre réservation : table pour 4, Sat 11 Jul 20:00. Le remboursement de £15.00 est en cours. Vous pouvez réserver à nouveau. Réf K7QM2.
            cancelled
              The Copper Kettle: Bonjour Mary O'Neil, votre réservation est annulée : table pour 4, Sat 11 Jul 20:00. Le remboursement de £15.00 est en cours. Réf K7QM2.
            rescheduled
              The Copper Kettle: Bonjour Mary O'Neil, votre réservation est déplacée : table pour 4, désormais Sat 11 Jul 20:00. Merci de payer l'acompte de £20.00 avant le Fri 10 Jul 18:00, sinon nous devrons la libérer. Réf K7QM2.
            payment_checked
              The Copper Kettle: Bonjour Mary O'Neil, un paiement pour votre réservation (table pour 4, Sat 11 Jul 20:00) nous est parvenu et nous devons le vérifier. Nous vous contacterons. Réf K7QM2.
            late_refund
              The Copper Kettle: Bonjour Mary O'Neil, désolé, votre paiement est arrivé quand nous avions déjà libéré votre réservation : table pour 4, Sat 11 Jul 20:00. Le remboursement de £15.00 est en cours. Encore libre : Sat 11 Jul 18:00, Sat 11 Jul 21:30. Réf K7QM2.
            second_refund
              The Copper Kettle: Bonjour Mary O'Neil, l'acompte de votre réservation (table pour 4, Sat 11 Jul 20:00) était déjà payé. Le remboursement de votre second paiement de £15.00 est en cours. Réf K7QM2.
        "#]].assert_eq(&all(Language::Fr, &with_refund()));
    }

    #[test]
    fn what_is_unknown_is_not_mentioned() {
        let facts = Facts {
            name: "http://evil.example".into(),
            deadline: None,
            deposit: None,
            ..sample()
        };
        let text: String = Language::ALL.map(|language| all(language, &facts)).concat();
        expect![[r#"
            deposit_request
              The Copper Kettle: your table for 4 on Sat 11 Jul 20:00 is held for you. Ref K7QM2.
            reminder
              The Copper Kettle: a reminder: your table for 4 on Sat 11 Jul 20:00. Ref K7QM2.
            confirmation
              The Copper Kettle: thank you. Your table for 4 on Sat 11 Jul 20:00 is confirmed. Ref K7QM2.
            released
              The Copper Kettle: the deposit did not reach us in time, so we had to let your table for 4 on Sat 11 Jul 20:00 go. You are welcome to book again. Ref K7QM2.
            cancelled
              The Copper Kettle: your table for 4 on Sat 11 Jul 20:00 is cancelled. Ref K7QM2.
            rescheduled
              The Copper Kettle: your table for 4 has moved to Sat 11 Jul 20:00. Ref K7QM2.
            payment_checked
              The Copper Kettle: we got a payment for your table for 4 on Sat 11 Jul 20:00 that we have to look into. We will get in touch with you. Ref K7QM2.
            late_refund
              The Copper Kettle: sorry, your payment came after we had to let your table for 4 on Sat 11 Jul 20:00 go. You are welcome to book again. Ref K7QM2.
            second_refund
              The Copper Kettle: the deposit for your table for 4 on Sat 11 Jul 20:00 was paid already. Ref K7QM2.
            deposit_request
              The Copper Kettle: wir halten Ihre Buchung für Sie frei: table für 4, Sat 11 Jul 20:00. Ref K7QM2.
            reminder
              The Copper Kettle: eine Erinnerung an Ihre Buchung: table für 4, Sat 11 Jul 20:00. Ref K7QM2.
            confirmation
              The Copper Kettle: vielen Dank. Ihre Buchung ist bestätigt: table für 4, Sat 11 Jul 20:00. Ref K7QM2.
            released
              The Copper Kettle: die Anzahlung kam nicht rechtzeitig, deshalb mussten wir Ihre Buchung freigeben: table für 4, Sat 11 Jul 20:00. Sie können gern neu buchen. Ref K7QM2.
            cancelled
              The Copper Kettle: Ihre Buchung ist abgesagt: table für 4, Sat 11 Jul 20:00. Ref K7QM2.
            rescheduled
              The Copper Kettle: Ihre Buchung ist verschoben: table für 4, jetzt Sat 11 Jul 20:00. Ref K7QM2.
            payment_checked
              The Copper Kettle: zu Ihrer Buchung (table für 4, Sat 11 Jul 20:00) kam eine Zahlung, die wir noch prüfen müssen. Wir melden uns bei Ihnen. Ref K7QM2.
            late_refund
              The Copper Kettle: Ihre Zahlung kam leider erst, als wir Ihre Buchung schon freigeben mussten: table für 4, Sat 11 Jul 20:00. Sie können gern neu buchen. Ref K7QM2.
            second_refund
              The Copper Kettle: die Anzahlung für Ihre Buchung (table für 4, Sat 11 Jul 20:00) war schon bezahlt. Ref K7QM2.
            deposit_request
              The Copper Kettle: nous gardons votre réservation pour vous : table pour 4, Sat 11 Jul 20:00. Réf K7QM2.
            reminder
              The Copper Kettle: un rappel de votre réservation : table pour 4, Sat 11 Jul 20:00. Réf K7QM2.
            confirmation
              The Copper Kettle: merci. Votre réservation est confirmée : table pour 4, Sat 11 Jul 20:00. Réf K7QM2.
            released
              The Copper Kettle: l'acompte n'est pas arrivé à temps, nous avons donc libéré votre réservation : table pour 4, Sat 11 Jul 20:00. Vous pouvez réserver à nouveau. Réf K7QM2.
            cancelled
              The Copper Kettle: votre réservation est annulée : table pour 4, Sat 11 Jul 20:00. Réf K7QM2.
            rescheduled
              The Copper Kettle: votre réservation est déplacée : table pour 4, désormais Sat 11 Jul 20:00. Réf K7QM2.
            payment_checked
              The Copper Kettle: un paiement pour votre réservation (table pour 4, Sat 11 Jul 20:00) nous est parvenu et nous devons le vérifier. Nous vous contacterons. Réf K7QM2.
            late_refund
              The Copper Kettle: désolé, votre paiement est arrivé quand nous avions déjà libéré votre réservation : table pour 4, Sat 11 Jul 20:00. Vous pouvez réserver à nouveau. Réf K7QM2.
            second_refund
              The Copper Kettle: l'acompte de votre réservation (table pour 4, Sat 11 Jul 20:00) était déjà payé. Réf K7QM2.
        "#]].assert_eq(&text);
    }

    #[test]
    fn no_wording_has_a_number_that_is_not_a_fact() {
        let facts = with_refund();
        let facts_said = [
            &facts.starts,
            facts.deadline.as_ref().unwrap(),
            facts.deposit.as_ref().unwrap(),
            facts.refund.as_ref().unwrap(),
            &facts.other_times[0],
            &facts.other_times[1],
            &facts.booking,
            &facts.party.to_string(),
        ];
        for language in Language::ALL {
            for kind in Kind::ALL {
                let words = plain(kind, language, &facts);
                let rest = facts_said
                    .iter()
                    .fold(words, |rest, fact| rest.replace(fact.as_str(), ""));
                assert!(
                    !rest.contains(char::is_numeric),
                    "{kind:?} {language:?}: {rest}"
                );
            }
        }
    }

    #[test]
    fn every_kind_is_gsm_7_and_fits_three_parts_with_its_link_in_every_language() {
        let facts = Facts {
            name: "Maximiliana Featherstonehaugh".into(),
            party: 12,
            what: "private room".into(),
            ..with_refund()
        };
        for language in Language::ALL {
            for kind in Kind::ALL {
                let link = crate::link_purpose(kind, &facts).map(|_| "x".repeat(145));
                let words = plain(kind, language, &facts);
                let size = crate::compose(&words, kind, language, &facts, link.as_deref()).size;
                assert_eq!(size.encoding, Encoding::Gsm7, "{words}");
                assert!(size.parts <= 3, "{} units: {words}", size.units);
            }
        }
    }

    #[test]
    fn a_request_fits_two_parts_with_a_link_of_ninety_letters() {
        let facts = Facts {
            name: "Maximiliana Featherstonehaugh".into(),
            party: 12,
            what: "private room".into(),
            ..sample()
        };
        let link = "x".repeat(90);
        for kind in [Kind::DepositRequest, Kind::Reminder] {
            let text = format!("{}\n{link}", plain(kind, Language::En, &facts));
            assert!(measure(&text).parts <= 2, "{text}");
        }
    }
}
