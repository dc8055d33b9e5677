//! The account of operations, whichever client runs them: drawn, recorded, counted; each row read is checked.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, Mutex};

use hydrotest_core::draw::{Distribution, Draw};
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::{Channel, lock};
use hydrotest_core::runs::Runs;
use hydrotest_core::schedule::share_of;
use hydrotest_core::trial::Window;

use crate::answer_sample::AnswerSample;
use crate::checks::Reason;
use crate::recall::Untold;
use crate::settings::{Content, CqlSettings, Group, Statement};
use crate::unchecked::{Unchecked, What};

/// The recorders of one thread: all operations, and those of each statement.
#[derive(Clone)]
pub(crate) struct Recorders {
    all: Arc<Mutex<Recorder>>,
    by_statement: Vec<(String, Arc<Mutex<Recorder>>)>,
}

impl Recorders {
    pub(crate) fn new(start_ns: u64, statements: &[Statement]) -> Self {
        let recorder = || Arc::new(Mutex::new(Recorder::new(start_ns)));
        Self {
            all: recorder(),
            by_statement: statements.iter().map(|one| (one.name.clone(), recorder())).collect(),
        }
    }

    /// The channels for the reporter.
    pub(crate) fn channels(&self) -> Vec<Channel> {
        let channel = |op: Option<&String>, recorder: &Arc<Mutex<Recorder>>| Channel {
            op: op.cloned(),
            recorder: recorder.clone(),
        };
        let each = self
            .by_statement
            .iter()
            .map(|(name, recorder)| channel(Some(name), recorder));
        std::iter::once(channel(None, &self.all)).chain(each).collect()
    }
}

/// The findings of one thread.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) unanswered: u64,
    pub(crate) completed_late: u64,
    pub(crate) cap_hits: u64,
    pub(crate) overflows: u64,
    pub(crate) gave_up: bool,
    /// The kernel said when answers came.
    pub(crate) is_stamped: bool,
    pub(crate) missing: u64,
    pub(crate) corrupted: u64,
    /// Pages of reads beyond the first of each.
    pub(crate) further_pages: u64,
    /// Reads of which some part was checked.
    pub(crate) checked: u64,
    /// Operations with a good answer, by the index of their statement.
    pub(crate) answered: Vec<u64>,
    /// Writes among these whose condition did not hold.
    pub(crate) not_applied: Vec<u64>,
    /// Reads of which some part was not checked.
    pub(crate) unchecked: Vec<Unchecked>,
    /// Samples of answers, for their recall, and the statements without one.
    pub(crate) samples: Vec<AnswerSample>,
    pub(crate) untold: Vec<Untold>,
    pub(crate) acked: Runs,
    pub(crate) attempted: Runs,
}

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) intended_ns: u64,
    /// When it was handed to the client; None while it still queues behind our own tasks.
    pub(crate) actual_ns: Option<u64>,
    /// Index of its statement.
    pub(crate) statement: usize,
    /// The number of its row.
    pub(crate) key: u64,
}

pub(crate) enum Answer {
    Written,
    /// The condition of a write did not hold.
    NotApplied,
    Read(Found),
    /// The server's own name for the error, or ours.
    Failed(String),
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Intact,
    Corrupted,
    /// No row, where one must exist.
    Missing,
    /// No row, where none may exist.
    Absent,
    /// More rows than the one that could be checked.
    SeveralRows,
    /// The row cannot be checked.
    Unchecked,
}

/// Counts of one statement's reads.
#[derive(Clone, Copy, Default)]
struct Uncounted {
    absent: u64,
    several: u64,
}

/// One thread's operations.
pub(crate) struct Account {
    statements: Vec<Statement>,
    row_bytes: u64,
    /// Written keys are listed only where they come in order: random ones would not be runs. They are in a
    /// range that was populated, and so listed, before.
    in_order: bool,
    /// The rows that operations write, by statement.
    groups: Vec<Group>,
    keys: Draw,
    window: Window,
    recorders: Recorders,
    /// The load is over: operations that end from now on count as late.
    ended: bool,
    /// Unchecked reads, by the index of the statement.
    uncounted: Vec<Uncounted>,
    pub(crate) found: Findings,
}

impl Account {
    /// `unchecked` lists the parts of the statements' reads that are not checked.
    pub(crate) fn new(
        settings: &CqlSettings,
        share: u64,
        window: Window,
        recorders: Recorders,
        unchecked: Vec<Unchecked>,
    ) -> Self {
        let statements = settings.statements();
        let shares = u64::from(settings.load.shares);
        Self {
            row_bytes: match &settings.content {
                Content::Standard { shape, .. } => shape.bytes(),
                // The size of a user-defined row depends on the values drawn.
                Content::Own { .. } => 0,
            },
            groups: statements
                .iter()
                .map(|one| Group::of(one.rows, &settings.keys))
                .collect(),
            in_order: matches!(settings.keys, Distribution::Sequential { .. }),
            keys: Draw::new(settings.keys.clone(), settings.seed, share, shares)
                .expect("the range was checked with the settings"),
            window,
            recorders,
            ended: false,
            uncounted: vec![Uncounted::default(); statements.len()],
            found: Findings {
                answered: vec![0; statements.len()],
                not_applied: vec![0; statements.len()],
                unchecked,
                ..Findings::default()
            },
            statements,
        }
    }

    /// The index of a statement, drawn by the shares.
    fn statement(&mut self) -> usize {
        let drawn = self.keys.fraction();
        let mut sum = 0.0;
        let shares = self.statements.iter().map(|statement| {
            sum += statement.share;
            sum
        });
        let last = self.statements.len() - 1;
        shares.take(last).position(|sum| drawn < sum).unwrap_or(last)
    }

    /// Draws the next operation and counts it as started.
    pub(crate) fn draw(&mut self, intended_ns: u64) -> Operation {
        let statement = self.statement();
        let key = self.keys.number();
        if self.in_order && self.statements[statement].makes_rows {
            let group = self.groups[statement];
            group.rows_of(key).for_each(|row| {
                self.found.attempted.insert(row);
            });
        }
        self.window.counts.started.fetch_add(1, Release);
        Operation {
            intended_ns,
            actual_ns: None,
            statement,
            key,
        }
    }

    /// An operation has ended.
    pub(crate) fn end(&mut self, operation: Operation, answer: Answer, now_ns: u64) {
        let statement = &self.statements[operation.statement];
        let failure = match answer {
            Answer::Written => {
                self.found.answered[operation.statement] += 1;
                if self.in_order && statement.makes_rows {
                    let group = self.groups[operation.statement];
                    group.rows_of(operation.key).for_each(|row| {
                        self.found.acked.insert(row);
                    });
                }
                None
            }
            Answer::NotApplied => {
                self.found.answered[operation.statement] += 1;
                self.found.not_applied[operation.statement] += 1;
                None
            }
            Answer::Read(found) => {
                self.found.answered[operation.statement] += 1;
                self.count(operation.statement, found);
                None
            }
            Answer::Failed(name) => Some(format!("{} {name}", statement.name)),
        };
        let failed = failure.is_some();
        if let Some(name) = failure {
            *self.found.errors.entry(name).or_default() += 1;
        }
        if self.ended {
            self.found.completed_late += u64::from(!failed);
            return;
        }
        self.record(operation, now_ns);
        let counts = &self.window.counts;
        if failed {
            counts.failed.fetch_add(1, Release);
        } else {
            counts.bytes.fetch_add(self.row_bytes, Relaxed);
            counts.completed.fetch_add(1, Release);
        }
    }

    fn count(&mut self, statement: usize, found: Found) {
        self.found.checked += u64::from(matches!(found, Found::Intact | Found::Corrupted | Found::Missing));
        self.found.corrupted += u64::from(found == Found::Corrupted);
        self.found.missing += u64::from(found == Found::Missing);
        let counts = &mut self.uncounted[statement];
        counts.absent += u64::from(found == Found::Absent);
        counts.several += u64::from(found == Found::SeveralRows);
    }

    /// The load is over. Operations that are due and unanswered count with their age: a stall at the end is
    /// not lost.
    pub(crate) fn load_ended(&mut self, waiting: &[Operation], unstarted_ns: &[u64], now_ns: u64) {
        self.window.load_ended();
        self.ended = true;
        self.found.unanswered = (waiting.len() + unstarted_ns.len()) as u64;
        let now_ns = now_ns.min(self.window.end_ns);
        for operation in waiting {
            self.record(*operation, now_ns);
        }
        for &intended_ns in unstarted_ns {
            // Attributed to a statement drawn by the shares, so that the statements' histograms add up to the
            // total.
            let operation = Operation {
                intended_ns,
                actual_ns: None,
                statement: self.statement(),
                key: 0,
            };
            self.record(operation, now_ns);
        }
    }

    /// The findings, taken at the end.
    pub(crate) fn take_found(&mut self) -> Findings {
        self.found.overflows = lock(&self.recorders.all).overflows();
        let mut found = std::mem::take(&mut self.found);
        for (at, (statement, counts)) in self.statements.iter().zip(&self.uncounted).enumerate() {
            for one in found.unchecked.iter_mut().filter(|one| one.statement == statement.name) {
                one.reads = found.answered[at];
                if one.what == What::Presence && one.columns.is_empty() {
                    one.absent = counts.absent;
                }
            }
            if counts.several > 0 {
                let mut several = Unchecked::new(&statement.name, What::Read, Reason::SeveralRows, Vec::new());
                several.reads = counts.several;
                found.unchecked.push(several);
            }
        }
        found
    }

    fn record(&self, operation: Operation, now_ns: u64) {
        for recorder in [&self.recorders.all, &self.recorders.by_statement[operation.statement].1] {
            lock(recorder).record(operation.intended_ns, operation.actual_ns.unwrap_or(now_ns), now_ns);
        }
    }
}

/// Operations that thread `share` may start in all.
pub(crate) fn operations_of(settings: &CqlSettings, share: u64) -> u64 {
    settings
        .operations
        .map_or(u64::MAX, |all| share_of(all, share, u64::from(settings.load.shares)))
}
