//! Time: one monotonic clock for every duration, and its offset to wall time for times that leave the
//! process.

use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};

/// A variable of the environment: by so many seconds this process's wall clock is ahead; `@FILE`: by so many as are
/// in that file at the moment, for clocks that are set. For tests of hosts whose clocks differ, on a machine that has
/// one clock.
pub const AHEAD: &str = "HYDROTEST_CLOCK_AHEAD_S";

/// Nanoseconds since an arbitrary fixed point; never goes back. All durations come from differences of these.
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// Nanoseconds since the Unix epoch. Only for time stamps, never for durations.
pub fn wall_ns() -> u64 {
    read_ns(ClockId::Realtime).saturating_add_signed(own_ahead_ns())
}

/// The monotonic reading of a stamp of the kernel's wall clock, which is not before `earliest_ns`, however the clock was set
/// meanwhile. A pause between the two readings makes it later, never earlier.
pub fn came_ns(stamp_ns: u64, earliest_ns: u64) -> u64 {
    let wall = read_ns(ClockId::Realtime);
    let now = monotonic_ns();
    now.saturating_sub(wall.saturating_sub(stamp_ns))
        .max(earliest_ns)
        .min(now)
}

fn own_ahead_ns() -> i64 {
    static GIVEN: OnceLock<Option<String>> = OnceLock::new();
    static AHEAD_NS: OnceLock<i64> = OnceLock::new();
    let given = GIVEN.get_or_init(|| std::env::var(AHEAD).ok()).as_deref();
    match given.and_then(|text| text.strip_prefix('@')) {
        Some(file) => seconds(std::fs::read_to_string(file).ok().as_deref()),
        None => *AHEAD_NS.get_or_init(|| seconds(given)),
    }
}

/// In nanoseconds; none where nothing is given.
fn seconds(text: Option<&str>) -> i64 {
    let given = text.and_then(|text| text.trim().parse::<f64>().ok());
    (given.unwrap_or_default() * 1e9) as i64
}

/// CPU time consumed by the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::ThreadCPUTime)
}

fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The offset between the two clocks, taken once, so that a wall-clock step during a trial
/// moves no interval against another.
#[derive(Clone, Copy, Debug)]
pub struct WallOffset {
    offset_ns: i128,
}

impl WallOffset {
    /// Reads both clocks now.
    pub fn take() -> Self {
        let before = monotonic_ns();
        let wall = wall_ns();
        let after = monotonic_ns();
        let middle = before + (after - before) / 2;
        Self {
            offset_ns: i128::from(wall) - i128::from(middle),
        }
    }

    /// The same with a wall clock that this one is ahead of by so many seconds.
    #[must_use]
    pub fn behind_by(self, ahead_s: f64) -> Self {
        Self {
            offset_ns: self.offset_ns - (ahead_s * 1e9) as i128,
        }
    }

    /// Wall time in nanoseconds since the epoch of a monotonic reading.
    pub fn wall_ns(&self, monotonic_ns: u64) -> u64 {
        (i128::from(monotonic_ns) + self.offset_ns).max(0) as u64
    }

    /// The monotonic reading of a wall time in nanoseconds since the epoch; 0 for a time before the clock's
    /// start.
    pub fn monotonic_ns(&self, wall_ns: u64) -> u64 {
        (i128::from(wall_ns) - self.offset_ns).max(0) as u64
    }

    /// Wall time in seconds since the epoch of a monotonic reading.
    pub fn wall_s(&self, monotonic_ns: u64) -> f64 {
        self.wall_ns(monotonic_ns) as f64 / 1e9
    }
}
