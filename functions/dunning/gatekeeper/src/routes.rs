//! What is at which address.

use lambda_kit::{Problem, Request, decoded};

/// The longest id that is looked for, in bytes: the provider's have at most 255.
const ID_BYTES_MAX: usize = 255;

/// What is asked for, of which subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Ask(String),
    Order(Order, String),
}

/// What an operator orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Pause,
    Restore,
    /// Leave access to the rules again.
    Release,
}

impl Route {
    pub(crate) fn of(request: &Request) -> Result<Self, Problem> {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method.as_str(), path.as_slice()) {
            ("GET" | "HEAD", ["subscriptions", id]) => Ok(Self::Ask(subscription(id)?)),
            ("POST", ["subscriptions", id, order]) => {
                let order = Order::named(order).ok_or_else(nothing)?;
                Ok(Self::Order(order, subscription(id)?))
            }
            _ => Err(nothing()),
        }
    }
}

impl Order {
    fn named(name: &str) -> Option<Self> {
        match name {
            "pause" => Some(Self::Pause),
            "restore" => Some(Self::Restore),
            "release" => Some(Self::Release),
            _ => None,
        }
    }
}

fn nothing() -> Problem {
    Problem::new(404, "not_found", "There is nothing here.")
}

fn subscription(segment: &str) -> Result<String, Problem> {
    let id = decoded(segment);
    let is_id = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    match !id.is_empty() && id.len() <= ID_BYTES_MAX && id.chars().all(is_id) {
        true => Ok(id),
        false => Err(Problem::new(
            400,
            "invalid_subscription_id",
            "That is not the id of a subscription.",
        )),
    }
}
