//! What an operator keeps in the bucket: templates, the page around them, the brief, the logo.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use aws_sdk_s3::config::retry::{RetryConfig, RetryPartition};
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::error::ProvideErrorMetadata;
use chrono::{DateTime, TimeDelta, Utc};
use copywriter::dunning::Assets;
use lambda_kit::{Function, SdkConfig, count};
use paidonce_core::dunning::mail::MailKind;
use tokio::sync::Mutex;

use crate::Mailer;

/// How long what was read is used before it is read again.
const KEPT_FOR: TimeDelta = TimeDelta::minutes(5);
/// How long the bucket may take with its one retry before the built-in mail goes, in seconds.
const OPERATION_TIMEOUT_S: u64 = 3;
const ATTEMPTS_MAX: u32 = 2;
/// A larger one is no template.
const BYTES_MAX: i64 = 64 * 1024;

pub(crate) struct AssetCache {
    client: Client,
    bucket: String,
    kept: Mutex<BTreeMap<String, Kept>>,
}

struct Kept {
    read_at: DateTime<Utc>,
    /// Nothing if it is not there, or could not be read.
    text: Option<String>,
}

impl AssetCache {
    pub(crate) fn new(aws: &SdkConfig, bucket: String) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_timeout(Duration::from_secs(OPERATION_TIMEOUT_S))
            .build();
        let config = Builder::from(aws)
            .timeout_config(timeouts)
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS_MAX))
            .retry_partition(RetryPartition::custom("assets").build())
            // An emulator has no host for each bucket.
            .force_path_style(true)
            .build();
        Self {
            client: Client::from_conf(config),
            bucket,
            kept: Mutex::default(),
        }
    }

    /// What there is for a kind of mail. Whatever the bucket does, the mail goes out: plainly, if it
    /// must.
    pub(crate) async fn of(&self, kind: MailKind, now: DateTime<Utc>) -> Assets {
        if !kind.is_to_customer() {
            return Assets::default();
        }
        let template = format!("templates/{}.txt", kind.as_str());
        let Ok(template) = self.text(&template, now).await else {
            // The others would take as long to fail.
            return Assets::default();
        };
        let logo_url = self.text("logo.txt", now).await.unwrap_or_default();
        Assets {
            template,
            frame: self
                .text("templates/frame.html", now)
                .await
                .unwrap_or_default(),
            brief: self.text("brief.txt", now).await.unwrap_or_default(),
            logo_url: logo_url
                .map(|url| url.trim().to_owned())
                .filter(|url| url.starts_with("https://")),
        }
    }

    async fn text(&self, key: &str, now: DateTime<Utc>) -> Result<Option<String>, Unreadable> {
        // Held over the call on purpose: a burst of mails reads once.
        let mut kept = self.kept.lock().await;
        if let Some(kept) = kept.get(key)
            && now - kept.read_at < KEPT_FOR
        {
            return Ok(kept.text.clone());
        }
        let text = self.read(key).await.inspect_err(|Unreadable(code)| {
            count(Mailer::NAME, "template_unreadable", 1);
            tracing::warn!(
                key,
                code,
                "`{key}` could not be read: the built-in one goes"
            );
        })?;
        let read_at = now;
        kept.insert(
            key.to_owned(),
            Kept {
                read_at,
                text: text.clone(),
            },
        );
        Ok(text)
    }

    async fn read(&self, key: &str) -> Result<Option<String>, Unreadable> {
        let request = self.client.get_object().bucket(&self.bucket).key(key);
        let object = match request.send().await {
            Ok(object) => object,
            // Without the right to list a bucket, what is not there is denied.
            Err(error) if matches!(error.code(), Some("NoSuchKey" | "AccessDenied")) => {
                return Ok(None);
            }
            Err(error) => return Err(Unreadable(error.code().unwrap_or("no answer").to_owned())),
        };
        if object
            .content_length()
            .is_some_and(|bytes| bytes > BYTES_MAX)
        {
            return Err(Unreadable("too large".to_owned()));
        }
        let body = object.body.collect().await;
        let body = body.map_err(|_| Unreadable("broken off".to_owned()))?;
        let text = String::from_utf8(body.to_vec());
        text.map(Some).map_err(|_| Unreadable("no text".to_owned()))
    }
}

/// Why an object could not be read, as a code.
struct Unreadable(String);
