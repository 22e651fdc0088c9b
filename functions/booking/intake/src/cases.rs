//! What a person must decide: the open cases, and closing one.

use chrono::{DateTime, Utc};
use lambda_kit::{Caller, Failure, Problem, Reply, Request};
use paidonce_core::booking_step::Origin;
use paidonce_core::carry_out::DECISIONS_MAX;
use paidonce_core::case::{Case, Closing, close, open_cases};
use paidonce_core::local_time::stamp;
use paidonce_core::step::{Row, Step, Written, from_item, read, write};
use serde_json::json;

use crate::Intake;
use crate::api::Fields;
use crate::orders::{ordered_by, reason};
use crate::staff::staff_only;

/// The most cases that are listed: people work them off.
const LISTED_MAX: usize = 200;

impl Intake {
    pub(crate) async fn list_cases(
        &self,
        request: &Request,
        caller: &Caller,
    ) -> Result<Reply, Failure> {
        staff_only(caller)?;
        if request.query("status").is_some_and(|it| it != "open") {
            let detail = "`status` must be `open`.";
            return Err(Problem::field("status", "unknown_status", detail).into());
        }
        let open = open_cases(&self.dynamodb, &self.cases_table, LISTED_MAX).await?;
        let cases: Vec<_> = open
            .into_iter()
            .map(|case| {
                json!({
                    "case_id": case.case_id,
                    "subject": case.subject,
                    "reason": case.reason,
                    "opened_at": stamp(case.since),
                })
            })
            .collect();
        Ok(Reply::json(200, &json!({"cases": cases})))
    }

    /// Closes a case. What is closed already is a success; what somebody added to it meanwhile is
    /// decided on again, and closed with it.
    pub(crate) async fn close_case(
        &self,
        case_id: &str,
        request: &Request,
        caller: &Caller,
        now: DateTime<Utc>,
    ) -> Result<Reply, Failure> {
        staff_only(caller)?;
        let fields = Fields::of(request)?;
        let (reason, by) = (reason(&fields)?, ordered_by(&fields, caller)?);
        let case = read::<Case>(&self.dynamodb, &self.cases_table, case_id).await?;
        let mut case = case.ok_or_else(no_such_case)?;
        for _ in 0..DECISIONS_MAX {
            let after = match close(&case, &by, &reason, now) {
                Closing::Already => return Ok(Reply::json(200, &case)),
                Closing::Closed(after) => after,
            };
            let command_id = format!("close:{case_id}:{}", case.version);
            let step = Step::new(self.entropy.ulid(now), command_id, now);
            let origin = Origin {
                who: &format!("bdc-intake for {}", caller.name()),
                correlation_id: case_id,
            };
            let (cases, audit) = (&self.cases_table, &self.tables.audit);
            let step = step.close_case(cases, audit, &case, &after, origin);
            match write(&self.dynamodb, &step).await? {
                Written::Applied => return Ok(Reply::json(200, &after)),
                Written::Contended => return Err(Problem::busy(1).into()),
                Written::Stale(found) => {
                    let row = found.into_iter().find(|found| found.name == Case::NAME);
                    let row = row.and_then(|found| found.row).ok_or_else(no_such_case)?;
                    case = from_item(row)?;
                }
            }
        }
        Err(Problem::busy(1).into())
    }
}

fn no_such_case() -> Problem {
    Problem::new(404, "unknown_case", "There is no such case.")
}
