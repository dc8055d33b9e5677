//! Storage-attached indexes (SAI) are built in the background, and each node answers by them when its own part is built.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use scylla::client::session::Session;

use crate::session::ask_node;

/// An index of an empty table is built at once.
const BUILT_WITHIN: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
/// Where a node says what it answers by: the name since Cassandra 5.0, and that of its forerunners.
const VIEWS: [&str; 2] = ["sai_column_indexes", "indexes"];

/// Returns when all nodes answer by all such indexes of a keyspace; at once where there are none, or where nodes do not say.
pub(crate) async fn await_queryable(session: &Session, keyspace: &str) -> Result<()> {
    let wanted = attached(session, keyspace).await?;
    let Some(view) = view(session).await?.filter(|_| !wanted.is_empty()) else {
        return Ok(());
    };
    let question = format!(
        "SELECT index_name, is_queryable, is_building FROM system_views.{view} WHERE keyspace_name = '{keyspace}'"
    );
    let begun = Instant::now();
    for node in session.get_cluster_state().get_nodes_info() {
        loop {
            let mut built = BTreeSet::new();
            for row in ask_node(session, node, &question)
                .await?
                .rows::<(String, bool, bool)>()?
            {
                let (name, is_queryable, is_building) = row?;
                if is_queryable && !is_building {
                    built.insert(name);
                }
            }
            let Some(missing) = wanted.difference(&built).next() else {
                break;
            };
            if begun.elapsed() > BUILT_WITHIN {
                bail!(
                    "node {} does not answer by the index {missing} of {keyspace} after {} s",
                    node.address,
                    BUILT_WITHIN.as_secs()
                );
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// The names of such indexes.
async fn attached(session: &Session, keyspace: &str) -> Result<BTreeSet<String>> {
    let list = "SELECT index_name, options FROM system_schema.indexes WHERE keyspace_name = ?";
    let answer = session.query_unpaged(list, (keyspace,)).await?.into_rows_result()?;
    let mut found = BTreeSet::new();
    for row in answer.rows::<(String, Option<BTreeMap<String, String>>)>()? {
        let (name, options) = row?;
        if is_attached(&options.unwrap_or_default()) {
            found.insert(name);
        }
    }
    Ok(found)
}

fn is_attached(options: &BTreeMap<String, String>) -> bool {
    let class = options.get("class_name").map(|class| class.to_ascii_lowercase());
    class.is_some_and(|class| class == "sai" || class.ends_with("storageattachedindex"))
}

async fn view(session: &Session) -> Result<Option<&'static str>> {
    let list = "SELECT table_name FROM system_virtual_schema.tables WHERE keyspace_name = 'system_views'";
    // Nodes without virtual tables have no such indexes either.
    let Ok(answer) = session.query_unpaged(list, ()).await else {
        return Ok(None);
    };
    let answer = answer.into_rows_result()?;
    let names: Vec<(String,)> = answer.rows::<(String,)>()?.collect::<Result<_, _>>()?;
    Ok(VIEWS.into_iter().find(|view| names.iter().any(|(name,)| name == view)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_attached_indexes_are_told_by_their_class() {
        let of = |class: &str| is_attached(&BTreeMap::from([("class_name".into(), class.into())]));
        assert!(of("StorageAttachedIndex") && of("org.apache.cassandra.index.sai.StorageAttachedIndex") && of("sai"));
        assert!(!of("org.apache.cassandra.index.sasi.SASIIndex"));
        assert!(!is_attached(&BTreeMap::new()));
    }
}
