//! What is at which address.

use lambda_kit::Request;

use crate::manage::Visit;
use crate::orders::Task;

/// Who must say who they are, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// Systems and staff, by a bearer token.
    Api(Call<'a>),
    /// A customer, by a signed link to one booking.
    Guest(Visit, &'a str),
}

/// What a caller with a token asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call<'a> {
    Book,
    Slots,
    Show(&'a str),
    Order(Task, &'a str),
    Evidence(&'a str),
    Cases,
    /// By the id of the case, decoded: it has a `#`.
    CloseCase(String),
}

impl<'a> Route<'a> {
    /// Reads method and path; nothing if there is nothing.
    pub(crate) fn of(request: &'a Request) -> Option<Self> {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let call = match (request.method.as_str(), path.as_slice()) {
            ("GET" | "HEAD", ["manage", id]) => return Some(Self::Guest(Visit::Look, id)),
            ("POST", ["manage", id, "cancel"]) => return Some(Self::Guest(Visit::Cancel, id)),
            ("POST", ["manage", id, "move"]) => return Some(Self::Guest(Visit::Move, id)),
            ("POST", ["bookings"]) => Call::Book,
            ("GET", ["slots"]) => Call::Slots,
            ("GET", ["bookings", id]) => Call::Show(id),
            ("GET", ["cases"]) => Call::Cases,
            ("POST", ["cases", id, "close"]) => Call::CloseCase(decoded(id)?),
            ("GET", ["bookings", id, "evidence"]) => Call::Evidence(id),
            ("POST", ["bookings", id, order]) => Call::Order(Task::named(order)?, id),
            _ => return None,
        };
        Some(Self::Api(call))
    }
}

impl Call<'_> {
    /// The id of the booking that it is about, if it is about one.
    pub(crate) fn booking_id(&self) -> Option<&str> {
        match self {
            Self::Book | Self::Slots | Self::Cases | Self::CloseCase(_) => None,
            Self::Show(id) | Self::Order(_, id) | Self::Evidence(id) => Some(id),
        }
    }
}

/// A segment of a path without its percent-encoding; nothing if that is longer than any id of ours.
fn decoded(segment: &str) -> Option<String> {
    const ENCODED_BYTES_MAX: usize = 300;
    (segment.len() <= ENCODED_BYTES_MAX).then(|| lambda_kit::decoded(segment))
}
