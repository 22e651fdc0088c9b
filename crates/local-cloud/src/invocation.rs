//! One invocation of one function: its number, how it may end early or be paused, and which of its
//! calls fly.
//!
//! Handlers do not spawn, so a task-local tells which invocation a call belongs to.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use tokio::sync::{Notify, watch};

tokio::task_local! {
    static CURRENT: Arc<Invocation>;
}

#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) number: u64,
    interruption: Mutex<Option<Interruption>>,
    interrupted: Notify,
    gone_on: Notify,
    timeline: watch::Sender<Timeline>,
}

/// The invocation's own time, which only sleeps move.
#[derive(Debug, Default)]
struct Timeline {
    elapsed: Duration,
    calls_in_flight: usize,
    /// Who sleeps: until when, and a number that tells them apart.
    sleepers: BTreeSet<(Duration, u64)>,
    sleeps: u64,
}

/// How an invocation ends without an answer of its handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Crash,
    TimeOut,
}

#[derive(Clone, Copy, Debug)]
enum Interruption {
    End(Ending),
    Pause(DateTime<Utc>),
}

/// An invocation with the handler that it runs.
pub(crate) struct Running<T> {
    invocation: Arc<Invocation>,
    handler: BoxFuture<'static, T>,
}

/// How far a handler came.
pub(crate) enum Step<T> {
    Answered(T),
    Ended(Ending),
    Paused(Running<T>, DateTime<Utc>),
}

impl<T> Running<T> {
    /// Begins, or goes on after a pause, until there is an answer or an interruption.
    pub(crate) async fn go_on(mut self) -> Step<T> {
        self.invocation.gone_on.notify_waiters();
        let interruption = tokio::select! {
            biased;
            interruption = self.invocation.next_interruption() => interruption,
            output = &mut self.handler => return Step::Answered(output),
        };
        match interruption {
            Interruption::End(how) => Step::Ended(how),
            Interruption::Pause(until) => Step::Paused(self, until),
        }
    }
}

impl Invocation {
    pub(crate) fn new(number: u64) -> Arc<Self> {
        Arc::new(Self {
            number,
            interruption: Mutex::new(None),
            interrupted: Notify::new(),
            gone_on: Notify::new(),
            timeline: watch::Sender::default(),
        })
    }

    /// The invocation that this task runs, if any.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Makes `handler` the work of this invocation. It begins when it goes on.
    pub(crate) fn start<T>(
        self: Arc<Self>,
        handler: impl Future<Output = T> + Send + 'static,
    ) -> Running<T> {
        Running {
            handler: Box::pin(CURRENT.scope(Arc::clone(&self), handler)),
            invocation: self,
        }
    }

    /// Ends the invocation: its handler is dropped at its next await.
    pub(crate) fn end(&self, how: Ending) {
        self.interrupt(Interruption::End(how));
    }

    /// Stops the whole handler at its next await, and returns when it goes on.
    pub(crate) async fn pause(&self, until: DateTime<Utc>) {
        self.interrupt(Interruption::Pause(until));
        self.gone_on.notified().await;
    }

    fn interrupt(&self, how: Interruption) {
        let mut interruption = self.lock();
        // What has died sleeps no more.
        if !matches!(*interruption, Some(Interruption::End(_))) {
            *interruption = Some(how);
        }
        drop(interruption);
        self.interrupted.notify_one();
    }

    async fn next_interruption(&self) -> Interruption {
        loop {
            if let Some(interruption) = self.lock().take() {
                return interruption;
            }
            self.interrupted.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Interruption>> {
        self.interruption
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a call as on its way until the guard is dropped.
    pub(crate) fn call_in_flight(self: &Arc<Self>) -> InFlight {
        self.timeline.send_modify(|timeline| {
            timeline.calls_in_flight = timeline.calls_in_flight.saturating_add(1);
        });
        InFlight(Arc::clone(self))
    }
}

pub(crate) struct InFlight(Arc<Invocation>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.timeline.send_modify(|timeline| {
            timeline.calls_in_flight = timeline.calls_in_flight.saturating_sub(1);
        });
    }
}

/// Sleep that takes no time.
///
/// The SDK sleeps to wait before it tries again, and to time a call out. So a sleep ends at once
/// when no call of its invocation is on its way (those take no time) and no shorter sleep is left.
#[derive(Debug)]
pub(crate) struct VirtualSleep;

impl AsyncSleep for VirtualSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        let sleeper = Invocation::current().map(|invocation| Sleeper::new(invocation, duration));
        Sleep::new(async move {
            // What else the handler has to do may start a call or a shorter sleep.
            for _ in 0..YIELDS {
                tokio::task::yield_now().await;
            }
            if let Some(sleeper) = sleeper {
                sleeper.until_it_is_time().await;
            }
        })
    }
}

const YIELDS: usize = 3;

/// A place in the timeline, given up when it is dropped.
struct Sleeper {
    invocation: Arc<Invocation>,
    place: (Duration, u64),
}

impl Sleeper {
    fn new(invocation: Arc<Invocation>, duration: Duration) -> Self {
        let mut place = (duration, 0);
        invocation.timeline.send_modify(|timeline| {
            timeline.sleeps = timeline.sleeps.saturating_add(1);
            place = (timeline.elapsed.saturating_add(duration), timeline.sleeps);
            timeline.sleepers.insert(place);
        });
        Self { invocation, place }
    }

    async fn until_it_is_time(&self) {
        let mut timeline = self.invocation.timeline.subscribe();
        let is_time = |timeline: &Timeline| {
            timeline.calls_in_flight == 0 && timeline.sleepers.first() == Some(&self.place)
        };
        // The sender lives as long as the invocation that is held here.
        let _ = timeline.wait_for(is_time).await;
        let until = self.place.0;
        self.invocation
            .timeline
            .send_modify(|timeline| timeline.elapsed = until);
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.invocation.timeline.send_modify(|timeline| {
            timeline.sleepers.remove(&self.place);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run<T>(handler: impl Future<Output = T> + Send + 'static) -> Result<T, Ending> {
        match Invocation::new(1).start(handler).go_on().await {
            Step::Answered(output) => Ok(output),
            Step::Ended(ending) => Err(ending),
            Step::Paused(..) => panic!("it was not to be paused"),
        }
    }

    #[tokio::test]
    async fn a_paused_handler_goes_on_from_where_it_stopped() {
        let until = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let invocation = Invocation::new(1);
        let work = Arc::clone(&invocation);
        let handler = async move {
            let beside = async {
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                Invocation::current().map(|current| current.number)
            };
            let paused = || work.pause(until);
            futures::join!(paused(), paused(), beside).2
        };
        let Step::Paused(running, at) = invocation.start(handler).go_on().await else {
            panic!("it was to be paused");
        };
        assert_eq!(at, until);
        let Step::Answered(number) = running.go_on().await else {
            panic!("it was to answer");
        };
        assert_eq!(number, Some(1));
    }

    #[tokio::test]
    async fn an_ended_invocation_drops_its_handler() {
        let handler = async {
            let current = Invocation::current().unwrap();
            current.end(Ending::Crash);
            std::future::pending::<()>().await;
        };
        assert_eq!(run(handler).await, Err(Ending::Crash));
    }

    #[tokio::test]
    async fn a_sleep_lasts_as_long_as_a_call_is_in_flight() {
        let handler = async {
            let current = Invocation::current().unwrap();
            VirtualSleep.sleep(Duration::from_secs(3)).await;
            let call = current.call_in_flight();
            let sleep = VirtualSleep.sleep(Duration::from_secs(3));
            tokio::pin!(sleep);
            for _ in 0..10 {
                tokio::task::yield_now().await;
                assert!(futures::poll!(&mut sleep).is_pending());
            }
            drop(call);
            sleep.await;
        };
        assert_eq!(run(handler).await, Ok(()));
    }

    #[tokio::test]
    async fn of_two_sleeps_the_shorter_ends_first() {
        let sleep = |seconds| VirtualSleep.sleep(Duration::from_secs(seconds));
        let handler = async move {
            tokio::select! {
                biased;
                () = sleep(9) => panic!("the longer sleep ended first"),
                () = async { sleep(4).await; sleep(4).await } => {}
            }
            sleep(60).await;
        };
        assert_eq!(run(handler).await, Ok(()));
    }
}
