//! A change of a payment's money as the one step that carries it out, the booking's share included.

use serde_json::json;

use crate::audit::Audit;
use crate::booking::{self, Booking};
use crate::booking_step::{Origin, Tables, step_of};
use crate::refund::{Change, PaymentRow};
use crate::step::Step;

/// The rows that a change is about, as they stand.
#[derive(Clone, Copy)]
pub struct MoneyRows<'a> {
    pub payments_table: &'a str,
    /// `None`: the change makes the row.
    pub payment: Option<&'a PaymentRow>,
    pub booking: Option<&'a Booking>,
}

/// Builds the step of `change`, to be sent by [`crate::step::write`].
pub fn money_step(
    step: Step,
    tables: &Tables,
    rows: MoneyRows<'_>,
    change: &Change,
    origin: Origin<'_>,
) -> Step {
    let now = step.now();
    let step = match rows.payment {
        Some(before) => step.change(rows.payments_table, before, &change.after, before.version),
        None => {
            let first = PaymentRow {
                version: 1,
                ..change.after.clone()
            };
            step.create_subject(rows.payments_table, &first)
        }
    };
    let step = step.audit(
        &tables.audit,
        Audit {
            subject: &change.after.event_id,
            who: origin.who,
            what: change.what,
            before: None,
            after: None,
            why: change.why.clone(),
            correlation_id: origin.correlation_id,
        },
    );
    let step = step.money_cases(tables, change);
    let command = booking::Command::SyncMoney(change.after.facts());
    let synced = rows
        .booking
        .and_then(|booking| Some((booking, booking::decide(booking, command, now).ok()?)));
    match synced {
        Some((booking, transition)) => step_of(step, tables, booking, &transition, origin),
        None => step,
    }
}

impl Step {
    /// Hands over what a person must hear of a change of money, if anything, and whose it is.
    #[must_use]
    pub fn money_cases(mut self, tables: &Tables, change: &Change) -> Self {
        let payment = &change.after;
        let Some(booking_id) = &payment.booking_id else {
            return self;
        };
        for case in &change.cases {
            let facts = json!({
                "payment_ref": payment.payment_ref,
                "paid": payment.amount,
                "refunds": payment.refunds,
                "dispute": case.dispute,
                "occasion": case.occasion,
                "why": change.why,
            });
            self = self.hand_over(tables, booking_id, case.reason, facts);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;
    use chrono::{DateTime, Utc};
    use ulid::Ulid;

    use super::*;
    use crate::refund::{self, Command};

    #[test]
    fn a_change_that_makes_a_payments_row_makes_its_first_version() {
        let now = DateTime::<Utc>::UNIX_EPOCH;
        let row = PaymentRow::unclaimed("pi_1", now);
        let change = refund::decide(&row, Command::SaidRefunded { minor: 500 }, now).unwrap();
        let step = |payment| {
            let rows = MoneyRows {
                payments_table: "payments",
                payment,
                booking: None,
            };
            let origin = Origin {
                who: "webhook",
                correlation_id: "evt_1",
            };
            let tables = Tables::named(str::to_owned);
            let step = Step::new(Ulid::nil(), "evt_1", now);
            money_step(step, &tables, rows, &change, origin)
        };
        let made = step(None);
        let part = &made.checked().unwrap()[0];
        let item = part.item.put().unwrap().item();
        assert_eq!(item["version"], AttributeValue::N("1".to_owned()));
        let changed = step(Some(&row));
        let part = &changed.checked().unwrap()[0];
        let values = part.item.update().unwrap().expression_attribute_values();
        let second = AttributeValue::N("2".to_owned());
        assert!(values.unwrap().values().any(|value| *value == second));
    }
}
