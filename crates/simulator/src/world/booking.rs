//! Guests, staff and banks around the bookings.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "an action belongs to one part of the world: the others pass it on"
)]

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Europe::London;
use http::Request;
use serde_json::{Value, json};

use super::{World, members, nth_of, text};
use crate::action::{Action, Card};

/// A bank's debit takes three days, the provider repeats an event for three.
pub(super) const REST: TimeDelta = TimeDelta::days(4);

/// What the staff give back in part, in pence: nobody else gives back just this.
pub(crate) const STAFF_REFUND: i64 = 300;

const PLACES: [&str; 3] = ["table-4", "table-5", "tasting"];
/// Tries of somebody whose request was answered with a 5xx.
const TRIES_MAX: usize = 3;

/// A wish and, once it was taken, its booking.
#[derive(Clone, Debug)]
pub(crate) struct Booked {
    pub(crate) wish: Value,
    pub(crate) key: Option<String>,
    /// `None` while it was refused or not answered.
    pub(crate) id: Option<String>,
    pub(crate) pay_url: String,
}

impl World {
    pub(super) async fn act_in_booking(&mut self, action: Action) -> String {
        match action {
            Action::Book { .. } | Action::BookAgain { .. } => self.book(action).await,
            Action::OpenPayPage { nth } => match self.led_to_page(nth).await {
                Ok(session) => session,
                Err(refused) => refused,
            },
            Action::Pay { nth, card } => self.pay(nth, card).await,
            Action::EndDebit { nth, succeeded } => self.end_debit(nth, succeeded),
            Action::PayByHand { nth, percent } => self.pay_by_hand(nth, percent),
            Action::Text { customer, stop } => {
                self.deeds.wishes.insert(phone_e164(customer), stop);
                let words = if stop { "STOP" } else { "START" };
                self.fleet.cloud.reply_by_sms(&phone_e164(customer), words);
                "sent".to_owned()
            }
            Action::RefundAtProvider { .. }
            | Action::NextRefund { .. }
            | Action::EndRefund { .. }
            | Action::Dispute { .. }
            | Action::EndDispute { .. } => self.act_at_bank(action),
            _ => self.act_as_staff(action).await,
        }
    }

    /// When the last appointment is over and all that follows it has had its time.
    pub(super) fn end_of_bookings(&self) -> DateTime<Utc> {
        let rows = self.rows("bdc-bookings");
        let ends = rows.iter().map(|row| &row["place"]["ends_at"]);
        let ends = ends.filter_map(|at| at.as_str()?.parse::<DateTime<Utc>>().ok());
        let last = ends.max().unwrap_or_else(|| self.now());
        last + TimeDelta::days(2)
    }

    async fn book(&mut self, action: Action) -> String {
        let index = match action {
            Action::BookAgain { nth } => {
                let index = usize::try_from(nth).unwrap_or_default();
                match index.checked_rem(self.bookings.len()) {
                    Some(index) => index,
                    None => return "nobody has asked yet".to_owned(),
                }
            }
            wish => {
                self.wish_for(wish);
                self.bookings.len().saturating_sub(1)
            }
        };
        let Some(booked) = self.bookings.get(index).cloned() else {
            return String::new();
        };
        let token = self.fleet.tokens().form;
        let mut headers = vec![
            ("authorization", format!("Bearer {token}")),
            ("content-type", "application/json".to_owned()),
        ];
        headers.extend(booked.key.clone().map(|key| ("idempotency-key", key)));
        for _ in 0..TRIES_MAX {
            let asked = ("POST", "/bookings");
            let answer = self.ask("bdc-intake", asked, &headers, &booked.wish).await;
            self.refused_wrongly(&booked.wish, &answer);
            if answer.status < 500 {
                return self.note_booked(index, &answer.body, answer.status);
            }
        }
        "no answer".to_owned()
    }

    fn wish_for(&mut self, action: Action) {
        let Action::Book {
            customer,
            place,
            when,
            party,
            keyed,
        } = action
        else {
            return;
        };
        let day = (self.now() + TimeDelta::days(1 + i64::from(when % 4))).date_naive();
        let hour = 18 + when % 3;
        let starts = format!("{day}T{hour:02}:00");
        let wish = json!({"resource": nth_of(&PLACES, place), "starts_at": starts, "party": party,
            "name": NAMES[usize::try_from(customer).unwrap_or_default() % NAMES.len()],
            "phone": phone(customer), "source": "form"});
        let number = self.bookings.len();
        self.bookings.push(Booked {
            wish,
            key: keyed.then(|| format!("form-{number}")),
            id: None,
            pay_url: String::new(),
        });
    }

    /// Notes a refusal for a reason that is not so.
    fn refused_wrongly(&mut self, wish: &Value, answer: &super::Answer) {
        let code = text(&answer.body, "code");
        let resource = text(wish, "resource");
        let slots = self.rows("bdc-slots");
        let is_taken = slots
            .iter()
            .any(|it| text(it, "slot_key").starts_with(resource));
        let phone = phonetic(text(wish, "phone"));
        let rows = self.rows("bdc-bookings");
        let unpaid = rows
            .iter()
            .filter(|it| text(it, "state") == "PENDING" && text(it, "phone") == phone);
        let wrong = match code {
            "slot_taken" => !is_taken,
            "too_many_holds" => unpaid.count() == 0,
            _ => false,
        };
        if wrong {
            self.deeds
                .complaints
                .push(format!("{code}, which was not so"));
        }
    }

    fn note_booked(&mut self, index: usize, answer: &Value, status: u16) -> String {
        let id = answer["booking_id"].as_str().map(str::to_owned);
        let outcome = format!(
            "{status} {}",
            id.as_deref().unwrap_or_else(|| text(answer, "code"))
        );
        if let Some(booked) = self.bookings.get_mut(index)
            && id.is_some()
        {
            booked.id = id;
            booked.pay_url = text(answer, "pay_url").to_owned();
        }
        outcome
    }

    /// The bookings that were taken.
    fn taken(&self, nth: u32) -> Option<&Booked> {
        let taken: Vec<&Booked> = self.bookings.iter().filter(|it| it.id.is_some()).collect();
        nth_of(&taken, nth).copied()
    }

    /// Presses the button of a pay page; returns the provider's page that it leads to.
    async fn open_pay_page(&self, nth: u32) -> Result<String, String> {
        let booked = self.taken(nth).ok_or("no booking yet")?;
        let base = self.fleet.url("bdc-cashier");
        let path = booked.pay_url.strip_prefix(&base).ok_or("no pay link")?;
        let asked = ("POST", format!("/{path}"));
        let mut status = 0;
        for _ in 0..TRIES_MAX {
            let asked = (asked.0, asked.1.as_str());
            let answer = self.ask("bdc-cashier", asked, &[], &Value::Null).await;
            if let Some(page) = answer.location.filter(|_| answer.status == 303) {
                let session = page.rsplit('/').next().unwrap_or_default();
                return Ok(session.to_owned());
            }
            status = answer.status;
            if status < 500 {
                break;
            }
        }
        Err(format!("no page: {status}"))
    }

    /// As [`World::open_pay_page`], by somebody who may pay there at any time from now on.
    async fn led_to_page(&mut self, nth: u32) -> Result<String, String> {
        let page = self.open_pay_page(nth).await?;
        self.deeds.pages.push(page.clone());
        Ok(page)
    }

    async fn pay(&mut self, nth: u32, card: Card) -> String {
        match self.led_to_page(nth).await {
            Ok(session) => {
                let path = format!("sessions/{session}/pay");
                self.control(&path, &json!({"card": card.number()}))
            }
            Err(refused) => refused,
        }
    }

    fn end_debit(&self, nth: u32, succeeded: bool) -> String {
        let ledger = self.fleet.sandbox.ledger();
        let sessions = members(&ledger["sessions"]);
        let waiting = sessions.filter(|it| it["payment_status"] == "unpaid");
        let waiting: Vec<&Value> = waiting.filter(|it| it["status"] == "complete").collect();
        match nth_of(&waiting, nth) {
            Some(session) => {
                let path = format!("sessions/{}/settle", text(session, "id"));
                self.control(&path, &json!({"succeeded": succeeded}))
            }
            None => "no debit is under way".to_owned(),
        }
    }

    fn pay_by_hand(&self, nth: u32, percent: u32) -> String {
        let Some(id) = self.taken(nth).and_then(|booked| booked.id.clone()) else {
            return "no booking yet".to_owned();
        };
        let rows = self.rows("bdc-bookings");
        let row = rows.iter().find(|row| row["booking_id"] == id.as_str());
        let deposit = row.and_then(|row| row["deposit"]["amount"].as_i64());
        let minor = deposit.unwrap_or(1_000) * i64::from(percent) / 100;
        let expires_at = self.now().timestamp() + 7_200;
        let form = format!(
            "mode=payment&success_url=https%3A%2F%2Fvenue.example%2Fpaid&client_reference_id={id}\
             &metadata[booking_id]={id}&payment_intent_data[metadata][booking_id]={id}\
             &expires_at={expires_at}&line_items[0][quantity]=1\
             &line_items[0][price_data][currency]=gbp\
             &line_items[0][price_data][unit_amount]={minor}\
             &line_items[0][price_data][product_data][name]=Deposit"
        );
        let secrets = self.fleet.cloud.secrets();
        let key = secrets.get("bdc-provider-key").cloned().unwrap_or_default();
        let mut request = Request::new(Bytes::from(form));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = http::Uri::from_static("/v1/checkout/sessions");
        let form = http::HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert("content-type", form);
        if let Ok(bearer) = format!("Bearer {key}").parse() {
            request.headers_mut().insert("authorization", bearer);
        }
        let answer = self.fleet.sandbox.call(request, self.now());
        let page: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let path = format!("sessions/{}/pay", text(&page, "id"));
        self.control(&path, &json!({"card": Card::Good.number()}))
    }

    async fn act_as_staff(&mut self, action: Action) -> String {
        let (nth, order, body) = match action {
            Action::Cancel { nth, by_business } => {
                let by = if by_business { "business" } else { "customer" };
                (nth, "cancel", json!({"by": by}))
            }
            Action::Reschedule { nth, place, when } => {
                let day = (self.now() + TimeDelta::days(1 + i64::from(when % 4))).date_naive();
                let starts_at = format!("{day}T{:02}:00", 18 + when % 3);
                let to = json!({"starts_at": starts_at, "resource": nth_of(&PLACES, place)});
                (nth, "reschedule", to)
            }
            Action::MoveNear { nth, hours } => {
                let hour = TimeDelta::hours(i64::from(hours) + 1);
                let near = (self.now() + hour).with_timezone(&London);
                let to = json!({"starts_at": near.format("%Y-%m-%dT%H:00").to_string()});
                (nth, "reschedule", to)
            }
            Action::Attend { nth, attended } => (nth, "attendance", json!({"attended": attended})),
            Action::StaffRefund { nth, part: false } => {
                (nth, "refund", json!({"reason": "goodwill"}))
            }
            Action::StaffRefund { nth, part: true } => {
                let amount = json!({"amount": STAFF_REFUND, "currency": "GBP"});
                let order = json!({"reason": "goodwill", "amount": amount});
                (nth, "refund", order)
            }
            Action::Waive { nth } => (nth, "waive", json!({"reason": "a regular"})),
            _ => return "not in booking".to_owned(),
        };
        let Some(id) = self.taken(nth).and_then(|booked| booked.id.clone()) else {
            return "no booking yet".to_owned();
        };
        let token = self.fleet.tokens().staff;
        let headers = [
            ("authorization", format!("Bearer {token}")),
            ("content-type", "application/json".to_owned()),
        ];
        let path = format!("/bookings/{id}/{order}");
        for _ in 0..TRIES_MAX {
            let answer = self
                .ask("bdc-intake", ("POST", &path), &headers, &body)
                .await;
            if answer.status < 500 {
                if body["attended"] == false && answer.status == 200 {
                    self.deeds.marked_absent.push(id);
                }
                return format!("{} {}", answer.status, text(&answer.body, "code"));
            }
        }
        "no answer".to_owned()
    }

    fn act_at_bank(&self, action: Action) -> String {
        let ledger = self.fleet.sandbox.ledger();
        let nth_id = |collection: &str, nth: u32| {
            let all: Vec<&Value> = members(&ledger[collection]).collect();
            Some(text(nth_of(&all, nth)?, "id").to_owned())
        };
        let nothing = || "nothing to do".to_owned();
        match action {
            Action::RefundAtProvider { nth, part } => {
                let body = if part {
                    json!({"amount": 200})
                } else {
                    json!({})
                };
                let id = nth_id("charges", nth);
                id.map_or_else(nothing, |id| {
                    self.control(&format!("payments/{id}/refund"), &body)
                })
            }
            Action::NextRefund { pending } => {
                let status = if pending { "pending" } else { "failed" };
                self.control("refunds/next", &json!({"status": status}))
            }
            Action::EndRefund { nth, failed } => {
                let status = if failed { "failed" } else { "succeeded" };
                let id = nth_id("refunds", nth);
                id.map_or_else(nothing, |id| {
                    self.control(&format!("refunds/{id}/move"), &json!({"status": status}))
                })
            }
            Action::Dispute { nth, inquiry } => {
                let id = nth_id("charges", nth);
                id.map_or_else(nothing, |id| {
                    self.control(
                        &format!("payments/{id}/dispute"),
                        &json!({"inquiry": inquiry}),
                    )
                })
            }
            Action::EndDispute { nth, won } => {
                let status = if won { "won" } else { "lost" };
                let id = nth_id("disputes", nth);
                id.map_or_else(nothing, |id| {
                    self.control(&format!("disputes/{id}/move"), &json!({"status": status}))
                })
            }
            _ => nothing(),
        }
    }
}

const NAMES: [&str; 3] = [
    "Philippa Quillfeather",
    "Barnaby Thistlewood",
    "Ottoline Marchbanks",
];

/// Numbers that are nobody's.
fn phone(customer: u32) -> String {
    format!("07700 9001{:02}", customer % 100)
}

/// A national number as the fleet writes it.
fn phonetic(national: &str) -> String {
    let digits: String = national.chars().filter(char::is_ascii_digit).collect();
    format!("+44{}", digits.trim_start_matches('0'))
}

pub(crate) fn phone_e164(customer: u32) -> String {
    format!("+4477009001{:02}", customer % 100)
}
