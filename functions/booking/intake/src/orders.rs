//! What the staff may order, read from the fields of a request.

use lambda_kit::{Caller, Problem};
use paidonce_core::booking::{CancelledBy, Command, StaffOrder};
use paidonce_core::money::Money;

use crate::api::Fields;

/// The longest reason, in characters.
const REASON_MAX: usize = 200;
/// The longest name of somebody who orders something, in characters.
const BY_MAX: usize = 40;

/// An order by its name in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Attendance,
    Cancel,
    Reschedule,
    Refund,
    Waive,
    Reverse,
}

impl Task {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "attendance" => Some(Self::Attendance),
            "cancel" => Some(Self::Cancel),
            "reschedule" => Some(Self::Reschedule),
            "refund" => Some(Self::Refund),
            "waive" => Some(Self::Waive),
            "reverse" => Some(Self::Reverse),
            _ => None,
        }
    }
}

/// A command, and the id that the same order has when it is repeated.
pub(crate) struct Ordered {
    pub(crate) command: Command,
    pub(crate) command_id: String,
}

/// Reads a mark; another mark is another order.
pub(crate) fn attendance(id: &str, fields: &Fields, caller: &Caller) -> Result<Ordered, Problem> {
    let attended = fields.truth("attended")?;
    let command = Command::MarkAttendance {
        attended,
        marked_by: ordered_by(fields, caller)?,
    };
    let command_id = format!("attendance:{id}:{attended}");
    Ok(Ordered {
        command,
        command_id,
    })
}

/// Reads a cancellation. Two cancellers are two orders: which of them was first decides about the
/// refund.
pub(crate) fn cancel(id: &str, fields: &Fields) -> Result<Ordered, Problem> {
    let by = match fields.optional_text("by", 20)?.as_deref() {
        None | Some("customer") => CancelledBy::Customer,
        Some("business") => CancelledBy::Business,
        Some(_) => {
            let detail = "`by` must be `customer` or `business`.";
            return Err(Problem::field("by", "unknown_canceller", detail));
        }
    };
    let reason = fields.optional_lines("reason", REASON_MAX)?;
    Ok(Ordered {
        command: Command::Cancel {
            by,
            reason: reason.unwrap_or_default(),
        },
        command_id: format!("cancel:{id}:{}", by.as_str()),
    })
}

/// Reads a refund: without an amount all that is here, without a payment the one that confirmed.
pub(crate) fn refund(id: &str, fields: &Fields, caller: &Caller) -> Result<Ordered, Problem> {
    let payment_ref = fields.optional_text("payment_ref", 255)?;
    let amount = fields.money("amount")?;
    let command_id = format!(
        "refund:{id}:{}:{}",
        payment_ref.as_deref().unwrap_or("-"),
        amount.map_or_else(|| "all".to_owned(), Money::decimal),
    );
    let command = Command::Refund {
        payment_ref,
        amount,
        order: staff_order(fields, caller)?,
    };
    Ok(Ordered {
        command,
        command_id,
    })
}

pub(crate) fn waive(id: &str, fields: &Fields, caller: &Caller) -> Result<Ordered, Problem> {
    Ok(Ordered {
        command: Command::Waive(staff_order(fields, caller)?),
        command_id: format!("waive:{id}"),
    })
}

/// Reads what becomes of a forfeit that is taken back.
pub(crate) fn reverse(id: &str, fields: &Fields, caller: &Caller) -> Result<Ordered, Problem> {
    let refund = match fields.text("how", 20)?.as_str() {
        "refund" => true,
        "credit" => false,
        _ => {
            let detail = "`how` must be `refund` or `credit`.";
            return Err(Problem::field("how", "unknown_way", detail));
        }
    };
    let order = staff_order(fields, caller)?;
    Ok(Ordered {
        command: Command::ReverseForfeit { refund, order },
        command_id: format!("reverse:{id}:{refund}"),
    })
}

fn staff_order(fields: &Fields, caller: &Caller) -> Result<StaffOrder, Problem> {
    Ok(StaffOrder {
        by: ordered_by(fields, caller)?,
        reason: reason(fields)?,
    })
}

/// Reads why something is ordered: whoever moves money says why.
pub(crate) fn reason(fields: &Fields) -> Result<String, Problem> {
    fields
        .optional_lines("reason", REASON_MAX)?
        .ok_or_else(|| Problem::field("reason", "missing", "`reason` is missing."))
}

pub(crate) fn ordered_by(fields: &Fields, caller: &Caller) -> Result<String, Problem> {
    let by = fields.optional_text("by", BY_MAX)?;
    Ok(by.unwrap_or_else(|| caller.name()))
}
