//! What one party of a race does, and its turns: each is one call of a function, or one deed at the
//! provider.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use fleet::Fleet;
use futures::future::LocalBoxFuture;
use http::Request;
use local_cloud::Call;
use serde_json::{Value, json};

use super::orders::Footprint;
use crate::world::Answer;

/// Something that happens to the fleet, or at the provider.
#[derive(Clone, Debug)]
pub(crate) enum Errand {
    /// A request to a function's URL.
    Ask(&'static str, Box<Request<Bytes>>),
    /// An event that reaches a function.
    Invoke(&'static str, Value),
    /// The provider posts its event of this type, once there is one.
    Hear(&'static str),
    /// A deed at the provider, by one of its controls.
    AtProvider(String, Value),
}

/// An event of the provider that was taken from it, to be delivered when the race says so.
struct Letter {
    id: String,
    function: String,
    request: Request<Bytes>,
    kind: String,
    is_opened: bool,
}

/// What both parties share beside the fleet.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) fleet: Fleet,
    letters: Arc<Mutex<Vec<Letter>>>,
    deeds: Arc<AtomicUsize>,
}

impl Stage {
    pub(crate) fn new(fleet: &Fleet) -> Self {
        Self {
            fleet: fleet.clone(),
            letters: Arc::default(),
            deeds: Arc::default(),
        }
    }

    fn letters(&self) -> MutexGuard<'_, Vec<Letter>> {
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        let due = self.fleet.sandbox.take_due(self.fleet.cloud.clock().now());
        letters.extend(due.into_iter().map(|delivery| {
            let event: Value = serde_json::from_slice(delivery.request.body()).unwrap_or_default();
            Letter {
                id: delivery.id,
                function: delivery.function,
                request: delivery.request,
                kind: event["type"].as_str().unwrap_or_default().to_owned(),
                is_opened: false,
            }
        }));
        letters
    }

    fn can_begin(&self, errand: &Errand) -> bool {
        match errand {
            Errand::Hear(kind) => self.letters().iter().any(|it| it.kind == *kind),
            Errand::Ask(..) | Errand::Invoke(..) | Errand::AtProvider(..) => true,
        }
    }

    /// Does one thing after the other, and returns how each was answered.
    pub(crate) async fn run_all(&self, errands: Vec<Errand>) -> Vec<Answer> {
        let mut answers = Vec::new();
        for errand in errands {
            answers.push(self.run(errand).await);
        }
        answers
    }

    async fn run(&self, errand: Errand) -> Answer {
        match errand {
            Errand::Ask(function, request) => {
                Answer::of(&self.fleet.cloud.call_url(function, *request).await)
            }
            Errand::Invoke(function, event) => {
                let answer = self.fleet.cloud.invoke(function, event).await;
                let status = if answer.is_ok() { 200 } else { 500 };
                let problem =
                    |error: local_cloud::InvokeError| json!({ "failed": error.to_string() });
                Answer {
                    status,
                    location: None,
                    body: answer.unwrap_or_else(problem),
                }
            }
            Errand::Hear(kind) => self.hear(kind).await,
            Errand::AtProvider(path, body) => {
                tokio::task::yield_now().await;
                let mut request = Request::new(Bytes::from(body.to_string()));
                *request.method_mut() = http::Method::POST;
                *request.uri_mut() = format!("/_sandbox/{path}").parse().unwrap_or_default();
                let json = http::HeaderValue::from_static("application/json");
                request.headers_mut().insert("content-type", json);
                let now = self.fleet.cloud.clock().now();
                let answer = self.fleet.sandbox.call(request, now);
                self.deeds.fetch_add(1, Ordering::Relaxed);
                Answer::of(&answer)
            }
        }
    }

    /// Delivers the first event of a type that was not delivered yet, or else the last one once more.
    async fn hear(&self, kind: &str) -> Answer {
        let letter = {
            let mut letters = self.letters();
            let mut of_kind = letters.iter_mut().filter(|it| it.kind == kind);
            let fresh = of_kind.find(|it| !it.is_opened);
            let letter = match fresh {
                Some(letter) => Some(letter),
                None => letters.iter_mut().rfind(|it| it.kind == kind),
            };
            letter.map(|letter| {
                letter.is_opened = true;
                (
                    letter.id.clone(),
                    letter.function.clone(),
                    letter.request.clone(),
                )
            })
        };
        match letter {
            Some(letter) => self.deliver(letter).await,
            None => Answer {
                status: 0,
                location: None,
                body: json!({ "code": format!("no {kind} came") }),
            },
        }
    }

    async fn deliver(&self, (id, function, request): (String, String, Request<Bytes>)) -> Answer {
        let answer = Answer::of(&self.fleet.cloud.call_url(&function, request).await);
        let now = self.fleet.cloud.clock().now();
        self.fleet.sandbox.delivered(&id, answer.status, now);
        answer
    }

    /// Delivers what was taken from the provider and not delivered in the race.
    pub(crate) async fn deliver_the_rest(&self) {
        loop {
            let next = self
                .letters()
                .iter_mut()
                .find(|it| !it.is_opened)
                .map(|letter| {
                    letter.is_opened = true;
                    (
                        letter.id.clone(),
                        letter.function.clone(),
                        letter.request.clone(),
                    )
                });
            match next {
                Some(letter) => drop(self.deliver(letter).await),
                None => return,
            }
        }
    }

    /// How many turns have been taken since the calls were cleared, and the calls.
    fn progress(&self) -> (usize, Vec<Call>) {
        (self.deeds.load(Ordering::Relaxed), self.fleet.cloud.calls())
    }
}

/// A party on its way.
pub(crate) struct Racer {
    stage: Stage,
    errands: Vec<Errand>,
    running: Option<LocalBoxFuture<'static, Vec<Answer>>>,
    /// What each errand was answered, in order; `None` while it runs, or if it died.
    pub(crate) answers: Option<Vec<Answer>>,
    /// How many turns it took, and which of them changed something.
    pub(crate) turns: usize,
    pub(crate) changes: Vec<usize>,
    /// After so many turns it is no more.
    dies_after: Option<usize>,
    pub(crate) is_dead: bool,
}

/// A function that was polled so often and made no call waits for somebody else.
const POLLS_MAX: usize = 300;

/// How far a party came.
pub(crate) enum Came {
    /// It made its call, which touched this.
    Further(Footprint),
    /// It waits for what the other one holds, as for a secret that the other is reading: two
    /// invocations that share an instance read it once.
    Nowhere,
}

impl Racer {
    pub(crate) fn new(stage: &Stage, errands: &[Errand], dies_after: Option<usize>) -> Self {
        Self {
            stage: stage.clone(),
            errands: errands.to_vec(),
            running: None,
            answers: None,
            turns: 0,
            changes: Vec::new(),
            dies_after,
            is_dead: false,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.answers.is_some() || self.is_dead
    }

    pub(crate) fn can_go(&self) -> bool {
        let waits = self.running.is_none()
            && self
                .errands
                .first()
                .is_some_and(|first| !self.stage.can_begin(first));
        !self.is_over() && !waits
    }

    /// Goes on until it has made its next call.
    ///
    /// Calls that a function makes at once are one turn. What nobody else can notice, as reading a
    /// secret, belongs to the turn that follows it.
    pub(crate) async fn take_turn(&mut self) -> Came {
        let (deeds, calls) = self.stage.progress();
        let mut running = self.running.take().unwrap_or_else(|| self.begin());
        for _ in 0..POLLS_MAX {
            let answers = poll(&mut running).await;
            let (deeds_now, calls_now) = self.stage.progress();
            let new = calls_now.get(calls.len()..).unwrap_or_default();
            let has_called = deeds_now > deeds || new.iter().any(|call| !is_private(call));
            if has_called || answers.is_some() {
                self.turns += 1;
                self.is_dead = self.dies_after == Some(self.turns);
                match answers {
                    _ if self.is_dead => {}
                    Some(answers) => self.answers = Some(answers),
                    None => self.running = Some(running),
                }
                let mut footprint = Footprint::default();
                new.iter().for_each(|call| note(&mut footprint, call));
                if deeds_now > deeds {
                    footprint.note(PROVIDER, true);
                }
                if footprint.has_change() {
                    self.changes.push(self.turns);
                }
                return Came::Further(footprint);
            }
            tokio::task::yield_now().await;
        }
        self.running = Some(running);
        Came::Nowhere
    }

    /// Lets it make the call that it is at, which nobody can notice, as the other one waits for that.
    /// Returns whether it was such a call.
    pub(crate) async fn make_way(&mut self) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        let (deeds, calls) = self.stage.progress();
        for _ in 0..POLLS_MAX {
            let answers = poll(running).await;
            let (deeds_now, calls_now) = self.stage.progress();
            let new = calls_now.get(calls.len()..).unwrap_or_default();
            if answers.is_some() || deeds_now > deeds || !new.is_empty() {
                return answers.is_none() && deeds_now == deeds && new.iter().all(is_private);
            }
            tokio::task::yield_now().await;
        }
        false
    }

    fn begin(&self) -> LocalBoxFuture<'static, Vec<Answer>> {
        let (stage, errands) = (self.stage.clone(), self.errands.clone());
        Box::pin(async move { stage.run_all(errands).await })
    }
}

async fn poll<T>(running: &mut Pin<Box<dyn Future<Output = T>>>) -> Option<T> {
    match futures::poll!(running.as_mut()) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

const PROVIDER: &str = "the provider";

/// Whether nobody else can tell when the call is made: secrets don't change in a race, and the model
/// remembers nothing.
fn is_private(call: &Call) -> bool {
    matches!(call.service.as_str(), "secretsmanager" | "bedrock")
}

fn note(footprint: &mut Footprint, call: &Call) {
    if is_private(call) {
        return;
    }
    let operation = call.operation.as_str();
    match call.service.as_str() {
        "dynamodb" => {
            let reads = [
                "GetItem",
                "Query",
                "BatchGetItem",
                "TransactGetItems",
                "Scan",
            ];
            let is_change = !reads.contains(&operation);
            for resource in &call.resources {
                // An index is its table's.
                let table = resource.split('/').next().unwrap_or_default();
                footprint.note(table, is_change);
            }
        }
        service if service.starts_with("http") => {
            footprint.note(PROVIDER, !operation.starts_with("GET "));
        }
        service => {
            let reads = ["Get", "List", "Describe", "Head"];
            let is_change = !reads.iter().any(|verb| operation.starts_with(verb));
            footprint.note(service, is_change);
        }
    }
}
