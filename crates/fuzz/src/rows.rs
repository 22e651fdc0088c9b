//! The rows that the world knows, as DynamoDB gives them.

use serde_json::{Map, Value, json};

pub(crate) const BOOKING_ID: &str = "bkg_01kx3bzgg0brthaehq7yhe17bs";

/// The row of a table, whatever its key.
pub(crate) fn row(table: &Value) -> Option<Value> {
    match table.as_str()? {
        "bookings-table" => Some(typed_row(booking())),
        _ => None,
    }
}

fn booking() -> Value {
    json!({
        "booking_id": BOOKING_ID, "state": "PENDING", "version": 3, "party": 2,
        "name": "Philippa Quillfeather", "phone": "+447700900123", "source": "form",
        "created_at": "2026-07-09T12:00:00Z", "deposit": {"amount": 2000, "currency": "GBP"},
        "deposit_deadline": "2026-07-10T12:00:00Z", "remind_at": "2026-07-10T08:00:00Z",
        "place": {"resource": "table-4", "label": "table", "zone": "Europe/London",
            "starts_at": "2026-07-11T19:00:00Z", "ends_at": "2026-07-11T20:30:00Z",
            "slot_keys": ["table-4#2026-07-11T20:00", "table-4#2026-07-11T20:30", "table-4#2026-07-11T21:00"]},
        "session": {"attempt": 1, "intended_at": "2026-07-09T12:01:00Z",
            "expires_at": "2026-07-10T11:01:00Z", "opened": {"session_id": "cs_test_1",
            "url": "https://checkout.example/c/pay/cs_test_1"}},
        "policy": {"pay_within": 1440, "start_buffer": 120, "pay_time_min": 30,
            "remind_before": 240, "funds_within": 4320, "settle_after": 120, "unmarked": "ASK",
            "free_cancellation": 1440},
    })
}

fn typed_row(row: Value) -> Value {
    typed(row)["M"].take()
}

/// A value in DynamoDB's JSON.
fn typed(value: Value) -> Value {
    match value {
        Value::Null => json!({"NULL": true}),
        Value::Bool(truth) => json!({"BOOL": truth}),
        Value::Number(number) => json!({"N": number.to_string()}),
        Value::String(text) => json!({"S": text}),
        Value::Array(items) => json!({"L": items.into_iter().map(typed).collect::<Vec<_>>()}),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, typed(value)));
            json!({"M": fields.collect::<Map<_, _>>()})
        }
    }
}
