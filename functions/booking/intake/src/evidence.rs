//! `GET /bookings/{id}/evidence`: what proves what happened, as JSON, or as a page to read and print.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use guest_page::Pages;
use lambda_kit::{Caller, Failure, Reply, Request};
use minijinja::context;
use paidonce_core::audit::history;
use paidonce_core::booking::Booking;
use paidonce_core::evidence::Sources;
use paidonce_core::refund::{PaymentRow, payment_key};
use paidonce_core::step::read;

use crate::Intake;
use crate::api::no_such_booking;
use crate::staff::staff_only;

static PAGES: LazyLock<Pages> =
    LazyLock::new(|| Pages::new(&[("evidence", include_str!("pages/evidence.html"))]));

impl Intake {
    pub(crate) async fn evidence(
        &self,
        id: &str,
        request: &Request,
        caller: &Caller,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        staff_only(caller)?;
        let booking = read::<Booking>(&self.dynamodb, &self.tables.bookings, id).await?;
        let booking = booking.ok_or_else(no_such_booking)?;
        let audit = history(&self.dynamodb, &self.tables.audit, id, "").await?;
        let mut payments = Vec::new();
        for paid in &booking.payments {
            let key = payment_key(&paid.payment_ref);
            let row = read::<PaymentRow>(&self.dynamodb, &self.payments_table, &key);
            payments.extend(row.await?);
        }
        let sources = Sources {
            venue: &self.venue.name,
            booking: &booking,
            audit: &audit,
            payments: &payments,
        };
        let document = sources.document(now);
        if !wants_page(request) {
            return Ok(Reply::json(200, &document));
        }
        let facts = context! {
            venue => self.venue.name,
            title => format!("Evidence for {id}"),
            it => document,
        };
        Ok(PAGES.render("evidence", 200, facts))
    }
}

/// A browser names HTML among what it accepts; a program that says nothing gets JSON.
fn wants_page(request: &Request) -> bool {
    let accept = request.header("accept").unwrap_or_default();
    accept.contains("text/html")
}
