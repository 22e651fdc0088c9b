//! `paidonce ops explain`: why a subscription stands where it stands.

use std::process::ExitCode;

use clap::Args;

use super::{Failure, aws, exit, now, say};

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The subscription's id at the provider, such as sub_1.
    #[arg(value_name = "SUBSCRIPTION")]
    subscription: String,
}

pub(super) async fn run(arguments: ExplainArguments) -> Result<ExitCode, Failure> {
    let dynamodb = lambda_kit::client!(aws_sdk_dynamodb, &aws().await);
    let id = arguments.subscription.as_str();
    match ops::explain::subscription(&dynamodb, id, now()).await? {
        Some(explained) => {
            say(explained.text.trim_end());
            Ok(exit(!explained.needs_a_person))
        }
        None => {
            say(&format!(
                "{id} never was in dunning: no charge of it failed. Its access is granted."
            ));
            Ok(exit(true))
        }
    }
}
