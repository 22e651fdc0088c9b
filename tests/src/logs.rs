//! Every log line of the process, to be searched for what must not be there.

use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};

use serde_json::Value;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static STARTED: Once = Once::new();

/// The filter of the deployed functions, with our own debug lines on top. The local cloud's tell why
/// an invocation failed, as the functions' own runtime logs it when it is deployed.
const FILTER: &str = "info,bdc_intake=debug,bdc_webhook=debug,bdc_cashier=debug,bdc_composer=debug,\
    bdc_release_sweep=debug,bdc_settle_sweep=debug,bdc_escalator=debug,bdc_optout=debug,relay=debug,\
    dunr_webhook=debug,dunr_scheduler=debug,dunr_retrier=debug,dunr_mailer=debug,\
    dunr_gatekeeper=debug,dunr_portal=debug,dunr_feedback=debug,dunr_sweep=debug,dunr_summary=debug,\
    lambda_kit=debug,paidonce_core=debug,provider=debug,copywriter=debug,\
    local_cloud=debug";

/// What was logged from now on, for stories without a town.
#[derive(Clone, Copy, Debug)]
pub struct Lines(usize);

impl Lines {
    pub fn start() -> Self {
        Self(start())
    }

    /// Adds up what this thread counted on a metric of `function`.
    pub fn counted(self, function: &str, metric: &str) -> i64 {
        counted(self.0, function, metric)
    }

    /// Fails if a line has one of `words`.
    pub fn assert_discreet(self, words: &[String]) {
        assert_discreet(self.0, words);
    }
}

/// Starts collecting, once for the process. Returns the number of lines so far.
pub(crate) fn start() -> usize {
    STARTED.call_once(|| {
        let collected = tracing_subscriber::fmt()
            .json()
            .with_thread_ids(true)
            .with_env_filter(EnvFilter::new(FILTER))
            .with_writer(Collector)
            .try_init();
        collected.expect("nobody else collects the lines of this process");
    });
    LINES.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Fails if a line from `first` on has one of `words`. Stories run side by side, so it may be
/// another town's line; the words are the same in most towns, and wrong in any.
pub(crate) fn assert_discreet(first: usize, words: &[String]) {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    for line in lines.get(first..).unwrap_or_default() {
        for word in words {
            assert!(
                !line.contains(word.as_str()),
                "a log line has `{word}`: {line}"
            );
        }
    }
}

/// Adds up what this thread counted on a metric of `function` since line `first`. A story on a
/// runtime of one thread hears of no other town's counts.
pub(crate) fn counted(first: usize, function: &str, metric: &str) -> i64 {
    let thread = format!("{:?}", std::thread::current().id());
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    let values = lines.get(first..).unwrap_or_default().iter().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        let fields = &line["fields"];
        let fits = line["target"] == "metric"
            && line["threadId"] == thread.as_str()
            && fields["function"] == function
            && fields["metric"] == metric;
        let value = fields["value"].as_i64().unwrap_or_default();
        if fits { value } else { 0 }
    });
    values.sum()
}

#[derive(Clone, Copy)]
struct Collector;

impl MakeWriter<'_> for Collector {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}

impl Write for Collector {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let line = String::from_utf8_lossy(bytes).into_owned();
        LINES
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a log line has `+447700900999`")]
    fn a_phone_in_a_log_line_is_found() {
        let first = start();
        tracing::info!(phone = "+447700900999", "Texted someone");
        assert_discreet(first, &["+447700900999".to_owned()]);
    }
}
