//! What becomes of mails, and of the account that sends them, as tests decide it.

use std::sync::PoisonError;

use crate::LocalCloud;
use crate::services::{self, MailAccount, MailFate};

impl LocalCloud {
    /// Lets a mail that was sent arrive, bounce or be complained about, for all of its recipients.
    ///
    /// SES publishes that to the topics of the mail's configuration set. Their functions run at the
    /// next settlement. Returns how many topics were told: 0 when there is no such mail, and when
    /// nobody wants to know.
    pub fn decide_mail(&self, id: &str, fate: MailFate) -> usize {
        services::tell_fate(&self.0, id, fate)
    }

    /// What SES says of the account from now on.
    pub fn set_mail_account(&self, account: MailAccount) {
        *self
            .0
            .mail_account
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = account;
    }
}
