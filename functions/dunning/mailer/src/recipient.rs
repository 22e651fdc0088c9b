//! Whom a mail goes to: an address that came back or complained gets none.

use lambda_kit::Failure;
use paidonce_core::dunning::Dunning;
use paidonce_core::dunning::mail::MailKind;
use paidonce_core::dunning::suppression::{Suppressed, suppression_key};
use paidonce_core::planted::{self, Defect};
use paidonce_core::step::read;

use crate::Mailer;

impl Mailer {
    /// The customer's first address that takes mail, or the team's; nothing if there is none.
    pub(crate) async fn recipient(
        &self,
        row: &Dunning,
        kind: MailKind,
    ) -> Result<Option<String>, Failure> {
        if !kind.is_to_customer() {
            return Ok(Some(self.team_email.clone()));
        }
        for address in [&row.email, &row.second_email].into_iter().flatten() {
            let key = suppression_key(address);
            let suppressed = read::<Suppressed>(&self.dynamodb, &self.suppression_table, &key);
            if suppressed.await?.is_none() || planted::is(Defect::SuppressionIgnored) {
                return Ok(Some(address.as_str().to_owned()));
            }
        }
        Ok(None)
    }
}
