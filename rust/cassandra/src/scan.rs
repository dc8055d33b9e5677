//! All rows of a table, page by page, and the scan of the default table that accounts for every row.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::Result;
use hydrotest_core::runs::Runs;
use scylla::client::session::Session;
use scylla::response::PagingState;
use scylla::response::query_result::QueryRowsResult;
use scylla::serialize::row::SerializeRow;
use scylla::statement::Statement;
use scylla::statement::prepared::PreparedStatement;

use crate::rows::{RowShape, is_intact, key_number};

const PAGE_ROWS: i32 = 5_000;
/// Parts of the token ring that are scanned one after the other.
const SCAN_PARTS: i128 = 32;

/// Reads rows, no faster than is allowed.
pub(crate) struct Pages<'a> {
    session: &'a Session,
    rows_per_s: Option<f64>,
    begun: Instant,
    read: u64,
}

impl<'a> Pages<'a> {
    /// `rows_per_s`: most rows a second, where the ring has other users.
    pub(crate) fn new(session: &'a Session, rows_per_s: Option<f64>) -> Self {
        Self {
            session,
            rows_per_s,
            begun: Instant::now(),
            read: 0,
        }
    }

    /// The statement, with pages of a size that suits.
    pub(crate) async fn prepare(&self, cql: String) -> Result<PreparedStatement> {
        let mut statement = self.session.prepare(Statement::new(cql)).await?;
        let rows = self
            .rows_per_s
            .map_or(PAGE_ROWS, |most| (most / 10.0).clamp(1.0, f64::from(PAGE_ROWS)) as i32);
        statement.set_page_size(rows);
        Ok(statement)
    }

    /// Passes on every page of an answer.
    pub(crate) async fn each(
        &mut self,
        statement: &PreparedStatement,
        values: impl SerializeRow + Copy,
        mut take: impl FnMut(&QueryRowsResult) -> Result<()>,
    ) -> Result<()> {
        let mut state = PagingState::start();
        loop {
            let (page, next) = self.session.execute_single_page(statement, values, state).await?;
            let rows = page.into_rows_result()?;
            self.read += rows.rows_num() as u64;
            if let Some(most) = self.rows_per_s {
                let due = Duration::from_secs_f64(self.read as f64 / most);
                tokio::time::sleep(due.saturating_sub(self.begun.elapsed())).await;
            }
            take(&rows)?;
            match next.into_paging_control_flow() {
                ControlFlow::Break(()) => return Ok(()),
                ControlFlow::Continue(next) => state = next,
            }
        }
    }
}

/// Reads and checks every row of the default table.
pub(crate) async fn scan(
    session: &Session,
    keyspace: &str,
    shape: RowShape,
    rows_per_s: Option<f64>,
) -> Result<serde_json::Value> {
    let columns: String = (0..shape.columns).map(|column| format!(", \"C{column}\"")).collect();
    let text = format!("SELECT key{columns} FROM {keyspace}.standard1 WHERE token(key) > ? AND token(key) <= ?");
    let mut pages = Pages::new(session, rows_per_s);
    let statement = pages.prepare(text).await?;
    let (mut numbers, mut corrupted_numbers) = (Vec::new(), Runs::default());
    let (mut corrupted, mut foreign) = (0u64, 0u64);
    let mut take = |rows: &QueryRowsResult| {
        for row in rows.rows::<scylla::value::Row>()? {
            let row = row?;
            let cells: Vec<&[u8]> = row
                .columns
                .iter()
                .map(|cell| cell.as_ref().and_then(|v| v.as_blob()).map_or(&[][..], Vec::as_slice))
                .collect();
            match key_number(cells[0]) {
                Some(number) if !is_intact(cells[0], cells[1..].iter().copied()) => {
                    corrupted += 1;
                    corrupted_numbers.insert(number);
                }
                Some(number) => numbers.push(number),
                None => foreign += 1,
            }
        }
        Ok(())
    };
    let ring = i128::from(i64::MAX) - i128::from(i64::MIN);
    for part in 0..SCAN_PARTS {
        let bound = |part: i128| (i128::from(i64::MIN) + ring * part / SCAN_PARTS) as i64;
        pages
            .each(&statement, (bound(part), bound(part + 1)), &mut take)
            .await?;
    }
    numbers.sort_unstable();
    let mut seen = Runs::default();
    let duplicated = numbers.into_iter().filter(|number| !seen.insert(*number)).count();
    Ok(serde_json::json!({
        "runs": seen.to_vec(), "corrupted": corrupted, "corrupted_runs": corrupted_numbers.to_vec(), "foreign": foreign,
        "duplicated": duplicated,
    }))
}
