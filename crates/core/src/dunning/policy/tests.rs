use serde_json::json;

use super::*;

mod complaining;
mod retries;

/// The built-in policy, changed.
fn changed(change: impl FnOnce(&mut Value)) -> Result<Policy, Vec<String>> {
    let mut policy = serde_json::from_str(BUILT_IN).unwrap();
    change(&mut policy);
    Policy::from_json(&policy.to_string())
}

/// The built-in terms with some fields changed.
fn terms(fields: &Value) -> Terms {
    let policy = changed(|policy| {
        for (name, value) in fields.as_object().unwrap() {
            policy["terms"][name] = value.clone();
        }
    });
    policy.unwrap().terms
}

#[test]
fn the_built_in_policy_is_valid_and_says_all_that_can_be_said() {
    let policy = Policy::from_json(BUILT_IN).unwrap();
    let written = serde_json::to_value(&policy).unwrap();
    assert_eq!(written, serde_json::from_str::<Value>(BUILT_IN).unwrap());
    assert_eq!(policy.terms.gaps_business_days, [1, 3, 3, 3]);
    assert_eq!(policy.terms.after_cancellation, AfterCancellation::Person);
    assert_eq!(policy.terms.cancelled_invoice, CancelledInvoice::Leave);
    assert_eq!(policy.terms.voided_access, Access::Restore);
    assert_eq!(policy.terms.uncollectible_access, Access::Keep);
}

#[test]
fn terms_are_small_and_a_row_of_a_newer_version_can_be_read() {
    let terms = terms(&json!({}));
    let mut row = serde_json::to_value(&terms).unwrap();
    assert!(row.to_string().len() < 700, "{row}");
    row["payday"] = json!(25);
    row["window"]["lunch"] = json!("12:00");
    assert_eq!(serde_json::from_value::<Terms>(row).unwrap(), terms);
}

#[test]
fn the_address_of_a_business_is_in_no_log() {
    let policy = Policy::from_json(BUILT_IN).unwrap();
    assert!(!format!("{policy:?}").contains("billing@"));
}

#[test]
fn the_policy_of_the_documentation_is_one() {
    let text = include_str!("../../../../../docs/dunning.md");
    let example = text.split("```json").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    assert_eq!(Policy::from_json(example), Policy::from_json(BUILT_IN));
}
