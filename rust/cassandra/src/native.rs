//! The native client: one thread that schedules, encodes, sends many frames with one system call, and takes answers in as they
//! come, with no hand-over between threads on the way of an operation.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::Result;
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::drive::{Limits, Pace, Target, drive};
use hydrotest_core::schedule::Schedule;
use hydrotest_core::seek::{Over, Seeker};
use hydrotest_core::socket::wait;
use hydrotest_core::trial::Window;

use crate::account::{Account, Answer, Operation, Pressed, Recorders, operations_of};
use crate::frame::put_value;
use crate::link::{self, Dialect, Door, Kind, Link, Statement};
use crate::press::CqlSettings;
use crate::rows::{is_intact, key_bytes};
use crate::session::{consistency, nodes};

/// The longest time between two looks at the schedule.
const TICK_NS: u64 = 250_000;
/// How long answers are awaited after the load has ended.
const DRAIN_NS: u64 = 15_000_000_000;
/// Between two attempts at a lost connection.
const BACKOFF: Duration = Duration::from_millis(100);
const SERVE_NS: u64 = 5_000_000;

/// A connection's place: open, or looked for.
struct Place {
    address: SocketAddr,
    link: Option<Link>,
    search: Option<Seeker<Link>>,
}

/// One thread's client.
pub(crate) struct Native {
    settings: CqlSettings,
    share: u64,
    dialect: Dialect,
    places: Vec<Place>,
}

impl Native {
    /// Finds the nodes and opens the connections to each.
    pub(crate) fn connect(settings: &CqlSettings, share: u32) -> Result<Self> {
        let timeout = Duration::from_millis(settings.request_timeout_ms);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let addresses = runtime.block_on(nodes(&settings.cluster, timeout))?;
        Self::connect_to(&addresses, settings, share)
    }

    fn connect_to(addresses: &[SocketAddr], settings: &CqlSettings, share: u32) -> Result<Self> {
        let dialect = Dialect {
            door: Door::new(&settings.cluster)?,
            consistency: consistency(&settings.consistency)? as u16,
            insert: Statement {
                query: settings.insert_statement(),
                values: settings.shape.columns as u16 + 1,
            },
            select: Statement {
                query: settings.select_statement(),
                values: 1,
            },
        };
        let mut places = Vec::new();
        for _ in 0..settings.connections {
            for &address in addresses {
                places.push(Place {
                    address,
                    link: Some(Link::open(address, &dialect)?),
                    search: None,
                });
            }
        }
        Ok(Self {
            settings: settings.clone(),
            share: u64::from(share),
            dialect,
            places,
        })
    }

    /// The thread's whole life: load, account for what is unanswered, drain.
    pub(crate) fn work(self, window: Window, recorders: Recorders) -> Pressed {
        let pressure = &self.settings.pressure;
        let limits = Limits {
            operations_max: operations_of(&self.settings, self.share),
            ..Limits::of(pressure, window.end_ns, TICK_NS)
        };
        let pace = Pace::of(pressure, window.start_ns, self.share);
        let schedule = pace.schedule();
        let mut presser = Presser {
            account: Account::new(&self.settings, self.share, window.clone(), recorders),
            writer: self.settings.writer + self.share as u32,
            timeout_ns: self.settings.request_timeout_ms * 1_000_000,
            settings: self.settings,
            dialect: self.dialect,
            places: self.places,
            window: window.clone(),
            next_place: 0,
            operations: VecDeque::new(),
            first: 0,
            in_flight: 0,
            forgotten: Vec::new(),
        };
        let driven = match drive(&mut presser, pace, limits, &window.stop) {
            Ok(driven) => driven,
            Err(never) => match never {},
        };
        let waiting: Vec<Operation> = presser.waiting().collect();
        let unstarted: Vec<u64> = schedule.map_or(Vec::new(), |schedule| {
            let due = driven.started..driven.started + driven.unstarted;
            due.map(|number| schedule.intended_ns(number)).collect()
        });
        presser.account.load_ended(&waiting, &unstarted, monotonic_ns());
        let give_up = monotonic_ns() + DRAIN_NS;
        while presser.in_flight > 0 && monotonic_ns() < give_up {
            presser.exchange(monotonic_ns() + SERVE_NS, true);
        }
        let mut found = presser.account.take_found();
        found.cap_hits = driven.cap_hits;
        found.gave_up = driven.gave_up;
        found
    }
}

struct Slot {
    operation: Operation,
    ended: bool,
}

struct Presser {
    settings: CqlSettings,
    account: Account,
    dialect: Dialect,
    window: Window,
    writer: u32,
    timeout_ns: u64,
    places: Vec<Place>,
    next_place: usize,
    /// Operations by their number, from `first` on; the first has not ended.
    operations: VecDeque<Slot>,
    first: u64,
    in_flight: u64,
    /// Operations (by place and number) whose statement a node had forgotten.
    forgotten: Vec<(usize, u64)>,
}

impl Presser {
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

    /// Hands an operation to the next connection that has room; without any it fails.
    fn send(&mut self, number: u64, operation: Operation) {
        let count = self.places.len();
        let ready = |place: &Place| place.link.as_ref().is_some_and(|link| link.has_room_for(1));
        let free = (0..count)
            .map(|step| (self.next_place + step) % count)
            .find(|&index| ready(&self.places[index]));
        match free {
            Some(index) => {
                self.next_place = (index + 1) % count;
                self.execute(index, number, operation);
            }
            None => self.end(number, Answer::Failed("NoConnection".into()), monotonic_ns()),
        }
    }

    fn execute(&mut self, place: usize, number: u64, operation: Operation) {
        let Some(link) = &mut self.places[place].link else {
            return;
        };
        let (shape, writer) = (self.settings.shape, self.writer);
        let key = key_bytes(operation.key);
        if operation.is_write {
            let wall_ns = self.window.wall.wall_ns(operation.intended_ns);
            link.execute(number, Kind::Insert, |values| {
                put_value(values, &key);
                shape.put(values, operation.key, writer, number, wall_ns);
            });
        } else {
            link.execute(number, Kind::Select, |values| put_value(values, &key));
        }
    }

    fn end(&mut self, number: u64, answer: Answer, now_ns: u64) {
        // One that has timed out is answered late, and has ended before.
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

    /// Sends what is laid out, and takes answers in until `until_ns` or, if so wanted, until there are any.
    fn exchange(&mut self, until_ns: u64, return_early: bool) {
        loop {
            self.mend();
            for index in 0..self.places.len() {
                if self.places[index]
                    .link
                    .as_mut()
                    .is_some_and(|link| link.flush().is_err())
                {
                    self.lose(index);
                }
            }
            let left = until_ns.saturating_sub(monotonic_ns());
            let sockets = self.places.iter().map(|place| place.link.as_ref().map(Link::socket));
            let active = wait(sockets, left).expect("the kernel polls");
            let before = self.in_flight;
            for index in active {
                self.take_answers(index);
            }
            self.time_out();
            // Without any connection all operations fail at once: a closed loop must not spin on that.
            let is_connected = self.places.iter().any(|place| place.link.is_some());
            let is_early = return_early && is_connected && (self.in_flight < before || self.in_flight == 0);
            if is_early || monotonic_ns() >= until_ns {
                return;
            }
        }
    }

    fn take_answers(&mut self, place: usize) {
        let Some(mut link) = self.places[place].link.take() else {
            return;
        };
        let received = link.receive(|number, answer| {
            let now = monotonic_ns();
            match (number, answer) {
                (Some(number), link::Answer::Void) => self.end(number, Answer::Written, now),
                (Some(number), link::Answer::Rows(rows)) => {
                    if let Some(operation) = self.operation(number) {
                        self.end(number, checked(operation.key, rows), now);
                    }
                }
                (Some(number), link::Answer::Refused(refusal)) => {
                    self.end(number, Answer::Failed(refusal.name().into()), now);
                }
                (Some(number), _) => self.forgotten.push((place, number)),
                (None, _) => {}
            }
        });
        self.places[place].link = Some(link);
        match received {
            Ok(()) => self.remind(place),
            Err(_) => self.lose(place),
        }
    }

    /// Has forgotten statements prepared again, and executes what they were for.
    fn remind(&mut self, place: usize) {
        if self.forgotten.is_empty() {
            return;
        }
        let (here, elsewhere) = std::mem::take(&mut self.forgotten)
            .into_iter()
            .partition(|(index, _)| *index == place);
        self.forgotten = elsewhere;
        let here: Vec<(usize, u64)> = here;
        for (_, number) in here {
            if let Some(operation) = self.operation(number) {
                // The node takes a connection's frames one after the other, but answers them as it can: an execution that
                // overtakes its preparation is forgotten once more, and comes here again.
                let kind = if operation.is_write { Kind::Insert } else { Kind::Select };
                let link = self.places[place].link.as_mut();
                if let Some(link) = link.filter(|link| link.has_room_for(2)) {
                    link.prepare(kind);
                    self.execute(place, number, operation);
                } else {
                    self.end(number, Answer::Failed("NoStreamId".into()), monotonic_ns());
                }
            }
        }
    }

    /// A connection is lost: what was out on it has failed, and another is looked for.
    fn lose(&mut self, place: usize) {
        let Some(link) = self.places[place].link.take() else {
            return;
        };
        let now = monotonic_ns();
        for number in link.operations() {
            self.end(number, Answer::Failed("ConnectionLost".into()), now);
        }
        self.forgotten.retain(|(index, _)| *index != place);
        let (address, dialect) = (self.places[place].address, self.dialect.clone());
        let round = move |sender: &Sender<Link>| match Link::open(address, &dialect) {
            Ok(link) => {
                // Nobody takes it where the trial is over.
                drop(sender.send(link));
                true
            }
            // The node is away, or not ready yet: that is what the rounds are for.
            Err(_) => false,
        };
        self.places[place].search = Some(Seeker::begin(BACKOFF, round));
    }

    /// Takes over the connections that were found.
    fn mend(&mut self) {
        for place in &mut self.places {
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

    /// Operations that nobody answered in time have failed. They were handed over in the order of their numbers.
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

fn checked(key: u64, mut rows: crate::frame::Rows<'_>) -> Answer {
    if rows.count == 0 {
        return Answer::Read {
            found: false,
            intact: true,
        };
    }
    let columns = rows.columns;
    // A cell that is null or cut short ends the row early, and then its checksum does not fit.
    let cells = (0..columns).map_while(|_| rows.cell().ok().flatten());
    Answer::Read {
        found: true,
        intact: is_intact(&key_bytes(key), cells),
    }
}

impl Target for Presser {
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
            });
            self.in_flight += 1;
            self.send(number, operation);
        }
        Ok(())
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
mod tests {
    use std::sync::Arc;

    use hydrotest_core::clock::WallOffset;
    use hydrotest_core::cluster::ClusterSettings;
    use hydrotest_core::draw::Distribution;
    use hydrotest_core::wire::{Load, Pressure};

    use super::*;
    use crate::press::Client;
    use crate::rows::RowShape;
    use crate::stub::{Reply, Stub};

    /// Presses a stub with `operations` by 16 in flight; what was found, and the operations that were completed.
    fn press(operations: u64, timeout_ms: u64, reply: impl Fn(u64) -> Reply + Send + Sync + 'static) -> (Pressed, u64) {
        let stub = Stub::listen(reply);
        let settings = CqlSettings {
            client: Client::Native,
            cluster: ClusterSettings::plain(vec![]),
            keyspace: "hydrotest_stub".into(),
            shape: RowShape {
                columns: 2,
                column_bytes: 30,
            },
            consistency: "ONE".into(),
            write_share: 0.5,
            keys: Distribution::Uniform { min: 0, max: 99 },
            seed: 1,
            operations: Some(operations),
            connections: 1,
            request_timeout_ms: timeout_ms,
            writer: 0,
            pressure: Pressure {
                load: Load::Closed { in_flight: 16 },
                seconds: 5.0,
                give_up_s: None,
                in_flight_max: 1_000,
                threads: 1,
                nice: 0,
            },
        };
        let client = Native::connect_to(&[stub.address], &settings, 0).unwrap();
        let start = monotonic_ns();
        let window = Window::new(start, start + 5_000_000_000, WallOffset::take(), Arc::default());
        let found = client.work(window.clone(), Recorders::new(start));
        (found, window.counts.read().completed)
    }

    fn total(found: &Pressed) -> u64 {
        found.errors.values().sum()
    }

    #[test]
    fn every_operation_is_answered_and_every_row_checked() {
        let (found, completed) = press(2_000, 5_000, |_| Reply::Good);
        assert_eq!(
            (completed, found.writes + found.reads, total(&found)),
            (2_000, 2_000, 0)
        );
        // The stub knows no checksum: none of its rows is one of ours.
        assert_eq!((found.corrupted, found.missing), (found.reads, 0));
        assert_eq!(found.unanswered, 0);
    }

    #[test]
    fn a_row_that_is_not_there_is_missing_and_not_corrupted() {
        let (found, _) = press(200, 5_000, |_| Reply::NoRow);
        assert_eq!((found.corrupted, found.missing), (0, found.reads));
    }

    #[test]
    fn a_forgotten_statement_is_prepared_again_and_nothing_fails() {
        let (found, completed) = press(1_000, 5_000, |number| {
            if number % 100 < 20 {
                Reply::Forgotten
            } else {
                Reply::Good
            }
        });
        assert_eq!((completed, total(&found)), (1_000, 0));
    }

    #[test]
    fn a_refusal_fails_by_its_own_name() {
        let (found, completed) = press(1_000, 5_000, |number| {
            if number % 10 == 0 {
                Reply::Refused(0x1001)
            } else {
                Reply::Good
            }
        });
        assert_eq!(completed + total(&found), 1_000);
        assert!(
            found.errors.keys().all(|name| name.ends_with(" Overloaded")),
            "{:?}",
            found.errors
        );
        assert!(total(&found) >= 90);
    }

    #[test]
    fn a_cut_connection_fails_what_was_out_and_is_replaced() {
        let (found, completed) = press(u64::from(u32::MAX), 5_000, |number| {
            if number == 500 { Reply::Cut } else { Reply::Good }
        });
        assert_eq!(
            found
                .errors
                .keys()
                .filter(|name| name.ends_with("ConnectionLost"))
                .count()
                .min(1),
            1
        );
        assert!(completed > 500, "{completed} were completed");
    }

    #[test]
    fn silence_is_a_timeout_and_a_late_answer_no_second_end() {
        let (found, completed) = press(
            1_000,
            100,
            |number| if number == 50 { Reply::Late } else { Reply::Good },
        );
        assert_eq!((completed, total(&found)), (999, 1));
        assert!(found.errors.keys().all(|name| name.ends_with("ClientTimeout")));
    }
}
