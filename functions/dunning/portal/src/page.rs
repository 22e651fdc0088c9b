//! The pages that a customer sees: the amount and a button, an offer of a fresh link, or a notice.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use guest_page::{LINK_INVALID, Pages};
use lambda_kit::Reply;
use minijinja::context;
use paidonce_core::dunning::{Command, Dunning, Rejection, Status, decide};

use crate::{Link, Portal};

static PAGES: LazyLock<Pages> = LazyLock::new(|| {
    Pages::new(&[
        ("card", include_str!("pages/card.html")),
        ("again", include_str!("pages/again.html")),
    ])
});

/// How a genuine link stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Fine,
    Expired,
    /// A newer mail has a newer link.
    Newer,
    Used,
    Paid,
    /// Nothing is to be paid any more, for another reason than that it was paid.
    NothingOpen,
    Cancelled,
}

/// A page without anything to do on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    Paid,
    NothingOpen,
    Cancelled,
    FreshLinkComes,
    LinkInvalid,
    Busy,
    Refused,
}

impl Standing {
    pub(crate) fn of(row: &Dunning, no: u32, expired: bool, now: DateTime<Utc>) -> Self {
        if row.status == Status::Cancelled {
            return Self::Cancelled;
        }
        if row.current().is_none() {
            let mut ends = row.invoices.values().filter_map(|debt| debt.end.as_ref());
            return match ends.any(|end| end.how.is_paid()) {
                true => Self::Paid,
                false => Self::NothingOpen,
            };
        }
        match decide(row, Command::SpendLink { no }, now) {
            Err(Rejection::Stale) if row.link.no == no => Self::Used,
            Err(Rejection::Stale) => Self::Newer,
            _ if expired => Self::Expired,
            Ok(_)
            | Err(
                Rejection::Already
                | Rejection::TooEarly(_)
                | Rejection::InFlight(_)
                | Rejection::Nothing,
            ) => Self::Fine,
        }
    }
}

impl Notice {
    fn words(self) -> guest_page::Notice {
        let (status, title, text) = match self {
            Self::LinkInvalid => return LINK_INVALID,
            Self::Paid => (
                200,
                "All paid",
                "Thank you. Your payment has gone through, and there is nothing left to do.",
            ),
            Self::NothingOpen => (
                200,
                "Nothing to pay",
                "There is no open payment any more, and nothing left to do.",
            ),
            Self::Cancelled => (
                410,
                "This subscription has ended",
                "It needs no card any more. If you have a question, please get in touch with us.",
            ),
            Self::FreshLinkComes => (
                200,
                "Look into your mail",
                "If there is something to pay, a fresh link is on its way to the mail address that we have of you. It can take a few minutes.",
            ),
            Self::Busy => (
                503,
                "One moment, please",
                "We could not do that just now. Nothing was charged. Please go back and try again.",
            ),
            Self::Refused => (
                502,
                "We can't open the card page",
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

impl Portal {
    pub(crate) fn notice(&self, notice: Notice) -> Reply {
        let reply = PAGES.notice(&self.policy.business.name, notice.words());
        match notice {
            Notice::Busy => reply.with_header("retry-after", "5".to_owned()),
            Notice::Paid
            | Notice::NothingOpen
            | Notice::Cancelled
            | Notice::FreshLinkComes
            | Notice::LinkInvalid
            | Notice::Refused => reply,
        }
    }

    pub(crate) fn page(&self, link: &Link, row: &Dunning, standing: Standing) -> Reply {
        match standing {
            Standing::Fine => self.card(row),
            Standing::Expired => self.again(
                link,
                (410, "This link has expired"),
                "Links work for some days only. We gladly send you a fresh one.",
            ),
            Standing::Newer => self.again(
                link,
                (410, "There is a newer link"),
                "A later mail of ours has a newer link, and only the newest one works. If you can't find it, we gladly send you a fresh one.",
            ),
            Standing::Used => self.again(
                link,
                (410, "This link has been used"),
                "A link works once. If you have given us another card, we try it by ourselves. If not, we gladly send you a fresh link.",
            ),
            Standing::Paid => self.notice(Notice::Paid),
            Standing::NothingOpen => self.notice(Notice::NothingOpen),
            Standing::Cancelled => self.notice(Notice::Cancelled),
        }
    }

    /// The provider did not answer. It may keep its failure under this link's key, so there is a way
    /// out by another link.
    pub(crate) fn busy(&self, link: &Link) -> Reply {
        let reply = self.again(
            link,
            (503, "One moment, please"),
            "We could not open the card page just now. Nothing was charged. Please go back and try again in a minute; if that does not help, use a fresh link.",
        );
        reply.with_header("retry-after", "60".to_owned())
    }

    fn card(&self, row: &Dunning) -> Reply {
        let business = &self.policy.business;
        let amount = row.current().map(|(_, debt)| debt.amount.display());
        let facts = context! {
            venue => business.name,
            title => "Give us another card",
            product => business.product,
            amount => amount.unwrap_or_default(),
        };
        PAGES.render("card", 200, facts)
    }

    fn again(&self, link: &Link, (status, title): (u16, &str), text: &str) -> Reply {
        let facts = context! {
            venue => self.policy.business.name,
            title,
            text,
            // Relative to the link itself, wherever this function is served.
            action => format!("{}/fresh?{}", link.no, link.query),
        };
        PAGES.render("again", status, facts)
    }
}
