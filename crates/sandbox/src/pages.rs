//! The hosted page: where the customer types the card. It needs no script.

use std::sync::LazyLock;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use minijinja::{Environment, Value, context};

use crate::card_form::Typed;
use crate::error::ApiError;
use crate::form::Form;
use crate::state::{Session, SessionStatus, State};
use crate::{amounts, billing, cards, payments};

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates
        .add_template("page.html", include_str!("pages/page.html"))
        .expect("a template that every test renders");
    templates
        .add_template("billing.html", include_str!("pages/billing.html"))
        .expect("a template that every test renders");
    templates
});

/// The page's own style, and nothing from anywhere else. Where the form leads is left open: it
/// ends on the success address, which is the merchant's.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

/// Answers one request to the page whose id is the last part of the path.
pub(crate) fn answer(
    state: &mut State,
    request: &Request<Bytes>,
    now: DateTime<Utc>,
) -> Response<Bytes> {
    let path = request.uri().path();
    let id = path.rsplit('/').next().unwrap_or_default();
    if let Some(page) = billing::page(state, request, id, now) {
        return page;
    }
    if !state.sessions.contains_key(id) {
        let message = "There is no such payment. Please check the link.";
        return ended(StatusCode::NOT_FOUND, "Not found", message, None, None);
    }
    match *request.method() {
        Method::GET | Method::HEAD => show(state, id, &Typed::default(), None),
        Method::POST => submit(state, id, &Form::parse(request.body()), now),
        _ => {
            let message = "This page can only be opened and sent.";
            ended(
                StatusCode::METHOD_NOT_ALLOWED,
                "Not allowed",
                message,
                None,
                None,
            )
        }
    }
}

fn submit(state: &mut State, id: &str, form: &Form, now: DateTime<Utc>) -> Response<Bytes> {
    let typed = Typed::read(form);
    let is_open = |session: &Session| session.status == SessionStatus::Open;
    if !state.sessions.get(id).is_some_and(is_open) {
        return show(state, id, &typed, None);
    }
    let confirmed = form.text("confirm").map(|answer| answer == "yes");
    let paid = typed
        .check(now)
        .and_then(|()| check_offered(state, id, &typed.card))
        .and_then(|()| payments::pay(state, id, &typed.card, confirmed, now));
    match paid {
        Ok(()) => go_on(state, id),
        Err(error) if error.code == Some("authentication_required") => confirm(state, id, &typed),
        Err(error) => show(state, id, &typed, Some(&error.message)),
    }
}

/// A customer is offered the delayed method only by a session that is not for cards alone.
fn check_offered(state: &State, id: &str, card: &str) -> Result<(), ApiError> {
    let only_cards = |session: &Session| session.payment_method_types == ["card"];
    let is_delayed = matches!(
        cards::outcome(&cards::normalise(card)),
        Ok(cards::Outcome::Delays)
    );
    if is_delayed && state.sessions.get(id).is_some_and(only_cards) {
        let message = "This payment can only be made by card.";
        return Err(ApiError::invalid(message).param("card"));
    }
    Ok(())
}

fn show(state: &State, id: &str, typed: &Typed, problem: Option<&str>) -> Response<Bytes> {
    let Some(session) = state.sessions.get(id) else {
        return ended(StatusCode::NOT_FOUND, "Not found", "", None, None);
    };
    match session.status {
        SessionStatus::Open => open(session, typed, problem),
        SessionStatus::Complete if session.paid => {
            let message = "This has been paid. There is nothing more to do.";
            let next = success_url(session);
            ended(StatusCode::OK, "Paid", message, Some(session), Some(&next))
        }
        SessionStatus::Complete => {
            let message = "Your bank has been asked for the money. That takes a few days.";
            let next = success_url(session);
            ended(
                StatusCode::OK,
                "On its way",
                message,
                Some(session),
                Some(&next),
            )
        }
        SessionStatus::Expired => {
            let message = "The time to pay here is over. Nothing was taken from your card.";
            ended(
                StatusCode::GONE,
                "This page has expired",
                message,
                Some(session),
                None,
            )
        }
    }
}

fn open(session: &Session, typed: &Typed, problem: Option<&str>) -> Response<Bytes> {
    let status = match problem {
        None => StatusCode::OK,
        Some(_) => StatusCode::PAYMENT_REQUIRED,
    };
    let offered = |card: &&cards::TestCard| {
        card.number.len() == 16 || session.payment_method_types != ["card"]
    };
    let test_cards = cards::TEST_CARDS.iter().filter(offered).map(|card| {
        context! { number => grouped(card.number), what => card.what }
    });
    let amount = amounts::written(session.amount_total, &session.currency);
    html(
        status,
        &context! {
            view => "open",
            title => format!("Pay {amount}"),
            amount,
            description => session.description,
            closes => session.expires_at.format("%-d %B at %H:%M UTC").to_string(),
            message => problem,
            card => typed.card,
            expiry => typed.expiry,
            cvc => typed.cvc,
            cancel_url => session.cancel_url,
            test_cards => test_cards.collect::<Vec<_>>(),
        },
    )
}

fn confirm(state: &State, id: &str, typed: &Typed) -> Response<Bytes> {
    let session = state.sessions.get(id);
    let amount = session.map(|it| amounts::written(it.amount_total, &it.currency));
    html(
        StatusCode::OK,
        &context! {
            view => "confirm",
            title => "Confirm the payment",
            amount,
            description => session.map(|session| &session.description),
            card => typed.card,
        },
    )
}

fn go_on(state: &State, id: &str) -> Response<Bytes> {
    let next = state.sessions.get(id).map(success_url).unwrap_or_default();
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::SEE_OTHER;
    // An address that can't be a header was refused when the session was made.
    if let Ok(next) = HeaderValue::try_from(next) {
        response.headers_mut().insert(header::LOCATION, next);
    }
    response
}

fn success_url(session: &Session) -> String {
    let template = &session.success_url;
    template.replace("{CHECKOUT_SESSION_ID}", &session.id)
}

fn ended(
    status: StatusCode,
    title: &str,
    message: &str,
    session: Option<&Session>,
    next_url: Option<&str>,
) -> Response<Bytes> {
    let amount = session.map(|it| amounts::written(it.amount_total, &it.currency));
    let description = session.map(|session| &session.description);
    let view = "ended";
    html(
        status,
        &context! { view, title, amount, description, message, next_url },
    )
}

fn html(status: StatusCode, context: &Value) -> Response<Bytes> {
    render("page.html", status, context)
}

/// Makes a page of one of the templates.
pub(crate) fn render(template: &str, status: StatusCode, context: &Value) -> Response<Bytes> {
    let page = TEMPLATES.get_template(template);
    let (status, page) = match page.and_then(|page| page.render(context)) {
        Ok(page) => (status, page),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    };
    let mut response = Response::new(Bytes::from(page));
    *response.status_mut() = status;
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

/// Writes a card number in groups of four, as it is printed on a card.
pub(crate) fn grouped(number: &str) -> String {
    if number.len() != 16 {
        return number.to_owned();
    }
    let digits: Vec<char> = number.chars().collect();
    let groups = digits
        .chunks(4)
        .map(|group| group.iter().collect::<String>());
    groups.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SESSION, Town, text};

    fn browse(town: &Town, method: &str, id: &str, form: &str) -> (u16, String, Response<Bytes>) {
        let request = Request::builder().method(method).uri(format!("/pay/{id}"));
        let request = request.body(Bytes::from(form.to_owned())).unwrap();
        let page = town.sandbox.page(request, town.now());
        let body = String::from_utf8(page.body().to_vec()).unwrap();
        (page.status().as_u16(), body, page)
    }

    #[test]
    fn the_page_shows_amount_and_description_and_no_markup_from_outside() {
        let town = Town::default();
        let id = town.session();
        let (status, page, response) = browse(&town, "GET", &id, "");
        assert_eq!(status, 200);
        assert!(page.contains("£20.00") && page.contains("4242 4242 4242 4242"));
        assert!(page.contains("&lt;b&gt;Table 4") && !page.contains("<b>Table 4"));
        assert!(!page.contains("<script") && !page.contains("Bank debit"));
        assert!(
            response.headers()["content-security-policy"]
                .to_str()
                .unwrap()
                .contains("'none'")
        );
    }

    #[test]
    fn paying_leads_to_the_success_page_and_back_says_paid() {
        let town = Town::default();
        let id = town.session();
        let (status, _, response) = browse(&town, "POST", &id, "card=4242+4242+4242+4242");
        assert_eq!(status, 303);
        let next = format!("https://shop.example/done?s={id}");
        assert_eq!(response.headers()["location"], next.as_str());
        let (status, page, _) = browse(&town, "POST", &id, "card=4242424242424242");
        assert!(status == 200 && page.contains("This has been paid"));
        assert_eq!(
            town.sandbox.ledger()["charges"].as_array().unwrap().len(),
            1
        );
    }

    #[test]
    fn a_decline_is_shown_with_what_was_typed() {
        let town = Town::default();
        let id = town.session();
        let (status, page, _) = browse(&town, "POST", &id, "card=4000000000009995&cvc=321");
        assert_eq!(status, 402);
        assert!(page.contains("Your card has insufficient funds."));
        assert!(page.contains("4000000000009995") && page.contains("value=\"321\""));
        for form in [
            "card=4242424242424242&cvc=1",
            "card=4242424242424242&expiry=01/20",
            "card=bank",
        ] {
            assert_eq!(browse(&town, "POST", &id, form).0, 402, "{form}");
        }
        assert_eq!(
            town.sandbox.ledger()["charges"].as_array().unwrap().len(),
            1
        );
    }

    #[test]
    fn the_bank_asks_once_and_no_means_no() {
        let town = Town::default();
        let id = town.session();
        let card = "card=4000002500003155";
        assert!(browse(&town, "POST", &id, card).1.contains("is this you?"));
        assert_eq!(
            browse(&town, "POST", &id, &format!("{card}&confirm=no")).0,
            402
        );
        assert_eq!(
            browse(&town, "POST", &id, &format!("{card}&confirm=yes")).0,
            303
        );
    }

    #[test]
    fn a_page_left_open_takes_nothing_after_its_time() {
        let town = Town::default();
        let id = town.session();
        town.wait(3_600);
        let (status, page, _) = browse(&town, "POST", &id, "card=4242424242424242");
        assert!(status == 410 && page.contains("This page has expired"));
        assert_eq!(browse(&town, "GET", "cs_none", "").0, 404);
        assert_eq!(town.sandbox.ledger()["totals"], serde_json::json!({}));
    }

    #[test]
    fn a_bank_debit_is_offered_by_a_session_that_is_not_for_cards_alone() {
        let town = Town::default();
        let form = SESSION.replace("payment_method_types[0]=card&", "");
        let id = text(&town.post("/v1/checkout/sessions", &form).1["id"]);
        assert!(browse(&town, "GET", &id, "").1.contains("Bank debit"));
        assert_eq!(browse(&town, "POST", &id, "card=bank").0, 303);
        assert!(browse(&town, "GET", &id, "").1.contains("On its way"));
    }
}
