//! Function URL requests and replies, and the problem documents of RFC 9457.
//!
//! The envelope is read here and not by `lambda_http`, whose conversion panics on a body that
//! claims to be base64 and isn't: a panic is a 502, and the provider would send it again for days.
//! Headers are kept as they came, so that two of one name that differ in case are both seen.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Failure;

/// One HTTP request, its body as the bytes that were sent.
#[derive(Clone)]
pub struct Request {
    pub method: String,
    /// Path segments, without empty ones, still percent-encoded.
    pub path: Vec<String>,
    pub body: Bytes,
    pub domain: String,
    headers: Vec<(String, String)>,
    query: Vec<(String, String)>,
}

/// The parts of a Function URL event (payload format 2.0) that we read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    #[serde(default)]
    raw_path: String,
    #[serde(default)]
    raw_query_string: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    request_context: RequestContext,
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestContext {
    #[serde(default)]
    domain_name: String,
    http: HttpContext,
}

#[derive(Deserialize)]
struct HttpContext {
    method: String,
}

// Headers hold tokens and signatures, bodies hold people: neither belongs in a log.
impl fmt::Debug for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} with {} bytes", self.method, self.body.len())
    }
}

impl Request {
    /// Reads a Function URL event (payload format 2.0).
    ///
    /// # Errors
    /// A reply to send: 400 if the body is not the base64 that it claims to be, 413 if it is larger
    /// than `body_bytes_max`. An event that is no Function URL event at all is a [`Failure`].
    pub fn read(event: Value, body_bytes_max: usize) -> Result<Result<Self, Problem>, Failure> {
        let event: Envelope = serde_json::from_value(event)?;
        let text = event.body.unwrap_or_default();
        let body = if event.is_base64_encoded {
            match STANDARD.decode(&text) {
                Ok(body) => Bytes::from(body),
                Err(_) => {
                    let detail = "The body is not valid base64.";
                    return Ok(Err(Problem::new(400, "unreadable_body", detail)));
                }
            }
        } else {
            Bytes::from(text)
        };
        if body.len() > body_bytes_max {
            let detail = format!("The body is larger than {body_bytes_max} bytes.");
            return Ok(Err(Problem::new(413, "body_too_large", &detail)));
        }
        Ok(Ok(Self {
            method: event.request_context.http.method,
            path: segments(&event.raw_path),
            body,
            domain: event.request_context.domain_name,
            headers: event.headers.into_iter().collect(),
            query: form_urlencoded::parse(event.raw_query_string.as_bytes())
                .into_owned()
                .collect(),
        }))
    }

    /// Returns the header, whatever the case of its name.
    ///
    /// Two headers of one name with different values are no header: nothing may be picked silently.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self
            .headers
            .iter()
            .filter(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str());
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)
    }

    pub fn query(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns a field of a form, the body read as a browser posts it.
    pub fn form(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(&self.body)
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Reads the body as JSON.
    ///
    /// # Errors
    /// A 400 that names the field, as far as the parser knows it.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let at = format!("line {}, column {}", error.line(), error.column());
            if error.is_data() {
                Problem::new(
                    400,
                    "invalid_field",
                    &format!("The body does not fit: {}.", without_input(&error)),
                )
            } else {
                Problem::new(
                    400,
                    "invalid_json",
                    &format!("The body is not JSON ({at})."),
                )
            }
        })
    }
}

/// serde quotes the offending input, also the names of fields that it doesn't know; a person's data
/// must not come back in an error or a log. What is left names fields of ours alone.
fn without_input(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let of_ours = ["missing field `", "duplicate field `"];
    if of_ours.iter().any(|kind| text.starts_with(kind)) {
        return text;
    }
    // What was expected stands behind what was found.
    match text.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => format!("at line {} column {}", error.line(), error.column()),
    }
}

/// Returns a path segment without its percent-encoding.
pub fn decoded(segment: &str) -> String {
    // In a form a plus is a blank; in a path it is itself.
    let form = format!("it={}", segment.replace('+', "%2B").replace('&', "%26"));
    form_urlencoded::parse(form.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

fn segments(path: &str) -> Vec<String> {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the token of an `Authorization: Bearer …` header.
pub fn bearer_token(request: &Request) -> Option<&str> {
    let (scheme, token) = request.header("authorization")?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// One HTTP reply.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub content_type: &'static str,
    pub body: String,
    pub headers: Vec<(&'static str, String)>,
}

impl Reply {
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        Self {
            status,
            content_type: "application/json",
            body: json!(body).to_string(),
            headers: vec![("cache-control", "no-store".to_owned())],
        }
    }

    /// A page. It may not be framed, cached or referred from: its address holds a signed link.
    pub fn html(status: u16, body: String) -> Self {
        let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
        Self {
            status,
            content_type: "text/html; charset=utf-8",
            body,
            headers: vec![
                ("cache-control", "no-store".to_owned()),
                ("content-security-policy", policy.to_owned()),
                ("referrer-policy", "no-referrer".to_owned()),
                ("x-content-type-options", "nosniff".to_owned()),
                ("x-robots-tag", "noindex".to_owned()),
            ],
        }
    }

    pub fn see_other(location: &str) -> Self {
        Self::html(303, String::new()).with_header("location", location.to_owned())
    }

    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The JSON that Lambda turns into an HTTP response.
    pub fn into_event(self) -> Value {
        let mut headers: BTreeMap<&str, String> = self.headers.into_iter().collect();
        headers.insert("content-type", self.content_type.to_owned());
        json!({
            "statusCode": self.status,
            "headers": headers,
            "body": self.body,
            "isBase64Encoded": false,
        })
    }
}

/// A refusal as `application/problem+json`, with a stable `code` and a sentence for a person.
///
/// It is an error so that `?` carries it out of a handler; [`answered`] makes it a reply there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct Problem {
    pub status: u16,
    pub code: &'static str,
    pub detail: String,
    pub field: Option<&'static str>,
    pub retry_after_s: Option<u32>,
    /// Further members for the caller, such as the open times instead of a taken one.
    pub more: Vec<(&'static str, Value)>,
}

impl Problem {
    pub fn new(status: u16, code: &'static str, detail: &str) -> Self {
        Self {
            status,
            code,
            detail: detail.to_owned(),
            field: None,
            retry_after_s: None,
            more: Vec::new(),
        }
    }

    /// A bad field: 422 by default.
    pub fn field(field: &'static str, code: &'static str, detail: &str) -> Self {
        Self {
            field: Some(field),
            ..Self::new(422, code, detail)
        }
    }

    /// We could not; the same request may succeed soon.
    pub fn busy(retry_after_s: u32) -> Self {
        Self {
            retry_after_s: Some(retry_after_s),
            ..Self::new(
                503,
                "busy",
                "Too much is happening at once here; please try again.",
            )
        }
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.more.push((name, value));
        self
    }
}

/// Reads a Function URL event, lets `respond` answer it, and turns the answer into Lambda's JSON.
///
/// # Errors
/// As [`answered`]; or an event that is no Function URL event.
pub async fn serve<F, Fut>(
    event: Value,
    body_bytes_max: usize,
    respond: F,
) -> Result<Value, Failure>
where
    F: FnOnce(Request) -> Fut,
    Fut: Future<Output = Result<Reply, Failure>>,
{
    answered(match Request::read(event, body_bytes_max)? {
        Ok(request) => respond(request).await,
        Err(problem) => Err(problem.into()),
    })
}

/// Turns what a handler came to into Lambda's JSON: a reply or a [`Problem`] is an answer, anything
/// else our own failure, which Lambda reports as a 5xx.
///
/// # Errors
/// That failure.
fn answered(result: Result<Reply, Failure>) -> Result<Value, Failure> {
    match result.map_err(|failure| failure.downcast::<Problem>()) {
        Ok(reply) => Ok(reply.into_event()),
        Err(Ok(problem)) => Ok(Reply::from(*problem).into_event()),
        Err(Err(failure)) => Err(failure),
    }
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Self {
        let mut body = json!({
            "type": format!("urn:paidonce:{}", problem.code),
            "title": problem.code.replace('_', " "),
            "status": problem.status,
            "code": problem.code,
            "detail": problem.detail,
        });
        if let Some(field) = problem.field {
            body["field"] = json!(field);
        }
        for (name, value) in problem.more {
            body[name] = value;
        }
        let mut reply = Reply::json(problem.status, &body);
        reply.content_type = "application/problem+json";
        if let Some(seconds) = problem.retry_after_s {
            reply = reply.with_header("retry-after", seconds.to_string());
        }
        reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(body: &str, base64: bool) -> Value {
        json!({"version": "2.0", "rawPath": "/bookings//b-1", "rawQueryString": "a=1&b=x%20y",
            "headers": {"stripe-signature": "t=1"},
            "requestContext": {"http": {"method": "POST", "path": "/bookings/b-1"}, "domainName": "example.org"},
            "body": body, "isBase64Encoded": base64})
    }

    #[test]
    fn a_request_keeps_the_bytes_that_were_sent() {
        let plain = Request::read(event("{ \"n\": \"é\" }", false), 100)
            .unwrap()
            .unwrap();
        let encoded = Request::read(event("eyAibiI6ICLDqSIgfQ==", true), 100)
            .unwrap()
            .unwrap();
        assert_eq!(plain.body, encoded.body);
        assert_eq!(plain.path, ["bookings", "b-1"]);
        assert_eq!(plain.query("b"), Some("x y"));
        assert_eq!(plain.header("Stripe-Signature"), Some("t=1"));
    }

    #[test]
    fn a_body_that_is_not_base64_is_refused_without_a_panic() {
        let problem = Request::read(event("%%%", true), 100).unwrap().unwrap_err();
        assert_eq!((problem.status, problem.code), (400, "unreadable_body"));
    }

    #[test]
    fn nothing_that_was_sent_comes_back_in_a_refusal() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "it is never read")]
        struct Remarks {
            reference: Option<String>,
            kind: Option<Kind>,
        }
        #[derive(Debug, Deserialize)]
        enum Kind {
            Call,
        }
        for (body, said) in [
            (r#"{"reference":447700900123}"#, "expected a string"),
            (r#"{"reference":["Quillfeather"]}"#, "expected a string"),
            (r#"{"Quillfeather, expected x":1}"#, "`reference` or `kind`"),
            (r#"{"kind":"Quillfeather"}"#, "expected `Call`"),
            (r#""Quillfeather""#, "expected struct Remarks"),
            (r#"{"kind":"Call","kind":"Call"}"#, "duplicate field `kind`"),
        ] {
            let request = Request::read(event(body, false), 100).unwrap().unwrap();
            let problem = request.json::<Remarks>().unwrap_err();
            assert!(problem.detail.contains(said), "{problem}");
            let repeated = ["Quillfeather", "447700900123"];
            assert!(
                !repeated.iter().any(|it| problem.detail.contains(it)),
                "{problem}"
            );
        }
    }

    #[test]
    fn a_path_segment_is_decoded_as_a_path() {
        assert_eq!(decoded("bkg_1%23late_payment"), "bkg_1#late_payment");
        assert_eq!(decoded("a+b%20c&d=e%2"), "a+b c&d=e%2");
    }

    #[test]
    fn a_body_over_the_limit_is_refused() {
        let problem = Request::read(event("12345", false), 4)
            .unwrap()
            .unwrap_err();
        assert_eq!(problem.status, 413);
    }
}
