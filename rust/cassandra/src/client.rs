//! One pressing thread: a runtime, a session, and the tasks that begin, answer and account for operations.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::lock;
use hydrotest_core::runs::Runs;
use hydrotest_core::schedule::Schedule;
use hydrotest_core::trial::Window;
use hydrotest_core::wire::Load;
use scylla::client::session::Session;
use scylla::statement::Statement;
use scylla::statement::prepared::PreparedStatement;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

use crate::keys::{KeySettings, Keys};
use crate::press::CqlSettings;
use crate::rows::{is_intact, key_bytes};
use crate::session::{connect, consistency, error_name};
use crate::timer::Timer;

/// The longest time between two looks at the schedule.
const TICK_NS: u64 = 250_000;
/// How long answers are awaited after the load has ended.
const DRAIN: Duration = Duration::from_secs(15);
/// The recorders of one thread: all operations, and each kind.
pub(crate) struct Recorders {
    pub(crate) all: Arc<Mutex<Recorder>>,
    pub(crate) read: Arc<Mutex<Recorder>>,
    pub(crate) write: Arc<Mutex<Recorder>>,
}

/// What one thread found.
#[derive(Default)]
pub(crate) struct Pressed {
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) unanswered: u64,
    pub(crate) completed_late: u64,
    pub(crate) overflows: u64,
    pub(crate) gave_up: bool,
    pub(crate) missing: u64,
    pub(crate) corrupted: u64,
    pub(crate) writes: u64,
    pub(crate) reads: u64,
    pub(crate) acked: Runs,
    pub(crate) attempted: Runs,
}

/// An operation on its way.
#[derive(Clone, Copy)]
struct Operation {
    intended_ns: u64,
    /// When it was handed to the driver; not yet where it still queues behind our own tasks.
    actual_ns: Option<u64>,
    is_write: bool,
    key: u64,
}

enum Answer {
    Written,
    /// Whether a row was there, and whether it was intact.
    Read {
        found: bool,
        intact: bool,
    },
    Failed(String),
}

/// One thread's client: a runtime, a session, prepared statements.
pub(crate) struct Client {
    settings: CqlSettings,
    share: u64,
    runtime: Runtime,
    session: Arc<Session>,
    insert: PreparedStatement,
    select: PreparedStatement,
}

impl Client {
    pub(crate) fn connect(settings: &CqlSettings, share: u32) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let level = consistency(&settings.consistency)?;
        let timeout = Duration::from_millis(settings.request_timeout_ms);
        let (session, insert, select) = runtime.block_on(async {
            let session = connect(&settings.contact_points, settings.connections, timeout, level).await?;
            let names: Vec<String> = (0..settings.shape.columns)
                .map(|column| format!("\"C{column}\""))
                .collect();
            let marks = vec!["?"; names.len() + 1].join(", ");
            let names = names.join(", ");
            let table = format!("{}.standard1", settings.keyspace);
            let insert = session
                .prepare(format!("INSERT INTO {table} (key, {names}) VALUES ({marks})"))
                .await?;
            let mut select = session
                .prepare(Statement::new(format!("SELECT {names} FROM {table} WHERE key = ?")))
                .await?;
            select.set_use_cached_result_metadata(true);
            anyhow::Ok((session, insert, select))
        })?;
        Ok(Self {
            settings: settings.clone(),
            share: u64::from(share),
            runtime,
            session: Arc::new(session),
            insert,
            select,
        })
    }

    pub(crate) fn work(self, window: Window, recorders: Recorders) -> Pressed {
        let Self {
            settings,
            share,
            runtime,
            session,
            insert,
            select,
        } = self;
        let shares = u64::from(settings.pressure.threads);
        let keys =
            Keys::new(settings.keys, settings.seed, share, shares).expect("the range was checked with the settings");
        let operations = settings
            .operations
            .map_or(u64::MAX, |all| all / shares + u64::from(share < all % shares));
        let writer = settings.writer + share as u32;
        let state = Rc::new(Loop {
            session,
            insert,
            select,
            window,
            recorders,
            writer,
            operations,
            inner: RefCell::new(Inner {
                keys,
                in_flight: BTreeMap::new(),
                started: 0,
                ended: false,
                found: Pressed::default(),
            }),
            settings,
        });
        LocalSet::new().block_on(&runtime, state.clone().run(share, shares));
        let mut inner = state.inner.borrow_mut();
        let mut found = std::mem::take(&mut inner.found);
        found.overflows = lock(&state.recorders.all).overflows();
        found
    }
}

/// The state that a thread's tasks share; one thread, so no lock.
struct Loop {
    session: Arc<Session>,
    insert: PreparedStatement,
    select: PreparedStatement,
    settings: CqlSettings,
    window: Window,
    recorders: Recorders,
    writer: u32,
    operations: u64,
    inner: RefCell<Inner>,
}

struct Inner {
    keys: Keys,
    in_flight: BTreeMap<u64, Operation>,
    started: u64,
    /// The load is over: what ends now counts as late.
    ended: bool,
    found: Pressed,
}

impl Loop {
    async fn run(self: Rc<Self>, share: u64, shares: u64) {
        // Second 0 lies a little ahead, so that all threads begin together.
        tokio::time::sleep(Duration::from_nanos(
            self.window.start_ns.saturating_sub(monotonic_ns()),
        ))
        .await;
        let unstarted = match self.settings.pressure.load {
            Load::Open { rate_per_s } => {
                let schedule = Schedule::new(self.window.start_ns, rate_per_s).split(share, shares);
                self.clone().press_open(schedule).await
            }
            Load::Closed { in_flight } => {
                self.clone()
                    .press_closed((in_flight / shares + u64::from(share < in_flight % shares)).max(1))
                    .await;
                Vec::new()
            }
        };
        self.window.load_ended();
        self.age_unanswered(&unstarted);
        let give_up = tokio::time::Instant::now() + DRAIN;
        while !self.inner.borrow().in_flight.is_empty() && tokio::time::Instant::now() < give_up {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn is_over(&self) -> bool {
        let now = monotonic_ns();
        if now >= self.window.end_ns || self.window.stop.load(Relaxed) || self.inner.borrow().started >= self.operations
        {
            return true;
        }
        let oldest = self
            .inner
            .borrow()
            .in_flight
            .first_key_value()
            .map(|(_, operation)| operation.intended_ns);
        if let (Some(bound), Some(oldest)) = (self.settings.pressure.give_up_s, oldest)
            && now.saturating_sub(oldest) as f64 > bound * 1e9
        {
            self.inner.borrow_mut().found.gave_up = true;
            return true;
        }
        false
    }

    /// Starts operations when due; returns the intended starts of those that were due and never started.
    async fn press_open(self: Rc<Self>, schedule: Schedule) -> Vec<u64> {
        let timer = Timer::new().expect("the kernel gives a timer");
        while !self.is_over() {
            let now = monotonic_ns();
            let due = schedule.due_by(now);
            let mut started = self.inner.borrow().started;
            let room = self
                .settings
                .pressure
                .in_flight_max
                .saturating_sub(self.inner.borrow().in_flight.len() as u64);
            if due - started > room {
                self.window.counts.cap_hits.fetch_add(1, Relaxed);
            }
            for _ in 0..(due - started).min(room) {
                let begun = self.begin(schedule.intended_ns(started));
                tokio::task::spawn_local(self.clone().answer(begun));
                started += 1;
            }
            let wake = schedule.intended_ns(started).max(now + TICK_NS).min(self.window.end_ns);
            timer.until(wake).await.expect("a timer can be awaited");
        }
        let started = self.inner.borrow().started;
        let due = schedule
            .due_by(monotonic_ns().min(self.window.end_ns))
            .min(self.operations);
        (started..due).map(|n| schedule.intended_ns(n)).collect()
    }

    async fn press_closed(self: Rc<Self>, in_flight: u64) {
        let workers: Vec<_> = (0..in_flight)
            .map(|_| {
                let state = self.clone();
                tokio::task::spawn_local(async move {
                    while !state.is_over() {
                        let begun = state.begin(monotonic_ns());
                        state.clone().answer(begun).await;
                    }
                })
            })
            .collect();
        // The time limit must hold even when nothing answers.
        let left = Duration::from_nanos(self.window.end_ns.saturating_sub(monotonic_ns()));
        let all = async {
            for worker in workers {
                worker.await.expect("a worker returns its failures");
            }
        };
        tokio::select! {
            () = all => {}
            () = tokio::time::sleep(left) => {}
        }
    }

    /// Sends a begun operation, awaits its answer and accounts for it.
    async fn answer(self: Rc<Self>, (number, operation): (u64, Operation)) {
        // Only now is it handed over: time spent queued behind our own tasks is wait, not service.
        if let Some(waiting) = self.inner.borrow_mut().in_flight.get_mut(&number) {
            waiting.actual_ns = Some(monotonic_ns());
        }
        let answer = if operation.is_write {
            self.write(number, operation).await
        } else {
            self.read(operation).await
        };
        self.end(number, answer);
    }

    /// Draws the next operation and notes it as started, now.
    fn begin(&self, intended_ns: u64) -> (u64, Operation) {
        let mut inner = self.inner.borrow_mut();
        let is_write = inner.keys.chance(self.settings.write_share);
        let operation = Operation {
            intended_ns,
            actual_ns: None,
            is_write,
            key: inner.keys.draw(),
        };
        let number = inner.started;
        inner.started += 1;
        inner.in_flight.insert(number, operation);
        if is_write && self.is_in_order() {
            inner.found.attempted.insert(operation.key);
        }
        self.window.counts.started.fetch_add(1, Release);
        (number, operation)
    }

    /// Written keys are listed only where they come in order: random ones would be no runs, and lie in
    /// a range that was populated, and so listed, before.
    fn is_in_order(&self) -> bool {
        matches!(self.settings.keys, KeySettings::Sequential { .. })
    }

    async fn write(&self, number: u64, operation: Operation) -> Answer {
        let wall = self.window.wall.wall_ns(operation.intended_ns);
        let mut values: Vec<Vec<u8>> = Vec::with_capacity(self.settings.shape.columns + 1);
        values.push(key_bytes(operation.key).to_vec());
        values.extend(self.settings.shape.build(operation.key, self.writer, number, wall));
        match self.session.execute_unpaged(&self.insert, values).await {
            Ok(_) => Answer::Written,
            Err(error) => Answer::Failed(error_name(&error)),
        }
    }

    async fn read(&self, operation: Operation) -> Answer {
        let key = key_bytes(operation.key);
        let rows = match self.session.execute_unpaged(&self.select, (&key[..],)).await {
            Ok(result) => result.into_rows_result(),
            Err(error) => return Answer::Failed(error_name(&error)),
        };
        let Ok(rows) = rows else {
            return Answer::Failed("NoRowsInAnswer".into());
        };
        match rows.maybe_first_row::<scylla::value::Row>() {
            Ok(Some(row)) => {
                let columns = row.columns.iter().map(|cell| {
                    cell.as_ref()
                        .and_then(|value| value.as_blob())
                        .map_or(&[][..], Vec::as_slice)
                });
                Answer::Read {
                    found: true,
                    intact: is_intact(&key, columns),
                }
            }
            Ok(None) => Answer::Read {
                found: false,
                intact: true,
            },
            Err(_) => Answer::Read {
                found: true,
                intact: false,
            },
        }
    }

    fn end(&self, number: u64, answer: Answer) {
        let now = monotonic_ns();
        let mut inner = self.inner.borrow_mut();
        let Some(operation) = inner.in_flight.remove(&number) else {
            return;
        };
        let late = inner.ended;
        let failure = match answer {
            Answer::Written => {
                inner.found.writes += 1;
                if self.is_in_order() {
                    inner.found.acked.insert(operation.key);
                }
                None
            }
            Answer::Read { found, intact } => {
                inner.found.reads += 1;
                inner.found.missing += u64::from(!found);
                inner.found.corrupted += u64::from(!intact);
                None
            }
            Answer::Failed(name) => Some(format!("{} {name}", if operation.is_write { "write" } else { "read" })),
        };
        let failed = failure.is_some();
        if let Some(name) = failure {
            *inner.found.errors.entry(name).or_default() += 1;
        }
        if late {
            inner.found.completed_late += u64::from(!failed);
            return;
        }
        drop(inner);
        self.record(operation, now);
        let counts = &self.window.counts;
        if failed {
            counts.failed.fetch_add(1, Release);
        } else {
            counts.bytes.fetch_add(self.settings.shape.bytes(), Relaxed);
            counts.completed.fetch_add(1, Release);
        }
    }

    fn record(&self, operation: Operation, now_ns: u64) {
        let of_kind = if operation.is_write {
            &self.recorders.write
        } else {
            &self.recorders.read
        };
        for recorder in [&self.recorders.all, of_kind] {
            lock(recorder).record(operation.intended_ns, operation.actual_ns.unwrap_or(now_ns), now_ns);
        }
    }

    /// Whatever was due and is unanswered counts at its age: a stall at the end is not lost.
    fn age_unanswered(&self, unstarted_ns: &[u64]) {
        let now = monotonic_ns().min(self.window.end_ns);
        let mut inner = self.inner.borrow_mut();
        inner.ended = true;
        inner.found.unanswered = inner.in_flight.len() as u64 + unstarted_ns.len() as u64;
        let waiting: Vec<Operation> = inner.in_flight.values().copied().collect();
        drop(inner);
        for operation in waiting {
            self.record(operation, now);
        }
        for &intended_ns in unstarted_ns {
            lock(&self.recorders.all).record(intended_ns, now, now);
        }
    }
}
