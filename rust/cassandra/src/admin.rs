//! Queries and changes of keyspaces and nodes over CQL: readiness, set-up, and the scan that accounts for
//! every row.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hydrotest_core::cluster::{ClusterSettings, Secret};
use scylla::client::session::Session;
use scylla::statement::Consistency;
use serde::{Deserialize, Serialize};

use crate::cql;
use crate::indexes::await_queryable;
use crate::rows::RowShape;
use crate::scan::scan;
use crate::session::{connect, consistency};
use crate::views;

/// Only keyspaces that hydrotest made are dropped; their names begin with this.
pub const OWN_PREFIX: &str = "hydrotest";
const TIMEOUT: Duration = Duration::from_secs(30);
/// A node that serves takes a connection at once.
const REACHED: Duration = Duration::from_secs(2);
/// The end of the name of a canary's keyspace.
const CANARY: &str = "_canary";
/// A canary writes several times a second.
const WRITES_WITHIN: Duration = Duration::from_millis(1_500);

/// The admin queries of the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "query", rename_all = "snake_case", deny_unknown_fields)]
pub enum AdminQuery {
    /// The contact point's release, and the number of nodes that it knows: the sign that it serves.
    Nodes { cluster: ClusterSettings },
    /// Changes a user's password.
    SetPassword {
        cluster: ClusterSettings,
        user: String,
        password: Secret,
    },
    /// Makes a keyspace of our own with the standard1 table. `replication` is a CQL map. With `is_new`, one that is
    /// there already is an error.
    CreateTable {
        cluster: ClusterSettings,
        keyspace: String,
        replication: String,
        shape: RowShape,
        #[serde(default)]
        is_new: bool,
    },
    /// Makes a keyspace of our own with user-defined tables: each statement begins with CREATE.
    CreateOwn {
        cluster: ClusterSettings,
        keyspace: String,
        replication: String,
        statements: Vec<String>,
        #[serde(default)]
        is_new: bool,
    },
    /// Drops a keyspace of our own: the one with a table of that id, where it is known, so that no other keyspace of
    /// the same name is.
    DropKeyspace {
        cluster: ClusterSettings,
        keyspace: String,
        #[serde(default)]
        id: Option<String>,
    },
    /// What a ring says of itself; changes nothing.
    Contact { cluster: ClusterSettings },
    /// The canaries of other runs that are under way.
    Others { cluster: ClusterSettings },
    /// The identities of keyspaces by name, as `CreateTable` gives them; null for one that is not there, empty for one
    /// without tables.
    Ids {
        cluster: ClusterSettings,
        keyspaces: Vec<String>,
    },
    /// Reads and checks every row of standard1. Reports the numbers of intact rows, and of corrupted ones.
    Scan {
        cluster: ClusterSettings,
        keyspace: String,
        shape: RowShape,
        consistency: String,
        /// Most rows a second, where the ring has other users.
        #[serde(default)]
        rows_per_s: Option<f64>,
    },
    /// Holds the rows of each materialised view of a keyspace against those of its table, until they are the same or the time
    /// is over.
    Views {
        cluster: ClusterSettings,
        keyspace: String,
        patience_s: f64,
    },
}

/// Answers one query as plain data.
pub fn answer(query: &AdminQuery) -> Result<serde_json::Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match query {
            AdminQuery::Nodes { cluster } => nodes(cluster).await,
            AdminQuery::SetPassword {
                cluster,
                user,
                password,
            } => {
                let session = connect(cluster, 1, TIMEOUT, Consistency::One, None).await?;
                let quoted = password.expose().replace('\'', "''");
                session
                    .query_unpaged(format!("ALTER ROLE {user} WITH PASSWORD = '{quoted}'"), ())
                    .await
                    // The error may repeat the statement, which contains the password.
                    .map_err(|_| anyhow::anyhow!("the password of {user} was not changed"))?;
                Ok(serde_json::json!({}))
            }
            AdminQuery::CreateTable {
                cluster,
                keyspace,
                replication,
                shape,
                is_new,
            } => {
                shape.check().map_err(anyhow::Error::msg)?;
                let columns: String = (0..shape.columns)
                    .map(|column| format!(", \"C{column}\" blob"))
                    .collect();
                let table = format!(
                    "CREATE TABLE IF NOT EXISTS standard1 (key blob PRIMARY KEY{columns}) WITH compression = {{'enabled': 'false'}}"
                );
                create(cluster, keyspace, replication, &[table], *is_new).await
            }
            AdminQuery::CreateOwn {
                cluster,
                keyspace,
                replication,
                statements,
                is_new,
            } => create(cluster, keyspace, replication, statements, *is_new).await,
            AdminQuery::DropKeyspace { cluster, keyspace, id } => {
                ensure!(
                    keyspace.starts_with(OWN_PREFIX),
                    "keyspace {keyspace} is not hydrotest's own and stays"
                );
                let session = connect(cluster, 1, TIMEOUT, Consistency::One, None).await?;
                if id.is_some() {
                    let Some(there) = identity(&session, keyspace).await? else {
                        return Ok(serde_json::json!({}));
                    };
                    ensure!(
                        id.as_deref() == Some(&there),
                        "keyspace {keyspace} is another one by now, and stays"
                    );
                }
                session
                    .query_unpaged(format!("DROP KEYSPACE IF EXISTS {keyspace}"), ())
                    .await?;
                Ok(serde_json::json!({}))
            }
            AdminQuery::Scan {
                cluster,
                keyspace,
                shape,
                consistency: level,
                rows_per_s,
            } => {
                let session = connect(cluster, 1, TIMEOUT, consistency(level)?, Some(keyspace)).await?;
                scan(&session, keyspace, *shape, *rows_per_s).await
            }
            AdminQuery::Views {
                cluster,
                keyspace,
                patience_s,
            } => {
                let session = connect(cluster, 1, TIMEOUT, Consistency::All, None).await?;
                let patience = Duration::from_secs_f64(*patience_s);
                Ok(serde_json::json!(views::compare(&session, keyspace, patience).await?))
            }
            AdminQuery::Contact { cluster } => contact(cluster).await,
            AdminQuery::Others { cluster } => others(cluster).await,
            AdminQuery::Ids { cluster, keyspaces } => {
                let session = connect(cluster, 1, TIMEOUT, Consistency::One, None).await?;
                let mut found = serde_json::Map::new();
                for keyspace in keyspaces {
                    found.insert(keyspace.clone(), identity(&session, keyspace).await?.into());
                }
                Ok(found.into())
            }
        }
    })
}

async fn nodes(cluster: &ClusterSettings) -> Result<serde_json::Value> {
    let session = connect(cluster, 1, TIMEOUT, Consistency::One, None).await?;
    let version: (String,) = session
        .query_unpaged("SELECT release_version FROM system.local", ())
        .await?
        .into_rows_result()?
        .single_row()?;
    let peers = session
        .query_unpaged("SELECT peer FROM system.peers", ())
        .await?
        .into_rows_result()?
        .rows_num();
    Ok(serde_json::json!({ "version": version.0, "nodes": peers + 1 }))
}

async fn create(
    cluster: &ClusterSettings,
    keyspace: &str,
    replication: &str,
    statements: &[String],
    is_new: bool,
) -> Result<serde_json::Value> {
    ensure!(
        keyspace.starts_with(OWN_PREFIX),
        "keyspace {keyspace} does not begin with {OWN_PREFIX}"
    );
    let session = connect(cluster, 1, TIMEOUT, Consistency::One, None).await?;
    let unless = if is_new { "" } else { "IF NOT EXISTS " };
    let create =
        format!("CREATE KEYSPACE {unless}{keyspace} WITH replication = {replication} AND durable_writes = true");
    session
        .query_unpaged(create, ())
        .await
        .context("the keyspace was not created")?;
    session.use_keyspace(keyspace, false).await?;
    for statement in statements {
        ensure!(
            cql::verb(statement).as_deref() == Some("create"),
            "{statement:?} does not begin with CREATE"
        );
        session
            .query_unpaged(statement.as_str(), ())
            .await
            .with_context(|| format!("{statement:?} was refused"))?;
    }
    session.await_schema_agreement().await?;
    await_queryable(&session, keyspace).await?;
    Ok(serde_json::json!({ "id": identity(&session, keyspace).await? }))
}

/// What distinguishes a keyspace from another of the same name: the least of its tables' ids, empty without tables;
/// None where it is not there.
async fn identity(session: &Session, keyspace: &str) -> Result<Option<String>> {
    let named = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let keyspaces = session
        .query_unpaged(named, (keyspace,))
        .await
        .context("the keyspaces cannot be listed")?
        .into_rows_result()?;
    if keyspaces.rows_num() == 0 {
        return Ok(None);
    }
    let answer = session
        .query_unpaged(
            "SELECT id FROM system_schema.tables WHERE keyspace_name = ?",
            (keyspace,),
        )
        .await
        .with_context(|| format!("the tables of {keyspace} cannot be listed"))?
        .into_rows_result()?;
    let mut ids = Vec::new();
    for row in answer.rows::<scylla::value::Row>()? {
        let id = row?.columns.into_iter().next().flatten();
        ids.extend(id.and_then(|id| id.as_uuid()).map(|id| id.to_string()));
    }
    Ok(Some(ids.into_iter().min().unwrap_or_default()))
}

/// The keyspaces of other runs of hydrotest that are under way: of their canaries, which write all the time.
async fn others(cluster: &ClusterSettings) -> Result<serde_json::Value> {
    let session = connect(cluster, 1, TIMEOUT, Consistency::One, None).await?;
    let named = session
        .query_unpaged("SELECT keyspace_name FROM system_schema.keyspaces", ())
        .await?
        .into_rows_result()?;
    let mut found = Vec::new();
    for row in named.rows::<(String,)>()? {
        let (name,) = row?;
        if name.starts_with(OWN_PREFIX) && name.ends_with(CANARY) {
            // One that is just being made or removed, or is another role's, is not known to write.
            if let Ok(before) = last_written(&session, &name).await {
                found.push((name, before));
            }
        }
    }
    if !found.is_empty() {
        tokio::time::sleep(WRITES_WITHIN).await;
    }
    let mut writing = Vec::new();
    for (name, before) in found {
        if last_written(&session, &name).await.is_ok_and(|now| now > before) {
            writing.push(name);
        }
    }
    Ok(serde_json::json!(writing))
}

/// The time of the last write to a canary's rows, microseconds; None where there are none.
async fn last_written(session: &Session, keyspace: &str) -> Result<Option<i64>> {
    let rows = session
        .query_unpaged(format!("SELECT writetime(\"C0\") FROM {keyspace}.standard1"), ())
        .await
        .with_context(|| format!("{keyspace} cannot be read"))?
        .into_rows_result()?;
    let mut last = None;
    for row in rows.rows::<(Option<i64>,)>()? {
        last = last.max(row?.0);
    }
    Ok(last)
}

async fn contact(cluster: &ClusterSettings) -> Result<serde_json::Value> {
    let session = connect(cluster, 1, TIMEOUT, Consistency::One, None).await?;
    let (name, version, data_center): (String, String, String) = session
        .query_unpaged(
            "SELECT cluster_name, release_version, data_center FROM system.local",
            (),
        )
        .await?
        .into_rows_result()?
        .single_row()?;
    let tables = session
        .query_unpaged("SELECT keyspace_name FROM system_schema.tables", ())
        .await?
        .into_rows_result()?
        .rows_num();
    let state = session.get_cluster_state();
    let nodes: Vec<serde_json::Value> = state
        .get_nodes_info()
        .iter()
        .map(|node| {
            let address = std::net::SocketAddr::new(node.address.ip(), node.address.port());
            let reached = std::net::TcpStream::connect_timeout(&address, REACHED);
            serde_json::json!({
                "id": node.host_id.to_string(), "address": address.to_string(), "data_center": node.datacenter,
                "rack": node.rack, "unreachable": reached.err().map(|error| error.to_string()),
            })
        })
        .collect();
    Ok(serde_json::json!({
        "cluster": name, "version": version, "data_center": data_center, "tables": tables, "nodes": nodes,
    }))
}
