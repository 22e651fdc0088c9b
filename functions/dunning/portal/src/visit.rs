//! Sending a customer to the provider's card page.

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Function, Reply, Request, count};
use paidonce_core::dunning::{Carried, Command, Dunning, Rejection};
use provider::{Answer, NewPortal, PortalSession, Refusal, Secret};

use crate::page::{Notice, Standing};
use crate::{Link, Portal};

impl Portal {
    pub(crate) async fn use_link(
        &self,
        id: &str,
        no: &str,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let (link, row, standing) = match self.standing(id, no, request, now).await? {
            Ok(found) => found,
            Err(notice) => return Ok(self.notice(notice)),
        };
        match standing {
            Standing::Fine => self.open(&link, &row, now).await,
            Standing::Expired
            | Standing::Newer
            | Standing::Used
            | Standing::Paid
            | Standing::NothingOpen
            | Standing::Cancelled => Ok(self.page(&link, &row, standing)),
        }
    }

    /// The same link gets the same visit, however often it is clicked: the key is the link's own.
    async fn open(&self, link: &Link, row: &Dunning, now: DateTime<Utc>) -> Result<Reply, Failure> {
        let id = &link.subscription_id;
        let portal = &NewPortal {
            customer: &row.customer_id,
            return_url: &self.policy.business.return_url,
            idempotency_key: &format!("dunr-portal-{id}-{}", link.no),
        };
        let visit = match self.ask(portal, now).await? {
            Answer::Done(visit) => visit,
            Answer::Refused(refusal) => return Ok(self.refused(link, &refusal)),
            Answer::Unknown(doubt) => {
                tracing::warn!(subscription.id = %id, ?doubt, "The card page of `{id}` was not answered");
                return Ok(self.busy(link));
            }
        };
        match self
            .order(link, Command::SpendLink { no: link.no }, now)
            .await?
        {
            Carried::Moved(_) | Carried::Rejected(Rejection::Already, _) => {
                Ok(Reply::see_other(&visit.url))
            }
            Carried::Rejected(
                Rejection::Stale
                | Rejection::TooEarly(_)
                | Rejection::InFlight(_)
                | Rejection::Nothing,
                row,
            ) => Ok(self.page(link, &row, Standing::of(&row, link.no, false, now))),
            Carried::Missing => Ok(self.notice(Notice::LinkInvalid)),
            Carried::Guarded(_) | Carried::Contended => Ok(self.busy(link)),
        }
    }

    fn refused(&self, link: &Link, refusal: &Refusal) -> Reply {
        count(Self::NAME, "portal_refused", 1);
        let id = &link.subscription_id;
        let code = refusal.code.as_ref().unwrap_or(&refusal.kind);
        tracing::error!(subscription.id = %id, code, param = refusal.param, "No card page for `{id}`");
        // The key was used with another return address: another link has another key.
        match refusal.kind == "idempotency_error" {
            true => self.busy(link),
            false => self.notice(Notice::Refused),
        }
    }

    /// Asks the provider, a second time if the key may just have been rolled: what was not let in
    /// was not begun.
    async fn ask(
        &self,
        portal: &NewPortal<'_>,
        now: DateTime<Utc>,
    ) -> Result<Answer<PortalSession>, Failure> {
        let secret = self.provider_key.get(now).await?;
        let key = Secret::new(secret.current());
        let answer = self.provider.portal_session(&key, portal).await;
        let is_locked_out =
            matches!(&answer, Answer::Refused(refusal) if refusal.status == Some(401));
        if !is_locked_out {
            return Ok(answer);
        }
        let fresh = self.provider_key.refreshed(now).await?;
        if fresh.current() == secret.current() {
            return Ok(answer);
        }
        let key = Secret::new(fresh.current());
        Ok(self.provider.portal_session(&key, portal).await)
    }
}
