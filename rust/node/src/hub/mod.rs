//! The one process of a host that the controller speaks to: all nodes there, files and ports go through its
//! stdin and stdout. When the controller is gone, or has not been heard of for the time of the lease, it ends
//! everything that it has started, and itself.

mod claims;
mod files;
pub mod frames;
mod ports;
pub mod processes;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hydrotest_core::control::read_settings;
use rustix::process::{getpid, getuid};
use serde::Deserialize;
use serde_json::{Value, json};

use self::files::Input;
use self::frames::{Header, Outbox, Reply, Request};
use self::processes::Processes;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Time without a word from the controller after which everything ends; null where the end of stdin always
    /// comes, on the controller's own machine.
    lease_s: Option<f64>,
}

const LEASE_POLL: Duration = Duration::from_millis(100);

/// What all threads of a hub share.
pub struct Hub {
    out: Outbox,
    processes: Processes,
    /// Where `Request::Input` goes, by id.
    inputs: Mutex<HashMap<u64, Sender<Input>>>,
    ports: Mutex<Vec<OwnedFd>>,
    claims: Mutex<HashMap<PathBuf, File>>,
    heard: Mutex<Instant>,
}

/// Serves the controller until it is gone.
pub fn run() -> Result<(), String> {
    let settings: Settings = read_settings()?;
    let hub = Arc::new(Hub {
        out: Outbox::default(),
        processes: Processes::default(),
        inputs: Mutex::default(),
        ports: Mutex::default(),
        claims: Mutex::default(),
        heard: Mutex::new(Instant::now()),
    });
    // Not by std's stdout: a fault in hydrotest itself is reported there, and must not wait for us.
    let stdout = rustix::io::fcntl_dupfd_cloexec(std::io::stdout(), 3)
        .map_err(|error| format!("stdout cannot be kept: {error}"))?;
    hub.thread("output", |hub| hub.out.write_to(File::from(stdout)));
    if let Some(lease_s) = settings.lease_s {
        let lease = Duration::try_from_secs_f64(lease_s).map_err(|error| format!("a lease of {lease_s} s: {error}"))?;
        hub.thread("lease", move |hub| {
            while held(&hub.heard).elapsed() < lease {
                std::thread::sleep(LEASE_POLL);
            }
            hub.end();
            std::process::exit(0);
        });
    }
    hub.out.send(0, ready(), &[]);
    let mut stdin = std::io::stdin().lock();
    let ended = loop {
        match frames::read(&mut stdin) {
            Ok(Some((header, body))) => {
                *held(&hub.heard) = Instant::now();
                hub.serve(header, body);
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    hub.end();
    ended
}

fn ready() -> Reply {
    Reply::Ready {
        pid: getpid().as_raw_nonzero().get().unsigned_abs(),
        uid: getuid().as_raw(),
        home: std::env::home_dir().unwrap_or_else(|| "/".into()),
        arch: std::env::consts::ARCH.into(),
        host_name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
    }
}

impl Hub {
    /// Starts a thread of this hub. What takes its time has one of its own, so that the hub always listens.
    fn thread(self: &Arc<Self>, name: &str, body: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let hub = Arc::clone(self);
        std::thread::Builder::new()
            .name(name.into())
            .spawn(move || body(&hub))
            .expect("a thread can be started");
    }

    fn serve(self: &Arc<Self>, Header { id, message, .. }: Header<Request>, body: Vec<u8>) {
        match message {
            Request::Beat => self.out.send_now(id, Reply::Beat, &[]),
            Request::Start { argv, grace_s } => {
                if let Err(error) = processes::start(self, id, &argv, grace_s) {
                    self.out.answer(id, Err(error));
                }
            }
            Request::Input => {
                let input = self.inputs().get(&id).cloned();
                if input.is_none_or(|input| input.send(Input::Data(body)).is_err()) {
                    self.out.answer(id, Err(io::Error::from_raw_os_error(libc::EPIPE)));
                }
            }
            Request::EndInput => {
                if let Some(input) = self.inputs().remove(&id) {
                    // Without a receiver there is nothing to end.
                    let _ = input.send(Input::End);
                }
            }
            Request::Abandon => drop(self.inputs().remove(&id)),
            Request::Kill => self.processes.kill(id),
            Request::Put { path, mode } => {
                let (sender, input) = channel();
                self.inputs().insert(id, sender);
                self.thread("upload", move |hub| files::upload(&hub.out, id, &path, mode, &input));
            }
            Request::Get { path, start } => {
                self.thread("file", move |hub| {
                    hub.out.answer(id, files::get(&hub.out, id, &path, start))
                });
            }
            Request::Reserve { port } => {
                let holder = ports::reserve(port);
                let is_free = holder.is_some();
                held(&self.ports).extend(holder);
                self.out.answer(id, Ok(json!(is_free)));
            }
            question => self.thread("question", move |hub| {
                let answer = match question {
                    Request::Append { path } => files::append(&path, &body),
                    Request::Size { path } => files::size(&path),
                    Request::Glob { folder, pattern } => files::find(&folder, &pattern),
                    Request::MakeFolder { path, mode } => files::make_folder(&path, mode),
                    Request::Remove { path } => files::remove(&path),
                    Request::Holder { address, port } => ports::holder(&address, port),
                    Request::Claim { path } => hub.claim(path),
                    Request::Release { path } => hub.release(&path),
                    Request::Sweep { root } => claims::sweep(&root),
                    Request::Resolve { path } => claims::resolved(&path).map(|path| json!(path)),
                    other => unreachable!("{other:?} is served above"),
                };
                hub.out.answer(id, answer);
            }),
        }
    }

    fn claim(&self, path: PathBuf) -> io::Result<Value> {
        let held_open = claims::claim(&path)?;
        held(&self.claims).insert(path, held_open);
        Ok(Value::Null)
    }

    fn release(&self, path: &Path) -> io::Result<Value> {
        // Only what this hub has made itself.
        let held_open = held(&self.claims).remove(path).ok_or(io::ErrorKind::PermissionDenied)?;
        claims::remove(path)?;
        drop(held_open);
        Ok(Value::Null)
    }

    /// Ends all processes: their stdin ends, and those that take too long are killed.
    fn end(&self) {
        self.out.close();
        self.inputs().clear();
        self.processes.end();
    }

    fn inputs(&self) -> MutexGuard<'_, HashMap<u64, Sender<Input>>> {
        held(&self.inputs)
    }
}

/// Plain data, which a panicking thread cannot leave half-written.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
