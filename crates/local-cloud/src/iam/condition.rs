//! The condition block of a statement.

use serde_json::Value;

use super::pattern::matches;
use super::{Access, texts};

#[derive(Clone, Debug)]
pub(super) struct Condition {
    quantifier: Quantifier,
    like: bool,
    negated: bool,
    if_exists: bool,
    key: String,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantifier {
    One,
    ForAll,
    ForAny,
}

impl Condition {
    /// Tells whether a request meets the condition.
    pub(super) fn holds(&self, access: &Access) -> bool {
        let values = access
            .context
            .get(&self.key)
            .filter(|values| !values.is_empty());
        let Some(values) = values else {
            // An absent key: "for all" of nothing is true, and so is a negated comparison.
            return self.if_exists || self.quantifier == Quantifier::ForAll || self.negated;
        };
        match self.quantifier {
            Quantifier::ForAll => values.iter().all(|value| self.compares(value)),
            Quantifier::ForAny | Quantifier::One => values.iter().any(|value| self.compares(value)),
        }
    }

    fn compares(&self, value: &str) -> bool {
        let equal = |wanted: &String| {
            if self.like {
                matches(wanted, value)
            } else {
                wanted == value
            }
        };
        self.values.iter().any(equal) != self.negated
    }
}

/// Reads one operator with one key.
///
/// # Errors
/// What is not known here.
pub(super) fn condition_from(
    operator: &str,
    key: &str,
    values: &Value,
) -> Result<Condition, String> {
    const KEYS: [&str; 8] = [
        "dynamodb:Attributes",
        "dynamodb:LeadingKeys",
        "dynamodb:ReturnValues",
        "dynamodb:Select",
        "iam:PassedToService",
        "s3:prefix",
        "ses:FromAddress",
        "secretsmanager:VersionStage",
    ];
    if !KEYS.contains(&key) {
        return Err(format!("condition key `{key}` is not known here"));
    }
    let (quantifier, rest) = match operator.split_once(':') {
        Some(("ForAllValues", rest)) => (Quantifier::ForAll, rest),
        Some(("ForAnyValue", rest)) => (Quantifier::ForAny, rest),
        Some((other, _)) => {
            return Err(format!("condition quantifier `{other}` is not known here"));
        }
        None => (Quantifier::One, operator),
    };
    let (base, if_exists) = match rest.strip_suffix("IfExists") {
        Some(base) => (base, true),
        None => (rest, false),
    };
    let (like, negated) = match base {
        "StringEquals" => (false, false),
        "StringNotEquals" => (false, true),
        "StringLike" => (true, false),
        "StringNotLike" => (true, true),
        other => return Err(format!("condition operator `{other}` is not known here")),
    };
    Ok(Condition {
        quantifier,
        like,
        negated,
        if_exists,
        key: key.to_owned(),
        values: texts(values)?,
    })
}
