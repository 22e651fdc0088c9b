//! Secrets Manager: GetSecretValue with its versions, and made-up values to start with.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::cloud::Cloud;
use crate::iam::Access;
use crate::template::secret_arn;
use crate::wire::{Answer, AwsRequest};

pub(super) fn needs(cloud: &Cloud, request: &AwsRequest) -> Option<Vec<Access>> {
    if request.operation != "GetSecretValue" {
        return None;
    }
    let wanted = request.body["SecretId"].as_str().unwrap_or_default();
    let arn = name_of(cloud, wanted).map_or_else(|| wanted.to_owned(), |name| secret_arn(&name));
    Some(vec![Access::new("secretsmanager:GetSecretValue", arn)])
}

/// The secret behind a name, an ARN, or an ARN without its six last characters.
fn name_of(cloud: &Cloud, wanted: &str) -> Option<String> {
    let fits = |name: &&String| {
        let arn = secret_arn(name);
        wanted == *name || wanted == arn || Some(wanted) == arn.strip_suffix("-LoCaL1")
    };
    cloud.stack.secrets.iter().find(fits).cloned()
}

pub(super) fn perform(cloud: &Cloud, request: &AwsRequest) -> Answer {
    let missing = |what: &str| {
        let message = format!("Secrets Manager can't find the specified secret{what}.");
        request.error(400, "ResourceNotFoundException", &message)
    };
    let wanted = request.body["SecretId"].as_str().unwrap_or_default();
    let Some(name) = name_of(cloud, wanted) else {
        return missing("");
    };
    let Some(secret) = cloud.store.look(|state| state.secrets.get(&name).cloned()) else {
        return missing("");
    };
    let stage = request.body["VersionStage"].as_str();
    let version_id = request.body["VersionId"].as_str();
    let mut versions = vec![("AWSCURRENT", secret.current)];
    versions.extend(secret.previous.map(|version| ("AWSPREVIOUS", version)));
    let fits = |(own_stage, version): &&(&str, crate::store::SecretVersion)| {
        version_id.is_none_or(|id| id == version.id)
            && stage
                .or(version_id.is_none().then_some("AWSCURRENT"))
                .is_none_or(|stage| stage == *own_stage)
    };
    let Some((stage, version)) = versions.iter().find(fits) else {
        return missing(" value for the version or staging label");
    };
    request.answer(&json!({
        "ARN": secret_arn(&name),
        "Name": name,
        "VersionId": version.id,
        "SecretString": version.value,
        "VersionStages": [stage],
        "CreatedDate": version.created_at.timestamp(),
    }))
}

/// A value that looks like what the secret's name promises, the same on every machine.
pub(crate) fn made_up(name: &str) -> String {
    let digest = Sha256::digest(format!("local secret {name}"));
    let text: String = digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if name.ends_with("-signing-key") {
        format!("whsec_local_{text}")
    } else if name.ends_with("-provider-key") {
        format!("rk_test_local_{text}")
    } else if name.ends_with("-tokens") {
        let (form, staff) = text.split_at(16);
        json!({"sources": {"form": form}, "staff": {"front-of-house": staff}}).to_string()
    } else {
        text
    }
}
