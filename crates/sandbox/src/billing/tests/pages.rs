use bytes::Bytes;
use http::Request;
use serde_json::json;

use super::{Member, control};
use crate::testing::{text, types};

fn browse(member: &Member, method: &str, url: &str, form: &str) -> (u16, String) {
    let path = url.strip_prefix("http://127.0.0.1:8787").unwrap();
    let request = Request::builder().method(method).uri(path);
    let request = request.body(Bytes::from(form.to_owned())).unwrap();
    let page = member.town.sandbox.page(request, member.town.now());
    let body = String::from_utf8(page.body().to_vec()).unwrap();
    (page.status().as_u16(), body)
}

#[test]
fn the_portal_saves_a_card_and_makes_it_the_customers_own() {
    let member = Member::new();
    let id = member.failed(&json!({}));
    member.town.deliver(200);
    let form = format!(
        "customer={}&return_url=https%3A%2F%2Fapp.example%2Fback&flow_data[type]=payment_method_update",
        member.customer
    );
    let (_, session) = member.town.post("/v1/billing_portal/sessions", &form);
    let url = text(&session["url"]);
    assert!(
        browse(&member, "GET", &url, "")
            .1
            .contains("Change your card")
    );
    assert_eq!(browse(&member, "POST", &url, "card=1234").0, 402);
    let (status, page) = browse(&member, "POST", &url, "card=5555555555554444");
    assert!(status == 200 && page.contains("https:&#x2f;&#x2f;app.example&#x2f;back"));
    let told = [
        "payment_method.attached",
        "setup_intent.succeeded",
        "customer.updated",
    ];
    assert_eq!(types(&member.town.deliver(200)), told);
    assert_eq!(member.pay(&id, "").0, 200);
}

#[test]
fn a_customer_pays_an_invoice_on_its_page_and_a_bank_asks_there() {
    let member = Member::new();
    let id = member.failed(&json!({}));
    let url = text(&member.invoice(&id)["hosted_invoice_url"]);
    let (status, page) = browse(&member, "GET", &url, "");
    assert!(status == 200 && page.contains("Pay £20.00"));
    assert_eq!(
        browse(&member, "POST", &url, "card=4000000000009995").0,
        402
    );
    let (status, page) = browse(&member, "POST", &url, "card=4000002760003184");
    assert!(status == 200 && page.contains("is this you?"));
    assert_eq!(browse(&member, "POST", &url, "confirm=no").0, 402);
    browse(&member, "POST", &url, "card=4000002760003184");
    let (status, page) = browse(&member, "POST", &url, "confirm=yes");
    assert!(status == 200 && page.contains("This has been paid"));
    browse(&member, "POST", &url, "card=4242424242424242");
    assert_eq!(member.charges(&id).0, 1);
}

#[test]
fn a_second_invoice_of_a_subscription_is_shown_in_the_portal() {
    let member = Member::new();
    member.failed(&json!({}));
    let more = format!("subscriptions/{}/prorate", member.subscription);
    let second = control(&member.town, &more, &json!({"amount": 700}));
    assert_eq!(second["billing_reason"], "subscription_update");
    let form = format!("customer={}", member.customer);
    let (_, session) = member.town.post("/v1/billing_portal/sessions", &form);
    let (_, page) = browse(&member, "GET", &text(&session["url"]), "");
    assert!(page.contains("£20.00") && page.contains("£7.00"));
    let path = format!("invoices/{}/prorate", text(&second["id"]));
    assert_eq!(
        control(&member.town, &path, &json!({"amount": 900}))["amount_due"],
        900
    );
}
