//! Wall time and the zone it is read in.
//!
//! One written rule for the two odd hours of a year: a time that the clocks skip is refused,
//! a time that they show twice needs its offset, and the two are different slots.

use std::collections::BTreeSet;

use chrono::offset::LocalResult;
use chrono::{
    DateTime, Datelike as _, Days, Duration, FixedOffset, NaiveDateTime, NaiveTime, Offset as _,
    SecondsFormat, TimeZone as _, Timelike as _, Utc,
};
use chrono_tz::Tz;

/// The longest gap that any zone has had is a whole day (a jump over the date line).
const GAP_MINUTES_MAX: i64 = 1440;
/// 1 January 2024.
const OFFSETS_FROM_S: i64 = 1_704_067_200;
/// Twenty-six years.
const OFFSET_WEEKS: i64 = 1357;

/// A moment, and what the clock on the wall shows then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    /// The moment.
    pub utc: DateTime<Utc>,
    /// The wall time in the zone that was asked for.
    pub local: NaiveDateTime,
}

/// Why a text names no moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocalTimeError {
    /// Not a date and time, or one that no calendar has.
    #[error("write a date and time such as 2026-07-11T20:00")]
    Unreadable,
    /// The clocks are put forward over this time.
    #[error("{local} does not exist: the clocks go forward to {resumes_at}")]
    Nonexistent {
        /// The time that was asked for.
        local: NaiveDateTime,
        /// The first minute that exists after it.
        resumes_at: NaiveDateTime,
    },
    /// The clocks are put back and show this time twice.
    #[error("{local} comes twice: write it with its offset, {first_offset} or {second_offset}")]
    Ambiguous {
        /// The time that was asked for.
        local: NaiveDateTime,
        /// The offset of the earlier one.
        first_offset: FixedOffset,
        /// The offset of the later one.
        second_offset: FixedOffset,
    },
}

/// Reads `2026-07-11T20:00`, with or without seconds, as wall time in `zone`; or, with an
/// offset or `Z` behind it, as the moment that it names, whatever the zone's own offset is.
///
/// # Errors
/// See [`LocalTimeError`].
pub fn resolve(text: &str, zone: Tz) -> Result<Instant, LocalTimeError> {
    let (local, offset) = read(text).ok_or(LocalTimeError::Unreadable)?;
    let utc = match offset {
        Some(offset) => local
            .checked_sub_offset(offset)
            .ok_or(LocalTimeError::Unreadable)?
            .and_utc(),
        None => from_wall(local, zone)?,
    };
    let local = utc.with_timezone(&zone).naive_local();
    // Beyond these years a stamp has a sign and another width.
    let fits = |year| (1..=9999).contains(&year);
    match fits(utc.year()) && fits(local.year()) {
        true => Ok(Instant { utc, local }),
        false => Err(LocalTimeError::Unreadable),
    }
}

/// Returns the key of a slot that starts at `utc`: its wall time, with the offset only where
/// the same wall time comes twice, so that the two are two slots.
pub fn slot_stamp(utc: DateTime<Utc>, zone: Tz) -> String {
    let at = utc.with_timezone(&zone);
    let local = at.naive_local();
    let stamp = match local.second() {
        0 => local.format("%Y-%m-%dT%H:%M").to_string(),
        _ => local.format("%Y-%m-%dT%H:%M:%S").to_string(),
    };
    match is_ambiguous(local, zone) {
        true => format!("{stamp}{}", at.offset().fix()),
        false => stamp,
    }
}

/// Returns what a customer reads: `Sat 11 Jul 20:00`, with the zone's letters where it must be
/// (`Sun 25 Oct 01:30 GMT`).
pub fn human(utc: DateTime<Utc>, zone: Tz) -> String {
    let at = utc.with_timezone(&zone);
    let text = match is_ambiguous(at.naive_local(), zone) {
        true => at.format("%a %-d %b %H:%M %Z"),
        false => at.format("%a %-d %b %H:%M"),
    };
    text.to_string()
}

/// Returns the moment when the wall shows `time`, so many days before the local day of `starts_at`.
///
/// A rule by date must have an answer on every day: over a gap it is the first moment after
/// it, and of two it is the earlier.
pub fn days_before_at(
    starts_at: DateTime<Utc>,
    zone: Tz,
    days_before: u32,
    time: NaiveTime,
) -> DateTime<Utc> {
    let day = starts_at.with_timezone(&zone).date_naive();
    let before = day.checked_sub_days(Days::new(u64::from(days_before)));
    at_wall(before.unwrap_or(day).and_time(time), zone)
}

/// Returns the moment of a wall time that a rule names, such as "at 09:00": the first moment
/// after a gap, the earlier of two.
pub fn at_wall(local: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    let first = |local| match zone.from_local_datetime(&local) {
        LocalResult::Single(at) | LocalResult::Ambiguous(at, _) => Some(at.to_utc()),
        LocalResult::None => None,
    };
    first(local)
        .or_else(|| first(after_gap(local, zone)))
        .unwrap_or_else(|| local.and_utc())
}

/// Returns the offsets from UTC that a zone has from 2024 to 2049, in seconds.
///
/// Looked up week by week: no zone has had one for less than a month in this century.
pub fn offsets_s(zone: Tz) -> BTreeSet<i64> {
    (0..OFFSET_WEEKS)
        .filter_map(|week| DateTime::from_timestamp(OFFSETS_FROM_S + week * 604_800, 0))
        .map(|at| zone.offset_from_utc_datetime(&at.naive_utc()).fix())
        .map(|offset| i64::from(offset.local_minus_utc()))
        .collect()
}

/// Returns `utc` as RFC 3339 with whole seconds and a `Z`: fixed width, so it sorts as text.
pub fn stamp(utc: DateTime<Utc>) -> String {
    utc.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn from_wall(local: NaiveDateTime, zone: Tz) -> Result<DateTime<Utc>, LocalTimeError> {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(at) => Ok(at.to_utc()),
        LocalResult::Ambiguous(first, second) => Err(LocalTimeError::Ambiguous {
            local,
            first_offset: first.offset().fix(),
            second_offset: second.offset().fix(),
        }),
        LocalResult::None => Err(LocalTimeError::Nonexistent {
            local,
            resumes_at: after_gap(local, zone),
        }),
    }
}

fn is_ambiguous(local: NaiveDateTime, zone: Tz) -> bool {
    match zone.from_local_datetime(&local) {
        LocalResult::Ambiguous(_, _) => true,
        LocalResult::Single(_) | LocalResult::None => false,
    }
}

fn after_gap(local: NaiveDateTime, zone: Tz) -> NaiveDateTime {
    let minute = local.with_second(0).unwrap_or(local);
    (1..=GAP_MINUTES_MAX)
        .filter_map(|minutes| minute.checked_add_signed(Duration::minutes(minutes)))
        .find(|later| zone.from_local_datetime(later).earliest().is_some())
        .unwrap_or(local)
}

/// Splits a text into its wall time and its offset. Stricter than the parser of the library,
/// which also takes `2026-7-1T9:5` and a second 60.
fn read(text: &str) -> Option<(NaiveDateTime, Option<FixedOffset>)> {
    let (date, time) = text.split_at_checked(10)?;
    let time = time.strip_prefix('T')?;
    let clock_end = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (clock, offset) = time.split_at(clock_end);
    let clock = match clock.len() {
        5 => format!("{clock}:00"),
        8 => clock.to_owned(),
        _ => return None,
    };
    let digits = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit() || b"-:".contains(&byte))
    };
    if !digits(date) || !digits(&clock) {
        return None;
    }
    let wall = format!("{date}T{clock}");
    let local = NaiveDateTime::parse_from_str(&wall, "%Y-%m-%dT%H:%M:%S").ok()?;
    let exact = local.format("%Y-%m-%dT%H:%M:%S").to_string() == wall;
    let leap = local.nanosecond() > 0 || clock.ends_with(":60");
    if !exact || leap {
        return None;
    }
    match offset {
        "" => Some((local, None)),
        _ => {
            let at = DateTime::parse_from_rfc3339(&format!("{wall}{offset}")).ok()?;
            Some((local, Some(*at.offset())))
        }
    }
}

#[cfg(test)]
mod tests;
