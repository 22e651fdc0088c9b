//! Roles: what a function may do, decided as IAM decides it.
//!
//! An explicit deny wins, then an allow; otherwise the answer is no. A condition operator or key
//! that is not known here is refused when the template is read, never ignored.

mod condition;
mod pattern;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use condition::{Condition, condition_from};
pub(crate) use pattern::matches;

/// One thing that a call needs permission for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Access {
    /// `dynamodb:PutItem`, …
    pub(crate) action: String,
    /// The resource's possible ARNs: permission on one of them is enough.
    pub(crate) resources: Vec<String>,
    /// Condition keys of the request, such as `dynamodb:Attributes`.
    pub(crate) context: BTreeMap<String, BTreeSet<String>>,
}

impl Access {
    pub(crate) fn new(action: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            action: action.into(),
            resources: vec![resource.into()],
            context: BTreeMap::new(),
        }
    }
}

/// A statement's action and resource that allowed something.
pub(crate) type Used = (String, String);

/// The statements that allow an access, or why it is denied.
type Decision = Result<Vec<Used>, String>;

/// How many decisions a role remembers.
const DECIDED_MAX: usize = 4_096;

#[derive(Clone, Debug, Default)]
pub(crate) struct Role {
    statements: Vec<Statement>,
    /// What was decided before: the same few accesses are asked for all the time.
    decided: Arc<Mutex<HashMap<Access, Decision>>>,
}

#[derive(Clone, Debug)]
struct Statement {
    allows: bool,
    actions: Vec<String>,
    resources: Vec<String>,
    conditions: Vec<Condition>,
}

impl Role {
    /// Adds the statements of a policy document.
    ///
    /// # Errors
    /// What in the document is not understood.
    pub(crate) fn add(&mut self, document: &Value) -> Result<(), String> {
        for statement in one_or_many(&document["Statement"]) {
            self.statements.push(statement_from(statement)?);
        }
        self.decided = Arc::default();
        Ok(())
    }

    /// Returns the statements that allow `access`, or why it is denied.
    ///
    /// # Errors
    /// A sentence as AWS words it.
    pub(crate) fn check(&self, access: &Access) -> Decision {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(decision) = decided.get(access) {
            return decision.clone();
        }
        let decision = self.decide(access);
        if decided.len() < DECIDED_MAX {
            decided.insert(access.clone(), decision.clone());
        }
        decision
    }

    fn decide(&self, access: &Access) -> Decision {
        let deny = self
            .statements
            .iter()
            .find(|statement| !statement.allows && statement.matches(access));
        if deny.is_some() {
            return Err("with an explicit deny in an identity-based policy".to_owned());
        }
        let allows = self
            .statements
            .iter()
            .filter(|statement| statement.allows && statement.matches(access));
        let used: Vec<Used> = allows
            .flat_map(|statement| statement.used_by(access))
            .collect();
        if used.is_empty() {
            return Err(format!(
                "because no identity-based policy allows the {} action",
                access.action
            ));
        }
        Ok(used)
    }

    /// All pairs of action and resource that the role allows.
    pub(crate) fn allowed(&self) -> BTreeSet<Used> {
        let allows = self.statements.iter().filter(|statement| statement.allows);
        allows.flat_map(Statement::pairs).collect()
    }
}

impl Statement {
    fn matches(&self, access: &Access) -> bool {
        self.actions
            .iter()
            .any(|pattern| action_matches(pattern, &access.action))
            && self.resources.iter().any(|pattern| covers(pattern, access))
            && self
                .conditions
                .iter()
                .all(|condition| condition.holds(access))
    }

    fn used_by(&self, access: &Access) -> Vec<Used> {
        let pairs = self.pairs().into_iter();
        pairs
            .filter(|(action, resource)| {
                action_matches(action, &access.action) && covers(resource, access)
            })
            .collect()
    }

    fn pairs(&self) -> Vec<Used> {
        let mut pairs = Vec::new();
        for action in &self.actions {
            pairs.extend(
                self.resources
                    .iter()
                    .map(|resource| (action.clone(), resource.clone())),
            );
        }
        pairs
    }
}

fn covers(pattern: &str, access: &Access) -> bool {
    access
        .resources
        .iter()
        .any(|resource| matches(pattern, resource))
}

fn action_matches(pattern: &str, action: &str) -> bool {
    matches(&pattern.to_lowercase(), &action.to_lowercase())
}

fn statement_from(statement: &Value) -> Result<Statement, String> {
    for unknown in ["NotAction", "NotResource", "Principal"] {
        if statement.get(unknown).is_some() {
            return Err(format!("a statement with `{unknown}` is not known here"));
        }
    }
    let mut conditions = Vec::new();
    for (operator, keys) in statement["Condition"].as_object().into_iter().flatten() {
        for (key, values) in keys.as_object().into_iter().flatten() {
            conditions.push(condition_from(operator, key, values)?);
        }
    }
    Ok(Statement {
        allows: match statement["Effect"].as_str() {
            Some("Allow") => true,
            Some("Deny") => false,
            other => return Err(format!("a statement's Effect can't be {other:?}")),
        },
        actions: texts(&statement["Action"])?,
        resources: texts(&statement["Resource"])?,
        conditions,
    })
}

pub(crate) fn one_or_many(value: &Value) -> Vec<&Value> {
    match value.as_array() {
        Some(items) => items.iter().collect(),
        None => vec![value],
    }
}

fn texts(value: &Value) -> Result<Vec<String>, String> {
    let text = |value: &Value| {
        value
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("`{value}` should be text"))
    };
    one_or_many(value).into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn role(statements: Value) -> Role {
        let mut role = Role::default();
        role.add(&json!({ "Statement": statements })).unwrap();
        role
    }

    fn touching(action: &str, attributes: &[&str]) -> Access {
        let names = attributes.iter().map(|name| (*name).to_owned()).collect();
        let mut access = Access::new(
            action,
            "arn:aws:dynamodb:eu-west-2:000000000000:table/bookings",
        );
        access
            .context
            .insert("dynamodb:Attributes".to_owned(), names);
        access
    }

    #[test]
    fn nothing_is_allowed_that_is_not_named() {
        let role =
            role(json!({"Effect": "Allow", "Action": ["sqs:SendMessage"], "Resource": "arn:jobs"}));
        assert!(
            role.check(&Access::new("sqs:SendMessage", "arn:jobs"))
                .is_ok()
        );
        assert!(
            role.check(&Access::new("sqs:SendMessage", "arn:other"))
                .is_err()
        );
        assert!(
            role.check(&Access::new("sqs:DeleteMessage", "arn:jobs"))
                .is_err()
        );
    }

    #[test]
    fn a_deny_on_one_attribute_wins_over_the_allow() {
        let table = "arn:aws:dynamodb:eu-west-2:000000000000:table/bookings";
        let role = role(json!([
            {"Effect": "Allow", "Action": "dynamodb:UpdateItem", "Resource": table},
            {"Effect": "Deny", "Action": ["dynamodb:PutItem", "dynamodb:UpdateItem"], "Resource": table,
             "Condition": {"ForAnyValue:StringEquals": {"dynamodb:Attributes": ["payment_ref"]}}}
        ]));
        assert!(
            role.check(&touching("dynamodb:UpdateItem", &["state"]))
                .is_ok()
        );
        let denied = role.check(&touching("dynamodb:UpdateItem", &["state", "payment_ref"]));
        assert!(denied.unwrap_err().contains("explicit deny"));
    }

    #[test]
    fn for_all_values_bounds_what_may_be_touched() {
        let role = role(
            json!({"Effect": "Allow", "Action": "dynamodb:UpdateItem", "Resource": "*",
            "Condition": {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["id", "access"]}}}),
        );
        assert!(
            role.check(&touching("dynamodb:UpdateItem", &["id", "access"]))
                .is_ok()
        );
        assert!(
            role.check(&touching("dynamodb:UpdateItem", &["id", "amount"]))
                .is_err()
        );
    }

    #[test]
    fn wildcards_match_as_iam_does() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("arn:*:table/b?c", "arn:aws:table/bdc", true),
            ("arn:*:table/b?c", "arn:aws:table/bddc", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b", "a-b-c", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn an_unknown_operator_or_key_is_refused_not_ignored() {
        let statement = |condition: Value| json!({"Statement": {"Effect": "Allow", "Action": "a:b", "Resource": "*", "Condition": condition}});
        for condition in [
            json!({"NumericLessThan": {"dynamodb:Select": "1"}}),
            json!({"StringEquals": {"aws:Mystery": "1"}}),
        ] {
            assert!(Role::default().add(&statement(condition)).is_err());
        }
    }
}
