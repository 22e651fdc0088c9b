//! One town: the cloud with every function of the template installed, and the provider beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use local_cloud::{CloudError, LocalCloud, Options};
use sandbox::Sandbox;

use crate::local_provider::sandbox_for;
use crate::local_secrets::{
    DUNNING_SIGNING_SECRET, GATEKEEPER_TOKENS, GateTokens, LINK_SECRET, SIGNING_SECRET,
    TOKENS_SECRET, Tokens, set_local_secrets,
};
use crate::provider_door::{Kinds, ProviderDoor};

const TEMPLATE: &str = include_str!("../../../template.yaml");

/// The file of the provider's state, beside the cloud's own files.
const SANDBOX_FILE: &str = "sandbox.json";
/// What the local cloud writes first: without it, the folder is new.
const CLOUD_FILE: &str = "cloud.json";

/// What a fleet is made from.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// Where everything is served, without a slash at the end. Nothing has to listen there.
    pub base_url: String,
    /// The first instant, unless the saved state is later.
    pub start: DateTime<Utc>,
    /// Decides every id and every random number.
    pub seed: u64,
    /// A folder that keeps everything; in memory when absent.
    pub state: Option<PathBuf>,
    /// Parameters of the template that differ from those for local use.
    pub parameters: BTreeMap<String, String>,
    /// JSON that replaces the built-in venue.
    pub venue: Option<String>,
    /// JSON that replaces the built-in policy of dunning.
    pub dunning_policy: Option<String>,
}

impl FleetOptions {
    /// In memory, with the built-in venue and policy.
    pub fn starting(start: DateTime<Utc>) -> Self {
        Self {
            base_url: "http://127.0.0.1:8787".to_owned(),
            start,
            seed: 0,
            state: None,
            parameters: BTreeMap::new(),
            venue: None,
            dunning_policy: None,
        }
    }

    /// The parameters for local use, under those that were given.
    fn all_parameters(&self) -> BTreeMap<String, String> {
        let base_url = &self.base_url;
        let mut parameters = BTreeMap::from(
            [
                ("Stage", "dev".to_owned()),
                ("TeamEmail", "front-of-house@example.com".to_owned()),
                ("SenderEmail", "no-reply@example.com".to_owned()),
                ("ProviderUrl", format!("{base_url}/stripe")),
                ("ReturnUrl", format!("{base_url}/url/bdc-cashier/paid")),
                ("Livemode", "false".to_owned()),
                ("Venue", self.venue.clone().unwrap_or_default()),
                ("Dunning", "on".to_owned()),
                ("BillingSenderEmail", "billing@anchor.example".to_owned()),
                (
                    "DunningPolicy",
                    self.dunning_policy.clone().unwrap_or_default(),
                ),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        parameters.extend(self.parameters.clone());
        parameters
    }
}

/// The fleet could not be started or saved.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error(transparent)]
    Cloud(#[from] CloudError),
    #[error("the provider's state in `{path}` can't be used: {problem}")]
    ProviderState { path: String, problem: String },
}

/// The running fleet. Clones are handles to the same one.
#[derive(Clone)]
pub struct Fleet {
    pub cloud: LocalCloud,
    pub sandbox: Arc<Sandbox>,
    base_url: String,
    sandbox_file: Option<PathBuf>,
    kinds: Arc<Kinds>,
}

impl Fleet {
    /// Builds the cloud from the template, or opens what is in the folder, and installs everything.
    ///
    /// # Errors
    /// A state that can't be used, or a function that refuses its configuration.
    pub fn start(options: FleetOptions) -> Result<Self, FleetError> {
        let sandbox_file = options.state.as_ref().map(|dir| dir.join(SANDBOX_FILE));
        let is_new = options
            .state
            .as_ref()
            .is_none_or(|dir| !dir.join(CLOUD_FILE).exists());
        let parameters = options.all_parameters();
        let cloud_options = Options {
            parameters: parameters.clone(),
            base_url: options.base_url.clone(),
            start: options.start,
            seed: options.seed,
            state: options.state,
        };
        let cloud = LocalCloud::from_template(TEMPLATE, cloud_options)?;
        if is_new {
            set_local_secrets(&cloud);
            if cloud.functions().iter().any(|name| name == "dunr-mailer") {
                put_local_assets(&cloud)?;
            }
        }
        let sandbox = sandbox_for(&cloud, &options.base_url, &parameters, options.seed);
        let fleet = Self {
            cloud,
            sandbox: Arc::new(sandbox),
            base_url: options.base_url,
            sandbox_file,
            kinds: Arc::default(),
        };
        fleet.restore_sandbox()?;
        fleet.cloud.attach(Arc::new(ProviderDoor {
            base_url: format!("{}/stripe", fleet.base_url),
            sandbox: Arc::clone(&fleet.sandbox),
            kinds: Arc::clone(&fleet.kinds),
        }));
        fleet.install()?;
        Ok(fleet)
    }

    /// Whether a function is deployed: each system can be switched off.
    pub fn has(&self, function: &str) -> bool {
        self.cloud.functions().iter().any(|name| name == function)
    }

    fn install(&self) -> Result<(), CloudError> {
        if self.has("bdc-intake") {
            self.install_booking()?;
        }
        if self.has("dunr-retrier") {
            self.install_dunning()?;
        }
        Ok(())
    }

    fn install_booking(&self) -> Result<(), CloudError> {
        self.cloud.install::<bdc_intake::Intake>()?;
        self.cloud.install::<bdc_webhook::Webhook>()?;
        self.cloud.install::<bdc_cashier::Cashier>()?;
        self.cloud.install::<bdc_composer::Composer>()?;
        self.cloud.install::<bdc_release_sweep::ReleaseSweep>()?;
        self.cloud.install::<bdc_settle_sweep::SettleSweep>()?;
        self.cloud.install::<bdc_escalator::Escalator>()?;
        self.cloud.install::<bdc_optout::Optout>()?;
        self.cloud.install_as::<relay::Relay>("bdc-relay")
    }

    fn install_dunning(&self) -> Result<(), CloudError> {
        self.cloud.install::<dunr_webhook::Webhook>()?;
        self.cloud.install::<dunr_scheduler::Scheduler>()?;
        self.cloud.install::<dunr_retrier::Retrier>()?;
        self.cloud.install::<dunr_mailer::Mailer>()?;
        self.cloud.install::<dunr_gatekeeper::Gatekeeper>()?;
        self.cloud.install::<dunr_portal::Portal>()?;
        self.cloud.install::<dunr_feedback::Feedback>()?;
        self.cloud.install::<dunr_sweep::Sweep>()?;
        self.cloud.install::<dunr_summary::MonthlySummary>()?;
        self.cloud.install_as::<relay::Relay>("dunr-relay")
    }

    /// The address that everything is served at, without a slash at the end.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The address of a function's URL, with a slash at the end.
    pub fn url(&self, function: &str) -> String {
        format!("{}/url/{function}/", self.base_url)
    }

    /// The tokens as the secret has them now.
    pub fn tokens(&self) -> Tokens {
        Tokens::of(&self.secret(TOKENS_SECRET))
    }

    /// The key that signs customers' links.
    pub fn link_key(&self) -> String {
        self.secret(LINK_SECRET)
    }

    /// The gatekeeper's tokens as the secret has them now.
    pub fn gate_tokens(&self) -> GateTokens {
        GateTokens::of(&self.secret(GATEKEEPER_TOKENS))
    }

    /// As [`Fleet::rotate_signing_secret`], for the webhook of dunning.
    pub fn rotate_dunning_signing_secret(&self, new: &str) {
        self.cloud.set_secret(DUNNING_SIGNING_SECRET, new);
        self.sandbox
            .set_endpoint_secrets("dunr-webhook", vec![new.to_owned()]);
    }

    /// Gives the booking webhook's signing secret a new value on both sides.
    ///
    /// The provider signs with the new one alone from now on, also what waits; the fleet keeps the
    /// old one as its previous version.
    pub fn rotate_signing_secret(&self, new: &str) {
        self.cloud.set_secret(SIGNING_SECRET, new);
        self.sandbox.set_signing_secrets(vec![new.to_owned()]);
    }

    /// Gives the signing secret of a webhook a new value in the fleet alone: the provider signs with the
    /// old one until it is told, as while a secret is rolled by hand.
    pub fn expect_signing_secret(&self, webhook: &str, new: &str) {
        let secret = match webhook {
            "dunr-webhook" => DUNNING_SIGNING_SECRET,
            _ => SIGNING_SECRET,
        };
        self.cloud.set_secret(secret, new);
    }

    /// The event type of one of the provider's latest deliveries, by its id.
    pub fn webhook_kind(&self, delivery: &str) -> Option<String> {
        self.kinds.of(delivery)
    }

    /// The file that keeps the provider's state, if there is a folder for it.
    pub fn sandbox_file(&self) -> Option<&Path> {
        self.sandbox_file.as_deref()
    }

    fn secret(&self, name: &str) -> String {
        self.cloud.secrets().remove(name).unwrap_or_default()
    }

    fn restore_sandbox(&self) -> Result<(), FleetError> {
        let Some(path) = self.sandbox_file.as_ref().filter(|path| path.exists()) else {
            return Ok(());
        };
        let problem = |problem: String| FleetError::ProviderState {
            path: path.display().to_string(),
            problem,
        };
        let bytes = std::fs::read(path).map_err(|error| problem(error.to_string()))?;
        let snapshot =
            serde_json::from_slice(&bytes).map_err(|error| problem(error.to_string()))?;
        self.sandbox
            .restore(snapshot)
            .map_err(|error| problem(error.to_string()))
    }
}

/// The bucket of the mails' templates, in the local cloud's account.
const ASSETS_BUCKET: &str = "dunr-assets-000000000000";

/// Puts the built-in templates where an operator would. The logo is an empty file, so it is not there:
/// the mailer must do without, as it must for any operator.
fn put_local_assets(cloud: &LocalCloud) -> Result<(), CloudError> {
    let files = copywriter::dunning::built_in_files().into_iter();
    for (key, text) in files.filter(|(_, text)| !text.trim().is_empty()) {
        cloud.put_object(ASSETS_BUCKET, &key, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{Request, Response};
    use serde_json::{Value, json};

    use super::*;

    fn start() -> DateTime<Utc> {
        DateTime::from_timestamp(1_782_000_000, 0).unwrap()
    }

    async fn book(fleet: &Fleet, starts_at: &str) -> Value {
        let body = json!({"resource": "table-4", "starts_at": starts_at, "party": 2, "name": "Ada",
            "phone": "07700 900123", "source": "form"});
        let request = Request::post("/bookings")
            .header("authorization", format!("Bearer {}", fleet.tokens().form))
            .header("content-type", "application/json")
            .body(Bytes::from(body.to_string()))
            .unwrap();
        let answer = fleet.cloud.call_url("bdc-intake", request).await;
        assert_eq!(answer.status(), 201, "{:?}", answer.body());
        serde_json::from_slice(answer.body()).unwrap()
    }

    /// Opens the provider's page as a customer does, and pays there.
    async fn pay(fleet: &Fleet, booking: &Value) -> Response<Bytes> {
        let link = booking["pay_url"].as_str().unwrap();
        let path = link.strip_prefix(&fleet.url("bdc-cashier")).unwrap();
        let request = Request::post(format!("/{path}"))
            .body(Bytes::new())
            .unwrap();
        let answer = fleet.cloud.call_url("bdc-cashier", request).await;
        let page = answer.headers()["location"].to_str().unwrap().to_owned();
        let form = Bytes::from_static(b"card=4242424242424242&expiry=12%2F40&cvc=123");
        let request = Request::post(page).body(form).unwrap();
        fleet.sandbox.page(request, fleet.cloud.clock().now())
    }

    fn state_of(fleet: &Fleet, booking: &Value) -> String {
        let rows = fleet.cloud.table("bdc-bookings").unwrap();
        let row = rows
            .iter()
            .find(|row| row["booking_id"] == booking["booking_id"])
            .unwrap();
        row["state"].as_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_booking_is_asked_for_its_deposit_paid_and_confirmed() {
        let fleet = Fleet::start(FleetOptions::starting(start())).unwrap();
        let booking = book(&fleet, "2026-07-11T20:00").await;
        fleet.cloud.settle().await;
        let texts = fleet.cloud.messages();
        assert!(texts[0].text.contains(booking["pay_url"].as_str().unwrap()));
        assert_eq!(pay(&fleet, &booking).await.status(), 303);
        fleet.cloud.settle().await;
        assert_eq!(state_of(&fleet, &booking), "CONFIRMED");
        let kinds: Vec<_> = fleet
            .cloud
            .messages()
            .into_iter()
            .map(|it| it.kind)
            .collect();
        assert_eq!(kinds, ["deposit_request", "confirmation"]);
        assert_eq!(fleet.cloud.denied(), []);
    }

    #[tokio::test]
    async fn a_rotated_signing_secret_is_believed() {
        let fleet = Fleet::start(FleetOptions::starting(start())).unwrap();
        let booking = book(&fleet, "2026-07-11T20:00").await;
        fleet.rotate_signing_secret("whsec_rotated");
        pay(&fleet, &booking).await;
        fleet.cloud.settle().await;
        assert_eq!(state_of(&fleet, &booking), "CONFIRMED");
    }

    #[test]
    fn each_system_can_be_alone() {
        for (off, kept) in [("Booking", "dunr-retrier"), ("Dunning", "bdc-intake")] {
            let off = BTreeMap::from([(off.to_owned(), "off".to_owned())]);
            let options = FleetOptions {
                parameters: off,
                ..FleetOptions::starting(start())
            };
            assert!(Fleet::start(options).unwrap().has(kept));
        }
    }

    #[test]
    fn another_venue_is_checked_at_the_start() {
        let options = FleetOptions {
            venue: Some("{}".to_owned()),
            ..FleetOptions::starting(start())
        };
        let error = Fleet::start(options).err().unwrap();
        assert!(matches!(
            error,
            FleetError::Cloud(CloudError::Configuration { .. })
        ));
    }
}
