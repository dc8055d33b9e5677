//! Materialised views against the tables that they follow: whether both hold the same rows, and since when.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use scylla::client::session::Session;
use scylla::deserialize::row::ColumnIterator;
use serde::Serialize;

use crate::fnv::{EMPTY, fnv1a};
use crate::scan::Pages;
use crate::view_filter::filters;

/// Between two looks at a view that is behind.
const PAUSE: Duration = Duration::from_secs(1);
/// Eight bytes of each row of a view and of its table are in memory.
const ROWS_MAX: usize = 50_000_000;

/// A view, as the last look has found it.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Compared {
    view: String,
    table: String,
    /// Rows of the table that the view must have.
    rows: u64,
    /// Rows that only the table has, at first and at last; in a row that differs, both have one.
    missing_first: u64,
    missing: u64,
    /// Rows that only the view has.
    extra_first: u64,
    extra: u64,
    /// When the look began that found both the same, in seconds since the first one at this view; None where none did.
    settled_s: Option<f64>,
}

/// Compares each view of a keyspace with its table until they hold the same rows, for as long as `patience` at most. All are
/// looked at in turns, so that none waits for another.
pub(crate) async fn compare(session: &Session, keyspace: &str, patience: Duration) -> Result<Vec<Compared>> {
    let begun = Instant::now();
    let views = views(session, keyspace).await?;
    let mut found: Vec<Option<(Instant, Compared)>> = views.iter().map(|_| None).collect();
    loop {
        for (view, known) in views.iter().zip(&mut found) {
            if known.as_ref().is_some_and(|(_, one)| one.settled_s.is_some()) {
                continue;
            }
            let at = Instant::now();
            let mut one = look(session, keyspace, view)
                .await
                .with_context(|| format!("{} and {} cannot be compared", view.name, view.table))?;
            let mut first_at = at;
            if let Some((before, first)) = known.take() {
                (one.missing_first, one.extra_first) = (first.missing_first, first.extra_first);
                first_at = before;
            }
            let is_same = one.missing + one.extra == 0;
            one.settled_s = is_same.then(|| (at - first_at).as_secs_f64());
            *known = Some((first_at, one));
        }
        let are_same = found.iter().flatten().all(|(_, one)| one.settled_s.is_some());
        if are_same || begun.elapsed() + PAUSE > patience {
            return Ok(found.into_iter().flatten().map(|(_, one)| one).collect());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

struct View {
    name: String,
    table: String,
    /// In one order for both.
    columns: Vec<String>,
    /// Those of its key, without which a row is not in the view.
    key: Vec<String>,
    filter: String,
}

async fn views(session: &Session, keyspace: &str) -> Result<Vec<View>> {
    let list = "SELECT view_name, base_table_name, where_clause FROM system_schema.views WHERE keyspace_name = ?";
    let columns = "SELECT column_name, kind FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?";
    let found = session.query_unpaged(list, (keyspace,)).await?.into_rows_result()?;
    let mut all = Vec::new();
    for row in found.rows::<(String, String, Option<String>)>()? {
        let (name, table, filter) = row?;
        let described = session
            .query_unpaged(columns, (keyspace, &name))
            .await?
            .into_rows_result()?;
        let described: Vec<(String, String)> = described.rows::<(String, String)>()?.collect::<Result<_, _>>()?;
        let is_key = |(_, kind): &&(String, String)| kind == "partition_key" || kind == "clustering";
        all.push(View {
            table,
            key: described.iter().filter(is_key).map(|(name, _)| name.clone()).collect(),
            columns: described.into_iter().map(|(name, _)| name).collect(),
            filter: filters(&filter.unwrap_or_default()).join(" AND "),
            name,
        });
    }
    Ok(all)
}

impl View {
    /// The statement that reads the rows of the table that must be in the view, or those of the view itself.
    fn select(&self, keyspace: &str, is_view: bool) -> String {
        let columns: Vec<String> = self.columns.iter().map(|name| quoted(name)).collect();
        let table = quoted(if is_view { &self.name } else { &self.table });
        let filter = if is_view || self.filter.is_empty() {
            String::new()
        } else {
            format!(" WHERE {} ALLOW FILTERING", self.filter)
        };
        format!("SELECT {} FROM {keyspace}.{table}{filter}", columns.join(", "))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// How a view and its table differ now.
async fn look(session: &Session, keyspace: &str, view: &View) -> Result<Compared> {
    let own = hashes(session, view, view.select(keyspace, false)).await?;
    let its = hashes(session, view, view.select(keyspace, true)).await?;
    let (missing, extra) = apart(&own, &its);
    Ok(Compared {
        view: view.name.clone(),
        table: view.table.clone(),
        rows: own.len() as u64,
        missing_first: missing,
        missing,
        extra_first: extra,
        extra,
        settled_s: None,
    })
}

/// A hash of each row that can be in the view, sorted.
async fn hashes(session: &Session, view: &View, select: String) -> Result<Vec<u64>> {
    let mut pages = Pages::new(session, None);
    let statement = pages.prepare(select).await?;
    let is_key: Vec<bool> = view.columns.iter().map(|name| view.key.contains(name)).collect();
    let mut found = Vec::new();
    pages
        .each(&statement, (), |rows| {
            for row in rows.rows::<ColumnIterator>()? {
                found.extend(hash(row?, &is_key)?);
            }
            ensure!(
                found.len() <= ROWS_MAX,
                "more than {ROWS_MAX} rows do not fit into memory"
            );
            Ok(())
        })
        .await?;
    found.sort_unstable();
    Ok(found)
}

/// A row's hash; None where a column of the view's key is null.
fn hash(row: ColumnIterator<'_, '_>, is_key: &[bool]) -> Result<Option<u64>> {
    let mut hash = EMPTY;
    for (column, is_key) in row.zip(is_key) {
        match column?.slice {
            Some(value) => {
                let value = value.as_slice();
                hash = fnv1a(fnv1a(hash, &(value.len() as u32).to_be_bytes()), value);
            }
            None if *is_key => return Ok(None),
            None => hash = fnv1a(hash, &u32::MAX.to_be_bytes()),
        }
    }
    Ok(Some(hash))
}

/// How many are only in the first, and only in the second of two sorted lists.
fn apart(one: &[u64], other: &[u64]) -> (u64, u64) {
    let (mut at, mut beside, mut both) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(at), other.get(beside)) {
        at += usize::from(a <= b);
        beside += usize::from(b <= a);
        both += usize::from(a == b);
    }
    ((one.len() - both) as u64, (other.len() - both) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_one_has_is_counted() {
        assert_eq!(apart(&[1, 2, 2, 5], &[1, 2, 2, 5]), (0, 0));
        assert_eq!(apart(&[1, 2, 2, 5], &[2, 3]), (3, 1));
        assert_eq!(apart(&[], &[2, 3]), (0, 2));
        assert_eq!(apart(&[7], &[]), (1, 0));
    }

    #[test]
    fn rows_that_a_view_leaves_out_are_not_asked_for() {
        let mut view = View {
            name: "by_email".into(),
            table: "Us".into(),
            columns: vec!["email".into(), "id".into()],
            key: vec!["email".into()],
            filter: String::new(),
        };
        assert_eq!(view.select("k", false), "SELECT \"email\", \"id\" FROM k.\"Us\"");
        view.filter = "v > 5".into();
        assert_eq!(
            view.select("k", false),
            "SELECT \"email\", \"id\" FROM k.\"Us\" WHERE v > 5 ALLOW FILTERING"
        );
        assert_eq!(view.select("k", true), "SELECT \"email\", \"id\" FROM k.\"by_email\"");
    }
}
