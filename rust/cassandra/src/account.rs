//! What becomes of operations, whichever client carries them: drawn, recorded, counted, and each row read checked.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, Mutex};

use hydrotest_core::draw::{Distribution, Draw};
use hydrotest_core::drive::part;
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::{Channel, lock};
use hydrotest_core::runs::Runs;
use hydrotest_core::trial::Window;

use crate::press::CqlSettings;

/// The recorders of one thread: all operations, and each kind.
#[derive(Clone)]
pub(crate) struct Recorders {
    all: Arc<Mutex<Recorder>>,
    read: Arc<Mutex<Recorder>>,
    write: Arc<Mutex<Recorder>>,
}

impl Recorders {
    pub(crate) fn new(start_ns: u64) -> Self {
        let recorder = || Arc::new(Mutex::new(Recorder::new(start_ns)));
        Self {
            all: recorder(),
            read: recorder(),
            write: recorder(),
        }
    }

    /// What the reporter reads.
    pub(crate) fn channels(&self) -> Vec<Channel> {
        [
            (None, &self.all),
            (Some("read"), &self.read),
            (Some("write"), &self.write),
        ]
        .map(|(op, recorder)| Channel {
            op: op.map(str::to_owned),
            recorder: recorder.clone(),
        })
        .to_vec()
    }
}

/// What one thread found.
#[derive(Default)]
pub(crate) struct Pressed {
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) unanswered: u64,
    pub(crate) completed_late: u64,
    pub(crate) cap_hits: u64,
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) intended_ns: u64,
    /// When it was handed to the client; not yet where it still queues behind our own tasks.
    pub(crate) actual_ns: Option<u64>,
    pub(crate) is_write: bool,
    pub(crate) key: u64,
}

pub(crate) enum Answer {
    Written,
    /// Whether a row was there, and whether it was intact.
    Read {
        found: bool,
        intact: bool,
    },
    /// By the server's own name for it, or ours.
    Failed(String),
}

/// One thread's operations.
pub(crate) struct Account {
    write_share: f64,
    row_bytes: u64,
    /// Written keys are listed only where they come in order: random ones would be no runs, and lie in a range that was
    /// populated, and so listed, before.
    in_order: bool,
    keys: Draw,
    window: Window,
    recorders: Recorders,
    /// The load is over: what ends now counts as late.
    ended: bool,
    pub(crate) found: Pressed,
}

impl Account {
    pub(crate) fn new(settings: &CqlSettings, share: u64, window: Window, recorders: Recorders) -> Self {
        let shares = u64::from(settings.pressure.threads);
        Self {
            write_share: settings.write_share,
            row_bytes: settings.shape.bytes(),
            in_order: matches!(settings.keys, Distribution::Sequential { .. }),
            keys: Draw::new(settings.keys, settings.seed, share, shares)
                .expect("the range was checked with the settings"),
            window,
            recorders,
            ended: false,
            found: Pressed::default(),
        }
    }

    /// Draws the next operation and counts it as started.
    pub(crate) fn draw(&mut self, intended_ns: u64) -> Operation {
        let is_write = self.keys.chance(self.write_share);
        let key = self.keys.number();
        if is_write && self.in_order {
            self.found.attempted.insert(key);
        }
        self.window.counts.started.fetch_add(1, Release);
        Operation {
            intended_ns,
            actual_ns: None,
            is_write,
            key,
        }
    }

    /// An operation has come to its end.
    pub(crate) fn end(&mut self, operation: Operation, answer: Answer, now_ns: u64) {
        let failure = match answer {
            Answer::Written => {
                self.found.writes += 1;
                if self.in_order {
                    self.found.acked.insert(operation.key);
                }
                None
            }
            Answer::Read { found, intact } => {
                self.found.reads += 1;
                self.found.missing += u64::from(!found);
                self.found.corrupted += u64::from(!intact);
                None
            }
            Answer::Failed(name) => Some(format!("{} {name}", if operation.is_write { "write" } else { "read" })),
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

    /// The load is over. Whatever was due and is unanswered counts at its age: a stall at the end is not lost.
    pub(crate) fn load_ended(&mut self, waiting: &[Operation], unstarted_ns: &[u64], now_ns: u64) {
        self.window.load_ended();
        self.ended = true;
        self.found.unanswered = (waiting.len() + unstarted_ns.len()) as u64;
        let now_ns = now_ns.min(self.window.end_ns);
        for operation in waiting {
            self.record(*operation, now_ns);
        }
        for &intended_ns in unstarted_ns {
            lock(&self.recorders.all).record(intended_ns, now_ns, now_ns);
        }
    }

    /// What was found, taken out at the end.
    pub(crate) fn take_found(&mut self) -> Pressed {
        self.found.overflows = lock(&self.recorders.all).overflows();
        std::mem::take(&mut self.found)
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
}

/// Operations that thread `share` may start in all.
pub(crate) fn operations_of(settings: &CqlSettings, share: u64) -> u64 {
    settings
        .operations
        .map_or(u64::MAX, |all| part(all, share, u64::from(settings.pressure.threads)))
}
