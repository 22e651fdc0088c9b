//! What operators and deployments do to the fleet, and what is done to its queues and tables from outside.

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;

use super::{POISON, World, nth_of};
use crate::action::System;
use crate::kinds::Kind;

/// Whatever a table's stream brings has it, and nothing else does.
const OF_A_STREAM: &str = "\"NewImage\"";

impl World {
    pub(super) fn resend_event(&self, nth: u32) -> String {
        let snapshot = self.fleet.sandbox.snapshot().unwrap_or_default();
        let events = snapshot["webhooks"]["events"].as_object();
        let ids: Vec<&String> = events
            .into_iter()
            .flat_map(|events| events.keys())
            .collect();
        match nth_of(&ids, nth) {
            Some(id) => self.control(&format!("events/{id}/resend"), &json!({})),
            None => "no event yet".to_owned(),
        }
    }

    pub(super) fn rotate_secret(&mut self) -> String {
        if !self.weather.has(Kind::SecretRotation) {
            return "not in this life".to_owned();
        }
        self.secrets += 1;
        *self.faults.entry(Kind::SecretRotation).or_default() += 1;
        // The provider is told at the next change, or at the end: until then it signs with the old one.
        self.tell_provider_the_secret();
        let secret = format!("whsec_simulated_{}", self.secrets);
        self.fleet.expect_signing_secret(self.webhook(), &secret);
        self.untold_secret = Some(secret);
        "rotated".to_owned()
    }

    pub(super) fn break_relay(&self) -> String {
        if !self.weather.has(Kind::BadDeploy) {
            return "not in this life".to_owned();
        }
        let relay = match self.system {
            System::Booking => "bdc-relay",
            System::Dunning => "dunr-relay",
        };
        self.fleet.cloud.break_function(relay, OF_A_STREAM);
        format!("{relay} is broken")
    }

    fn webhook(&self) -> &'static str {
        match self.system {
            System::Booking => "bdc-webhook",
            System::Dunning => "dunr-webhook",
        }
    }

    pub(super) fn tell_provider_the_secret(&mut self) {
        if let Some(secret) = self.untold_secret.take() {
            let secrets = vec![secret];
            match self.system {
                System::Booking => self.fleet.sandbox.set_signing_secrets(secrets),
                System::Dunning => {
                    self.fleet
                        .sandbox
                        .set_endpoint_secrets(self.webhook(), secrets);
                }
            }
        }
    }

    pub(super) async fn sweep(&self, nth: u32) -> String {
        let functions: &[&str] = match self.system {
            System::Booking => &[
                "bdc-release-sweep",
                "bdc-settle-sweep",
                "bdc-cashier",
                "bdc-relay",
            ],
            System::Dunning => &["dunr-sweep", "dunr-relay", "dunr-summary"],
        };
        match nth_of(functions, nth) {
            Some(function) => self.invoke(function).await,
            None => String::new(),
        }
    }

    /// Puts a message into a queue that no consumer can read.
    pub(super) async fn poison(&self) -> String {
        let (queue, sqs) = (
            "bdc-jobs",
            lambda_kit::client!(aws_sdk_sqs, &self.fleet.cloud.operator()),
        );
        let url = sqs.get_queue_url().queue_name(queue).send().await;
        let Some(url) = url.ok().and_then(|found| found.queue_url) else {
            return "there is no such queue".to_owned();
        };
        let sent = sqs
            .send_message()
            .queue_url(url)
            .message_body(POISON)
            .send()
            .await;
        format!("{queue}: {}", sent.is_ok())
    }

    /// Puts a row that is no booking among those that are due, before all others.
    #[expect(
        clippy::disallowed_methods,
        reason = "a row that core would never write is what this is for"
    )]
    pub(super) async fn bad_row(&self) -> String {
        if self.system != System::Booking {
            return "not in dunning".to_owned();
        }
        let text = |it: &str| AttributeValue::S(it.to_owned());
        let put = self.fleet.cloud.dynamodb().put_item();
        let put = put
            .table_name("bdc-bookings")
            .item("booking_id", text("bkg_unreadable"))
            .item("state_shard", text("PENDING#0"))
            .item("due_at", text("2026-01-01T00:00:00Z"))
            .send()
            .await;
        format!("a bad row: {}", put.is_ok())
    }

    /// Runs the sweep of a function now.
    pub(super) async fn invoke(&self, function: &str) -> String {
        match self
            .fleet
            .cloud
            .invoke(function, json!({"kind": "sweep"}))
            .await
        {
            Ok(_) => format!("{function} ran"),
            Err(error) => format!("{function}: {error}"),
        }
    }
}
