//! One question, one answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hydrotest_core::clock::wall_ns;
use hydrotest_core::control::{AtEnd, listen, read_settings};
use hydrotest_core::null::ceiling_per_core_s;
use hydrotest_core::wire::{Command, Event, emit};
use hydrotest_sampler::ceiling as measure;
use hydrotest_sampler::disk::Disk;
use hydrotest_sampler::http::get;
use serde::Deserialize;
use serde_json::json;

/// A service that has just started on a slow host may take several seconds for its first page.
const PATIENCE: Duration = Duration::from_secs(10);

/// What `ask` takes: a question to a system.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    Kafka(hydrotest_kafka::admin::Ask),
    Cassandra(hydrotest_cassandra::admin::Ask),
    /// A page of a service, by its address.
    Http {
        url: String,
    },
}

/// Answers one question to a system.
pub fn ask() -> Result<(), String> {
    let question: Question = read_settings()?;
    let control = listen(|_| false, AtEnd::Unanswered);
    let answer = match &question {
        Question::Kafka(ask) => hydrotest_kafka::admin::answer(ask),
        Question::Cassandra(ask) => hydrotest_cassandra::admin::answer(ask),
        Question::Http { url } => Ok(json!({ "body": get(url, PATIENCE)? })),
    };
    control.answer(answer.map_err(|error| format!("{error:#}"))?);
    Ok(())
}

/// Tells the time whenever asked, until stdin ends.
pub fn clock() -> Result<(), String> {
    let _: serde_json::Map<String, serde_json::Value> = read_settings()?;
    let control = listen(|command| matches!(command, Command::Tell), AtEnd::Enough);
    while control.commands.recv().is_ok() {
        emit(&Event::Clock {
            wall_s: wall_ns() as f64 / 1e9,
        });
    }
    Ok(())
}

/// What `sink` takes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SinkSettings {
    /// `address:port` of this host to listen at.
    listen: String,
}

/// Takes in what one connection brings, until it ends, and tells how fast it came.
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

/// What `ceiling` takes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CeilingSettings {
    /// A directory on the disk to be measured.
    directory: PathBuf,
    /// Size of the file that is written and read.
    disk_bytes: usize,
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
    let (write, read) = measure::disk(&settings.directory, settings.disk_bytes)?;
    let network = match &settings.sink {
        // The other end counts: what was sent may still lie in buffers.
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
