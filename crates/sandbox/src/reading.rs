//! Reading objects: one by its id, or lists of them, newest first.

use std::collections::BTreeMap;
use std::ops::Bound;

use http::StatusCode;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::form::Form;
use crate::render;
use crate::state::State;

const PAGE_SIZE: i64 = 10;
const PAGE_SIZE_MAX: i64 = 100;
const TIMES: [&str; 4] = ["created[gt]", "created[gte]", "created[lt]", "created[lte]"];

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
        "disputes" => {
            let found = state.disputes.get(id);
            ("dispute", found.map(|it| render::dispute(it, options)))
        }
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
    let asked = |what, fields| Asked::read(what, collection, fields, query);
    match collection {
        ["payment_intents"] => asked("payment_intent", &["customer"])?
            .page(&state.intents, |it| render::intent(it, options)),
        ["charges"] => asked("charge", &["customer", "payment_intent"])?
            .page(&state.charges, |it| render::charge(it, options)),
        ["refunds"] => {
            asked("refund", &["charge", "payment_intent"])?.page(&state.refunds, render::refund)
        }
        ["disputes"] => asked("dispute", &["charge", "payment_intent"])?
            .page(&state.disputes, |it| render::dispute(it, options)),
        ["events"] => asked("event", &["type"])?.page(&state.webhooks.events, |it| it.body.clone()),
        _ => asked("checkout.session", &["payment_intent", "status"])?
            .page(&state.sessions, |it| render::session(it, options)),
    }
}

/// What a request for a list asks for.
pub(crate) struct Asked<'a> {
    /// What the list is of.
    what: &'static str,
    url: String,
    /// Fields of the objects, and what they must be.
    fields: Vec<(&'static str, &'a str)>,
    /// Bounds of the time of creation, in seconds: after, from, before, to.
    times: [Option<i64>; 4],
    after: Option<&'a str>,
    limit: usize,
}

impl<'a> Asked<'a> {
    pub(crate) fn read(
        what: &'static str,
        collection: &[&str],
        fields: &[&'static str],
        query: &'a Form,
    ) -> Result<Self, ApiError> {
        let common = ["limit", "starting_after"].as_slice();
        query.only(&[common, TIMES.as_slice(), fields].concat())?;
        let limit = query.integer("limit")?.unwrap_or(PAGE_SIZE);
        if !(1..=PAGE_SIZE_MAX).contains(&limit) {
            let message = "Invalid limit: it must be between 1 and 100";
            return Err(ApiError::invalid(message).param("limit"));
        }
        let [after, from, before, to] = TIMES.map(|name| query.integer(name));
        let fields = fields.iter().copied();
        Ok(Self {
            what,
            url: format!("/v1/{}", collection.join("/")),
            fields: fields
                .filter_map(|field| Some((field, query.text(field)?)))
                .collect(),
            times: [after?, from?, before?, to?],
            after: query.text("starting_after"),
            limit: usize::try_from(limit).unwrap_or_default(),
        })
    }

    /// Returns the newest of `all` that fit, or those that follow the one that was named.
    pub(crate) fn page<T>(
        &self,
        all: &BTreeMap<String, T>,
        shown: impl Fn(&T) -> Value,
    ) -> Result<Value, ApiError> {
        if let Some(after) = self.after.filter(|after| !all.contains_key(*after)) {
            let mut error = ApiError::no_such(self.what, after, "starting_after");
            error.status = StatusCode::BAD_REQUEST;
            return Err(error);
        }
        // Ids sort by creation, so what comes after one in the list is what sorts before it.
        let end = self.after.map_or(Bound::Unbounded, Bound::Excluded);
        let newest_first = all.range::<str, _>((Bound::Unbounded, end)).rev();
        let mut rest = newest_first
            .map(|(_, it)| shown(it))
            .filter(|it| self.fits(it));
        let data: Vec<Value> = rest.by_ref().take(self.limit).collect();
        let has_more = rest.next().is_some();
        Ok(json!({ "object": "list", "data": data, "has_more": has_more, "url": self.url }))
    }

    fn fits(&self, item: &Value) -> bool {
        let created = item["created"].as_i64().unwrap_or_default();
        let [after, from, before, to] = self.times;
        after.is_none_or(|after| created > after)
            && from.is_none_or(|from| created >= from)
            && before.is_none_or(|before| created < before)
            && to.is_none_or(|to| created <= to)
            && self
                .fields
                .iter()
                .all(|(name, asked)| field(item, name) == *asked)
    }
}

/// Returns what a list is asked for by this name. Of an invoice, the subscription is the parent's.
fn field<'a>(item: &'a Value, name: &str) -> &'a Value {
    let parent = match name {
        "subscription" => item.pointer("/parent/subscription_details/subscription"),
        _ => None,
    };
    parent.unwrap_or(&item[name])
}

#[cfg(test)]
mod tests {
    use crate::testing::{Town, text};

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
        let unknown = town.get("/v1/events?starting_after=evt_none");
        assert_eq!(unknown.0, 400);
        assert_eq!(unknown.1["error"]["param"], "starting_after");
    }

    #[test]
    fn days_that_meet_share_no_charge_and_miss_none() {
        let town = Town::default();
        let start = town.now().timestamp();
        for _ in 0..5 {
            let id = town.session();
            town.pay(&id, "4242424242424242");
            town.wait(300);
        }
        let ids = |from: i64, to: i64| -> Vec<String> {
            let range = format!("created[gte]={}&created[lt]={}", start + from, start + to);
            let (_, page) = town.get(&format!("/v1/charges?{range}&limit=100"));
            let data = page["data"].as_array().unwrap();
            data.iter().map(|charge| text(&charge["id"])).collect()
        };
        let (early, late) = (ids(0, 600), ids(600, 1_500));
        assert_eq!((early.len(), late.len()), (2, 3));
        assert_eq!([late, early].concat(), ids(0, 1_500));
    }
}
