//! Stdin, the node's only input: the controller's protocol version on the first line, settings on the second,
//! then commands. Its end means that the controller is gone.

use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvError, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::wire::{Command, Event, Greeting, PROTOCOL, emit};

/// Exit code of a node that could not do its task.
pub const FAILED: i32 = 3;

/// Sends the protocol version of this node, and checks that of the controller. The error names both.
pub fn greet() -> Result<(), String> {
    emit(&Event::Hello { protocol: PROTOCOL });
    let line = read_line("the version of the protocol")?;
    let theirs = match serde_json::from_str::<Greeting>(&line) {
        Ok(Greeting { protocol: PROTOCOL }) => return Ok(()),
        Ok(Greeting { protocol }) => format!("version {protocol}"),
        Err(_) => "no version that it names".into(),
    };
    Err(format!(
        "the controller speaks {theirs} of the protocol, this hydrotest-node version {PROTOCOL}; install both from one source: `make install`"
    ))
}

/// Reads the settings line. The error names the field that does not fit.
pub fn read_settings<S: DeserializeOwned>() -> Result<S, String> {
    let line = read_line("the settings")?;
    serde_json::from_str(&line).map_err(|error| format!("settings do not fit: {error}"))
}

fn read_line(what: &str) -> Result<String, String> {
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) => Err(format!("stdin ended before {what} came")),
        Ok(_) => Ok(line),
        Err(error) => Err(format!("stdin cannot be read: {error}")),
    }
}

/// A command; the error is in words. `takes` is true for those that this node supports.
pub fn parse_command(line: &str, takes: impl Fn(&Command) -> bool) -> Result<Command, String> {
    match serde_json::from_str::<Command>(line) {
        Ok(command) if takes(&command) => Ok(command),
        Ok(command) => Err(format!("this subcommand does not support the command {command:?}")),
        Err(error) => Err(format!("unknown command: {error}")),
    }
}

/// The meaning of the end of stdin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// The node's task is complete.
    Enough,
    /// The controller is gone before it had its answer.
    Unanswered,
}

/// Commands as they come; also for a thread that works while another one waits for its end.
#[derive(Clone)]
pub struct Commands(Arc<Mutex<Receiver<Command>>>);

impl Commands {
    /// The next one. An error where no more will come.
    pub fn recv(&self) -> Result<Command, RecvError> {
        self.held().recv()
    }

    /// The next one, if it comes in time.
    pub fn recv_timeout(&self, most: Duration) -> Result<Command, RecvTimeoutError> {
        self.held().recv_timeout(most)
    }

    /// One that has come already.
    pub fn try_recv(&self) -> Option<Command> {
        self.held().try_recv().ok()
    }

    fn held(&self) -> MutexGuard<'_, Receiver<Command>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The commands that follow the settings.
pub struct Control {
    pub commands: Commands,
    /// Set by `stop` and by the end of stdin.
    pub stop: Arc<AtomicBool>,
    /// Set by `written`.
    pub written: Arc<AtomicBool>,
    /// The answer is given.
    answered: Arc<AtomicBool>,
}

/// Listens on stdin in its own thread, for commands that it `takes`; any other is a failure. When stdin ends,
/// the process exits: a node must not outlive its controller.
pub fn listen(takes: impl Fn(&Command) -> bool + Send + 'static, at_end: AtEnd) -> Control {
    let (sender, commands) = mpsc::channel();
    let control = Control {
        commands: Commands(Arc::new(Mutex::new(commands))),
        stop: Arc::default(),
        written: Arc::default(),
        answered: Arc::default(),
    };
    let (stop, written, answered) = (control.stop.clone(), control.written.clone(), control.answered.clone());
    let body = move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            let command = parse_command(&line, &takes).unwrap_or_else(|error| fail(error));
            match command {
                Command::Stop => stop.store(true, Ordering::Release),
                Command::Written => written.store(true, Ordering::Release),
                _ => {}
            }
            if sender.send(command).is_err() {
                break;
            }
        }
        stop.store(true, Ordering::Release);
        if at_end == AtEnd::Enough || answered.load(Ordering::Acquire) {
            std::process::exit(0);
        }
        fail("stdin ended before the answer was given".into())
    };
    std::thread::Builder::new()
        .name("control".into())
        .spawn(body)
        .expect("a thread can be started");
    control
}

/// Reports why the node cannot go on, and ends it.
pub fn fail(error: String) -> ! {
    emit(&Event::Failed { error });
    std::process::exit(FAILED)
}

impl Control {
    /// Gives the answer: from here on, the end of stdin is expected.
    pub fn answer(&self, result: Value) {
        self.answered.store(true, Ordering::Release);
        emit(&Event::Done { result });
    }

    /// Waits for `go`. Returns the wall time to begin at, in seconds since the epoch, and how far this host's clock
    /// is ahead of the one that it is of; None if `stop` came first.
    pub fn wait_for_go(&self) -> Option<(f64, f64)> {
        loop {
            match self.commands.recv() {
                Ok(Command::Go { start_wall_s, ahead_s }) => return Some((start_wall_s, ahead_s)),
                Ok(Command::Stop) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_for_somebody_else_is_refused_like_an_unknown_one() {
        let takes = |command: &Command| matches!(command, Command::Report);
        assert_eq!(parse_command(r#"{"command": "report"}"#, takes), Ok(Command::Report));
        for line in [r#"{"command": "stop"}"#, r#"{"command": "dance"}"#, "tell", ""] {
            assert!(parse_command(line, takes).is_err(), "{line}");
        }
    }
}
