//! The cloud's inside: what the services, the router and the pump share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use chrono::Duration;
use dynoxide::Database;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::broadcast;

use crate::clock::Clock;
use crate::disorder::{Dice, Disorder};
use crate::faults::Faults;
use crate::functions::Deployed;
use crate::iam::Access;
use crate::messages::{Happening, Message};
use crate::meter::{Denied, Meter};
use crate::mischief::Mischief;
use crate::neighbour::Neighbour;
use crate::open::RowsRead;
use crate::pump::{Expiries, Writes};
use crate::queue::QueueMessage;
use crate::services::{self, MailAccount, Script};
use crate::store::{PendingInvocation, Store};
use crate::template::Stack;

/// Says of a function, and of what tables have, whether a firing would find nothing.
type LeftOut = Box<dyn Fn(&str, &dyn Fn(&str) -> Arc<Vec<Value>>) -> bool + Send>;

pub(crate) struct Cloud {
    pub(crate) clock: Clock,
    pub(crate) seed: u64,
    pub(crate) stack: Arc<Stack>,
    pub(crate) database: Database,
    pub(crate) store: Store,
    pub(crate) faults: Faults,
    pub(crate) meter: Meter,
    pub(crate) functions: RwLock<BTreeMap<String, Arc<Deployed>>>,
    pub(crate) neighbours: RwLock<Vec<Arc<dyn Neighbour>>>,
    pub(crate) happenings: broadcast::Sender<Happening>,
    /// One pump at a time.
    pub(crate) pump: tokio::sync::Mutex<()>,
    /// How long past its time a row stays readable.
    pub(crate) ttl_lag: Mutex<Duration>,
    /// The shortest time between two firings of a `rate(…)` of the template.
    pub(crate) rates_at_most: Mutex<Duration>,
    /// Which firings of the template's own schedules do not take place.
    pub(crate) left_out: Mutex<Option<LeftOut>>,
    pub(crate) script: Mutex<Script>,
    /// Phones that said STOP to their carrier, which told us nothing.
    pub(crate) carrier_optouts: Mutex<BTreeSet<String>>,
    /// Phones that the SMS service takes no text for.
    pub(crate) refused_phones: Mutex<BTreeSet<String>>,
    pub(crate) mail_account: Mutex<MailAccount>,
    pub(crate) dice: Dice,
    pub(crate) mischief: Mischief,
    pub(crate) invocations: AtomicU64,
    pub(crate) writes: Writes,
    pub(crate) rows_read: RowsRead,
    pub(crate) expiries: Expiries,
}

impl Cloud {
    /// Returns an id that looks like a UUID; the nth id of a seed is always the same.
    pub(crate) fn new_id(&self, kind: &str) -> String {
        let number = self.store.change(|state| {
            state.ids = state.ids.saturating_add(1);
            state.ids
        });
        let hex = digest_hex(&format!("{} {number} {kind}", self.seed));
        format!(
            "{}-{}-4{}-8{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..32]
        )
    }

    pub(crate) fn tell(&self, happening: Happening) {
        // Nobody may be watching.
        let _ = self.happenings.send(happening);
    }

    /// Records a message that left for a person.
    pub(crate) fn sent(&self, message: Message) {
        self.store
            .change(|state| state.messages.push(message.clone()));
        self.tell(Happening::MessageSent { message });
    }

    pub(crate) fn is_installed(&self, function: &str) -> bool {
        self.functions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(function)
    }

    pub(crate) fn next_model_answer<T>(&self, take: impl FnOnce(&mut Script) -> T) -> T {
        take(&mut self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn carrier_opted_out(&self, phone: &str) -> bool {
        has(&self.carrier_optouts, phone)
    }

    pub(crate) fn mail_account(&self) -> MailAccount {
        *self
            .mail_account
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn refuses_phone(&self, phone: &str) -> bool {
        has(&self.refused_phones, phone)
    }

    /// Checks a function's role, and notes what was used or denied.
    ///
    /// # Errors
    /// AWS's sentence for a denied call.
    pub(crate) fn authorise(&self, function: &str, needs: &[Access]) -> Result<(), String> {
        let Some(spec) = self.stack.functions.get(function) else {
            return Ok(());
        };
        let mut used = Vec::new();
        for access in needs {
            match spec.role.check(access) {
                Ok(pairs) => used.extend(pairs),
                Err(reason) => {
                    let resource = access.resources.first().cloned().unwrap_or_default();
                    let action = access.action.clone();
                    let sentence = format!(
                        "User: {function} is not authorized to perform: {action} on resource: {resource} {reason}"
                    );
                    self.meter.deny(Denied {
                        function: function.to_owned(),
                        action,
                        resource,
                        reason,
                    });
                    return Err(sentence);
                }
            }
        }
        self.meter.use_permissions(function, used);
        Ok(())
    }

    /// Receives from a queue; what was received too often moves to the dead-letter queue.
    pub(crate) fn receive(
        &self,
        queue: &str,
        count: usize,
        visibility: Option<Duration>,
    ) -> Vec<QueueMessage> {
        let Some(spec) = self.stack.queues.get(queue) else {
            return Vec::new();
        };
        let now = self.clock.now();
        let visibility = visibility.unwrap_or(Duration::seconds(spec.visibility_seconds));
        let redrive = spec.redrive.as_ref();
        let max = redrive.map(|redrive| redrive.max_receive_count);
        let (received, forgotten) = self.store.change(|state| {
            let own = state.queues.entry(queue.to_owned()).or_default();
            let forgotten = own.expire(Duration::seconds(spec.retention_seconds), now);
            if self.dice.shuffle(&mut own.messages) {
                self.faults.count("reordered_queue");
            }
            let received = own.receive(count, visibility, max, now);
            if let Some(redrive) = redrive {
                let target = state
                    .queues
                    .entry(redrive.dead_letter_queue.clone())
                    .or_default();
                for message in &received.dead {
                    target.send(QueueMessage {
                        visible_at: now,
                        first_received_at: None,
                        ..message.clone()
                    });
                }
            }
            (received, forgotten)
        });
        for message in forgotten {
            self.tell(Happening::Dropped {
                at: now,
                from: queue.to_owned(),
                id: message.id,
            });
        }
        for message in received.dead {
            let target = redrive
                .map(|redrive| redrive.dead_letter_queue.clone())
                .unwrap_or_default();
            self.tell(Happening::DeadLettered {
                at: now,
                from: queue.to_owned(),
                queue: target,
                id: message.id,
            });
        }
        received.messages
    }

    /// Puts what nobody could handle into `queue`, if there is one and `function` may send there.
    pub(crate) fn give_up(
        &self,
        function: Option<&str>,
        from: &str,
        queue: Option<&str>,
        body: &Value,
    ) {
        let at = self.clock.now();
        let allowed = |queue: &&str| {
            let send = Access::new("sqs:SendMessage", services::sqs::queue_arn(queue));
            function.is_none_or(|function| self.authorise(function, &[send]).is_ok())
        };
        let happening = match queue.filter(allowed) {
            Some(queue) => {
                let id = services::sqs::put(
                    self,
                    queue,
                    from,
                    &body.to_string(),
                    BTreeMap::new(),
                    Duration::zero(),
                );
                Happening::DeadLettered {
                    at,
                    from: from.to_owned(),
                    queue: queue.to_owned(),
                    id,
                }
            }
            None => Happening::Dropped {
                at,
                from: from.to_owned(),
                id: self.new_id("dropped"),
            },
        };
        self.tell(happening);
    }

    /// Queues an asynchronous invocation.
    pub(crate) fn invoke_later(&self, function: &str, event: Value) {
        let spec = self.stack.functions.get(function);
        let age = spec.map_or(0, |spec| spec.async_age_max_seconds);
        let rate = |disorder: &Disorder| disorder.delay_per_mille;
        let late_by = self.dice.delay(rate, Duration::seconds(age / 2));
        if late_by.is_some() {
            self.faults.count("delayed_invocation");
        }
        let pending = PendingInvocation {
            id: self.new_id("invocation"),
            function: function.to_owned(),
            event,
            queued_at: self.clock.now(),
            due_at: self.clock.now() + late_by.unwrap_or_default(),
            failures: 0,
        };
        self.store.change(|state| state.pending.push(pending));
    }

    /// What Lambda sends to an on-failure destination of an asynchronous invocation.
    pub(crate) fn failure_record(&self, pending: &PendingInvocation, condition: &str) -> Value {
        json!({
            "version": "1.0",
            "timestamp": self.clock.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            "requestContext": {
                "requestId": pending.id,
                "functionArn": format!("{}:$LATEST", crate::template::function_arn(&pending.function)),
                "condition": condition,
                "approximateInvokeCount": pending.failures,
            },
            "requestPayload": pending.event,
            "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        })
    }
}

fn has(phones: &Mutex<BTreeSet<String>>, phone: &str) -> bool {
    let phones = phones.lock().unwrap_or_else(PoisonError::into_inner);
    phones.contains(phone)
}

fn digest_hex(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
