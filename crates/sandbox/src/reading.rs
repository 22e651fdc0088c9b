//! Reading objects: one by its id, or lists of them, newest first.

use serde_json::{Value, json};

use crate::error::ApiError;
use crate::form::Form;
use crate::render;
use crate::state::State;

const PAGE_SIZE: i64 = 10;
const PAGE_SIZE_MAX: i64 = 100;

/// Returns the object of that id.
pub(crate) fn one(state: &State, collection: &str, id: &str) -> Result<Value, ApiError> {
    let options = &state.options;
    let (what, found) = match collection {
        "payment_intents" => {
            let found = state.intents.get(id);
            (
                "payment_intent",
                found.map(|it| render::intent(it, options)),
            )
        }
        "charges" => {
            let found = state.charges.get(id);
            ("charge", found.map(|it| render::charge(it, options)))
        }
        "refunds" => ("refund", state.refunds.get(id).map(render::refund)),
        "events" => {
            let found = state.webhooks.events.get(id);
            ("event", found.map(|it| it.body.clone()))
        }
        _ => return Err(ApiError::no_url("GET", &format!("/v1/{collection}/{id}"))),
    };
    found.ok_or_else(|| ApiError::no_such(what, id, "id"))
}

/// Returns a page of a collection.
pub(crate) fn list(state: &State, collection: &[&str], query: &Form) -> Result<Value, ApiError> {
    let options = &state.options;
    let newest_first: Box<dyn Iterator<Item = Value>> = match collection {
        ["charges"] => {
            let all = state.charges.values().rev();
            Box::new(all.map(|it| render::charge(it, options)))
        }
        ["refunds"] => Box::new(state.refunds.values().rev().map(render::refund)),
        ["events"] => {
            let all = state.webhooks.events.values().rev();
            Box::new(all.map(|it| it.body.clone()))
        }
        _ => {
            let all = state.sessions.values().rev();
            Box::new(all.map(|it| render::session(it, options)))
        }
    };
    // What can be asked of each list is a field of its objects.
    let fields: &[&'static str] = match collection {
        ["charges"] => &["payment_intent"],
        ["refunds"] => &["charge", "payment_intent"],
        ["events"] => &["type"],
        _ => &["payment_intent", "status"],
    };
    let common = ["limit", "starting_after", "created[gte]", "created[lte]"];
    query.only(&[common.as_slice(), fields].concat())?;
    let has_fields = move |item: &Value| {
        fields
            .iter()
            .all(|field| query.text(field).is_none_or(|asked| item[field] == asked))
    };
    let (from, to) = (
        query.integer("created[gte]")?,
        query.integer("created[lte]")?,
    );
    let in_time = move |item: &Value| {
        let created = item["created"].as_i64();
        from.is_none_or(|from| created >= Some(from)) && to.is_none_or(|to| created <= Some(to))
    };
    let matching = newest_first.filter(has_fields).filter(in_time);
    page_of(matching, query, &format!("/v1/{}", collection.join("/")))
}

fn page_of(items: impl Iterator<Item = Value>, query: &Form, url: &str) -> Result<Value, ApiError> {
    let limit = query.integer("limit")?.unwrap_or(PAGE_SIZE);
    if !(1..=PAGE_SIZE_MAX).contains(&limit) {
        let message = "Invalid limit: it must be between 1 and 100";
        return Err(ApiError::invalid(message).param("limit"));
    }
    let after = query.text("starting_after");
    let mut rest = items
        .skip_while(|item| after.is_some_and(|after| item["id"] != after))
        .skip(usize::from(after.is_some()));
    let limit = usize::try_from(limit).unwrap_or_default();
    let data: Vec<Value> = rest.by_ref().take(limit).collect();
    let has_more = rest.next().is_some();
    Ok(json!({ "object": "list", "data": data, "has_more": has_more, "url": url }))
}

#[cfg(test)]
mod tests {
    use crate::testing::Town;

    #[test]
    fn lists_are_newest_first_and_go_on_where_they_stopped() {
        let town = Town::default();
        let made: Vec<String> = (0..3).map(|_| town.session()).collect();
        let (_, page) = town.get("/v1/checkout/sessions?limit=2");
        assert_eq!(
            (&page["data"][0]["id"], &page["has_more"]),
            (&made[2].clone().into(), &true.into())
        );
        let (_, rest) = town.get(&format!(
            "/v1/checkout/sessions?limit=2&starting_after={}",
            made[1]
        ));
        assert_eq!(
            (&rest["data"][0]["id"], &rest["has_more"]),
            (&made[0].clone().into(), &false.into())
        );
        town.wait(3_600);
        let events = town.get("/v1/events?type=checkout.session.expired&created[gte]=1784037600");
        assert_eq!(events.1["data"].as_array().unwrap().len(), 3);
        assert_eq!(town.get("/v1/events?colour=red").0, 400);
    }
}
