//! When the thread wakes: to send what is due, for answers, or for both at once. A wake-up costs more than all else that an
//! operation takes, so as many as may share one.

use std::time::Duration;

use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::schedule::Schedule;
use hydrotest_core::wire::{LoadModel, LoadSettings};

use crate::settings::CqlSettings;

/// From this tick on, the thread sleeps from tick to tick, rather than wake for each answer, also where the kernel does not
/// say when they came.
const SLEEPS_FROM_NS: u64 = 1_000_000;
/// Where it does, the thread sleeps until it sends next, or so long: operations time out, and connections are lost.
const SLEEP_NS_MAX: u64 = 5_000_000;
/// Up to this rate of a thread its answers are read one by one, each with its time. Beyond it one wake-up is for many; and more
/// of them come between two sends, of which the kernel merges some, with the time of the last: at 20,000/s the median of response
/// times is 40 µs longer than with a wake-up for each, at 5,000/s it is the same.
const LEAN_RATE_MAX: f64 = 5_000.0;

/// How long a thread may sleep, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sleep {
    /// Answers have the time at which they came, however late they are looked at.
    Stamped(u64),
    /// Answers have the time at which they are looked at.
    Unstamped(u64),
}

/// Sleeps until `until_ns`, or so long.
pub(super) fn nap(until_ns: u64, most_ns: u64) {
    let left_ns = until_ns.saturating_sub(monotonic_ns());
    std::thread::sleep(Duration::from_nanos(left_ns.min(most_ns)));
}

/// What a thread wakes for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waking {
    tick_ns: u64,
    /// Answers may be taken later than they come, where the kernel says when that was.
    pub(super) is_lean: bool,
}

impl Waking {
    pub(super) fn of(settings: &CqlSettings) -> Self {
        Self {
            tick_ns: settings.tick_us * 1_000,
            is_lean: settings.page_rows.is_none() && !settings.each_answer && is_slow(&settings.load),
        }
    }

    /// Whether the thread may sleep with operations in flight; None: it wakes for each answer. Where pages follow one another, an
    /// answer is what the next request waits for. `is_stamped`: the kernel says when answers came.
    pub(super) fn sleeps(self, is_stamped: bool) -> Option<Sleep> {
        if self.is_lean && is_stamped {
            return Some(Sleep::Stamped(SLEEP_NS_MAX));
        }
        (self.tick_ns >= SLEEPS_FROM_NS).then_some(Sleep::Unstamped(self.tick_ns))
    }

    /// When operation `first` goes: with the last one that is due within a tick of it, so that none goes later than a tick,
    /// and none waits for nothing.
    pub(super) fn goes_ns(self, schedule: &Schedule, first: u64) -> u64 {
        match schedule.intended_ns(first) {
            u64::MAX => u64::MAX,
            due_ns => schedule.intended_ns(schedule.due_by(due_ns + self.tick_ns) - 1),
        }
    }
}

/// Whether a thread starts so few operations that their answers may be read one by one.
fn is_slow(load: &LoadSettings) -> bool {
    match &load.model {
        LoadModel::Open { rate_per_s, .. } => rate_per_s / f64::from(load.shares) <= LEAN_RATE_MAX,
        LoadModel::Profile { stretches } => stretches
            .iter()
            .all(|one| one.from_per_s.max(one.to_per_s) / f64::from(load.shares) <= LEAN_RATE_MAX),
        LoadModel::Closed { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use hydrotest_core::arrival_process::{ArrivalProcess, Arrivals, Stretch};

    use super::*;

    const TICK_NS: u64 = 250_000;
    const WAKING: Waking = Waking {
        tick_ns: TICK_NS,
        is_lean: true,
    };

    fn schedule(rate_per_s: f64, arrivals: Arrivals) -> Schedule {
        Schedule::new(1_000, ArrivalProcess::steady(rate_per_s, arrivals, 1.0))
    }

    /// Wake-ups for so many operations, by the rule of the drive loop, and how late the latest of them goes.
    fn wake_ups(schedule: &Schedule, operations: u64) -> (u64, u64) {
        let (mut started, mut wake_ups, mut latest, mut now) = (0, 0, 0, 0);
        while started < operations {
            now = WAKING.goes_ns(schedule, started).max(now + TICK_NS);
            let due = schedule.due_by(now);
            if due > started {
                latest = latest.max(now - schedule.intended_ns(started));
            }
            (started, wake_ups) = (due, wake_ups + 1);
        }
        (wake_ups, latest)
    }

    #[test]
    fn operations_within_a_tick_share_a_wake_up_and_none_is_later_than_that() {
        for arrivals in [Arrivals::Even, Arrivals::Poisson { seed: 7 }] {
            let (wake_ups, latest) = wake_ups(&schedule(5_000.0, arrivals), 5_000);
            assert!(wake_ups <= 2_600, "{wake_ups} wake-ups with {arrivals:?}");
            assert!(latest <= TICK_NS, "late by {latest} ns with {arrivals:?}");
        }
    }

    #[test]
    fn an_operation_alone_waits_for_none() {
        let slow = schedule(1_000.0, Arrivals::Even);
        assert!((0..1_000).all(|number| WAKING.goes_ns(&slow, number) == slow.intended_ns(number)));
    }

    #[test]
    fn after_a_profile_nothing_goes() {
        let ended = Schedule::new(
            0,
            ArrivalProcess::profile(&[Stretch {
                seconds: 0.001,
                from_per_s: 10_000.0,
                to_per_s: 10_000.0,
            }]),
        );
        assert_eq!(WAKING.goes_ns(&ended, ended.due_by(1_000_000_000)), u64::MAX);
    }
}
