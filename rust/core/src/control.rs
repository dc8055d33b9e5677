//! Stdin, the node's only ear: settings on the first line, commands after it, and its end as the
//! sign that the controller is gone.

use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};

use serde::de::DeserializeOwned;

use crate::wire::Command;

/// Reads the settings line. The error names the field that does not fit.
pub fn read_settings<S: DeserializeOwned>() -> Result<S, String> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|error| format!("stdin cannot be read: {error}"))?;
    serde_json::from_str(&line).map_err(|error| format!("settings do not fit: {error}"))
}

/// The commands that follow the settings.
pub struct Control {
    pub commands: Receiver<Command>,
    /// Set by `stop` and by the end of stdin.
    pub stop: Arc<AtomicBool>,
    /// Set by `written`.
    pub written: Arc<AtomicBool>,
}

/// Listens on stdin in a thread of its own. When stdin ends, `on_end` runs and the process exits:
/// a node must not outlive its controller.
pub fn listen(on_end: impl FnOnce() + Send + 'static) -> Control {
    let (sender, commands) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let written = Arc::new(AtomicBool::new(false));
    let (stopped, all_written) = (stop.clone(), written.clone());
    std::thread::Builder::new()
        .name("control".into())
        .spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                match serde_json::from_str::<Command>(&line) {
                    Ok(command) => {
                        match command {
                            Command::Stop => stopped.store(true, Ordering::Release),
                            Command::Written => all_written.store(true, Ordering::Release),
                            _ => {}
                        }
                        if sender.send(command).is_err() {
                            break;
                        }
                    }
                    Err(error) => eprintln!("hydrotest-node: command not understood: {error}"),
                }
            }
            stopped.store(true, Ordering::Release);
            on_end();
            std::process::exit(0);
        })
        .expect("a thread can be started");
    Control {
        commands,
        stop,
        written,
    }
}

impl Control {
    /// Waits for `go` and tells the wall time to begin at, in seconds since the epoch; None if `stop` came first.
    pub fn wait_for_go(&self) -> Option<f64> {
        loop {
            match self.commands.recv() {
                Ok(Command::Go { start_wall_s }) => return Some(start_wall_s),
                Ok(Command::Stop) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}
