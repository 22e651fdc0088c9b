//! No secret and no personal datum in any log line.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use tracing_subscriber::fmt::MakeWriter;

use super::{Broken, require};
use crate::action::System;
use crate::world::{World, text};

thread_local! {
    /// What this thread, and so the one life that it simulates, has logged.
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

static STARTED: Once = Once::new();

/// Starts collecting what is logged, once for the process, unless somebody else collects it already.
pub(crate) fn listen() {
    STARTED.call_once(|| {
        let collected = tracing_subscriber::fmt()
            .json()
            .with_max_level(tracing_subscriber::filter::LevelFilter::INFO)
            .with_writer(Collector)
            .try_init();
        // Then it is checked by them.
        let _ = collected;
    });
}

/// Forgets what an earlier life logged.
pub(crate) fn forget_lines() {
    LINES.with_borrow_mut(Vec::clear);
}

pub(super) fn no_secret_was_logged(world: &World) -> Result<(), Broken> {
    let words = hidden_words(world);
    // The kind that is made fastest: it is used once.
    let kind = Some(AhoCorasickKind::NoncontiguousNFA);
    let Ok(search) = AhoCorasick::builder().kind(kind).build(&words) else {
        return Ok(());
    };
    LINES.with_borrow(|lines| {
        let found = search.find(lines);
        require(found.is_none(), "no personal datum in a log", || {
            let at = found.map_or(0, |found| found.start());
            let from = lines[..at]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .unwrap_or(0);
            let line = lines[from..]
                .split(|byte| *byte == b'\n')
                .find(|line| !line.is_empty());
            String::from_utf8_lossy(line.unwrap_or_default()).into_owned()
        })
    })
}

fn hidden_words(world: &World) -> Vec<String> {
    let cloud = &world.fleet.cloud;
    let mut words: Vec<String> = ["7700 900", "07700900", "447700900"]
        .map(str::to_owned)
        .to_vec();
    words.extend(cloud.secrets().into_values());
    for message in cloud.messages() {
        words.push(message.to);
        words.extend(
            message
                .text
                .lines()
                .filter(|line| line.len() >= 12)
                .map(str::to_owned),
        );
    }
    let (table, fields) = match world.system {
        System::Booking => ("bdc-bookings", ["name", "email", "notes"]),
        System::Dunning => ("dunr-dunning", ["name", "email", "second_email"]),
    };
    for row in world.rows(table) {
        words.extend(fields.map(|field| text(&row, field).to_owned()));
    }
    words.retain(|word| word.len() >= 8);
    words.sort();
    words.dedup();
    words
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
        LINES.with_borrow_mut(|lines| lines.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
