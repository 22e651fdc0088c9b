//! What can go wrong in the cloud itself, and how an invocation can fail.

/// The cloud could not be built or asked.
#[derive(Debug, thiserror::Error)]
pub enum CloudError {
    #[error("the template can't be read: {0}")]
    Template(String),
    #[error("resource `{resource}`: {problem}")]
    Resource { resource: String, problem: String },
    #[error("the template has no function `{0}`")]
    UnknownFunction(String),
    #[error("the template has no table `{0}`")]
    UnknownTable(String),
    #[error("function `{function}` can't start")]
    Configuration {
        function: String,
        #[source]
        source: lambda_kit::ConfigError,
    },
    #[error("DynamoDB refused: {0}")]
    DynamoDb(String),
    #[error("the state in `{path}` can't be used: {problem}")]
    State { path: String, problem: String },
}

/// How an invocation failed, as Lambda would see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    #[error("no function `{0}` is installed")]
    NotInstalled(String),
    #[error("function `{function}` can't start: {problem}")]
    Init { function: String, problem: String },
    #[error("the handler answered an error: {0}")]
    Failed(String),
    #[error("the handler panicked: {0}")]
    Panicked(String),
    #[error("the process died")]
    Crashed,
    #[error("the invocation took longer than its time-out")]
    TimedOut,
}
