//! A client's connections: by slot, each open or reconnecting, and by node.

use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::{Context, Result};
use hydrotest_core::background::{BackgroundTask, Finished};

use crate::connection::{Connection, ConnectionConfig, Prepared};
use crate::ring::Topology;

/// Interval between two attempts at a lost connection.
const BACKOFF: Duration = Duration::from_millis(100);

/// The number of connections to each node.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolSize {
    /// Used in rotation. Few are cheap: the cost depends on the operations per wake-up.
    pub(super) in_turn: usize,
    /// All of them. Those beyond the first carry operations without a free stream there. A node that falls
    /// behind must hold the load's complete backlog, as one that keeps up would have held its load.
    pub(super) total: usize,
}

/// A connection's slot: open, or reconnecting; neither where its node has left the cluster.
struct Slot {
    address: SocketAddr,
    connection: Option<Connection>,
    reconnecting: Option<BackgroundTask<Connection>>,
}

impl Slot {
    /// A slot that is reconnecting.
    fn connecting(address: SocketAddr, config: &ConnectionConfig) -> Self {
        let mut slot = Self {
            address,
            connection: None,
            reconnecting: None,
        };
        slot.reconnect(config);
        slot
    }

    fn reconnect(&mut self, config: &ConnectionConfig) {
        let (address, config) = (self.address, config.clone());
        let round = move |sender: &Sender<Connection>| match Connection::open(address, &config) {
            Ok(connection) => {
                // Without a receiver the trial is over.
                drop(sender.send(connection));
                true
            }
            // The node is away, or not ready yet: the next round tries again.
            Err(_) => false,
        };
        self.reconnecting = Some(BackgroundTask::spawn(BACKOFF, round));
    }
}

/// A client's connections to the nodes of a cluster; they follow its changes.
pub(super) struct ConnectionPool {
    all: Vec<Slot>,
    /// Indices of `all`, by the node's index in the topology.
    by_node: Vec<Vec<usize>>,
    topology: Topology,
    changes: Option<BackgroundTask<Topology>>,
    config: ConnectionConfig,
    size: PoolSize,
}

impl ConnectionPool {
    /// Opens the connections to each node.
    pub(super) fn open(
        topology: Topology,
        changes: Option<BackgroundTask<Topology>>,
        config: ConnectionConfig,
        size: PoolSize,
    ) -> Result<Self> {
        let mut all = Vec::new();
        for _ in 0..size.total {
            for &address in &topology.nodes {
                all.push(Slot {
                    address,
                    connection: Some(Connection::open(address, &config)?),
                    reconnecting: None,
                });
            }
        }
        Ok(Self {
            by_node: by_node(&topology, &all),
            all,
            topology,
            changes,
            config,
            size,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The prepared statements, as described by a node.
    pub(super) fn prepared(&self) -> Result<&[Prepared]> {
        let connection = self.all.iter().find_map(|slot| slot.connection.as_ref());
        Ok(connection.context("there is no node to connect to")?.prepared())
    }

    /// True if the choice of a node makes a difference.
    pub(super) fn has_choice(&self) -> bool {
        self.topology.has_choice()
    }

    /// A connection with a free stream: to a node that holds the partition of this key, if any has one, else
    /// to any node. Nodes, and the connections to each, are used in rotation.
    pub(super) fn with_room(&self, key: Option<&[u8]>, turn: usize) -> Option<usize> {
        let holders = key.map_or(&[][..], |key| self.topology.holders(key));
        self.among(holders.len(), turn, |at| holders[at])
            .or_else(|| self.among(self.by_node.len(), turn, |at| at))
    }

    /// A connection with a free stream among those to `count` nodes.
    fn among(&self, count: usize, turn: usize, node: impl Fn(usize) -> usize) -> Option<usize> {
        let turns = |at: usize| {
            let slots = &self.by_node[node(at)];
            let first = &slots[..self.size.in_turn.min(slots.len())];
            in_turn(first.len(), turn / count).map(|at| first[at])
        };
        let spare = |at: usize| self.by_node[node(at)].iter().skip(self.size.in_turn).copied();
        in_turn(count, turn)
            .flat_map(turns)
            .chain(in_turn(count, turn).flat_map(spare))
            .find(|&index| {
                self.connection(index)
                    .is_some_and(|connection| connection.has_room_for(1))
            })
    }

    pub(super) fn connection(&self, index: usize) -> Option<&Connection> {
        self.all[index].connection.as_ref()
    }

    pub(super) fn connection_mut(&mut self, index: usize) -> Option<&mut Connection> {
        self.all[index].connection.as_mut()
    }

    /// Takes the connection out for a while, until it is put back.
    pub(super) fn take(&mut self, index: usize) -> Option<Connection> {
        self.all[index].connection.take()
    }

    pub(super) fn put_back(&mut self, index: usize, connection: Connection) {
        self.all[index].connection = Some(connection);
    }

    pub(super) fn is_any_open(&self) -> bool {
        self.all.iter().any(|slot| slot.connection.is_some())
    }

    /// Whether nothing is to be done of what is under way, and the kernel says of all connections when answers came.
    pub(super) fn may_sleep(&self) -> bool {
        let mut open = self.all.iter().filter_map(|slot| slot.connection.as_ref());
        open.all(|connection| connection.socket().is_stamped() && !connection.socket().is_busy())
    }

    /// Opens another connection in the slot of a lost one.
    pub(super) fn replace(&mut self, index: usize) {
        let slot = &mut self.all[index];
        if self.topology.nodes.contains(&slot.address) {
            slot.reconnect(&self.config);
        }
    }

    /// Takes over new connections, and changes of the cluster.
    pub(super) fn refresh(&mut self) {
        if let Some(Ok(Some(topology))) = self.changes.as_ref().map(BackgroundTask::poll) {
            self.follow(topology);
        }
        for slot in &mut self.all {
            match slot.reconnecting.as_ref().map(BackgroundTask::poll) {
                Some(Ok(Some(connection))) => {
                    slot.connection = Some(connection);
                    slot.reconnecting = None;
                }
                Some(Err(Finished)) => slot.reconnecting = None,
                Some(Ok(None)) | None => {}
            }
        }
    }

    /// The cluster has changed: connects to new nodes, and stops connecting to those that have left.
    fn follow(&mut self, topology: Topology) {
        for &node in &topology.nodes {
            if !self.all.iter().any(|slot| slot.address == node) {
                let new = (0..self.size.total).map(|_| Slot::connecting(node, &self.config));
                self.all.extend(new);
            }
        }
        for slot in &mut self.all {
            let is_there = topology.nodes.contains(&slot.address);
            if !is_there {
                slot.reconnecting = None;
            } else if slot.connection.is_none() && slot.reconnecting.is_none() {
                slot.reconnect(&self.config);
            }
        }
        self.by_node = by_node(&topology, &self.all);
        self.topology = topology;
    }
}

/// The slots of each node's connections.
fn by_node(topology: &Topology, slots: &[Slot]) -> Vec<Vec<usize>> {
    let of = |node: &SocketAddr| (0..slots.len()).filter(|&at| slots[at].address == *node).collect();
    topology.nodes.iter().map(of).collect()
}

/// All of `count` slots, in rotation from `turn` on.
fn in_turn(count: usize, turn: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |step| (turn + step) % count)
}
