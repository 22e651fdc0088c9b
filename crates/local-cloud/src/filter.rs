//! Event patterns, as event source mappings use them to filter.

use serde_json::Value;

/// Tells whether the pattern uses only what is known here.
///
/// # Errors
/// The part that is not.
pub(crate) fn check(pattern: &Value) -> Result<(), String> {
    match pattern {
        Value::Object(fields) => fields.values().try_for_each(check),
        Value::Array(rules) => rules.iter().try_for_each(check_rule),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(format!("a pattern can't hold `{pattern}` outside a list"))
        }
    }
}

fn check_rule(rule: &Value) -> Result<(), String> {
    let Some(object) = rule.as_object() else {
        return Ok(());
    };
    match object
        .keys()
        .find(|key| !["prefix", "exists", "anything-but"].contains(&key.as_str()))
    {
        Some(unknown) => Err(format!("pattern rule `{unknown}` is not known here")),
        None => Ok(()),
    }
}

/// Tells whether an event matches: all fields of the pattern, and one rule of each list.
pub(crate) fn matches(pattern: &Value, event: &Value) -> bool {
    match pattern {
        Value::Object(fields) => fields
            .iter()
            .all(|(name, inner)| matches(inner, &event[name.as_str()])),
        Value::Array(rules) => rules.iter().any(|rule| rule_matches(rule, event)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => pattern == event,
    }
}

fn rule_matches(rule: &Value, value: &Value) -> bool {
    let Some(object) = rule.as_object() else {
        return rule == value;
    };
    object.iter().all(|(name, wanted)| match name.as_str() {
        "exists" => wanted.as_bool() == Some(!value.is_null()),
        "prefix" => value
            .as_str()
            .zip(wanted.as_str())
            .is_some_and(|(text, prefix)| text.starts_with(prefix)),
        "anything-but" => match wanted.as_array() {
            Some(unwanted) => !value.is_null() && !unwanted.contains(value),
            None => !value.is_null() && wanted != value,
        },
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_passes_when_every_field_has_a_matching_rule() {
        let pattern = json!({"eventName": ["INSERT"], "dynamodb": {"NewImage": {"kind": {"S": [{"prefix": "booking."}]}}}});
        let record = |name: &str, kind: &str| json!({"eventName": name, "dynamodb": {"NewImage": {"kind": {"S": kind}}}});
        assert!(check(&pattern).is_ok());
        assert!(matches(&pattern, &record("INSERT", "booking.held")));
        assert!(!matches(&pattern, &record("MODIFY", "booking.held")));
        assert!(!matches(&pattern, &record("INSERT", "order.placed")));
    }

    #[test]
    fn a_rule_that_is_not_known_is_an_error() {
        assert!(check(&json!({"a": [{"numeric": [">", 1]}]})).is_err());
    }
}
