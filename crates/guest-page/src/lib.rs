//! The pages behind a customer's signed links: one frame, notices, and who may see them.
//!
//! A function brings the pages of its own; each extends `frame` and escapes what it is given.

mod door;

use lambda_kit::Reply;
use minijinja::{AutoEscape, Environment, Value, context};
use paidonce_core::money::{Currency, Money};

pub use door::verified;

/// A function's pages.
#[derive(Debug)]
pub struct Pages(Environment<'static>);

/// A page without anything to do on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    pub status: u16,
    pub title: &'static str,
    pub text: &'static str,
}

/// What a link that has run out leads to.
pub const LINK_EXPIRED: Notice = Notice {
    status: 410,
    title: "This link has expired",
    text: "Please use the link in our latest message, or get in touch with us.",
};

/// What a forged link leads to, and one to a booking that is not there: they must look the same.
pub const LINK_INVALID: Notice = Notice {
    status: 404,
    title: "This link does not work",
    text: "Please open it again exactly as it stands in our message.",
};

impl Pages {
    /// Takes the pages of a function, each with the name that it is rendered by.
    ///
    /// # Panics
    /// If a page is not well-formed. They are compiled in, so a test that renders each of them is
    /// enough.
    #[must_use]
    pub fn new(own: &[(&'static str, &'static str)]) -> Self {
        let mut pages = Environment::new();
        pages.set_auto_escape_callback(|_| AutoEscape::Html);
        pages.add_filter("money", money);
        let shared = [
            ("frame", include_str!("frame.html")),
            ("notice", include_str!("notice.html")),
        ];
        for (name, text) in shared.iter().chain(own) {
            #[expect(clippy::expect_used, reason = "see # Panics")]
            pages
                .add_template(name, text)
                .expect("the page is well-formed");
        }
        Self(pages)
    }

    /// Renders a page; one that can't be is an empty page and a line in the log.
    #[must_use]
    pub fn render(&self, page: &str, status: u16, facts: Value) -> Reply {
        let rendered = self
            .0
            .get_template(page)
            .and_then(|page| page.render(facts));
        match rendered {
            Ok(html) => Reply::html(status, html),
            Err(error) => {
                tracing::error!(%error, "A page could not be rendered");
                Reply::html(500, String::new())
            }
        }
    }

    /// Renders a notice.
    #[must_use]
    pub fn notice(&self, venue: &str, notice: Notice) -> Reply {
        let Notice {
            status,
            title,
            text,
        } = notice;
        self.render("notice", status, context! { venue, title, text })
    }
}

/// An amount as rows have it, as people read it.
fn money(stored: &Value) -> String {
    let minor = stored.get_attr("amount").ok().and_then(|it| it.as_i64());
    let currency = stored.get_attr("currency").ok();
    let currency = currency.and_then(|it| it.as_str()?.parse::<Currency>().ok());
    match (minor, currency) {
        (Some(minor), Some(currency)) => {
            Money::new(minor, currency).map_or_else(|_| "?".to_owned(), Money::display)
        }
        (Some(_) | None, _) => "not known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_in_the_frame_and_escapes_what_it_is_given() {
        let reply = Pages::new(&[]).notice("<The> Anchor", LINK_INVALID);
        assert_eq!(reply.status, 404);
        assert!(reply.body.contains("&lt;The&gt; Anchor"), "{}", reply.body);
        assert!(reply.body.contains(LINK_INVALID.title));
    }

    #[test]
    fn an_amount_is_written_as_people_read_it() {
        let pages = Pages::new(&[("sum", "{{ it | money }}")]);
        let sum = |it: Value| pages.render("sum", 200, context! { it }).body;
        assert_eq!(
            sum(context! { amount => 2050, currency => "GBP" }),
            "£20.50"
        );
        assert_eq!(sum(Value::from(())), "not known");
    }

    #[test]
    fn a_page_that_is_not_there_is_an_empty_500() {
        let reply = Pages::new(&[]).render("none", 200, context! {});
        assert_eq!((reply.status, reply.body.as_str()), (500, ""));
    }
}
