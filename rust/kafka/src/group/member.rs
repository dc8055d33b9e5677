//! A member's process: Kafka's own consumer in a JVM of its own, so that it can be killed.

use std::collections::VecDeque;
use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hydrotest_core::child::tie;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;

use super::frames::{Frame, next};

/// The end of what it wrote on stderr is kept, for the reason of its end.
const LAST_WORDS_BYTES: usize = 2_000;
const POLL: Duration = Duration::from_millis(10);
/// A pipe's buffer holds a tenth of a second of small records.
const BUFFER_BYTES: usize = 1 << 20;

/// A member of a group, by the group's index and its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    pub group: u32,
    pub member: u32,
}

/// What comes from members' processes.
pub enum Said {
    Frame(Frame),
    /// Its reports have ended: with an error, or as its process has.
    End(Option<String>),
}

/// A report, and which process of a member it is from.
pub struct Message {
    pub who: Who,
    pub pid: u32,
    pub said: Said,
}

/// A running process.
pub struct Process {
    pub pid: u32,
    child: Child,
    stdin: Option<ChildStdin>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
}

impl Process {
    /// Starts it, and hands it its settings. Its reports go to `to`.
    pub fn start(who: Who, argv: &[String], settings: &impl Serialize, to: Sender<Message>) -> Result<Self> {
        let (program, arguments) = argv.split_first().context("there is no program of members")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        tie(&mut command, None);
        let mut child = command
            .spawn()
            .with_context(|| format!("{program} cannot be started"))?;
        let pid = child.id();
        let (mut stdin, stdout, mut stderr) = (
            child.stdin.take().expect("piped"),
            child.stdout.take().expect("piped"),
            child.stderr.take().expect("piped"),
        );
        let mut line = serde_json::to_vec(settings)?;
        line.push(b'\n');
        let sent = stdin.write_all(&line).and_then(|()| stdin.flush());
        // Orders are shorter than what a pipe takes as a whole: where it is full, they are left out.
        fcntl_setfl(&stdin, OFlags::NONBLOCK)?;
        let last_words: Arc<Mutex<VecDeque<u8>>> = Arc::default();
        let kept = last_words.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = stderr.read(&mut piece) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&piece[..length]);
                let surplus = kept.len().saturating_sub(LAST_WORDS_BYTES);
                kept.drain(..surplus);
            }
        });
        std::thread::spawn(move || {
            let mut from = BufReader::with_capacity(BUFFER_BYTES, stdout);
            loop {
                let said = match next(&mut from) {
                    Ok(Some(frame)) => Said::Frame(frame),
                    Ok(None) => Said::End(None),
                    Err(error) => Said::End(Some(format!("{error:#}"))),
                };
                let ends = matches!(said, Said::End(_));
                if to.send(Message { who, pid, said }).is_err() || ends {
                    return;
                }
            }
        });
        let process = Self {
            pid,
            child,
            stdin: Some(stdin),
            last_words,
        };
        match sent {
            Ok(()) => Ok(process),
            Err(error) => bail!("a member took no settings ({error}): {}", process.last_words()),
        }
    }

    /// Sends a signal; one that is gone needs none.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        match kill_process(Pid::from_child(&self.child), signal) {
            Err(error) if error != rustix::io::Errno::SRCH => {
                Err(error).with_context(|| format!("member {} cannot be signalled", self.pid))
            }
            _ => Ok(()),
        }
    }

    /// Asks it to read nothing until then. One that is suspended or is ending takes no orders, and reads nothing anyway.
    pub fn hold(&mut self, until_ns: u64) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{until_ns}\n").as_bytes());
        }
    }

    /// Asks it to leave its group, and to end.
    pub fn leave(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end; kills it if that takes too long.
    pub fn end(mut self, most: Duration) -> Result<()> {
        let until = Instant::now() + most;
        while Instant::now() < until {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
        self.signal(Signal::KILL)?;
        self.child.wait()?;
        Ok(())
    }

    /// The end of what it wrote on stderr.
    pub fn last_words(&self) -> String {
        let mut kept = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous()).trim().to_owned()
    }
}
