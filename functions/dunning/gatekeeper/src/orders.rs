//! The orders of an operator: pause, restore, and leave it to the rules again.

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Problem, Reply, Request, chain};
use paidonce_core::booking_step::Origin;
use paidonce_core::dunning::{Access, Carried, Command, Dunning, DunningOrder, Rejection};
use serde::Deserialize;

use crate::answer::Answer;
use crate::callers::Caller;
use crate::routes::Order;
use crate::{Gatekeeper, Unknown};

/// How long a caller waits before it tries again, in seconds.
const RETRY_AFTER_S: u32 = 2;
const REFERENCE_BYTES_MAX: usize = 40;

/// What an order may say beside itself. The log is kept for ever, so it takes no sentence about a
/// person: only the number of a ticket that has it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remarks {
    reference: Option<String>,
}

impl Gatekeeper {
    pub(crate) async fn carry_out(
        &self,
        order: Order,
        id: &str,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let who = self.operator(request, now).await?;
        let reference = reference(request)?;
        let name = order.as_str();
        let ordered = DunningOrder {
            client: &self.writer,
            tables: &self.tables,
            command: order.command(),
            command_id: format!("{name}:{}", self.entropy.ulid(now)),
            origin: Origin {
                who: &format!("operator:{who}"),
                correlation_id: reference.as_deref().unwrap_or(id),
            },
            now,
            new_id: &|| self.entropy.ulid(now),
        };
        let carried = ordered.carry_out(id).await.map_err(|error| {
            let error = chain(&error);
            tracing::error!(subscription.id = %id, error, "Order `{name}` for `{id}` failed");
            Problem::busy(RETRY_AFTER_S)
        })?;
        let row = standing_after(carried)?;
        tracing::info!(subscription.id = %id, order = name, "Carried out `{name}` for `{id}`");
        Ok(Answer::of(id, Some(row.standing()), now).uncached())
    }

    async fn operator(&self, request: &Request, now: DateTime<Utc>) -> Result<String, Problem> {
        match self.callers(request, now).await {
            Ok((_, Caller::Operator(name))) => Ok(name),
            Ok((_, Caller::App(_))) => {
                let detail = "This needs the token of an operator.";
                Err(Problem::new(403, "operators_only", detail))
            }
            Err(Unknown::Refused(problem)) => Err(problem),
            Err(Unknown::NotRead(error)) => {
                let error = chain(error.as_ref());
                tracing::error!(error, "Refused an order: the tokens could not be read");
                Err(Problem::busy(RETRY_AFTER_S))
            }
        }
    }
}

impl Order {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Restore => "restore",
            Self::Release => "release",
        }
    }

    fn command(self) -> Command {
        match self {
            Self::Pause => Command::Order(Access::Paused),
            Self::Restore => Command::Order(Access::Granted),
            Self::Release => Command::LeaveToRules,
        }
    }
}

/// The row as the order left it, or found it.
fn standing_after(carried: Carried) -> Result<Dunning, Problem> {
    match carried {
        Carried::Moved(transition) => Ok(transition.after),
        Carried::Rejected(Rejection::Already, row) => Ok(*row),
        Carried::Rejected(
            Rejection::Stale | Rejection::TooEarly(_) | Rejection::InFlight(_) | Rejection::Nothing,
            _,
        ) => Err(Problem::new(
            409,
            "not_now",
            "The order does not fit what stands.",
        )),
        Carried::Missing => Err(Problem::new(
            404,
            "no_such_subscription",
            "Nothing is known of this subscription: it is not in dunning.",
        )),
        Carried::Contended | Carried::Guarded(_) => Err(Problem::busy(RETRY_AFTER_S)),
    }
}

fn reference(request: &Request) -> Result<Option<String>, Problem> {
    if request.body.is_empty() {
        return Ok(None);
    }
    let reference = request.json::<Remarks>()?.reference;
    let fits = |text: &String| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.#".contains(letter);
        let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
        begins && text.len() <= REFERENCE_BYTES_MAX && text.chars().all(plain)
    };
    match reference {
        Some(text) if !fits(&text) => Err(Problem::field(
            "reference",
            "invalid_reference",
            "The number of a ticket: a letter first, then letters, digits, and - _ . #, 40 at most.",
        )),
        reference => Ok(reference),
    }
}
