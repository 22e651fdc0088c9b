//! A secret's versions, kept for a while: AWSCURRENT and, while a rotation lasts, AWSPREVIOUS.

use std::fmt;

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::SdkError;
use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::Mutex;

/// How long a fetched secret is used before it is fetched again.
const KEPT_FOR: TimeDelta = TimeDelta::minutes(5);
/// How soon an unknown signature may cause another fetch: a flood of garbage must not.
const REFRESHED_AT_MOST_EVERY: TimeDelta = TimeDelta::seconds(30);

/// The active values of one secret, the current one first.
#[derive(Clone)]
pub struct SecretVersions {
    values: Vec<String>,
    /// The version of the current value: this much may be logged.
    pub version_id: String,
}

impl fmt::Debug for SecretVersions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "secret version {}", self.version_id)
    }
}

impl SecretVersions {
    pub fn current(&self) -> &str {
        self.values.first().map_or("", String::as_str)
    }

    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(String::as_str)
    }
}

/// The secret could not be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to read a secret")]
pub struct SecretError(#[source] Box<SdkError<GetSecretValueError>>);

/// One secret of one function.
#[derive(Debug)]
pub struct SecretCache {
    client: Client,
    secret_id: String,
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    read_at: DateTime<Utc>,
    /// When something that did not match last caused a read.
    refreshed_at: Option<DateTime<Utc>>,
    versions: SecretVersions,
}

impl SecretCache {
    pub fn new(aws: &aws_types::SdkConfig, secret_id: String) -> Self {
        Self {
            client: crate::client!(aws_sdk_secretsmanager, aws),
            secret_id,
            kept: Mutex::new(None),
        }
    }

    /// Returns the active versions, from memory if they were read within the last five minutes.
    ///
    /// # Errors
    /// If Secrets Manager did not give the current version.
    pub async fn get(&self, now: DateTime<Utc>) -> Result<SecretVersions, SecretError> {
        // Held over the call on purpose: a burst of requests fetches once.
        let mut kept = self.kept.lock().await;
        if let Some(kept) = &*kept
            && now - kept.read_at < KEPT_FOR
        {
            return Ok(kept.versions.clone());
        }
        let versions = self.fetch().await?;
        let refreshed_at = kept.as_ref().and_then(|kept| kept.refreshed_at);
        *kept = Some(Kept {
            read_at: now,
            refreshed_at,
            versions: versions.clone(),
        });
        Ok(versions)
    }

    /// As [`SecretCache::get`], but gives the versions in memory if Secrets Manager does not answer and
    /// they are not older than `stale_max`.
    ///
    /// # Errors
    /// As [`SecretCache::get`], if there are none that young.
    pub async fn get_or_stale(
        &self,
        now: DateTime<Utc>,
        stale_max: TimeDelta,
    ) -> Result<SecretVersions, SecretError> {
        match self.get(now).await {
            Ok(versions) => Ok(versions),
            Err(error) => match &*self.kept.lock().await {
                Some(kept) if now - kept.read_at <= stale_max => Ok(kept.versions.clone()),
                Some(_) | None => Err(error),
            },
        }
    }

    /// Returns the active versions after something did not match the ones in memory: read anew,
    /// but at most twice a minute, whatever a flood of garbage does.
    ///
    /// # Errors
    /// As [`SecretCache::get`].
    pub async fn refreshed(&self, now: DateTime<Utc>) -> Result<SecretVersions, SecretError> {
        let mut kept = self.kept.lock().await;
        if let Some(kept) = &*kept {
            let just_read = kept.read_at >= now;
            let recently = kept
                .refreshed_at
                .is_some_and(|at| now - at < REFRESHED_AT_MOST_EVERY);
            if just_read || recently {
                return Ok(kept.versions.clone());
            }
        }
        let versions = self.fetch().await?;
        *kept = Some(Kept {
            read_at: now,
            refreshed_at: Some(now),
            versions: versions.clone(),
        });
        Ok(versions)
    }

    async fn fetch(&self) -> Result<SecretVersions, SecretError> {
        let (version_id, current) = self.version("AWSCURRENT").await?.unwrap_or_default();
        let mut values = vec![current];
        if let Some((_, previous)) = self.version("AWSPREVIOUS").await? {
            values.push(previous);
        }
        tracing::debug!(secret.version = %version_id, "Read secret version `{version_id}`");
        Ok(SecretVersions { values, version_id })
    }

    async fn version(&self, stage: &str) -> Result<Option<(String, String)>, SecretError> {
        let answer = self
            .client
            .get_secret_value()
            .secret_id(&self.secret_id)
            .version_stage(stage)
            .send()
            .await;
        match answer {
            Ok(answer) => Ok(Some((
                answer.version_id.unwrap_or_default(),
                answer.secret_string.unwrap_or_default(),
            ))),
            Err(error)
                if stage == "AWSPREVIOUS"
                    && error
                        .as_service_error()
                        .is_some_and(GetSecretValueError::is_resource_not_found_exception) =>
            {
                Ok(None)
            }
            Err(error) => Err(SecretError(Box::new(error))),
        }
    }
}
