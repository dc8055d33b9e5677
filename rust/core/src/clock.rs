//! Time: one monotonic clock for every duration, and its offset to wall time for times that leave the
//! process.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since an arbitrary fixed point; never goes back. All durations come from differences of these.
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// Nanoseconds since the Unix epoch. Only for time stamps, never for durations.
pub fn wall_ns() -> u64 {
    read_ns(ClockId::Realtime)
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
