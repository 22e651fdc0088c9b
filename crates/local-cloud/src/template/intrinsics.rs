//! CloudFormation's intrinsic functions, in their long form, resolved against a [`Scope`].

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::yaml::dotted;
use crate::error::CloudError;

pub(crate) const ACCOUNT: &str = "000000000000";
pub(crate) const REGION: &str = "eu-west-2";

/// What the names in a template stand for.
pub(crate) struct Scope {
    /// Parameters and pseudo parameters.
    pub(crate) parameters: BTreeMap<String, Value>,
    /// What `Ref` of a resource gives.
    pub(crate) references: BTreeMap<String, String>,
    /// What `GetAtt` gives, by `Resource.Attribute`.
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) conditions: BTreeMap<String, Value>,
}

impl Scope {
    /// Replaces every intrinsic function in `value` by what it stands for.
    ///
    /// `AWS::NoValue` removes the entry that holds it.
    ///
    /// # Errors
    /// Names that stand for nothing, and malformed arguments.
    pub(crate) fn resolve(&self, value: &Value) -> Result<Value, CloudError> {
        Ok(self.resolved(value)?.unwrap_or(Value::Null))
    }

    fn resolved(&self, value: &Value) -> Result<Option<Value>, CloudError> {
        match value {
            Value::Array(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.extend(self.resolved(item)?);
                }
                Ok(Some(Value::Array(list)))
            }
            Value::Object(object) => match intrinsic(object) {
                Some((name, argument)) => self.call(name, argument),
                None => self.resolved_entries(object).map(Some),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Ok(Some(value.clone()))
            }
        }
    }

    fn resolved_entries(&self, object: &Map<String, Value>) -> Result<Value, CloudError> {
        let mut entries = Map::new();
        for (key, value) in object {
            if let Some(value) = self.resolved(value)? {
                entries.insert(key.clone(), value);
            }
        }
        Ok(Value::Object(entries))
    }

    fn call(&self, name: &str, argument: &Value) -> Result<Option<Value>, CloudError> {
        match name {
            "Ref" if argument.as_str() == Some("AWS::NoValue") => Ok(None),
            "Ref" => self.reference(text(argument)?).map(Some),
            "Fn::GetAtt" => self.attribute(argument).map(Some),
            "Fn::Sub" => self.substitute(argument).map(Some),
            "Fn::Join" => self.join(argument).map(Some),
            "Fn::Select" => self.select(argument).map(Some),
            "Fn::Split" => self.split(argument).map(Some),
            "Fn::If" => self.choose(argument),
            "Condition" | "Fn::Equals" | "Fn::Not" | "Fn::And" | "Fn::Or" => {
                let object = json!({ name: argument });
                Ok(Some(Value::Bool(self.holds(&object)?)))
            }
            unknown => Err(bad(format!("`{unknown}` is not known here"))),
        }
    }

    fn reference(&self, name: &str) -> Result<Value, CloudError> {
        self.parameters
            .get(name)
            .cloned()
            .or_else(|| self.references.get(name).map(|text| json!(text)))
            .ok_or_else(|| bad(format!("`Ref {name}` stands for nothing")))
    }

    fn attribute(&self, argument: &Value) -> Result<Value, CloudError> {
        let argument = dotted(argument.clone());
        let parts: Vec<&str> = list(&argument)?.iter().filter_map(Value::as_str).collect();
        self.attribute_named(&parts.join("."))
    }

    fn attribute_named(&self, name: &str) -> Result<Value, CloudError> {
        self.attributes
            .get(name)
            .map(|text| json!(text))
            .ok_or_else(|| bad(format!("`GetAtt {name}` stands for nothing")))
    }

    fn substitute(&self, argument: &Value) -> Result<Value, CloudError> {
        let empty = Map::new();
        let (pattern, own) = match argument.as_array() {
            Some(parts) => (
                text(parts.first().unwrap_or(&Value::Null))?,
                parts.get(1).and_then(Value::as_object).unwrap_or(&empty),
            ),
            None => (text(argument)?, &empty),
        };
        let mut out = String::new();
        let mut rest = pattern;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after
                .split_once('}')
                .ok_or_else(|| bad(format!("`{pattern}` has an open `${{`")))?;
            out.push_str(before);
            out.push_str(&self.substitution(name, own)?);
            rest = after;
        }
        out.push_str(rest);
        Ok(Value::String(out))
    }

    fn substitution(&self, name: &str, own: &Map<String, Value>) -> Result<String, CloudError> {
        if let Some(literal) = name.strip_prefix('!') {
            return Ok(format!("${{{literal}}}"));
        }
        let value = match own.get(name) {
            Some(value) => self.resolve(value)?,
            None if name.contains('.') => self.attribute_named(name)?,
            None => self.reference(name)?,
        };
        Ok(plain(&value))
    }

    fn join(&self, argument: &Value) -> Result<Value, CloudError> {
        let resolved = self.resolve(argument)?;
        let separator = text(&resolved[0])?;
        let parts: Vec<String> = list(&resolved[1])?.iter().map(plain).collect();
        Ok(Value::String(parts.join(separator)))
    }

    fn select(&self, argument: &Value) -> Result<Value, CloudError> {
        let resolved = self.resolve(argument)?;
        let index: usize = plain(&resolved[0])
            .parse()
            .map_err(|_| bad("`Select` needs an index".to_owned()))?;
        list(&resolved[1])?
            .get(index)
            .cloned()
            .ok_or_else(|| bad("`Select` is out of range".to_owned()))
    }

    fn split(&self, argument: &Value) -> Result<Value, CloudError> {
        let resolved = self.resolve(argument)?;
        let (separator, whole) = (text(&resolved[0])?, text(&resolved[1])?);
        Ok(whole.split(separator).map(str::to_owned).collect())
    }

    fn choose(&self, argument: &Value) -> Result<Option<Value>, CloudError> {
        let parts = list(argument)?;
        let [condition, yes, no] = parts.as_slice() else {
            return Err(bad("`If` needs three arguments".to_owned()));
        };
        let holds = self.holds(&json!({ "Condition": condition }))?;
        self.resolved(if holds { yes } else { no })
    }

    /// Tells whether a condition holds.
    ///
    /// # Errors
    /// An unknown condition, or something that is not one.
    pub(crate) fn holds(&self, condition: &Value) -> Result<bool, CloudError> {
        let (name, argument) = condition
            .as_object()
            .and_then(intrinsic)
            .ok_or_else(|| bad(format!("`{condition}` is not a condition")))?;
        match name {
            "Condition" => {
                let name = text(argument)?;
                let inner = self
                    .conditions
                    .get(name)
                    .ok_or_else(|| bad(format!("there is no condition `{name}`")))?;
                self.holds(inner)
            }
            "Fn::Equals" => {
                let sides = self.resolve(argument)?;
                Ok(plain(&sides[0]) == plain(&sides[1]))
            }
            "Fn::Not" => Ok(!self.holds(&argument[0])?),
            "Fn::And" => self
                .holding(argument)
                .map(|all| all.iter().all(|holds| *holds)),
            "Fn::Or" => self
                .holding(argument)
                .map(|all| all.iter().any(|holds| *holds)),
            unknown => Err(bad(format!("`{unknown}` is not a condition"))),
        }
    }

    fn holding(&self, argument: &Value) -> Result<Vec<bool>, CloudError> {
        list(argument)?
            .iter()
            .map(|part| self.holds(part))
            .collect()
    }
}

fn intrinsic(object: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, argument) = object.iter().next().filter(|_| object.len() == 1)?;
    let condition_name = name == "Condition" && argument.is_string();
    (name == "Ref" || name.starts_with("Fn::") || condition_name).then_some((name, argument))
}

fn text(value: &Value) -> Result<&str, CloudError> {
    value
        .as_str()
        .ok_or_else(|| bad(format!("`{value}` should be text")))
}

fn list(value: &Value) -> Result<&Vec<Value>, CloudError> {
    value
        .as_array()
        .ok_or_else(|| bad(format!("`{value}` should be a list")))
}

/// A scalar as CloudFormation writes it into text.
pub(crate) fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn bad(problem: String) -> CloudError {
    CloudError::Template(problem)
}

#[cfg(test)]
mod tests {
    use super::super::yaml::long_form;
    use super::*;

    fn scope() -> Scope {
        Scope {
            parameters: BTreeMap::from([
                ("Stage".to_owned(), json!("prod")),
                ("AWS::Region".to_owned(), json!(REGION)),
            ]),
            references: BTreeMap::from([("Jobs".to_owned(), "https://sqs/jobs".to_owned())]),
            attributes: BTreeMap::from([("Jobs.Arn".to_owned(), "arn:jobs".to_owned())]),
            conditions: BTreeMap::from([
                (
                    "IsProd".to_owned(),
                    json!({"Fn::Equals": [{"Ref": "Stage"}, "prod"]}),
                ),
                (
                    "IsTest".to_owned(),
                    json!({"Fn::Not": [{"Condition": "IsProd"}]}),
                ),
            ]),
        }
    }

    fn resolved(text: &str) -> Value {
        scope()
            .resolve(&long_form(serde_yaml_ng::from_str(text).unwrap()).unwrap())
            .unwrap()
    }

    #[test]
    fn short_and_long_forms_mean_the_same() {
        for text in ["a: !Ref Jobs", "a: {Ref: Jobs}"] {
            assert_eq!(resolved(text), json!({"a": "https://sqs/jobs"}));
        }
        for text in ["a: !GetAtt Jobs.Arn", "a: {Fn::GetAtt: [Jobs, Arn]}"] {
            assert_eq!(resolved(text), json!({"a": "arn:jobs"}));
        }
    }

    #[test]
    fn sub_knows_names_attributes_its_own_variables_and_literals() {
        let text = "a: !Sub ['${Jobs.Arn}/${AWS::Region}/${x}/${!y}', {x: !Ref Stage}]";
        assert_eq!(resolved(text), json!({"a": "arn:jobs/eu-west-2/prod/${y}"}));
    }

    #[test]
    fn if_chooses_and_no_value_removes() {
        let text = "a: !If [IsProd, 1, 2]\nb: !If [IsTest, 1, !Ref AWS::NoValue]\nc: [!If [IsTest, 1, !Ref 'AWS::NoValue'], 2]";
        assert_eq!(resolved(text), json!({"a": 1, "c": [2]}));
    }

    #[test]
    fn join_select_and_split_work_on_lists() {
        assert_eq!(resolved("!Join ['-', [a, !Ref Stage]]"), json!("a-prod"));
        assert_eq!(resolved("!Select [1, !Split [',', 'a,b']]"), json!("b"));
    }

    #[test]
    fn a_name_that_stands_for_nothing_is_an_error() {
        let document = long_form(serde_yaml_ng::from_str("!Ref Nobody").unwrap()).unwrap();
        assert!(
            scope()
                .resolve(&document)
                .unwrap_err()
                .to_string()
                .contains("Nobody")
        );
    }

    #[test]
    fn a_statement_with_a_condition_block_is_not_a_condition() {
        let value = json!({"Condition": {"StringEquals": {"a": "b"}}});
        assert_eq!(scope().resolve(&value).unwrap(), value);
    }
}
