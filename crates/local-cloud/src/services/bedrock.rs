//! Bedrock's Converse: answers from a script, or a fixed wording of the facts it was given.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::iam::Access;
use crate::template::{ACCOUNT, REGION};
use crate::wire::{Answer, AwsRequest};

/// Where the European profiles may send a call.
const EUROPE: [&str; 7] = [
    "eu-central-1",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
];

/// What the model does with the next call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelAnswer {
    Text(String),
    /// The model took too long.
    TimeOut,
    /// Too many requests: the same answer for each attempt of the call.
    Throttled,
    /// The model would not write this.
    Refused,
}

/// The answers to come. An answer is for one call, however often the SDK tries.
#[derive(Debug, Default)]
pub(crate) struct Script {
    next: VecDeque<ModelAnswer>,
    last: Option<ModelAnswer>,
}

impl Script {
    pub(crate) fn add(&mut self, answers: Vec<ModelAnswer>) {
        self.next.extend(answers);
    }

    fn take(&mut self, attempt: u32) -> Option<ModelAnswer> {
        if attempt <= 1 {
            self.last = self.next.pop_front();
        }
        self.last.clone()
    }
}

pub(super) fn needs(request: &AwsRequest) -> Option<Vec<Access>> {
    if request.operation != "Converse" {
        return None;
    }
    let model = &request.path_name;
    let invoke = |resources: Vec<String>| Access {
        resources,
        ..Access::new("bedrock:InvokeModel", "")
    };
    let bare = model.rsplit('/').next().unwrap_or(model);
    Some(match bare.split_once('.') {
        // Through a profile, the profile and the model behind it must be allowed.
        Some(("global", base)) => vec![
            invoke(vec![profile(bare)]),
            // The model here, and the model in any region, whose ARN names none.
            invoke(models(&[REGION], base)),
            invoke(models(&[""], base)),
        ],
        Some(("eu", base)) => vec![invoke(vec![profile(bare)]), invoke(models(&EUROPE, base))],
        Some(_) | None => vec![invoke(models(&[REGION], bare))],
    })
}

fn profile(name: &str) -> String {
    format!("arn:aws:bedrock:{REGION}:{ACCOUNT}:inference-profile/{name}")
}

fn models(regions: &[&str], model: &str) -> Vec<String> {
    let arn = |region: &&str| format!("arn:aws:bedrock:{region}::foundation-model/{model}");
    regions.iter().map(arn).collect()
}

pub(super) fn perform(cloud: &Cloud, request: &AwsRequest) -> Answer {
    match cloud.next_model_answer(|script| script.take(request.attempt)) {
        Some(ModelAnswer::Text(text)) => said(request, &text, "end_turn"),
        Some(ModelAnswer::Refused) => said(request, "I can't help with that.", "content_filtered"),
        Some(ModelAnswer::TimeOut) => request.error(
            408,
            "ModelTimeoutException",
            "The request took too long to process.",
        ),
        Some(ModelAnswer::Throttled) => super::throttled(request),
        None => said(request, &default_wording(&request.body), "end_turn"),
    }
}

fn said(request: &AwsRequest, text: &str, stop_reason: &str) -> Answer {
    let tokens = |text: &str| text.len().div_ceil(4);
    let (input, output) = (tokens(&request.body.to_string()), tokens(text));
    request.answer(&json!({
        "output": {"message": {"role": "assistant", "content": [{ "text": text }]}},
        "stopReason": stop_reason,
        "usage": {"inputTokens": input, "outputTokens": output, "totalTokens": input.saturating_add(output)},
        "metrics": {"latencyMs": 1},
    }))
}

/// The plain wording that the caller sent among its facts, and a wish.
fn default_wording(body: &Value) -> String {
    let mut messages = body["messages"].as_array().into_iter().flatten();
    let user = messages.rfind(|message| message["role"] == "user");
    let parts = user
        .and_then(|message| message["content"].as_array())
        .into_iter()
        .flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    let plain = texts
        .iter()
        .find_map(|text| plain_wording(text))
        .unwrap_or_default();
    format!("{plain} Best wishes!").trim_start().to_owned()
}

/// The string `plain` of the first JSON object in a text that has one.
fn plain_wording(text: &str) -> Option<String> {
    text.match_indices('{').find_map(|(start, _)| {
        let mut objects = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let object = objects.next()?.ok()?;
        object["plain"].as_str().map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_answer_repeats_the_plain_wording_with_a_wish() {
        let text = r#"Facts {not json}: {"kind": "reminder", "plain": "Your table is at 20:00."} Write it."#;
        let body = json!({"messages": [{"role": "user", "content": [{ "text": text }]}]});
        assert_eq!(
            default_wording(&body),
            "Your table is at 20:00. Best wishes!"
        );
    }

    #[test]
    fn an_answer_serves_all_attempts_of_its_call() {
        let mut script = Script::default();
        script.add(vec![ModelAnswer::Throttled, ModelAnswer::Refused]);
        let taken = [
            script.take(1),
            script.take(2),
            script.take(1),
            script.take(1),
        ];
        let expected = [
            Some(ModelAnswer::Throttled),
            Some(ModelAnswer::Throttled),
            Some(ModelAnswer::Refused),
            None,
        ];
        assert_eq!(taken, expected);
    }
}
