//! `/_local/faults`: the plan of faults over HTTP.

use axum::body::Body;
use axum::extract::State;
use axum::routing::{MethodRouter, get};
use lambda_kit::Problem;
use local_cloud::FaultRule;
use serde_json::{Value, json};

use super::Shared;
use super::answer::{Answered, json, read_json};

const FAULT_RULES_MAX: usize = 100;

pub(crate) fn routes() -> MethodRouter<Shared> {
    get(show).post(add).delete(clear)
}

async fn show(State(dev): State<Shared>) -> Answered {
    json(&json!({ "faults": dev.fleet.cloud.faults().rules() }))
}

/// Adds one rule, or the rules of an array: all of them, or none.
async fn add(State(dev): State<Shared>, body: Body) -> Answered {
    let given: Value = read_json(body).await?;
    let given = match given {
        Value::Array(rules) => rules,
        rule @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Object(_)) => vec![rule],
    };
    let plan = dev.fleet.cloud.faults();
    if plan.rules().len() + given.len() > FAULT_RULES_MAX {
        let detail = format!("At most {FAULT_RULES_MAX} rules; DELETE clears them.");
        return Err(Problem::new(422, "too_many_faults", &detail).into());
    }
    let functions = dev.fleet.cloud.functions();
    let rules: Result<Vec<_>, _> = given
        .into_iter()
        .map(|rule| fault_rule(rule, &functions))
        .collect();
    for rule in rules? {
        plan.add(rule);
    }
    show(State(dev)).await
}

fn fault_rule(given: Value, functions: &[String]) -> Result<FaultRule, Problem> {
    let known = ["function", "operation", "nth", "times", "fault"];
    let mut fields = given.as_object().into_iter().flat_map(|rule| rule.keys());
    if let Some(unknown) = fields.find(|field| !known.contains(&field.as_str())) {
        let detail = format!(
            "A rule has no field `{unknown}`; it has {}.",
            known.join(", ")
        );
        return Err(Problem::new(422, "unknown_field", &detail));
    }
    let rule: FaultRule = serde_json::from_value(given).map_err(|error| {
        let detail = format!("The rule does not fit: {error}.");
        Problem::field("fault", "invalid_rule", &detail)
    })?;
    if rule.nth == 0 || rule.times == 0 {
        let detail = "`nth` and `times` count from 1.";
        return Err(Problem::field("nth", "out_of_range", detail));
    }
    match &rule.function {
        Some(function) if !functions.contains(function) => {
            let detail = format!("There is no function `{function}`.");
            Err(Problem::field("function", "unknown_function", &detail))
        }
        Some(_) | None => Ok(rule),
    }
}

async fn clear(State(dev): State<Shared>) -> Answered {
    dev.fleet.cloud.faults().clear();
    show(State(dev)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_of_faults_is_checked() {
        let functions = ["bdc-intake".to_owned()];
        let refused = |rule| fault_rule(rule, &functions).map_err(|problem| problem.code);
        assert!(refused(json!({"operation": "Publish", "fault": "answer_lost"})).is_ok());
        assert_eq!(refused(json!({"fault": "gone"})), Err("invalid_rule"));
        assert_eq!(
            refused(json!({"fault": "slow", "nth": 0})),
            Err("out_of_range")
        );
        assert_eq!(
            refused(json!({"fault": "slow", "functions": "x"})),
            Err("unknown_field")
        );
        assert_eq!(
            refused(json!({"fault": "slow", "function": "x"})),
            Err("unknown_function")
        );
    }
}
