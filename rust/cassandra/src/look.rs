//! The state of a ring that others use, asked again and again over the same connections.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use hydrotest_core::cluster::ClusterSettings;
use scylla::client::session::Session;
use scylla::cluster::Node;
use scylla::statement::Consistency;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::session::{ask_node, connect};

/// A node that serves answers at once.
const ANSWER: Duration = Duration::from_secs(2);
/// Every user may ask a node for this.
const ALIVE: &str = "SELECT key FROM system.local";
/// Since Cassandra 4.0; needs SELECT on `system_views` where rights are kept.
const POOLS: &str = "SELECT name, pending_tasks FROM system_views.thread_pools";

/// Looks at the nodes of one data centre.
pub struct Looking {
    runtime: tokio::runtime::Runtime,
    session: Arc<Session>,
    data_center: Option<String>,
}

impl Looking {
    /// Connects to a ring. Of all its nodes without a `data_center`.
    pub fn open(cluster: &ClusterSettings, data_center: Option<String>) -> Result<Self> {
        // A thread of its own mends connections also while nobody asks.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let session = runtime.block_on(connect(cluster, 1, ANSWER, Consistency::One, None))?;
        Ok(Self {
            runtime,
            session: Arc::new(session),
            data_center,
        })
    }

    /// How many nodes do not answer (`behind`), the tasks that wait in each thread pool of each other one by its address
    /// (`pools`), and why these are not known (`unknown`).
    pub fn look(&self) -> Value {
        self.runtime.block_on(self.nodes())
    }

    async fn nodes(&self) -> Value {
        let state = self.session.get_cluster_state();
        let mut asked = JoinSet::new();
        for node in state.get_nodes_info() {
            if self.data_center.is_none() || node.datacenter == self.data_center {
                let (session, node) = (self.session.clone(), node.clone());
                asked.spawn(async move { (node.address.to_string(), of_node(&session, &node).await) });
            }
        }
        let (mut behind, mut pools, mut unknown) = (0, BTreeMap::new(), None);
        for (address, answer) in asked.join_all().await {
            match answer {
                Err(_) => behind += 1,
                Ok(Ok(found)) => {
                    pools.insert(address, found);
                }
                Ok(Err(error)) => unknown = Some(format!("{error:#}")),
            }
        }
        json!({ "behind": behind, "pools": pools, "unknown": unknown })
    }
}

type Pools = BTreeMap<String, i64>;

/// An error if the node does not answer; inside, if it does not say what waits there.
async fn of_node(session: &Session, node: &Arc<Node>) -> Result<Result<Pools>> {
    ask_node(session, node, ALIVE).await?;
    Ok(pools(session, node).await)
}

async fn pools(session: &Session, node: &Arc<Node>) -> Result<Pools> {
    let rows = ask_node(session, node, POOLS).await?;
    let mut found = Pools::new();
    for row in rows.rows::<(String, i32)>()? {
        let (name, pending) = row?;
        found.insert(name, i64::from(pending));
    }
    Ok(found)
}
