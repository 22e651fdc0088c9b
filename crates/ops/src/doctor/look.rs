//! Asking AWS and the provider. Whatever does not answer is told as such; nothing is changed.

use std::collections::BTreeMap;

use aws_types::SdkConfig;
use lambda_kit::chain;
use provider::{Answer, Provider, Reason, Secret};

use super::{MailAccount, SECRETS, Seen};

/// How many pages of open invoices are looked at.
const INVOICE_PAGES_MAX: usize = 5;

/// Where to look.
pub struct Sources<'a> {
    pub aws: &'a SdkConfig,
    pub provider: &'a Provider,
    /// A key that may read the account, its endpoints and its invoices.
    pub key: &'a Secret,
}

/// Looks at everything, one after another.
pub async fn look(sources: &Sources<'_>) -> Seen {
    let (provider, key) = (sources.provider, sources.key);
    Seen {
        account: answered(provider.account(key).await),
        endpoints: answered(provider.webhook_endpoints(key).await),
        retried_by_provider: retried(provider, key).await,
        secrets: secrets(sources.aws).await,
        mail: mail(sources.aws).await,
    }
}

fn answered<T>(answer: Answer<T>) -> Result<T, String> {
    match answer {
        Answer::Done(it) => Ok(it),
        // The sentence may repeat what was sent: the code is enough.
        Answer::Refused(refusal) => Err(format!(
            "refused with {}",
            refusal.code.unwrap_or(refusal.kind)
        )),
        Answer::Unknown(doubt) => Err(unanswered(&doubt.reason)),
    }
}

fn unanswered(reason: &Reason) -> String {
    match reason {
        Reason::NoAnswer(why) => format!("no answer: {why}"),
        Reason::InFlight => "the same request is still running".to_owned(),
        Reason::Throttled => "too many requests; try again later".to_owned(),
        Reason::Status(status) => format!("it answered {status}"),
        Reason::Unreadable(why) => format!("its answer can't be read: {why}"),
        Reason::KeyReused => "the key was used for another request".to_owned(),
    }
}

async fn retried(provider: &Provider, key: &Secret) -> Result<Vec<String>, String> {
    let mut retried = Vec::new();
    let mut after: Option<String> = None;
    for _ in 0..INVOICE_PAGES_MAX {
        let page = answered(provider.open_invoices(key, after.as_deref()).await)?;
        let own = page.items.into_iter();
        let own = own
            .filter(|invoice| invoice.attempt_count > 0 && invoice.next_payment_attempt.is_some());
        retried.extend(own.map(|invoice| invoice.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(retried)
}

async fn secrets(aws: &SdkConfig) -> BTreeMap<&'static str, Result<String, String>> {
    let client = lambda_kit::client!(aws_sdk_secretsmanager, aws);
    let mut secrets = BTreeMap::new();
    for name in SECRETS {
        let answer = client.get_secret_value().secret_id(name).send().await;
        let value = answer
            .map(|answer| answer.secret_string.unwrap_or_default())
            .map_err(|error| chain(&error));
        secrets.insert(name, value);
    }
    secrets
}

async fn mail(aws: &SdkConfig) -> Result<MailAccount, String> {
    let answer = lambda_kit::client!(aws_sdk_sesv2, aws)
        .get_account()
        .send()
        .await;
    let account = answer.map_err(|error| chain(&error))?;
    Ok(MailAccount {
        production_access: account.production_access_enabled(),
        sending_enabled: account.sending_enabled(),
    })
}
