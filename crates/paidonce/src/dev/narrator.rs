//! Tells in the terminal what happens: facts from the audit, messages, webhooks, what went wrong.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use local_cloud::{Happening, Message};
use paidonce_core::audit::AuditRow;
use paidonce_core::dunning::{Dunning, LogRow};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::dunning_facts::dunning_fact;
use super::terminal::Look;
use super::{Dev, Shared};

const AUDIT_TABLE: &str = "bdc-audit";
const LOG_TABLE: &str = "dunr-log";
const DUNNING_TABLE: &str = "dunr-dunning";

/// One line to be.
struct Line {
    at: DateTime<Utc>,
    /// What comes first within one instant.
    rank: u8,
    who: String,
    look: Look,
    what: String,
}

/// Tells for ever.
pub(crate) async fn narrate(dev: Shared) {
    let mut happenings = dev.fleet.cloud.watch();
    let mut told = BTreeSet::new();
    // What was there before the start is history.
    facts(&dev, &mut told);
    loop {
        let mut lines = Vec::new();
        let mut is_audited = false;
        match happenings.recv().await {
            Ok(happening) => is_audited |= note(&dev, happening, &mut lines),
            Err(RecvError::Lagged(count)) => missed(&dev, count),
            Err(RecvError::Closed) => return,
        }
        is_audited |= take_rest(&dev, &mut happenings, &mut lines);
        if is_audited {
            lines.extend(facts(&dev, &mut told));
        }
        lines.sort_by_key(|line| (line.at, line.rank));
        for line in lines {
            dev.terminal
                .line(Some(line.at), &line.who, line.look, &line.what);
        }
    }
}

/// Takes what has happened meanwhile, so that one look at the audit serves for all of it.
fn take_rest(dev: &Dev, happenings: &mut Receiver<Happening>, lines: &mut Vec<Line>) -> bool {
    let mut is_audited = false;
    loop {
        match happenings.try_recv() {
            Ok(happening) => is_audited |= note(dev, happening, lines),
            Err(TryRecvError::Lagged(count)) => {
                missed(dev, count);
                is_audited = true;
            }
            Err(TryRecvError::Empty | TryRecvError::Closed) => return is_audited,
        }
    }
}

fn missed(dev: &Dev, count: u64) {
    tracing::debug!("{count} happenings went by too fast");
    dev.terminal.line(
        dev.terminal.now(),
        "paidonce",
        Look::Faint,
        "so much happens that some of it is not shown",
    );
}

/// Adds the line of a happening, if it deserves one. Says whether the audit may have grown.
fn note(dev: &Dev, happening: Happening, lines: &mut Vec<Line>) -> bool {
    let (at, rank, who, look, what) = match happening {
        Happening::InvocationStarted { .. } | Happening::InvocationEnded { problem: None, .. } => {
            return true;
        }
        Happening::InvocationEnded {
            at,
            function,
            problem: Some(problem),
            ..
        } => (at, 3, function, Look::Failure, format!("failed: {problem}")),
        Happening::MessageSent { message } => (
            message.at,
            2,
            message.function.clone(),
            Look::Bold,
            told(&message),
        ),
        Happening::DeadLettered {
            at,
            from,
            queue,
            id,
            ..
        } => {
            let what = format!("given up: message {id} of {from}");
            (at, 4, queue, Look::Failure, what)
        }
        Happening::Dropped { at, from, id } => {
            (at, 4, from, Look::Failure, format!("lost for good: {id}"))
        }
        Happening::Delivered {
            at,
            function,
            id,
            status,
        } => {
            let kind = dev.fleet.webhook_kind(&id).unwrap_or(id);
            let look = match status {
                200..300 => Look::Plain,
                _ => Look::Warning,
            };
            let what = format!("{kind} delivered, answered {status}");
            (at, 0, function, look, what)
        }
    };
    lines.push(Line {
        at,
        rank,
        who,
        look,
        what,
    });
    false
}

/// This is the developer's own terminal and no log: the text may be seen, of the number the end.
fn told(message: &Message) -> String {
    let end: String = message.to.chars().rev().take(2).collect();
    let end: String = end.chars().rev().collect();
    let mut words = message.text.split_whitespace();
    match message.channel.as_str() {
        "sms" => format!("SMS to …{end}: {}", message.text),
        _ => match words.find(|word| word.starts_with("http")) {
            Some(link) => format!("mail to {}: {}, {link}", message.to, message.subject),
            None => format!("mail to {}: {}", message.to, message.subject),
        },
    }
}

/// What was written down of either system and was not told yet.
fn facts(dev: &Dev, told: &mut BTreeSet<(String, String)>) -> Vec<Line> {
    let mut lines = audit_lines(dev, told);
    lines.extend(dunning_lines(dev, told));
    lines
}

/// The rows of dunning's log that were not told yet.
fn dunning_lines(dev: &Dev, told: &mut BTreeSet<(String, String)>) -> Vec<Line> {
    let rows = dev.fleet.cloud.table(LOG_TABLE).unwrap_or_default();
    let rows = rows
        .into_iter()
        .filter_map(|row| serde_json::from_value::<LogRow>(row).ok());
    let mut fresh: Vec<LogRow> = rows
        .filter(|row| told.insert((row.subscription_id.clone(), row.ts.clone())))
        .collect();
    fresh.sort_by(|left, right| left.ts.cmp(&right.ts));
    let subscriptions = match fresh.is_empty() {
        true => Vec::new(),
        false => dev.fleet.cloud.table(DUNNING_TABLE).unwrap_or_default(),
    };
    let zone_of = |row: &LogRow| {
        let mut all = subscriptions.iter();
        let own = all.find(|it| it["subscription_id"] == row.subscription_id.as_str())?;
        let own = serde_json::from_value::<Dunning>(own.clone()).ok()?;
        Some(own.terms.zone)
    };
    let lines = fresh.iter().filter_map(|row| {
        let what = dunning_fact(row, zone_of(row).unwrap_or(dev.venue.zone))?;
        Some(Line {
            at: row.at,
            rank: 1,
            who: row.who.clone(),
            look: Look::Plain,
            what,
        })
    });
    lines.collect()
}

/// The audit rows that were not told yet.
fn audit_lines(dev: &Dev, told: &mut BTreeSet<(String, String)>) -> Vec<Line> {
    let rows = dev.fleet.cloud.table(AUDIT_TABLE).unwrap_or_default();
    let rows = rows
        .into_iter()
        .filter_map(|row| serde_json::from_value::<AuditRow>(row).ok());
    let mut lines = Vec::new();
    for row in rows {
        if told.insert((row.booking_id.clone(), row.ts.clone()))
            && let Some(at) = told_at(&row)
        {
            lines.push(Line {
                at,
                rank: 1,
                who: row.who.split(' ').next().unwrap_or_default().to_owned(),
                look: Look::Plain,
                what: fact(&row),
            });
        }
    }
    lines
}

/// When a row's fact happened, if no other line tells of it: rows about a message have no time in
/// their key, and of a case the log and the mail tell.
fn told_at(row: &AuditRow) -> Option<DateTime<Utc>> {
    if row.who == "bdc-escalator" {
        return None;
    }
    row.ts.split('#').next()?.parse().ok()
}

/// `deposit paid: PENDING → CONFIRMED (payment pi_1), bkg_1`.
fn fact(row: &AuditRow) -> String {
    let states = match (row.before.as_deref(), row.after.as_deref()) {
        (Some(before), Some(after)) if before != after => format!(": {before} → {after}"),
        (None, Some(after)) => format!(": {after}"),
        (Some(_), Some(_) | None) | (None, None) => String::new(),
    };
    let why = match row.why.as_str() {
        "" => String::new(),
        why => format!(" ({why})"),
    };
    format!("{}{states}{why}, {}", row.what, row.booking_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(before: Option<&str>, after: Option<&str>) -> AuditRow {
        AuditRow {
            at: None,
            booking_id: "bkg_1".to_owned(),
            ts: "2026-06-01T12:00:00.000Z#01".to_owned(),
            who: "bdc-webhook".to_owned(),
            what: "deposit paid".to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            why: "payment pi_1".to_owned(),
            correlation_id: String::new(),
            causation_id: String::new(),
            set: serde_json::Map::new(),
            removed: Vec::new(),
        }
    }

    #[test]
    fn a_fact_names_the_change_of_state_if_there_is_one() {
        let moved = row(Some("PENDING"), Some("CONFIRMED"));
        assert_eq!(
            fact(&moved),
            "deposit paid: PENDING → CONFIRMED (payment pi_1), bkg_1"
        );
        let stayed = row(Some("PENDING"), Some("PENDING"));
        assert_eq!(fact(&stayed), "deposit paid (payment pi_1), bkg_1");
    }

    #[test]
    fn what_another_line_tells_is_not_told_twice() {
        let mut about_message = row(None, None);
        about_message.ts = "message#deposit_request#1#1-intent".to_owned();
        assert_eq!(told_at(&about_message), None);
        let mut about_case = row(None, None);
        about_case.who = "bdc-escalator".to_owned();
        assert_eq!(told_at(&about_case), None);
        assert!(told_at(&row(None, None)).is_some());
    }
}
