//! What the sweep finds to do: whatever an order or a schedule should have done and did not.

use chrono::{DateTime, Utc};

use super::mail::MailKind;
use super::{
    CaseReason, Consequence, Dunning, LogEvent, MailNote, OVERDUE_AFTER, Purpose, Rejection,
    Transition, mailing,
};
use crate::planted::{self, Defect};

/// Decides on the first thing that is due; the caller asks again until there is nothing.
pub(super) fn tend(
    row: &Dunning,
    mut to: Transition,
    now: DateTime<Utc>,
) -> Result<Transition, Rejection> {
    let overdue = |since: DateTime<Utc>| since + OVERDUE_AFTER <= now;
    if row.closed.is_some() {
        return mails(row, to, now);
    }
    if row.attempt.is_none() && row.horizon().is_some_and(|horizon| horizon <= now) {
        to.after.closed = Some("abandoned".to_owned());
        to.drop_plan();
        if row.open_debts().iter().any(|(_, debt)| !debt.exhausted) {
            to.open_case(CaseReason::Abandoned, None, now);
        }
        return Ok(to
            .told(
                LogEvent::Closed,
                format!("{} days have passed", row.terms.abandon_after_days),
            )
            .with_result("abandoned"));
    }
    let lost = row.plan.as_ref().filter(|plan| overdue(plan.at));
    if let Some(plan) = lost.filter(|_| !planted::is(Defect::LostScheduleStays)) {
        let what = match plan.purpose {
            Purpose::Look => "look",
            Purpose::Charge | Purpose::ChargeNewCard => "retry",
        };
        to = to.about(&plan.invoice_id);
        to.drop_plan();
        to.order_plan();
        return Ok(to
            .told(
                LogEvent::RetrySkipped,
                format!("the schedule of a {what} never fired"),
            )
            .with_result("schedule_lost"));
    }
    let lease_is_over = row
        .attempt
        .as_ref()
        .is_none_or(|it| overdue(it.lease_until));
    if row.wants_plan() && overdue(row.moved_at) && lease_is_over {
        to.order_plan();
        return Ok(to.told(LogEvent::InvoiceUpdated, "an order to plan had no effect"));
    }
    if row.reping_at().is_some_and(|at| at <= now) {
        to.after.repings += 1;
        let invoice_id = row.current().map(|(id, _)| id.as_str());
        to.mail(MailKind::Reminder, invoice_id, now);
        let why = format!("reminder {} of {}", to.after.repings, row.terms.repings_max);
        return Ok(to.told(LogEvent::EmailOrdered, why).with_result("reminder"));
    }
    mails(row, to, now)
}

/// Mails that were ordered and not sent: the order was lost, or this was not their day.
fn mails(row: &Dunning, mut to: Transition, now: DateTime<Utc>) -> Result<Transition, Rejection> {
    let overdue = |since: DateTime<Utc>| since + OVERDUE_AFTER <= now;
    if let Some((no, _)) = row.mails.claimed().find(|(_, at)| overdue(*at)) {
        return mailing::note(row, to, no, MailNote::Unanswered, now);
    }
    let owed = row.mails.owed();
    let owed: Vec<u32> = owed
        .filter(|(_, mail)| overdue(mail.ordered_last()))
        .map(|(no, _)| no)
        .collect();
    if owed.is_empty() {
        return Err(Rejection::Nothing);
    }
    for no in owed {
        if let Some(mail) = to.after.mails.items.get_mut(&no) {
            mail.ordered_again_at = Some(now);
        }
        to.consequences.push(Consequence::Mail(no));
    }
    Ok(to.told(LogEvent::EmailOrdered, "mails that were not sent yet"))
}
