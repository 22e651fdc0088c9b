//! YAML as JSON, with CloudFormation's short tags (`!Ref`) in their long form (`Ref:`).

use serde_json::{Map, Value, json};
use serde_yaml_ng as yaml;

use crate::error::CloudError;

/// Turns YAML into JSON, with each short tag as its long form.
///
/// # Errors
/// A key that is not a string, or a tag that is not an intrinsic function.
pub(super) fn long_form(document: yaml::Value) -> Result<Value, CloudError> {
    match document {
        yaml::Value::Null => Ok(Value::Null),
        yaml::Value::Bool(value) => Ok(Value::Bool(value)),
        yaml::Value::Number(value) => {
            serde_json::to_value(value).map_err(|error| CloudError::Template(error.to_string()))
        }
        yaml::Value::String(value) => Ok(Value::String(value)),
        yaml::Value::Sequence(items) => items.into_iter().map(long_form).collect(),
        yaml::Value::Mapping(entries) => {
            let mut object = Map::new();
            for (key, value) in entries {
                object.insert(key_text(key)?, long_form(value)?);
            }
            Ok(Value::Object(object))
        }
        yaml::Value::Tagged(tagged) => tagged_form(*tagged),
    }
}

fn key_text(key: yaml::Value) -> Result<String, CloudError> {
    match key {
        yaml::Value::String(text) => Ok(text),
        yaml::Value::Number(number) => Ok(number.to_string()),
        yaml::Value::Bool(value) => Ok(value.to_string()),
        other @ (yaml::Value::Null
        | yaml::Value::Sequence(_)
        | yaml::Value::Mapping(_)
        | yaml::Value::Tagged(_)) => Err(CloudError::Template(format!("bad key {other:?}"))),
    }
}

fn tagged_form(tagged: yaml::value::TaggedValue) -> Result<Value, CloudError> {
    let tag = tagged.tag.to_string();
    let name = tag.trim_start_matches('!');
    let value = long_form(tagged.value)?;
    match name {
        "Ref" | "Condition" => Ok(json!({ name: value })),
        "GetAtt" => Ok(json!({ "Fn::GetAtt": dotted(value) })),
        "Sub" | "Join" | "If" | "Equals" | "Not" | "And" | "Or" | "Select" | "Split" => {
            Ok(json!({ format!("Fn::{name}"): value }))
        }
        unknown => Err(CloudError::Template(format!(
            "`!{unknown}` is not known here"
        ))),
    }
}

/// `A.B.C` names the attribute `B.C` of `A`.
pub(super) fn dotted(value: Value) -> Value {
    match value.as_str().and_then(|text| text.split_once('.')) {
        Some((resource, attribute)) => json!([resource, attribute]),
        None => value,
    }
}
