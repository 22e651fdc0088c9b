//! EventBridge Scheduler: the schedules that calls make. Those of the template can be read as well,
//! and changed by nobody.

use serde_json::{Map, Value, json};

use crate::cloud::Cloud;
use crate::disorder::Disorder;
use crate::iam::Access;
use crate::pump::schedule_of;
use crate::schedule::Timing;
use crate::store::{MadeSchedule, SpentToken, State};
use crate::template::{DEFAULT_GROUP, SCHEDULER, read_schedule, schedule_arn};
use crate::wire::{Answer, AwsRequest};

mod list;

/// How many client tokens are remembered. AWS tells no number and no time.
const TOKENS_KEPT: usize = 10_000;
/// How many schedules are remembered that are gone.
const PAST_KEPT: usize = 10_000;
const NAME_LENGTH_MAX: usize = 64;

pub(super) fn needs(request: &AwsRequest) -> Option<Vec<Access>> {
    let action = format!("scheduler:{}", request.operation);
    let own = Access::new(action, schedule_arn(group(request), &request.path_name));
    match request.operation.as_str() {
        "CreateSchedule" | "UpdateSchedule" => {
            let role = request.body["Target"]["RoleArn"].as_str();
            let mut pass = Access::new("iam:PassRole", role.unwrap_or_default());
            let service = [SCHEDULER.to_owned()].into();
            pass.context
                .insert("iam:PassedToService".to_owned(), service);
            Some(vec![own, pass])
        }
        "GetSchedule" | "DeleteSchedule" => Some(vec![own]),
        // Whatever the call filters by, AWS checks it against all schedules.
        "ListSchedules" => Some(vec![Access::new(
            "scheduler:ListSchedules",
            schedule_arn("*", "*"),
        )]),
        _ => None,
    }
}

fn group(request: &AwsRequest) -> &str {
    request.body["GroupName"]
        .as_str()
        .or(request.rest.query("groupName"))
        .unwrap_or(DEFAULT_GROUP)
}

pub(super) fn perform(cloud: &Cloud, request: &AwsRequest) -> Answer {
    let done = match request.operation.as_str() {
        "CreateSchedule" | "UpdateSchedule" => write(cloud, request),
        "GetSchedule" => get(cloud, request),
        "DeleteSchedule" => delete(cloud, request),
        "ListSchedules" => list::list(cloud, request),
        _ => return request.unknown_operation(),
    };
    match done {
        Ok(body) => request.answer(&body),
        Err(refusal) => request.error(refusal.status, refusal.code, &refusal.message),
    }
}

/// An error of the API.
struct Refusal {
    status: u16,
    code: &'static str,
    message: String,
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal {
        status: 400,
        code: "ValidationException",
        message: message.into(),
    }
}

fn conflict(message: impl Into<String>) -> Refusal {
    Refusal {
        status: 409,
        code: "ConflictException",
        message: message.into(),
    }
}

fn missing(what: &str, name: &str) -> Refusal {
    Refusal {
        status: 404,
        code: "ResourceNotFoundException",
        message: format!("{what} {name} does not exist."),
    }
}

/// CreateSchedule, and UpdateSchedule, which replaces the whole.
fn write(cloud: &Cloud, request: &AwsRequest) -> Result<Value, Refusal> {
    let (group, name) = (group(request), request.path_name.as_str());
    let (key, arn) = (format!("{group}/{name}"), schedule_arn(group, name));
    let made = made(cloud, request);
    let of_template = in_template(cloud, group, name).is_some();
    cloud.store.change(|state| {
        // First of all: what was done once is not judged again.
        if is_repeated(state, request, &arn)? {
            return Ok(());
        }
        let mut made = made?;
        let known = state.schedules.get(&key);
        match (request.operation.as_str(), known) {
            ("UpdateSchedule", Some(known)) => made.created_at = known.created_at,
            ("UpdateSchedule", None) if !of_template => return Err(missing("Schedule", name)),
            (_, None) if !of_template => {}
            _ => return Err(conflict(format!("Schedule {name} already exists."))),
        }
        state.schedules.insert(key, made);
        spend(state, request, &arn);
        Ok(())
    })?;
    Ok(json!({ "ScheduleArn": arn }))
}

/// Reads what is asked for, and checks it as AWS does.
fn made(cloud: &Cloud, request: &AwsRequest) -> Result<MadeSchedule, Refusal> {
    let (group, name) = (group(request), request.path_name.as_str());
    check_name("name", name)?;
    check_name("groupName", group)?;
    if !cloud.stack.has_schedule_group(group) {
        return Err(missing("Schedule group", group));
    }
    let mut definition = parameters(request);
    check_shape(&Value::Object(definition.clone()))?;
    definition.insert("Name".to_owned(), json!(name));
    definition.insert("GroupName".to_owned(), json!(group));
    for (property, default) in [
        ("ScheduleExpressionTimezone", "UTC"),
        ("State", "ENABLED"),
        ("ActionAfterCompletion", "NONE"),
    ] {
        definition.entry(property).or_insert_with(|| json!(default));
    }
    let definition = Value::Object(definition);
    let schedule = read_schedule(&definition, None).map_err(invalid)?;
    let role = schedule.role.unwrap_or_default();
    if !cloud.stack.scheduler_roles.contains(&role) {
        return Err(invalid(
            "The execution role you provide must allow AWS EventBridge Scheduler to assume the role.",
        ));
    }
    let now = cloud.clock.now();
    let next_at = schedule.timing.next(now);
    if next_at.is_none() {
        return Err(invalid("The schedule expression has no future invocation."));
    }
    Ok(MadeSchedule {
        group: group.to_owned(),
        name: name.to_owned(),
        next_at: next_at.filter(|_| definition["State"] != "DISABLED"),
        definition,
        created_at: now,
        modified_at: now,
    })
}

/// Everything that was asked for, without the token.
fn parameters(request: &AwsRequest) -> Map<String, Value> {
    let mut parameters = request.body.as_object().cloned().unwrap_or_default();
    parameters.remove("ClientToken");
    parameters
}

fn check_name(member: &str, name: &str) -> Result<(), Refusal> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=NAME_LENGTH_MAX).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(invalid(format!(
        "1 validation error detected: Value '{name}' at '{member}' failed to satisfy constraint: \
         Member must satisfy regular expression pattern: [0-9a-zA-Z-_.]{{1,64}}"
    )))
}

fn check_shape(definition: &Value) -> Result<(), Refusal> {
    for unplayed in ["StartDate", "EndDate", "KmsKeyArn"] {
        if !definition[unplayed].is_null() {
            return Err(invalid(format!("the local cloud plays no {unplayed}")));
        }
    }
    if definition["FlexibleTimeWindow"]["Mode"] != "OFF" {
        return Err(invalid("the local cloud plays FlexibleTimeWindow OFF only"));
    }
    let one_of = |property: &str, allowed: [&str; 2]| {
        let value = &definition[property];
        if value.is_null() || allowed.iter().any(|allowed| value == allowed) {
            return Ok(());
        }
        Err(invalid(format!("{property} can't be {value}")))
    };
    one_of("State", ["ENABLED", "DISABLED"])?;
    one_of("ActionAfterCompletion", ["NONE", "DELETE"])?;
    let target = &definition["Target"];
    let arn = target["Arn"].as_str().unwrap_or_default();
    if !arn.starts_with("arn:aws:lambda:") && !arn.starts_with("arn:aws:sqs:") {
        return Err(invalid(format!(
            "the local cloud plays no target like {arn}"
        )));
    }
    let policy = &target["RetryPolicy"];
    let within = |name: &str, range: std::ops::RangeInclusive<i64>| match policy[name].as_i64() {
        Some(value) if !range.contains(&value) => {
            Err(invalid(format!("{name} {value} is not within {range:?}")))
        }
        Some(_) | None => Ok(()),
    };
    within("MaximumEventAgeInSeconds", 60..=86_400)?;
    within("MaximumRetryAttempts", 0..=185)
}

/// Whether a call of the same token did this before.
///
/// # Errors
/// A token that came with something else.
fn is_repeated(state: &State, request: &AwsRequest, arn: &str) -> Result<bool, Refusal> {
    let Some(token) = token(request) else {
        return Ok(false);
    };
    let spent = state.scheduler_tokens.iter();
    match spent.rev().find(|spent| spent.token == token) {
        Some(spent) if spent.call == call(request, arn) => Ok(true),
        Some(_) => Err(conflict(
            "The client token was used for a different request.",
        )),
        None => Ok(false),
    }
}

fn spend(state: &mut State, request: &AwsRequest, arn: &str) {
    let Some(token) = token(request) else { return };
    if state.scheduler_tokens.len() == TOKENS_KEPT {
        state.scheduler_tokens.pop_front();
    }
    state.scheduler_tokens.push_back(SpentToken {
        token: token.to_owned(),
        call: call(request, arn),
    });
}

fn token(request: &AwsRequest) -> Option<&str> {
    request.body["ClientToken"]
        .as_str()
        .or(request.rest.query("clientToken"))
}

fn call(request: &AwsRequest, arn: &str) -> String {
    let parameters = Value::Object(parameters(request));
    format!("{} {arn} {parameters}", request.operation)
}

fn get(cloud: &Cloud, request: &AwsRequest) -> Result<Value, Refusal> {
    let (group, name) = (group(request), request.path_name.as_str());
    let key = format!("{group}/{name}");
    let made = cloud.store.look(|state| state.schedules.get(&key).cloned());
    let mut answer = match (made, in_template(cloud, group, name)) {
        (Some(made), _) => {
            let mut answer = made.definition;
            answer["CreationDate"] = json!(made.created_at.timestamp());
            answer["LastModificationDate"] = json!(made.modified_at.timestamp());
            answer
        }
        (None, Some(definition)) => definition,
        (None, None) => return Err(missing("Schedule", name)),
    };
    answer["Arn"] = json!(schedule_arn(group, name));
    answer["GroupName"] = json!(group);
    Ok(answer)
}

fn delete(cloud: &Cloud, request: &AwsRequest) -> Result<Value, Refusal> {
    let (group, name) = (group(request), request.path_name.as_str());
    let (key, arn) = (format!("{group}/{name}"), schedule_arn(group, name));
    if in_template(cloud, group, name).is_some() {
        return Err(conflict(format!("Schedule {name} is of the template.")));
    }
    let known = cloud.store.look(|state| state.schedules.get(&key).cloned());
    let deleted = cloud.store.change(|state| {
        if is_repeated(state, request, &arn)? {
            return Ok(json!({}));
        }
        if !state.forget_schedule(&key) {
            return Err(missing("Schedule", name));
        }
        spend(state, request, &arn);
        Ok(json!({}))
    });
    if let (Ok(_), Some(made)) = (&deleted, known) {
        perhaps_fire_anyway(cloud, key, &made);
    }
    deleted
}

/// Scheduler may have begun to fire what is being deleted.
fn perhaps_fire_anyway(cloud: &Cloud, key: String, made: &MadeSchedule) {
    let (Some(at), Some(schedule)) = (made.next_at, schedule_of(made)) else {
        return;
    };
    let is_once = matches!(schedule.timing, Timing::Once(_));
    let rate = |disorder: &Disorder| disorder.schedule_after_delete_per_mille;
    if is_once && cloud.dice.happens(rate) {
        cloud.mischief.firings.put(at, (key, schedule));
    }
}

fn in_template(cloud: &Cloud, group: &str, name: &str) -> Option<Value> {
    let key = match group {
        DEFAULT_GROUP => name.to_owned(),
        group => format!("{group}/{name}"),
    };
    let schedule = cloud.stack.schedules.get(&key)?;
    Some(schedule.definition.clone())
}

impl State {
    /// Takes a schedule away, but keeps it in mind. Returns whether it was there.
    pub(crate) fn forget_schedule(&mut self, key: &str) -> bool {
        let Some(made) = self.schedules.remove(key) else {
            return false;
        };
        if self.past_schedules.len() == PAST_KEPT {
            self.past_schedules.pop_front();
        }
        self.past_schedules.push_back(made);
        true
    }
}
