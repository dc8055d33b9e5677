//! Starts one service and makes sure that it, and everything it started, ends with the controller:
//! this process is a subreaper, so even a child that leaves its process group comes back to us, and
//! the service itself dies with us should we be killed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{self, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hydrotest_core::child::tie;
use hydrotest_core::control::{parse_command, read_settings};
use hydrotest_core::threads::may_be_real_time;
use hydrotest_core::wire::{Command, Event, SignalName, emit};
use hydrotest_sampler::process::{Table, ended_children_cpu_us};
use hydrotest_sampler::procfs::Units;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper, wait};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    argv: Vec<String>,
    /// Added to this process's environment.
    env: BTreeMap<String, String>,
    directory: PathBuf,
    /// The service's stdout and stderr are appended here.
    log: PathBuf,
    /// Time between SIGTERM and SIGKILL.
    grace_s: f64,
}

/// The nice value of all that is supervised, where generators may not be real-time: so they still run ahead of the
/// systems, whose threads keep their relations to each other. Seen on two cores, next to a busy JVM: threads of a
/// generator wait for a core 6 % of the time, not 20 %.
const YIELDING: i32 = 19;
const POLL: Duration = Duration::from_millis(20);
const KILL_ROUNDS_MAX: u32 = 200;
/// A process that SIGKILL does not end in this time hangs in the kernel; we end without it.
const KILL_S_MAX: f64 = 5.0;

/// Runs the service until it ends or stdin does.
pub fn run() -> Result<(), String> {
    let settings: Settings = read_settings()?;
    set_child_subreaper(Some(getpid())).map_err(|error| format!("cannot become a subreaper: {error}"))?;
    let child = start(&settings)?;
    emit(&Event::Spawned {
        pid: child.as_raw_nonzero().get(),
    });
    let ended = Arc::new(AtomicBool::new(false));
    let refused = Arc::new(Mutex::new(None));
    let signals = watch_stdin(ended.clone(), refused.clone());
    let mut asked_at: Option<Instant> = None;
    loop {
        if let Some(exit) = reap(child) {
            kill_descendants();
            emit(&exit);
            return held(&refused).take().map_or(Ok(()), Err);
        }
        for name in signals.try_iter() {
            signal_group(child, as_signal(name));
        }
        match asked_at {
            None if ended.load(Ordering::Acquire) => {
                signal(child, Signal::TERM);
                // A stopped service would not receive it.
                signal_group(child, Signal::CONT);
                asked_at = Some(Instant::now());
            }
            Some(at) if at.elapsed().as_secs_f64() > settings.grace_s + KILL_S_MAX => {
                kill_descendants();
                return Err(format!("process {child:?} cannot be ended"));
            }
            Some(at) if at.elapsed().as_secs_f64() > settings.grace_s => signal(child, Signal::KILL),
            _ => {}
        }
        std::thread::sleep(POLL);
    }
}

fn start(settings: &Settings) -> Result<Pid, String> {
    let log = File::options().create(true).append(true).open(&settings.log);
    let log = log.map_err(|error| format!("log {} cannot be opened: {error}", settings.log.display()))?;
    let log_too = log
        .try_clone()
        .map_err(|error| format!("log cannot be shared: {error}"))?;
    let (program, arguments) = settings.argv.split_first().ok_or("no program to start")?;
    let mut command = process::Command::new(program);
    command
        .args(arguments)
        .envs(&settings.env)
        .current_dir(&settings.directory)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(log_too)
        .process_group(0);
    tie(&mut command, (!may_be_real_time()).then_some(YIELDING));
    let child = command
        .spawn()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    Pid::from_raw(child.id() as i32).ok_or_else(|| "the service has no pid".to_owned())
}

/// Reads stdin after the settings: signals for the service. Its end means stop; so does a command that is not
/// understood, which is `refused`.
fn watch_stdin(ended: Arc<AtomicBool>, refused: Arc<Mutex<Option<String>>>) -> Receiver<SignalName> {
    let (sender, signals) = mpsc::channel();
    let body = move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            match parse_command(&line, |command| matches!(command, Command::Signal { .. })) {
                // Without a receiver the service is gone, and there is nothing to signal.
                Ok(Command::Signal { name }) => drop(sender.send(name)),
                Ok(_) => {}
                Err(error) => {
                    *held(&refused) = Some(error);
                    break;
                }
            }
        }
        ended.store(true, Ordering::Release);
    };
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(body)
        .expect("a thread can be started");
    signals
}

/// A plain value, which a panicking thread cannot leave half-written.
fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn as_signal(name: SignalName) -> Signal {
    match name {
        SignalName::Term => Signal::TERM,
        SignalName::Kill => Signal::KILL,
        SignalName::Stop => Signal::STOP,
        SignalName::Cont => Signal::CONT,
    }
}

/// Reaps every ended child; returns how `child` ended once it did.
fn reap(child: Pid) -> Option<Event> {
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == child {
            let (code, signal) = (status.exit_status(), status.terminating_signal());
            return Some(Event::Exited {
                code,
                signal,
                cpu_s: children_cpu_s(),
            });
        }
    }
    None
}

/// Ends whatever the service left behind; bounded, since a process in uninterruptible sleep cannot be ended.
fn kill_descendants() {
    for _ in 0..KILL_ROUNDS_MAX {
        let own = getpid().as_raw_nonzero().get();
        let Ok(table) = Table::read(std::path::Path::new("/proc")) else {
            return;
        };
        let left: Vec<i32> = table
            .tree(own)
            .into_iter()
            .filter(|pid| *pid != own && !is_zombie(*pid))
            .collect();
        if left.is_empty() {
            return;
        }
        left.into_iter()
            .filter_map(Pid::from_raw)
            .for_each(|pid| signal(pid, Signal::KILL));
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        std::thread::sleep(POLL);
    }
}

/// CPU time of all waited-for children.
fn children_cpu_s() -> f64 {
    ended_children_cpu_us(
        std::path::Path::new("/proc"),
        getpid().as_raw_nonzero().get(),
        Units::here(),
    )
    .map_or(0.0, |us| us as f64 / 1e6)
}

fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

fn signal(pid: Pid, signal: Signal) {
    complain(pid, kill_process(pid, signal));
}

/// Signals the service and all in its process group.
fn signal_group(pid: Pid, signal: Signal) {
    complain(pid, kill_process_group(pid, signal));
}

/// A process that is gone already needs no signal.
fn complain(pid: Pid, signalled: rustix::io::Result<()>) {
    if let Err(error) = signalled
        && error != rustix::io::Errno::SRCH
    {
        eprintln!("hydrotest-node: {pid:?} cannot be signalled: {error}");
    }
}
