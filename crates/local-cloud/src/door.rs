//! The door for those who call AWS from outside the process, as a principal with one policy.

use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use bytes::Bytes;
use http::{Request, Response, StatusCode};

use crate::LocalCloud;
use crate::cloud::Cloud;
use crate::iam::{Access, Used};
use crate::router::Router;
use crate::services;
use crate::wire::{Answer, AwsRequest};

impl LocalCloud {
    /// The configuration of whoever has one of the template's managed policies, for any SDK client.
    pub fn principal(&self, policy: &str) -> SdkConfig {
        let router = Router::of_principal(&self.0, policy);
        self.0.sdk_config("operator", router)
    }

    /// `action resource` of what such a policy allows and no call has used yet.
    pub fn unused_of(&self, policy: &str) -> Vec<String> {
        let used = self.0.meter.used(policy);
        let role = self.0.stack.policies.get(policy).cloned();
        let allowed = role.unwrap_or_default().allowed().into_iter();
        let unused = allowed.filter(|pair| !used.contains(pair));
        unused
            .map(|(action, resource)| format!("{action} {resource}"))
            .collect()
    }

    /// Answers a request of an AWS SDK or the AWS CLI. Any credentials will do, and they give what
    /// the template's managed policies of these names allow; the signature names the service.
    pub fn call_aws(&self, policies: &[&str], request: Request<Bytes>) -> Response<Bytes> {
        let read = HttpRequest::try_from(request.map(SdkBody::from))
            .ok()
            .and_then(|request| AwsRequest::read(&request));
        match read {
            Some(request) => plain(answer(&self.0, policies, &request).into_response()),
            None => {
                let mut refusal = Response::new(Bytes::from_static(
                    br#"{"__type":"MissingAuthenticationTokenException","message":"This is for AWS SDKs: the request is not signed."}"#,
                ));
                *refusal.status_mut() = StatusCode::FORBIDDEN;
                refusal
            }
        }
    }
}

/// Performs what one of the policies allows.
pub(crate) fn answer(cloud: &Cloud, policies: &[&str], request: &AwsRequest) -> Answer {
    let Some(needs) = services::needs(cloud, request) else {
        return request.unknown_operation();
    };
    let mut used = Vec::new();
    for access in &needs {
        match checked(cloud, policies, access) {
            Ok(allowed) => used.push(allowed),
            Err(reason) => {
                let resource = access.resources.first().map_or("", String::as_str);
                let action = &access.action;
                let sentence = format!(
                    "User: operator is not authorized to perform: {action} on resource: {resource} {reason}"
                );
                return request.denied(&sentence);
            }
        }
    }
    for (policy, pairs) in used {
        cloud.meter.use_permissions(policy, pairs);
    }
    services::perform(cloud, "operator", request)
}

/// The policy that allows it, with what it needs of it; or why the last of them does not.
fn checked<'a>(
    cloud: &Cloud,
    policies: &[&'a str],
    access: &Access,
) -> Result<(&'a str, Vec<Used>), String> {
    let mut reason = "because there is no policy".to_owned();
    for policy in policies {
        let role = cloud.stack.policies.get(*policy).cloned();
        match role.unwrap_or_default().check(access) {
            Ok(pairs) => return Ok((policy, pairs)),
            Err(why) => reason = why,
        }
    }
    Err(reason)
}

fn plain(response: HttpResponse) -> Response<Bytes> {
    let status = response.status().as_u16();
    let body = response.body().bytes().unwrap_or_default();
    let mut plain = Response::new(Bytes::copy_from_slice(body));
    *plain.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    for (name, value) in response.headers() {
        if let (Ok(name), Ok(value)) = (
            http::HeaderName::from_bytes(name.as_bytes()),
            http::HeaderValue::from_str(value),
        ) {
            plain.headers_mut().append(name, value);
        }
    }
    plain
}
