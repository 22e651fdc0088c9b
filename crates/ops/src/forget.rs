//! Forgetting a person, by their phone: see [`paidonce_core::forget`] for what goes and what stays.
//!
//! Nothing is written while one of their bookings is still to come. After that each booking is a step
//! of its own, so a run that broke off is simply run again.

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use lambda_kit::{Entropy, SecretCache};
use paidonce_core::audit::Audit;
use paidonce_core::booking::{Booking, State};
use paidonce_core::booking_step::Origin;
use paidonce_core::carry_out::DECISIONS_MAX;
use paidonce_core::forget::{Refusal, forget, forget_step};
use paidonce_core::optout::{OptoutRow, hidden, subject};
use paidonce_core::phone::Phone;
use paidonce_core::step::{Found, Row, Step, Written, from_item, read, write};

use crate::OpsError;
use crate::tables::{Progress, Scan, Tables};

/// The secret that hides phones.
pub const PRIVACY_SALT: &str = "bdc-privacy-salt";

/// Who forgets, and by which means.
pub struct Forgetting<'a> {
    pub client: &'a Client,
    pub tables: &'a Tables,
    pub privacy_salt: &'a SecretCache,
    /// The operator's name, for the audit.
    pub by: &'a str,
    pub entropy: &'a Entropy,
    pub now: DateTime<Utc>,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What came of it.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was written: these are still to come.
    Standing(Vec<(String, State)>),
    Forgotten(Forgotten),
}

/// What was forgotten, or would be; nothing in it names the person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub bookings: Vec<String>,
    /// What they said about messages is kept under a form that only the salt can find.
    pub optout: bool,
}

impl Forgotten {
    pub fn is_nothing(&self) -> bool {
        self.bookings.is_empty() && !self.optout
    }
}

impl Forgetting<'_> {
    /// Forgets the person with this phone.
    ///
    /// # Errors
    /// If a table or the secret did not answer; what was done by then stays done, and a further run
    /// does the rest.
    pub async fn person(&self, phone: &Phone, progress: Progress<'_>) -> Result<Outcome, OpsError> {
        let mut bookings = Vec::new();
        let filter = "phone = :wanted";
        let table = &self.tables.bookings;
        let mut scan = Scan::of(self.client, table, filter, phone.e164().to_owned());
        while let Some(items) = scan.page(progress).await? {
            for item in items {
                bookings.push(from_item::<Booking>(item)?);
            }
        }
        let standing = standing(&bookings);
        if !standing.is_empty() {
            return Ok(Outcome::Standing(standing));
        }
        let mut forgotten = Forgotten {
            optout: self.hide(phone).await?,
            bookings: Vec::new(),
        };
        for booking in bookings {
            let id = booking.booking_id.clone();
            match self.booking(booking).await? {
                Ok(()) => forgotten.bookings.push(id),
                Err(Refusal::Already) => {}
                Err(Refusal::Standing(state)) => return Ok(Outcome::Standing(vec![(id, state)])),
            }
        }
        Ok(Outcome::Forgotten(forgotten))
    }

    /// Forgets one booking's person, deciding again while others move it.
    async fn booking(&self, mut booking: Booking) -> Result<Result<(), Refusal>, OpsError> {
        let order = format!("forget#{}", self.entropy.ulid(self.now));
        for _ in 0..DECISIONS_MAX {
            let after = match forget(&booking) {
                Ok(after) => after,
                Err(refusal) => return Ok(Err(refusal)),
            };
            if self.dry_run {
                return Ok(Ok(()));
            }
            let origin = Origin {
                who: &self.who(),
                correlation_id: &order,
            };
            let step = Step::new(self.entropy.ulid(self.now), order.as_str(), self.now);
            let tables = (self.tables.bookings.as_str(), self.tables.audit.as_str());
            let step = forget_step(step, tables, &booking, &after, origin);
            match write(self.client, &step).await? {
                Written::Applied => return Ok(Ok(())),
                Written::Contended => return Err(OpsError::Contended),
                Written::Stale(found) => match found.into_iter().find_map(of_booking) {
                    Some(row) => booking = from_item(row)?,
                    None => return Err(OpsError::Contended),
                },
            }
        }
        Err(OpsError::Contended)
    }

    /// Puts what the phone wants under its hidden form. `false`: it never said anything, or that is
    /// done.
    async fn hide(&self, phone: &Phone) -> Result<bool, OpsError> {
        let mut is_kept = false;
        for _ in 0..DECISIONS_MAX {
            let table = &self.tables.optout;
            let row = read::<OptoutRow>(self.client, table, phone.e164()).await?;
            let Some(row) = row else {
                return Ok(false);
            };
            let salt = self.privacy_salt.get(self.now).await?;
            let hidden = hidden(phone, salt.current())
                .map_err(|_| OpsError::WeakSalt(PRIVACY_SALT.to_owned()))?;
            if self.dry_run {
                return Ok(true);
            }
            let order = format!("forget#{}", self.entropy.ulid(self.now));
            let audit = Audit {
                subject: &subject(&hidden),
                who: &self.who(),
                what: "person forgotten",
                before: None,
                after: None,
                why: "on their own request".to_owned(),
                correlation_id: &order,
            };
            let step = Step::new(self.entropy.ulid(self.now), order.as_str(), self.now);
            let step = match is_kept {
                false => step.hide_wish(table, &row, &hidden),
                true => step.drop_wish(table, &row),
            };
            let step = step.audit(&self.tables.audit, audit);
            match write(self.client, &step).await? {
                Written::Applied => return Ok(true),
                Written::Contended => return Err(OpsError::Contended),
                // They texted in between, or a later wish is hidden already: look again.
                Written::Stale(found) => is_kept |= found.iter().any(|it| it.key == hidden),
            }
        }
        Err(OpsError::Contended)
    }

    fn who(&self) -> String {
        format!("operator {}", self.by)
    }
}

fn of_booking(found: Found) -> Option<paidonce_core::step::Item> {
    found.row.filter(|_| found.name == Booking::NAME)
}

fn standing(bookings: &[Booking]) -> Vec<(String, State)> {
    let refused = bookings.iter().filter_map(|booking| match forget(booking) {
        Err(Refusal::Standing(state)) => Some((booking.booking_id.clone(), state)),
        Err(Refusal::Already) | Ok(_) => None,
    });
    refused.collect()
}
