//! The sampler: one line a second with this host's counters, those of the watched services, the
//! speed reference, and the services' own gauges.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hydrotest_core::clock::{WallOffset, wall_ns};
use hydrotest_core::control::{AtEnd, listen, read_settings};
use hydrotest_core::wire::{Command, Event, emit};
use hydrotest_sampler::clock::{own_cpu_us, process_cpu_us};
use hydrotest_sampler::disk::Disk;
use hydrotest_sampler::emulated::{Emulated, overlay};
use hydrotest_sampler::gauges::{Gauges, Scraped, Scraper, held};
use hydrotest_sampler::host::read;
use hydrotest_sampler::process::{Table, thread_cpu_ns};
use hydrotest_sampler::procfs::Units;
use hydrotest_sampler::speed;
use serde::Deserialize;
use serde_json::json;

/// Names of threads inside the JVMs (`comm` is cut at 15 characters): the exporter's, and the JIT compilers'.
const JVM_THREADS: [&str; 3] = ["prometheus-http", "C1 CompilerThre", "C2 CompilerThre"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    proc_root: PathBuf,
    sys_root: PathBuf,
    /// A folder of the host's data: the counters are those of its disk. Without it, or where it is on no disk
    /// of this machine, they are those of all disks.
    #[serde(default)]
    directory: Option<PathBuf>,
    interval_ms: u64,
    /// Time between two runs of the speed reference; None where another sampler of this machine runs it.
    speed_ms: Option<u64>,
    /// Time between two scrapes of the services' gauges.
    gauges_ms: u64,
    /// Set where the host is not this machine but a part of it.
    emulated: Option<Emulated>,
}

struct Watched {
    pid: i32,
    gauges_url: Option<String>,
}

/// Samples until stdin ends.
pub fn run() -> Result<(), String> {
    let settings: Settings = read_settings()?;
    let takes = |command: &Command| matches!(command, Command::Watch { .. } | Command::Unwatch { .. });
    let control = listen(takes, AtEnd::Enough);
    let units = Units::here();
    let hub = hub(&settings.proc_root)?;
    let watched: Arc<Mutex<BTreeMap<String, Watched>>> = Arc::default();
    let scraper = Scraper::default();
    let scraped = scraper.scraped.clone();
    let disk = settings
        .directory
        .as_ref()
        .and_then(|directory| Disk::under(&settings.sys_root, directory));
    let speeds: Arc<Mutex<Vec<u64>>> = Arc::default();
    if let Some(every_ms) = settings.speed_ms {
        start_speed(speeds.clone(), Duration::from_millis(every_ms));
    }
    start_gauges(watched.clone(), scraper, Duration::from_millis(settings.gauges_ms));
    emit(&Event::Ready {
        pid: std::process::id(),
        nice: 0,
        real_time: false,
    });
    let interval = Duration::from_millis(settings.interval_ms);
    let mut next = Instant::now();
    loop {
        next += interval;
        match control
            .commands
            .recv_timeout(next.saturating_duration_since(Instant::now()))
        {
            Ok(Command::Watch {
                service,
                pid,
                gauges_url,
            }) => {
                held(&watched).insert(service, Watched { pid, gauges_url });
                next -= interval;
            }
            Ok(Command::Unwatch { service }) => {
                held(&watched).remove(&service);
                next -= interval;
            }
            Ok(_) => next -= interval,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                // The time stamp is that of the reading, not of the printing.
                let wall_s = WallOffset::take().wall_s(hydrotest_core::clock::monotonic_ns());
                let body = sample(&settings, units, disk.as_ref(), &held(&watched), &scraped, &speeds, hub)?;
                emit(&Event::Sample { wall_s, body });
                // Seconds missed in a stall are gone; readings a millisecond apart would make wild rates.
                next = next.max(Instant::now() - interval);
            }
        }
    }
}

fn sample(
    settings: &Settings,
    units: Units,
    disk: Option<&Disk>,
    watched: &BTreeMap<String, Watched>,
    scraped: &Scraped,
    speeds: &Mutex<Vec<u64>>,
    hub: Option<i32>,
) -> Result<serde_json::Value, String> {
    let mut host = read(&settings.proc_root, units, disk)?;
    if let Some(emulated) = &settings.emulated {
        overlay(&settings.proc_root, emulated, &mut host)?;
    }
    let table = Table::read(&settings.proc_root)?;
    let mut services = BTreeMap::new();
    for (name, service) in watched {
        if let Some(mut counters) = table.service(&settings.proc_root, service.pid, units) {
            if service.gauges_url.is_some() {
                let [exporter_ns, c1_ns, c2_ns] = thread_cpu_ns(&settings.proc_root, service.pid, JVM_THREADS);
                counters.insert("exporter_cpu_us".into(), exporter_ns / 1_000);
                counters.insert("jit_cpu_us".into(), (c1_ns + c2_ns) / 1_000);
            }
            services.insert(name, counters);
        }
    }
    let gauges = std::mem::take(&mut *held(scraped));
    let (good, bad): (BTreeMap<_, _>, BTreeMap<_, _>) = gauges.into_iter().partition(|(_, result)| result.is_ok());
    let good: BTreeMap<String, Gauges> = good
        .into_iter()
        .filter_map(|(name, result)| Some((name, result.ok()?)))
        .collect();
    let bad: BTreeMap<String, String> = bad
        .into_iter()
        .filter_map(|(name, result)| Some((name, result.err()?)))
        .collect();
    Ok(json!({
        "host": host,
        "services": services,
        "speed_ns": std::mem::take(&mut *held(speeds)),
        "gauges": good,
        "gauge_errors": bad,
        "sampler_cpu_us": own_cpu_us() + hub.map_or(0, process_cpu_us),
        "sampler_wall_ns": wall_ns(),
    }))
}

/// The hub that has started this sampler, which is part of what it costs to look: the nearest ancestor that is this
/// very binary. Between the two may be sudo.
fn hub(proc_root: &Path) -> Result<Option<i32>, String> {
    let own = std::fs::metadata("/proc/self/exe").map_err(|error| format!("own binary: {error}"))?;
    let is_own = |pid: &i32| {
        std::fs::metadata(proc_root.join(format!("{pid}/exe")))
            .is_ok_and(|other| (other.dev(), other.ino()) == (own.dev(), own.ino()))
    };
    let own_pid = std::process::id().cast_signed();
    Ok(Table::read(proc_root)?.ancestors(own_pid).find(is_own))
}

fn start_speed(speeds: Arc<Mutex<Vec<u64>>>, every: Duration) {
    spawn("speed", move || {
        loop {
            std::thread::sleep(every);
            let took = speed::timed_ns();
            held(&speeds).push(took);
        }
    });
}

fn start_gauges(watched: Arc<Mutex<BTreeMap<String, Watched>>>, scraper: Scraper, every: Duration) {
    spawn("scraper", move || {
        loop {
            std::thread::sleep(every);
            let watched = held(&watched);
            scraper.begin(
                watched
                    .iter()
                    .filter_map(|(name, service)| Some((name.clone(), service.gauges_url.clone()?))),
            );
        }
    });
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(body)
        .expect("a thread can be started");
}
