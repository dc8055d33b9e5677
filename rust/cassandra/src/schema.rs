//! The tables of a keyspace, from Cassandra's own description.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use hydrotest_core::cluster::ClusterSettings;
use scylla::client::session::Session;
use scylla::deserialize::row::DeserializeRow;
use scylla::statement::Consistency;

use crate::session::connect;
use crate::similarity::Similarity;
use crate::view_filter::filters;

/// Tables and views by name.
pub(crate) type Schema = BTreeMap<String, Table>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) columns: BTreeMap<String, ColumnKind>,
    /// If it is a materialised view.
    pub(crate) view: Option<View>,
    /// Its rows expire unless a statement sets otherwise (`default_time_to_live`).
    pub(crate) expires: bool,
    /// By what the index of a column of vectors finds the nearest.
    pub(crate) similarities: BTreeMap<String, Similarity>,
}

/// A materialised view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// The table that it follows.
    pub(crate) table: String,
    /// True if it has a row for each of the table's whose key in it is not null.
    pub(crate) is_whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Partition,
    Clustering,
    /// Shared by all rows of a partition.
    Static,
    Counter,
    Regular,
}

impl ColumnKind {
    /// From the terms of `system_schema.columns`.
    fn of(kind: &str, type_name: &str) -> Self {
        match (kind, type_name) {
            ("partition_key", _) => Self::Partition,
            ("clustering", _) => Self::Clustering,
            (_, "counter") => Self::Counter,
            ("static", _) => Self::Static,
            _ => Self::Regular,
        }
    }
}

impl Table {
    /// Its columns of one kind.
    pub(crate) fn of(&self, kind: ColumnKind) -> impl Iterator<Item = &str> {
        let all = self.columns.iter();
        all.filter(move |(_, found)| **found == kind)
            .map(|(name, _)| name.as_str())
    }
}

/// The cluster's description of the tables in a keyspace of our own.
pub(crate) fn read(cluster: &ClusterSettings, keyspace: &str, timeout: Duration) -> Result<Schema> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let session = connect(cluster, 1, timeout, Consistency::One, None).await?;
        let mut schema = Schema::new();
        let columns: Vec<(String, String, String, String)> =
            rows(&session, "table_name, column_name, kind, type", "columns", keyspace).await?;
        for (table, column, kind, type_name) in columns {
            let kind = ColumnKind::of(&kind, &type_name);
            schema.entry(table).or_default().columns.insert(column, kind);
        }
        for (table, seconds) in
            rows::<(String, Option<i32>)>(&session, "table_name, default_time_to_live", "tables", keyspace).await?
        {
            schema.entry(table).or_default().expires = seconds.unwrap_or(0) > 0;
        }
        for (table, options) in
            rows::<(String, Option<BTreeMap<String, String>>)>(&session, "table_name, options", "indexes", keyspace)
                .await?
        {
            let options = options.unwrap_or_default();
            if let (Some(column), Some(similarity)) = (options.get("target"), Similarity::of(&options)) {
                let similarities = &mut schema.entry(table).or_default().similarities;
                similarities.insert(column.trim_matches('"').to_owned(), similarity);
            }
        }
        let views = "view_name, base_table_name, where_clause";
        for (name, table, filter) in
            rows::<(String, String, Option<String>)>(&session, views, "views", keyspace).await?
        {
            let is_whole = filters(&filter.unwrap_or_default()).is_empty();
            schema.entry(name).or_default().view = Some(View { table, is_whole });
        }
        Ok(schema)
    })
}

async fn rows<R>(session: &Session, columns: &str, table: &str, keyspace: &str) -> Result<Vec<R>>
where
    R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata>,
{
    let text = format!("SELECT {columns} FROM system_schema.{table} WHERE keyspace_name = ?");
    let answer = session
        .query_unpaged(text, (keyspace,))
        .await
        .with_context(|| format!("the {table} of {keyspace} cannot be listed"))?
        .into_rows_result()?;
    let found = answer.rows::<R>()?.collect::<Result<Vec<R>, _>>()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_told_apart() {
        let kinds = [
            ("partition_key", "int", ColumnKind::Partition),
            ("clustering", "timestamp", ColumnKind::Clustering),
            ("static", "counter", ColumnKind::Counter),
            ("static", "text", ColumnKind::Static),
            ("regular", "text", ColumnKind::Regular),
        ];
        for (kind, type_name, is) in kinds {
            assert_eq!(ColumnKind::of(kind, type_name), is);
        }
    }
}
