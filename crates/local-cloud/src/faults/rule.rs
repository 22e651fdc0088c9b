//! A rule of the plan of faults.

use serde::{Deserialize, Serialize};

use super::FaultKind;
use crate::iam::matches;

/// A rule of the plan: the `nth` call that matches, and the `times - 1` after it, go wrong.
///
/// Each attempt that the SDK makes is a call of its own. A call that the fault can't happen to
/// ([`FaultKind::fits`]) matches no rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultRule {
    /// The calling function; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// An operation (`TransactWriteItems`), a service (`sns`), or a neighbour's
    /// `POST /v1/checkout/sessions`, where `*` stands for anything; any call when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Counts from 1.
    #[serde(default = "one")]
    pub nth: u32,
    #[serde(default = "one")]
    pub times: u32,
    pub fault: FaultKind,
}

fn one() -> u32 {
    1
}

impl FaultRule {
    /// The first matching call of `function` to `operation` goes wrong, once.
    pub fn once(function: &str, operation: &str, fault: FaultKind) -> Self {
        Self {
            function: Some(function.to_owned()),
            operation: Some(operation.to_owned()),
            nth: 1,
            times: 1,
            fault,
        }
    }

    #[must_use]
    pub fn nth(self, nth: u32) -> Self {
        Self { nth, ..self }
    }

    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    /// The number of the last call that goes wrong.
    pub(super) fn last(&self) -> u32 {
        self.nth.saturating_add(self.times).saturating_sub(1)
    }

    pub(super) fn matches(&self, function: &str, service: &str, operation: &str) -> bool {
        let function_fits = self
            .function
            .as_deref()
            .is_none_or(|wanted| wanted == function);
        let operation_fits = |wanted: &str| matches(wanted, operation) || wanted == service;
        function_fits
            && self.operation.as_deref().is_none_or(operation_fits)
            && self.fault.can_be_planned(service, operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_from_json_with_its_defaults() {
        let rule: FaultRule =
            serde_json::from_str(r#"{"operation": "Publish", "fault": "answer_lost"}"#).unwrap();
        assert_eq!(
            (rule.nth, rule.times, rule.fault),
            (1, 1, FaultKind::AnswerLost)
        );
    }

    #[test]
    fn a_rule_passes_over_calls_that_its_fault_cannot_happen_to() {
        let late = FaultRule::once("f", "dynamodb", FaultKind::Late);
        assert!(!late.matches("f", "dynamodb", "GetItem"));
        assert!(late.matches("f", "dynamodb", "PutItem"));
    }
}
