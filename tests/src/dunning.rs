//! Dunning seen from outside: a subscriber with a card, the mails that reach them, the app that asks
//! who is let in, and the provider's own books.

use bytes::Bytes;
use chrono::{DateTime, Duration, Utc};
use http::Request;
use local_cloud::{Message, Planned};
use paidonce_core::dunning::business_days::BusinessDays;
use paidonce_core::dunning::policy::{BUILT_IN, Policy};
use serde_json::{Value, json};

use crate::{Answer, Town};

/// The subscriber, unless a story says otherwise.
pub const SUBSCRIBER: &str = "Perpetua Featherstone";
pub const SUBSCRIBER_EMAIL: &str = "perpetua.featherstone@mail.example";

/// A subscriber whose first period is paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    pub customer_id: String,
    pub subscription_id: String,
    pub payment_method: String,
}

/// A mail about dunning, as it reached somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DunningMail {
    /// SES's id.
    pub id: String,
    /// The mail tag `kind`.
    pub kind: String,
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
    /// Addresses in the text, in order.
    pub links: Vec<String>,
    pub at: DateTime<Utc>,
}

impl DunningMail {
    fn of(message: Message) -> Self {
        let mail = message.mail.unwrap_or_default();
        let words = message.text.split_whitespace();
        let links = words
            .filter(|word| word.starts_with("http"))
            .map(|word| word.trim_end_matches(['.', ',', ')', '>', ']']).to_owned());
        Self {
            links: links.collect(),
            id: message.id,
            kind: message.kind,
            to: message.to,
            subject: message.subject,
            text: message.text,
            html: mail.html.unwrap_or_default(),
            at: message.at,
        }
    }

    /// The link to the page of another card.
    pub fn card_link(&self) -> Option<&str> {
        let mut links = self.links.iter();
        links
            .find(|link| link.contains("/url/dunr-portal/card/"))
            .map(String::as_str)
    }
}

/// The built-in policy of dunning, changed.
pub fn dunning_policy(change: impl FnOnce(&mut Value)) -> String {
    let mut policy = serde_json::from_str(BUILT_IN).unwrap();
    change(&mut policy);
    policy.to_string()
}

impl Town {
    /// Subscribes somebody for 20 pounds a month by a test card, or what `wish` says otherwise, and
    /// lets all that follows run.
    pub async fn subscriber_with(&self, wish: Value) -> Subscriber {
        let mut body = json!({"name": SUBSCRIBER, "email": SUBSCRIBER_EMAIL, "amount": 2_000});
        let (Some(body_fields), Value::Object(wish)) = (body.as_object_mut(), wish) else {
            panic!("a wish is an object");
        };
        body_fields.extend(wish);
        let made = self.control("subscriptions", &body);
        self.settle().await;
        let id = |name: &str| made[name].as_str().unwrap().to_owned();
        Subscriber {
            customer_id: id("customer"),
            subscription_id: id("subscription"),
            payment_method: id("payment_method"),
        }
    }

    /// As [`Town::subscriber_with`], by a card.
    pub async fn subscriber(&self, card: &str) -> Subscriber {
        self.subscriber_with(json!({"card": card})).await
    }

    /// Makes the next invoice now and lets the bank decline it, and each later charge of this card.
    /// Returns the invoice's id; nothing that follows has run.
    pub fn fail_renewal(&self, who: &Subscriber, decline: &str) -> String {
        self.fail_renewal_with(who, &json!({"decline": decline}))
    }

    /// As [`Town::fail_renewal`], with the words of the sandbox's control.
    pub fn fail_renewal_with(&self, who: &Subscriber, how: &Value) -> String {
        let path = format!("subscriptions/{}/fail-renewal", who.subscription_id);
        self.control(&path, how);
        self.latest_invoice(who)
    }

    /// The id of the subscription's latest invoice.
    pub fn latest_invoice(&self, who: &Subscriber) -> String {
        let subscription = self.at_provider("subscriptions", &who.subscription_id);
        let invoice = &subscription["latest_invoice"];
        let id = invoice.as_str().or_else(|| invoice["id"].as_str());
        id.unwrap().to_owned()
    }

    /// What the provider's books say of one object: `invoices`, `subscriptions`, `charges`.
    pub fn at_provider(&self, collection: &str, id: &str) -> Value {
        let ledger = self.ledger();
        let mut all = ledger[collection].as_array().unwrap().iter();
        all.find(|it| it["id"] == id).cloned().unwrap_or_default()
    }

    pub fn ledger(&self) -> Value {
        self.fleet.sandbox.ledger()
    }

    /// Uses one of the sandbox's controls, which must work.
    pub fn control(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.provider("POST", &format!("/_sandbox/{path}"), body);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Uses one of the sandbox's controls, which may refuse: whether it worked.
    pub fn may_control(&self, path: &str, body: &Value) -> bool {
        self.provider("POST", &format!("/_sandbox/{path}"), body).0 == 200
    }

    /// The row of a subscription; null if there is none.
    pub fn dunning(&self, who: &Subscriber) -> Value {
        let rows = self.rows("dunr-dunning").into_iter();
        let mut own = rows.filter(|row| row["subscription_id"] == who.subscription_id.as_str());
        own.next().unwrap_or_default()
    }

    /// The log of a subscription as `event` of each row, in order.
    pub fn dunning_log(&self, who: &Subscriber) -> Vec<String> {
        let rows = self.rows("dunr-log").into_iter();
        let own = rows.filter(|row| row["subscription_id"] == who.subscription_id.as_str());
        own.map(|row| row["event"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Every mail that dunning sent, in order.
    pub fn dunning_mails(&self) -> Vec<DunningMail> {
        let mails = self.mails().into_iter();
        mails
            .filter(|mail| mail.function.starts_with("dunr-"))
            .map(DunningMail::of)
            .collect()
    }

    /// The one-off schedules that wait to fire.
    pub fn schedules(&self) -> Vec<Planned> {
        let all = self.fleet.cloud.schedules().into_iter();
        all.filter(|it| !it.of_template && it.next_at.is_some())
            .collect()
    }

    /// When the next retry of a subscription is due.
    pub fn next_retry(&self, who: &Subscriber) -> Option<DateTime<Utc>> {
        let own = self.schedules().into_iter();
        let own = own.filter(|it| it.input["subscription_id"] == who.subscription_id.as_str());
        own.filter_map(|it| it.next_at).min()
    }

    /// Moves the clock to the next retry of a subscription, which must be planned; it and all that
    /// follows at once has run.
    pub async fn advance_to_retry(&self, who: &Subscriber) {
        let due = self.next_retry(who).expect("a retry is planned");
        self.advance(due - self.now()).await;
        self.settle().await;
    }

    /// Moves the clock by so many business days of the built-in policy, at the same instant.
    pub async fn advance_business_days(&self, n: u32) {
        let terms = Policy::from_json(BUILT_IN).unwrap().terms;
        let days = BusinessDays {
            region: terms.region,
            weekend: terms.weekend,
        };
        let today = self.now().date_naive();
        let then = days.after(today, n).unwrap();
        self.advance(Duration::days((then - today).num_days()))
            .await;
    }

    /// Asks the gatekeeper, as the app.
    pub async fn gate(&self, who: &Subscriber) -> Answer {
        let token = self.fleet.gate_tokens().app;
        let path = format!("/subscriptions/{}", who.subscription_id);
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        self.request("dunr-gatekeeper", request.body(Bytes::new()).unwrap())
            .await
    }

    /// Orders the gatekeeper to `pause`, `restore` or `release`, as an operator.
    pub async fn order_access(&self, who: &Subscriber, order: &str) -> Answer {
        let token = self.fleet.gate_tokens().operator;
        let request = Request::post(format!("/subscriptions/{}/{order}", who.subscription_id))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Bytes::from_static(b"{}"))
            .unwrap();
        self.request("dunr-gatekeeper", request).await
    }

    /// Opens the link of a mail, by any method.
    pub async fn open_card_link(&self, method: &str, link: &str) -> Answer {
        let path = link.strip_prefix(&self.fleet.url("dunr-portal")).unwrap();
        let request = Request::builder().method(method).uri(format!("/{path}"));
        self.request("dunr-portal", request.body(Bytes::new()).unwrap())
            .await
    }

    /// Goes by the link of a mail to the provider's portal and saves a card there; all that follows
    /// at once has run.
    pub async fn update_card_by_link(&self, mail: &DunningMail, card: &str) {
        let link = mail.card_link().expect("the mail has a link to the card");
        let led = self.open_card_link("POST", link).await;
        assert_eq!(led.status, 303, "{}", led.text);
        let portal = led.headers["location"].clone();
        let form = format!("card={card}&expiry=12%2F40&cvc=123");
        let request = Request::post(portal).body(Bytes::from(form)).unwrap();
        let saved = self.fleet.sandbox.page(request, self.now());
        assert_eq!(
            saved.status(),
            200,
            "the provider's portal refused the card"
        );
        self.settle().await;
    }

    /// The addresses and names of subscribers, which no log line may have.
    pub(crate) fn subscribers_words(&self) -> Vec<String> {
        let mut words = vec![SUBSCRIBER.to_owned(), SUBSCRIBER_EMAIL.to_owned()];
        for row in self.rows("dunr-dunning") {
            for field in ["email", "second_email", "name"] {
                words.extend(row[field].as_str().map(str::to_owned));
            }
        }
        words.extend(self.dunning_mails().into_iter().map(|mail| mail.to));
        words
    }

    /// What dunning must never do, judged by the provider's books: take an invoice twice, or end a
    /// subscription.
    pub(crate) fn assert_dunning_did_no_harm(&self) {
        let ledger = self.ledger();
        for invoice in ledger["invoices"].as_array().unwrap() {
            let taken = invoice["successful_charges"].as_array().unwrap().len();
            assert!(
                taken <= 1,
                "invoice {} was taken {taken} times",
                invoice["id"]
            );
        }
        for subscription in ledger["subscriptions"].as_array().unwrap() {
            let id = &subscription["id"];
            assert_ne!(
                subscription["canceled_by"], "api",
                "{id} was cancelled by us"
            );
            assert_eq!(
                subscription["cancel_at_period_end"], false,
                "{id} was told to end"
            );
        }
        for call in self.fleet.cloud.calls() {
            let is_ours = call.function.starts_with("dunr-");
            let ends =
                call.operation.starts_with("DELETE /v1/") || call.operation.ends_with("/cancel");
            assert!(
                !(is_ours && ends),
                "{} called {}",
                call.function,
                call.operation
            );
            let pays = is_ours && call.operation.ends_with("/pay");
            assert!(
                !pays || call.function == "dunr-retrier",
                "{} tried to charge",
                call.function
            );
        }
    }
}
