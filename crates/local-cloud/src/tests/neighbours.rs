//! Another party over HTTP: called by functions, and sending by itself.

use std::sync::Mutex;

use aws_smithy_runtime_api::client::http::{HttpClient, HttpConnectorSettings};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_types::body::SdkBody;

use super::*;

#[derive(Default)]
struct Bank {
    seen: Mutex<Vec<String>>,
    waiting: Mutex<Vec<(DateTime<Utc>, Delivery)>>,
    answered: Mutex<Vec<(String, u16)>>,
}

impl Neighbour for Bank {
    fn base_url(&self) -> &str {
        "http://127.0.0.1:8787/bank"
    }

    fn call(&self, request: Request<Bytes>, now: DateTime<Utc>) -> Response<Bytes> {
        let body = String::from_utf8_lossy(request.body());
        self.seen.lock().unwrap().push(format!(
            "{now} {} {} {body}",
            request.method(),
            request.uri()
        ));
        Response::builder()
            .status(201)
            .header("x-id", "1")
            .body(Bytes::from_static(b"{}"))
            .unwrap()
    }

    fn due_at(&self) -> Option<DateTime<Utc>> {
        self.waiting.lock().unwrap().iter().map(|(at, _)| *at).min()
    }

    fn take_due(&self, now: DateTime<Utc>) -> Vec<Delivery> {
        let due = |waiting: &mut (DateTime<Utc>, Delivery)| waiting.0 <= now;
        self.waiting
            .lock()
            .unwrap()
            .extract_if(.., due)
            .map(|(_, delivery)| delivery)
            .collect()
    }

    fn delivered(&self, id: &str, status: u16, _: DateTime<Utc>) {
        self.answered.lock().unwrap().push((id.to_owned(), status));
    }
}

async fn call(cloud: &LocalCloud, url: &str) -> Result<u16, String> {
    let setup = cloud.setup("writer").unwrap();
    let components = RuntimeComponentsBuilder::for_tests().build().unwrap();
    let client = setup.aws.http_client().unwrap();
    let connector = client.http_connector(&HttpConnectorSettings::default(), &components);
    let request = http::Request::post(url)
        .body(SdkBody::from("amount=1"))
        .unwrap();
    let request = HttpRequest::try_from(request).unwrap();
    use aws_smithy_runtime_api::client::http::HttpConnector;
    let response = connector
        .call(request)
        .await
        .map_err(|error| error.to_string())?;
    Ok(response.status().as_u16())
}

#[tokio::test]
async fn a_neighbour_is_reached_by_its_base_url_alone() {
    let cloud = cloud();
    let bank = Arc::new(Bank::default());
    cloud.attach(bank.clone());
    assert_eq!(
        call(&cloud, "http://127.0.0.1:8787/bank/v1/refunds?x=1").await,
        Ok(201)
    );
    assert_eq!(
        *bank.seen.lock().unwrap(),
        ["2027-03-01 09:00:00 UTC POST /v1/refunds?x=1 amount=1"]
    );
    assert!(call(&cloud, "http://127.0.0.1:8787/bankers").await.is_err());
    cloud.faults().add(FaultRule::once(
        "writer",
        "POST /v1/*",
        FaultKind::Throttled,
    ));
    assert_eq!(
        call(&cloud, "http://127.0.0.1:8787/bank/v1/refunds").await,
        Ok(429)
    );
    cloud.faults().add(FaultRule::once(
        "writer",
        "POST /v1/refunds",
        FaultKind::AnswerLost,
    ));
    assert!(
        call(&cloud, "http://127.0.0.1:8787/bank/v1/refunds")
            .await
            .is_err()
    );
    assert_eq!(
        bank.seen.lock().unwrap().len(),
        2,
        "a throttled call is not applied, a lost answer is"
    );
    let outcomes: Vec<String> = cloud.calls().into_iter().map(|call| call.outcome).collect();
    assert_eq!(outcomes, ["ok", "429", "ok"]);
}

#[tokio::test]
async fn what_a_neighbour_sends_arrives_when_it_is_due() {
    let cloud = cloud();
    let bank = Arc::new(Bank::default());
    cloud.attach(bank.clone());
    let request = Request::post("/").header("content-type", "application/json");
    let delivery = Delivery {
        id: "evt-1".to_owned(),
        function: "writer".to_owned(),
        request: request
            .body(Bytes::from_static(br#"{"id":"from-bank"}"#))
            .unwrap(),
    };
    bank.waiting
        .lock()
        .unwrap()
        .push((options().start + Duration::seconds(7), delivery));
    assert_eq!(
        cloud.next_due(),
        Some(options().start + Duration::seconds(7))
    );
    cloud.advance(Duration::seconds(10)).await;
    assert_eq!(*bank.answered.lock().unwrap(), [("evt-1".to_owned(), 201)]);
    assert_eq!(
        cloud.table("rows").unwrap()[0]["made_at"],
        "2027-03-01T09:00:07+00:00"
    );
}

/// A bank that tells what it did before it answers.
struct HastyBank(Bank);

impl Neighbour for HastyBank {
    fn base_url(&self) -> &str {
        self.0.base_url()
    }

    fn call(&self, request: Request<Bytes>, now: DateTime<Utc>) -> Response<Bytes> {
        let told = Request::post("/").header("content-type", "application/json");
        let told = told.body(Bytes::from_static(br#"{"id":"from-bank"}"#));
        let delivery = Delivery {
            id: "evt-1".to_owned(),
            function: "writer".to_owned(),
            request: told.unwrap(),
        };
        self.0.waiting.lock().unwrap().push((now, delivery));
        let mut answer = self.0.call(request, now);
        let yes = http::HeaderValue::from_static("true");
        answer.headers_mut().insert("x-events-first", yes);
        answer
    }

    fn due_at(&self) -> Option<DateTime<Utc>> {
        self.0.due_at()
    }

    fn take_due(&self, now: DateTime<Utc>) -> Vec<Delivery> {
        self.0.take_due(now)
    }

    fn delivered(&self, id: &str, status: u16, now: DateTime<Utc>) {
        self.0.delivered(id, status, now);
    }
}

#[tokio::test]
async fn an_event_can_arrive_before_the_answer_to_what_made_it() {
    let cloud = cloud();
    let bank = Arc::new(HastyBank(Bank::default()));
    cloud.attach(bank.clone());
    let url = "http://127.0.0.1:8787/bank/v1/refunds";
    assert_eq!(call(&cloud, url).await, Ok(201));
    let answered = bank.0.answered.lock().unwrap().clone();
    assert_eq!(
        answered,
        [("evt-1".to_owned(), 201)],
        "nobody had to settle"
    );
    assert_eq!(cloud.table("rows").unwrap().len(), 1);
    assert_eq!(cloud.faults().injected()["events_first"], 1);
}

#[tokio::test]
async fn a_late_request_reaches_a_neighbour_too() {
    let cloud = cloud();
    let bank = Arc::new(Bank::default());
    cloud.attach(bank.clone());
    let late = FaultRule::once("writer", "POST /v1/*", FaultKind::Late);
    cloud.faults().add(late);
    let url = "http://127.0.0.1:8787/bank/v1/refunds";
    assert!(call(&cloud, url).await.is_err());
    assert_eq!(bank.seen.lock().unwrap().len(), 0);
    cloud.advance(Duration::minutes(10)).await;
    let seen = bank.seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].ends_with("POST /v1/refunds amount=1"), "{seen:?}");
    assert!(!seen[0].starts_with("2027-03-01 09:00:00"), "{seen:?}");
}
