//! Readings of the kernel's clocks.

use rustix::time::{ClockId, clock_gettime};

/// In nanoseconds.
pub(crate) fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time of this process in microseconds, threads that have ended included.
pub fn own_cpu_us() -> u64 {
    read_ns(ClockId::ProcessCPUTime) / 1_000
}
