//! One trial on one node: wait for `go`, run the generator's threads while the main thread reports, collect
//! their findings.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crate::clock::{WallOffset, monotonic_ns};
use crate::control::{Commands, Control};
use crate::reporter::{Channel, Helpers, Reporter, SharedCounts};
use crate::threads::{raise_priority, sharpen_timers};
use crate::wire::{Counts, Event, emit};

/// A second 0 further from `go` than this comes from another clock.
const LEAD_S_MAX: f64 = 10.0;

/// A generator thread's view of its trial.
#[derive(Clone)]
pub struct Window {
    /// Second 0 and the end of the load, monotonic.
    pub start_ns: u64,
    pub end_ns: u64,
    pub wall: WallOffset,
    /// Set when the controller asks for an early end.
    pub stop: Arc<AtomicBool>,
    /// Set when the writers of the records that this generator reads have ended.
    pub written: Arc<AtomicBool>,
    pub counts: Arc<SharedCounts>,
    /// Commands that come while the trial runs.
    pub commands: Option<Commands>,
    /// Processes that do this generator's work, by id, and what their threads' names begin with.
    pub helpers: Helpers,
    /// When the last thread's load ended; draining follows. 0 while none has.
    ended_ns: Arc<AtomicU64>,
}

impl Window {
    /// A window that begins and ends at these monotonic times.
    pub fn new(start_ns: u64, end_ns: u64, wall: WallOffset, stop: Arc<AtomicBool>) -> Self {
        Self {
            start_ns,
            end_ns,
            wall,
            stop,
            written: Arc::default(),
            counts: Arc::default(),
            commands: None,
            helpers: Arc::default(),
            ended_ns: Arc::default(),
        }
    }

    /// Each thread calls this when its load is over and it begins to drain.
    pub fn load_ended(&self) {
        self.ended_ns.fetch_max(monotonic_ns(), Ordering::AcqRel);
    }
}

/// Counts a thread as ended however it ends, so that a panic does not keep the trial waiting.
struct Running {
    left: Arc<AtomicUsize>,
    done: Arc<AtomicBool>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.store(true, Ordering::Release);
        }
    }
}

/// A prepared generator thread: from the window to the recorders that it will fill and its work.
pub type Prepared<R> = Box<dyn FnOnce(&Window) -> (Vec<Channel>, Box<dyn FnOnce() -> R + Send>)>;

/// The results of a trial.
pub struct Finished<R> {
    pub results: Vec<R>,
    pub counts: Counts,
    pub started_wall_s: f64,
    pub ended_wall_s: f64,
}

/// Waits for `go`: the clocks, and second 0 (monotonic). None if `stop` came first.
fn begin(control: &Control) -> Result<Option<(WallOffset, u64)>, String> {
    let Some((start_wall_s, ahead_s)) = control.wait_for_go() else {
        return Ok(None);
    };
    let wall = WallOffset::take().behind_by(ahead_s);
    let lead_s = start_wall_s - wall.wall_s(monotonic_ns());
    if lead_s.abs() > LEAD_S_MAX {
        return Err(format!(
            "the trial is to begin {lead_s:.1} s from now: this host's clock has changed since it was compared with the controller's; set it (chrony, NTP)"
        ));
    }
    Ok(Some((wall, wall.monotonic_ns((start_wall_s * 1e9) as u64))))
}

/// Reports `ready`, waits for `go`, runs the threads for `seconds` and reports meanwhile. `None` if the
/// controller stopped the trial before it began; an error in words if the hosts' clocks do not agree.
///
/// Second 0 comes with `go`, so that all generators of a trial begin together. A generator that receives it
/// late begins late, and its `wait` shows it.
pub fn conduct<R: Send + 'static>(
    control: &Control,
    seconds: f64,
    nice: i32,
    threads: Vec<Prepared<R>>,
) -> Result<Option<Finished<R>>, String> {
    let priority = raise_priority(nice);
    emit(&Event::Ready {
        pid: std::process::id(),
        nice: priority.nice,
        real_time: priority.real_time,
    });
    let Some((wall, start_ns)) = begin(control)? else {
        return Ok(None);
    };
    let end_ns = start_ns + (seconds * 1e9) as u64;
    let window = Window {
        written: control.written.clone(),
        commands: Some(control.commands.clone()),
        ..Window::new(start_ns, end_ns, wall, control.stop.clone())
    };
    let (counts, ended_ns, helpers) = (window.counts.clone(), window.ended_ns.clone(), window.helpers.clone());
    let mut channels = Vec::new();
    let done = Arc::new(AtomicBool::new(false));
    let left = Arc::new(AtomicUsize::new(threads.len()));
    let mut handles = Vec::new();
    let mut held = Vec::new();
    for (index, prepared) in threads.into_iter().enumerate() {
        let (own_channels, work) = prepared(&window);
        channels.extend(own_channels);
        let running = Running {
            left: left.clone(),
            done: done.clone(),
        };
        // A thread's CPU time is lost when it ends: it stays until the last second is reported.
        let (hold, released) = mpsc::channel::<()>();
        held.push(hold);
        let body = move || {
            sharpen_timers();
            // Second 0 is a little ahead, so that all threads begin together.
            std::thread::sleep(Duration::from_nanos(start_ns.saturating_sub(monotonic_ns())));
            let found = {
                let _running = running;
                work()
            };
            // Nothing is ever sent: this ends when the other end is dropped.
            let _ = released.recv();
            found
        };
        handles.push(
            std::thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(body)
                .expect("a thread can be started"),
        );
    }
    let mut reporter = Reporter::new(start_ns, wall, counts.clone(), helpers, channels);
    reporter.run(end_ns, &done);
    let reported = monotonic_ns();
    let at_end = counts.read();
    drop(held);
    let results = handles
        .into_iter()
        .map(|handle| handle.join().expect("generator threads return their failures"))
        .collect();
    reporter.finish();
    let ended = match ended_ns.load(Ordering::Acquire) {
        0 => reported,
        at => at.min(reported),
    };
    Ok(Some(Finished {
        results,
        counts: at_end,
        started_wall_s: wall.wall_s(start_ns),
        ended_wall_s: wall.wall_s(ended),
    }))
}
