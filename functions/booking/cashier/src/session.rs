//! Opening a payment session in three phases: intend, call, record.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use lambda_kit::{Failure, Function, Reply, Request, count};
use paidonce_core::booking::{Booking, Command, OpenedSession, Rejection, Session};
use paidonce_core::booking_step::Origin;
use paidonce_core::carry_out::{Done, Order};
use paidonce_core::local_time::human;
use paidonce_core::planted::{self, Defect};
use provider::{Answer, NewSession, Reason, Refusal, Secret};

use crate::Cashier;
use crate::jobs::Page;
use crate::page::Notice;

impl Cashier {
    /// Sends the customer to a session that is open, or opens one.
    pub(crate) async fn open_session(
        &self,
        booking: Booking,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let intent = format!("session:{}:{}", booking.booking_id, self.entropy.ulid(now));
        let booking = match self
            .order(booking, Command::IntendSession, intent, now)
            .await?
        {
            Done::Moved(booking) | Done::Rejected(Rejection::Already, booking) => booking,
            Done::Rejected(rejection, booking) => {
                return Ok(self.notice(Notice::of(rejection, &booking)));
            }
            Done::Missing => return Ok(self.notice(Notice::LinkInvalid)),
            Done::Taken(_) | Done::Contended => return Ok(self.notice(Notice::Busy)),
        };
        match booking.session.clone() {
            Some(Session {
                opened: Some(opened),
                ..
            }) => Ok(Reply::see_other(&opened.url)),
            Some(session) => self.mint(*booking, &session, request, now).await,
            None => Err("a session was intended and is not there".into()),
        }
    }

    async fn mint(
        &self,
        booking: Booking,
        session: &Session,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let booking = match self.close_replaced(booking, session, now).await? {
            Ok(booking) => booking,
            Err(notice) => return Ok(self.notice(notice)),
        };
        let mut idempotency_key = format!("deposit:{}:{}", booking.booking_id, session.attempt);
        if planted::is(Defect::SessionKeyPerTry) {
            idempotency_key.push_str(&self.entropy.ulid(now).to_string());
        }
        let description = self.description(&booking);
        let success_url = self.success_url(request);
        let new = &NewSession {
            booking_id: &booking.booking_id,
            description: &description,
            amount: booking.owed(),
            expires_at: session.expires_at,
            success_url: &success_url,
            cancel_url: None,
            metadata: BTreeMap::new(),
            idempotency_key: &idempotency_key,
        };
        let answer = self
            .ask(now, |key| async move {
                self.provider.create_session(&key, new).await
            })
            .await?;
        let opened = match answer {
            Answer::Done(opened) => opened,
            Answer::Refused(refusal) => return self.refused(booking, session, &refusal, now).await,
            Answer::Unknown(doubt) => {
                tracing::warn!(booking.id = %booking.booking_id, ?doubt, "The payment page of booking `{}` was not answered", booking.booking_id);
                // The provider keeps a 5xx under the key and would repeat it all day. Whatever it
                // made has an address that nobody was told.
                if matches!(doubt.reason, Reason::Status(500..)) {
                    self.spend(booking, session, now).await?;
                }
                return Ok(self.notice(Notice::Busy));
            }
        };
        let Some(url) = opened.url else {
            return Ok(self.notice(Notice::Busy));
        };
        let record = Command::RecordSession {
            attempt: session.attempt,
            opened: OpenedSession {
                session_id: opened.id,
                url: url.clone(),
            },
        };
        let command_id = format!("opened:{}:{}", booking.booking_id, session.attempt);
        // If this is not written, the next click asks again under the same key and learns the same.
        match self.order(booking, record, command_id, now).await? {
            Done::Moved(_) | Done::Rejected(Rejection::Already, _) => Ok(Reply::see_other(&url)),
            Done::Rejected(rejection, booking) => Ok(self.notice(Notice::of(rejection, &booking))),
            Done::Missing | Done::Taken(_) | Done::Contended => Ok(self.notice(Notice::Busy)),
        }
    }

    /// What the customer sees where the provider opens no page.
    async fn refused(
        &self,
        booking: Booking,
        session: &Session,
        refusal: &Refusal,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let too_small = refusal.code.as_deref() == Some("amount_too_small");
        if too_small && booking.kept().minor() > 0 {
            // So little is missing that no card pays it: the team has the case.
            return Ok(self.notice(Notice::Checking));
        }
        count(Self::NAME, "session_refused", 1);
        let code = refusal.code.as_ref().unwrap_or(&refusal.kind);
        tracing::error!(booking.id = %booking.booking_id, code, param = refusal.param, "No payment page for booking `{}`", booking.booking_id);
        if refusal.kind == "idempotency_error" {
            self.spend(booking, session, now).await?;
            return Ok(self.notice(Notice::Busy));
        }
        Ok(self.notice(Notice::Refused))
    }

    /// Makes sure that the page before this one takes no money any more: the provider's clock is
    /// not ours.
    async fn close_replaced(
        &self,
        booking: Booking,
        session: &Session,
        now: DateTime<Utc>,
    ) -> Result<Result<Booking, Notice>, Failure> {
        let Some(replaced) = &session.replaces else {
            return Ok(Ok(booking));
        };
        let page = self.close(replaced, now).await?;
        match page {
            page @ Page::Closed => match self.note_page(booking, replaced, page, now).await? {
                Some(booking) => Ok(Ok(booking)),
                None => Ok(Err(Notice::Busy)),
            },
            Page::Unknown => Ok(Err(Notice::Busy)),
            page @ Page::Paid { .. } => {
                self.note_page(booking, replaced, page, now).await?;
                Ok(Err(Notice::UnderWay))
            }
        }
    }

    /// Asks the provider, a second time if the key may just have been rolled: what was not let in
    /// was not begun.
    pub(crate) async fn ask<T, Fut: Future<Output = Answer<T>>>(
        &self,
        now: DateTime<Utc>,
        call: impl Fn(Secret) -> Fut,
    ) -> Result<Answer<T>, Failure> {
        let secret = self.provider_key.get(now).await?;
        let answer = call(Secret::new(secret.current())).await;
        let is_locked_out =
            matches!(&answer, Answer::Refused(refusal) if refusal.status == Some(401));
        if !is_locked_out {
            return Ok(answer);
        }
        let fresh = self.provider_key.refreshed(now).await?;
        if fresh.current() == secret.current() {
            return Ok(answer);
        }
        Ok(call(Secret::new(fresh.current())).await)
    }

    async fn spend(
        &self,
        booking: Booking,
        session: &Session,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let attempt = session.attempt;
        let command_id = format!("spent:{}:{attempt}", booking.booking_id);
        let spent = self
            .order(booking, Command::SpendSession { attempt }, command_id, now)
            .await?;
        match spent {
            Done::Moved(_) | Done::Rejected(..) | Done::Missing => Ok(()),
            Done::Taken(_) | Done::Contended => Err("others kept writing".into()),
        }
    }

    pub(crate) async fn order(
        &self,
        booking: Booking,
        command: Command,
        command_id: String,
        now: DateTime<Utc>,
    ) -> Result<Done, Failure> {
        let booking_id = booking.booking_id.clone();
        let order = Order {
            client: &self.dynamodb,
            tables: &self.tables,
            command,
            command_id,
            origin: Origin {
                who: Self::NAME,
                correlation_id: &booking_id,
            },
            now,
            new_id: &|| self.entropy.ulid(now),
        };
        Ok(order.carry_out_on(booking).await?)
    }

    /// What the customer reads at the provider. If it changes between two clicks, the provider
    /// refuses the key, and the next click takes another attempt.
    fn description(&self, booking: &Booking) -> String {
        let starts = human(booking.place.starts_at, booking.place.zone);
        format!(
            "Deposit: {} at {}, {starts}",
            booking.place.label, self.venue.name
        )
    }

    fn success_url(&self, request: &Request) -> String {
        self.return_url
            .clone()
            .unwrap_or_else(|| format!("https://{}/paid", request.domain))
    }
}
