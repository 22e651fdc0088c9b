//! The report in the bucket: for programs, for a browser, and as the mail has it.

use aws_sdk_s3::primitives::ByteStream;
use copywriter::summary::Report;
use lambda_kit::Failure;
use paidonce_core::dunning::summary::Summary;

use crate::MonthlySummary;

impl MonthlySummary {
    /// Writes the three files of a month. Written again, they are the same bytes or a new version.
    pub(crate) async fn keep(&self, summary: &Summary, report: &Report) -> Result<(), Failure> {
        let numbers = serde_json::to_string_pretty(summary)?;
        let files = [
            ("json", "application/json", numbers.as_str()),
            ("html", "text/html; charset=utf-8", report.html.as_str()),
            ("txt", "text/plain; charset=utf-8", report.text.as_str()),
        ];
        for (ending, content_type, text) in files {
            self.s3
                .put_object()
                .bucket(&self.assets_bucket)
                .key(format!("reports/{}.{ending}", summary.month))
                .content_type(content_type)
                .body(ByteStream::from(text.as_bytes().to_vec()))
                .send()
                .await?;
        }
        Ok(())
    }
}
