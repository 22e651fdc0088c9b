//! The sandbox's own events, as it signs and sends them.

use bytes::Bytes;
use http::Request;
use sandbox::{Options, Sandbox};
use serde_json::{Value, json};

use crate::dunning_hook::support::{Hook, SECRET_NAME, WEBHOOK};

/// The provider with one subscription whose first month is paid.
struct Provider {
    hook: Hook,
    sandbox: Sandbox,
    subscription: String,
}

impl Provider {
    async fn new() -> Self {
        let hook = Hook::new();
        let secret = hook.cloud.secrets()[SECRET_NAME].clone();
        let sandbox = Sandbox::new(Options {
            signing_secrets: vec![secret],
            webhook_function: WEBHOOK.to_owned(),
            ..Options::default()
        });
        let mut provider = Self {
            hook,
            sandbox,
            subscription: String::new(),
        };
        let made = provider.control("subscriptions", &json!({}));
        provider.subscription = made["subscription"].as_str().unwrap().to_owned();
        provider.deliver().await;
        assert!(provider.row().is_null(), "a paid month is nothing to dun");
        provider
    }

    fn call(&self, path: &str, body: &str) -> Value {
        let request = Request::post(path)
            .header("authorization", "Bearer rk_test_sandbox")
            .body(Bytes::from(body.to_owned()))
            .unwrap();
        let answer = self.sandbox.call(request, self.hook.now());
        let status = answer.status();
        let body: Value = serde_json::from_slice(answer.body()).unwrap();
        assert!(status.is_success(), "{body}");
        body
    }

    fn control(&self, path: &str, body: &Value) -> Value {
        self.call(&format!("/_sandbox/{path}"), &body.to_string())
    }

    /// Makes the next month's invoice and lets its first charge fail; returns its id.
    fn fail(&self) -> String {
        let path = format!("subscriptions/{}/fail-renewal", self.subscription);
        self.control(&path, &json!({"times": 0}))["id"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Delivers all that is due, and lets what follows run.
    async fn deliver(&self) {
        for delivery in self.sandbox.take_due(self.hook.now()) {
            let header = delivery.request.headers()["stripe-signature"]
                .to_str()
                .unwrap();
            let answer = self.hook.post_signed(delivery.request.body(), header).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            self.sandbox
                .delivered(&delivery.id, answer.status, self.hook.now());
        }
        self.hook.settle().await;
    }

    fn row(&self) -> Value {
        self.hook.sub_of(&self.subscription)
    }
}

#[tokio::test]
async fn a_renewal_that_fails_and_is_paid_goes_into_dunning_and_out_of_it() {
    let provider = Provider::new().await;
    let invoice = provider.fail();
    provider.deliver().await;
    assert_eq!(provider.row()["status"], "retrying");
    assert_eq!(provider.row()["invoice_id"], invoice.as_str());
    assert_eq!(provider.hook.schedules().await.len(), 1);
    provider.call(&format!("/v1/invoices/{invoice}/pay"), "");
    provider.deliver().await;
    assert_eq!(provider.row()["status"], "recovered");
    assert_eq!(provider.hook.schedules().await, []);
}

#[tokio::test]
async fn b49_what_the_provider_ends_in_any_way_is_ended_here() {
    let ways = [
        ("void", "", "voided"),
        ("mark_uncollectible", "", "uncollectible"),
        ("pay", "paid_out_of_band=true", "out_of_band"),
    ];
    for (call, form, how) in ways {
        let provider = Provider::new().await;
        let invoice = provider.fail();
        provider.deliver().await;
        provider.call(&format!("/v1/invoices/{invoice}/{call}"), form);
        provider.deliver().await;
        let debt = provider.row()["invoices"][&invoice].clone();
        assert_eq!(debt["end"]["how"], how);
        assert_eq!(provider.hook.schedules().await, []);
    }
}
