//! One call on its way: the fault plan, the caller's role, the addressee, the meter.

use std::sync::Arc;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;

use crate::cloud::Cloud;
use crate::door;
use crate::faults::FaultKind;
use crate::invocation::{Ending, Invocation};
use crate::meter::Call;
use crate::router::Outgoing;
use crate::services;
use crate::wire::{Answer, AwsRequest};

/// How a call went.
struct Outcome {
    response: HttpResponse,
    outcome: String,
    resources: Vec<String>,
    units: Option<f64>,
}

/// A call on its way.
pub(crate) struct Trip {
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) function: Option<Arc<str>>,
    /// Of a caller who is no function.
    pub(crate) policy: Option<Arc<str>>,
    pub(crate) invocation: Option<Arc<Invocation>>,
}

impl Trip {
    /// Makes the call, or what the fault plan makes of it.
    pub(crate) async fn make(&self, outgoing: &Outgoing) -> Result<HttpResponse, ConnectorError> {
        let strike = |function: &str| {
            let faults = &self.cloud.faults;
            faults.strike(function, outgoing.service(), &outgoing.operation())
        };
        let Some(fault) = self.function.as_deref().and_then(strike) else {
            let done = self.perform(outgoing);
            self.record(outgoing, None, Some(&done));
            return Ok(done.response);
        };
        let done = match fault {
            FaultKind::AnswerLost | FaultKind::Slow | FaultKind::CrashAfter => {
                Some(self.perform(outgoing))
            }
            FaultKind::Throttled | FaultKind::Conflict | FaultKind::InternalError => {
                Some(refusal(outgoing, fault))
            }
            FaultKind::NotSent | FaultKind::CrashBefore => None,
        };
        self.record(outgoing, Some(fault), done.as_ref());
        self.suffer(fault, done).await
    }

    /// What the caller notices of a fault.
    async fn suffer(
        &self,
        fault: FaultKind,
        applied: Option<Outcome>,
    ) -> Result<HttpResponse, ConnectorError> {
        match (fault, applied) {
            (
                FaultKind::Throttled | FaultKind::Conflict | FaultKind::InternalError,
                Some(refusal),
            ) => Ok(refusal.response),
            (FaultKind::Slow, _) => self.end(Ending::TimeOut).await,
            (FaultKind::CrashBefore | FaultKind::CrashAfter, _) => self.end(Ending::Crash).await,
            (FaultKind::AnswerLost, _) => Err(ConnectorError::timeout(
                "injected: the answer was lost".into(),
            )),
            (
                FaultKind::NotSent
                | FaultKind::Throttled
                | FaultKind::Conflict
                | FaultKind::InternalError,
                _,
            ) => Err(ConnectorError::io(
                "injected: the request was not sent".into(),
            )),
        }
    }

    async fn end(&self, how: Ending) -> Result<HttpResponse, ConnectorError> {
        match &self.invocation {
            Some(invocation) => {
                invocation.end(how);
                std::future::pending().await
            }
            None => Err(ConnectorError::io(
                "injected: the caller is no invocation".into(),
            )),
        }
    }

    fn perform(&self, outgoing: &Outgoing) -> Outcome {
        match outgoing {
            Outgoing::Neighbour { neighbour, request } => {
                let answer = neighbour.call(request.clone(), self.cloud.clock.now());
                Outcome::of_neighbour(answer)
            }
            Outgoing::Aws(request) => self.perform_aws(request),
        }
    }

    fn perform_aws(&self, request: &AwsRequest) -> Outcome {
        let Some(function) = self.function.as_deref() else {
            let answer = match self.policy.as_deref() {
                Some(policy) => door::answer(&self.cloud, &[policy], request),
                None => services::perform(&self.cloud, "operator", request),
            };
            return Outcome::of_aws(answer, Vec::new());
        };
        let Some(needs) = services::needs(&self.cloud, request) else {
            return Outcome::of_aws(request.unknown_operation(), Vec::new());
        };
        let names = needs.iter().filter_map(|access| access.resources.first());
        let mut resources: Vec<String> = names.map(|arn| services::short_name(arn)).collect();
        resources.sort();
        resources.dedup();
        let answer = match self.cloud.authorise(function, &needs) {
            Ok(()) => services::perform(&self.cloud, function, request),
            Err(sentence) => request.denied(&sentence),
        };
        Outcome::of_aws(answer, resources)
    }

    fn record(&self, outgoing: &Outgoing, fault: Option<FaultKind>, done: Option<&Outcome>) {
        let Some(function) = &self.function else {
            return;
        };
        self.cloud.meter.record(Call {
            at: self.cloud.clock.now(),
            function: function.to_string(),
            service: outgoing.service().to_owned(),
            operation: outgoing.operation(),
            resources: done.map(|done| done.resources.clone()).unwrap_or_default(),
            outcome: done.map_or_else(|| "not_sent".to_owned(), |done| done.outcome.clone()),
            fault,
            invocation: self.invocation.as_ref().map(|invocation| invocation.number),
            units: done.and_then(|done| done.units),
        });
    }
}

impl Outcome {
    fn of_aws(answer: Answer, resources: Vec<String>) -> Self {
        let code = answer
            .error
            .as_deref()
            .map(|code| code.rsplit('#').next().unwrap_or(code).to_owned());
        Self {
            outcome: code.unwrap_or_else(|| "ok".to_owned()),
            units: answer.units,
            resources,
            response: answer.into_response(),
        }
    }

    fn of_neighbour(answer: http::Response<Bytes>) -> Self {
        let status = answer.status();
        let (parts, body) = answer.into_parts();
        let mut response = HttpResponse::new(status.into(), SdkBody::from(body.to_vec()));
        for (name, value) in &parts.headers {
            if let Ok(value) = value.to_str() {
                response
                    .headers_mut()
                    .append(name.as_str().to_owned(), value.to_owned());
            }
        }
        Self {
            outcome: if status.is_success() {
                "ok".to_owned()
            } else {
                status.as_u16().to_string()
            },
            resources: Vec::new(),
            units: None,
            response,
        }
    }
}

/// The addressee's own error for a fault that applies nothing.
fn refusal(outgoing: &Outgoing, fault: FaultKind) -> Outcome {
    let conflict = fault == FaultKind::Conflict;
    let throttled = fault == FaultKind::Throttled;
    match outgoing {
        Outgoing::Aws(request) if conflict => {
            Outcome::of_aws(services::conflict(request), Vec::new())
        }
        Outgoing::Aws(request) if throttled => {
            Outcome::of_aws(services::throttled(request), Vec::new())
        }
        Outgoing::Aws(request) => Outcome::of_aws(services::internal_error(request), Vec::new()),
        Outgoing::Neighbour { .. } if conflict => neighbour_error(http::StatusCode::CONFLICT),
        Outgoing::Neighbour { .. } if throttled => {
            neighbour_error(http::StatusCode::TOO_MANY_REQUESTS)
        }
        Outgoing::Neighbour { .. } => neighbour_error(http::StatusCode::INTERNAL_SERVER_ERROR),
    }
}

fn neighbour_error(status: http::StatusCode) -> Outcome {
    let body = r#"{"error": {"type": "api_error", "message": "injected"}}"#;
    let mut answer = http::Response::new(Bytes::from_static(body.as_bytes()));
    *answer.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    answer
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    Outcome::of_neighbour(answer)
}
