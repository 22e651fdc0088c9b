//! Whether the app lets a customer in, as far as an operator says so.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Access, AccessBy, Dunning, LogEvent, Rejection, Status, Transition};
use crate::planted::{self, Defect};

/// What is needed of a row to answer the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub status: Status,
    #[serde(default)]
    pub access: Option<Access>,
    #[serde(default)]
    pub access_by: Option<AccessBy>,
    #[serde(default)]
    pub paused_at: Option<DateTime<Utc>>,
}

impl Standing {
    /// The attributes of a row that it is read from.
    pub const ATTRIBUTES: [&'static str; 4] = ["status", "access", "access_by", "paused_at"];

    /// See [`Dunning::access`].
    pub fn access(self) -> Access {
        match (self.status, self.access, self.access_by) {
            (_, Some(access), _) if planted::is(Defect::PauseNotLifted) => access,
            (_, Some(access), Some(AccessBy::Operator)) => access,
            // Who leaves while access is paused does not get it back by that.
            (Status::Paused | Status::Cancelled, Some(access), _) if self.paused_at.is_some() => {
                access
            }
            (
                Status::Active
                | Status::Retrying
                | Status::Paused
                | Status::Recovered
                | Status::Cancelled,
                _,
                _,
            ) => Access::Granted,
        }
    }
}

impl Access {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Paused => "paused",
        }
    }
}

pub(super) fn order(
    row: &Dunning,
    mut to: Transition,
    ordered: Access,
) -> Result<Transition, Rejection> {
    if row.access == Some(ordered) && row.access_by == Some(AccessBy::Operator) {
        return Err(Rejection::Already);
    }
    to.after.access = Some(ordered);
    to.after.access_by = Some(AccessBy::Operator);
    let event = match ordered {
        Access::Granted => LogEvent::AccessRestored,
        Access::Paused => LogEvent::AccessPaused,
    };
    Ok(to.told(event, "ordered by an operator"))
}

pub(super) fn leave_to_rules(row: &Dunning, mut to: Transition) -> Result<Transition, Rejection> {
    if row.access_by != Some(AccessBy::Operator) {
        return Err(Rejection::Already);
    }
    let by_rules = match row.status {
        Status::Paused | Status::Cancelled if row.paused_at.is_some() => Access::Paused,
        Status::Active
        | Status::Retrying
        | Status::Paused
        | Status::Recovered
        | Status::Cancelled => Access::Granted,
    };
    let (access, event) = match by_rules {
        Access::Paused => (Access::Paused, LogEvent::AccessPaused),
        Access::Granted => (Access::Granted, LogEvent::AccessRestored),
    };
    to.after.access = Some(access);
    to.after.access_by = Some(AccessBy::Retrier);
    Ok(to.told(event, "left to the rules by an operator"))
}

/// The retrier's word, unless an operator has spoken.
pub(super) fn set(to: &mut Transition, access: Access) {
    if to.after.access_by != Some(AccessBy::Operator) {
        to.after.access = Some(access);
        to.after.access_by = Some(AccessBy::Retrier);
    }
}
