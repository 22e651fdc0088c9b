//! What a mail says: the facts of the claimed row, opened by a template or the model.

use chrono::{DateTime, TimeDelta, Utc};
use copywriter::dunning::{
    Assets, DunningFacts, Letter, Opening, check_opening, draft_opening, is_opened_by_model,
    letter, opening, plain_opening,
};
use lambda_kit::{Failure, Function, chain, count};
use paidonce_core::dunning::mail::{MailFacts, MailKind, claimed_facts};
use paidonce_core::dunning::{Access, Dunning};
use paidonce_core::link::{LinkKey, Purpose};

use crate::{Mailer, team};

impl Mailer {
    pub(crate) async fn signing_key(&self, now: DateTime<Utc>) -> Result<LinkKey, Failure> {
        let secret = self.link_key.get(now).await?;
        Ok(LinkKey::new(secret.current().as_bytes())?)
    }

    /// The mail as it is true of the claimed row.
    pub(crate) async fn letter(
        &self,
        row: &Dunning,
        no: u32,
        key: &LinkKey,
        assets: &Assets,
        now: DateTime<Utc>,
    ) -> Result<Letter, Failure> {
        let facts = claimed_facts(row, no).map_err(|no_mail| no_mail.as_str())?;
        if let MailKind::Team(reason) = facts.kind {
            return Ok(team::letter(row, reason, &facts));
        }
        let said = self.said(row, &facts, key, now);
        let template = self.opening(row, &said, assets);
        let opening = self.worded(row, &said, template, assets).await;
        let frame = assets.frame.as_deref();
        let letter = letter(&said, &opening, frame, assets.logo_url.as_deref());
        if letter.frame_is_broken {
            count(Self::NAME, "template_broken", 1);
            tracing::error!(
                "`templates/frame.html` makes no page or leaves facts out: the built-in one goes"
            );
        }
        Ok(letter)
    }

    fn said(
        &self,
        row: &Dunning,
        facts: &MailFacts,
        key: &LinkKey,
        now: DateTime<Utc>,
    ) -> DunningFacts {
        let business = &self.policy.business;
        let day = |at: DateTime<Utc>| {
            let there = at.with_timezone(&row.terms.zone);
            there.format("%A %-d %B").to_string()
        };
        DunningFacts {
            kind: facts.kind,
            business: business.name.clone(),
            product: business.product.clone(),
            support_email: business.support_email.as_str().to_owned(),
            postal_address: business.postal_address.clone(),
            name: row.name.clone().unwrap_or_default(),
            amount: facts.amount.display(),
            open_invoices: facts.open_invoices,
            next_charge: facts.next_charge_at.map(day),
            next_is_last: facts.next_is_last,
            access_paused: row.access() == Access::Paused,
            hosted_url: facts.hosted_url.clone().filter(|url| is_safe(url)),
            card_url: facts
                .kind
                .has_link()
                .then(|| self.card_url(row, facts.link_no, key, now)),
        }
    }

    fn card_url(&self, row: &Dunning, link_no: u32, key: &LinkKey, now: DateTime<Utc>) -> String {
        let subject = format!("{}/{link_no}", row.subscription_id);
        let until = now + TimeDelta::days(i64::from(row.terms.link_valid_days));
        let query = key.sign(Purpose::Card, &subject, until);
        format!("{}card/{subject}?{query}", self.portal_url)
    }

    fn opening(&self, row: &Dunning, said: &DunningFacts, assets: &Assets) -> Opening {
        let Some(template) = &assets.template else {
            return plain_opening(said);
        };
        opening(template, said).unwrap_or_else(|error| {
            count(Self::NAME, "template_broken", 1);
            let kind = said.kind.as_str();
            tracing::error!(subscription.id = %row.subscription_id, kind, %error, "`templates/{kind}.txt` is broken: the built-in one goes");
            plain_opening(said)
        })
    }

    /// The model's wording of an opening, if it may word it and its draft stands the check.
    async fn worded(
        &self,
        row: &Dunning,
        said: &DunningFacts,
        plain: Opening,
        assets: &Assets,
    ) -> Opening {
        if !is_opened_by_model(said.kind) {
            return plain;
        }
        let brief = assets.brief.as_deref();
        let draft = draft_opening(&self.bedrock, &self.model_id, said, &plain, brief).await;
        let checked = match draft {
            Ok(draft) => check_opening(&draft, said, &plain).map_err(|doubt| doubt.to_string()),
            Err(error) => Err(chain(&error)),
        };
        checked.unwrap_or_else(|doubt| {
            count(Self::NAME, "plain_wording", 1);
            let id = &row.subscription_id;
            tracing::warn!(subscription.id = %id, doubt, "Plain wording for subscription `{id}`");
            plain
        })
    }
}

/// Whether a provider's address may stand in a mail. Without TLS it may on this machine alone, where
/// a local fleet has its provider.
fn is_safe(url: &str) -> bool {
    let local = ["http://127.0.0.1:", "http://localhost:"];
    let is_line = !url.contains(|letter: char| letter.is_control() || letter.is_whitespace());
    is_line && (url.starts_with("https://") || local.iter().any(|it| url.starts_with(it)))
}
