//! Metrics in CloudWatch's embedded format, written as log events of the target `metric`.

/// Counts `value` on the metric `name` of `function`, the name that it is deployed under.
///
/// It is a log event like any other; [`crate::EmbeddedMetrics`] writes it in the embedded format.
pub fn count(function: &str, name: &'static str, value: i64) {
    tracing::info!(target: "metric", function, metric = name, value);
}
