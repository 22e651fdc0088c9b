//! The deployed binary: all it does is run the handler.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lambda_kit::run::<dunr_summary::MonthlySummary>().await
}
