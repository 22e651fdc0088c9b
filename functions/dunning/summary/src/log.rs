//! Reading a month of the log, page by page.

use aws_sdk_dynamodb::Client;
use lambda_kit::Failure;
use paidonce_core::dunning::summary::{MonthLine, MonthWindow, month_page};

/// More pages of a megabyte than fit into this function's memory.
const PAGES_MAX: usize = 200;

/// All rows of a month. An incomplete month is an error: it would be a wrong report.
pub(crate) async fn lines(
    client: &Client,
    log_table: &str,
    window: &MonthWindow,
) -> Result<Vec<MonthLine>, Failure> {
    let mut lines = Vec::new();
    let mut pages = 0;
    for partition in window.partitions() {
        let mut start = None;
        loop {
            if pages == PAGES_MAX {
                return Err(format!("the month has more than {PAGES_MAX} pages").into());
            }
            pages += 1;
            let (page, next) = month_page(client, log_table, window, &partition, start).await?;
            lines.extend(page);
            match next {
                Some(_) => start = next,
                None => break,
            }
        }
    }
    Ok(lines)
}
