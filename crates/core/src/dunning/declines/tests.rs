use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::expect_file;
use serde_json::{Value, json};

use super::*;

mod ranks;

/// The reasons that Stripe documents (its Go client lists them).
const STRIPE: [&str; 47] = [
    "approve_with_id",
    "authentication_required",
    "call_issuer",
    "card_not_supported",
    "card_velocity_exceeded",
    "currency_not_supported",
    "do_not_honor",
    "do_not_try_again",
    "duplicate_transaction",
    "expired_card",
    "fraudulent",
    "generic_decline",
    "incorrect_cvc",
    "incorrect_number",
    "incorrect_pin",
    "incorrect_zip",
    "insufficient_funds",
    "invalid_account",
    "invalid_amount",
    "invalid_cvc",
    "invalid_expiry_month",
    "invalid_expiry_year",
    "invalid_number",
    "invalid_pin",
    "issuer_not_available",
    "lost_card",
    "merchant_blacklist",
    "new_account_information_available",
    "no_action_taken",
    "not_permitted",
    "offline_pin_required",
    "online_or_offline_pin_required",
    "pickup_card",
    "pin_try_exceeded",
    "processing_error",
    "reenter_transaction",
    "restricted_card",
    "revocation_of_all_authorizations",
    "revocation_of_authorization",
    "security_violation",
    "service_not_allowed",
    "stolen_card",
    "stop_payment_order",
    "testmode_decline",
    "transaction_not_allowed",
    "try_again_later",
    "withdrawal_count_limit_exceeded",
];

/// A decline with some fields.
fn decline(fields: &Value) -> Decline {
    serde_json::from_value(fields.clone()).unwrap()
}

fn verdict(fields: &Value) -> Verdict {
    classify(&decline(fields))
}

/// The class and the rule.
fn decided(fields: &Value) -> (Class, String) {
    let verdict = verdict(fields);
    (verdict.class, verdict.rule)
}

/// Every code of the table, as a decline that has only it.
fn every_code() -> Vec<(&'static str, String, Decline)> {
    let mut all = Vec::new();
    let mut note = |field: &'static str, network: Option<&str>, rows: &Rows| {
        for code in rows.keys() {
            let mut fields = json!({ field: code });
            if let Some(network) = network {
                fields["network"] = json!(network);
            }
            let name = network.map_or(code.clone(), |network| format!("{network} {code}"));
            all.push((field, name, decline(&fields)));
        }
    };
    for (network, rows) in &TABLE.network_advice_codes {
        note("network_advice_code", Some(network), rows);
    }
    for (network, rows) in &TABLE.network_decline_codes {
        note("network_decline_code", Some(network), rows);
    }
    note("advice_code", None, &TABLE.advice_codes);
    note("decline_code", None, &TABLE.decline_codes);
    note("code", None, &TABLE.codes);
    note("method_kind", None, &TABLE.method_kinds);
    note("country", None, &TABLE.countries);
    all
}

#[test]
fn the_table_says_what_every_code_means() {
    let mut table = format!(
        "What each code means where it stands alone, written by a test; edition {}.\n",
        TABLE.edition
    );
    for class in Class::ALL {
        let _ = writeln!(table, "\n{}", class.as_str());
        for (field, name, decline) in every_code() {
            let verdict = classify(&decline);
            if verdict.class != class {
                continue;
            }
            let _ = write!(
                table,
                "  {field:<20} {name:<41} {}",
                verdict.wording.as_str()
            );
            if let Some(wait) = verdict.wait {
                let _ = write!(table, ", not before {} h", wait.num_hours());
            }
            table.push('\n');
        }
    }
    expect_file!["../declines_table.txt"].assert_eq(&table);
}

#[test]
fn every_reason_that_stripe_documents_has_a_rule_of_its_own() {
    for code in STRIPE {
        let (_, rule) = decided(&json!({"code": "card_declined", "decline_code": code}));
        assert_eq!(rule, format!("decline_code {code}"));
    }
}

#[test]
fn every_row_names_its_source_and_has_no_field_that_is_not_read() {
    let text: Value = serde_json::from_str(include_str!("../declines.json")).unwrap();
    let mut rows = 0;
    let mut sections: Vec<&Value> = text.as_object().unwrap().values().collect();
    while let Some(section) = sections.pop() {
        for row in section
            .as_object()
            .into_iter()
            .flat_map(|rows| rows.values())
        {
            if row.get("class").is_none() {
                sections.push(row);
                continue;
            }
            rows += 1;
            assert!(row["source"].as_str().unwrap().len() > 10, "{row}");
            let fields: BTreeSet<&str> = row
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            let known = [
                "class",
                "firm",
                "for_ever",
                "source",
                "wait_hours",
                "wording",
            ];
            assert!(fields.is_subset(&BTreeSet::from(known)), "{row}");
        }
    }
    assert_eq!(rows, every_code().len());
    assert!(rows > 90, "{rows}");
    assert_eq!(verdict(&json!({})).edition, "2026-11");
}

#[test]
fn b45_what_a_network_forbids_for_ever_is_forbidden_whatever_the_reason_is_called() {
    for (fields, for_ever) in [
        (
            json!({"network": "mastercard", "network_advice_code": "03"}),
            true,
        ),
        (
            json!({"network": "mastercard", "network_advice_code": "21"}),
            true,
        ),
        (
            json!({"network": "mastercard", "network_advice_code": "01"}),
            false,
        ),
        (
            json!({"network": "visa", "network_decline_code": "R1"}),
            true,
        ),
        (
            json!({"network": "visa", "network_decline_code": "51"}),
            false,
        ),
        (
            json!({"network": "visa", "network_advice_code": "03"}),
            false,
        ),
        (
            json!({"decline_code": "lost_card", "network": "visa", "network_decline_code": "41"}),
            true,
        ),
        (json!({"decline_code": "lost_card"}), false),
        (json!({"decline_code": "expired_card"}), false),
    ] {
        assert_eq!(verdict(&fields).for_ever, for_ever, "{fields}");
    }
}

#[test]
fn an_unknown_reason_and_none_at_all_are_soft() {
    for fields in [
        json!({}),
        json!({"code": "card_declined", "decline_code": null}),
        json!({"code": "card_declined", "decline_code": "a_reason_of_next_year"}),
        json!({"code": "an_error_of_next_year"}),
        json!({"advice_code": "ask_your_mother", "network": "visa", "network_decline_code": "51"}),
    ] {
        let verdict = verdict(&fields);
        assert_eq!(verdict.class, Class::Soft, "{fields}");
        assert_eq!(verdict.wait, None, "{fields}");
        assert_eq!(verdict.wording, Wording::Plain, "{fields}");
    }
    assert_eq!(decided(&json!({"code": "nothing_known"})).1, "no rule");
}

#[test]
fn who_withdrew_gets_no_mail_and_who_is_suspected_a_person() {
    for (fields, wording) in [
        (
            json!({"decline_code": "revocation_of_authorization"}),
            Wording::Silent,
        ),
        (
            json!({"decline_code": "revocation_of_all_authorizations"}),
            Wording::Silent,
        ),
        (
            json!({"decline_code": "stop_payment_order"}),
            Wording::Silent,
        ),
        (
            json!({"network": "visa", "network_decline_code": "R1"}),
            Wording::Silent,
        ),
        (
            json!({"network": "mastercard", "network_advice_code": "21"}),
            Wording::Silent,
        ),
        (
            json!({"decline_code": "fraudulent", "advice_code": "do_not_try_again"}),
            Wording::Person,
        ),
        (
            json!({"decline_code": "merchant_blacklist"}),
            Wording::Person,
        ),
        (json!({"decline_code": "stolen_card"}), Wording::NewCard),
        (
            json!({"decline_code": "authentication_required"}),
            Wording::Approve,
        ),
    ] {
        let verdict = verdict(&fields);
        assert_eq!(verdict.wording, wording, "{fields}");
        assert_ne!(verdict.class, Class::Soft, "{fields}");
    }
}

#[test]
fn a_class_and_a_wording_are_written_as_they_are_read() {
    for class in Class::ALL {
        assert_eq!(serde_json::to_value(class).unwrap(), class.as_str());
    }
    for wording in [
        Wording::Plain,
        Wording::NewCard,
        Wording::Approve,
        Wording::Silent,
        Wording::Person,
    ] {
        assert_eq!(serde_json::to_value(wording).unwrap(), wording.as_str());
    }
}
