//! What an app hears of a subscription.

use chrono::{DateTime, Utc};
use lambda_kit::{Reply, count};
use paidonce_core::dunning::Access;
use paidonce_core::dunning::access::Standing;
use paidonce_core::local_time::stamp;
use serde::Serialize;

use crate::entitlement::{ENTITLEMENT_KEY_BYTES_MIN, entitlement};

/// The status of a subscription that never failed to pay: only those in dunning have a row.
const UNKNOWN: &str = "unknown";
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    pub subscription_id: String,
    pub access: Access,
    /// A status of the row, or `unknown`.
    pub status: &'static str,
    pub as_of: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entitlement: Option<String>,
    /// It was given because the row could not be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
    #[serde(skip)]
    now: DateTime<Utc>,
}

impl Answer {
    pub fn of(subscription_id: &str, standing: Option<Standing>, now: DateTime<Utc>) -> Self {
        Self {
            subscription_id: subscription_id.to_owned(),
            access: standing.map_or(Access::Granted, Standing::access),
            status: standing.map_or(UNKNOWN, |standing| standing.status.as_str()),
            as_of: stamp(now),
            entitlement: None,
            degraded: false,
            now,
        }
    }

    /// `granted`, since nothing could be read.
    pub fn without_knowledge(subscription_id: &str, now: DateTime<Utc>) -> Self {
        Self {
            degraded: true,
            ..Self::of(subscription_id, None, now)
        }
    }

    /// Adds the signed entitlement, if the customer is let in. A key that is none signs nothing: the
    /// answer itself is worth more than its signature.
    #[must_use]
    pub fn signed(mut self, key: &str, valid_hours: u32) -> Self {
        if self.access == Access::Paused {
            return self;
        }
        if key.len() >= ENTITLEMENT_KEY_BYTES_MIN {
            self.entitlement = entitlement(&self.subscription_id, key, self.now, valid_hours).ok();
        }
        if self.entitlement.is_none() {
            count("dunr-gatekeeper", "unsigned", 1);
            tracing::warn!("Answered without an entitlement: its key is missing or too short");
        }
        self
    }

    /// The reply, with how long the app may go on with it.
    pub fn reply(&self, cache_seconds: u32) -> Reply {
        let mut reply = Reply::json(200, self);
        reply.headers = vec![
            ("cache-control", format!("private, max-age={cache_seconds}")),
            ("vary", "authorization".to_owned()),
        ];
        reply
    }

    /// The reply to an order, which nobody keeps.
    pub fn uncached(&self) -> Reply {
        Reply::json(200, self)
    }
}
