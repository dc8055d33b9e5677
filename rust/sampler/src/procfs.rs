//! How files of /proc are read: the units of their figures, and errors that name the file.

use procfs_core::ExplicitSystemInfo;

/// The constants of all readings.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    pub ticks_per_s: u64,
    pub page_bytes: u64,
}

impl Units {
    /// The units of this machine.
    pub fn here() -> Self {
        Self {
            ticks_per_s: rustix::param::clock_ticks_per_second(),
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    pub(crate) fn tick_us(&self, ticks: u64) -> u64 {
        ticks * 1_000_000 / self.ticks_per_s
    }

    pub(crate) fn info(&self) -> ExplicitSystemInfo {
        ExplicitSystemInfo {
            boot_time_secs: 0,
            ticks_per_second: self.ticks_per_s,
            page_size: self.page_bytes,
            is_little_endian: cfg!(target_endian = "little"),
        }
    }
}

/// The result, or an error that names the source.
pub(crate) fn parse<T>(what: &str, read: procfs_core::ProcResult<T>) -> Result<T, String> {
    read.map_err(|error| format!("{what} cannot be read: {error}"))
}
