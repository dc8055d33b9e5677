//! Connections to the brokers that lead a topic's partitions, and what is out on each: the same for producing and for
//! fetching. Where that is wanted, a lost connection gives back what was out on it, and another is found.

use std::collections::VecDeque;

use anyhow::{Context, Result, bail};
use hydrotest_core::socket::wait;

use crate::connection::Connection;
use crate::finder::Finder;
use crate::protocol::{Call, is_passing};

struct Link<T> {
    address: String,
    /// None once it is lost.
    connection: Option<Connection>,
    /// What is out, by correlation id, oldest first: a broker answers in order.
    out: VecDeque<(i32, T)>,
}

/// Links to brokers, by index. `T` is what belongs to a request until it is answered.
pub(crate) struct Links<T> {
    links: Vec<Link<T>>,
    /// None: a lost connection is an error.
    finder: Option<Finder>,
    /// A broker said that it leads a partition no longer.
    stale: bool,
}

impl<T> Links<T> {
    /// With a `finder` lost connections and leaders are found again; without one they are errors.
    pub(crate) fn new(finder: Option<Finder>) -> Self {
        Self {
            links: Vec::new(),
            finder,
            stale: false,
        }
    }

    /// True where a lost connection and a passing refusal are no errors.
    pub(crate) fn retries(&self) -> bool {
        self.finder.is_some()
    }

    /// Takes a connection over, in the place of a lost one to the same broker if there is one; its index.
    pub(crate) fn add(&mut self, mut connection: Connection) -> Result<usize> {
        connection.set_nonblocking()?;
        let address = connection.address().to_owned();
        let lost = |link: &Link<T>| link.connection.is_none() && link.address == address;
        if let Some(index) = self.links.iter().position(lost) {
            self.links[index].connection = Some(connection);
            return Ok(index);
        }
        self.links.push(Link {
            address,
            connection: Some(connection),
            out: VecDeque::new(),
        });
        Ok(self.links.len() - 1)
    }

    /// Takes over the connections that were found since the last call, and has them looked for while any partition lacks
    /// its own. `place` gives a partition's number and the link that it goes by.
    pub(crate) fn mend<P>(&mut self, partitions: &mut [P], place: impl Fn(&mut P) -> (i32, &mut usize)) -> Result<()> {
        while let Some(found) = self.finder.as_mut().and_then(Finder::found) {
            self.stale = false;
            for connection in found.connections {
                if self.wants(connection.address()) {
                    self.add(connection)?;
                }
            }
            for (number, link) in partitions.iter_mut().map(&place) {
                if let Some(leader) = found.leaders.get(&number)
                    && self.links[*link].address != *leader
                    && let Some(of_leader) = self.position(leader)
                {
                    *link = of_leader;
                }
            }
        }
        if self.finder.as_ref().is_some_and(|finder| !finder.is_looking()) {
            let lacking = partitions.iter_mut().any(|partition| !self.is_up(*place(partition).1));
            let whole = self.whole();
            if let Some(finder) = self.finder.as_mut().filter(|_| self.stale || lacking) {
                finder.look(whole);
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// The first link to a broker.
    pub(crate) fn position(&self, address: &str) -> Option<usize> {
        self.links.iter().position(|link| link.address == address)
    }

    /// True if another connection to this broker has a use: there is none yet, or one was lost.
    fn wants(&self, address: &str) -> bool {
        let mut known = self.links.iter().filter(|link| link.address == address).peekable();
        known.peek().is_none() || known.any(|link| link.connection.is_none())
    }

    pub(crate) fn is_up(&self, link: usize) -> bool {
        self.links[link].connection.is_some()
    }

    /// Brokers whose every connection works.
    fn whole(&self) -> Vec<String> {
        let addresses = self.links.iter().map(|link| &link.address);
        addresses.filter(|address| !self.wants(address)).cloned().collect()
    }

    /// Requests out on a link.
    pub(crate) fn requests_out(&self, link: usize) -> usize {
        self.links[link].out.len()
    }

    /// What belongs to the oldest request of each link.
    pub(crate) fn oldest(&self) -> impl Iterator<Item = &T> {
        self.links
            .iter()
            .filter_map(|link| link.out.front().map(|(_, what)| what))
    }

    /// What belongs to the oldest request of a link: the next answer is to that one.
    pub(crate) fn front(&self, link: usize) -> Option<&T> {
        self.links[link].out.front().map(|(_, what)| what)
    }

    /// What belongs to all requests that are out.
    pub(crate) fn all_out(&self) -> impl Iterator<Item = &T> {
        self.links.iter().flat_map(|link| link.out.iter().map(|(_, what)| what))
    }

    /// Queues a request and sends what the socket takes. An error if the connection is lost; `what` is out all the same, for
    /// `lose` to give back.
    pub(crate) fn send<Q: Call>(&mut self, link: usize, request: &Q, what: T) -> Result<()> {
        let link = &mut self.links[link];
        let Some(connection) = &mut link.connection else {
            bail!("there is no connection to broker {}", link.address);
        };
        let correlation = connection.correlation();
        link.out.push_back((correlation, what));
        let frame = connection.encode(correlation, request)?;
        connection.send(frame)
    }

    /// Moves bytes both ways. An error if the connection is lost.
    pub(crate) fn pump(&mut self, link: usize) -> Result<()> {
        match &mut self.links[link].connection {
            Some(connection) => connection.pump(),
            None => Ok(()),
        }
    }

    /// The next answer that has arrived, with what belongs to its request.
    pub(crate) fn take<Q: Call>(&mut self, link: usize) -> Result<Option<(T, Q::Response)>> {
        let link = &mut self.links[link];
        let Some(connection) = &mut link.connection else {
            return Ok(None);
        };
        let Some(frame) = connection.take_frame()? else {
            return Ok(None);
        };
        let (answered, response) = connection.decode::<Q>(frame)?;
        match link.out.pop_front() {
            Some((correlation, what)) if correlation == answered => Ok(Some((what, response))),
            _ => bail!("broker {} answered out of step", link.address),
        }
    }

    /// What belongs to requests that have left wholly, where no answer is to come.
    pub(crate) fn take_left(&mut self) -> Vec<T> {
        let mut left = Vec::new();
        for link in &mut self.links {
            let has_left = |connection: &Connection| !connection.socket().wants_to_write();
            if link.connection.as_ref().is_some_and(has_left) {
                left.extend(link.out.drain(..).map(|(_, what)| what));
            }
        }
        left
    }

    /// A connection is lost for `reason`: what was out on it, oldest first, or the reason where nothing is tried again.
    pub(crate) fn lose(&mut self, link: usize, reason: anyhow::Error) -> Result<Vec<T>> {
        if !self.retries() {
            return Err(reason);
        }
        let link = &mut self.links[link];
        link.connection = None;
        Ok(link.out.drain(..).map(|(_, what)| what).collect())
    }

    /// True if a refusal may pass, so that the same is to be asked again a little later, of whoever leads then.
    pub(crate) fn passes(&mut self, code: i16) -> bool {
        let passes = self.retries() && is_passing(code);
        self.stale |= passes;
        passes
    }

    /// Waits until a link has something to do, or `timeout_ns` has passed; the links that have.
    pub(crate) fn wait(&self, timeout_ns: u64) -> Result<Vec<usize>> {
        let sockets = self
            .links
            .iter()
            .map(|link| link.connection.as_ref().map(Connection::socket));
        wait(sockets, timeout_ns).context("poll failed")
    }
}
