//! The nodes that hold a row: the token ring as the cluster reports it. It is looked up for each operation,
//! so that a request goes to a node that answers it itself. Nodes come and go during a run: `watch` reports
//! each change.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::Result;
use hydrotest_core::background::BackgroundTask;
use hydrotest_core::cluster::ClusterSettings;
use scylla::cluster::{ClusterState, Node};
use scylla::routing::partitioner::{Murmur3Partitioner, Partitioner};
use scylla::statement::Consistency;

use crate::session::connect;

/// How often the driver's session, which receives changes from the nodes, gets time to do so.
const LOOK: Duration = Duration::from_millis(500);

/// All nodes, and the part of the ring that each holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topology {
    pub(crate) nodes: Vec<SocketAddr>,
    /// The last token of each arc of the ring, in rising order, with the indices (in `nodes`) of its holders.
    arcs: Vec<(i64, Vec<usize>)>,
}

impl Topology {
    /// Nodes without further knowledge: any of them may hold any row.
    #[cfg(test)]
    pub(crate) fn flat(nodes: Vec<SocketAddr>) -> Self {
        Self {
            nodes,
            arcs: Vec::new(),
        }
    }

    /// The ring of a session. Replicas count if they are in the data centre of the first contact point, as in
    /// drivers; where none is there, all count.
    fn of(state: &ClusterState, keyspace: &str, contact: Option<SocketAddr>) -> Self {
        let mut nodes: Vec<SocketAddr> = state.get_nodes_info().iter().map(|node| address(node)).collect();
        nodes.sort();
        let contact = state
            .get_nodes_info()
            .iter()
            .find(|node| Some(address(node)) == contact);
        let here = contact.and_then(|node| node.datacenter.as_deref());
        let holders = |token| {
            let all = state.get_token_endpoints(keyspace, "", token);
            let is_near = |node: &Node| here.is_none() || node.datacenter.as_deref() == here;
            let any_near = all.iter().any(|(node, _)| is_near(node));
            let chosen = all.iter().filter(|(node, _)| !any_near || is_near(node));
            chosen
                .filter_map(|(node, _)| nodes.binary_search(&address(node)).ok())
                .collect()
        };
        let ring = state.replica_locator().ring();
        let arcs = ring.iter().map(|&(token, _)| (token.value(), holders(token))).collect();
        Self { nodes, arcs }
    }

    /// True if the choice of a node makes a difference.
    pub(crate) fn has_choice(&self) -> bool {
        self.nodes.len() > 1 && !self.arcs.is_empty()
    }

    /// Indices of the nodes that hold a partition. `key` is its key as nodes hash it.
    pub(crate) fn holders(&self, key: &[u8]) -> &[usize] {
        self.holders_of(Murmur3Partitioner.hash_one(key).value())
    }

    /// An arc holds the tokens up to its own and above that of the one before; the first also those above the last.
    fn holders_of(&self, token: i64) -> &[usize] {
        let at = self.arcs.partition_point(|(last, _)| *last < token);
        let arc = self.arcs.get(at).or(self.arcs.first());
        arc.map_or(&[], |(_, holders)| holders)
    }
}

fn address(node: &Node) -> SocketAddr {
    SocketAddr::new(node.address.ip(), node.address.port())
}

/// The cluster as it is now, and a task that reports each change to it until it is dropped.
pub(crate) fn watch(
    settings: &ClusterSettings,
    keyspace: &str,
    timeout: Duration,
) -> Result<(Topology, BackgroundTask<Topology>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let session = runtime.block_on(connect(settings, 1, timeout, Consistency::One, Some(keyspace)))?;
    let contact = settings.addresses.first().and_then(|address| address.parse().ok());
    let keyspace = keyspace.to_owned();
    let mut state = session.get_cluster_state();
    let first = Topology::of(&state, &keyspace, contact);
    let mut known = first.clone();
    let round = move |sender: &Sender<Topology>| {
        // Made inside the runtime, whose clock it uses.
        runtime.block_on(async { tokio::time::sleep(LOOK).await });
        let newest = session.get_cluster_state();
        if Arc::ptr_eq(&state, &newest) {
            return false;
        }
        state = newest;
        let now = Topology::of(&state, &keyspace, contact);
        let is_change = now != known;
        known = now.clone();
        // Without a receiver the trial is over.
        is_change && sender.send(now).is_err()
    };
    Ok((first, BackgroundTask::spawn(Duration::ZERO, round)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn topology(lasts: &[i64]) -> Topology {
        Topology {
            nodes: vec!["127.0.0.1:1".parse().unwrap(), "127.0.0.2:1".parse().unwrap()],
            arcs: lasts
                .iter()
                .enumerate()
                .map(|(at, &last)| (last, vec![at % 2]))
                .collect(),
        }
    }

    #[test]
    fn an_arc_ends_with_its_token_and_the_ring_closes() {
        let ring = topology(&[-100, 0, 50]);
        let places: Vec<usize> = [i64::MIN, -100, -99, 0, 1, 50, 51, i64::MAX]
            .iter()
            .map(|&token| ring.holders_of(token)[0])
            .collect();
        assert_eq!(places, [0, 0, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn without_a_ring_nobody_holds_anything() {
        assert!(!Topology::flat(topology(&[]).nodes).has_choice());
        assert!(Topology::default().holders(b"key").is_empty());
    }

    /// Cassandra's own value: `SELECT token(0x74657374)`, that is murmur3 of "test" (also in the drivers' tests).
    #[test]
    fn keys_are_hashed_as_nodes_hash_them() {
        assert_eq!(Murmur3Partitioner.hash_one(b"test").value(), -6_017_608_668_500_074_083);
    }

    proptest! {
        /// As a walk along the ring finds them.
        #[test]
        fn the_look_up_is_a_walk(mut lasts in proptest::collection::btree_set(any::<i64>(), 1..40), token: i64) {
            let lasts: Vec<i64> = std::mem::take(&mut lasts).into_iter().collect();
            let ring = topology(&lasts);
            let walked = lasts.iter().position(|&last| token <= last).unwrap_or(0);
            prop_assert_eq!(ring.holders_of(token), &[walked % 2]);
        }
    }
}
