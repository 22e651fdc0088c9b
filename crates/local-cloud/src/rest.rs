//! REST calls: which operation a method and a path ask for, and what else such a call says.

use std::collections::BTreeMap;

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use bytes::Bytes;

/// What a REST call says.
#[derive(Clone, Debug, Default)]
pub(crate) struct RestCall {
    pub(crate) host: String,
    /// As sent: its parts are still percent-encoded.
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    /// By their names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) bytes: Bytes,
}

impl RestCall {
    pub(crate) fn read(request: &HttpRequest) -> Self {
        let after_scheme = request.uri().split_once("://").map(|(_, rest)| rest);
        let (host, path_and_query) = match after_scheme {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => (
                request.headers().get("host").unwrap_or_default(),
                request.uri(),
            ),
        };
        let (path, query) = path_and_query
            .split_once('?')
            .unwrap_or((path_and_query, ""));
        let query = form_urlencoded::parse(query.as_bytes());
        let headers = request.headers().iter();
        Self {
            host: host.to_owned(),
            path: path.to_owned(),
            query: query.into_owned().collect(),
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect(),
            bytes: Bytes::copy_from_slice(request.body().bytes().unwrap_or_default()),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }
}

/// The operation that a call asks for, and what its path names.
pub(crate) fn operation(service: &str, method: &str, call: &RestCall) -> (String, String) {
    if service == "s3" {
        return s3_operation(method, call);
    }
    let parts: Vec<String> = call
        .path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(percent_decoded)
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let named = |operation: &str, name: &str| (operation.to_owned(), name.to_owned());
    match (service, method, parts.as_slice()) {
        ("ses", "POST", ["v2", "email", "outbound-emails"]) => named("SendEmail", ""),
        ("ses", "GET", ["v2", "email", "account"]) => named("GetAccount", ""),
        ("bedrock", "POST", ["model", model, "converse"]) => named("Converse", model),
        ("scheduler", "POST", ["schedules", name]) => named("CreateSchedule", name),
        ("scheduler", "PUT", ["schedules", name]) => named("UpdateSchedule", name),
        ("scheduler", "GET", ["schedules", name]) => named("GetSchedule", name),
        ("scheduler", "DELETE", ["schedules", name]) => named("DeleteSchedule", name),
        ("scheduler", "GET", ["schedules"]) => named("ListSchedules", ""),
        _ => named(&format!("{method} {}", call.path), ""),
    }
}

/// The bucket is in the host or, in the older style, the first part of the path.
fn s3_operation(method: &str, call: &RestCall) -> (String, String) {
    /// What turns the call into one about something beside the object itself.
    const SUBRESOURCES: [&str; 12] = [
        "acl",
        "attributes",
        "delete",
        "legal-hold",
        "partNumber",
        "policy",
        "retention",
        "select",
        "tagging",
        "torrent",
        "uploads",
        "uploadId",
    ];
    let path = percent_decoded(call.path.strip_prefix('/').unwrap_or(&call.path));
    let path = match bucket_of_host(&call.host) {
        Some(bucket) => format!("{bucket}/{path}"),
        None => path,
    };
    let has_key = path.split_once('/').is_some_and(|(_, key)| !key.is_empty());
    let lists = call.query("list-type") == Some("2");
    let plain = !SUBRESOURCES
        .iter()
        .any(|name| call.query.contains_key(*name));
    let operation = match (method, has_key) {
        ("GET", true) if plain => "GetObject",
        ("HEAD", true) if plain => "HeadObject",
        ("PUT", true) if plain && call.header("x-amz-copy-source").is_none() => "PutObject",
        ("GET", false) if lists => "ListObjectsV2",
        _ => return (format!("{method} {}", call.path), path),
    };
    (operation.to_owned(), path)
}

/// `bucket` of `bucket.s3.eu-west-2.amazonaws.com` or `bucket.localhost:8787`.
fn bucket_of_host(host: &str) -> Option<&str> {
    let name = host.split(':').next().unwrap_or(host);
    if let Some((bucket, _)) = name.split_once(".s3.").or(name.split_once(".s3-")) {
        return Some(bucket);
    }
    name.strip_suffix(".localhost")
}

fn percent_decoded(part: &str) -> String {
    // A plus sign, an ampersand and an equals sign in a path are themselves.
    let part = part
        .replace('+', "%2B")
        .replace('&', "%26")
        .replace('=', "%3D");
    form_urlencoded::parse(part.as_bytes())
        .next()
        .map_or(part.clone(), |(name, _)| name.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(uri: &str) -> RestCall {
        let request = http::Request::get(uri).body(aws_smithy_types::body::SdkBody::empty());
        RestCall::read(&HttpRequest::try_from(request.unwrap()).unwrap())
    }

    #[test]
    fn a_rest_path_names_its_operation_and_model() {
        let call = call(
            "https://bedrock-runtime.eu-west-2.amazonaws.com/model/eu.anthropic.claude%3A0/converse",
        );
        let expected = ("Converse".to_owned(), "eu.anthropic.claude:0".to_owned());
        assert_eq!(operation("bedrock", "POST", &call), expected);
        assert_eq!(
            operation("ses", "GET", &self::call("https://local/v2/email/x")).0,
            "GET /v2/email/x"
        );
    }

    #[test]
    fn a_bucket_is_named_by_the_host_or_by_the_path() {
        for uri in [
            "https://kit.s3.eu-west-2.amazonaws.com/a/b%20c+d%3D.json?x-id=GetObject",
            "https://s3.eu-west-2.amazonaws.com/kit/a/b%20c+d%3D.json",
            "http://kit.localhost:8787/a/b%20c+d=.json",
            "http://127.0.0.1:8787/kit/a/b%20c+d=.json",
        ] {
            let expected = ("GetObject".to_owned(), "kit/a/b c+d=.json".to_owned());
            assert_eq!(operation("s3", "GET", &call(uri)), expected, "{uri}");
        }
        let listed = call("https://kit.s3.eu-west-2.amazonaws.com/?list-type=2&prefix=a%2F");
        assert_eq!(listed.query("prefix"), Some("a/"));
        assert_eq!(operation("s3", "GET", &listed).0, "ListObjectsV2");
        let tags = call("https://kit.s3.eu-west-2.amazonaws.com/a?tagging");
        assert_eq!(operation("s3", "GET", &tags).0, "GET /a");
    }
}
