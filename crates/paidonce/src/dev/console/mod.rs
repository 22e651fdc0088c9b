//! The console at `/`: the town on one page, and the buttons to push it along.
//!
//! It shows names, numbers and texts: all of it is the developer's own local data.

mod subscriptions;
mod view;

use std::sync::LazyLock;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use bytes::Bytes;
use chrono::TimeDelta;
use http::{Method, Request};
use lambda_kit::Problem;
use minijinja::{Environment, context};
use paidonce_core::local_time::stamp;
use serde_json::{Map, Value, json};

use super::Shared;
use super::answer::{Answered, BODY_BYTES_MAX, bytes_of, html};
use super::at_hand::Example;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates
        .add_template("console.html", include_str!("console.html"))
        .expect("a template that a test renders");
    templates
});

pub(crate) fn router() -> Router<Shared> {
    Router::new()
        .route("/book", post(book))
        .route("/order", post(order))
        .route("/money", post(money))
        .route("/subscription", post(subscription))
        .route("/clock", post(clock))
}

pub(crate) async fn show(State(dev): State<Shared>) -> Answered {
    page(&dev, 200, None)
}

/// The page, with what went wrong on top if something did.
fn page(dev: &Shared, status: u16, problem: Option<&str>) -> Answered {
    let nonce = random(dev);
    let example = dev.example();
    let page = context! {
        nonce,
        problem,
        venue => dev.venue.name,
        zone => dev.venue.zone.name(),
        resources => dev.venue.resources.iter().map(|resource| &resource.id).collect::<Vec<_>>(),
        starts_at => example.as_ref().map(Example::starts_at),
        party => example.as_ref().map(|example| example.party),
        // One form is one booking, however often it is sent.
        form_key => random(dev),
        town => view::town(dev),
    };
    let rendered = TEMPLATES
        .get_template("console.html")
        .and_then(|template| template.render(page));
    match rendered {
        Ok(body) => Ok(html(status, body, &nonce)),
        Err(error) => Err(Problem::new(500, "unrendered", &error.to_string()).into()),
    }
}

fn random(dev: &Shared) -> String {
    dev.entropy.ulid(dev.fleet.cloud.clock().now()).to_string()
}

/// Reads a form; of two fields of one name the last counts.
async fn form(body: Body) -> Result<Map<String, Value>, Problem> {
    let bytes = bytes_of(body, BODY_BYTES_MAX).await?;
    let fields = form_urlencoded::parse(&bytes);
    Ok(fields
        .map(|(name, value)| (name.into_owned(), json!(value)))
        .collect())
}

fn text<'a>(form: &'a Map<String, Value>, field: &str) -> &'a str {
    form.get(field).and_then(Value::as_str).unwrap_or_default()
}

async fn book(State(dev): State<Shared>, body: Body) -> Answered {
    let mut wish = form(body).await?;
    let key = text(&wish, "form_key").to_owned();
    wish.remove("form_key");
    wish.insert("source".to_owned(), json!("form"));
    let party = text(&wish, "party").parse::<u32>().ok();
    wish.insert("party".to_owned(), json!(party));
    let token = dev.fleet.tokens().form;
    ask_intake(&dev, "/bookings", &token, Some(&key), &Value::Object(wish)).await
}

async fn order(State(dev): State<Shared>, body: Body) -> Answered {
    let form = form(body).await?;
    let (order, body) = match text(&form, "order") {
        "came" => ("attendance", json!({"attended": true})),
        "missed" => ("attendance", json!({"attended": false})),
        _ => ("cancel", json!({"by": "customer"})),
    };
    let id = id_in(text(&form, "booking_id"));
    let path = format!("/bookings/{id}/{order}");
    ask_intake(&dev, &path, &dev.fleet.tokens().staff, None, &body).await
}

/// What others do with the money at the provider, and what it says to that.
async fn money(State(dev): State<Shared>, body: Body) -> Answered {
    let form = form(body).await?;
    let deed = match text(&form, "by") {
        "dispute" => "dispute",
        _ => "refund",
    };
    let path = format!(
        "/_sandbox/payments/{}/{deed}",
        id_in(text(&form, "payment_ref"))
    );
    ask_provider(&dev, &path, &json!({})).await
}

/// Somebody subscribes, or a renewal fails.
async fn subscription(State(dev): State<Shared>, body: Body) -> Answered {
    let form = form(body).await?;
    let (path, wish) = match id_in(text(&form, "id")).as_str() {
        "" => (String::new(), json!({"amount": 2_400})),
        id => (
            format!("/{id}/fail-renewal"),
            json!({"decline": "insufficient_funds"}),
        ),
    };
    ask_provider(&dev, &format!("/_sandbox/subscriptions{path}"), &wish).await
}

/// Uses one of the provider's controls, and shows how that ended.
async fn ask_provider(dev: &Shared, path: &str, body: &Value) -> Answered {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("content-type", "application/json")
        .body(Bytes::from(body.to_string()))
        .map_err(|error| Problem::new(400, "bad_form", &error.to_string()))?;
    let now = dev.fleet.cloud.clock().now();
    let answer = dev.fleet.sandbox.call(request, now);
    if answer.status().is_success() {
        dev.move_clock(now).await;
        return Ok(back());
    }
    let answered: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let problem = answered["error"]["message"]
        .as_str()
        .unwrap_or("The provider did not answer.");
    page(dev, answer.status().as_u16(), Some(problem))
}

/// An id as it may stand in a path.
fn id_in(text: &str) -> String {
    text.chars()
        .filter(|character| character.is_ascii_alphanumeric() || *character == '_')
        .collect()
}

/// Sends what the page asks for where everyone else sends it, and shows how that ended.
async fn ask_intake(
    dev: &Shared,
    path: &str,
    token: &str,
    key: Option<&str>,
    body: &Value,
) -> Answered {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let request = request
        .body(Bytes::from(body.to_string()))
        .map_err(|error| Problem::new(400, "bad_form", &error.to_string()))?;
    let answer = dev.call("bdc-intake", request).await?;
    if answer.status().is_success() {
        let now = dev.fleet.cloud.clock().now();
        dev.move_clock(now).await;
        return Ok(back());
    }
    let answered: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let problem = answered["detail"]
        .as_str()
        .unwrap_or("The intake did not answer.");
    page(dev, answer.status().as_u16(), Some(problem))
}

async fn clock(State(dev): State<Shared>, body: Body) -> Answered {
    let form = form(body).await?;
    let cloud = &dev.fleet.cloud;
    let now = cloud.clock().now();
    let to = match text(&form, "by") {
        "hour" => now + TimeDelta::hours(1),
        "day" => now + TimeDelta::days(1),
        "deadline" => view::next_deadline(&dev).unwrap_or(now),
        _ => cloud.next_due().unwrap_or(now),
    };
    dev.terminal
        .fact("clock", &format!("moves to {}", stamp(to)));
    dev.move_clock(to).await;
    Ok(back())
}

fn back() -> Response {
    Redirect::to("/").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_renders_without_a_town() {
        let template = TEMPLATES.get_template("console.html").unwrap();
        let town = json!({"bookings": [], "subscriptions": [], "messages": [], "cases": [], "totals": [], "queues": []});
        let page = template
            .render(context! { venue => "<b>Inn</b>", town })
            .unwrap();
        assert!(page.contains("&lt;b&gt;Inn") && page.contains("None yet"));
    }
}
