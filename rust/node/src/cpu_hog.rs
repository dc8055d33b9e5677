//! A CPU hog: occupies a part of every core of this machine, with priority over all but generators. It
//! squeezes hosts that have no share of their own to reduce.

use std::mem;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use hydrotest_core::control::{AtEnd, listen, read_settings};
use hydrotest_core::threads::sharpen_timers;
use hydrotest_core::wire::{Event, emit};
use serde::Deserialize;

/// Short enough that queues do not see it as a pause, and long compared to a wake-up.
const PERIOD: Duration = Duration::from_millis(10);
/// Above all that is not scheduled in real time, below generators (`hydrotest_core::threads`).
const PRIORITY: i32 = 1;

/// No block of a squeeze is as long.
const LONGEST: Duration = Duration::from_secs(600);

/// The settings of `cpu-hog`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Share of each core that is left to others, above 0 and below 1.
    left: f64,
}

/// Occupies the rest until stdin ends. Fails where real-time scheduling is refused: without it, others would
/// give way only in part.
pub fn run() -> Result<(), String> {
    let settings: Settings = read_settings()?;
    if !(settings.left > 0.0 && settings.left < 1.0) {
        return Err(format!("`left` is {}, and must be above 0 and below 1", settings.left));
    }
    let control = listen(|_| false, AtEnd::Enough);
    let taken = PERIOD.mul_f64(1.0 - settings.left);
    let start = Instant::now();
    let mut threads = Vec::new();
    for core in cores()? {
        threads.push(std::thread::spawn(move || occupy(core, taken, start)));
    }
    // Threads that could begin run on; one that ended returns the reason.
    std::thread::sleep(5 * PERIOD);
    if let Some(ended) = threads.iter().position(std::thread::JoinHandle::is_finished) {
        return match threads.swap_remove(ended).join() {
            Ok(Err(error)) => Err(error),
            _ => Err("a thread that was to occupy a core ended".into()),
        };
    }
    emit(&Event::Ready {
        pid: std::process::id(),
        nice: 0,
        real_time: true,
    });
    // Stdin's end ends the process from the listening thread; a paused controller does not end it.
    match control.commands.recv_timeout(LONGEST) {
        Err(RecvTimeoutError::Timeout) => Err(format!("stdin did not end within {LONGEST:?}")),
        _ => Ok(()),
    }
}

/// The cores that this process may run on.
fn cores() -> Result<Vec<usize>, String> {
    // SAFETY: an all-zero set of bits is empty, and the call writes no further than its size.
    let (refused, set) = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        (
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set),
            set,
        )
    };
    if refused != 0 {
        return Err(format!("cores: {}", std::io::Error::last_os_error()));
    }
    let most = usize::try_from(libc::CPU_SETSIZE).expect("a small number");
    // SAFETY: only bits within the set are asked for.
    Ok((0..most)
        .filter(|&core| unsafe { libc::CPU_ISSET(core, &set) })
        .collect())
}

/// Runs on one core for `taken` of every period, counted from `start`: on all cores at the same time, or
/// others would move to the free one. Returns only if it may not run.
fn occupy(core: usize, taken: Duration, start: Instant) -> Result<(), String> {
    // SAFETY: both calls read plain structs that outlive them; only a bit within the set is set.
    let refused = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(core, &mut set);
        let parameters = libc::sched_param {
            sched_priority: PRIORITY,
        };
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) != 0
            || libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) != 0
    };
    if refused {
        let error = std::io::Error::last_os_error();
        return Err(format!(
            "core {core} cannot be occupied: {error}; real-time scheduling needs root"
        ));
    }
    sharpen_timers();
    loop {
        let into = start.elapsed().as_secs_f64() % PERIOD.as_secs_f64();
        if into < taken.as_secs_f64() {
            std::hint::spin_loop();
        } else {
            std::thread::sleep(PERIOD.saturating_sub(Duration::from_secs_f64(into)));
        }
    }
}
