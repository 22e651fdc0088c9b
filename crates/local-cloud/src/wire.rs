//! AWS's wire protocols: which operation a request asks for, and what answers and errors look like.

use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use serde_json::{Map, Value, json};

/// A request to AWS, read.
#[derive(Clone, Debug)]
pub(crate) struct AwsRequest {
    /// The signing name: `dynamodb`, `sqs`, `secretsmanager`, `sns`, `ses`, `bedrock`, …
    pub(crate) service: String,
    pub(crate) operation: String,
    /// The JSON body, or the form of the query protocol as an object of texts.
    pub(crate) body: Value,
    /// What a REST path names, such as the model.
    pub(crate) path_name: String,
    /// Which attempt of the SDK this is, from 1.
    pub(crate) attempt: u32,
    protocol: Protocol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Json,
    Query,
    Rest,
}

/// An answer in the making.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// The error's code; `None` is success.
    pub(crate) error: Option<String>,
    pub(crate) units: Option<f64>,
    pub(crate) protocol: Protocol,
}

impl AwsRequest {
    /// Reads a signed request; `None` when it is not for AWS.
    pub(crate) fn read(request: &HttpRequest) -> Option<Self> {
        let header = |name: &str| request.headers().get(name);
        let service = signing_name(header("authorization")?)?.to_owned();
        let bytes = request.body().bytes().unwrap_or_default();
        let path = path_of(request.uri());
        let (protocol, operation, body, path_name) = if let Some(target) = header("x-amz-target") {
            let operation = target.rsplit('.').next().unwrap_or(target).to_owned();
            (
                Protocol::Json,
                operation,
                json_or_null(bytes),
                String::new(),
            )
        } else if header("content-type")
            .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
        {
            let form = form(bytes);
            let operation = form["Action"].as_str().unwrap_or_default().to_owned();
            (Protocol::Query, operation, form, String::new())
        } else {
            let (operation, name) = rest_operation(&service, request.method(), path);
            (Protocol::Rest, operation, json_or_null(bytes), name)
        };
        Some(Self {
            service,
            operation,
            body,
            path_name,
            attempt: header("amz-sdk-request").and_then(attempt).unwrap_or(1),
            protocol,
        })
    }

    /// Answers with a JSON value.
    pub(crate) fn answer(&self, body: &Value) -> Answer {
        self.answer_text(body.to_string())
    }

    /// Answers with a body that is already written.
    pub(crate) fn answer_text(&self, body: String) -> Answer {
        Answer {
            status: 200,
            body,
            error: None,
            units: None,
            protocol: self.protocol,
        }
    }

    /// Answers the query protocol's XML around `result`.
    pub(crate) fn answer_xml(&self, result: &str) -> Answer {
        let operation = &self.operation;
        self.answer_text(format!(
            "<{operation}Response><{operation}Result>{result}</{operation}Result>\
             <ResponseMetadata><RequestId>local</RequestId></ResponseMetadata></{operation}Response>"
        ))
    }

    /// Answers an error in the protocol's shape.
    pub(crate) fn error(&self, status: u16, code: &str, message: &str) -> Answer {
        let body = match self.protocol {
            Protocol::Json => json!({"__type": code, "message": message}).to_string(),
            Protocol::Rest => json!({ "message": message }).to_string(),
            Protocol::Query => format!(
                "<ErrorResponse><Error><Type>{}</Type><Code>{code}</Code><Message>{}</Message></Error>\
                 <RequestId>local</RequestId></ErrorResponse>",
                if status < 500 { "Sender" } else { "Receiver" },
                xml_text(message),
            ),
        };
        Answer {
            status,
            body,
            error: Some(code.to_owned()),
            units: None,
            protocol: self.protocol,
        }
    }

    /// The error for what is not played here.
    pub(crate) fn unknown_operation(&self) -> Answer {
        let message = format!(
            "the local cloud does not play {} of {}",
            self.operation, self.service
        );
        self.error(400, "UnknownOperationException", &message)
    }
}

impl Answer {
    pub(crate) fn into_response(self) -> HttpResponse {
        let kind = match self.protocol {
            Protocol::Json => "application/x-amz-json-1.0",
            Protocol::Query => "text/xml",
            Protocol::Rest => "application/json",
        };
        let status = self
            .status
            .try_into()
            .unwrap_or_else(|_| internal_error_status());
        let mut response = HttpResponse::new(status, SdkBody::from(self.body));
        response.headers_mut().insert("content-type", kind);
        response.headers_mut().insert("x-amzn-requestid", "local");
        match (self.protocol, self.error) {
            (Protocol::Rest, Some(code)) => {
                response.headers_mut().insert("x-amzn-errortype", code);
            }
            (Protocol::Json, Some(code)) => {
                if let Some(code) = query_code(&code) {
                    response.headers_mut().insert("x-amzn-query-error", code);
                }
            }
            (Protocol::Query, _) | (_, None) => {}
        }
        response
    }
}

/// SQS also tells the code that its older protocol had, and the SDK reads that one.
fn query_code(code: &str) -> Option<String> {
    let code = code.strip_prefix("com.amazonaws.sqs#")?;
    let old = match code {
        "QueueDoesNotExist" => "AWS.SimpleQueueService.NonExistentQueue",
        "BatchEntryIdsNotDistinct" => "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
        "BatchRequestTooLong" => "AWS.SimpleQueueService.BatchRequestTooLong",
        "EmptyBatchRequest" => "AWS.SimpleQueueService.EmptyBatchRequest",
        "TooManyEntriesInBatchRequest" => "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
        same => same,
    };
    Some(format!("{old};Sender"))
}

fn internal_error_status() -> aws_smithy_runtime_api::http::StatusCode {
    http::StatusCode::INTERNAL_SERVER_ERROR.into()
}

/// The service in `AWS4-HMAC-SHA256 Credential=key/date/region/service/aws4_request, …`.
fn signing_name(authorization: &str) -> Option<&str> {
    let (_, scope) = authorization.split_once("Credential=")?;
    let scope = scope.split([',', ' ']).next()?;
    scope.rsplit('/').nth(1)
}

/// `attempt=2; max=3`.
fn attempt(header: &str) -> Option<u32> {
    let part = header
        .split(';')
        .find_map(|part| part.trim().strip_prefix("attempt="))?;
    part.parse().ok()
}

/// The path and query of a URI.
pub(crate) fn path_of(uri: &str) -> &str {
    let after_scheme = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    after_scheme
        .find('/')
        .map_or("/", |start| &after_scheme[start..])
}

fn rest_operation(service: &str, method: &str, path: &str) -> (String, String) {
    let path = path.split('?').next().unwrap_or(path);
    let parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(percent_decoded)
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (service, method, parts.as_slice()) {
        ("ses", "POST", ["v2", "email", "outbound-emails"]) => {
            ("SendEmail".to_owned(), String::new())
        }
        ("bedrock", "POST", ["model", model, "converse"]) => {
            ("Converse".to_owned(), (*model).to_owned())
        }
        _ => (format!("{method} {path}"), String::new()),
    }
}

fn percent_decoded(part: &str) -> String {
    // A plus sign in a path is itself.
    let part = part.replace('+', "%2B");
    form_urlencoded::parse(part.as_bytes())
        .next()
        .map_or(part.clone(), |(name, _)| name.into_owned())
}

fn json_or_null(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or(Value::Null)
}

fn form(bytes: &[u8]) -> Value {
    let pairs = form_urlencoded::parse(bytes);
    let pairs: Map<String, Value> = pairs
        .map(|(name, value)| (name.into_owned(), json!(value)))
        .collect();
    Value::Object(pairs)
}

pub(crate) fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_of_the_signature_names_the_service() {
        let header = "AWS4-HMAC-SHA256 Credential=bdc-intake/20270101/eu-west-2/dynamodb/aws4_request, SignedHeaders=host, Signature=0";
        assert_eq!(signing_name(header), Some("dynamodb"));
        assert_eq!(signing_name("Bearer rk_test"), None);
    }

    #[test]
    fn a_rest_path_names_its_operation_and_model() {
        let path = path_of(
            "https://bedrock-runtime.eu-west-2.amazonaws.com/model/eu.anthropic.claude%3A0/converse",
        );
        let expected = ("Converse".to_owned(), "eu.anthropic.claude:0".to_owned());
        assert_eq!(rest_operation("bedrock", "POST", path), expected);
        assert_eq!(
            rest_operation("ses", "GET", "/v2/email/x").0,
            "GET /v2/email/x"
        );
    }

    #[test]
    fn the_sdk_tells_which_attempt_it_makes() {
        assert_eq!(attempt("attempt=2; max=3"), Some(2));
        assert_eq!(attempt("ttl=x; attempt=1"), Some(1));
    }
}
