//! The provider's errors, as it writes them.

use http::StatusCode;
use serde_json::{Map, Value, json};

/// A request that was not done.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) code: Option<&'static str>,
    pub(crate) decline_code: Option<&'static str>,
    pub(crate) param: Option<String>,
    pub(crate) message: String,
    /// The PaymentIntent as the attempt left it.
    pub(crate) payment_intent: Option<Box<Value>>,
    /// What else there is to say about a declined invoice, by the names of the API.
    pub(crate) details: Option<Box<Map<String, Value>>>,
    /// Whether execution had begun: only then does an idempotency key keep the answer.
    pub(crate) began: bool,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            code: None,
            decline_code: None,
            param: None,
            message: message.into(),
            payment_intent: None,
            details: None,
            began: false,
        }
    }

    /// A request that makes no sense as it stands.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// A parameter that had to be there.
    pub(crate) fn missing(param: &str) -> Self {
        Self::invalid(format!("Missing required param: {param}."))
            .param(param)
            .code("parameter_missing")
    }

    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "invalid_request_error", message)
    }

    /// A key that may do less than what was asked for.
    pub(crate) fn not_permitted() -> Self {
        let message = "The provided key does not have the required permissions for this endpoint.";
        Self::new(StatusCode::FORBIDDEN, "invalid_request_error", message)
    }

    /// An id that names nothing.
    pub(crate) fn no_such(what: &str, id: &str, param: &str) -> Self {
        let message = format!("No such {what}: '{id}'");
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message)
            .param(param)
            .code("resource_missing")
    }

    /// A path that names nothing.
    pub(crate) fn no_url(method: &str, path: &str) -> Self {
        let message = format!("Unrecognized request URL ({method}: {path}).");
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message)
    }

    pub(crate) fn idempotency(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "idempotency_error", message)
    }

    /// A key whose first request is still being done.
    pub(crate) fn in_use(key: &str) -> Self {
        let message = format!(
            "There is currently another in-progress request using this Idempotent Key (that \
             probably means you submitted twice, and the other request is still going through): \
             {key}. Please try again later."
        );
        Self::new(StatusCode::CONFLICT, "idempotency_error", message).code("idempotency_key_in_use")
    }

    /// A request that came too soon, which nothing was done about.
    pub(crate) fn too_many(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "invalid_request_error",
            message,
        )
        .code(code)
    }

    /// A request for something that another request is being done with.
    pub(crate) fn locked() -> Self {
        let message = "This object cannot be accessed right now because another API request or \
                       Stripe process is currently accessing it.";
        Self::too_many("lock_timeout", message)
    }

    /// The provider's own failure.
    pub(crate) fn internal() -> Self {
        let message = "Something went wrong on our end.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", message).began()
    }

    /// A payment that the card's bank, or the customer, did not allow.
    pub(crate) fn card(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYMENT_REQUIRED, "card_error", message)
            .code(code)
            .began()
    }

    pub(crate) fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    pub(crate) fn began(mut self) -> Self {
        self.began = true;
        self
    }

    pub(crate) fn body(&self) -> Value {
        let mut error = json!({ "type": self.kind, "message": self.message });
        let texts = [
            ("code", self.code),
            ("decline_code", self.decline_code),
            ("param", self.param.as_deref()),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                error[name] = text.into();
            }
        }
        if let Some(code) = self.code {
            error["doc_url"] = format!("https://docs.stripe.com/error-codes/{code}").into();
        }
        if let Some(intent) = &self.payment_intent {
            error["payment_intent"] = Value::clone(intent);
        }
        for (name, value) in self.details.iter().flat_map(|it| it.iter()) {
            error[name] = value.clone();
        }
        json!({ "error": error })
    }
}
