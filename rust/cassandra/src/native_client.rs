//! The native client: one thread that schedules, encodes, sends many frames with one system call, and takes
//! answers as they arrive. No operation is handed over between threads.

mod connection_pool;
mod pages;
mod waking;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use anyhow::Result;
use bytes::BytesMut;
use hydrotest_core::background::BackgroundTask;
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::drive::{Limits, Pace, Target, drive};
use hydrotest_core::schedule::Schedule;
use hydrotest_core::socket::wait;
use hydrotest_core::splitmix::mix;
use hydrotest_core::trial::Window;

use self::connection_pool::{ConnectionPool, PoolSize};
use self::waking::{Sleep, Waking, nap};
use crate::account::{Account, Answer, Findings, Found, Operation, Recorders, operations_of};
use crate::answer_sample::Sampling;
use crate::connection::{self, Authenticator, Connection, ConnectionConfig, STREAMS_MAX};
use crate::frame::Execution;
use crate::ring::{self, Topology};
use crate::row_values::{RowValues, Tables};
use crate::session::consistency;
use crate::settings::{CqlSettings, Serial};

/// How long to wait for answers after the load has ended.
const DRAIN_NS: u64 = 15_000_000_000;
const SERVE_NS: u64 = 5_000_000;

/// One thread's client.
pub(crate) struct NativeClient {
    settings: CqlSettings,
    share: u64,
    values: RowValues,
    pool: ConnectionPool,
}

impl NativeClient {
    /// Finds the nodes and opens the connections to each.
    pub(crate) fn connect(settings: &CqlSettings, tables: &Tables, share: u32) -> Result<Self> {
        let timeout = Duration::from_millis(settings.request_timeout_ms);
        let (topology, changes) = ring::watch(&settings.cluster, &settings.keyspace, timeout)?;
        Self::connect_to(topology, Some(changes), settings, tables, share)
    }

    fn connect_to(
        topology: Topology,
        changes: Option<BackgroundTask<Topology>>,
        settings: &CqlSettings,
        tables: &Tables,
        share: u32,
    ) -> Result<Self> {
        let statements = settings.statements();
        let config = ConnectionConfig {
            authenticator: Authenticator::new(&settings.cluster)?,
            execution: Execution {
                consistency: consistency(&settings.consistency)? as u16,
                serial: settings.serial_consistency.map(Serial::level),
                page_rows: settings.page_rows,
            },
            keyspace: settings.content.keyspace(&settings.keyspace).map(str::to_owned),
            statements: statements.iter().map(|statement| statement.cql.clone()).collect(),
        };
        let pace = Pace::of(&settings.load, 0, u64::from(share));
        let size = PoolSize {
            in_turn: settings.connections,
            total: settings
                .connections
                .max(pace.in_flight_max().div_ceil(STREAMS_MAX as u64) as usize),
        };
        let pool = ConnectionPool::open(topology, changes, config, size)?;
        let sampling = settings.recall_queries.map(|most| Sampling {
            most,
            seed: mix(settings.seed).wrapping_add(share.into()),
        });
        let values = RowValues::new(
            &settings.content,
            &statements,
            pool.prepared()?,
            tables,
            &settings.keys,
            sampling,
        )?;
        Ok(Self {
            settings: settings.clone(),
            share: u64::from(share),
            values,
            pool,
        })
    }

    /// The thread's complete life: load, account for unanswered operations, drain.
    pub(crate) fn work(self, window: Window, recorders: Recorders) -> Findings {
        let load = &self.settings.load;
        let limits = Limits {
            operations_max: operations_of(&self.settings, self.share),
            ..Limits::of(load, window.end_ns, self.settings.tick_us * 1_000)
        };
        let pace = Pace::of(load, window.start_ns, self.share);
        let schedule = pace.schedule();
        let mut target = NativeTarget {
            account: Account::new(
                &self.settings,
                self.share,
                window.clone(),
                recorders,
                self.values.unchecked(),
            ),
            writer: self.settings.writer + self.share as u32,
            timeout_ns: self.settings.request_timeout_ms * 1_000_000,
            waking: Waking::of(&self.settings),
            slept: false,
            values: self.values,
            pool: self.pool,
            key: BytesMut::new(),
            window: window.clone(),
            turn: 0,
            operations: VecDeque::new(),
            first: 0,
            in_flight: 0,
            forgotten: Vec::new(),
            paged: Vec::new(),
        };
        let driven = match drive(&mut target, pace, limits, &window.stop) {
            Ok(driven) => driven,
            Err(never) => match never {},
        };
        target.take_all(0);
        let waiting: Vec<Operation> = target.waiting().collect();
        let unstarted: Vec<u64> = schedule.map_or(Vec::new(), |schedule| {
            let due = driven.started..driven.started + driven.unstarted;
            due.map(|number| schedule.intended_ns(number)).collect()
        });
        target.account.load_ended(&waiting, &unstarted, monotonic_ns());
        let give_up = monotonic_ns() + DRAIN_NS;
        while target.in_flight > 0 && monotonic_ns() < give_up {
            target.exchange(monotonic_ns() + SERVE_NS, true);
        }
        let mut found = target.account.take_found();
        (found.samples, found.untold) = target.values.take_samples();
        found.is_stamped = target.slept;
        found.cap_hits = driven.cap_hits;
        found.gave_up = driven.gave_up;
        found
    }
}

struct Slot {
    operation: Operation,
    ended: bool,
    /// What the pages before have shown, if they held rows.
    found: Option<Found>,
    /// Where the next page begins, if there were others before it.
    next_page: Option<Vec<u8>>,
}

struct NativeTarget {
    account: Account,
    values: RowValues,
    window: Window,
    writer: u32,
    timeout_ns: u64,
    waking: Waking,
    /// Answers were taken later than they came.
    slept: bool,
    pool: ConnectionPool,
    /// Buffer for partition keys.
    key: BytesMut,
    /// Counts operations, to use the connections in rotation.
    turn: usize,
    /// Operations by their number, from `first` on; the first has not ended.
    operations: VecDeque<Slot>,
    first: u64,
    in_flight: u64,
    /// Operations (by connection and number) whose statement a node had forgotten.
    forgotten: Vec<(usize, u64)>,
    /// Operations that have further pages, of the connection whose answers are taken.
    paged: Vec<u64>,
}

impl NativeTarget {
    fn waiting(&self) -> impl Iterator<Item = Operation> {
        self.operations
            .iter()
            .filter(|slot| !slot.ended)
            .map(|slot| slot.operation)
    }

    /// An operation that has not ended.
    fn operation(&self, number: u64) -> Option<Operation> {
        let slot = self.operations.get(number.checked_sub(self.first)? as usize)?;
        (!slot.ended).then_some(slot.operation)
    }

    /// Hands an operation to a connection with a free stream, if possible to a node that holds its row.
    /// Without any such connection it fails.
    fn send(&mut self, number: u64, operation: Operation) {
        self.turn = self.turn.wrapping_add(1);
        self.key.clear();
        let is_known = self.pool.has_choice() && self.values.put_partition_key(&mut self.key, operation);
        let key = is_known.then_some(&self.key[..]);
        match self.pool.with_room(key, self.turn) {
            Some(index) => self.execute(index, number, operation),
            None => self.end(number, Answer::Failed("NoConnection".into()), monotonic_ns()),
        }
    }

    /// Executes an operation, or goes on with its next page.
    fn execute(&mut self, index: usize, number: u64, operation: Operation) {
        let page = self.operations[(number - self.first) as usize].next_page.clone();
        let Some(connection) = self.pool.connection_mut(index) else {
            return;
        };
        let (values, writer) = (&mut self.values, self.writer);
        let wall_ns = self.window.wall.wall_ns(operation.intended_ns);
        connection.execute(number, operation.statement, page.as_deref(), |out| {
            values.put(out, operation, writer, number, wall_ns)
        });
    }

    fn end(&mut self, number: u64, answer: Answer, now_ns: u64) {
        // The late answer to an operation that has timed out, and so ended before.
        let Some(operation) = self.operation(number) else {
            return;
        };
        self.operations[(number - self.first) as usize].ended = true;
        self.in_flight -= 1;
        self.account.end(operation, answer, now_ns);
        while self.operations.front().is_some_and(|slot| slot.ended) {
            self.operations.pop_front();
            self.first += 1;
        }
    }

    /// Sends the collected frames, and takes answers until `until_ns` or, with `return_early`, until one
    /// arrives.
    fn exchange(&mut self, until_ns: u64, return_early: bool) {
        loop {
            self.pool.refresh();
            self.flush();
            let before = self.in_flight;
            let sleeps = self.waking.sleeps(self.pool.may_sleep());
            match sleeps.filter(|_| !return_early && self.in_flight > 0) {
                // The kernel says when answers came: what is due by the end of the sleep goes before they are looked at.
                Some(Sleep::Stamped(most)) => {
                    self.take_all(0);
                    self.flush();
                    nap(until_ns, most);
                    self.slept = true;
                }
                Some(Sleep::Unstamped(most)) => {
                    nap(until_ns, most);
                    self.take_all(0);
                }
                None => self.take_all(until_ns.saturating_sub(monotonic_ns())),
            }
            // Without any connection all operations fail at once: a closed loop must not spin on that.
            let is_early = return_early && self.pool.is_any_open() && (self.in_flight < before || self.in_flight == 0);
            if is_early || monotonic_ns() >= until_ns {
                return;
            }
        }
    }

    /// Sends the collected frames.
    fn flush(&mut self) {
        for index in 0..self.pool.len() {
            let connection = self.pool.connection_mut(index);
            if connection.is_some_and(|connection| connection.flush().is_err()) {
                self.lose(index);
            }
        }
    }

    /// Takes what has been answered, or is within `left_ns`, and ends what was not answered in time.
    fn take_all(&mut self, left_ns: u64) {
        let sockets = (0..self.pool.len()).map(|index| self.pool.connection(index).map(Connection::socket));
        for index in wait(sockets, left_ns).expect("the kernel polls") {
            self.take_answers(index);
        }
        self.time_out();
    }

    fn take_answers(&mut self, index: usize) {
        let Some(mut connection) = self.pool.take(index) else {
            return;
        };
        let one_by_one = self.waking.is_lean && connection.socket().is_stamped();
        let each = |number: Option<u64>, answer: connection::Answer<'_>, now: u64| match (number, answer) {
            (Some(number), connection::Answer::Void) => self.end(number, Answer::Written, now),
            (Some(number), connection::Answer::Rows(rows)) => {
                if let Some(operation) = self.operation(number) {
                    self.take_rows(number, operation, rows, now);
                }
            }
            (Some(number), connection::Answer::Refused(refusal)) => {
                self.end(number, Answer::Failed(refusal.name().into()), now);
            }
            (Some(number), _) => self.forgotten.push((index, number)),
            (None, _) => {}
        };
        let received = if one_by_one {
            connection.receive_one_by_one(each)
        } else {
            connection.receive(each)
        };
        self.pool.put_back(index, connection);
        match received {
            Ok(()) => {
                self.remind(index);
                self.go_on(index);
            }
            Err(_) => {
                self.lose(index);
                // Their connection was lost between two pages, when nothing of them was in flight.
                for number in std::mem::take(&mut self.paged) {
                    self.end(number, Answer::Failed("ConnectionLost".into()), monotonic_ns());
                }
            }
        }
    }

    /// Prepares forgotten statements again, and executes their operations.
    fn remind(&mut self, index: usize) {
        if self.forgotten.is_empty() {
            return;
        }
        let (here, elsewhere) = std::mem::take(&mut self.forgotten)
            .into_iter()
            .partition(|(of, _)| *of == index);
        self.forgotten = elsewhere;
        let here: Vec<(usize, u64)> = here;
        for (_, number) in here {
            if let Some(operation) = self.operation(number) {
                // The node takes a connection's frames in order, but may answer them in another order. An
                // execution that overtakes its preparation is forgotten once more, and comes here again.
                let connection = self.pool.connection_mut(index);
                if let Some(connection) = connection.filter(|connection| connection.has_room_for(2)) {
                    connection.prepare(operation.statement);
                    self.execute(index, number, operation);
                } else {
                    self.end(number, Answer::Failed("NoStreamId".into()), monotonic_ns());
                }
            }
        }
    }

    /// A connection is lost: its operations in flight have failed, and it is replaced.
    fn lose(&mut self, index: usize) {
        let Some(connection) = self.pool.take(index) else {
            return;
        };
        let now = monotonic_ns();
        for number in connection.operations() {
            self.end(number, Answer::Failed("ConnectionLost".into()), now);
        }
        self.forgotten.retain(|(of, _)| *of != index);
        self.pool.replace(index);
    }

    /// Operations without an answer in time have failed. They were handed over in the order of their numbers.
    fn time_out(&mut self) {
        let now = monotonic_ns();
        while let Some(slot) = self.operations.front() {
            let handed = slot.operation.actual_ns.unwrap_or(slot.operation.intended_ns);
            if now.saturating_sub(handed) < self.timeout_ns {
                return;
            }
            self.end(self.first, Answer::Failed("ClientTimeout".into()), now);
        }
    }
}

impl Target for NativeTarget {
    type Error = Infallible;

    fn start(&mut self, first: u64, count: u64, schedule: Option<&Schedule>, now_ns: u64) -> Result<(), Infallible> {
        for number in first..first + count {
            let mut operation = self
                .account
                .draw(schedule.map_or(now_ns, |schedule| schedule.intended_ns(number)));
            operation.actual_ns = Some(now_ns);
            self.operations.push_back(Slot {
                operation,
                ended: false,
                found: None,
                next_page: None,
            });
            self.in_flight += 1;
            self.send(number, operation);
        }
        Ok(())
    }

    fn goes_ns(&self, schedule: &Schedule, first: u64) -> u64 {
        self.waking.goes_ns(schedule, first)
    }

    fn serve(&mut self, until_ns: u64, return_early: bool) -> Result<(), Infallible> {
        self.exchange(until_ns, return_early);
        Ok(())
    }

    fn in_flight(&self) -> u64 {
        self.in_flight
    }

    fn oldest_intended_ns(&self) -> Option<u64> {
        self.operations.front().map(|slot| slot.operation.intended_ns)
    }
}

#[cfg(test)]
mod tests;
