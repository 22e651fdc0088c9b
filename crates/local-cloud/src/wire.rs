//! AWS's wire protocols: which operation a request asks for, and what answers and errors look like.

use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::rest::{self, RestCall};

/// A request to AWS, read.
#[derive(Clone, Debug)]
pub(crate) struct AwsRequest {
    /// The signing name: `dynamodb`, `sqs`, `secretsmanager`, `sns`, `ses`, `bedrock`, `scheduler`,
    /// `s3`, …
    pub(crate) service: String,
    pub(crate) operation: String,
    /// The JSON body, or the form of the query protocol as an object of texts.
    pub(crate) body: Value,
    /// What a REST path names, such as the model; `bucket/key` of S3.
    pub(crate) path_name: String,
    /// What a REST call says beside its path; empty in the other protocols.
    pub(crate) rest: RestCall,
    /// Which attempt of the SDK this is, from 1.
    pub(crate) attempt: u32,
    protocol: Protocol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Json,
    Query,
    Rest,
    /// REST with bytes for bodies and XML for lists and errors, as S3 has it.
    RestXml,
}

/// An answer in the making.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
    /// Beside the content type.
    pub(crate) headers: Vec<(String, String)>,
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
        let mut rest = RestCall::default();
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
            && service != "s3"
        {
            let form = form(bytes);
            let operation = form["Action"].as_str().unwrap_or_default().to_owned();
            (Protocol::Query, operation, form, String::new())
        } else {
            rest = RestCall::read(request);
            let (operation, name) = rest::operation(&service, request.method(), &rest);
            match service.as_str() {
                "s3" => (Protocol::RestXml, operation, Value::Null, name),
                _ => (Protocol::Rest, operation, json_or_null(bytes), name),
            }
        };
        Some(Self {
            service,
            operation,
            body,
            path_name,
            rest,
            attempt: header("amz-sdk-request").and_then(attempt).unwrap_or(1),
            protocol,
        })
    }

    /// Answers with a JSON value.
    pub(crate) fn answer(&self, body: &Value) -> Answer {
        self.answer_text(body.to_string())
    }

    /// Answers with a body that is already written.
    pub(crate) fn answer_text(&self, body: impl Into<Bytes>) -> Answer {
        Answer {
            status: 200,
            body: body.into(),
            headers: Vec::new(),
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
            // Some services read the one, some the other.
            Protocol::Rest => json!({"message": message, "Message": message}).to_string(),
            // An answer to HEAD has no body.
            Protocol::RestXml if self.operation.starts_with("Head") => String::new(),
            Protocol::RestXml => format!(
                "<Error><Code>{code}</Code><Message>{}</Message><Resource>/{}</Resource>\
                 <RequestId>local</RequestId></Error>",
                xml_text(message),
                xml_text(&self.path_name),
            ),
            Protocol::Query => format!(
                "<ErrorResponse><Error><Type>{}</Type><Code>{code}</Code><Message>{}</Message></Error>\
                 <RequestId>local</RequestId></ErrorResponse>",
                if status < 500 { "Sender" } else { "Receiver" },
                xml_text(message),
            ),
        };
        Answer {
            status,
            body: body.into(),
            headers: Vec::new(),
            error: Some(code.to_owned()),
            units: None,
            protocol: self.protocol,
        }
    }

    /// The error for what a role does not allow.
    pub(crate) fn denied(&self, sentence: &str) -> Answer {
        match self.protocol {
            Protocol::RestXml => self.error(403, "AccessDenied", sentence),
            Protocol::Json | Protocol::Query | Protocol::Rest => {
                self.error(400, "AccessDeniedException", sentence)
            }
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
            Protocol::RestXml => "application/xml",
        };
        let status = self
            .status
            .try_into()
            .unwrap_or_else(|_| internal_error_status());
        let mut response = HttpResponse::new(status, SdkBody::from(self.body));
        response.headers_mut().insert("content-type", kind);
        response.headers_mut().insert("x-amzn-requestid", "local");
        for (name, value) in self.headers {
            response.headers_mut().insert(name, value);
        }
        match (self.protocol, self.error) {
            (Protocol::Rest, Some(code)) => {
                response.headers_mut().insert("x-amzn-errortype", code);
            }
            (Protocol::Json, Some(code)) => {
                if let Some(code) = query_code(&code) {
                    response.headers_mut().insert("x-amzn-query-error", code);
                }
            }
            (Protocol::Query | Protocol::RestXml, _) | (_, None) => {}
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
        "InvalidBatchEntryId" => "AWS.SimpleQueueService.InvalidBatchEntryId",
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
    fn the_sdk_tells_which_attempt_it_makes() {
        assert_eq!(attempt("attempt=2; max=3"), Some(2));
        assert_eq!(attempt("ttl=x; attempt=1"), Some(1));
    }
}
