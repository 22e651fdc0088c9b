//! Another party that the functions reach over HTTP, such as the payment provider.

use bytes::Bytes;
use chrono::{DateTime, Utc};

/// The header by which a neighbour says that what it has to send is to arrive before this answer.
pub(crate) const EVENTS_FIRST: &str = "x-events-first";

/// A party outside AWS. It has no clock of its own: time is passed in.
pub trait Neighbour: Send + Sync {
    /// Where the functions believe it is, such as `http://127.0.0.1:8787/stripe`.
    fn base_url(&self) -> &str;

    /// Answers a request. Its path is relative to the base URL and starts with `/`. An answer with
    /// the header `x-events-first` reaches its caller when what is due by now has been delivered.
    fn call(&self, request: http::Request<Bytes>, now: DateTime<Utc>) -> http::Response<Bytes>;

    /// When it will next want to send something by itself.
    fn due_at(&self) -> Option<DateTime<Utc>>;

    /// Hands over what it wants to send by now.
    fn take_due(&self, now: DateTime<Utc>) -> Vec<Delivery>;

    /// Is told how a delivery was answered.
    fn delivered(&self, id: &str, status: u16, now: DateTime<Utc>);
}

/// A request that a neighbour sends to a function's URL.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub id: String,
    /// The deployed name.
    pub function: String,
    pub request: http::Request<Bytes>,
}
