//! Coordinated omission, shown: a target that stalls for a tenth of the time, with a known distribution of
//! response times. An open loop must report it; a client that waits with the system does not.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use hydrotest_core::arrival_process::ArrivalProcess;
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::drive::{Limits, Pace, Target, drive};
use hydrotest_core::recorder::{Latencies, Recorder};
use hydrotest_core::schedule::Schedule;

const PERIOD_NS: u64 = 5_000_000_000;
const STALL_NS: u64 = 500_000_000;
/// The stall ends with the period, so that all its victims are answered within the test.
const STALL_FROM_NS: u64 = PERIOD_NS - STALL_NS - 100_000_000;
const RATE_PER_S: f64 = 10_000.0;
/// The open loop's operations are all that are due in one period.
const OPERATIONS: u64 = 50_000;
/// It ends when they are answered, or so long after the expected time.
const SLACK_NS: u64 = 2_000_000_000;

/// Answers at once, except during the stall.
struct Stalling {
    start_ns: u64,
    recorder: Recorder,
    /// Intended and actual start of each operation that waits.
    waiting: VecDeque<(u64, u64)>,
}

/// When an operation that begins at `at_ns` (from the start) is answered.
fn answered_ns(at_ns: u64) -> u64 {
    let within = at_ns % PERIOD_NS;
    if (STALL_FROM_NS..STALL_FROM_NS + STALL_NS).contains(&within) {
        at_ns - within + STALL_FROM_NS + STALL_NS
    } else {
        at_ns
    }
}

impl Stalling {
    fn new(start_ns: u64) -> Self {
        Self {
            start_ns,
            recorder: Recorder::new(start_ns),
            waiting: VecDeque::new(),
        }
    }

    fn answer(&mut self, now_ns: u64) {
        if answered_ns(now_ns - self.start_ns) == now_ns - self.start_ns {
            for (intended_ns, actual_ns) in self.waiting.drain(..) {
                self.recorder.record(intended_ns, actual_ns, now_ns);
            }
        }
    }

    fn latencies(mut self) -> Latencies {
        let mut all = Latencies::default();
        for interval in self.recorder.finish() {
            all.add(&interval.latencies);
        }
        all
    }
}

impl Target for Stalling {
    type Error = Infallible;

    fn start(&mut self, first: u64, count: u64, schedule: Option<&Schedule>, now_ns: u64) -> Result<(), Infallible> {
        for op in first..first + count {
            let intended_ns = schedule.map_or(now_ns, |schedule| schedule.intended_ns(op));
            self.waiting.push_back((intended_ns, now_ns));
        }
        self.answer(now_ns);
        Ok(())
    }

    fn serve(&mut self, until_ns: u64, return_early: bool) -> Result<(), Infallible> {
        loop {
            let now_ns = monotonic_ns();
            self.answer(now_ns);
            if now_ns >= until_ns || (return_early && self.waiting.is_empty()) {
                return Ok(());
            }
            sleep(Duration::from_nanos((until_ns - now_ns).min(100_000)));
        }
    }

    fn in_flight(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn oldest_intended_ns(&self) -> Option<u64> {
        self.waiting.front().map(|(intended_ns, _)| *intended_ns)
    }
}

fn pressed(operations_max: u64, pace: impl FnOnce(u64) -> Pace) -> Latencies {
    // Run one after the other: a client that another test deschedules would measure that.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let start_ns = monotonic_ns();
    let mut target = Stalling::new(start_ns);
    let limits = Limits {
        operations_max,
        ..Limits::until(start_ns + PERIOD_NS + SLACK_NS, 100_000)
    };
    drive(&mut target, pace(start_ns), limits, &AtomicBool::new(false)).unwrap_or_else(|never| match never {});
    target.latencies()
}

#[test]
fn an_open_loop_tells_what_a_stall_costs() {
    let mut truth = Latencies::default().response;
    for op in 0..OPERATIONS {
        let intended_ns = (op as f64 * 1e9 / RATE_PER_S) as u64;
        truth.record((answered_ns(intended_ns) - intended_ns) / 1_000).unwrap();
    }
    // The test's own thread shares its cores: an attempt that did not get them measures that.
    let mut told = Vec::new();
    for _ in 0..3 {
        let found = pressed(OPERATIONS, |start_ns| Pace::Open {
            schedule: Schedule::new(start_ns, ArrivalProcess::Even { rate_per_s: RATE_PER_S }),
            in_flight_max: u64::MAX,
        });
        assert_eq!(found.response.len(), OPERATIONS);
        let worse: Vec<_> = [50.0, 92.0, 95.0, 99.0, 99.9]
            .into_iter()
            .map(|percentile| {
                (
                    percentile,
                    truth.value_at_percentile(percentile) as f64,
                    found.response.value_at_percentile(percentile) as f64,
                )
            })
            .inspect(|(percentile, true_us, found_us)| {
                assert!(
                    *found_us >= true_us * 0.98 - 1_000.0,
                    "p{percentile}: {found_us} µs is better than the truth, {true_us} µs"
                );
            })
            .filter(|(_, true_us, found_us)| *found_us > true_us * 1.02 + 5_000.0)
            .collect();
        if worse.is_empty() {
            return;
        }
        told.push(worse);
    }
    panic!("in each try worse than the truth (percentile, true, found, µs): {told:?}");
}

#[test]
fn a_closed_loop_hides_it() {
    let found = pressed(u64::MAX, |_| Pace::Closed { in_flight: 1 });
    // One operation in many thousands met the stall: p99.9 shows nothing of a tenth of the time.
    assert!(found.response.value_at_percentile(99.9) < 50_000);
    // A client without its core when the stall began met the rest of it.
    assert!(found.response.max() >= STALL_NS / 2_000);
}
