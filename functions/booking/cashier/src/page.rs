//! The pages that a customer sees: terms and amount, or a notice.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use guest_page::{LINK_EXPIRED, LINK_INVALID, Pages};
use lambda_kit::Reply;
use minijinja::{Value, context};
use paidonce_core::booking::{Booking, Rejection, State};
use paidonce_core::local_time::human;
use paidonce_core::terms;

use crate::Cashier;

static PAGES: LazyLock<Pages> =
    LazyLock::new(|| Pages::new(&[("pay", include_str!("pages/pay.html"))]));

/// A page without anything to do on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    ThankYou,
    AlreadyPaid,
    UnderWay,
    Checking,
    HoldEnded,
    LinkExpired,
    LinkInvalid,
    Busy,
    Refused,
}

impl Notice {
    /// What to tell a customer whose click came to nothing.
    pub(crate) fn of(rejection: Rejection, booking: &Booking) -> Self {
        match rejection {
            Rejection::TooLate if is_under_way(booking) => Self::UnderWay,
            Rejection::Already => Self::AlreadyPaid,
            Rejection::TooLate => Self::HoldEnded,
            Rejection::Overtaken(State::Confirmed | State::Applied | State::Forfeited) => {
                Self::AlreadyPaid
            }
            Rejection::Overtaken(State::Released | State::Cancelled) => Self::HoldEnded,
            // Another click took another attempt.
            Rejection::Overtaken(State::Pending) => Self::Busy,
            Rejection::Frozen => Self::Checking,
            Rejection::TooEarly(_) | Rejection::NotThatMuch => Self::Busy,
        }
    }

    fn words(self) -> guest_page::Notice {
        let (status, title, text) = match self {
            Self::LinkExpired => return LINK_EXPIRED,
            Self::LinkInvalid => return LINK_INVALID,
            Self::ThankYou => (
                200,
                "Thank you",
                "We confirm your booking by text as soon as the payment is through. You can close this page.",
            ),
            Self::AlreadyPaid => (
                200,
                "All paid",
                "The deposit for this booking is paid. There is nothing left to do.",
            ),
            Self::UnderWay => (
                200,
                "Payment under way",
                "Your payment is on its way. We text you as soon as it has arrived.",
            ),
            Self::Checking => (
                200,
                "We are checking your payment",
                "A payment for this booking has reached us, and one of us is looking at it. There is nothing to pay for now; we get in touch with you.",
            ),
            Self::HoldEnded => (
                410,
                "This hold has ended",
                "We no longer hold this for you. Please book again. If you have paid a moment ago, we get in touch with you.",
            ),
            Self::Busy => (
                503,
                "One moment, please",
                "We could not open the payment page just now. Nothing was charged. Please go back and try again.",
            ),
            Self::Refused => (
                502,
                "We can't take this payment",
                "Something is wrong on our side, and we have been told. Nothing was charged. Please get in touch with us.",
            ),
        };
        guest_page::Notice {
            status,
            title,
            text,
        }
    }
}

impl Cashier {
    pub(crate) fn notice(&self, notice: Notice) -> Reply {
        let reply = PAGES.notice(&self.venue.name, notice.words());
        match notice {
            Notice::Busy => reply.with_header("retry-after", "5".to_owned()),
            Notice::ThankYou
            | Notice::AlreadyPaid
            | Notice::UnderWay
            | Notice::Checking
            | Notice::HoldEnded
            | Notice::LinkExpired
            | Notice::LinkInvalid
            | Notice::Refused => reply,
        }
    }

    /// The terms and a button, or why there is nothing to pay.
    pub(crate) fn pay_page(&self, booking: &Booking, now: DateTime<Utc>) -> Reply {
        match booking.state {
            State::Pending if is_under_way(booking) => self.notice(Notice::UnderWay),
            State::Pending if booking.owed().minor() == 0 => self.notice(Notice::Checking),
            State::Pending if now < booking.deposit_deadline => {
                PAGES.render("pay", 200, self.facts(booking))
            }
            State::Pending | State::Released | State::Cancelled => self.notice(Notice::HoldEnded),
            State::Confirmed | State::Applied | State::Forfeited => {
                self.notice(Notice::AlreadyPaid)
            }
        }
    }

    fn facts(&self, booking: &Booking) -> Value {
        let zone = booking.place.zone;
        context! {
            venue => self.venue.name,
            title => "Pay your deposit",
            what => booking.place.label,
            party => booking.party,
            starts => human(booking.place.starts_at, zone),
            deadline => human(booking.deposit_deadline, zone),
            deposit => booking.owed().display(),
            terms => terms::shown(booking),
        }
    }
}

/// Whether the customer has paid by a way that takes days.
fn is_under_way(booking: &Booking) -> bool {
    let awaited = booking.funds.as_ref().is_some_and(|funds| funds.awaited);
    booking.state == State::Pending && awaited
}
