//! The client with a real driver (`client: driver`): its costs are those of an application's own requests. A
//! runtime, a session, and the tasks that begin, answer and account for operations.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use anyhow::{Result, bail};
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::drive::Pace;
use hydrotest_core::schedule::Schedule;
use hydrotest_core::trial::Window;
use scylla::client::session::Session;
use scylla::statement::Statement;
use scylla::statement::prepared::PreparedStatement;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

use crate::account::{Account, Answer, Findings, Found, Operation, Recorders, operations_of};
use crate::row_values::{READ, WRITE, standard, unchecked_standard};
use crate::rows::{RowShape, is_intact, key_bytes};
use crate::session::{connect, consistency, error_name};
use crate::settings::{Content, CqlSettings};
use crate::timer::Timer;

/// How long to wait for answers after the load has ended.
const DRAIN: Duration = Duration::from_secs(15);

/// One thread's driver: a runtime, a session, prepared statements.
pub(crate) struct DriverClient {
    settings: CqlSettings,
    shape: RowShape,
    share: u64,
    runtime: Runtime,
    session: Arc<Session>,
    insert: PreparedStatement,
    select: PreparedStatement,
}

impl DriverClient {
    pub(crate) fn connect(settings: &CqlSettings, share: u32) -> Result<Self> {
        let Content::Standard { shape, .. } = settings.content else {
            bail!("the driver carries reads and writes of the default table only");
        };
        let statements = settings.statements();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let level = consistency(&settings.consistency)?;
        let timeout = Duration::from_millis(settings.request_timeout_ms);
        let (session, insert, select) = runtime.block_on(async {
            let session = connect(
                &settings.cluster,
                settings.connections,
                timeout,
                level,
                Some(&settings.keyspace),
            )
            .await?;
            let insert = session.prepare(statements[WRITE].cql.clone()).await?;
            let mut select = session.prepare(Statement::new(statements[READ].cql.clone())).await?;
            select.set_use_cached_result_metadata(true);
            anyhow::Ok((session, insert, select))
        })?;
        Ok(Self {
            settings: settings.clone(),
            shape,
            share: u64::from(share),
            runtime,
            session: Arc::new(session),
            insert,
            select,
        })
    }

    pub(crate) fn work(self, window: Window, recorders: Recorders) -> Findings {
        let Self {
            settings,
            shape,
            share,
            runtime,
            session,
            insert,
            select,
        } = self;
        let writer = settings.writer + share as u32;
        let pace = Pace::of(&settings.load, window.start_ns, share);
        let state = Rc::new(Loop {
            session,
            insert,
            select,
            writer,
            operations: operations_of(&settings, share),
            inner: RefCell::new(Inner {
                account: Account::new(
                    &settings,
                    share,
                    window.clone(),
                    recorders,
                    unchecked_standard(settings.filled),
                ),
                in_flight: BTreeMap::new(),
                started: 0,
            }),
            window,
            settings,
            shape,
        });
        LocalSet::new().block_on(&runtime, state.clone().run(pace));
        // Tasks that were never answered still hold the state.
        state.inner.borrow_mut().account.take_found()
    }
}

/// The state that a thread's tasks share; one thread, so no lock.
struct Loop {
    session: Arc<Session>,
    insert: PreparedStatement,
    select: PreparedStatement,
    settings: CqlSettings,
    shape: RowShape,
    window: Window,
    writer: u32,
    operations: u64,
    inner: RefCell<Inner>,
}

struct Inner {
    account: Account,
    in_flight: BTreeMap<u64, Operation>,
    started: u64,
}

impl Loop {
    async fn run(self: Rc<Self>, pace: Pace) {
        let unstarted = match pace {
            Pace::Open {
                schedule,
                in_flight_max,
            } => self.clone().press_open(schedule, in_flight_max).await,
            Pace::Closed { in_flight } => {
                self.clone().press_closed(in_flight).await;
                Vec::new()
            }
        };
        let waiting: Vec<Operation> = self.inner.borrow().in_flight.values().copied().collect();
        self.inner
            .borrow_mut()
            .account
            .load_ended(&waiting, &unstarted, monotonic_ns());
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
        if let (Some(bound), Some(oldest)) = (self.settings.load.give_up_s, oldest)
            && now.saturating_sub(oldest) as f64 > bound * 1e9
        {
            self.inner.borrow_mut().account.found.gave_up = true;
            return true;
        }
        false
    }

    /// Starts operations when due; returns the intended starts of those that were due and never started.
    async fn press_open(self: Rc<Self>, schedule: Schedule, in_flight_max: u64) -> Vec<u64> {
        let timer = Timer::new().expect("the kernel gives a timer");
        while !self.is_over() {
            let now = monotonic_ns();
            let due = schedule.due_by(now);
            let mut started = self.inner.borrow().started;
            let room = in_flight_max.saturating_sub(self.inner.borrow().in_flight.len() as u64);
            if due - started > room {
                self.inner.borrow_mut().account.found.cap_hits += 1;
            }
            for _ in 0..(due - started).min(room) {
                let begun = self.begin(schedule.intended_ns(started));
                tokio::task::spawn_local(self.clone().answer(begun));
                started += 1;
            }
            let wake = schedule
                .intended_ns(started)
                .max(now + self.settings.tick_us * 1_000)
                .min(self.window.end_ns);
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
        // The time limit must hold even without any answers.
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
        let answer = if operation.statement == WRITE {
            self.write(number, operation).await
        } else {
            self.read(operation).await
        };
        self.end(number, answer);
    }

    /// Draws the next operation and notes it as started, now.
    fn begin(&self, intended_ns: u64) -> (u64, Operation) {
        let mut inner = self.inner.borrow_mut();
        let operation = inner.account.draw(intended_ns);
        let number = inner.started;
        inner.started += 1;
        inner.in_flight.insert(number, operation);
        (number, operation)
    }

    async fn write(&self, number: u64, operation: Operation) -> Answer {
        let wall = self.window.wall.wall_ns(operation.intended_ns);
        let mut values: Vec<Vec<u8>> = Vec::with_capacity(self.shape.columns + 1);
        values.push(key_bytes(operation.key).to_vec());
        values.extend(self.shape.build(operation.key, self.writer, number, wall));
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
                Answer::Read(standard(Some(is_intact(&key, columns)), self.settings.filled))
            }
            Ok(None) => Answer::Read(standard(None, self.settings.filled)),
            Err(_) => Answer::Read(Found::Corrupted),
        }
    }

    fn end(&self, number: u64, answer: Answer) {
        let mut inner = self.inner.borrow_mut();
        if let Some(operation) = inner.in_flight.remove(&number) {
            inner.account.end(operation, answer, monotonic_ns());
        }
    }
}
