//! A refund, and what may become of it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::Metadata;

/// A Refund. It counts against its charge as long as it is live.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Refund {
    pub(crate) id: String,
    pub(crate) created: DateTime<Utc>,
    pub(crate) charge: String,
    pub(crate) payment_intent: String,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) reason: Option<String>,
    pub(crate) metadata: Metadata,
    #[serde(default)]
    pub(crate) status: RefundStatus,
    /// Nothing as long as no money has left the balance.
    pub(crate) balance_transaction: Option<String>,
    #[serde(default)]
    pub(crate) failure_reason: Option<String>,
    /// How the money came back to the balance.
    #[serde(default)]
    pub(crate) failure_balance_transaction: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefundStatus {
    Pending,
    RequiresAction,
    #[default]
    Succeeded,
    Failed,
    Canceled,
}

impl RefundStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::RequiresAction => "requires_action",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// Whether the money is with the customer, or on its way.
    pub(crate) fn is_live(self) -> bool {
        match self {
            Self::Pending | Self::RequiresAction | Self::Succeeded => true,
            Self::Failed | Self::Canceled => false,
        }
    }

    /// Returns what a refund in this status may become. A bank sends back even what has succeeded.
    pub(crate) fn followers(self) -> &'static [Self] {
        match self {
            Self::Pending => &[
                Self::RequiresAction,
                Self::Succeeded,
                Self::Failed,
                Self::Canceled,
            ],
            Self::RequiresAction => &[Self::Pending, Self::Succeeded, Self::Failed, Self::Canceled],
            Self::Succeeded => &[Self::Failed, Self::Canceled],
            Self::Failed | Self::Canceled => &[],
        }
    }
}

/// What becomes of refunds to a card; the test card says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefundCourse {
    #[default]
    AtOnce,
    /// Pending, and succeeded later.
    Later,
    /// Succeeded, and failed later.
    FailsLater,
}
