//! A dispute as the provider knows it.

use serde::{Deserialize, Serialize};

/// Where a dispute stands. In order, so that the greater of two reports is the truth, in whichever
/// order they arrive. A warning is an inquiry: no money has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisputeStatus {
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
    /// Whether nothing more is expected to come of it.
    pub fn is_over(self) -> bool {
        match self {
            Self::WarningNeedsResponse
            | Self::WarningUnderReview
            | Self::NeedsResponse
            | Self::UnderReview => false,
            Self::WarningClosed | Self::Prevented | Self::Won | Self::Lost => true,
        }
    }

    /// Whether it is an inquiry, which moves no money.
    pub fn is_warning(self) -> bool {
        match self {
            Self::WarningNeedsResponse | Self::WarningUnderReview | Self::WarningClosed => true,
            Self::NeedsResponse | Self::UnderReview | Self::Prevented | Self::Won | Self::Lost => {
                false
            }
        }
    }
}
