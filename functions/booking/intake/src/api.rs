//! Bookings as callers see them, and the reading of fields with an error that names the field.

use chrono::{DateTime, Utc};
use lambda_kit::{Caller, Failure, Problem, Reply, Request};
use paidonce_core::booking::{Booking, Mark};
use paidonce_core::local_time::{Instant, LocalTimeError, resolve, stamp};
use paidonce_core::money::Money;
use paidonce_core::step::read;
use serde_json::{Map, Value, json};

use crate::Intake;

impl Intake {
    pub(crate) async fn show(&self, id: &str, caller: &Caller) -> Result<Reply, Failure> {
        let booking = read::<Booking>(&self.dynamodb, &self.tables.bookings, id).await?;
        let booking = booking.ok_or_else(no_such_booking)?;
        Ok(Reply::json(200, &view(&booking, caller)))
    }
}

pub(crate) fn no_such_booking() -> Problem {
    Problem::new(404, "unknown_booking", "There is no such booking.")
}

/// A booking as JSON. Only staff see who it is.
pub(crate) fn view(booking: &Booking, caller: &Caller) -> Value {
    let mut view = json!({
        "booking_id": booking.booking_id,
        "state": booking.state,
        "resource": booking.place.resource,
        "slot_key": booking.place.slot_keys.first(),
        "starts_at": stamp(booking.place.starts_at),
        "ends_at": stamp(booking.place.ends_at),
        "party": booking.party,
        "deposit": booking.deposit,
        "deposit_deadline": stamp(booking.deposit_deadline),
        "paid_at": booking.paid_at.map(stamp),
        "attended": booking.attendance.as_ref().map(|mark| mark.attended),
        "refund_due": booking.cancelled.as_ref().is_some_and(|cancelled| cancelled.refund_due),
    });
    if caller.is_staff() {
        view["name"] = json!(booking.name);
        view["source"] = json!(booking.source);
        view["notes"] = json!(booking.notes);
        view["language"] = json!(booking.language);
        view["payments"] = payments(booking);
        view["disputes"] = json!(booking.disputes);
        view["kept"] = json!(booking.kept());
        view["owed"] = json!(booking.owed());
        view["waived"] = marked(booking.waived.as_ref(), booking.waived_reason.as_deref());
        let reversal = booking.reversal.as_ref();
        view["reversal"] = marked(
            reversal.map(|it| &it.mark),
            booking.reversal_reason.as_deref(),
        );
        if let Some(reversal) = reversal {
            view["reversal"]["how"] = json!(if reversal.refund { "refund" } else { "credit" });
            view["reversal"]["amount"] = json!(reversal.amount);
        }
    }
    view
}

/// What came for a booking, and what of it went back.
fn payments(booking: &Booking) -> Value {
    let payments = booking.payments.iter().map(|paid| {
        json!({
            "payment_ref": paid.payment_ref,
            "amount": paid.amount,
            "paid_at": stamp(paid.paid_at),
            "returned": paid.returned,
        })
    });
    payments.collect()
}

/// What somebody of the staff did, when and why; null if nobody did.
fn marked(mark: Option<&Mark>, reason: Option<&str>) -> Value {
    mark.map_or(
        Value::Null,
        |mark| json!({"by": mark.by, "at": stamp(mark.at), "reason": reason}),
    )
}

/// The fields of a JSON object, read one by one.
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub(crate) fn of(request: &Request) -> Result<Self, Problem> {
        match request.json::<Value>()? {
            Value::Object(fields) => Ok(Self(fields)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(Problem::new(
                400,
                "invalid_json",
                "The body must be a JSON object.",
            )),
        }
    }

    pub(crate) fn value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    pub(crate) fn text(
        &self,
        field: &'static str,
        characters_max: usize,
    ) -> Result<String, Problem> {
        self.optional_text(field, characters_max)?
            .ok_or_else(|| Problem::field(field, "missing", &format!("`{field}` is missing.")))
    }

    /// Reads a text of one line, blanks around it dropped; blank is absent.
    pub(crate) fn optional_text(
        &self,
        field: &'static str,
        characters_max: usize,
    ) -> Result<Option<String>, Problem> {
        self.shown_text(field, characters_max, |_| false)
    }

    /// Reads a text that may have several lines, blanks around it dropped; blank is absent.
    pub(crate) fn optional_lines(
        &self,
        field: &'static str,
        characters_max: usize,
    ) -> Result<Option<String>, Problem> {
        self.shown_text(field, characters_max, |character| character == '\n')
    }

    fn shown_text(
        &self,
        field: &'static str,
        characters_max: usize,
        may_have: impl Fn(char) -> bool,
    ) -> Result<Option<String>, Problem> {
        let text = match self.0.get(field) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => text.trim(),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                return Err(Problem::field(
                    field,
                    "not_text",
                    &format!("`{field}` must be a text."),
                ));
            }
        };
        if text.chars().count() > characters_max {
            let detail = format!("`{field}` has more than {characters_max} characters.");
            return Err(Problem::field(field, "too_long", &detail));
        }
        if text
            .chars()
            .any(|character| breaks(character) && !may_have(character))
        {
            let detail = format!("`{field}` has a character that can't be shown.");
            return Err(Problem::field(field, "unreadable", &detail));
        }
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    pub(crate) fn number(&self, field: &'static str, min: u32, max: u32) -> Result<u32, Problem> {
        let detail = format!("`{field}` must be a whole number from {min} to {max}.");
        self.0
            .get(field)
            .and_then(Value::as_u64)
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| Problem::field(field, "out_of_range", &detail))
    }

    /// Reads an amount as bookings show it: minor units and a currency, above zero.
    pub(crate) fn money(&self, field: &'static str) -> Result<Option<Money>, Problem> {
        let Some(value) = self.0.get(field).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let amount = serde_json::from_value::<Money>(value.clone()).ok();
        let detail = format!(
            "`{field}` must be an amount above zero in minor units, such as {{\"amount\": 500, \"currency\": \"GBP\"}}."
        );
        amount
            .filter(|amount| amount.minor() > 0)
            .map(Some)
            .ok_or_else(|| Problem::field(field, "bad_amount", &detail))
    }

    pub(crate) fn truth(&self, field: &'static str) -> Result<bool, Problem> {
        self.optional_truth(field)?
            .ok_or_else(|| not_a_truth(field))
    }

    pub(crate) fn optional_truth(&self, field: &'static str) -> Result<Option<bool>, Problem> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(*truth)),
            Some(Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
                Err(not_a_truth(field))
            }
        }
    }
}

/// Whether a character steers instead of showing, or ends the line or the paragraph.
fn breaks(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

fn not_a_truth(field: &'static str) -> Problem {
    let detail = format!("`{field}` must be true or false.");
    Problem::field(field, "not_a_truth", &detail)
}

/// Reads a start in the venue's wall time, or as an instant with an offset.
pub(crate) fn start(
    text: &str,
    zone: chrono_tz::Tz,
    now: DateTime<Utc>,
) -> Result<Instant, Problem> {
    let instant = resolve(text, zone).map_err(|error| {
        let code = match error {
            LocalTimeError::Unreadable => "unreadable_time",
            LocalTimeError::Nonexistent { .. } => "nonexistent_local_time",
            LocalTimeError::Ambiguous { .. } => "ambiguous_local_time",
        };
        Problem::field("starts_at", code, &format!("`starts_at`: {error}."))
    })?;
    if instant.utc <= now {
        return Err(Problem::field(
            "starts_at",
            "past",
            "`starts_at` is in the past.",
        ));
    }
    Ok(instant)
}
