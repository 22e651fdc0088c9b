use super::*;

#[tokio::test]
async fn an_open_invoice_is_paid_once_under_its_key() {
    let town = Town::with([]);
    let it = town.subscribed(GOOD);
    let open = invoice(&town, &it).await;
    assert_eq!(open.status, InvoiceStatus::Open);
    assert_eq!(open.subscription.as_deref(), Some(it.id.as_str()));
    assert_eq!(open.customer.as_deref(), Some(it.customer.as_str()));
    assert_eq!(open.amount_remaining, pounds(2000));
    assert_eq!((open.attempt_count, open.next_payment_attempt), (0, None));
    for replayed in [false, true] {
        let outcome = pay(&town, &it.invoice, None, "a1").await;
        let PayOutcome::Captured(paid) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(paid.replayed, replayed);
        assert_eq!(
            (paid.amount_paid, paid.paid_at),
            (pounds(2000), Some(now()))
        );
        let payment = &paid.payments[0];
        assert_eq!(payment.status, InvoicePaymentStatus::Paid);
        let intent = payment.payment_intent.as_ref().unwrap();
        assert_eq!(intent.status, IntentStatus::Succeeded);
        assert_eq!(intent.last_error, None);
    }
    let again = pay(&town, &it.invoice, None, "a2").await;
    assert_eq!(again, PayOutcome::NotOpen);
    let other = town.subscribed(GOOD);
    let unknown = pay(&town, &it.invoice, Some("pm_1"), "a1").await;
    let PayOutcome::Unknown(doubt) = unknown else {
        panic!("{unknown:?}");
    };
    assert_eq!(doubt.reason, Reason::KeyReused);
    assert_eq!(charges(&town, &it).await.len(), 1);
    assert_eq!(charges(&town, &other).await, []);
}

#[tokio::test]
async fn an_answer_that_is_lost_once_or_for_good_never_makes_a_second_charge() {
    let town = Town::with([]);
    let it = town.subscribed(GOOD);
    town.break_next(Fault::AnswerLost);
    let outcome = pay(&town, &it.invoice, None, "a1").await;
    assert!(matches!(outcome, PayOutcome::Captured(paid) if paid.replayed));
    let it = town.subscribed(GOOD);
    for _ in 0..3 {
        town.break_next(Fault::AnswerLost);
    }
    let outcome = pay(&town, &it.invoice, None, "b1").await;
    assert!(matches!(outcome, PayOutcome::Unknown(_)), "{outcome:?}");
    assert_eq!(invoice(&town, &it).await.status, InvoiceStatus::Paid);
    assert_eq!(charges(&town, &it).await.len(), 1);
}

#[tokio::test]
async fn a_decline_tells_its_codes_and_the_invoice_remembers_it() {
    let town = Town::with([]);
    let it = town.subscribed(NO_FUNDS);
    let (failure, replayed) = declined(pay(&town, &it.invoice, None, "a1").await);
    assert!(!replayed);
    assert_eq!(failure.code.as_deref(), Some("card_declined"));
    assert_eq!(failure.decline_code.as_deref(), Some("insufficient_funds"));
    assert_eq!(failure.advice_code.as_deref(), Some("try_again_later"));
    assert_eq!(failure.network_decline_code.as_deref(), Some("51"));
    assert_eq!(failure.method_kind.as_deref(), Some("card"));
    let card = failure.card.as_ref().unwrap();
    assert_eq!(card.network.as_deref(), Some("visa"));
    let open = invoice(&town, &it).await;
    assert_eq!((open.status, open.attempt_count), (InvoiceStatus::Open, 1));
    let intent = open.payments[0].payment_intent.as_ref().unwrap();
    assert_eq!(intent.status, IntentStatus::RequiresPaymentMethod);
    assert_eq!(Some(&intent.id), failure.payment_intent.as_ref());
    assert_eq!(intent.latest_charge, failure.charge);
    let error = intent.last_error.as_ref().unwrap();
    assert_eq!(error.decline_code, failure.decline_code);
}

#[tokio::test]
async fn a_key_that_was_declined_stays_so_and_a_new_one_charges_the_better_card() {
    let town = Town::with([]);
    let it = town.subscribed(NO_FUNDS);
    let (failure, _) = declined(pay(&town, &it.invoice, None, "a1").await);
    let better = town.attached(&it.customer, GOOD);
    let customer = format!("customers/{}", it.customer);
    let default = [("invoice_settings[default_payment_method]", better.as_str())];
    town.api(&customer, &default);
    let repeat = declined(pay(&town, &it.invoice, None, "a1").await);
    assert_eq!(repeat, (failure.clone(), true));
    let outcome = pay(&town, &it.invoice, None, "a2").await;
    assert!(matches!(outcome, PayOutcome::Captured(_)), "{outcome:?}");
    let [paid, failed] = &charges(&town, &it).await[..] else {
        panic!();
    };
    assert_eq!(
        (paid.status, failed.status),
        (ChargeStatus::Succeeded, ChargeStatus::Failed)
    );
    assert_eq!(Some(&failed.id), failure.charge.as_ref());
    assert_eq!(failed.payment_method, failure.payment_method);
    let fingerprint = |charge: &Charge| charge.card.as_ref().unwrap().fingerprint.clone();
    assert_eq!(fingerprint(failed), failure.card.unwrap().fingerprint);
    assert_ne!(fingerprint(failed), fingerprint(paid));
    let outcome = failed.outcome.as_ref().unwrap();
    assert_eq!(
        outcome.network_status.as_deref(),
        Some("declined_by_network")
    );
    assert_eq!(outcome.network_decline_code.as_deref(), Some("51"));
}

#[tokio::test]
async fn a_bank_that_asks_its_customer_is_no_decline() {
    let town = Town::with([]);
    let it = town.subscribed(ASKS);
    for _ in 0..2 {
        let outcome = pay(&town, &it.invoice, None, "a1").await;
        let PayOutcome::NeedsAction { failure, .. } = outcome else {
            panic!("{outcome:?}");
        };
        let expected = "invoice_payment_intent_requires_action";
        assert_eq!(failure.code.as_deref(), Some(expected));
    }
    let open = invoice(&town, &it).await;
    assert!(open.hosted_invoice_url.is_some());
    let intent = open.payments[0].payment_intent.as_ref().unwrap();
    assert_eq!(intent.status, IntentStatus::RequiresAction);
}

#[tokio::test]
async fn a_method_is_charged_only_for_its_own_customer() {
    let town = Town::with([]);
    let (it, other) = (town.subscribed(NO_FUNDS), town.subscribed(GOOD));
    let foreign = town.attached(&other.customer, GOOD);
    let outcome = pay(&town, &it.invoice, Some(&foreign), "a1").await;
    assert!(matches!(outcome, PayOutcome::Refused(_)), "{outcome:?}");
    let own = town.attached(&it.customer, GOOD);
    let outcome = pay(&town, &it.invoice, Some(&own), "a2").await;
    assert!(matches!(outcome, PayOutcome::Captured(_)), "{outcome:?}");
    assert_eq!(charges(&town, &it).await[0].payment_method, Some(own));
}

#[tokio::test]
async fn a_wrong_key_runs_nothing_and_the_same_attempt_runs_once_it_is_right() {
    let town = Town::with([]);
    let it = town.subscribed(GOOD);
    let attempt = PayInvoice {
        invoice_id: &it.invoice,
        payment_method: None,
        idempotency_key: "a1",
    };
    let wrong = Secret::new("rk_test_other");
    let answer = town.provider().pay_invoice(&wrong, &attempt).await;
    let outcome = PayOutcome::of(answer);
    assert!(
        matches!(outcome, PayOutcome::Unauthorised(_)),
        "{outcome:?}"
    );
    let outcome = pay(&town, &it.invoice, None, "a1").await;
    assert!(matches!(outcome, PayOutcome::Captured(paid) if !paid.replayed));
}

#[tokio::test]
async fn what_was_voided_or_never_was_is_not_charged() {
    let town = Town::with([]);
    let it = town.subscribed(GOOD);
    town.api(&format!("invoices/{}/void", it.invoice), &[]);
    let outcome = pay(&town, &it.invoice, None, "a1").await;
    assert_eq!(outcome, PayOutcome::NotOpen);
    assert_eq!(invoice(&town, &it).await.status, InvoiceStatus::Void);
    let provider = town.provider();
    for id in ["in_none", "../charges", "in_1?x=y"] {
        let answer = provider.invoice(&key(), id).await;
        assert_eq!(code(answer).as_deref(), Some("resource_missing"));
        let answer = provider.subscription(&key(), id).await;
        assert_eq!(code(answer).as_deref(), Some("resource_missing"));
        let outcome = pay(&town, id, None, id).await;
        assert!(matches!(outcome, PayOutcome::Refused(_)), "{outcome:?}");
    }
    assert_eq!(charges(&town, &it).await, []);
}

#[tokio::test]
async fn a_conflict_is_unknown_however_often_it_is_met() {
    let town = Town::with([]);
    let it = town.subscribed(GOOD);
    let in_use = crate::testing::error_body("idempotency_error", "idempotency_key_in_use");
    for _ in 0..3 {
        town.break_next(Fault::Answers(409, in_use, None));
    }
    let outcome = pay(&town, &it.invoice, None, "a1").await;
    let PayOutcome::Unknown(doubt) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(doubt.reason, Reason::InFlight);
    town.break_next(Fault::Answers(409, in_use, None));
    let outcome = pay(&town, &it.invoice, None, "a1").await;
    assert!(matches!(outcome, PayOutcome::Captured(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_request_in_flight_is_unknown_until_it_ends_and_then_its_key_tells() {
    let town = Town::with([]);
    let it = town.subscribed(GOOD);
    town.control("next-pay", r#"{"outcome":"hold"}"#);
    let outcome = pay(&town, &it.invoice, None, "a1").await;
    let PayOutcome::Unknown(doubt) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(doubt.reason, Reason::InFlight);
    assert_eq!(invoice(&town, &it).await.status, InvoiceStatus::Open);
    town.control("next-pay/release", "{}");
    let outcome = pay(&town, &it.invoice, None, "a1").await;
    assert!(matches!(outcome, PayOutcome::Captured(paid) if paid.replayed));
    assert_eq!(charges(&town, &it).await.len(), 1);
}

#[tokio::test]
async fn a_fault_at_the_provider_says_nothing_about_the_money() {
    let town = Town::with([]);
    for (fault, status) in [
        ("500", InvoiceStatus::Open),
        ("500_after_paying", InvoiceStatus::Paid),
    ] {
        let it = town.subscribed(GOOD);
        town.control("next-pay", &format!(r#"{{"outcome":"{fault}"}}"#));
        let outcome = pay(&town, &it.invoice, None, fault).await;
        let PayOutcome::Unknown(doubt) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(doubt.reason, Reason::Status(500));
        assert_eq!(invoice(&town, &it).await.status, status, "{fault}");
    }
}

#[tokio::test]
async fn a_customer_who_is_faster_pays_alone() {
    let town = Town::with([]);
    let it = town.subscribed(GOOD);
    town.control("next-pay", r#"{"outcome":"paid_by_customer"}"#);
    let outcome = pay(&town, &it.invoice, None, "a1").await;
    assert_eq!(outcome, PayOutcome::NotOpen);
    assert_eq!(invoice(&town, &it).await.status, InvoiceStatus::Paid);
    assert_eq!(charges(&town, &it).await.len(), 1);
}

#[tokio::test]
async fn an_amount_too_small_to_charge_is_told_apart() {
    let town = Town::with([]);
    let it = town.subscribed(GOOD);
    let path = format!("invoices/{}/prorate", it.invoice);
    town.control(&path, r#"{"amount":29}"#);
    let outcome = pay(&town, &it.invoice, None, "a1").await;
    assert_eq!(outcome, PayOutcome::TooSmall);
}

#[tokio::test]
async fn every_code_of_the_bank_and_the_network_arrives() {
    let town = Town::with([]);
    let it = town.subscribed("pm_card_mastercard");
    let next = r#"{"outcome":"do_not_honor","advice_code":"do_not_try_again",
        "network_decline_code":"05","network_advice_code":"03"}"#;
    town.control("next-pay", next);
    let (failure, _) = declined(pay(&town, &it.invoice, None, "a1").await);
    let codes = [
        failure.code,
        failure.decline_code,
        failure.advice_code,
        failure.network_decline_code,
        failure.network_advice_code,
    ];
    let expected = [
        "card_declined",
        "do_not_honor",
        "do_not_try_again",
        "05",
        "03",
    ];
    assert_eq!(codes, expected.map(|code| Some(code.to_owned())));
    let card = failure.card.unwrap();
    assert_eq!(card.network.as_deref(), Some("mastercard"));
}
