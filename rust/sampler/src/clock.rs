//! Readings of the kernel's clocks.

use rustix::time::{ClockId, clock_gettime};

/// In nanoseconds.
pub(crate) fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time of another process in microseconds; 0 if it is gone.
pub fn process_cpu_us(pid: i32) -> u64 {
    let mut clock = 0;
    // SAFETY: `clock` is valid for the call.
    if unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } != 0 {
        return 0;
    }
    // SAFETY: zeros are a time.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: `time` is valid for the call; a process that has ended meanwhile gives an error.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return 0;
    }
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000
}

/// CPU time of this process in microseconds, threads that have ended included.
pub fn own_cpu_us() -> u64 {
    read_ns(ClockId::ProcessCPUTime) / 1_000
}
