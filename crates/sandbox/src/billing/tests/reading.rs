use serde_json::json;

use super::{Member, control};
use crate::testing::{Town, text, types};

#[test]
fn a_customer_is_made_changed_and_found() {
    let town = Town::default();
    let form = "email=a%40example.com&name=Ada&metadata[plan]=gold&metadata[seat]=4";
    let (status, made) = town.post("/v1/customers", form);
    assert_eq!(status, 200, "{made}");
    let path = format!("/v1/customers/{}", text(&made["id"]));
    let (_, changed) = town.post(&path, "name=&metadata[seat]=&metadata[row]=2");
    assert_eq!(
        (&changed["name"], &changed["email"]),
        (&json!(null), &json!("a@example.com"))
    );
    assert_eq!(changed["metadata"], json!({"plan": "gold", "row": "2"}));
    let (_, found) = town.get("/v1/customers?email=a@example.com");
    assert_eq!(found["data"][0], changed);
    let events = town.deliver(200);
    assert_eq!(types(&events), ["customer.created", "customer.updated"]);
    assert_eq!(events[1]["data"]["previous_attributes"]["name"], "Ada");
}

#[test]
fn a_subscription_by_the_api_is_charged_and_shown_with_what_is_expanded() {
    let town = Town::default();
    let customer = text(&town.post("/v1/customers", "email=a%40example.com").1["id"]);
    let items = "items[0][price_data][currency]=gbp&items[0][price_data][unit_amount]=900\
        &items[0][price_data][recurring][interval]=month&items[0][price_data][product_data][name]=Gym";
    let form = format!("customer={customer}&{items}");
    let (status, body) = town.post("/v1/subscriptions", &form);
    assert_eq!(
        (status, &body["error"]["code"]),
        (400, &json!("resource_missing"))
    );
    let attach = format!("customer={customer}");
    let (_, method) = town.post("/v1/payment_methods/pm_card_visa/attach", &attach);
    let default = format!(
        "invoice_settings[default_payment_method]={}",
        text(&method["id"])
    );
    town.post(&format!("/v1/customers/{customer}"), &default);
    let (status, made) = town.post(
        "/v1/subscriptions",
        &format!("{form}&expand[]=latest_invoice&expand[]=customer"),
    );
    assert_eq!((status, &made["status"]), (200, &json!("active")), "{made}");
    assert_eq!(
        (
            &made["latest_invoice"]["status"],
            &made["latest_invoice"]["total"]
        ),
        (&json!("paid"), &json!(900))
    );
    assert_eq!(
        made["customer"]["invoice_settings"]["default_payment_method"],
        method["id"]
    );
    assert_eq!(
        town.get(&format!(
            "/v1/subscriptions/{}?expand[]=colour",
            text(&made["id"])
        ))
        .0,
        400
    );
    let listed = town
        .get(&format!("/v1/subscriptions?customer={customer}"))
        .1;
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
}

#[test]
fn invoices_are_listed_by_subscription_and_status() {
    let member = Member::new();
    let id = member.failed(&json!({}));
    let query = format!(
        "/v1/invoices?subscription={}&status=open",
        member.subscription
    );
    let (_, open) = member.town.get(&query);
    assert_eq!(open["data"].as_array().unwrap().len(), 1);
    assert_eq!(open["data"][0]["id"], id);
    let other = member.town.get("/v1/invoices?subscription=sub_none").1;
    assert_eq!(other["data"], json!([]));
}

#[test]
fn other_methods_and_other_countries_say_what_they_are() {
    let member = Member::new();
    let card = format!("customers/{}/card", member.customer);
    let indian = control(&member.town, &card, &json!({"card": "4000003560000008"}));
    assert_eq!(indian["card"]["country"], "IN");
    let cash = control(&member.town, &card, &json!({"card": "cashapp"}));
    assert_eq!(cash["type"], "cashapp");
    let path = format!("/v1/customers/{}/payment_methods", member.customer);
    assert_eq!(
        member.town.get(&path).1["data"].as_array().unwrap().len(),
        3
    );
    assert_eq!(
        member.town.get(&format!("{path}?type=card")).1["data"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let detach = format!("/v1/payment_methods/{}/detach", text(&cash["id"]));
    assert_eq!(member.town.post(&detach, "").1["customer"], json!(null));
}

#[test]
fn a_new_card_behind_the_same_method_has_another_fingerprint() {
    let member = Member::new();
    let id = member.failed(&json!({}));
    let path = format!("payment_methods/{}/replace", member.payment_method);
    member.town.deliver(200);
    control(&member.town, &path, &json!({"card": "4000056655665556"}));
    let events = member.town.deliver(200);
    assert_eq!(types(&events), ["payment_method.automatically_updated"]);
    assert!(events[0]["data"]["previous_attributes"]["card"]["fingerprint"].is_string());
    assert_eq!(member.pay(&id, "").0, 200);
}
