//! What controller and hub say to each other: a header, one JSON line, then as many bytes as it announces.
//! Golden copies are in `contract/messages/hub-*.jsonl`; the tests of both sides read them.

use std::collections::VecDeque;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest body. What is longer comes in several frames.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// What may wait to be sent; a process that says more waits.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// A message to the hub. `id` names what it is about: a process, an upload, or a question; 0 is the hub itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header<T> {
    pub id: u64,
    /// Length of the body that follows.
    #[serde(default)]
    pub bytes: usize,
    #[serde(flatten)]
    pub message: T,
}

/// A request of the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Request {
    /// The controller is there; answered by `Reply::Beat`.
    Beat,
    /// Start a process. An empty first word means this very binary. `grace_s`: time between the end of its
    /// stdin and its own end, at most.
    Start { argv: Vec<String>, grace_s: f64 },
    /// The body is input of a process, or the next piece of an upload.
    Input,
    /// The input is complete: closes stdin, or puts the uploaded file in its place.
    EndInput,
    /// Give an upload up; what was there before stays.
    Abandon,
    /// End a process by SIGKILL.
    Kill,
    /// Write a file, which comes as `Input`; it appears complete or not at all.
    Put { path: PathBuf, mode: u32 },
    /// Write the body at the end of a file.
    Append { path: PathBuf },
    /// The bytes of a file from `start` on, as `Reply::Piece`.
    Get { path: PathBuf, start: u64 },
    /// A file's size; null if there is no file of that name.
    Size { path: PathBuf },
    /// Paths below a folder that match a pattern.
    Glob { folder: PathBuf, pattern: String },
    /// Make a folder with its parents.
    MakeFolder { path: PathBuf, mode: u32 },
    /// Remove a file or a folder.
    Remove { path: PathBuf },
    /// Make a run's folder, and keep it locked until the hub ends.
    Claim { path: PathBuf },
    /// Remove a claimed folder with all that is in it.
    Release { path: PathBuf },
    /// Remove what killed runs left below a data root; answered with the names.
    Sweep { root: PathBuf },
    /// A path without links, of a file that may not be there yet.
    Resolve { path: PathBuf },
    /// Keep a TCP port until the hub ends; false if it is taken.
    Reserve { port: u16 },
    /// Who listens on a port; null if nobody does.
    Holder { address: String, port: u16 },
}

/// What the hub says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum Reply {
    /// The first: who it is there.
    Ready {
        pid: u32,
        uid: u32,
        home: PathBuf,
        arch: String,
        host_name: String,
    },
    /// The answer to `Request::Beat`.
    Beat,
    /// A process has begun.
    Started { pid: u32 },
    /// The body is from a process's stdout …
    Out,
    /// … which has ended …
    OutEnd,
    /// … or from its stderr …
    Err,
    /// … which has ended.
    ErrEnd,
    /// A process has ended.
    Exited { code: Option<i32>, signal: Option<i32> },
    /// So many bytes of input are taken in.
    Taken { taken: usize },
    /// The body is a piece of a file.
    Piece,
    /// The answer to a question.
    Done { result: Value },
    /// It cannot be done; with the system's own number for the reason, where there is one.
    Failed { errno: Option<i32>, error: String },
}

/// A request with its body.
pub type Frame = (Header<Request>, Vec<u8>);

/// The next request; None at the end of the input.
pub fn read(from: &mut impl BufRead) -> Result<Option<Frame>, String> {
    let mut line = String::new();
    match from.read_line(&mut line) {
        Ok(0) => return Ok(None),
        Ok(_) if !line.ends_with('\n') => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(format!("stdin cannot be read: {error}")),
    }
    let header: Header<Request> = serde_json::from_str(&line).map_err(|error| format!("unknown request: {error}"))?;
    if header.bytes > BODY_BYTES_MAX {
        return Err(format!("a body of {} bytes is longer than any", header.bytes));
    }
    let mut body = vec![0; header.bytes];
    match from.read_exact(&mut body) {
        Ok(()) => Ok(Some((header, body))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(format!("stdin cannot be read: {error}")),
    }
}

/// What waits to be sent, in order. Once it is closed nothing is sent any more, and nobody waits: processes
/// that speak to a controller that is gone must be able to end.
#[derive(Default)]
pub struct Outbox {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    is_closed: bool,
}

impl Outbox {
    /// Sends a reply; waits while too much waits already.
    pub fn send(&self, id: u64, message: Reply, body: &[u8]) {
        let queue = self.queue();
        let queue = self
            .changed
            .wait_while(queue, |queue| queue.bytes > WAITING_BYTES_MAX && !queue.is_closed);
        drop(queue.unwrap_or_else(PoisonError::into_inner));
        self.send_now(id, message, body);
    }

    /// Sends a reply and does not wait: for the thread that listens, which must not be held up by those that speak.
    pub fn send_now(&self, id: u64, message: Reply, body: &[u8]) {
        let bytes = body.len();
        let mut frame = serde_json::to_vec(&Header { id, bytes, message }).expect("replies are plain data");
        frame.push(b'\n');
        frame.extend_from_slice(body);
        let mut queue = self.queue();
        if !queue.is_closed {
            queue.bytes += frame.len();
            queue.frames.push_back(frame);
            self.changed.notify_all();
        }
    }

    /// Sends an answer or a refusal.
    pub fn answer(&self, id: u64, answer: io::Result<Value>) {
        self.send_now(
            id,
            answer.map_or_else(|error| refusal(&error), |result| Reply::Done { result }),
            &[],
        );
    }

    /// Writes what is sent until it is closed; closes it when nobody reads any more.
    pub fn write_to(&self, mut out: impl Write) {
        loop {
            let frames = {
                let mut queue = self.queue();
                while queue.frames.is_empty() && !queue.is_closed {
                    queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                if queue.is_closed {
                    return;
                }
                queue.bytes = 0;
                self.changed.notify_all();
                std::mem::take(&mut queue.frames)
            };
            let written = frames.iter().try_for_each(|frame| out.write_all(frame));
            if written.and_then(|()| out.flush()).is_err() {
                self.close();
            }
        }
    }

    /// From here on all that is sent is dropped.
    pub fn close(&self) {
        let mut queue = self.queue();
        queue.is_closed = true;
        queue.frames.clear();
        self.changed.notify_all();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error of the system as a reply.
pub fn refusal(error: &io::Error) -> Reply {
    Reply::Failed {
        errno: error.raw_os_error(),
        error: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    fn round_trips<T: DeserializeOwned + Serialize>(name: &str) {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract/messages");
        let text = std::fs::read_to_string(folder.join(name)).expect("the golden messages are there");
        for line in text.lines() {
            let parsed: Header<T> = serde_json::from_str(line).expect("the message is understood");
            let again = serde_json::to_value(&parsed).expect("messages are plain data");
            assert_eq!(again, serde_json::from_str::<Value>(line).unwrap());
        }
    }

    #[test]
    fn both_sides_say_what_is_agreed() {
        round_trips::<Request>("hub-requests.jsonl");
        round_trips::<Reply>("hub-replies.jsonl");
    }

    #[test]
    fn input_that_ends_within_a_frame_is_the_end() {
        let whole = b"{\"id\":1,\"bytes\":3,\"ask\":\"input\"}\nabc";
        let (header, body) = read(&mut &whole[..]).unwrap().expect("it is whole");
        assert_eq!((header.id, header.message, body), (1, Request::Input, b"abc".to_vec()));
        for length in 0..whole.len() {
            assert_eq!(read(&mut &whole[..length]), Ok(None), "{length}");
        }
    }

    #[test]
    fn what_is_no_request_or_too_long_is_refused() {
        for line in [
            "dance\n",
            "{\"id\":1,\"ask\":\"dance\"}\n",
            "{\"id\":1,\"bytes\":9999999,\"ask\":\"input\"}\n",
        ] {
            assert!(read(&mut line.as_bytes()).is_err(), "{line}");
        }
    }

    #[test]
    fn a_closed_outbox_holds_nobody_up() {
        let out = Outbox::default();
        let piece = vec![0; BODY_BYTES_MAX];
        std::thread::scope(|scope| {
            scope.spawn(|| (0..20).for_each(|_| out.send(1, Reply::Out, &piece)));
            while out.queue().bytes <= WAITING_BYTES_MAX {
                std::thread::yield_now();
            }
            out.close();
        });
        assert!(out.queue().frames.is_empty());
    }
}
