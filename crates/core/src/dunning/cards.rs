//! The customer has another payment method.

use super::{CaseReason, Dunning, LogEvent, Rejection, Status, Transition};

pub(super) fn reported(
    row: &Dunning,
    mut to: Transition,
    payment_method: String,
    renewed: bool,
) -> Result<Transition, Rejection> {
    if row.status == Status::Cancelled || row.current().is_none() {
        return Err(Rejection::Nothing);
    }
    let given = Some(&payment_method);
    if row.card_pending.as_ref() == given || row.new_card.as_ref() == given {
        return Err(Rejection::Already);
    }
    let is_charged = row
        .attempt
        .as_ref()
        .is_some_and(|it| it.payment_method.as_ref() == given);
    let has_failed = row.open_debts().iter().any(|(_, debt)| {
        let block = debt.block.as_ref();
        block.is_some_and(|block| block.payment_method.as_ref() == given)
    });
    let was_tried = row
        .open_debts()
        .iter()
        .any(|(_, debt)| debt.failed_with.as_ref() == given);
    // A card that was declined is no news, also where our own setting of it on the subscription comes back
    // as an event.
    if !renewed && (is_charged || has_failed || was_tried) {
        return Err(Rejection::Already);
    }
    // The customer did not choose it for this subscription: it may be there for another.
    if renewed && !(is_charged || has_failed || was_tried) {
        return Err(Rejection::Nothing);
    }
    to = to.told(LogEvent::CardUpdated, "reported by the provider");
    if row.attempt.is_some() {
        // It waits for the charge that is in flight, and then gets a number and a key of its own.
        to.after.card_pending = Some(payment_method);
        return Ok(to.with_result("waits for the charge in flight"));
    }
    let is_spent = row.extra_attempts >= row.terms.extra_attempts_max;
    if is_spent && row.open_debts().iter().all(|(_, debt)| debt.exhausted) {
        to.open_case(CaseReason::TooManyCards, None, to.after.moved_at);
        return Ok(to.with_result("not tried: too many cards"));
    }
    take(&mut to, payment_method, renewed);
    Ok(to)
}

/// Goes on with a new payment method: what stood in the way was about the old one.
pub(super) fn take(to: &mut Transition, payment_method: String, renewed: bool) {
    to.after.new_card = Some(payment_method.clone());
    if to.after.closed.take().is_some() {
        // The customer takes it up again, so the horizon is counted anew.
        to.after.entered_dunning_at = Some(to.after.moved_at);
    }
    for debt in to.after.invoices.values_mut().filter(|debt| debt.is_open()) {
        debt.block = None;
        // What its network said of the same card still holds.
        if renewed || debt.failed_with.as_ref() != Some(&payment_method) {
            debt.not_before = None;
        }
    }
    to.drop_plan();
    to.order_plan();
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::dunning::debt::Block;
    use crate::dunning::declines::{Class, Wording};
    use crate::dunning::policy::{BUILT_IN, Policy};
    use crate::dunning::{Command, InvoiceReport, decide};
    use crate::money::Money;

    const NOW: DateTime<Utc> = DateTime::<Utc>::UNIX_EPOCH;

    /// A subscription whose card is blocked.
    fn blocked(payment_method: &str) -> Dunning {
        let terms = Policy::from_json(BUILT_IN).unwrap().terms;
        let row = Dunning::new("sub_1", "cus_1", terms.clone(), NOW);
        let report = InvoiceReport {
            invoice_id: "in_1".to_owned(),
            amount: Money::from_stripe(2000, "gbp").unwrap(),
            created: NOW,
            reported_at: NOW,
            hosted_url: None,
            provider_retries_at: None,
            email: None,
            second_email: None,
            name: None,
        };
        let failed = Command::ReportFailed {
            report,
            terms: Box::new(terms),
        };
        let mut row = decide(&row, failed, NOW).unwrap().after;
        row.invoices.get_mut("in_1").unwrap().block = Some(Block {
            class: Class::Hard,
            wording: Wording::Plain,
            payment_method: Some(payment_method.to_owned()),
        });
        row
    }

    fn renewal(payment_method: &str) -> Command {
        Command::ReportCard {
            payment_method: payment_method.to_owned(),
            renewed: true,
        }
    }

    #[test]
    fn a_card_that_failed_is_charged_again_once_it_was_renewed() {
        let to = decide(&blocked("pm_1"), renewal("pm_1"), NOW).unwrap();
        assert_eq!(to.after.new_card.as_deref(), Some("pm_1"));
    }

    #[test]
    fn a_card_with_too_little_on_it_is_charged_again_once_it_was_renewed() {
        let mut row = blocked("pm_1");
        let debt = row.invoices.get_mut("in_1").unwrap();
        debt.block = None;
        debt.failed_with = Some("pm_1".to_owned());
        let to = decide(&row, renewal("pm_1"), NOW).unwrap();
        assert_eq!(to.after.new_card.as_deref(), Some("pm_1"));
    }

    #[test]
    fn a_card_that_was_declined_is_no_news_when_it_is_reported_again() {
        let mut row = blocked("pm_1");
        let debt = row.invoices.get_mut("in_1").unwrap();
        debt.block = None;
        debt.failed_with = Some("pm_1".to_owned());
        let report = |payment_method: &str| Command::ReportCard {
            payment_method: payment_method.to_owned(),
            renewed: false,
        };
        assert_eq!(
            decide(&row, report("pm_1"), NOW).err(),
            Some(Rejection::Already)
        );
        let to = decide(&row, report("pm_2"), NOW).unwrap();
        assert_eq!(to.after.new_card.as_deref(), Some("pm_2"));
    }

    #[test]
    fn a_renewal_of_another_card_of_the_customer_is_no_choice_of_it() {
        let answer = decide(&blocked("pm_1"), renewal("pm_2"), NOW);
        assert_eq!(answer.err(), Some(Rejection::Nothing));
    }
}
