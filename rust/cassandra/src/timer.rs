//! A timer that an async loop can await to the microsecond; tokio's own rounds up to milliseconds.

use std::os::fd::OwnedFd;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A timerfd on the monotonic clock.
pub struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    /// Needs a running tokio runtime with I/O enabled.
    pub fn new() -> std::io::Result<Self> {
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        // SAFETY: the descriptor is owned by the AsyncFd and stays open and the same until it is dropped.
        Ok(Self(unsafe {
            AsyncFd::register_with_interest(fd, Interest::READABLE)
        }?))
    }

    /// Returns at `deadline_ns` (monotonic); at once if it has passed.
    pub async fn until(&self, deadline_ns: u64) -> std::io::Result<()> {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // An all-zero time would disarm the timer.
        let at_ns = deadline_ns.max(1);
        let at = Timespec {
            tv_sec: (at_ns / 1_000_000_000) as i64,
            tv_nsec: (at_ns % 1_000_000_000) as i64,
        };
        let setting = Itimerspec {
            it_interval: zero,
            it_value: at,
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::ABSTIME, &setting)?;
        loop {
            let mut guard = self.0.readable().await?;
            let mut expirations = [0u8; 8];
            match guard.try_io(|fd| rustix::io::read(fd.get_ref(), &mut expirations).map_err(Into::into)) {
                Ok(read) => return read.map(|_| ()),
                Err(_would_block) => {}
            }
        }
    }
}
