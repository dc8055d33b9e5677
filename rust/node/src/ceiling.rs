//! The maximum that a host can give: its cores, its disk and its link, the other end of a link, and the
//! generator's own rate.

use std::path::{Path, PathBuf};

use hydrotest_core::control::{AtEnd, listen, read_settings};
use hydrotest_core::null::ceiling_per_core_s;
use hydrotest_core::wire::{Event, emit};
use hydrotest_sampler::ceiling as measure;
use hydrotest_sampler::disk::Disk;
use serde::Deserialize;
use serde_json::json;

/// The settings of `sink`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SinkSettings {
    /// `address:port` of this host to listen at.
    listen: String,
}

/// Receives the bytes of one connection, until it ends, and reports their rate.
pub fn sink() -> Result<(), String> {
    let settings: SinkSettings = read_settings()?;
    let listener = measure::listen_at(&settings.listen)?;
    let control = listen(|_| false, AtEnd::Unanswered);
    emit(&Event::Ready {
        pid: std::process::id(),
        nice: 0,
        real_time: false,
    });
    let bytes_per_s = measure::receive(&listener)?;
    control.answer(json!({ "bytes_per_s": bytes_per_s }));
    Ok(())
}

/// The settings of `ceiling`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CeilingSettings {
    /// A directory on the disk to be measured.
    directory: PathBuf,
    /// Size of the file that is written and read; 0: the disk is not measured.
    disk_bytes: usize,
    /// Nothing but the disk is measured.
    #[serde(default)]
    disk_alone: bool,
    /// Seconds for the generators' own ceiling; not measured at 0.
    null_s: f64,
    /// True where a quota, and not the number of cores, bounds the CPU.
    has_quota: bool,
    /// `address:port` of another host's `sink`, through which the link is measured instead of through loopback.
    sink: Option<String>,
}

/// Measures this host's ceilings and the generators' own.
pub fn ceiling() -> Result<(), String> {
    let settings: CeilingSettings = read_settings()?;
    let control = listen(|_| false, AtEnd::Unanswered);
    let (write, read) = match settings.disk_bytes {
        0 => (None, None),
        bytes => measure::disk(&settings.directory, bytes).map(|(write, read)| (Some(write), read))?,
    };
    if settings.disk_alone {
        control.answer(json!({ "disk_write_bytes_per_s": write, "disk_read_bytes_per_s": read }));
        return Ok(());
    }
    let network = match &settings.sink {
        // The other end counts: sent bytes may still be in buffers.
        Some(address) => measure::send_to(address).map(|()| None)?,
        None => Some(measure::loopback()?),
    };
    let result = json!({
        "cpu_cores": if settings.has_quota { measure::cpu_delivered() } else { measure::cpu_cores() },
        "disk_write_bytes_per_s": write,
        "disk_device": Disk::under(Path::new("/sys"), &settings.directory).map(|disk| disk.name),
        "disk_read_bytes_per_s": read,
        "network_bytes_per_s": network,
        "wake_cpu_us": measure::wake_cpu_us(),
        "generator_null_per_core_s": (settings.null_s > 0.0).then(|| ceiling_per_core_s(settings.null_s)),
    });
    control.answer(result);
    Ok(())
}
