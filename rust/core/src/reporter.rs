//! Turns the counts and records of generator threads into the event stream: a `second` event each second,
//! histogram lines as seconds close. Runs on the node's main thread, off the hot path.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use crate::clock::{WallOffset, monotonic_ns};
use crate::recorder::{Interval, Latencies, Recorder, in_full_bounds};
use crate::threads::{own_threads, threads_of};
use crate::wire::{Counts, Event, ThreadUse, emit};

/// Counters that a generator thread adds to and the reporter reads; relaxed, since each stands alone.
#[derive(Debug, Default)]
pub struct SharedCounts {
    pub started: AtomicU64,
    pub completed: AtomicU64,
    pub failed: AtomicU64,
    pub bytes: AtomicU64,
    pub skipped: AtomicU64,
    pub cap_hits: AtomicU64,
}

/// Attempts at a snapshot. It waits for a generator that goes on between two loads; the second attempt nearly
/// always agrees.
const TRIES: usize = 1_000;

impl SharedCounts {
    /// A snapshot of one moment: no counter behind the number in flight changed meanwhile. Otherwise a
    /// reporter that is held back between two loads counts too many in flight, up to twice the cap. It sees
    /// operations started as replacements, but not yet the completions before them. If the counters never
    /// rest, in flight comes out too high rather than negative.
    pub fn read(&self) -> Counts {
        let ended = || {
            (
                self.completed.load(Ordering::Acquire),
                self.failed.load(Ordering::Acquire),
                self.skipped.load(Ordering::Acquire),
            )
        };
        let mut before = ended();
        let mut started = self.started.load(Ordering::Acquire);
        for _ in 0..TRIES {
            let after = ended();
            if after == before {
                break;
            }
            before = after;
            started = self.started.load(Ordering::Acquire);
        }
        Counts {
            completed: before.0,
            failed: before.1,
            skipped: before.2,
            started,
            bytes: self.bytes.load(Ordering::Relaxed),
            cap_hits: self.cap_hits.load(Ordering::Relaxed),
        }
    }
}

/// Readings of the counters within a second, oldest first.
#[derive(Default)]
struct Progress {
    in_flight: Vec<u64>,
    completed: Vec<u64>,
    failed: Vec<u64>,
    at_s: Vec<f64>,
}

impl Progress {
    fn read(&mut self, counts: &SharedCounts, start_ns: u64) {
        let counts = counts.read();
        let micros = monotonic_ns().saturating_sub(start_ns) / 1_000;
        self.in_flight.push(counts.in_flight());
        self.completed.push(counts.completed);
        self.failed.push(counts.failed);
        self.at_s.push(micros as f64 / 1e6);
    }
}

/// A recorder and its operation (null: all operations of the generator).
#[derive(Clone)]
pub struct Channel {
    pub op: Option<String>,
    pub recorder: Arc<Mutex<Recorder>>,
}

/// A thread of a helper: its own name, and the name under which it is reported.
pub struct Helper {
    pub thread: &'static str,
    pub name: String,
}

/// Threads of other processes that do a generator's work, by the process.
pub type Helpers = Arc<Mutex<BTreeMap<u32, Vec<Helper>>>>;

fn helping_threads(helpers: &Helpers) -> Vec<ThreadUse> {
    let helpers = helpers.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |(pid, threads): (&u32, &Vec<Helper>)| {
        let named = |name: &str| {
            threads
                .iter()
                .find(|one| one.thread == name)
                .map(|one| one.name.clone())
        };
        threads_of(&pid.to_string(), named)
    };
    helpers.iter().flat_map(of).collect()
}

/// Reports one trial.
pub struct Reporter {
    start_ns: u64,
    wall: WallOffset,
    counts: Arc<SharedCounts>,
    helpers: Helpers,
    channels: Vec<Channel>,
    /// Closed seconds per operation, until every thread must have closed them.
    pending: BTreeMap<(Option<String>, u64), Latencies>,
}

/// A closed second is emitted this long after its end, when all threads have handed it over.
const SETTLE_SECONDS: u64 = 10;

impl Reporter {
    /// `start_ns` is second 0 of all `channels`' recorders.
    pub fn new(
        start_ns: u64,
        wall: WallOffset,
        counts: Arc<SharedCounts>,
        helpers: Helpers,
        channels: Vec<Channel>,
    ) -> Self {
        Self {
            start_ns,
            wall,
            counts,
            helpers,
            channels,
            pending: BTreeMap::new(),
        }
    }

    /// Emits `started`, then an event a second until `done` is set or `end_ns` has passed.
    pub fn run(&mut self, end_ns: u64, done: &AtomicBool) {
        emit(&Event::Started {
            wall_s: self.wall.wall_s(self.start_ns),
        });
        let mut second = 0;
        loop {
            let mut progress = Progress::default();
            for tenth in 1..=10u64 {
                let at = self.start_ns + second * 1_000_000_000 + tenth * 100_000_000;
                sleep_until(at.min(end_ns), done);
                progress.read(&self.counts, self.start_ns);
                if monotonic_ns() >= end_ns || done.load(Ordering::Acquire) {
                    break;
                }
            }
            self.report_second(progress);
            second += 1;
            if monotonic_ns() >= end_ns || done.load(Ordering::Acquire) {
                return;
            }
            self.emit_closed(Some(second));
        }
    }

    /// Emits every histogram that is left.
    pub fn finish(&mut self) {
        for channel in self.channels.clone() {
            let rest = lock(&channel.recorder).finish();
            self.collect(channel.op, rest);
        }
        self.emit_closed(None);
    }

    fn report_second(&mut self, progress: Progress) {
        let now = monotonic_ns();
        let counts = self.counts.read();
        let p99_ms = self
            .channels
            .iter()
            .filter_map(|channel| lock(&channel.recorder).recent_p99_ms())
            .reduce(f64::max);
        emit(&Event::Second {
            wall_s: self.wall.wall_s(now),
            counts,
            in_flight: progress.in_flight,
            completed: progress.completed,
            failed: progress.failed,
            at_s: progress.at_s,
            p99_ms,
            threads: own_threads()
                .into_iter()
                .chain(helping_threads(&self.helpers))
                .collect(),
        });
        for channel in self.channels.clone() {
            let closed = lock(&channel.recorder).take_closed();
            self.collect(channel.op, closed);
        }
    }

    fn collect(&mut self, op: Option<String>, intervals: Vec<Interval>) {
        for interval in intervals {
            match self.pending.entry((op.clone(), interval.index)) {
                Entry::Vacant(place) => {
                    place.insert(interval.latencies);
                }
                Entry::Occupied(mut known) => known.get_mut().add(&interval.latencies),
            }
        }
    }

    fn emit_closed(&mut self, now_second: Option<u64>) {
        let ripe: Vec<(Option<String>, u64)> = self
            .pending
            .keys()
            .filter(|(_, index)| now_second.is_none_or(|now| index + SETTLE_SECONDS < now))
            .cloned()
            .collect();
        for key in ripe {
            let Some(latencies) = self.pending.remove(&key) else {
                continue;
            };
            let start_s = self.wall.wall_s(self.start_ns) + key.1 as f64;
            for (which, histogram) in [
                ("response", &latencies.response),
                ("service", &latencies.service),
                ("wait", &latencies.wait),
            ] {
                let line = interval_log_line(histogram, key.0.as_deref(), start_s);
                emit(&Event::Histogram {
                    which: which.into(),
                    op: key.0.clone(),
                    line,
                });
            }
        }
    }
}

/// One line of the HdrHistogram interval log format, version 1.3: optional tag, start and length in
/// seconds, the interval's maximum, the compressed histogram in base64.
fn interval_log_line(histogram: &Histogram<u32>, tag: Option<&str>, start_s: f64) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(&in_full_bounds(histogram), &mut bytes)
        .expect("writing to memory does not fail");
    let body = base64::engine::general_purpose::STANDARD.encode(bytes);
    let tag = tag.map(|tag| format!("Tag={tag},")).unwrap_or_default();
    format!("{tag}{start_s:.3},1.000,{:.3},{body}", histogram.max() as f64 / 1e6)
}

fn sleep_until(at_ns: u64, done: &AtomicBool) {
    loop {
        let now = monotonic_ns();
        if now >= at_ns || done.load(Ordering::Acquire) {
            return;
        }
        std::thread::sleep(Duration::from_nanos((at_ns - now).min(100_000_000)));
    }
}

/// Locks a recorder; a thread that panicked while holding it left plain counters behind, which stay usable.
pub fn lock(recorder: &Mutex<Recorder>) -> std::sync::MutexGuard<'_, Recorder> {
    recorder.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_of_one_moment() {
        const CAP: u64 = 450;
        const SNAPSHOTS: usize = 200_000;
        let (counts, done) = (SharedCounts::default(), AtomicBool::new(false));
        counts.started.store(CAP, Ordering::Release);
        let most = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    // As in a closed loop: answered operations are counted, and as many are started in their
                    // place.
                    counts.completed.fetch_add(CAP, Ordering::Release);
                    counts.started.fetch_add(CAP, Ordering::Release);
                    (0..500).for_each(|_| std::hint::spin_loop());
                }
            });
            let most = (0..SNAPSHOTS)
                .map(|_| counts.read())
                .map(|seen| seen.started - seen.completed)
                .max();
            done.store(true, Ordering::Release);
            most
        });
        assert_eq!(most, Some(CAP));
    }
}
