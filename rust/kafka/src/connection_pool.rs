//! Connections to the leaders of a topic's partitions, with the requests in flight on each, for producing and
//! fetching. If so configured, a lost connection returns its requests in flight, and is replaced.

use std::collections::VecDeque;

use anyhow::{Context, Result, bail};
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::socket::{Socket, wait};

use crate::connection::Connection;
use crate::metadata_refresher::MetadataRefresher;
use crate::protocol::{Call, is_passing};

struct Slot<T> {
    address: String,
    /// None once it is lost.
    connection: Option<Connection>,
    /// Requests in flight, by correlation id, oldest first: a broker answers in order.
    out: VecDeque<(i32, T)>,
}

/// Connections to brokers, by index. `T` is the data of a request until it is answered.
pub(crate) struct ConnectionPool<T> {
    slots: Vec<Slot<T>>,
    /// None: a lost connection is an error.
    refresher: Option<MetadataRefresher>,
    /// A broker reported that it no longer leads a partition.
    stale: bool,
}

impl<T> ConnectionPool<T> {
    /// With a `refresher`, lost connections and leaders are replaced; without one they are errors.
    pub(crate) fn new(refresher: Option<MetadataRefresher>) -> Self {
        Self {
            slots: Vec::new(),
            refresher,
            stale: false,
        }
    }

    /// True where a lost connection and a temporary refusal are not errors.
    pub(crate) fn retries(&self) -> bool {
        self.refresher.is_some()
    }

    /// Adds a connection, in the slot of a lost one to the same broker if there is one; returns its index.
    pub(crate) fn add(&mut self, mut connection: Connection) -> Result<usize> {
        connection.set_nonblocking()?;
        let address = connection.address().to_owned();
        let lost = |slot: &Slot<T>| slot.connection.is_none() && slot.address == address;
        if let Some(index) = self.slots.iter().position(lost) {
            self.slots[index].connection = Some(connection);
            return Ok(index);
        }
        self.slots.push(Slot {
            address,
            connection: Some(connection),
            out: VecDeque::new(),
        });
        Ok(self.slots.len() - 1)
    }

    /// Adds the connections found since the last call, and searches on while any partition lacks its own.
    /// `locate` gives a partition's number and its slot.
    pub(crate) fn refresh<P>(
        &mut self,
        partitions: &mut [P],
        locate: impl Fn(&mut P) -> (i32, &mut usize),
    ) -> Result<()> {
        while let Some(found) = self.refresher.as_mut().and_then(MetadataRefresher::found) {
            self.stale = false;
            for connection in found.connections {
                if self.wants(connection.address()) {
                    self.add(connection)?;
                }
            }
            for (number, slot) in partitions.iter_mut().map(&locate) {
                if let Some(leader) = found.leaders.get(&number)
                    && self.slots[*slot].address != *leader
                    && let Some(of_leader) = self.position(leader)
                {
                    *slot = of_leader;
                }
            }
        }
        if self
            .refresher
            .as_ref()
            .is_some_and(|refresher| !refresher.is_refreshing())
        {
            let lacking = partitions.iter_mut().any(|partition| !self.is_up(*locate(partition).1));
            let whole = self.whole();
            if let Some(refresher) = self.refresher.as_mut().filter(|_| self.stale || lacking) {
                refresher.refresh(whole);
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The first slot to a broker.
    pub(crate) fn position(&self, address: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.address == address)
    }

    /// True if another connection to this broker is useful: there is none yet, or one was lost.
    fn wants(&self, address: &str) -> bool {
        let mut known = self.slots.iter().filter(|slot| slot.address == address).peekable();
        known.peek().is_none() || known.any(|slot| slot.connection.is_none())
    }

    pub(crate) fn is_up(&self, slot: usize) -> bool {
        self.slots[slot].connection.is_some()
    }

    /// Brokers whose connections all work.
    fn whole(&self) -> Vec<String> {
        let addresses = self.slots.iter().map(|slot| &slot.address);
        addresses.filter(|address| !self.wants(address)).cloned().collect()
    }

    /// Requests in flight on a connection.
    pub(crate) fn requests_out(&self, slot: usize) -> usize {
        self.slots[slot].out.len()
    }

    /// The data of the oldest request of each connection.
    pub(crate) fn oldest(&self) -> impl Iterator<Item = &T> {
        self.slots
            .iter()
            .filter_map(|slot| slot.out.front().map(|(_, what)| what))
    }

    /// The data of the oldest request of a connection: the next answer is to that one.
    pub(crate) fn front(&self, slot: usize) -> Option<&T> {
        self.slots[slot].out.front().map(|(_, what)| what)
    }

    /// The data of all requests in flight.
    pub(crate) fn all_out(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flat_map(|slot| slot.out.iter().map(|(_, what)| what))
    }

    /// Queues a request and sends as much as the socket takes. An error if the connection is lost; `what`
    /// still counts as in flight, so that `lose` returns it.
    pub(crate) fn send<Q: Call>(&mut self, slot: usize, request: &Q, what: T) -> Result<()> {
        let slot = &mut self.slots[slot];
        let Some(connection) = &mut slot.connection else {
            bail!("there is no connection to broker {}", slot.address);
        };
        let correlation = connection.correlation();
        slot.out.push_back((correlation, what));
        let frame = connection.encode(correlation, request)?;
        connection.send(frame)
    }

    /// Moves bytes both ways, of `one` answer at most. False if none have come; an error if the connection is lost.
    pub(crate) fn pump(&mut self, slot: usize, one: bool) -> Result<bool> {
        match &mut self.slots[slot].connection {
            Some(connection) => connection.pump(one),
            None => Ok(false),
        }
    }

    /// The next answer that has arrived, with the data of its request.
    pub(crate) fn take<Q: Call>(&mut self, slot: usize) -> Result<Option<(T, Q::Response)>> {
        let slot = &mut self.slots[slot];
        let Some(connection) = &mut slot.connection else {
            return Ok(None);
        };
        let Some(frame) = connection.take_frame()? else {
            return Ok(None);
        };
        let (answered, response) = connection.decode::<Q>(frame)?;
        match slot.out.pop_front() {
            Some((correlation, what)) if correlation == answered => Ok(Some((what, response))),
            _ => bail!("broker {} answered out of step", slot.address),
        }
    }

    /// When the newest answer of a connection came (monotonic); now, where it is lost.
    pub(crate) fn arrived_ns(&self, slot: usize) -> u64 {
        let connection = self.slots[slot].connection.as_ref();
        connection.map_or_else(monotonic_ns, Connection::arrived_ns)
    }

    /// Whether the kernel says of all connections when answers came, and nothing is half sent or half read.
    pub(crate) fn may_sleep(&self) -> bool {
        let mut open = self.sockets().flatten();
        open.all(|socket| socket.is_stamped() && !socket.is_busy())
    }

    /// The data of completely sent requests, where no answer will come.
    pub(crate) fn take_left(&mut self) -> Vec<T> {
        let mut left = Vec::new();
        for slot in &mut self.slots {
            let has_left = |connection: &Connection| !connection.socket().wants_to_write();
            if slot.connection.as_ref().is_some_and(has_left) {
                left.extend(slot.out.drain(..).map(|(_, what)| what));
            }
        }
        left
    }

    /// A connection is lost for `reason`: returns its requests in flight, oldest first, or the reason where
    /// nothing is retried.
    pub(crate) fn lose(&mut self, slot: usize, reason: anyhow::Error) -> Result<Vec<T>> {
        if !self.retries() {
            return Err(reason);
        }
        let slot = &mut self.slots[slot];
        slot.connection = None;
        Ok(slot.out.drain(..).map(|(_, what)| what).collect())
    }

    /// True for a temporary refusal: the request is repeated a little later, to the leader of that time.
    pub(crate) fn passes(&mut self, code: i16) -> bool {
        let passes = self.retries() && is_passing(code);
        self.stale |= passes;
        passes
    }

    /// The sockets of all slots; None where the connection is lost.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = Option<&Socket>> {
        self.slots
            .iter()
            .map(|slot| slot.connection.as_ref().map(Connection::socket))
    }

    /// Waits until a connection is ready, or `timeout_ns` has passed; returns the ready slots.
    pub(crate) fn wait(&self, timeout_ns: u64) -> Result<Vec<usize>> {
        wait(self.sockets(), timeout_ns).context("poll failed")
    }
}
