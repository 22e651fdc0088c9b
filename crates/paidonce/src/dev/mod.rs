//! `paidonce dev`: the fleet behind one port, on a clock that runs by itself.
//!
//! ```text
//! /                     the console
//! /url/{function}/…     Function URLs
//! /stripe/…             the provider's API, and /stripe/_sandbox/… to play the customer
//! /pay/{id}             the provider's hosted page; /pay/invoice/{id} and /pay/portal/{id} too
//! /_local/…             clock, messages, tables, queues, faults
//! ```
//!
//! The virtual clock starts with the real one and runs `--time-scale` times as fast. It is moved
//! by the [`runner`] alone, on every tick and after every request, or by hand over
//! `POST /_local/clock`; whatever is due on the way happens in order.

mod answer;
mod at_hand;
mod console;
mod control;
mod dunning_facts;
mod fault_plan;
mod forward;
mod greeting;
mod listen;
mod logs;
mod narrator;
mod origin;
mod runner;
mod terminal;
mod wall_clock;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use clap::Args;
use fleet::{Fleet, FleetOptions};
use http::{Request, Response};
use lambda_kit::{Entropy, Problem};
use local_cloud::Settled;
use paidonce_core::venue::{BUILT_IN, Venue};
use tokio::sync::Notify;

use at_hand::Example;
use terminal::Terminal;
use wall_clock::WallClock;

/// How to run the fleet on this machine.
#[derive(Clone, Debug, Args)]
pub(crate) struct DevArguments {
    /// Where to listen; port 0 takes any free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    pub(crate) listen: SocketAddr,
    /// A folder that keeps bookings, queues, payments and the clock over a restart.
    /// Without it, everything is gone at the end.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// How many times faster than real time the clock runs; 0 lets it stand still.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub(crate) time_scale: u32,
    /// JSON that replaces the built-in venue, as in policy/venue.json.
    #[arg(long, value_name = "FILE")]
    venue: Option<PathBuf>,
    /// What the functions log to the terminal beside the facts, such as `info` or `debug`.
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    logs: String,
}

/// What all parts of the command share.
pub(crate) struct Dev {
    fleet: Fleet,
    venue: Venue,
    wall: WallClock,
    terminal: Terminal,
    /// Something came in from outside, so something may be due.
    activity: Notify,
    entropy: Entropy,
    /// The provider's state as it was last saved.
    saved: Mutex<Vec<u8>>,
}

type Shared = Arc<Dev>;
type Failure = Box<dyn Error + Send + Sync>;

/// Runs until Ctrl-C.
///
/// # Errors
/// A port or folder that can't be used, or a fleet that can't start.
pub(crate) async fn run(arguments: DevArguments) -> Result<(), Failure> {
    let listener = listen::bind(arguments.listen).await?;
    let base_url = listen::base_url(listener.local_addr()?);
    let terminal = Terminal::of_process();
    logs::init(&arguments.logs, terminal.clone())?;
    let dev = Arc::new(open(&arguments, base_url, terminal)?);
    dev.terminal.show_times_of(dev.fleet.cloud.clock());
    greeting::print(&dev, arguments.listen);
    let narrator = tokio::spawn(narrator::narrate(Arc::clone(&dev)));
    let runner = tokio::spawn(runner::keep_going(Arc::clone(&dev)));
    let app = forward::router(Arc::clone(&dev));
    // Not `with_graceful_shutdown`: a browser that holds its connection would keep us here.
    tokio::select! {
        served = axum::serve(listener, app) => served?,
        stopped = tokio::signal::ctrl_c() => stopped?,
    }
    runner.abort();
    narrator.abort();
    runner::save_provider(&dev);
    greeting::print_end(&dev, arguments.state.as_deref());
    Ok(())
}

/// Says why the command could not run.
#[expect(clippy::print_stderr, reason = "the command's last word")]
pub(crate) fn complain(error: &(dyn Error + Send + Sync + 'static)) {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(found) = cause {
        text = format!("{text}: {found}");
        cause = found.source();
    }
    eprintln!("paidonce: {text}");
}

fn open(arguments: &DevArguments, base_url: String, terminal: Terminal) -> Result<Dev, Failure> {
    let mut seed = [0_u8; 8];
    Entropy::from_os().fill(&mut seed);
    let (venue_json, venue) = venue(arguments)?;
    let fleet = Fleet::start(FleetOptions {
        base_url,
        seed: u64::from_be_bytes(seed),
        state: arguments.state.clone(),
        venue: venue_json,
        ..FleetOptions::starting(wall_clock::real_now())
    })?;
    Ok(Dev::of(fleet, venue, terminal, arguments.time_scale))
}

/// The venue, and its JSON if it is not the built-in one.
fn venue(arguments: &DevArguments) -> Result<(Option<String>, Venue), Failure> {
    let Some(path) = &arguments.venue else {
        let built_in = Venue::from_json(BUILT_IN).map_err(|problems| problems.join("; "))?;
        return Ok((None, built_in));
    };
    let complaint = |what: String| format!("the venue in `{}`: {what}", path.display());
    let json = std::fs::read_to_string(path).map_err(|error| complaint(error.to_string()))?;
    let venue = Venue::from_json(&json).map_err(|problems| complaint(problems.join("; ")))?;
    Ok((Some(json), venue))
}

impl Dev {
    fn of(fleet: Fleet, venue: Venue, terminal: Terminal, time_scale: u32) -> Self {
        let wall = WallClock::starting(fleet.cloud.clock().now(), time_scale);
        Self {
            fleet,
            venue,
            wall,
            terminal,
            activity: Notify::new(),
            entropy: Entropy::from_os(),
            saved: Mutex::default(),
        }
    }

    /// A booking that nobody stands in the way of.
    fn example(&self) -> Option<Example> {
        let slots = self.fleet.cloud.table("bdc-slots").unwrap_or_default();
        let keys = slots.iter().filter_map(|slot| slot["slot_key"].as_str());
        let taken: Vec<String> = keys.map(str::to_owned).collect();
        Example::for_venue(&self.venue, self.fleet.cloud.clock().now(), &taken)
    }

    /// Calls a function's URL, in a task of its own: a caller that hangs up stops no invocation.
    ///
    /// # Errors
    /// 502 if the local cloud itself panicked.
    async fn call(
        self: &Arc<Self>,
        function: &str,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, Problem> {
        let (dev, name) = (Arc::clone(self), function.to_owned());
        let call = tokio::spawn(async move { dev.fleet.cloud.call_url(&name, request).await });
        let answer = call.await;
        self.activity.notify_one();
        answer.map_err(|_| Problem::new(502, "died", "The local cloud panicked."))
    }

    /// Moves the clock by hand; it runs on from there. Goes on when whoever asked has left.
    async fn move_clock(self: &Arc<Self>, to: DateTime<Utc>) -> Settled {
        let dev = Arc::clone(self);
        let moving = tokio::spawn(async move {
            let settled = dev.fleet.cloud.advance_to(to).await;
            dev.wall.go_on_from(dev.fleet.cloud.clock().now());
            settled
        });
        let settled = moving.await;
        self.activity.notify_one();
        settled.unwrap_or(Settled {
            deliveries: 0,
            failures: 0,
            quiet: false,
        })
    }
}
