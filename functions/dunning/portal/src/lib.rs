//! `dunr-portal`: the page behind the signed link of a mail, on which a customer gives another card.
//!
//! Triggered by its Function URL. Touches the subscription's row (the link alone), the log and the
//! outbox, and reaches the provider with a key that can open its card page and nothing else. GET
//! shows a page and changes nothing, so a scanner may follow the link as often as it likes. POST
//! opens a visit at the provider, notes the link as used, and sends the customer there. If a POST
//! comes twice, or two run at once, the key is the same, so the provider opens one visit; a link is
//! used up ten minutes after it was first used, or once a newer mail is sent. An answer that did not
//! come leaves the link as it was.

mod page;
mod visit;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use guest_page::verified;
use lambda_kit::{
    ConfigError, Entropy, Failure, Function, Problem, Reply, Request, SecretCache, Setup, decoded,
    serve,
};
use paidonce_core::booking_step::Origin;
use paidonce_core::dunning::policy::{BUILT_IN, Policy};
use paidonce_core::dunning::{Carried, Command, Dunning, DunningOrder, DunningTables};
use paidonce_core::link::{LinkError, Purpose};
use paidonce_core::step::read;
use provider::Provider;
use serde_json::Value;

use crate::page::{Notice, Standing};

/// The largest body that is read, in bytes: the page's forms are empty.
const BODY_BYTES_MAX: usize = 4 * 1024;

pub struct Portal {
    dynamodb: Client,
    tables: DunningTables,
    provider: Provider,
    provider_key: SecretCache,
    link_key: SecretCache,
    policy: Policy,
    entropy: Entropy,
}

/// A link as its address says it.
pub(crate) struct Link {
    pub(crate) subscription_id: String,
    pub(crate) no: u32,
    /// `exp` and `sig`, for a form that needs them again.
    pub(crate) query: String,
}

impl Function for Portal {
    const NAME: &'static str = "dunr-portal";

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let environment = &setup.environment;
        let policy = environment.optional("DUNNING_POLICY");
        let policy =
            Policy::from_json(policy.as_deref().unwrap_or(BUILT_IN)).map_err(ConfigError)?;
        let url = environment.text("PROVIDER_URL");
        let api_version = environment.text("PROVIDER_API_VERSION");
        environment.check(Self {
            dynamodb: lambda_kit::client!(aws_sdk_dynamodb, &setup.aws),
            tables: DunningTables::named(|name| environment.text(name)),
            provider: Provider::new(&setup.aws, &url, &api_version),
            provider_key: SecretCache::new(&setup.aws, environment.text("PROVIDER_SECRET")),
            link_key: SecretCache::new(&setup.aws, environment.text("LINK_SECRET")),
            policy,
            entropy: setup.entropy.clone(),
        })
    }

    async fn handle(&self, event: Value, now: DateTime<Utc>) -> Result<Value, Failure> {
        let respond = |request| async move { self.respond(&request, now).await };
        serve(event, BODY_BYTES_MAX, respond).await
    }
}

impl Portal {
    async fn respond(&self, request: &Request, now: DateTime<Utc>) -> Result<Reply, Failure> {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method.as_str(), path.as_slice()) {
            ("GET" | "HEAD", ["card", id, no]) => self.show(id, no, request, now).await,
            ("POST", ["card", id, no]) => self.use_link(id, no, request, now).await,
            ("POST", ["card", id, no, "fresh"]) => self.fresh(id, no, request, now).await,
            _ => Err(Problem::new(404, "not_found", "There is nothing here.").into()),
        }
    }

    async fn show(
        &self,
        id: &str,
        no: &str,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let (link, row, standing) = match self.standing(id, no, request, now).await? {
            Ok(found) => found,
            Err(notice) => return Ok(self.notice(notice)),
        };
        Ok(self.page(&link, &row, standing))
    }

    /// How a genuine link stands. A forged one learns nothing, not even whether there is such a
    /// subscription.
    pub(crate) async fn standing(
        &self,
        id: &str,
        no: &str,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Result<(Link, Dunning, Standing), Notice>, Failure> {
        let (link, expired) = match self.genuine(id, no, request, now).await? {
            Some(found) => found,
            None => return Ok(Err(Notice::LinkInvalid)),
        };
        let row =
            read::<Dunning>(&self.dynamodb, &self.tables.dunning, &link.subscription_id).await?;
        Ok(row.ok_or(Notice::LinkInvalid).map(|row| {
            let standing = Standing::of(&row, link.no, expired, now);
            (link, row, standing)
        }))
    }

    /// The link if we signed it, and whether its time is over.
    async fn genuine(
        &self,
        id: &str,
        no: &str,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Option<(Link, bool)>, Failure> {
        let subscription_id = decoded(id);
        let Ok(number) = no.parse() else {
            return Ok(None);
        };
        let subject = format!("{subscription_id}/{no}");
        let verdict = verified(&self.link_key, Purpose::Card, &subject, request, now).await?;
        let part = |name| request.query(name).unwrap_or_default();
        let link = Link {
            subscription_id,
            no: number,
            query: format!("exp={}&sig={}", part("exp"), part("sig")),
        };
        Ok(match verdict {
            Ok(()) => Some((link, false)),
            Err(LinkError::Expired) => Some((link, true)),
            Err(LinkError::Forged) => None,
        })
    }

    /// Orders a mail with a fresh link. The answer is always the same: it goes to the address that
    /// we have, and whoever holds an old link learns nothing.
    async fn fresh(
        &self,
        id: &str,
        no: &str,
        request: &Request,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        let Some((link, _)) = self.genuine(id, no, request, now).await? else {
            return Ok(self.notice(Notice::LinkInvalid));
        };
        let command = Command::AskForLink { no: link.no };
        Ok(match self.order(&link, command, now).await? {
            Carried::Moved(_) | Carried::Rejected(..) | Carried::Missing => {
                self.notice(Notice::FreshLinkComes)
            }
            Carried::Guarded(_) | Carried::Contended => self.notice(Notice::Busy),
        })
    }

    pub(crate) async fn order(
        &self,
        link: &Link,
        command: Command,
        now: DateTime<Utc>,
    ) -> Result<Carried, Failure> {
        let new_id = || self.entropy.ulid(now);
        let order = DunningOrder {
            client: &self.dynamodb,
            tables: &self.tables,
            command,
            command_id: format!("link:{}", new_id()),
            origin: Origin {
                who: Self::NAME,
                correlation_id: &link.subscription_id,
            },
            now,
            new_id: &new_id,
        };
        Ok(order.carry_out(&link.subscription_id).await?)
    }
}
