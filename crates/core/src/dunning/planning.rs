//! What is done next about a subscription, and when.
//!
//! One thing is planned at a time, since the next date depends on how the last charge failed. Each
//! plan has a number of its own, which names its schedule: a schedule of an older plan finds that
//! it is stale.

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};

use super::business_days::{self, NoHolidayData};
use super::debt::Debt;
use super::mail::kind_for;
use super::policy::Terms;
use super::window::retry_instant;
use super::{
    CaseReason, Consequence, Dunning, LogEvent, OVERDUE_AFTER, Plan, Purpose, Rejection, Status,
    Transition, schedule_name,
};

/// A schedule can't be made for the past, and making it takes a moment.
const SOONEST: TimeDelta = TimeDelta::seconds(60);

/// What is to be done, before it has a number.
struct Wish {
    purpose: Purpose,
    invoice_id: String,
    at: DateTime<Utc>,
    why: String,
}

pub(super) fn plan(
    row: &Dunning,
    mut to: Transition,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let wish = match wish(row, now) {
        Ok(Some(wish)) => wish,
        Ok(None) => return Err(Rejection::Nothing),
        Err(missing) => return no_holiday_data(row, to, &missing, now),
    };
    let stands = row.plan.as_ref().is_some_and(|plan| {
        let same = plan.purpose == wish.purpose && plan.invoice_id == wish.invoice_id;
        same && now < plan.at + OVERDUE_AFTER
    });
    if stands {
        return Err(Rejection::Already);
    }
    to.drop_plan();
    if to.after.cases.remove(&CaseReason::NoHolidayData).is_some() {
        let reason = CaseReason::NoHolidayData.as_str();
        to.after.cases_told.retain(|told| !told.starts_with(reason));
    }
    to.after.plan_no += 1;
    let plan = Plan {
        n: to.after.plan_no,
        purpose: wish.purpose,
        invoice_id: wish.invoice_id,
        at: wish.at,
        why: wish.why,
    };
    let name = schedule_name(&row.subscription_id, plan.n);
    to.after.schedule_names.push(name);
    to.after.next_retry_at = match plan.purpose {
        Purpose::Look => None,
        Purpose::Charge | Purpose::ChargeNewCard => Some(plan.at),
    };
    let told = to
        .about(&plan.invoice_id)
        .told(LogEvent::RetryPlanned, plan.why.clone());
    to = told;
    to.after.plan = Some(plan.clone());
    if plan.purpose == Purpose::Charge {
        write_about(&mut to, &plan.invoice_id, now);
    }
    Ok(to)
}

/// Orders the mail of this date of the calendar, once.
fn write_about(to: &mut Transition, invoice_id: &str, now: DateTime<Utc>) {
    let Some(debt) = to.after.invoices.get_mut(invoice_id) else {
        return;
    };
    if debt.mailed_step == Some(debt.steps_used) {
        return;
    }
    debt.mailed_step = Some(debt.steps_used);
    if let Some(kind) = kind_for(debt) {
        to.mail(kind, Some(invoice_id), now);
    }
}

fn wish(row: &Dunning, now: DateTime<Utc>) -> Result<Option<Wish>, NoHolidayData> {
    if let Some(attempt) = &row.attempt {
        let minutes = &row.terms.look_again_minutes;
        let look = usize::try_from(attempt.looks.saturating_sub(1)).unwrap_or(usize::MAX);
        let wait = minutes.get(look).or(minutes.last()).copied().unwrap_or(15);
        let at = (now + TimeDelta::minutes(i64::from(wait))).max(attempt.lease_until);
        return Ok(Some(Wish {
            purpose: Purpose::Look,
            invoice_id: attempt.invoice_id.clone(),
            at: at.max(now + SOONEST),
            why: format!("charge {} has no answer yet", attempt.n),
        }));
    }
    if row.closed.is_some() || row.status == Status::Cancelled {
        return Ok(None);
    }
    let Some((invoice_id, debt)) = row.current() else {
        return Ok(None);
    };
    let soon = |purpose, why: &str| Wish {
        purpose,
        invoice_id: invoice_id.clone(),
        at: (now + SOONEST).max(debt.not_before.unwrap_or(now)),
        why: why.to_owned(),
    };
    if row.may_try_new_card() {
        return Ok(Some(soon(Purpose::ChargeNewCard, "there is a new card")));
    }
    if !debt.known {
        return Ok(Some(soon(Purpose::Look, "why it failed is not known yet")));
    }
    let open = row.open_debts().into_iter();
    let mut waiting = open.filter(|(_, debt)| !debt.exhausted);
    match waiting.next() {
        Some((invoice_id, debt)) if debt.known => by_calendar(row, invoice_id, debt, now).map(Some),
        Some((invoice_id, _)) => Ok(Some(Wish {
            invoice_id: invoice_id.clone(),
            ..soon(Purpose::Look, "why it failed is not known yet")
        })),
        None => Ok(None),
    }
}

fn by_calendar(
    row: &Dunning,
    invoice_id: &str,
    debt: &Debt,
    now: DateTime<Utc>,
) -> Result<Wish, NoHolidayData> {
    let terms = &row.terms;
    let from = debt.stepped_at.unwrap_or(debt.failed_at);
    let wait = debt.not_before.map(|until| until - from);
    let step = usize::try_from(debt.steps_used).unwrap_or(usize::MAX);
    let at = terms.next_retry(step, from, wait)?;
    let soonest = now + SOONEST;
    // A date of the past, since the order to plan came late: the next moment that suits.
    let at = match at {
        Some(at) if at >= soonest => at,
        Some(_) | None => terms.next_open(soonest.max(debt.not_before.unwrap_or(soonest)))?,
    };
    let gap = terms
        .gaps_business_days
        .get(step)
        .copied()
        .unwrap_or_default();
    let verdict = debt.verdict.as_deref().unwrap_or("no reason is known");
    Ok(Wish {
        purpose: Purpose::Charge,
        invoice_id: invoice_id.to_owned(),
        at,
        why: format!(
            "date {} of {} (policy {}): {gap} business days after {} in {} (holidays {}); {verdict}",
            step + 1,
            terms.gaps_business_days.len(),
            terms.edition,
            from.with_timezone(&terms.zone).date_naive(),
            terms.region.as_str(),
            business_days::edition(),
        ),
    })
}

/// A date that can't be counted is nobody's guess.
fn no_holiday_data(
    row: &Dunning,
    mut to: Transition,
    missing: &NoHolidayData,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    if row.cases.contains_key(&CaseReason::NoHolidayData) {
        return Err(Rejection::Nothing);
    }
    to.drop_plan();
    to.consequences.retain(|it| *it != Consequence::Plan);
    to.open_case(CaseReason::NoHolidayData, None, now);
    Ok(to.told(LogEvent::CaseOpened, missing.to_string()))
}

impl Terms {
    /// How many dates of the calendar an invoice gets.
    pub fn max_attempts(&self) -> u32 {
        u32::try_from(self.gaps_business_days.len()).unwrap_or(u32::MAX)
    }

    /// Whether cards are charged at `at`; without holiday data, whether the hour suits.
    pub(super) fn is_open(&self, at: DateTime<Utc>) -> bool {
        self.next_open(at)
            .map_or_else(|_| self.window.has(at, self.zone), |open| open <= at)
    }

    /// When the business's next day begins.
    pub(super) fn start_of_next_day(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let today = now.with_timezone(&self.zone).date_naive();
        let tomorrow = today.succ_opt().unwrap_or(today);
        retry_instant(self.zone, tomorrow, NaiveTime::MIN)
    }

    /// Whether a charge that was planned for `at` is better put on another day: it is long after
    /// its time, or this is no hour of business.
    pub(super) fn is_too_late(&self, at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        let late_max = TimeDelta::minutes(i64::from(self.late_max_minutes));
        now > at + late_max || !self.is_open(now)
    }
}
