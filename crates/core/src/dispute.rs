//! A dispute as the provider knows it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::money::Money;

/// One dispute of one payment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    pub amount: Money,
    /// The bank's reason, such as `fraudulent`.
    pub reason: String,
    pub status: DisputeStatus,
    pub opened_at: DateTime<Utc>,
    /// Until when evidence can be handed in.
    pub due_by: Option<DateTime<Utc>>,
    /// What the provider took from the account for it, its fee apart.
    pub withdrawn: Option<Money>,
    /// What it gave back.
    pub reinstated: Option<Money>,
    pub fee: Option<Money>,
    /// What it gave back of the fee.
    #[serde(default)]
    pub fee_returned: Option<Money>,
    #[serde(default)]
    pub withdrawn_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub reinstated_at: Option<DateTime<Utc>>,
    /// When it reached the status that it ended in.
    #[serde(default)]
    pub closed_at: Option<DateTime<Utc>>,
}

impl Dispute {
    /// Whether the bank has the payment's money, for now or for good.
    pub fn takes_money(&self) -> bool {
        match self.status {
            DisputeStatus::NeedsResponse | DisputeStatus::UnderReview | DisputeStatus::Lost => true,
            DisputeStatus::WarningNeedsResponse
            | DisputeStatus::WarningUnderReview
            | DisputeStatus::WarningClosed
            | DisputeStatus::Prevented
            | DisputeStatus::Won => false,
        }
    }

    /// What two reports say together, in whichever order they came.
    pub(crate) fn merged(&self, other: &Self) -> Self {
        let later = if other.status > self.status {
            other
        } else {
            self
        };
        let more = |one: Option<Money>, two: Option<Money>| match (one, two) {
            (Some(one), Some(two)) if two.minor() > one.minor() => Some(two),
            (Some(one), Some(_) | None) => Some(one),
            (None, two) => two,
        };
        let first = |one: Option<DateTime<Utc>>, two: Option<DateTime<Utc>>| match (one, two) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        let closed_at = match self.status == other.status {
            true => first(self.closed_at, other.closed_at),
            false => later.closed_at,
        };
        Self {
            amount: later.amount,
            reason: later.reason.clone(),
            status: later.status,
            opened_at: self.opened_at.min(other.opened_at),
            due_by: later.due_by.or(self.due_by).or(other.due_by),
            withdrawn: more(self.withdrawn, other.withdrawn),
            reinstated: more(self.reinstated, other.reinstated),
            fee: more(self.fee, other.fee),
            fee_returned: more(self.fee_returned, other.fee_returned),
            withdrawn_at: first(self.withdrawn_at, other.withdrawn_at),
            reinstated_at: first(self.reinstated_at, other.reinstated_at),
            closed_at,
        }
    }
}

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
    pub fn as_str(self) -> &'static str {
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

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;
    use crate::money::Currency;

    fn at(hour: u32) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 7, 1, hour, 0, 0).unwrap()
    }

    fn dispute(status: DisputeStatus, withdrawn: Option<i64>) -> Dispute {
        let gbp = |minor| Money::new(minor, Currency::GBP).unwrap();
        Dispute {
            amount: gbp(2000),
            reason: status.as_str().to_owned(),
            status,
            opened_at: at(2),
            due_by: None,
            withdrawn: withdrawn.map(gbp),
            reinstated: None,
            fee: None,
            fee_returned: None,
            withdrawn_at: None,
            reinstated_at: None,
            closed_at: None,
        }
    }

    #[test]
    fn of_two_reports_the_later_status_counts_and_the_larger_sum() {
        use DisputeStatus::{Lost, NeedsResponse};
        let early = dispute(NeedsResponse, Some(2000));
        let late = dispute(Lost, Some(500));
        for merged in [early.merged(&late), late.merged(&early)] {
            let withdrawn = merged.withdrawn.map(Money::minor);
            let said = (merged.status, merged.reason.as_str(), withdrawn);
            assert_eq!(said, (Lost, "lost", Some(2000)));
        }
        let unsaid = dispute(Lost, None);
        assert_eq!(unsaid.merged(&early).withdrawn, early.withdrawn);
        assert_eq!(early.merged(&unsaid).withdrawn, early.withdrawn);
        assert_eq!(unsaid.merged(&unsaid).withdrawn, None);
    }

    #[test]
    fn a_dispute_is_closed_when_its_last_status_was_first_heard_of() {
        let closed = |status, hour| Dispute {
            closed_at: Some(at(hour)),
            ..dispute(status, None)
        };
        use DisputeStatus::{Lost, Won};
        let (won, lost, lost_again) = (closed(Won, 3), closed(Lost, 5), closed(Lost, 4));
        assert_eq!(won.merged(&lost).closed_at, Some(at(5)));
        assert_eq!(lost.merged(&won).closed_at, Some(at(5)));
        assert_eq!(lost.merged(&lost_again).closed_at, Some(at(4)));
        assert_eq!(dispute(Lost, None).merged(&lost).closed_at, Some(at(5)));
    }

    #[test]
    fn of_two_reports_of_one_status_the_one_that_is_here_stands() {
        let here = dispute(DisputeStatus::Lost, Some(2000));
        let again = Dispute {
            reason: "general".to_owned(),
            ..here.clone()
        };
        assert_eq!(here.merged(&again).reason, "lost");
    }
}
