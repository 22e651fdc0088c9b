//! What a customer may do behind the signed link: see the booking, move it, call it off.
//!
//! GET shows a page and changes nothing, so a scanner may follow the link. A POST acts once; repeated,
//! late or beside another one it leads to the page, which says how things stand.

use chrono::{DateTime, Utc};
use guest_page::{LINK_EXPIRED, LINK_INVALID, Notice, verified};
use lambda_kit::{Failure, Reply, Request};
use paidonce_core::booking::{Booking, CancelledBy, Command, Rejection};
use paidonce_core::carry_out::Done;
use paidonce_core::link::{LinkError, Purpose};
use paidonce_core::step::read;

use crate::Intake;
use crate::api::start;
use crate::carrying::By;
use crate::manage_page::{News, PAGES, View};

/// How a customer stands in the audit.
const WHO: &str = "customer:link";

/// What the customer's browser asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    Look,
    Cancel,
    Move,
}

impl Intake {
    pub(crate) async fn manage(
        &self,
        visit: Visit,
        id: &str,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        match verified(&self.link_key, Purpose::Manage, id, request, now).await? {
            Ok(()) => {}
            Err(LinkError::Expired) => return Ok(self.notice(LINK_EXPIRED)),
            Err(LinkError::Forged) => return Ok(self.notice(LINK_INVALID)),
        }
        let booking = read::<Booking>(&self.dynamodb, &self.tables.bookings, id).await?;
        let Some(booking) = booking else {
            return Ok(self.notice(LINK_INVALID));
        };
        match visit {
            Visit::Look => self.look(booking, request, now).await,
            Visit::Cancel => self.call_off(id, request, now).await,
            Visit::Move => self.move_by_customer(booking, request, now).await,
        }
    }

    fn notice(&self, notice: Notice) -> Reply {
        let reply = PAGES.notice(&self.venue.name, notice);
        match notice.status {
            503 => reply.with_header("retry-after", "5".to_owned()),
            _ => reply,
        }
    }

    async fn look(
        &self,
        booking: Booking,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let news = request.query("done").and_then(News::of_done);
        let view = View {
            booking: &booking,
            query: &query(request),
            news,
            is_answer: false,
        };
        self.page(view, now).await
    }

    async fn call_off(
        &self,
        id: &str,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let by = CancelledBy::Customer;
        let command = Command::Cancel {
            by,
            reason: String::new(),
        };
        let command_id = format!("cancel:{id}:{}", by.as_str());
        let done = self.order(id, command, command_id, WHO, now).await?;
        self.answer_to(done, News::Cancelled, None, request, now)
            .await
    }

    async fn move_by_customer(
        &self,
        booking: Booking,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let id = booking.booking_id.clone();
        let wall = request.form("starts_at").unwrap_or_default();
        let wanted = start(&wall, self.venue.zone, now)
            .and_then(|at| self.wanted(&booking.place.resource, at.utc, booking.party, now));
        let wanted = wanted
            .ok()
            .filter(|it| self.asks_no_more(it.resource, &booking, it.starts_at));
        let Some(wanted) = wanted else {
            let view = View {
                booking: &booking,
                query: &query(request),
                news: Some(News::NoSuchTime),
                is_answer: true,
            };
            return self.page(view, now).await;
        };
        let by = By {
            who: WHO,
            side: CancelledBy::Customer,
        };
        let done = self.move_to(&id, wanted, by, now).await?;
        self.answer_to(done, News::Moved, Some(booking), request, now)
            .await
    }

    /// What was done leads to the page by a redirect, so that a reload repeats nothing; what was not
    /// is said on the page itself.
    async fn answer_to(
        &self,
        done: Done,
        news: News,
        seen: Option<Booking>,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let (booking, refused) = match done {
            Done::Moved(booking) | Done::Rejected(Rejection::Already, booking) => {
                let (id, query) = (&booking.booking_id, query(request));
                let back = format!("../{id}?{query}&done={}", news.as_str());
                return Ok(Reply::see_other(&back));
            }
            Done::Rejected(_, booking) => (*booking, News::TooLate),
            Done::Taken(_) => match seen {
                Some(booking) => (booking, News::JustTaken),
                None => return Ok(self.notice(BUSY)),
            },
            Done::Missing => return Ok(self.notice(LINK_INVALID)),
            Done::Contended => return Ok(self.notice(BUSY)),
        };
        let view = View {
            booking: &booking,
            query: &query(request),
            news: Some(refused),
            is_answer: true,
        };
        self.page(view, now).await
    }
}

/// Nothing was done, and the same click may do it.
const BUSY: Notice = Notice {
    status: 503,
    title: "One moment, please",
    text: "That did not go through just now, and nothing has changed. Please go back and try again.",
};

/// The link's own query: genuine, so it holds nothing that would have to be escaped.
fn query(request: &Request) -> String {
    let part = |name| request.query(name).unwrap_or_default();
    format!("exp={}&sig={}", part("exp"), part("sig"))
}
