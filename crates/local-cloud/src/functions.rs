//! The installed functions: how to make an instance, and the warm one.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use lambda_kit::{ConfigError, Failure, Function, Setup};
use serde_json::Value;

/// A function whose type is forgotten.
pub(crate) trait Handler: Send + Sync {
    fn handle(
        self: Arc<Self>,
        event: Value,
        now: DateTime<Utc>,
    ) -> BoxFuture<'static, Result<Value, Failure>>;
}

struct Typed<F>(F);

impl<F: Function> Handler for Typed<F> {
    fn handle(
        self: Arc<Self>,
        event: Value,
        now: DateTime<Utc>,
    ) -> BoxFuture<'static, Result<Value, Failure>> {
        Box::pin(async move { self.0.handle(event, now).await })
    }
}

type Make = Box<dyn Fn(&Setup) -> Result<Arc<dyn Handler>, ConfigError> + Send + Sync>;

/// A function under its deployed name.
pub(crate) struct Deployed {
    make: Make,
    instance: Mutex<Instance>,
}

#[derive(Default)]
struct Instance {
    /// How many instances were made.
    made: u64,
    warm: Option<Arc<dyn Handler>>,
}

impl Deployed {
    pub(crate) fn of<F: Function>() -> Self {
        Self {
            make: Box::new(|setup| Ok(Arc::new(Typed(F::new(setup)?)))),
            instance: Mutex::default(),
        }
    }

    /// Returns the warm instance, or makes one from what `setup` gives for its number.
    ///
    /// # Errors
    /// The function's complaints about its configuration.
    pub(crate) fn instance(
        &self,
        setup: impl FnOnce(u64) -> Setup,
    ) -> Result<Arc<dyn Handler>, ConfigError> {
        let mut instance = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(warm) = &instance.warm {
            return Ok(Arc::clone(warm));
        }
        let made = (self.make)(&setup(instance.made))?;
        instance.made = instance.made.saturating_add(1);
        instance.warm = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Gives an instance to nobody any more, as when its process died.
    pub(crate) fn throw_away(&self, instance: &Arc<dyn Handler>) {
        let mut known = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        known.warm.take_if(|warm| Arc::ptr_eq(warm, instance));
    }
}
