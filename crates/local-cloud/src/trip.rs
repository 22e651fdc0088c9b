//! One call on its way: the faults, the caller's role, the addressee, the meter.

use std::sync::Arc;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use chrono::Duration;

use crate::cloud::Cloud;
use crate::door;
use crate::faults::FaultKind;
use crate::in_part;
use crate::invocation::{Ending, Invocation};
use crate::meter::Call;
use crate::neighbour::EVENTS_FIRST;
use crate::pump::{Settled, deliver_neighbour};
use crate::roll;
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

/// A late request arrives within this time.
const LATE_MAX: Duration = Duration::minutes(10);
/// A paused invocation goes on within this time, the longest that Lambda runs one.
const PAUSE_MAX: Duration = Duration::minutes(15);

/// A request that is still on its way when its caller has given it up.
pub(crate) struct LateCall {
    function: Option<Arc<str>>,
    invocation: Option<Arc<Invocation>>,
    outgoing: Outgoing,
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
    /// Makes the call, or what the faults make of it.
    pub(crate) async fn make(self, outgoing: &Outgoing) -> Result<HttpResponse, ConnectorError> {
        let strike = |function: &str| {
            let faults = &self.cloud.faults;
            faults.strike(function, outgoing.service(), &outgoing.operation())
        };
        let Some(strike) = self.function.as_deref().and_then(strike) else {
            let done = self.go(outgoing, None);
            if done.response.headers().contains_key(EVENTS_FIRST) {
                self.let_events_come(outgoing).await;
            }
            return Ok(done.response);
        };
        let fault = strike.fault;
        let done = match fault {
            FaultKind::AnswerLost | FaultKind::Slow | FaultKind::CrashAfter => {
                Some(self.perform(outgoing, None))
            }
            FaultKind::FailedEntries => Some(self.perform(outgoing, Some(strike.ordinal))),
            FaultKind::Throttled
            | FaultKind::ThrottledThrough
            | FaultKind::Conflict
            | FaultKind::InternalError => Some(refusal(outgoing, fault)),
            FaultKind::NotSent | FaultKind::CrashBefore => None,
            FaultKind::Late => {
                self.keep_for_later(outgoing, strike.ordinal);
                None
            }
            FaultKind::Paused => return self.pause(outgoing, strike.ordinal).await,
        };
        self.record(outgoing, Some(fault), done.as_ref());
        self.suffer(fault, done).await
    }

    /// Performs the call and notes it.
    fn go(&self, outgoing: &Outgoing, fault: Option<FaultKind>) -> Outcome {
        let done = self.perform(outgoing, None);
        self.record(outgoing, fault, Some(&done));
        done
    }

    /// Delivers what a neighbour has to send before its answer goes to the caller.
    async fn let_events_come(&self, outgoing: &Outgoing) {
        if let Outgoing::Neighbour { neighbour, .. } = outgoing {
            self.cloud.faults.count("events_first");
            let mut settled = Settled::NOTHING;
            // Boxed, as the functions that hear of it may call as well.
            Box::pin(deliver_neighbour(
                &self.cloud,
                neighbour.as_ref(),
                &mut settled,
            ))
            .await;
        }
    }

    fn keep_for_later(&self, outgoing: &Outgoing, ordinal: u64) {
        let delay = roll::delay(&mut roll::dice(self.cloud.seed, ordinal), LATE_MAX);
        let call = LateCall {
            function: self.function.clone(),
            invocation: self.invocation.clone(),
            outgoing: outgoing.clone(),
        };
        let due_at = self.cloud.clock.now() + delay;
        self.cloud.mischief.late_calls.put(due_at, call);
    }

    /// Stops the invocation, and makes the call when it goes on.
    async fn pause(
        self,
        outgoing: &Outgoing,
        ordinal: u64,
    ) -> Result<HttpResponse, ConnectorError> {
        let Some(invocation) = self.invocation.clone() else {
            return Ok(self.go(outgoing, None).response);
        };
        let delay = roll::delay(&mut roll::dice(self.cloud.seed, ordinal), PAUSE_MAX);
        let until = self.cloud.clock.now() + delay;
        let Self {
            cloud,
            function,
            policy,
            ..
        } = self;
        // The cloud keeps what is paused, so that must not keep the cloud.
        let weak = Arc::downgrade(&cloud);
        drop(cloud);
        invocation.pause(until).await;
        let cloud = weak.upgrade();
        let trip = Self {
            cloud: cloud.ok_or_else(|| ConnectorError::io("the local cloud is gone".into()))?,
            function,
            policy,
            invocation: Some(invocation),
        };
        Ok(trip.go(outgoing, Some(FaultKind::Paused)).response)
    }

    /// What the caller notices of a fault.
    async fn suffer(
        &self,
        fault: FaultKind,
        applied: Option<Outcome>,
    ) -> Result<HttpResponse, ConnectorError> {
        match (fault, applied) {
            (
                FaultKind::Throttled
                | FaultKind::ThrottledThrough
                | FaultKind::Conflict
                | FaultKind::InternalError
                | FaultKind::FailedEntries,
                Some(answer),
            ) => Ok(answer.response),
            (FaultKind::Slow, _) => self.end(Ending::TimeOut).await,
            (FaultKind::CrashBefore | FaultKind::CrashAfter, _) => self.end(Ending::Crash).await,
            (FaultKind::AnswerLost | FaultKind::Late, _) => Err(ConnectorError::timeout(
                "injected: the answer was lost".into(),
            )),
            (
                FaultKind::NotSent
                | FaultKind::Throttled
                | FaultKind::ThrottledThrough
                | FaultKind::Conflict
                | FaultKind::InternalError
                | FaultKind::FailedEntries
                | FaultKind::Paused,
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

    /// Does what the call asks for; of a batch only a part, if an ordinal rolls which.
    fn perform(&self, outgoing: &Outgoing, in_part: Option<u64>) -> Outcome {
        match outgoing {
            Outgoing::Neighbour { neighbour, request } => {
                let answer = neighbour.call(request.clone(), self.cloud.clock.now());
                Outcome::of_neighbour(answer)
            }
            Outgoing::Aws(request) => self.perform_aws(request, in_part),
        }
    }

    fn perform_aws(&self, request: &AwsRequest, in_part: Option<u64>) -> Outcome {
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
        let answer = match (self.cloud.authorise(function, &needs), in_part) {
            (Ok(()), None) => services::perform(&self.cloud, function, request),
            (Ok(()), Some(ordinal)) => in_part::perform(&self.cloud, function, request, ordinal),
            (Err(sentence), _) => request.denied(&sentence),
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
            outcome: done.map_or_else(|| unsent(fault).to_owned(), |done| done.outcome.clone()),
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

impl LateCall {
    /// Does now what the call asks for; nobody waits for the answer.
    pub(crate) fn arrive(self, cloud: &Arc<Cloud>) {
        let trip = Trip {
            cloud: Arc::clone(cloud),
            function: self.function,
            policy: None,
            invocation: self.invocation,
        };
        drop(trip.go(&self.outgoing, Some(FaultKind::Late)));
    }
}

/// The outcome of a call that did not reach its addressee.
fn unsent(fault: Option<FaultKind>) -> &'static str {
    if fault == Some(FaultKind::Late) {
        "not_yet"
    } else {
        "not_sent"
    }
}

/// The addressee's own error for a fault that applies nothing.
fn refusal(outgoing: &Outgoing, fault: FaultKind) -> Outcome {
    let conflict = fault == FaultKind::Conflict;
    let throttled = matches!(fault, FaultKind::Throttled | FaultKind::ThrottledThrough);
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
