mod paying;

use std::fmt::Debug;

use paidonce_core::money::Money;

use super::*;
use crate::testing::{Fault, Subscribed, Town, key, now};
use crate::{
    ChargeStatus, EndpointStatus, IntentStatus, InvoicePaymentStatus, InvoiceStatus, PayOutcome,
    PaymentFailure, Reason, SubscriptionStatus,
};

const GOOD: &str = "pm_card_visa";
const NO_FUNDS: &str = "pm_card_chargeDeclinedInsufficientFunds";
const ASKS: &str = "pm_card_authenticationRequired";

fn pounds(pence: i64) -> Money {
    Money::from_stripe(pence, "gbp").unwrap()
}

fn done<T: Debug>(answer: Answer<T>) -> T {
    match answer {
        Answer::Done(done) => done,
        other @ (Answer::Refused(_) | Answer::Unknown(_)) => panic!("{other:?}"),
    }
}

fn code<T: Debug>(answer: Answer<T>) -> Option<String> {
    match answer {
        Answer::Refused(refusal) => refusal.code,
        other @ (Answer::Done(_) | Answer::Unknown(_)) => panic!("{other:?}"),
    }
}

async fn pay(town: &Town, invoice: &str, method: Option<&str>, attempt: &str) -> PayOutcome {
    let payment = PayInvoice {
        invoice_id: invoice,
        payment_method: method,
        idempotency_key: attempt,
    };
    PayOutcome::of(town.provider().pay_invoice(&key(), &payment).await)
}

async fn invoice(town: &Town, subscribed: &Subscribed) -> Invoice {
    done(town.provider().invoice(&key(), &subscribed.invoice).await)
}

async fn charges(town: &Town, subscribed: &Subscribed) -> Vec<Charge> {
    let provider = town.provider();
    let answer = provider
        .charges_of_customer(&key(), &subscribed.customer, now())
        .await;
    let Charges { charges, complete } = done(answer);
    assert!(complete);
    charges
}

fn declined(outcome: PayOutcome) -> (PaymentFailure, bool) {
    let PayOutcome::Declined { failure, replayed } = outcome else {
        panic!("{outcome:?}");
    };
    (*failure, replayed)
}

#[tokio::test]
async fn what_the_shop_took_in_cash_is_told_and_not_charged() {
    let town = Town::with([]);
    let it = town.subscribed(GOOD);
    town.control(&format!("invoices/{}/paid-out-of-band", it.invoice), "{}");
    let paid = invoice(&town, &it).await;
    assert_eq!(paid.status, InvoiceStatus::Paid);
    assert_eq!(paid.paid_off_provider, pounds(2000));
    assert_eq!(charges(&town, &it).await, []);
}

#[tokio::test]
async fn a_subscription_charges_its_own_card_before_the_customers() {
    let town = Town::with([]);
    let it = town.subscribed(NO_FUNDS);
    let provider = town.provider();
    let before = done(provider.subscription(&key(), &it.id).await);
    assert_eq!(before.status, SubscriptionStatus::Incomplete);
    assert_eq!(before.customer, it.customer);
    assert_eq!(before.latest_invoice, Some(it.invoice.clone()));
    assert_eq!(before.default_payment_method, None);
    let better = town.attached(&it.customer, GOOD);
    town.break_next(Fault::AnswerLost);
    let answer = provider
        .set_subscription_card(&key(), &it.id, &better, "card:1")
        .await;
    let after = done(answer);
    assert_eq!(after.default_payment_method.as_ref(), Some(&better));
    let default = &before.customer_default_payment_method;
    assert_eq!(&after.customer_default_payment_method, default);
    let method = default.as_deref().unwrap();
    let method = done(provider.payment_method(&key(), method).await);
    assert_eq!(method.customer, Some(it.customer.clone()));
    let outcome = pay(&town, &it.invoice, None, "a1").await;
    assert!(matches!(outcome, PayOutcome::Captured(_)), "{outcome:?}");
    let foreign = town.attached(&town.customer(GOOD), GOOD);
    let answer = provider
        .set_subscription_card(&key(), &it.id, &foreign, "card:2")
        .await;
    assert_eq!(code(answer).as_deref(), Some("resource_missing"));
}

#[tokio::test]
async fn a_visit_to_the_portal_is_opened_once_under_its_key() {
    let town = Town::with([]);
    let customer = town.customer(GOOD);
    let visit = NewPortal {
        customer: &customer,
        return_url: "https://shop.example/account?a=1&b=2",
        idempotency_key: "visit:1",
    };
    let provider = town.provider();
    town.break_next(Fault::AnswerLost);
    let opened = done(provider.portal_session(&key(), &visit).await);
    assert_eq!(opened.customer, Some(customer.clone()));
    assert!(opened.url.starts_with("http"));
    let again = done(provider.portal_session(&key(), &visit).await);
    assert_eq!(again, opened);
    let nobody = NewPortal {
        customer: "cus_none",
        idempotency_key: "visit:2",
        ..visit
    };
    let answer = provider.portal_session(&key(), &nobody).await;
    assert_eq!(code(answer).as_deref(), Some("resource_missing"));
}

#[tokio::test]
async fn only_open_invoices_are_listed_page_by_page() {
    let town = Town::with([]);
    let paid = town.subscribed(GOOD);
    let outcome = pay(&town, &paid.invoice, None, "a1").await;
    assert!(matches!(outcome, PayOutcome::Captured(_)), "{outcome:?}");
    for _ in 0..101 {
        town.subscribed(GOOD);
    }
    let provider = town.provider();
    let first = done(provider.open_invoices(&key(), None).await);
    assert_eq!(first.items.len(), 100);
    let last = done(provider.open_invoices(&key(), first.next.as_deref()).await);
    assert_eq!((last.items.len(), last.next), (1, None));
    let all = first.items.iter().chain(&last.items);
    for listed in all {
        assert_eq!(listed.status, InvoiceStatus::Open);
        assert_ne!(listed.id, paid.invoice);
    }
}

#[tokio::test]
async fn charges_before_a_time_or_of_others_are_left_out() {
    let town = Town::with([]);
    let (it, other) = (town.subscribed(NO_FUNDS), town.subscribed(NO_FUNDS));
    for subscribed in [&it, &it, &other] {
        let attempt = format!("a{}", town.sent().len());
        declined(pay(&town, &subscribed.invoice, None, &attempt).await);
    }
    let own = charges(&town, &it).await;
    assert_eq!(own.len(), 2);
    let customers = own.iter().map(|charge| charge.customer.as_deref());
    assert!(customers.eq([Some(it.customer.as_str()); 2]));
    let later = now() + chrono::TimeDelta::seconds(1);
    let provider = town.provider();
    let answer = provider
        .charges_of_customer(&key(), &it.customer, later)
        .await;
    assert_eq!(done(answer).charges, []);
}

#[tokio::test]
async fn a_customer_with_too_many_charges_is_known_in_part() {
    let page = |from: usize| {
        let charges = (from..from + 100).map(|number| {
            serde_json::json!({
                "id": format!("ch_{number}"), "object": "charge", "status": "failed",
                "paid": false, "amount_captured": 0, "amount_refunded": 0, "currency": "gbp",
                "disputed": false, "created": 1_784_034_000, "livemode": false,
            })
        });
        let data: Vec<_> = charges.collect();
        let body = serde_json::json!({ "object": "list", "data": data, "has_more": true });
        Fault::Answers(200, Box::leak(body.to_string().into_boxed_str()), None)
    };
    let town = Town::with((0..5).map(|number| page(number * 100)));
    let answer = town
        .provider()
        .charges_of_customer(&key(), "cus_1", now())
        .await;
    let Charges { charges, complete } = done(answer);
    assert_eq!((charges.len(), complete), (500, false));
    assert_eq!(town.sent().len(), 5);
}

#[tokio::test]
async fn an_operator_sees_the_account_and_where_events_go() {
    let provider = Town::with([]).provider();
    let account = done(provider.account(&key()).await);
    assert!(account.charges_enabled && account.id.starts_with("acct_"));
    let endpoints = done(provider.webhook_endpoints(&key()).await);
    assert!(!endpoints.is_empty());
    for endpoint in endpoints {
        assert_eq!(endpoint.status, EndpointStatus::Enabled);
        assert_eq!(endpoint.api_version.as_deref(), Some("2026-07-29.dahlia"));
    }
}

#[test]
fn calls_can_be_awaited_from_any_thread() {
    fn is_send(_: impl Send) {}
    let (provider, key) = (Town::with([]).provider(), key());
    let attempt = PayInvoice {
        invoice_id: "in_1",
        payment_method: None,
        idempotency_key: "a1",
    };
    is_send(provider.invoice(&key, "in_1"));
    is_send(provider.pay_invoice(&key, &attempt));
    is_send(provider.set_subscription_card(&key, "sub_1", "pm_1", "k"));
    is_send(provider.charges_of_customer(&key, "cus_1", now()));
    is_send(provider.webhook_endpoints(&key));
}
