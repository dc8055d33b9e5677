//! The messages between the controller and a node: one JSON object a line. Each side first sends its version
//! of this protocol (`Greeting`, `Event::Hello`), and refuses a different one. The controller then writes the
//! settings, then `{"command":"go",…}`; the node answers with events. Golden copies of these messages are in
//! `contract/messages/`, and the tests of both sides read them.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::arrival_process::{Arrivals, Stretch};

/// Raise it with every change that the other side would not understand, here and in
/// `python/hydrotest/hosts/protocol.py`.
pub const PROTOCOL: u32 = 4;

/// The controller's first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greeting {
    pub protocol: u32,
}

/// The load model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LoadModel {
    /// Operations start by a schedule of this many a second, whatever the system does.
    Open { rate_per_s: f64, arrivals: Arrivals },
    /// The same, at a rate that changes.
    Profile { stretches: Vec<Stretch> },
    /// At most this many operations are in flight; the next starts when one ends.
    Closed { in_flight: u64 },
}

/// The load of a generator, for every kind of system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSettings {
    pub model: LoadModel,
    /// Length of the trial in seconds, warm-up included.
    pub seconds: f64,
    /// A trial whose oldest unanswered operation is older than this is hopeless and ends early.
    pub give_up_s: Option<f64>,
    /// Maximum of an open loop's operations in flight, of all shares together; reaching it is reported and
    /// voids the trial.
    pub in_flight_max: u64,
    /// Generator threads of this node.
    pub threads: u32,
    /// The threads of all nodes of a workload share one schedule. Each keeps one of so many shares …
    pub shares: u32,
    /// … and this node's threads keep this one and those that follow it.
    pub first_share: u32,
    /// Requested scheduling priority (negative is higher); the `ready` event has the actual one.
    pub nice: i32,
}

impl LoadSettings {
    /// The shares that this node's threads keep.
    pub fn own_shares(&self) -> Range<u32> {
        self.first_share..self.first_share + self.threads
    }

    /// An error in words if no generator can offer this load.
    pub fn check(&self) -> Result<(), String> {
        let is_rate = |rate_per_s: f64| rate_per_s.is_finite() && rate_per_s >= 0.0;
        match &self.model {
            LoadModel::Open { rate_per_s, .. } if !(is_rate(*rate_per_s) && *rate_per_s > 0.0) => {
                Err(format!("a rate of {rate_per_s} a second cannot be offered"))
            }
            LoadModel::Profile { stretches } => stretches
                .iter()
                .find(|stretch| {
                    let is_time = stretch.seconds.is_finite() && stretch.seconds > 0.0;
                    !(is_time && is_rate(stretch.from_per_s) && is_rate(stretch.to_per_s))
                })
                .map_or(Ok(()), |stretch| Err(format!("{stretch:?} cannot be offered"))),
            LoadModel::Closed { in_flight: 0 } => Err("a closed loop needs at least one operation in flight".into()),
            _ if self.threads == 0 => Err("a generator needs at least one thread".into()),
            _ if self.own_shares().end > self.shares => {
                Err(format!("invalid shares {:?} of {}", self.own_shares(), self.shares))
            }
            _ => Ok(()),
        }
    }
}

/// A command from the controller after the settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Begin at this wall time, seconds since the epoch: the same for all generators of a trial. It is that of the
    /// controller's clock, as are all times that they report and write; theirs is ahead of it by `ahead_s`.
    Go { start_wall_s: f64, ahead_s: f64 },
    /// For a generator that reads others' records: they have ended, and nothing more will come.
    Written,
    /// End early, but report the results so far.
    Stop,
    /// For the sampler: follow the process tree of `pid` under the name `service`.
    Watch {
        service: String,
        pid: i32,
        gauges_url: Option<String>,
    },
    /// For the sampler: stop following it.
    Unwatch { service: String },
    /// For a supervisor: signal its service.
    Signal { name: SignalName },
    /// For a clock: report the time.
    Report,
    /// For a generator of consumer groups: do this with a member.
    Member { group: u32, member: u32, act: Act },
}

/// What is done with a member of a consumer group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// End its process at once.
    Kill,
    /// Let it leave its group, and end, in good order.
    Leave,
    /// Suspend its process, with every connection open.
    Pause,
    /// Let it go on.
    Resume,
    /// Start it again.
    Join,
}

/// The signals that can be sent to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalName {
    /// SIGTERM: end in good order.
    Term,
    /// SIGKILL: end at once.
    Kill,
    /// SIGSTOP: pause, with every connection open.
    Stop,
    /// SIGCONT: resume.
    Cont,
}

/// CPU use of one of the node's own threads: raw counters since the thread began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadUse {
    pub name: String,
    pub cpu_ns: u64,
    /// Time spent runnable but waiting for a core (`/proc/self/task/*/schedstat`).
    pub run_delay_ns: u64,
}

/// Counters of a generator, cumulative since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    pub started: u64,
    pub completed: u64,
    pub failed: u64,
    pub bytes: u64,
    /// Operations that count as started, but held nothing for this generator. For a reader: markers of
    /// transactions, and aborted records. They are neither completed nor in flight.
    #[serde(default)]
    pub skipped: u64,
    /// Times an open loop found the in-flight cap reached.
    pub cap_hits: u64,
}

impl Counts {
    /// Operations started and not yet ended.
    pub fn in_flight(&self) -> u64 {
        self.started.saturating_sub(self.completed + self.failed + self.skipped)
    }
}

/// An event of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first event of every node.
    Hello { protocol: u32 },
    /// The time of this host's clock.
    Clock { wall_s: f64 },
    /// The state of a cluster; `error`, where it cannot be seen now.
    Looked { result: serde_json::Value },
    /// Connected and prepared; waits for `go`.
    Ready { pid: u32, nice: i32, real_time: bool },
    /// Second 0 began at this wall time.
    Started { wall_s: f64 },
    /// Cumulative counters at the end of a second.
    Second {
        wall_s: f64,
        counts: Counts,
        /// Operations in flight, ten equally spaced readings of the past second, oldest first.
        in_flight: Vec<u64>,
        /// Operations completed, read at the same moments.
        completed: Vec<u64>,
        /// Operations failed, read at the same moments.
        #[serde(default)]
        failed: Vec<u64>,
        /// When they were read, in seconds since second 0: a delayed reporter reads later.
        #[serde(default)]
        at_s: Vec<f64>,
        p99_ms: Option<f64>,
        threads: Vec<ThreadUse>,
    },
    /// One line of an HdrHistogram interval log (values in microseconds); `op` is null for all operations together.
    Histogram {
        which: String,
        op: Option<String>,
        line: String,
    },
    /// What was asked of a member of a consumer group is done: its process is gone or suspended (`is_there` is false), or
    /// it goes on or has its first partitions.
    Member { group: u32, member: u32, is_there: bool },
    /// A service's process began.
    Spawned { pid: i32 },
    /// A service's process ended; `signal` when one ended it. `cpu_s` is the CPU time of it and its
    /// waited-for children.
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
        cpu_s: f64,
    },
    /// One reading of a host.
    Sample {
        wall_s: f64,
        #[serde(flatten)]
        body: serde_json::Value,
    },
    /// The node's work is over, with its result.
    Done { result: serde_json::Value },
    /// The node cannot go on; the reason, in the original words.
    Failed { error: String },
}

/// A generator's results besides its histograms. Each target adds its own under `extra`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Counters at the end of the trial's last second.
    pub counts: Counts,
    /// Wall time of second 0 and of the end of the load, seconds since the epoch.
    pub started_wall_s: f64,
    pub ended_wall_s: f64,
    /// Errors by the system's own name for them.
    pub errors: BTreeMap<String, u64>,
    /// Operations still unanswered when the load ended; they are in the histograms at their age.
    pub unanswered: u64,
    /// The number of these that were completed while draining.
    pub completed_late: u64,
    /// Latencies that no histogram could hold.
    pub overflows: u64,
    /// True when the trial ended early because of `give_up_s`.
    pub gave_up: bool,
    /// The peak resident memory of the node, in bytes.
    pub memory_bytes_max: u64,
    /// The report of this kind of generator only.
    pub extra: serde_json::Value,
}

/// Writes one event as a line on stdout and flushes it. A closed stdout means that the controller is gone;
/// the node then ends at once.
pub fn emit(event: &Event) {
    let mut line = serde_json::to_string(event).expect("events are plain data");
    line.push('\n');
    let mut out = std::io::stdout().lock();
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(3);
    }
}
