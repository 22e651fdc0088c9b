//! EventBridge Scheduler's expressions: `rate(…)`, `at(…)`, `cron(…)`.

use chrono::{DateTime, Duration, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

/// When a schedule fires.
#[derive(Clone, Debug)]
pub(crate) enum Timing {
    /// Every so often, first one period after the schedule was made.
    Every(Duration),
    Once(DateTime<Utc>),
    /// On the wall clock of a zone. Boxed: it is many times the size of the others.
    Cron(Box<Cron>, Tz),
}

impl Timing {
    /// Reads an expression; `zone` is an IANA name, UTC when absent.
    ///
    /// # Errors
    /// What AWS would refuse, as a sentence.
    pub(crate) fn parse(expression: &str, zone: Option<&str>) -> Result<Self, String> {
        let bad = || format!("`{expression}` is not a schedule expression");
        let zone: Tz = zone
            .unwrap_or("UTC")
            .parse()
            .map_err(|_| format!("there is no zone {zone:?}"))?;
        let (kind, rest) = expression.split_once('(').ok_or_else(bad)?;
        let argument = rest.strip_suffix(')').ok_or_else(bad)?;
        match kind {
            "rate" => rate(argument).map(Self::Every).ok_or_else(bad),
            "at" => {
                let local: NaiveDateTime = argument.parse().map_err(|_| bad())?;
                // Of an hour that comes twice, the first; an hour that never comes fires late.
                let instant = zone.from_local_datetime(&local).earliest();
                instant
                    .map(|instant| Self::Once(instant.to_utc()))
                    .ok_or_else(bad)
            }
            "cron" => cron(argument).map(|cron| Self::Cron(Box::new(cron), zone)),
            _ => Err(bad()),
        }
    }

    /// Returns the first firing after `after`, or `None` if it never fires again.
    pub(crate) fn next(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        match self {
            Self::Every(period) => after.checked_add_signed(*period),
            Self::Once(instant) => (*instant > after).then_some(*instant),
            Self::Cron(cron, zone) => {
                let next = cron
                    .find_next_occurrence(&after.with_timezone(zone), false)
                    .ok()?;
                Some(next.to_utc())
            }
        }
    }
}

fn rate(argument: &str) -> Option<Duration> {
    let (count, unit) = argument.trim().split_once(' ')?;
    let count: i64 = count.parse().ok().filter(|count| *count > 0)?;
    let singular = count == 1;
    match unit.trim() {
        "minute" if singular => Duration::try_minutes(count),
        "hour" if singular => Duration::try_hours(count),
        "day" if singular => Duration::try_days(count),
        "minutes" => Duration::try_minutes(count),
        "hours" => Duration::try_hours(count),
        "days" => Duration::try_days(count),
        _ => None,
    }
}

/// Six fields, Sunday is 1, and exactly one of the two day fields is `?`.
fn cron(argument: &str) -> Result<Cron, String> {
    let bad = |why: &str| format!("`cron({argument})`: {why}");
    let fields: Vec<&str> = argument.split_whitespace().collect();
    let [_, _, day_of_month, _, day_of_week, _] = fields.as_slice() else {
        return Err(bad("six fields are needed"));
    };
    if (*day_of_month == "?") == (*day_of_week == "?") {
        return Err(bad("one of day-of-month and day-of-week must be `?`"));
    }
    let parser = CronParser::builder()
        .seconds(Seconds::Required)
        .year(Year::Required)
        .alternative_weekdays(true)
        .sloppy_ranges(true)
        .build();
    // croner counts seconds first; AWS has none.
    parser
        .parse(&format!("0 {argument}"))
        .map_err(|error| bad(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn next(expression: &str, zone: &str, after: &str) -> Option<DateTime<Utc>> {
        Timing::parse(expression, Some(zone))
            .unwrap()
            .next(instant(after))
    }

    #[test]
    fn a_rate_fires_every_period_and_at_fires_once() {
        let after = "2027-03-01T09:00:00Z";
        assert_eq!(
            next("rate(5 minutes)", "UTC", after),
            Some(instant("2027-03-01T09:05:00Z"))
        );
        assert_eq!(
            next("rate(1 hour)", "UTC", after),
            Some(instant("2027-03-01T10:00:00Z"))
        );
        assert_eq!(
            next("at(2027-07-01T09:00:00)", "Europe/London", after),
            Some(instant("2027-07-01T08:00:00Z"))
        );
        assert_eq!(next("at(2027-01-01T09:00:00)", "UTC", after), None);
    }

    #[test]
    fn cron_follows_the_wall_clock_of_its_zone() {
        let daily = "cron(0 9 * * ? *)";
        assert_eq!(
            next(daily, "Europe/London", "2027-03-27T10:00:00Z"),
            Some(instant("2027-03-28T08:00:00Z"))
        );
        let first_monday = "cron(0 9 ? * 2#1 *)";
        assert_eq!(
            next(first_monday, "UTC", "2027-03-02T00:00:00Z"),
            Some(instant("2027-04-05T09:00:00Z"))
        );
        let weekdays = "cron(30 8 ? * MON-FRI *)";
        assert_eq!(
            next(weekdays, "UTC", "2027-03-05T08:30:00Z"),
            Some(instant("2027-03-08T08:30:00Z"))
        );
    }

    #[test]
    fn what_aws_refuses_is_refused() {
        for expression in [
            "rate(1 minutes ago)",
            "rate(0 minutes)",
            "rate(5 minute)",
            "cron(0 9 * * * *)",
            "cron(0 9 * * ?)",
            "every day",
        ] {
            assert!(Timing::parse(expression, None).is_err(), "{expression}");
        }
        assert!(Timing::parse("rate(5 minutes)", Some("Europe/Londres")).is_err());
    }
}
