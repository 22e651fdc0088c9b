//! What the stories of dunning have in common.

use fleet_tests::{DunningMail, Subscriber, Town};

/// Monday 30 November 2026, 09:00 in London: the next business days are plain ones.
pub const MONDAY: &str = "2026-11-30T09:00:00Z";
/// A card that always pays.
pub const GOOD_CARD: &str = "4242424242424242";
/// Another one, of another bank.
pub const OTHER_CARD: &str = "4000056655665556";

/// A town on a Monday morning, with a subscriber whose first period is paid.
pub async fn with_subscriber() -> (Town, Subscriber) {
    let town = Town::of_dunning(MONDAY);
    let subscriber = town.subscriber(GOOD_CARD).await;
    (town, subscriber)
}

/// The mails that went to customers: the team's monthly summary is none.
pub fn customers_mails(town: &Town) -> Vec<DunningMail> {
    let mails = town.dunning_mails().into_iter();
    mails.filter(|mail| mail.kind != "summary").collect()
}
