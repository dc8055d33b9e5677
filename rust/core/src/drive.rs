//! The drive loop: starts operations when they are due, whatever the target does, and gives the target the
//! time in between. One thread. The loop itself neither allocates nor locks, but its target does: a wait
//! lists the sockets anew (`socket::wait`), and ended operations are recorded under the recorder's lock. Only
//! the reporter also takes that lock, once a second.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::arrival_process::ArrivalProcess;
use crate::clock::monotonic_ns;
use crate::schedule::{Schedule, share_of};
use crate::wire::{LoadModel, LoadSettings};

/// How operations are started.
#[derive(Clone, Debug)]
pub enum Pace {
    /// Open loop: by schedule.
    Open { schedule: Schedule, in_flight_max: u64 },
    /// Closed loop: whenever fewer than this many are in flight.
    Closed { in_flight: u64 },
}

impl Pace {
    /// The pace of one thread, which keeps share `share` of a load whose schedule begins at `start_ns`.
    pub fn of(load: &LoadSettings, start_ns: u64, share: u64) -> Self {
        let shares = u64::from(load.shares);
        let open = |process| Self::Open {
            schedule: Schedule::new(start_ns, process).split(share, shares),
            in_flight_max: share_of(load.in_flight_max, share, shares).max(1),
        };
        match &load.model {
            LoadModel::Open { rate_per_s, arrivals } => {
                open(ArrivalProcess::steady(*rate_per_s, *arrivals, load.seconds))
            }
            LoadModel::Profile { stretches } => open(ArrivalProcess::profile(stretches)),
            LoadModel::Closed { in_flight } => Self::Closed {
                in_flight: share_of(*in_flight, share, shares).max(1),
            },
        }
    }

    /// The maximum number of operations in flight.
    pub fn in_flight_max(&self) -> u64 {
        match self {
            Self::Open { in_flight_max, .. } => *in_flight_max,
            Self::Closed { in_flight } => *in_flight,
        }
    }

    /// The schedule, in an open loop.
    pub fn schedule(&self) -> Option<Schedule> {
        match self {
            Self::Open { schedule, .. } => Some(schedule.clone()),
            Self::Closed { .. } => None,
        }
    }
}

/// A target on which operations can be started without ever blocking the loop.
pub trait Target {
    /// An error beyond repair.
    type Error;

    /// Starts operations `first .. first + count` now. With a schedule their intended starts are
    /// the schedule's; without one they are `now_ns`.
    fn start(&mut self, first: u64, count: u64, schedule: Option<&Schedule>, now_ns: u64) -> Result<(), Self::Error>;

    /// When operation `first` is to be started, and with it those that are due by then: where it waits to go with others, later
    /// than it is due.
    fn goes_ns(&self, schedule: &Schedule, first: u64) -> u64 {
        schedule.intended_ns(first)
    }

    /// Sends and receives, and returns at `until_ns` or, in a closed loop, as soon as an operation has
    /// completed.
    fn serve(&mut self, until_ns: u64, return_early: bool) -> Result<(), Self::Error>;

    /// Operations started and not yet ended.
    fn in_flight(&self) -> u64;

    /// Start of the oldest operation in flight (monotonic), if the target knows one.
    fn oldest_intended_ns(&self) -> Option<u64>;
}

/// How a drive ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Driven {
    /// Operations started.
    pub started: u64,
    /// Operations due by the end and never started, because of the in-flight cap.
    pub unstarted: u64,
    /// Times the cap stopped an open loop.
    pub cap_hits: u64,
    /// Ended early as hopeless.
    pub gave_up: bool,
}

/// Limits of a drive.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// When to end (monotonic).
    pub end_ns: u64,
    /// End when so many were started and have ended.
    pub operations_max: u64,
    /// End early when the oldest operation in flight is older than this.
    pub give_up_ns: Option<u64>,
    /// The longest interval between checks of the schedule: lower CPU use costs up to this much `wait`.
    pub tick_ns: u64,
}

impl Limits {
    /// Only a time limit.
    pub fn until(end_ns: u64, tick_ns: u64) -> Self {
        Self {
            end_ns,
            operations_max: u64::MAX,
            give_up_ns: None,
            tick_ns,
        }
    }

    /// The limits of a load.
    pub fn of(load: &LoadSettings, end_ns: u64, tick_ns: u64) -> Self {
        Self {
            give_up_ns: load.give_up_s.map(|seconds| (seconds * 1e9) as u64),
            ..Self::until(end_ns, tick_ns)
        }
    }
}

/// Drives `target` at `pace` until the end, the stop flag, or hopelessness.
pub fn drive<T: Target>(target: &mut T, pace: Pace, limits: Limits, stop: &AtomicBool) -> Result<Driven, T::Error> {
    let mut driven = Driven::default();
    loop {
        let now = monotonic_ns();
        let is_done = driven.started >= limits.operations_max && target.in_flight() == 0;
        if now >= limits.end_ns || is_done || stop.load(Ordering::Relaxed) {
            break;
        }
        if is_hopeless(target, limits, now) {
            driven.gave_up = true;
            break;
        }
        let (schedule, wanted, room) = match &pace {
            Pace::Open {
                schedule,
                in_flight_max,
            } => {
                let room = in_flight_max.saturating_sub(target.in_flight());
                (Some(schedule), schedule.due_by(now) - driven.started, room)
            }
            Pace::Closed { in_flight } => (None, u64::MAX, in_flight.saturating_sub(target.in_flight())),
        };
        let wanted = wanted.min(limits.operations_max - driven.started);
        let count = wanted.min(room);
        if schedule.is_some() && count < wanted {
            driven.cap_hits += 1;
        }
        if count > 0 {
            target.start(driven.started, count, schedule, now)?;
            driven.started += count;
        }
        let until = match schedule {
            Some(schedule) => target.goes_ns(schedule, driven.started).max(now + limits.tick_ns),
            None => now + limits.tick_ns.max(1_000_000),
        };
        target.serve(until.min(limits.end_ns), schedule.is_none())?;
    }
    if let Pace::Open {
        schedule,
        in_flight_max,
    } = &pace
    {
        let now = monotonic_ns();
        let due = schedule.due_by(now.min(limits.end_ns)).min(limits.operations_max);
        // Those that wait to go with others have begun: they are on their way, as in a client that had them already. Not what is
        // due as the time is over.
        let before = schedule.due_by(now.min(limits.end_ns.saturating_sub(1))).min(due);
        let waits = before > driven.started && target.goes_ns(schedule, driven.started) > now;
        if waits && !driven.gave_up {
            let count = (before - driven.started).min(in_flight_max.saturating_sub(target.in_flight()));
            target.start(driven.started, count, Some(schedule), now)?;
            driven.started += count;
        }
        driven.unstarted = due.saturating_sub(driven.started);
    }
    Ok(driven)
}

fn is_hopeless<T: Target>(target: &T, limits: Limits, now: u64) -> bool {
    let Some(bound) = limits.give_up_ns else {
        return false;
    };
    target
        .oldest_intended_ns()
        .is_some_and(|oldest| now.saturating_sub(oldest) > bound)
}
