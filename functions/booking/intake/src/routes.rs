//! What is at which address.

use lambda_kit::Request;

use crate::orders::Task;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Book,
    Slots,
    Show(&'a str),
    Order(Task, &'a str),
}

impl<'a> Route<'a> {
    /// Reads method and path; nothing if there is nothing.
    pub(crate) fn of(request: &'a Request) -> Option<Self> {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method.as_str(), path.as_slice()) {
            ("POST", ["bookings"]) => Some(Self::Book),
            ("GET", ["slots"]) => Some(Self::Slots),
            ("GET", ["bookings", id]) => Some(Self::Show(id)),
            ("POST", ["bookings", id, order]) => Some(Self::Order(Task::named(order)?, id)),
            _ => None,
        }
    }

    /// The id of what it is about, if it is about one thing.
    pub(crate) fn id(self) -> Option<&'a str> {
        match self {
            Self::Book | Self::Slots => None,
            Self::Show(id) | Self::Order(_, id) => Some(id),
        }
    }
}
