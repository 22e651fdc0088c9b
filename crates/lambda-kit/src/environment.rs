//! A function's configuration: environment variables, read once, all complaints in one message.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Mutex;

/// The variables that a function was started with.
#[derive(Debug, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    complaints: Mutex<Vec<String>>,
}

/// Everything that is wrong with a function's configuration.
#[derive(Debug, thiserror::Error)]
#[error("bad configuration: {}", .0.join("; "))]
pub struct ConfigError(pub Vec<String>);

impl Clone for Environment {
    fn clone(&self) -> Self {
        Self::new(self.variables.clone())
    }
}

impl Environment {
    pub fn new(variables: BTreeMap<String, String>) -> Self {
        Self {
            variables,
            complaints: Mutex::default(),
        }
    }

    /// Takes the variables of this process.
    pub fn of_process() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads the environment"
        )]
        Self::new(std::env::vars().collect())
    }

    /// Returns the variable, or an empty string and a complaint for [`Environment::check`].
    pub fn text(&self, name: &str) -> String {
        self.optional(name).unwrap_or_else(|| {
            self.complain(format!("{name} is missing"));
            String::new()
        })
    }

    /// Returns the variable if it is there and not empty.
    pub fn optional(&self, name: &str) -> Option<String> {
        self.variables
            .get(name)
            .filter(|value| !value.is_empty())
            .cloned()
    }

    /// Returns the variable as a value, or `fallback` and a complaint if it can't be read.
    pub fn parsed<T: FromStr<Err: Display>>(&self, name: &str, fallback: T) -> T {
        match self.optional(name).as_deref().map(str::parse) {
            None => fallback,
            Some(Ok(value)) => value,
            Some(Err(error)) => {
                self.complain(format!("{name}: {error}"));
                fallback
            }
        }
    }

    /// Notes something wrong with the configuration.
    pub fn complain(&self, what: String) {
        if let Ok(mut complaints) = self.complaints.lock() {
            complaints.push(what);
        }
    }

    /// Ends the reading of a configuration.
    ///
    /// # Errors
    /// Names all that was missing or bad since the last check.
    pub fn check<T>(&self, config: T) -> Result<T, ConfigError> {
        let complaints = self
            .complaints
            .lock()
            .map(|mut complaints| std::mem::take(&mut *complaints))
            .unwrap_or_default();
        if complaints.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError(complaints))
        }
    }
}
