//! Function URLs: an HTTP request as Lambda's payload 2.0, and a function's reply as a response.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use serde_json::{Map, Value, json};

/// Lambda's limit on the payload of a synchronous invocation.
pub(crate) const BODY_BYTES_MAX: usize = 6 * 1024 * 1024;

/// Makes the event of a request to `function`'s URL.
pub(crate) fn event(
    function: &str,
    request: &Request<Bytes>,
    id: &str,
    now: DateTime<Utc>,
) -> Value {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    let domain = format!("{function}.lambda-url.local");
    let user_agent = text_of(request.headers().get(http::header::USER_AGENT));
    let mut event = json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers(request.headers(), &domain),
        "requestContext": {
            "accountId": "anonymous",
            "apiId": function,
            "domainName": domain,
            "domainPrefix": function,
            "http": {
                "method": request.method().as_str(),
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": user_agent,
            },
            "requestId": id,
            "routeKey": "$default",
            "stage": "$default",
            "time": now.format("%d/%b/%Y:%H:%M:%S %z").to_string(),
            "timeEpoch": now.timestamp_millis(),
        },
        "isBase64Encoded": false,
    });
    if !query.is_empty() {
        event["queryStringParameters"] = query_parameters(query);
    }
    let cookies: Vec<String> = cookies(request.headers());
    if !cookies.is_empty() {
        event["cookies"] = json!(cookies);
    }
    add_body(&mut event, request);
    event
}

fn text_of(value: Option<&HeaderValue>) -> String {
    value
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .unwrap_or_default()
}

/// Names in lower case; several values of one name are joined by commas.
fn headers(headers: &HeaderMap, domain: &str) -> Value {
    let mut joined = Map::from_iter([
        ("host".to_owned(), json!(domain)),
        ("x-forwarded-proto".to_owned(), json!("https")),
        ("x-forwarded-for".to_owned(), json!("127.0.0.1")),
    ]);
    for name in headers
        .keys()
        .filter(|name| *name != http::header::COOKIE && *name != http::header::HOST)
    {
        let values: Vec<String> = headers
            .get_all(name)
            .iter()
            .map(|value| text_of(Some(value)))
            .collect();
        joined.insert(name.as_str().to_owned(), json!(values.join(",")));
    }
    Value::Object(joined)
}

fn cookies(headers: &HeaderMap) -> Vec<String> {
    let all = headers
        .get_all(http::header::COOKIE)
        .iter()
        .map(|value| text_of(Some(value)));
    all.flat_map(|line| line.split("; ").map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn query_parameters(query: &str) -> Value {
    let mut parameters: Map<String, Value> = Map::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let joined = match parameters.get(name.as_ref()).and_then(Value::as_str) {
            Some(earlier) => format!("{earlier},{value}"),
            None => value.into_owned(),
        };
        parameters.insert(name.into_owned(), json!(joined));
    }
    Value::Object(parameters)
}

/// Text stays text; everything else, forms included, is base64.
fn add_body(event: &mut Value, request: &Request<Bytes>) {
    if request.body().is_empty() {
        return;
    }
    let kind = text_of(request.headers().get(http::header::CONTENT_TYPE));
    match std::str::from_utf8(request.body()) {
        Ok(text) if is_text(&kind) => event["body"] = json!(text),
        Ok(_) | Err(_) => {
            event["body"] = json!(STANDARD.encode(request.body()));
            event["isBase64Encoded"] = json!(true);
        }
    }
}

fn is_text(content_type: &str) -> bool {
    let kind = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    kind.starts_with("text/")
        || [
            "application/json",
            "application/javascript",
            "application/xml",
        ]
        .contains(&kind.as_str())
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
}

/// Makes the response of a function's reply.
///
/// A reply with a `statusCode` is taken at its word; any other value is the JSON body of a 200.
pub(crate) fn response(reply: &Value) -> Response<Bytes> {
    let Some(status) = reply.get("statusCode") else {
        let body = reply
            .as_str()
            .map_or_else(|| reply.to_string(), str::to_owned);
        return with_json(StatusCode::OK, body);
    };
    written(reply, status).unwrap_or_else(internal_error)
}

fn written(reply: &Value, status: &Value) -> Option<Response<Bytes>> {
    let status = status
        .as_u64()
        .and_then(|status| u16::try_from(status).ok())?;
    let mut response = Response::new(body_of(reply)?);
    *response.status_mut() = StatusCode::from_u16(status).ok()?;
    let json = HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    for (name, value) in reply["headers"].as_object().into_iter().flatten() {
        let name: http::HeaderName = name.parse().ok()?;
        response.headers_mut().insert(
            name,
            HeaderValue::from_str(&crate::template::plain(value)).ok()?,
        );
    }
    for cookie in reply["cookies"].as_array().into_iter().flatten() {
        response.headers_mut().append(
            http::header::SET_COOKIE,
            HeaderValue::from_str(cookie.as_str()?).ok()?,
        );
    }
    Some(response)
}

fn body_of(reply: &Value) -> Option<Bytes> {
    let body = reply["body"].as_str().unwrap_or_default();
    if reply["isBase64Encoded"] == true {
        return STANDARD.decode(body).ok().map(Bytes::from);
    }
    Some(Bytes::copy_from_slice(body.as_bytes()))
}

fn with_json(status: StatusCode, body: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    response
}

/// What a caller sees of an invocation that failed.
pub(crate) fn internal_error() -> Response<Bytes> {
    with_json(
        StatusCode::BAD_GATEWAY,
        r#"{"message":"Internal Server Error"}"#.to_owned(),
    )
}

/// What the URL service answers by itself.
pub(crate) fn refusal(status: StatusCode, message: &str) -> Response<Bytes> {
    with_json(status, json!({ "Message": message }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event_of(content_type: &str, body: &'static [u8]) -> Value {
        let request = Request::post("/bookings?a=1&a=2&b=x%20y")
            .header("Content-Type", content_type)
            .header("X-Two", "1")
            .header("X-Two", "2")
            .header("Cookie", "c=1; d=2")
            .body(Bytes::from_static(body))
            .unwrap();
        event(
            "bdc-intake",
            &request,
            "id",
            DateTime::from_timestamp(1_800_000_000, 0).unwrap(),
        )
    }

    #[test]
    fn json_stays_text_and_a_form_becomes_base64() {
        let json = event_of("application/json; charset=utf-8", br#"{"a":1}"#);
        assert_eq!(
            (&json["body"], &json["isBase64Encoded"]),
            (&json!(r#"{"a":1}"#), &json!(false))
        );
        let form = event_of("application/x-www-form-urlencoded", b"a=1");
        assert_eq!(
            (&form["body"], &form["isBase64Encoded"]),
            (&json!("YT0x"), &json!(true))
        );
        let odd = event_of("text/plain", b"\xff");
        assert_eq!(odd["isBase64Encoded"], json!(true));
    }

    #[test]
    fn the_event_carries_the_query_headers_and_cookies() {
        let event = event_of("text/plain", b"");
        assert_eq!(
            event["queryStringParameters"],
            json!({"a": "1,2", "b": "x y"})
        );
        assert_eq!(event["headers"]["x-two"], "1,2");
        assert_eq!(event["cookies"], json!(["c=1", "d=2"]));
        assert_eq!(
            event["requestContext"]["timeEpoch"],
            json!(1_800_000_000_000_i64)
        );
        assert_eq!(event.get("body"), None);
    }

    #[test]
    fn a_reply_is_taken_at_its_word_or_is_the_body() {
        let full = json!({"statusCode": 201, "headers": {"Location": "/b"}, "body": "aGk=", "isBase64Encoded": true, "cookies": ["a=1"]});
        let response = super::response(&full);
        assert_eq!(
            (response.status().as_u16(), response.body().as_ref()),
            (201, &b"hi"[..])
        );
        assert_eq!(response.headers()["location"], "/b");
        let bare = super::response(&json!({"ok": true}));
        assert_eq!(
            (bare.status().as_u16(), bare.body().as_ref()),
            (200, &br#"{"ok":true}"#[..])
        );
        assert_eq!(
            super::response(&json!({"statusCode": "x"}))
                .status()
                .as_u16(),
            502
        );
    }
}
