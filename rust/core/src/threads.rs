//! A generator's own figures: its threads' CPU use and run delay, and its priority.

use std::fs;

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::set_current_timer_slack;

use crate::wire::ThreadUse;

/// Raw counters of every live thread of this process.
pub fn own_threads() -> Vec<ThreadUse> {
    threads_of("self", |name| Some(name.to_owned()))
}

/// Raw counters of live threads of a process, by its id, from `/proc/*/task/*/schedstat`. `named`: the name under which a
/// thread is reported; None leaves it out. Threads that end while we read are left out, too.
pub fn threads_of(process: &str, named: impl Fn(&str) -> Option<String>) -> Vec<ThreadUse> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let mut threads: Vec<ThreadUse> = tasks
        .flatten()
        .filter_map(|task| {
            let comm = fs::read_to_string(task.path().join("comm")).ok()?;
            let name = named(comm.trim())?;
            let schedstat = fs::read_to_string(task.path().join("schedstat")).ok()?;
            let mut fields = schedstat.split_whitespace();
            let cpu_ns = fields.next()?.parse().ok()?;
            let run_delay_ns = fields.next()?.parse().ok()?;
            let id = task.file_name().to_string_lossy().into_owned();
            Some(ThreadUse {
                name: format!("{name}/{id}"),
                cpu_ns,
                run_delay_ns,
            })
        })
        .collect();
    threads.sort_by(|a, b| a.name.cmp(&b.name));
    threads
}

/// The peak resident memory of this process, in bytes; 0 where the kernel does not report it.
pub fn peak_memory_bytes() -> u64 {
    peak_memory_bytes_of("self")
}

/// That of a process, by its id (`VmHWM` of `/proc/*/status`).
pub fn peak_memory_bytes_of(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The scheduling priority of the calling thread, and of every thread that it starts later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// First-come real-time scheduling (`SCHED_RR`): a due send preempts whatever runs.
    pub real_time: bool,
    /// The nice value otherwise.
    pub nice: i32,
}

/// The shortest slice that the kernel grants.
const SLICE_NS_MIN: u64 = 100_000;

const NICEST: i32 = 19;

/// Above the CPU hog that takes cores away in a squeeze.
const PRIORITY: i32 = 2;

/// Requests real-time scheduling, and `nice` where that is refused; returns the granted priority. A refusal
/// is not an error: the headroom checks show whether it mattered. At `nice` 0 nothing is requested.
///
/// Why real-time: next to a busy JVM on two cores, a thread at nice −10 was seen to wait for a core a quarter
/// of the time. That would be reported as the system's latency. The kernel's real-time limit (95 % by
/// default) keeps a runaway generator from taking the machine.
pub fn raise_priority(nice: i32) -> Priority {
    if nice < 0 {
        let parameters = libc::sched_param {
            sched_priority: PRIORITY,
        };
        // SAFETY: the call reads one plain struct that outlives it.
        if unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) } == 0 {
            return Priority {
                real_time: true,
                nice: 0,
            };
        }
        if let Err(error) = setpriority_process(None, nice) {
            eprintln!("hydrotest-node: priority {nice} refused: {error}");
        }
        shorten_slice();
    }
    Priority {
        real_time: false,
        nice: getpriority_process(None).unwrap_or(0),
    }
}

/// Leaves the cores to whoever else wants them: for this thread's work after the load.
pub fn lower_priority() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads one plain struct that outlives it.
    let refused = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) } != 0;
    if refused || setpriority_process(None, NICEST).is_err() {
        eprintln!("hydrotest-node: a lower priority refused");
    }
}

/// Whether generators are granted real-time scheduling here. A thread of its own tries it, since one that has it
/// could not give it to its children and keep it.
pub fn may_be_real_time() -> bool {
    let tried = std::thread::spawn(|| raise_priority(-1).real_time);
    tried.join().unwrap_or(false)
}

/// Lets this thread preempt threads with longer slices when it wakes. Nobody needs a right for that. Kernels before
/// 6.12 do nothing.
fn shorten_slice() {
    /// `struct sched_attr` of linux/sched/types.h, its first version.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime_ns: u64,
        deadline_ns: u64,
        period_ns: u64,
    }
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice: getpriority_process(None).unwrap_or(0),
        priority: 0,
        runtime_ns: SLICE_NS_MIN,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: the call reads one plain struct of the size that it names, which outlives it.
    if unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } != 0 {
        eprintln!(
            "hydrotest-node: a shorter slice refused: {}",
            std::io::Error::last_os_error()
        );
    }
}

/// Lets this thread's sleeps end within a microsecond of their time; the kernel's default is 50.
pub fn sharpen_timers() {
    if let Err(error) = set_current_timer_slack(std::num::NonZeroU64::new(1_000)) {
        // Sleeps are then late by up to 50 µs, which the wait histogram shows.
        eprintln!("hydrotest-node: timer slack stays at its default: {error}");
    }
}
