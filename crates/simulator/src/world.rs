//! One world: a fleet of one system, the people around it, and what they remember.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "an action belongs to one part of the world: the others pass it on"
)]

mod booking;
mod dunning;
mod idle;
mod mischief;
mod operations;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use fleet::{Fleet, FleetError, FleetOptions};
use http::{Request, Response};
use local_cloud::{FaultKind, Happening};
use serde_json::Value;
use tokio::sync::broadcast::Receiver;

use crate::action::{Action, System};
use crate::dice::Dice;
use crate::kinds::{Kind, Weather};
use crate::matrix::Point;
use crate::plan::Plan;
use crate::trace::Trace;

pub(crate) use booking::{Booked, STAFF_REFUND, phone_e164};
pub(crate) use dunning::{Subscriber, card_link};

/// What nobody can read.
pub(crate) const POISON: &str = "{half a mess";

const RATE_MIN: TimeDelta = TimeDelta::minutes(5);
/// One reconciliation by the daily sweep, and 15 minutes.
const DAY_AND_QUARTER_HOUR: TimeDelta = TimeDelta::minutes(24 * 60 + 15);

/// An HTTP answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn of(answer: &Response<Bytes>) -> Self {
        let location = answer.headers().get("location");
        Self {
            status: answer.status().as_u16(),
            location: location.and_then(|it| Some(it.to_str().ok()?.to_owned())),
            body: serde_json::from_slice(answer.body()).unwrap_or_default(),
        }
    }
}

/// A request to a function's URL; no body if it is null.
pub(crate) fn request(
    (method, path): (&str, &str),
    headers: &[(&str, String)],
    body: &Value,
) -> Request<Bytes> {
    let body = match body {
        Value::Null => Bytes::new(),
        body => Bytes::from(body.to_string()),
    };
    let mut request = Request::new(body);
    *request.method_mut() = method.parse().unwrap_or_default();
    *request.uri_mut() = path.parse().unwrap_or_default();
    for (name, value) in headers {
        let name = name.parse::<http::HeaderName>();
        if let (Ok(name), Ok(value)) = (name, value.parse()) {
            request.headers_mut().insert(name, value);
        }
    }
    request
}

/// What people and the provider did, as far as a judge must know it.
#[derive(Default)]
pub(crate) struct Deeds {
    /// Subscriptions whose access an operator has decided.
    pub(crate) decided_by_operators: Vec<String>,
    /// Whether a phone's last text was a STOP.
    pub(crate) wishes: BTreeMap<String, bool>,
    /// The provider's pages that somebody was led to.
    pub(crate) pages: Vec<String>,
    /// Bookings whose guests did not come, as the staff said.
    pub(crate) marked_absent: Vec<String>,
    /// Refusals for a reason that was not so.
    pub(crate) complaints: Vec<String>,
    /// Since when a subscription is cancelled.
    pub(crate) left: BTreeMap<String, DateTime<Utc>>,
    /// Invoices that the merchant has ended.
    pub(crate) ended: BTreeSet<String>,
    /// Whether the provider was told to answer a request to pay in an odd way.
    pub(crate) is_pay_upset: bool,
    /// Whether a customer was to pay an invoice while it is charged.
    pub(crate) is_paid_beside: bool,
    /// Whether what others do at the provider is done by a race, which notes nothing here, and not by actions.
    pub(crate) are_in_a_race: bool,
    /// Charges of invoices that the provider or the customer made.
    pub(crate) charged_by_others: BTreeSet<String>,
    /// When a card that pays was saved for a customer last, if no other came after it.
    pub(crate) good_cards: BTreeMap<String, DateTime<Utc>>,
    /// When the payment of a subscription first failed in its present course.
    pub(crate) failed_at: BTreeMap<String, DateTime<Utc>>,
    /// How the provider's deliveries were answered.
    pub(crate) deliveries: Vec<(String, u16)>,
}

pub(crate) struct World {
    pub(crate) fleet: Fleet,
    pub(crate) system: System,
    pub(crate) is_quick: bool,
    /// Whether faults come by chance alone.
    pub(crate) is_unscripted: bool,
    /// How many calls there were before everything was mended.
    pub(crate) mended_at: usize,
    pub(crate) bookings: Vec<Booked>,
    pub(crate) subscribers: Vec<Subscriber>,
    pub(crate) invoices: Vec<String>,
    pub(crate) deeds: Deeds,
    pub(crate) trace: Trace,
    pub(crate) calls: u64,
    /// Every call that a function made, in order.
    pub(crate) points: Vec<Point>,
    secrets: u32,
    /// The signing secret that the fleet has and the provider does not yet.
    untold_secret: Option<String>,
    /// What the world itself has injected.
    faults: BTreeMap<Kind, u64>,
    pub(crate) weather: Weather,
    happenings: Receiver<Happening>,
}

impl World {
    /// A new world in which nothing has gone wrong yet.
    ///
    /// # Errors
    /// A fleet that can't be started.
    pub(crate) async fn new(plan: &Plan) -> Result<Self, FleetError> {
        let mut options = FleetOptions::starting(plan.start);
        options.seed = plan.seed;
        options.venue = Some(plan.venue());
        options.dunning_policy = Some(plan.dunning_policy());
        let off = match plan.system {
            System::Booking => "Dunning",
            System::Dunning => "Booking",
        };
        options.parameters = [(off.to_owned(), "off".to_owned())].into();
        let fleet = Fleet::start(options)?;
        idle::leave_out(&fleet.cloud, plan.seed);
        let mut world = Self {
            system: plan.system,
            is_quick: plan.is_quick,
            is_unscripted: plan.script.as_ref().is_none_or(Vec::is_empty),
            mended_at: 0,
            bookings: Vec::new(),
            subscribers: Vec::new(),
            invoices: Vec::new(),
            deeds: Deeds::default(),
            trace: Trace::default(),
            calls: 0,
            points: Vec::new(),
            secrets: 0,
            untold_secret: None,
            faults: BTreeMap::new(),
            weather: plan.weather.clone(),
            happenings: fleet.cloud.watch(),
            fleet,
        };
        if plan.system == System::Dunning {
            world
                .subscribe_everybody(plan.subscribers, plan.shared)
                .await;
        }
        if plan.weather.has(Kind::ClockChange) {
            world.faults.insert(Kind::ClockChange, 1);
        }
        world.note_calls();
        world.points.clear();
        Ok(world)
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.fleet.cloud.clock().now()
    }

    /// Lets the weather of a plan begin.
    pub(crate) fn worsen(&self, script: Option<&[(u64, FaultKind)]>) {
        mischief::begin(self, &self.weather);
        if let Some(script) = script {
            self.fleet.cloud.faults().set_script(script.to_vec());
        }
    }

    /// Performs one action, lets what follows at once run, and notes it all.
    pub(crate) async fn perform(&mut self, step: usize, action: Action) {
        let at = self.now();
        // Of the action's own number, so that it is the same whatever was left out before it.
        let mut dice = Dice::new(self.weather.seed, &format!("provider {step}"));
        if let Some(kind) = mischief::upset_provider(self, &self.weather, &mut dice) {
            *self.faults.entry(kind).or_default() += 1;
        }
        mischief::deploy(self, &self.weather, &mut dice);
        let outcome = self.carry_out(action).await;
        self.fleet.cloud.settle().await;
        self.trace
            .action(step, at, &format!("{action:?}"), &outcome);
        self.note_calls();
    }

    /// Performs one action alone: what follows from it has not run yet.
    pub(crate) async fn carry_out(&mut self, action: Action) -> String {
        match action {
            Action::Wait { minutes } => {
                self.wait(TimeDelta::minutes(i64::from(minutes))).await;
                "later".to_owned()
            }
            Action::ResendEvent { nth } => self.resend_event(nth),
            Action::RotateSecret => self.rotate_secret(),
            Action::BreakRelay => self.break_relay(),
            Action::Sweep { nth } => self.sweep(nth).await,
            Action::Poison => self.poison().await,
            Action::BadRow => self.bad_row().await,
            _ => match self.system {
                System::Booking => self.act_in_booking(action).await,
                System::Dunning => self.act_in_dunning(action).await,
            },
        }
    }

    /// Moves the clock. In a long wait the sweeps come once, at its end, as most would find nothing.
    pub(crate) async fn wait(&self, by: TimeDelta) {
        self.fleet.cloud.set_rates_at_most(by.max(RATE_MIN));
        self.fleet.cloud.advance(by).await;
    }

    /// Ends all that went wrong. What follows from that at once has run.
    pub(crate) async fn mend(&mut self, step: usize) {
        let at = self.now();
        mischief::end(self);
        self.tell_provider_the_secret();
        self.fleet.cloud.settle().await;
        self.trace.action(step, at, "everything is mended", "");
        self.note_calls();
        self.mended_at = self.points.len();
    }

    /// What must be over soon after everything works again has its time: two sweeps for a release, one
    /// reconciliation and 15 minutes for a charge that nobody knows the end of.
    pub(crate) async fn come_round(&mut self) {
        match self.system {
            System::Booking => {
                // Nothing but these sweeps.
                self.fleet.cloud.set_rates_at_most(booking::REST);
                for _ in 0..2 {
                    let known = self.points.len();
                    for sweep in ["bdc-release-sweep", "bdc-relay"] {
                        if !idle::is_idle(&self.fleet.cloud, sweep) {
                            self.invoke(sweep).await;
                        }
                    }
                    self.fleet.cloud.advance(TimeDelta::minutes(1)).await;
                    self.note_calls();
                    // Who found nothing to do finds nothing a minute later.
                    if self.points.iter().skip(known).all(Point::only_looks) {
                        break;
                    }
                }
            }
            System::Dunning => {
                self.fleet.cloud.set_rates_at_most(DAY_AND_QUARTER_HOUR / 2);
                self.fleet.cloud.advance(DAY_AND_QUARTER_HOUR).await;
            }
        }
        self.note_calls();
    }

    /// Gives everything the time to come to its end.
    pub(crate) async fn come_to_rest(&mut self) {
        let at = self.now();
        let until = match self.system {
            System::Booking => self.end_of_bookings().max(at + booking::REST),
            System::Dunning => at + dunning::rest(self.is_quick),
        };
        let cloud = self.fleet.cloud.clone();
        // Most of what comes to rest does so without the sweeps: they come once, and leave some time for
        // what they begin.
        let sweeps_at = at + (until - at) * 4 / 5;
        cloud.set_rates_at_most(sweeps_at - at);
        cloud.put_off_schedules("bdc-escalator", sweeps_at);
        cloud.advance_to(sweeps_at - TimeDelta::seconds(1)).await;
        self.note_calls();
        let known = self.points.len();
        cloud.advance_to(sweeps_at).await;
        self.note_calls();
        if !self.points.iter().skip(known).all(Point::only_looks) {
            cloud.set_rates_at_most(until - sweeps_at);
        }
        cloud.advance_to(until).await;
        self.note_calls();
    }

    pub(crate) fn note_calls(&mut self) {
        for call in self.fleet.cloud.take_calls() {
            self.calls += 1;
            self.trace.call(&call);
            self.points.push(Point::of(call));
        }
        while let Ok(happening) = self.happenings.try_recv() {
            if let Happening::Delivered { id, status, .. } = happening {
                self.deeds.deliveries.push((id, status));
            }
        }
    }

    /// What was injected so far.
    pub(crate) fn injected(&self) -> BTreeMap<Kind, u64> {
        let mut all = mischief::counted(self);
        for (kind, count) in &self.faults {
            *all.entry(*kind).or_default() += count;
        }
        all
    }

    /// The names of what there is, as they stand in events.
    fn names(&self) -> Vec<String> {
        let bookings = self.bookings.iter().filter_map(|booked| booked.id.clone());
        let subscriptions = self
            .subscribers
            .iter()
            .map(|who| who.subscription_id.clone());
        bookings
            .chain(subscriptions)
            .chain(self.invoices.clone())
            .collect()
    }

    /// The rows of a table.
    pub(crate) fn rows(&self, table: &str) -> Vec<Value> {
        self.fleet.cloud.table(table).unwrap_or_default()
    }

    /// Sends a request to a function's URL.
    pub(crate) async fn ask(
        &self,
        function: &str,
        asked: (&str, &str),
        headers: &[(&str, String)],
        body: &Value,
    ) -> Answer {
        let request = request(asked, headers, body);
        Answer::of(&self.fleet.cloud.call_url(function, request).await)
    }

    /// Uses one of the provider's controls, or its API; it may refuse.
    pub(crate) fn at_provider(&self, path: &str, body: &Value) -> Answer {
        let mut request = Request::new(Bytes::from(body.to_string()));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = path.parse().unwrap_or_default();
        let json = http::HeaderValue::from_static("application/json");
        request.headers_mut().insert("content-type", json);
        Answer::of(&self.fleet.sandbox.call(request, self.now()))
    }

    /// As [`World::at_provider`], for an outcome in a trace.
    pub(crate) fn control(&self, path: &str, body: &Value) -> String {
        let answer = self.at_provider(&format!("/_sandbox/{path}"), body);
        answer.status.to_string()
    }
}

/// The `nth` of some things, counted round.
pub(crate) fn nth_of<T>(of: &[T], nth: u32) -> Option<&T> {
    let index = usize::try_from(nth).unwrap_or_default();
    of.get(index.checked_rem(of.len())?)
}

/// The members of an array; none if it is none.
pub(crate) fn members(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A text of a row; empty if it is none.
pub(crate) fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_default()
}
