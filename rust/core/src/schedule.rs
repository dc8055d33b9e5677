//! The schedule of intended start times. It is fixed before the first operation and never moves: operation `n` is due
//! at `start + process(n)`, however late the system or the generator is.
//!
//! Source of the rule: G. Tene, "How NOT to measure latency" (coordinated omission); the form
//! `base + n·interval` is cql-stress's.

use crate::arrival_process::ArrivalProcess;

/// A schedule, optionally one of several interleaved shares of it.
#[derive(Clone, Debug)]
pub struct Schedule {
    start_ns: u64,
    process: ArrivalProcess,
    /// This share holds operations `share, share + shares, share + 2·shares, …` of the complete schedule.
    share: u64,
    shares: u64,
}

impl Schedule {
    /// A schedule of `process` beginning at `start_ns` (monotonic).
    pub fn new(start_ns: u64, process: ArrivalProcess) -> Self {
        Self {
            start_ns,
            process,
            share: 0,
            shares: 1,
        }
    }

    /// Share `share` of `shares` of this schedule, for one of several threads: their union is the complete
    /// schedule.
    pub fn split(self, share: u64, shares: u64) -> Self {
        assert!(shares > 0 && share < shares);
        Self { share, shares, ..self }
    }

    /// Intended start of this share's `n`-th operation, in monotonic nanoseconds; `u64::MAX` if it is never due.
    pub fn intended_ns(&self, n: u64) -> u64 {
        self.start_ns
            .saturating_add(self.process.offset_ns(n * self.shares + self.share))
    }

    /// The number of this share's operations due at or before `now_ns`.
    pub fn due_by(&self, now_ns: u64) -> u64 {
        match now_ns.checked_sub(self.start_ns) {
            Some(offset_ns) => share_of(self.process.due_by(offset_ns), self.share, self.shares),
            None => 0,
        }
    }
}

/// One part of a whole number: all parts add up to that number.
pub fn share_of(whole: u64, share: u64, shares: u64) -> u64 {
    whole / shares + u64::from(share < whole % shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival_process::Arrivals;
    use proptest::prelude::*;

    fn even(rate_per_s: f64) -> ArrivalProcess {
        ArrivalProcess::steady(rate_per_s, Arrivals::Even, 1.0)
    }

    proptest! {
        /// `due_by` and `intended_ns` are inverse: the intended time of a due operation has come, that of the
        /// next has not.
        #[test]
        fn due_agrees_with_intended(rate in 0.5f64..5e6, at in 0u64..600_000_000_000, share in 0u64..4, extra in 0u64..4) {
            let schedule = Schedule::new(1_000, even(rate)).split(share, share + 1 + extra);
            let due = schedule.due_by(1_000 + at);
            prop_assert!(due == 0 || schedule.intended_ns(due - 1) <= 1_000 + at);
            prop_assert!(schedule.intended_ns(due) > 1_000 + at);
        }

        /// The shares of a schedule together hold exactly the operations of the complete schedule.
        #[test]
        fn shares_add_up(rate in 1.0f64..1e6, at in 0u64..10_000_000_000, shares in 1u64..9, which in 0usize..3) {
            let arrivals = [Arrivals::Even, Arrivals::Poisson { seed: 1 }, Arrivals::Bursts { size: 7 }][which];
            let whole = Schedule::new(5, ArrivalProcess::steady(rate, arrivals, 2.0));
            let sum: u64 = (0..shares).map(|i| whole.clone().split(i, shares).due_by(5 + at)).sum();
            prop_assert_eq!(sum, whole.due_by(5 + at));
        }
    }

    #[test]
    fn nothing_is_due_before_the_start() {
        assert_eq!(Schedule::new(1_000, even(10.0)).due_by(999), 0);
        assert_eq!(Schedule::new(1_000, even(10.0)).due_by(1_000), 1);
    }
}
