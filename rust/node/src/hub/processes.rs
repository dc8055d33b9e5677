//! The processes that a hub has started.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::Hub;
use super::files::Input;
use super::frames::{Reply, refusal};

/// This very binary, also where its file was replaced since.
const SELF: &str = "/proc/self/exe";
const PIECE_BYTES: usize = 64 << 10;
/// A process's own end, after the grace period of what it supervises.
const END: Duration = Duration::from_secs(35);
/// What is killed is gone at once, unless it hangs in the kernel.
const KILL: Duration = Duration::from_secs(5);

/// Processes that have not been reaped, by id, with their grace period.
#[derive(Default)]
pub struct Processes {
    running: Mutex<HashMap<u64, (Pid, Duration)>>,
    fewer: Condvar,
}

impl Processes {
    /// Kills a process, if it has not ended.
    pub fn kill(&self, id: u64) {
        if let Some((pid, _)) = self.running().get(&id) {
            kill(*pid);
        }
    }

    /// Waits for the end of all, whose stdin has ended; kills those that take too long.
    pub fn end(&self) {
        let mut running = self.running();
        let grace = running.values().map(|(_, grace)| *grace).max().unwrap_or_default();
        for (time, is_last) in [(grace + END, false), (KILL, true)] {
            let until = Instant::now() + time;
            while !running.is_empty() && Instant::now() < until {
                let left = until.saturating_duration_since(Instant::now());
                running = self
                    .fewer
                    .wait_timeout(running, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
            if !is_last {
                running.values().for_each(|(pid, _)| kill(*pid));
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u64, (Pid, Duration)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A process that has ended already needs no signal.
fn kill(pid: Pid) {
    if let Err(error) = kill_process(pid, Signal::KILL)
        && error != rustix::io::Errno::SRCH
    {
        eprintln!("hydrotest-node: {pid:?} cannot be killed: {error}");
    }
}

/// Starts a process whose input, output and end go through the hub.
pub fn start(hub: &Arc<Hub>, id: u64, argv: &[String], grace_s: f64) -> io::Result<()> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(if program.is_empty() { SELF } else { program })
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (sender, input) = channel();
    hub.inputs().insert(id, sender);
    let pid = Pid::from_child(&child);
    let grace = Duration::try_from_secs_f64(grace_s).unwrap_or_default();
    hub.processes.running().insert(id, (pid, grace));
    hub.out.send_now(id, Reply::Started { pid: child.id() }, &[]);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (stdin, stdout, stderr) = (stdin.expect("piped"), stdout.expect("piped"), stderr.expect("piped"));
    hub.thread("input", move |hub| feed(hub, id, stdin, &input));
    hub.thread("output", move |hub| {
        forward(hub, id, stdout, &Reply::Out);
        hub.out.send(id, Reply::OutEnd, &[]);
    });
    hub.thread("errors", move |hub| {
        forward(hub, id, stderr, &Reply::Err);
        hub.out.send(id, Reply::ErrEnd, &[]);
    });
    hub.thread("end", move |hub| reap(hub, id, pid, child));
    Ok(())
}

/// Gives a process its input. One that is gone takes none, and the rest is dropped.
fn feed(hub: &Hub, id: u64, mut stdin: ChildStdin, input: &Receiver<Input>) {
    while let Ok(Input::Data(data)) = input.recv() {
        match stdin.write_all(&data).and_then(|()| stdin.flush()) {
            Ok(()) => hub.out.send(id, Reply::Taken { taken: data.len() }, &[]),
            Err(error) => hub.out.send(id, refusal(&error), &[]),
        }
    }
}

fn forward(hub: &Hub, id: u64, mut from: impl Read, what: &Reply) {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => hub.out.send(id, what.clone(), &piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                eprintln!("hydrotest-node: output of {id} cannot be read: {error}");
                return;
            }
        }
    }
}

/// Waits for a process. Its number stays its own until it is reaped under the lock, so that no other process is
/// ever signalled in its place.
fn reap(hub: &Hub, id: u64, pid: Pid, mut child: Child) {
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {}
    let mut running = hub.processes.running();
    let status = child.wait();
    running.remove(&id);
    hub.processes.fewer.notify_all();
    drop(running);
    hub.inputs().remove(&id);
    let (code, signal) = status.map_or((None, None), |status| (status.code(), status.signal()));
    hub.out.send(id, Reply::Exited { code, signal }, &[]);
}
