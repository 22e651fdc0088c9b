//! One invocation of one function: its number, how it may end early, and which of its calls fly.
//!
//! Handlers do not spawn, so a task-local tells which invocation a call belongs to.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};
use tokio::sync::{Notify, watch};

tokio::task_local! {
    static CURRENT: Arc<Invocation>;
}

#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) number: u64,
    ending: Mutex<Option<Ending>>,
    ended: Notify,
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

impl Invocation {
    pub(crate) fn new(number: u64) -> Arc<Self> {
        Arc::new(Self {
            number,
            ending: Mutex::new(None),
            ended: Notify::new(),
            timeline: watch::Sender::default(),
        })
    }

    /// The invocation that this task runs, if any.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Runs `handler` as this invocation.
    pub(crate) async fn run<F: Future>(self: Arc<Self>, handler: F) -> Result<F::Output, Ending> {
        let this = Arc::clone(&self);
        tokio::select! {
            biased;
            ending = this.early_end() => Err(ending),
            output = CURRENT.scope(self, handler) => Ok(output),
        }
    }

    /// Ends the invocation: its handler is dropped at its next await.
    pub(crate) fn end(&self, how: Ending) {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(how);
        self.ended.notify_one();
    }

    async fn early_end(&self) -> Ending {
        loop {
            let ending = *self.ending.lock().unwrap_or_else(PoisonError::into_inner);
            match ending {
                Some(ending) => return ending,
                None => self.ended.notified().await,
            }
        }
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

    #[tokio::test]
    async fn an_ended_invocation_drops_its_handler() {
        let invocation = Invocation::new(1);
        let handler = async {
            let current = Invocation::current().unwrap();
            current.end(Ending::Crash);
            std::future::pending::<()>().await;
        };
        assert_eq!(invocation.run(handler).await, Err(Ending::Crash));
    }

    #[tokio::test]
    async fn a_sleep_lasts_as_long_as_a_call_is_in_flight() {
        let invocation = Invocation::new(1);
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
        assert_eq!(invocation.run(handler).await, Ok(()));
    }

    #[tokio::test]
    async fn of_two_sleeps_the_shorter_ends_first() {
        let sleep = |seconds| VirtualSleep.sleep(Duration::from_secs(seconds));
        let handler = async {
            tokio::select! {
                biased;
                () = sleep(9) => panic!("the longer sleep ended first"),
                () = async { sleep(4).await; sleep(4).await } => {}
            }
            sleep(60).await;
        };
        assert_eq!(Invocation::new(1).run(handler).await, Ok(()));
    }
}
