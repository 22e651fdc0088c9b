//! Who may post events here, and which of them are for this deployment.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Problem, Request, SecretCache, SecretVersions, Setup, count};
use paidonce_core::planted::{self, Defect};
use paidonce_core::signature::{SignatureError, verify};

use crate::event::{Event, train};

/// The largest body that is read, in bytes.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// How the provider's signing secrets start. What stands there before the first real one was set
/// stays the previous version for a while, and is no secret.
const SECRET_PREFIX: &str = "whsec_";

/// What a webhook is deployed for: one mode and one account, with its signing secret.
#[derive(Debug)]
pub struct Door {
    function: &'static str,
    signing: SecretCache,
    livemode: bool,
    account: Option<String>,
    train: String,
}

/// Why a genuine event is none of this deployment's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotForUs {
    WrongMode,
    ForeignAccount,
}

impl NotForUs {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WrongMode => "wrong_mode",
            Self::ForeignAccount => "foreign_account",
        }
    }
}

impl Door {
    /// Reads `SIGNING_SECRET`, `LIVEMODE`, `PROVIDER_API_VERSION` and `PROVIDER_ACCOUNT`; what is
    /// missing is a complaint of the environment. `function` is whose metrics are counted.
    pub fn new(setup: &Setup, function: &'static str) -> Self {
        let environment = &setup.environment;
        Self {
            function,
            signing: SecretCache::new(&setup.aws, environment.text("SIGNING_SECRET")),
            livemode: environment.parsed("LIVEMODE", true),
            account: environment.optional("PROVIDER_ACCOUNT"),
            train: train(&environment.text("PROVIDER_API_VERSION")).to_owned(),
        }
    }

    /// Lets in a request that the provider signed, by the raw bytes and every active secret.
    ///
    /// # Errors
    /// A 405 or a 400 for the sender; our own failure if there is no secret to verify with.
    pub async fn verified(&self, request: &Request, now: DateTime<Utc>) -> Result<(), Failure> {
        if request.method != "POST" {
            return Err(Problem::new(405, "post_only", "Events are posted here.").into());
        }
        // Nobody signs nothing: this costs no look at the secret.
        if request.body.is_empty() {
            return Err(Problem::new(400, "not_an_event", "The body is empty.").into());
        }
        let header = request.header("stripe-signature").unwrap_or_default();
        let secrets = self.signing.get(now).await?;
        let mut verdict = check(header, request, &secrets, now);
        if verdict == Err(SignatureError::Mismatch) {
            // The secret may just have been rolled.
            let secrets = self.signing.refreshed(now).await?;
            verdict = check(header, request, &secrets, now);
        }
        match verdict {
            Ok(()) => Ok(()),
            Err(SignatureError::NoSecret) => Err(Arc::new(SignatureError::NoSecret).into()),
            Err(error) => {
                count(self.function, "signature_fail", 1);
                tracing::warn!(%error, "Refused an event: {error}");
                Err(Problem::new(400, "bad_signature", "The signature does not fit.").into())
            }
        }
    }

    /// Counts an event of another release train: its fields may mean something else.
    pub fn note_train<T, P>(&self, event: &Event<T, P>) {
        if event.train() != Some(&self.train) {
            count(self.function, "api_version_mismatch", 1);
        }
    }

    /// Says why an event is none of this deployment's, if it is not.
    pub fn not_for_us<T, P>(&self, event: &Event<T, P>) -> Option<NotForUs> {
        if event.livemode != self.livemode {
            return Some(NotForUs::WrongMode);
        }
        if event.account.is_some() && event.account != self.account {
            return Some(NotForUs::ForeignAccount);
        }
        None
    }
}

fn check(
    header: &str,
    request: &Request,
    secrets: &SecretVersions,
    now: DateTime<Utc>,
) -> Result<(), SignatureError> {
    let usable = |secret: &&str| secret.starts_with(SECRET_PREFIX);
    let mut secrets: Vec<&str> = secrets.all().filter(usable).collect();
    if planted::is(Defect::PreviousSecretRefused) {
        secrets.truncate(1);
    }
    verify(header, &request.body, &secrets, now).map(|_| ())
}
