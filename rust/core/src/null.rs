//! The null target: ends every operation at once. It shows how many operations a second the schedule and the
//! recorder alone can carry: the generator's own ceiling.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use crate::arrival_process::ArrivalProcess;
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::drive::{Limits, Pace, Target, drive};
use crate::recorder::Recorder;
use crate::schedule::Schedule;

/// Ends operations at once, recording them as a real target would.
pub struct NullTarget {
    recorder: Recorder,
}

impl Target for NullTarget {
    type Error = Infallible;

    fn start(&mut self, first: u64, count: u64, schedule: Option<&Schedule>, now_ns: u64) -> Result<(), Infallible> {
        for n in first..first + count {
            let intended = schedule.map_or(now_ns, |schedule| schedule.intended_ns(n));
            self.recorder.record(intended, now_ns, now_ns);
        }
        Ok(())
    }

    fn serve(&mut self, until_ns: u64, return_early: bool) -> Result<(), Infallible> {
        let now = monotonic_ns();
        if !return_early && until_ns > now {
            std::thread::sleep(std::time::Duration::from_nanos(until_ns - now));
        }
        Ok(())
    }

    fn in_flight(&self) -> u64 {
        0
    }

    fn oldest_intended_ns(&self) -> Option<u64> {
        None
    }
}

/// Operations scheduled and recorded per CPU-second of one thread, measured for `seconds` with a
/// schedule that is faster than any thread can follow.
pub fn ceiling_per_core_s(seconds: f64) -> f64 {
    let start = monotonic_ns();
    let mut target = NullTarget {
        recorder: Recorder::new(start),
    };
    let limits = Limits::until(start + (seconds * 1e9) as u64, 0);
    let cpu_before = thread_cpu_ns();
    // 256 at a time: about the number that one check of the schedule finds due at a million a second.
    let pace = Pace::Open {
        schedule: Schedule::new(start, ArrivalProcess::Even { rate_per_s: 1e9 }),
        in_flight_max: 256,
    };
    let driven = match drive(&mut target, pace, limits, &AtomicBool::new(false)) {
        Ok(driven) => driven,
        Err(never) => match never {},
    };
    driven.started as f64 * 1e9 / (thread_cpu_ns() - cpu_before) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_can_be_held_is_held_exactly() {
        let start = monotonic_ns();
        let mut target = NullTarget {
            recorder: Recorder::new(start),
        };
        let limits = Limits::until(start + 200_000_000, 200_000);
        let pace = Pace::Open {
            schedule: Schedule::new(start, ArrivalProcess::Even { rate_per_s: 10_000.0 }),
            in_flight_max: 1_000_000,
        };
        let driven = drive(&mut target, pace, limits, &AtomicBool::new(false)).unwrap();
        // Every operation due by the last check was started: none skipped, none doubled.
        assert!(driven.started + driven.unstarted >= 2_000, "{driven:?}");
        assert_eq!(driven.cap_hits, 0);
    }

    #[test]
    fn a_number_of_operations_is_not_passed() {
        let start = monotonic_ns();
        let mut target = NullTarget {
            recorder: Recorder::new(start),
        };
        let limits = Limits {
            operations_max: 1_000,
            ..Limits::until(start + 10_000_000_000, 0)
        };
        let driven = drive(
            &mut target,
            Pace::Closed { in_flight: 64 },
            limits,
            &AtomicBool::new(false),
        )
        .unwrap();
        assert_eq!((driven.started, driven.unstarted), (1_000, 0));
    }

    #[test]
    fn a_cap_that_is_hit_is_counted() {
        let start = monotonic_ns();
        let mut target = NullTarget {
            recorder: Recorder::new(start),
        };
        let limits = Limits::until(start + 20_000_000, 0);
        let pace = Pace::Open {
            schedule: Schedule::new(start, ArrivalProcess::Even { rate_per_s: 1e9 }),
            in_flight_max: 10,
        };
        let driven = drive(&mut target, pace, limits, &AtomicBool::new(false)).unwrap();
        assert!(driven.cap_hits > 0 && driven.unstarted > 0);
    }
}
