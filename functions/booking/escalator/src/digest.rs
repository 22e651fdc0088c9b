//! The daily digest: the open cases by reason, oldest first, and the bookings that nobody marked.
//!
//! Which digest was sent is kept in the audit as `digest#{day}#{attempt}#1-intent`, then
//! `…#2-sent` or `…#2-failed`. A start that finds another one at work fails and is repeated by
//! Lambda; an attempt that never said how it ended is made again.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use copywriter::mail::{DigestFacts, DigestGroup, digest_mail};
use lambda_kit::{Failure, Function};
use paidonce_core::audit::{Audit, history};
use paidonce_core::booking::{Booking, Reason, State};
use paidonce_core::booking_step::Origin;
use paidonce_core::case::{Case, Closing, Entry, OpenCase, close, open_cases};
use paidonce_core::local_time::human;
use paidonce_core::step::{Step, Written, read, write};
use serde_json::Value;

use crate::Escalator;
use crate::mail::sentence;

/// What the digests are filed under in the audit.
const SUBJECT: &str = "digest";
/// How many open cases are counted at most.
const COUNTED_MAX: usize = 1000;
/// How many cases one digest lists, and how many bookings it looks at.
const LISTED_MAX: usize = 100;
/// How long an attempt may be under way: longer than this function's time-out.
const SENDING_FOR: TimeDelta = TimeDelta::seconds(60);

impl Escalator {
    /// Mails the team what is open, unless it was told today, or nothing is.
    pub(crate) async fn digest(&self, now: DateTime<Utc>) -> Result<(), Failure> {
        let day = now.format("%Y-%m-%d").to_string();
        let attempt = match self.told_on(&day, now).await? {
            Told::Today => return Ok(()),
            Told::Perhaps => return Err("another start may be sending the digest".into()),
            Told::NotYet(attempt) => attempt,
        };
        let open = open_cases(&self.dynamodb, &self.cases_table, COUNTED_MAX).await?;
        let facts = self.digest_facts(&day, &open, now).await?;
        if facts.open() == 0 {
            tracing::debug!("No case is open: no digest");
            return Ok(());
        }
        if !self.note(&day, attempt, "1-intent", now).await? {
            return Err("another start is sending the digest".into());
        }
        let sent = self.send(&digest_mail(&facts), "digest").await;
        let end = match &sent {
            Ok(()) => "2-sent",
            Err(_) => "2-failed",
        };
        self.note(&day, attempt, end, now).await?;
        sent.map_err(Failure::from)
    }

    async fn told_on(&self, day: &str, now: DateTime<Utc>) -> Result<Told, Failure> {
        let prefix = format!("digest#{day}#");
        let rows = history(&self.dynamodb, &self.audit_table, SUBJECT, &prefix).await?;
        let rows = rows
            .iter()
            .filter_map(|row| Some((row.ts.strip_prefix(&prefix)?, row.at.unwrap_or_default())));
        Ok(told(rows, now))
    }

    /// Writes a row of the digest's own history. `false`: another start wrote it.
    async fn note(
        &self,
        day: &str,
        attempt: u32,
        end: &str,
        now: DateTime<Utc>,
    ) -> Result<bool, Failure> {
        let id = self.entropy.ulid(now);
        let audit = Audit {
            subject: SUBJECT,
            who: Self::NAME,
            what: "digest of open cases",
            before: None,
            after: None,
            why: end.to_owned(),
            correlation_id: day,
        };
        // The command is this start's own: an intent that another one wrote is not ours to act on.
        let step = Step::new(id, format!("digest:{day}:{attempt}:{id}"), now);
        let step = step.audit_at(
            &self.audit_table,
            format!("digest#{day}#{attempt:03}#{end}"),
            audit,
        );
        match write(&self.dynamodb, &step).await? {
            Written::Applied => Ok(true),
            Written::Stale(_) => Ok(false),
            Written::Contended => Err("others kept writing".into()),
        }
    }

    async fn digest_facts(
        &self,
        day: &str,
        open: &[OpenCase],
        now: DateTime<Utc>,
    ) -> Result<DigestFacts, Failure> {
        let mut facts = DigestFacts {
            day: day.to_owned(),
            ..DigestFacts::default()
        };
        let mut place_of = BTreeMap::new();
        for (nth, case) in open.iter().enumerate() {
            let age = age(now - case.since);
            let line = format!("{}, open for {age}", case.subject);
            if case.reason == Reason::FundsUnseen
                && nth < LISTED_MAX
                && self.heard_of(case, now).await?
            {
                continue;
            }
            if case.reason == Reason::AttendanceUnmarked {
                // Beyond the limit it is counted as it stands in the index.
                let line = match nth < LISTED_MAX {
                    true => self.unmarked(case, &line, now).await?,
                    false => Some(line),
                };
                facts.attendance_count += usize::from(line.is_some());
                facts.attendance.extend(line.filter(|_| nth < LISTED_MAX));
                continue;
            }
            let groups = facts.groups.len();
            let place = *place_of.entry(case.reason.as_str()).or_insert(groups);
            if place == groups {
                facts.groups.push(DigestGroup {
                    reason: case.reason.as_str().to_owned(),
                    what: sentence(case.reason).to_owned(),
                    ..DigestGroup::default()
                });
            }
            if let Some(group) = facts.groups.get_mut(place) {
                group.count += 1;
                group.lines.extend((nth < LISTED_MAX).then_some(line));
            }
        }
        Ok(facts)
    }

    /// The line of a booking that nobody marked. One that has been marked or settled since is no
    /// case any more, and is closed.
    async fn unmarked(
        &self,
        open: &OpenCase,
        line: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<String>, Failure> {
        let booking = read::<Booking>(&self.dynamodb, &self.bookings_table, &open.subject).await?;
        let Some(booking) = booking else {
            return Ok(Some(line.to_owned()));
        };
        if needs_mark(&booking) {
            let starts = human(booking.place.starts_at, booking.place.zone);
            let resource = &booking.place.resource;
            return Ok(Some(format!("{line}: {resource} on {starts}")));
        }
        let case = read::<Case>(&self.dynamodb, &self.cases_table, &open.case_id).await?;
        if let Some(case) = case {
            self.close(&case, "marked or settled since", now).await?;
        }
        Ok(None)
    }

    /// Whether all money that a case waits for has been heard of since. Then it is closed: the money
    /// has taken its course.
    async fn heard_of(&self, open: &OpenCase, now: DateTime<Utc>) -> Result<bool, Failure> {
        let booking = read::<Booking>(&self.dynamodb, &self.bookings_table, &open.subject).await?;
        let case = read::<Case>(&self.dynamodb, &self.cases_table, &open.case_id).await?;
        let (Some(booking), Some(case)) = (booking, case) else {
            return Ok(false);
        };
        let is_known = |entry: &Entry| {
            let payment = entry.facts.get("payment_ref").and_then(Value::as_str);
            payment.is_some_and(|payment| booking.knows(payment))
        };
        let heard_of = case.entries.iter().all(is_known);
        if heard_of {
            self.close(&case, "heard of since", now).await?;
        }
        Ok(heard_of)
    }

    async fn close(&self, case: &Case, why: &str, now: DateTime<Utc>) -> Result<(), Failure> {
        let Closing::Closed(after) = close(case, Self::NAME, why, now) else {
            return Ok(());
        };
        let command_id = format!("close:{}:{}", case.case_id, case.version);
        let origin = Origin {
            who: Self::NAME,
            correlation_id: &case.case_id,
        };
        let step = Step::new(self.entropy.ulid(now), command_id, now);
        let step = step.close_case(&self.cases_table, &self.audit_table, case, &after, origin);
        match write(&self.dynamodb, &step).await? {
            Written::Applied => Ok(()),
            // Something joined it or closed it: tomorrow's digest looks again.
            Written::Stale(_) | Written::Contended => Ok(()),
        }
    }
}

fn needs_mark(booking: &Booking) -> bool {
    booking.state == State::Confirmed && booking.attendance.is_none()
}

/// Whether the team has had the digest of a day.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Today,
    /// It is being sent, perhaps: an attempt was begun a moment ago.
    Perhaps,
    /// It may be sent, as this attempt.
    NotYet(u32),
}

fn told<'a>(rows: impl Iterator<Item = (&'a str, DateTime<Utc>)>, now: DateTime<Utc>) -> Told {
    let mut told = Told::NotYet(1);
    for (key, at) in rows {
        let (attempt, end) = key.split_once('#').unwrap_or((key, ""));
        let attempt: u32 = attempt.parse().unwrap_or_default();
        told = match end {
            "1-intent" if now - at < SENDING_FOR => Told::Perhaps,
            // The team rather hears twice than never.
            "1-intent" | "2-failed" => Told::NotYet(attempt + 1),
            _ => return Told::Today,
        };
    }
    told
}

fn age(open_for: TimeDelta) -> String {
    let counted = |count: i64, unit: &str| match count {
        1 => format!("1 {unit}"),
        _ => format!("{count} {unit}s"),
    };
    match (open_for.num_days(), open_for.num_hours()) {
        (0, 0) => "less than an hour".to_owned(),
        (0, hours) => counted(hours, "hour"),
        (days, _) => counted(days, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_sent_again_only_if_it_did_not_go_out() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let said = |keys: &[&str]| told(keys.iter().map(|key| (*key, now - SENDING_FOR)), now);
        assert_eq!(said(&[]), Told::NotYet(1));
        assert_eq!(said(&["001#1-intent"]), Told::NotYet(2));
        assert_eq!(said(&["001#1-intent", "001#2-failed"]), Told::NotYet(2));
        assert_eq!(said(&["001#1-intent", "001#2-sent"]), Told::Today);
        let young = [("001#1-intent", now - TimeDelta::seconds(59))];
        assert_eq!(told(young.into_iter(), now), Told::Perhaps);
    }

    #[test]
    fn an_age_is_said_in_days_or_hours() {
        let said = [10, 60, 150, 1440, 5000].map(|minutes| age(TimeDelta::minutes(minutes)));
        assert_eq!(
            said,
            ["less than an hour", "1 hour", "2 hours", "1 day", "3 days"]
        );
    }
}
