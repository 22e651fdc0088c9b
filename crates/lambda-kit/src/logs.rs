//! Logs: one JSON line per fact; metrics in CloudWatch's embedded format between them.

use std::io::Write;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt};

/// Starts the logs of this process. `filter` is a `tracing` filter such as `info`.
pub fn init_logs(filter: &str) {
    // Metrics are no log lines: alarms hang on them whatever the filter says.
    let filter = EnvFilter::try_new(format!("{filter},metric=info"))
        .unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_filter(tracing_subscriber::filter::filter_fn(|metadata| {
            metadata.target() != "metric"
        }));
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .with(EmbeddedMetrics)
        .init();
}

/// Writes events of the target `metric` to standard output as CloudWatch reads metrics.
/// Source: CloudWatch embedded metric format specification, version 0.
#[derive(Debug)]
pub struct EmbeddedMetrics;

impl<S: Subscriber> Layer<S> for EmbeddedMetrics {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != "metric" {
            return;
        }
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        #[expect(
            clippy::disallowed_methods,
            reason = "a metric is stamped when it is written"
        )]
        let line = embedded(fields.0, chrono::Utc::now().timestamp_millis());
        // A closed standard output must not take the function with it.
        let _ = writeln!(std::io::stdout().lock(), "{line}");
    }
}

fn embedded(fields: Map<String, Value>, timestamp_ms: i64) -> Value {
    let name = fields.get("metric").cloned().unwrap_or_default();
    let key = name.as_str().unwrap_or("unnamed").to_owned();
    json!({
        "_aws": {
            "Timestamp": timestamp_ms,
            "CloudWatchMetrics": [{
                "Namespace": "Paidonce",
                "Dimensions": [["function"]],
                "Metrics": [{"Name": name}],
            }],
        },
        "function": fields.get("function"),
        key: fields.get("value"),
    })
}

struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), json!(value));
    }
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0
            .insert(field.name().to_owned(), json!(format!("{value:?}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_names_its_function_and_its_value() {
        let Value::Object(fields) =
            json!({"metric": "signature_fail", "function": "bdc-webhook", "value": 1})
        else {
            unreachable!("an object was written");
        };
        let line = embedded(fields, 7);
        assert_eq!(line["signature_fail"], 1);
        assert_eq!(
            line["_aws"]["CloudWatchMetrics"][0]["Dimensions"][0][0],
            "function"
        );
    }
}
