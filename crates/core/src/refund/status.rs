//! A refund as the provider knows it.

use serde::{Deserialize, Serialize};

/// Where a refund stands at the provider. In order: what comes later in life is greater, so that
/// the greater of two reports is the truth, in whichever order they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundStatus {
    Pending,
    RequiresAction,
    Succeeded,
    /// The money came back: also after it succeeded.
    Canceled,
    Failed,
}

impl RefundStatus {
    /// Whether the money went to the customer, or is on its way.
    pub fn is_live(self) -> bool {
        match self {
            Self::Pending | Self::RequiresAction | Self::Succeeded => true,
            Self::Canceled | Self::Failed => false,
        }
    }
}
