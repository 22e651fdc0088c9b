//! The HTTP client that functions get: every call of the fleet passes here.
//!
//! A call goes to a neighbour by its base URL, or to an AWS service by the scope of its signature.
//! On the way it meets, in this order: the fault plan, the role of its caller, the service, the
//! meter.

use std::sync::{Arc, PoisonError, Weak};

use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use bytes::Bytes;

use crate::cloud::Cloud;
use crate::invocation::Invocation;
use crate::neighbour::Neighbour;
use crate::trip::Trip;
use crate::wire::AwsRequest;

#[derive(Clone)]
pub(crate) struct Router {
    /// Functions are kept by the cloud, so they must not keep it.
    cloud: Weak<Cloud>,
    keep: Option<Arc<Cloud>>,
    /// The calling function; `None` is the operator, who may do everything and is not counted.
    function: Option<Arc<str>>,
    /// The policy that an operator has who may not do everything.
    policy: Option<Arc<str>>,
}

impl std::fmt::Debug for Router {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Router")
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

impl Router {
    pub(crate) fn of_function(cloud: &Arc<Cloud>, function: &str) -> Self {
        Self {
            cloud: Arc::downgrade(cloud),
            keep: None,
            function: Some(function.into()),
            policy: None,
        }
    }

    pub(crate) fn of_operator(cloud: &Arc<Cloud>) -> Self {
        Self {
            cloud: Arc::downgrade(cloud),
            keep: Some(Arc::clone(cloud)),
            function: None,
            policy: None,
        }
    }

    pub(crate) fn of_principal(cloud: &Arc<Cloud>, policy: &str) -> Self {
        Self {
            policy: Some(policy.into()),
            ..Self::of_operator(cloud)
        }
    }
}

impl HttpClient for Router {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        Some(ConnectorMetadata::new("local-cloud", None))
    }
}

impl HttpConnector for Router {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let invocation = Invocation::current();
        let in_flight = invocation.as_ref().map(Invocation::call_in_flight);
        let (kept, cloud) = (self.keep.clone(), Weak::clone(&self.cloud));
        let function = self.function.clone();
        let policy = self.policy.clone();
        HttpConnectorFuture::new(async move {
            let _in_flight = in_flight;
            let request = whole(request).await?;
            // Racing handlers take turns at every call.
            tokio::task::yield_now().await;
            // Only now: a handler that is paused meanwhile must not keep the cloud that keeps it.
            let cloud = kept.or_else(|| cloud.upgrade());
            let cloud =
                cloud.ok_or_else(|| ConnectorError::io("the local cloud is gone".into()))?;
            let outgoing = Outgoing::read(&cloud, request)?;
            let trip = Trip {
                cloud,
                function,
                policy,
                invocation,
            };
            trip.make(&outgoing).await
        })
    }
}

/// A call whose addressee is known.
#[derive(Clone)]
pub(crate) enum Outgoing {
    Aws(AwsRequest),
    Neighbour {
        neighbour: Arc<dyn Neighbour>,
        request: http::Request<Bytes>,
    },
}

impl Outgoing {
    fn read(cloud: &Cloud, request: HttpRequest) -> Result<Self, ConnectorError> {
        let neighbours = cloud
            .neighbours
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let under = |base: &str| {
            let rest = request.uri().strip_prefix(base.trim_end_matches('/'))?;
            (rest.is_empty() || rest.starts_with(['/', '?'])).then(|| rest.to_owned())
        };
        let found = neighbours
            .iter()
            .find_map(|neighbour| Some((Arc::clone(neighbour), under(neighbour.base_url())?)));
        if let Some((neighbour, rest)) = found {
            let request =
                relative(request, &rest).map_err(|error| ConnectorError::user(error.into()))?;
            return Ok(Self::Neighbour { neighbour, request });
        }
        AwsRequest::read(&request).map(Self::Aws).ok_or_else(|| {
            // Not the whole URI: it may carry a token.
            let host = request.uri().split('/').nth(2).unwrap_or_default();
            ConnectorError::io(format!("nothing answers at `{host}`").into())
        })
    }

    /// The signing name, or the base URL of a neighbour.
    pub(crate) fn service(&self) -> &str {
        match self {
            Self::Aws(request) => &request.service,
            Self::Neighbour { neighbour, .. } => neighbour.base_url(),
        }
    }

    /// `PutItem`, or a neighbour's `POST /v1/refunds`.
    pub(crate) fn operation(&self) -> String {
        match self {
            Self::Aws(request) => request.operation.clone(),
            Self::Neighbour { request, .. } => {
                format!("{} {}", request.method(), request.uri().path())
            }
        }
    }
}

/// The request with its whole body in memory: a body may be a stream, as of a large object.
async fn whole(mut request: HttpRequest) -> Result<HttpRequest, ConnectorError> {
    if request.body().bytes().is_none() {
        let body = std::mem::replace(request.body_mut(), SdkBody::taken());
        let read = ByteStream::new(body).collect().await;
        let read = read.map_err(|error| ConnectorError::user(error.into()))?;
        *request.body_mut() = SdkBody::from(read.into_bytes());
    }
    Ok(request)
}

/// The request as the neighbour sees it: its path starts after the base URL.
fn relative(request: HttpRequest, rest: &str) -> Result<http::Request<Bytes>, String> {
    let body = request
        .body()
        .bytes()
        .map(Bytes::copy_from_slice)
        .unwrap_or_default();
    let original = request
        .try_into_http1x()
        .map_err(|error| error.to_string())?;
    let (mut parts, _) = original.into_parts();
    let path = if rest.starts_with('/') {
        rest.to_owned()
    } else {
        format!("/{rest}")
    };
    parts.uri = path
        .parse()
        .map_err(|error: http::uri::InvalidUri| error.to_string())?;
    Ok(http::Request::from_parts(parts, body))
}
