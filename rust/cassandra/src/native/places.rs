//! Where a client's connections are: by place, each open or looked for, and by node.

use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::{Context, Result};
use hydrotest_core::seek::{Over, Seeker};

use crate::link::{Dialect, Link, Prepared};
use crate::ring::Topology;

/// Between two attempts at a lost connection.
const BACKOFF: Duration = Duration::from_millis(100);

/// How many connections there are to each node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Width {
    /// They take turns. Few are cheap: cost follows the operations per wake-up.
    pub(super) in_turn: usize,
    /// All of them. Those beyond the first carry what finds no free stream there: a node that falls behind is to hold the
    /// load's whole backlog, as one that keeps up would have held its load.
    pub(super) total: usize,
}

/// A connection's place: open, or looked for; neither where its node has left the cluster.
struct Place {
    address: SocketAddr,
    link: Option<Link>,
    search: Option<Seeker<Link>>,
}

impl Place {
    /// One that is looked for.
    fn sought(address: SocketAddr, dialect: &Dialect) -> Self {
        let mut place = Self {
            address,
            link: None,
            search: None,
        };
        place.seek(dialect);
        place
    }

    fn seek(&mut self, dialect: &Dialect) {
        let (address, dialect) = (self.address, dialect.clone());
        let round = move |sender: &Sender<Link>| match Link::open(address, &dialect) {
            Ok(link) => {
                // Nobody takes it where the trial is over.
                drop(sender.send(link));
                true
            }
            // The node is away, or not ready yet: that is what the rounds are for.
            Err(_) => false,
        };
        self.search = Some(Seeker::begin(BACKOFF, round));
    }
}

/// A client's connections to the nodes of a cluster, whose changes they follow.
pub(super) struct Places {
    all: Vec<Place>,
    /// Indices of `all`, by the node's place in the topology.
    by_node: Vec<Vec<usize>>,
    topology: Topology,
    changes: Option<Seeker<Topology>>,
    dialect: Dialect,
    width: Width,
}

impl Places {
    /// Opens the connections to each node.
    pub(super) fn open(
        topology: Topology,
        changes: Option<Seeker<Topology>>,
        dialect: Dialect,
        width: Width,
    ) -> Result<Self> {
        let mut all = Vec::new();
        for _ in 0..width.total {
            for &address in &topology.nodes {
                all.push(Place {
                    address,
                    link: Some(Link::open(address, &dialect)?),
                    search: None,
                });
            }
        }
        Ok(Self {
            by_node: by_node(&topology, &all),
            all,
            topology,
            changes,
            dialect,
            width,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// What a node said of the statements.
    pub(super) fn prepared(&self) -> Result<&[Prepared]> {
        let link = self.all.iter().find_map(|place| place.link.as_ref());
        Ok(link.context("there is no node to connect to")?.prepared())
    }

    /// True if it makes a difference which node is asked.
    pub(super) fn has_choice(&self) -> bool {
        self.topology.has_choice()
    }

    /// A connection with room: to a node that holds the partition of this key, if any has one, else to any node. Nodes take
    /// turns, and the connections to each.
    pub(super) fn with_room(&self, key: Option<&[u8]>, turn: usize) -> Option<usize> {
        let holders = key.map_or(&[][..], |key| self.topology.holders(key));
        self.among(holders.len(), turn, |at| holders[at])
            .or_else(|| self.among(self.by_node.len(), turn, |at| at))
    }

    /// A connection with room among those to `count` nodes.
    fn among(&self, count: usize, turn: usize, node: impl Fn(usize) -> usize) -> Option<usize> {
        let turns = |at: usize| {
            let places = &self.by_node[node(at)];
            let first = &places[..self.width.in_turn.min(places.len())];
            in_turn(first.len(), turn / count).map(|at| first[at])
        };
        let spare = |at: usize| self.by_node[node(at)].iter().skip(self.width.in_turn).copied();
        in_turn(count, turn)
            .flat_map(turns)
            .chain(in_turn(count, turn).flat_map(spare))
            .find(|&index| self.link(index).is_some_and(|link| link.has_room_for(1)))
    }

    pub(super) fn link(&self, index: usize) -> Option<&Link> {
        self.all[index].link.as_ref()
    }

    pub(super) fn link_mut(&mut self, index: usize) -> Option<&mut Link> {
        self.all[index].link.as_mut()
    }

    /// Takes the connection away for a while, until it is put back.
    pub(super) fn take(&mut self, index: usize) -> Option<Link> {
        self.all[index].link.take()
    }

    pub(super) fn put_back(&mut self, index: usize, link: Link) {
        self.all[index].link = Some(link);
    }

    pub(super) fn is_any_open(&self) -> bool {
        self.all.iter().any(|place| place.link.is_some())
    }

    /// What became of the connection that was lost is nobody's business any more: another is looked for.
    pub(super) fn replace(&mut self, index: usize) {
        let place = &mut self.all[index];
        if self.topology.nodes.contains(&place.address) {
            place.seek(&self.dialect);
        }
    }

    /// Takes over the connections that were found, and what has become of the cluster.
    pub(super) fn mend(&mut self) {
        if let Some(Ok(Some(topology))) = self.changes.as_ref().map(Seeker::found) {
            self.follow(topology);
        }
        for place in &mut self.all {
            match place.search.as_ref().map(Seeker::found) {
                Some(Ok(Some(link))) => {
                    place.link = Some(link);
                    place.search = None;
                }
                Some(Err(Over)) => place.search = None,
                Some(Ok(None)) | None => {}
            }
        }
    }

    /// The cluster has changed: connections to what is new are looked for, to what has left no longer.
    fn follow(&mut self, topology: Topology) {
        for &node in &topology.nodes {
            if !self.all.iter().any(|place| place.address == node) {
                let new = (0..self.width.total).map(|_| Place::sought(node, &self.dialect));
                self.all.extend(new);
            }
        }
        for place in &mut self.all {
            let is_there = topology.nodes.contains(&place.address);
            if !is_there {
                place.search = None;
            } else if place.link.is_none() && place.search.is_none() {
                place.seek(&self.dialect);
            }
        }
        self.by_node = by_node(&topology, &self.all);
        self.topology = topology;
    }
}

/// The places of each node's connections.
fn by_node(topology: &Topology, places: &[Place]) -> Vec<Vec<usize>> {
    let of = |node: &SocketAddr| (0..places.len()).filter(|&at| places[at].address == *node).collect();
    topology.nodes.iter().map(of).collect()
}

/// All of `count` places, beginning with that whose turn it is.
fn in_turn(count: usize, turn: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |step| (turn + step) % count)
}
