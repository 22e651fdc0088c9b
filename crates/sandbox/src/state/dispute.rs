//! A dispute, and what may become of it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A Dispute: the customer's bank wants the money back, or asks about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Dispute {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) charge: String,
    pub(crate) payment_intent: String,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) reason: String,
    pub(crate) status: DisputeStatus,
    pub(crate) due_by: DateTime<Utc>,
    /// The withdrawal and the reinstatement, as far as they happened.
    pub(crate) movements: Vec<Movement>,
}

/// Money that a dispute moved out of the balance (below zero) or back, and the provider's fee.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Movement {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) amount: i64,
    pub(crate) fee: i64,
}

impl Dispute {
    /// Returns how much is withdrawn now.
    pub(crate) fn withdrawn(&self) -> i64 {
        -self.movements.iter().map(|it| it.amount).sum::<i64>()
    }

    pub(crate) fn fees(&self) -> i64 {
        self.movements.iter().map(|it| it.fee).sum()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DisputeStatus {
    WarningNeedsResponse,
    WarningUnderReview,
    WarningClosed,
    NeedsResponse,
    UnderReview,
    Prevented,
    Won,
    Lost,
}

impl DisputeStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WarningNeedsResponse => "warning_needs_response",
            Self::WarningUnderReview => "warning_under_review",
            Self::WarningClosed => "warning_closed",
            Self::NeedsResponse => "needs_response",
            Self::UnderReview => "under_review",
            Self::Prevented => "prevented",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }

    /// Whether it is an inquiry, which moves no money.
    pub(crate) fn is_inquiry(self) -> bool {
        match self {
            Self::WarningNeedsResponse | Self::WarningUnderReview | Self::WarningClosed => true,
            Self::NeedsResponse | Self::UnderReview | Self::Prevented | Self::Won | Self::Lost => {
                false
            }
        }
    }

    /// Whether nothing more can become of it.
    pub(crate) fn is_closed(self) -> bool {
        match self {
            Self::WarningNeedsResponse
            | Self::WarningUnderReview
            | Self::NeedsResponse
            | Self::UnderReview => false,
            Self::WarningClosed | Self::Prevented | Self::Won | Self::Lost => true,
        }
    }

    /// Whether the bank has the money, so that a refund would pay twice.
    pub(crate) fn bars_refunds(self) -> bool {
        match self {
            Self::NeedsResponse | Self::UnderReview | Self::Lost => true,
            Self::WarningNeedsResponse
            | Self::WarningUnderReview
            | Self::WarningClosed
            | Self::Prevented
            | Self::Won => false,
        }
    }

    /// Returns what a dispute in this status may become. An inquiry may become a dispute.
    pub(crate) fn followers(self) -> &'static [Self] {
        match self {
            Self::WarningNeedsResponse => &[
                Self::WarningUnderReview,
                Self::WarningClosed,
                Self::NeedsResponse,
                Self::Prevented,
            ],
            Self::WarningUnderReview => {
                &[Self::WarningClosed, Self::NeedsResponse, Self::Prevented]
            }
            Self::NeedsResponse => &[Self::UnderReview, Self::Prevented, Self::Won, Self::Lost],
            Self::UnderReview => &[Self::Prevented, Self::Won, Self::Lost],
            Self::WarningClosed | Self::Prevented | Self::Won | Self::Lost => &[],
        }
    }
}
