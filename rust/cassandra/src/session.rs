//! A driver session for measurements: no retries, no speculation, no background requests that would add load.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hydrotest_core::cluster::ClusterSettings;
use hydrotest_core::tls;
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::cluster::Node;
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use scylla::policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy};
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::response::query_result::QueryRowsResult;
use scylla::statement::{Consistency, Statement};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REFRESH: Duration = Duration::from_secs(24 * 3600);

/// Opens a session with `connections` to each node; a request unanswered after `timeout` is an error. It
/// learns only the schema of `keyspace`, or none: no more is needed.
pub async fn connect(
    cluster: &ClusterSettings,
    connections: usize,
    timeout: Duration,
    consistency: Consistency,
    keyspace: Option<&str>,
) -> Result<Session> {
    let profile = ExecutionProfile::builder()
        .consistency(consistency)
        .serial_consistency(None)
        .request_timeout(Some(timeout))
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
        .speculative_execution_policy(None)
        .build();
    let mut builder = SessionBuilder::new();
    if let Some(settings) = &cluster.tls {
        builder = builder.tls_context(Some(tls::config(settings)?));
    }
    if let Some(login) = &cluster.login {
        builder = builder.user(&login.user, login.password.expose());
    }
    builder
        .known_nodes(&cluster.addresses)
        .default_execution_profile_handle(profile.into_handle())
        .pool_size(PoolSize::PerHost(
            NonZeroUsize::new(connections).context("at least one connection is needed")?,
        ))
        .disallow_shard_aware_port(true)
        .tcp_nodelay(true)
        .connection_timeout(CONNECT_TIMEOUT)
        .cluster_metadata_refresh_interval(REFRESH)
        .fetch_schema_metadata(keyspace.is_some())
        .keyspaces_to_fetch(keyspace)
        .build()
        .await
        .with_context(|| format!("Cassandra at {} cannot be reached", cluster.addresses.join(", ")))
}

/// What one node says, and no other.
pub(crate) async fn ask_node(session: &Session, node: &Arc<Node>, question: &str) -> Result<QueryRowsResult> {
    let mut statement = Statement::new(question);
    let only = SingleTargetLoadBalancingPolicy::new(NodeIdentifier::Node(node.clone()), None);
    statement.set_load_balancing_policy(Some(only));
    session
        .query_unpaged(statement, ())
        .await
        .with_context(|| format!("{} does not answer {question:?}", node.address))?
        .into_rows_result()
        .context("an answer without rows")
}

/// A consistency level by its CQL name.
pub fn consistency(name: &str) -> Result<Consistency> {
    Ok(match name {
        "ANY" => Consistency::Any,
        "ONE" => Consistency::One,
        "TWO" => Consistency::Two,
        "THREE" => Consistency::Three,
        "QUORUM" => Consistency::Quorum,
        "ALL" => Consistency::All,
        "LOCAL_QUORUM" => Consistency::LocalQuorum,
        "EACH_QUORUM" => Consistency::EachQuorum,
        "LOCAL_ONE" => Consistency::LocalOne,
        other => bail!("unknown consistency level {other}"),
    })
}

/// The server's own name for the error, or ours where the client noticed it first.
pub fn error_name(error: &ExecutionError) -> String {
    match error {
        ExecutionError::RequestTimeout(_) => "ClientTimeout".into(),
        ExecutionError::EmptyPlan | ExecutionError::ConnectionPoolError(_) => "NoConnection".into(),
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _)) => db_error_name(error).into(),
        ExecutionError::LastAttemptError(RequestAttemptError::BrokenConnectionError(_)) => "ConnectionLost".into(),
        ExecutionError::LastAttemptError(RequestAttemptError::UnableToAllocStreamId) => "NoStreamId".into(),
        other => format!("{other}"),
    }
}

fn db_error_name(error: &DbError) -> &'static str {
    match error {
        DbError::ReadTimeout { .. } => "ReadTimeout",
        DbError::WriteTimeout { .. } => "WriteTimeout",
        DbError::Unavailable { .. } => "Unavailable",
        DbError::Overloaded => "Overloaded",
        DbError::ReadFailure { .. } => "ReadFailure",
        DbError::WriteFailure { .. } => "WriteFailure",
        DbError::IsBootstrapping => "IsBootstrapping",
        DbError::Unprepared { .. } => "Unprepared",
        DbError::ServerError => "ServerError",
        _ => "DbError",
    }
}
