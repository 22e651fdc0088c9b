//! Events about billing.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::events::{emit, emit_change};
use crate::state::State;

use super::show;

/// Tells of an object as it is now.
pub(crate) fn tell(state: &mut State, kind: &str, id: &str, now: DateTime<Utc>) {
    if let Some(shown) = show::any(state, id) {
        emit(state, kind, &shown, now);
    }
}

/// Changes an object and tells how it differs from before. If it doesn't, nothing is told.
pub(crate) fn tell_change(
    state: &mut State,
    kind: &str,
    id: &str,
    now: DateTime<Utc>,
    change: impl FnOnce(&mut State),
) {
    let before = show::any(state, id).unwrap_or_default();
    change(state);
    let Some(after) = show::any(state, id) else {
        return;
    };
    let previous = previous(&before, &after);
    if !previous.is_empty() {
        emit_change(state, kind, &after, Value::Object(previous), now);
    }
}

/// Returns what was different before, of objects within objects only what was.
fn previous(before: &Value, after: &Value) -> Map<String, Value> {
    let mut previous = Map::new();
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else {
        return previous;
    };
    let names = before.keys().chain(after.keys());
    for name in names {
        let was = before.get(name).unwrap_or(&Value::Null);
        let is = after.get(name).unwrap_or(&Value::Null);
        if was == is {
            continue;
        }
        let value = match (was, is) {
            (Value::Object(_), Value::Object(_)) => Value::Object(self::previous(was, is)),
            (was, _) => was.clone(),
        };
        previous.insert(name.clone(), value);
    }
    previous
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_different_is_told_and_nothing_else() {
        let before = json!({"a": 1, "b": {"c": 2, "d": 3}, "e": null});
        let after = json!({"a": 1, "b": {"c": 2, "d": 4}, "e": "x"});
        let told = Value::Object(previous(&before, &after));
        assert_eq!(told, json!({"b": {"d": 3}, "e": null}));
    }
}
