//! Which code decides where a decline has several.

use proptest::prelude::*;

use super::*;

#[test]
fn a_network_outranks_advice_advice_the_reason_and_the_reason_the_code() {
    let mut fields = json!({
        "code": "expired_card", "decline_code": "call_issuer", "advice_code": "try_again_later",
        "network": "mastercard", "network_advice_code": "03",
    });
    for (drop, class, rule) in [
        ("", Class::Hard, "network_advice_code 03"),
        (
            "network_advice_code",
            Class::Soft,
            "advice_code try_again_later",
        ),
        ("advice_code", Class::Action, "decline_code call_issuer"),
        ("decline_code", Class::Hard, "code expired_card"),
        ("code", Class::Soft, "no rule"),
    ] {
        fields.as_object_mut().unwrap().remove(drop);
        assert_eq!(decided(&fields), (class, rule.to_owned()));
    }
}

#[test]
fn no_softer_word_makes_a_lost_stolen_or_revoked_card_chargeable() {
    let firm: Vec<&String> = TABLE
        .decline_codes
        .iter()
        .filter_map(|(code, row)| row.firm.then_some(code))
        .collect();
    assert_eq!(firm.len(), 11, "{firm:?}");
    for code in firm {
        let verdict = verdict(&json!({
            "code": "card_declined", "decline_code": code, "advice_code": "try_again_later",
            "network": "mastercard", "network_advice_code": "24",
        }));
        assert_eq!(verdict.class, Class::Hard, "{code}");
        assert_eq!(verdict.wait, None, "{code}");
        assert_eq!(verdict.rule, format!("decline_code {code}"));
    }
}

#[test]
fn a_code_belongs_to_its_network() {
    let ask = |network: Option<&str>, field: &str, code: &str| {
        decided(&json!({"network": network, field: code, "decline_code": "do_not_honor"}))
    };
    let soft = (Class::Soft, "decline_code do_not_honor".to_owned());
    assert_eq!(ask(Some("visa"), "network_advice_code", "03"), soft);
    assert_eq!(ask(Some("mastercard"), "network_decline_code", "57"), soft);
    assert_eq!(ask(Some("amex"), "network_decline_code", "57"), soft);
    let never = (Class::Hard, "network_decline_code 57".to_owned());
    assert_eq!(ask(Some("VISA"), "network_decline_code", "57"), never);
    assert_eq!(
        ask(None, "network_decline_code", "57"),
        never,
        "a network that is not named"
    );
    let revoked = (Class::Hard, "network_decline_code R1".to_owned());
    assert_eq!(ask(Some("visa"), "network_decline_code", "r1"), revoked);
    // Both kinds of code, and no network: the one that ends it counts.
    let both = json!({"network_advice_code": "24", "network_decline_code": "14"});
    assert_eq!(
        decided(&both),
        (Class::Hard, "network_decline_code 14".to_owned())
    );
}

#[test]
fn a_payment_method_without_automatic_retries_is_never_soft() {
    for (fields, rule) in [
        (json!({"method_kind": "cashapp"}), "method_kind cashapp"),
        (
            json!({"method_kind": "amazon_pay"}),
            "method_kind amazon_pay",
        ),
        (
            json!({"method_kind": "card", "country": "IN"}),
            "country IN",
        ),
        (
            json!({"method_kind": "card", "country": "in"}),
            "country IN",
        ),
    ] {
        let mut fields = fields;
        fields["decline_code"] = json!("insufficient_funds");
        assert_eq!(decided(&fields), (Class::NoAutoRetry, rule.to_owned()));
        fields["decline_code"] = json!("stolen_card");
        assert_eq!(
            decided(&fields).0,
            Class::Hard,
            "what is worse stays: {fields}"
        );
        fields["decline_code"] = json!("duplicate_transaction");
        assert_eq!(decided(&fields).0, Class::LookFirst, "{fields}");
    }
    let british = json!({"method_kind": "card", "country": "GB"});
    assert_eq!(decided(&british), (Class::Soft, "no rule".to_owned()));
}

#[test]
fn a_networks_delays_are_taken_over() {
    for (code, hours) in [
        ("02", 72),
        ("24", 1),
        ("25", 24),
        ("26", 48),
        ("27", 96),
        ("28", 144),
        ("29", 192),
        ("30", 240),
    ] {
        let verdict = verdict(&json!({
            "decline_code": "insufficient_funds", "network": "mastercard", "network_advice_code": code,
        }));
        assert_eq!(
            (verdict.class, verdict.wait),
            (Class::Soft, Some(TimeDelta::hours(hours)))
        );
    }
}

/// Any code of a section, an unknown one, or none.
fn any_code(rows: &Rows) -> impl Strategy<Value = Option<String>> + use<> {
    let mut codes: Vec<Option<String>> = rows.keys().cloned().map(Some).collect();
    codes.extend([None, None, Some("unknown".to_owned())]);
    proptest::sample::select(codes)
}

proptest! {
    #[test]
    fn a_firm_reason_or_a_networks_never_is_hard_whatever_else_is_said(
        code in any_code(&TABLE.codes),
        reason in any_code(&TABLE.decline_codes),
        advice in any_code(&TABLE.advice_codes),
        network in proptest::sample::select(vec![None, Some("visa"), Some("mastercard"), Some("jcb")]),
        network_advice in any_code(&TABLE.network_advice_codes["mastercard"]),
        network_reason in any_code(&TABLE.network_decline_codes["visa"]),
        kind in any_code(&TABLE.method_kinds),
        country in any_code(&TABLE.countries),
    ) {
        let decline = Decline {
            code,
            decline_code: reason.clone(),
            advice_code: advice,
            network: network.map(str::to_owned),
            network_decline_code: network_reason.clone(),
            network_advice_code: network_advice.clone(),
            method_kind: kind.clone(),
            country: country.clone(),
        };
        let verdict = classify(&decline);
        let of = |name: &str| network.is_none_or(|network| network == name);
        let never = reason.is_some_and(|code| TABLE.decline_codes.get(&code).is_some_and(|row| row.firm))
            || of("mastercard") && network_advice.is_some_and(|code| ["01", "03", "21", "41"].contains(&code.as_str()))
            || of("visa") && network_reason.is_some_and(|code| code != "unknown");
        if never {
            prop_assert_eq!(verdict.class, Class::Hard);
        }
        let unretried = kind.is_some_and(|kind| kind != "unknown") || country.is_some_and(|country| country == "IN");
        prop_assert!(!(unretried && verdict.class == Class::Soft));
        prop_assert!(verdict.wait.is_none() || verdict.class == Class::Soft);
    }
}
