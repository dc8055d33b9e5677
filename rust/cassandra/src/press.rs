//! The CQL generator: what it is told, and the account of what it did. The threads that work are `native` and `driver`.

use anyhow::Result;
use hydrotest_core::cluster::ClusterSettings;
use hydrotest_core::control::Control;
use hydrotest_core::draw::{Distribution, Draw};
use hydrotest_core::runs::Runs;
use hydrotest_core::trial::{Prepared, Window, conduct};
use hydrotest_core::wire::{Outcome, Pressure};
use serde::{Deserialize, Serialize};

use crate::account::{Pressed, Recorders};
use crate::driver::Driver;
use crate::native::Native;
use crate::rows::RowShape;

/// Who speaks with the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Client {
    /// The protocol itself, from one thread without hand-overs.
    Native,
    /// The `scylla` driver, as an application would.
    Driver,
}

/// What to press with, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CqlSettings {
    pub client: Client,
    pub cluster: ClusterSettings,
    pub keyspace: String,
    pub shape: RowShape,
    pub consistency: String,
    /// Share of writes among the operations, 0 to 1.
    pub write_share: f64,
    pub keys: Distribution,
    pub seed: u64,
    /// End after this many operations, if that comes first (populating a table).
    pub operations: Option<u64>,
    /// Connections to each node, per thread.
    pub connections: usize,
    pub request_timeout_ms: u64,
    /// Id of the first thread as a writer.
    pub writer: u32,
    pub pressure: Pressure,
}

impl CqlSettings {
    /// Writes one row: the key, then all columns.
    pub(crate) fn insert_statement(&self) -> String {
        let marks = vec!["?"; self.shape.columns + 1].join(", ");
        format!(
            "INSERT INTO {} (key, {}) VALUES ({marks})",
            self.table(),
            self.columns()
        )
    }

    /// Reads all columns of the row of a key.
    pub(crate) fn select_statement(&self) -> String {
        format!("SELECT {} FROM {} WHERE key = ?", self.columns(), self.table())
    }

    fn table(&self) -> String {
        format!("{}.standard1", self.keyspace)
    }

    fn columns(&self) -> String {
        let names: Vec<String> = (0..self.shape.columns).map(|column| format!("\"C{column}\"")).collect();
        names.join(", ")
    }
}

/// Runs the generator until its time is over. `None` if stopped before it began.
pub fn run(settings: &CqlSettings, control: &Control) -> Result<Option<Outcome>> {
    settings.shape.check().map_err(anyhow::Error::msg)?;
    settings.pressure.check().map_err(anyhow::Error::msg)?;
    Draw::new(settings.keys, settings.seed, 0, 1).map_err(anyhow::Error::msg)?;
    let mut threads: Vec<Prepared<Pressed>> = Vec::new();
    for share in 0..settings.pressure.threads {
        threads.push(match settings.client {
            Client::Native => {
                let client = Native::connect(settings, share)?;
                prepared(move |window, recorders| client.work(window, recorders))
            }
            Client::Driver => {
                let client = Driver::connect(settings, share)?;
                prepared(move |window, recorders| client.work(window, recorders))
            }
        });
    }
    let finished = conduct(control, settings.pressure.seconds, settings.pressure.nice, threads);
    Ok(finished.map(|finished| {
        let mut outcome = Outcome {
            counts: finished.counts,
            started_wall_s: finished.started_wall_s,
            ended_wall_s: finished.ended_wall_s,
            ..Outcome::default()
        };
        merge(finished.results, &mut outcome);
        outcome
    }))
}

/// A thread that is given its recorders when it begins.
fn prepared(work: impl FnOnce(Window, Recorders) -> Pressed + Send + 'static) -> Prepared<Pressed> {
    Box::new(move |window: &Window| {
        let (window, recorders) = (window.clone(), Recorders::new(window.start_ns));
        (recorders.channels(), Box::new(move || work(window, recorders)))
    })
}

fn merge(parts: Vec<Pressed>, outcome: &mut Outcome) {
    let (mut acked, mut attempted) = (Runs::default(), Runs::default());
    let (mut missing, mut corrupted, mut writes, mut reads) = (0, 0, 0, 0);
    for part in parts {
        for (name, count) in part.errors {
            *outcome.errors.entry(name).or_default() += count;
        }
        outcome.unanswered += part.unanswered;
        outcome.completed_late += part.completed_late;
        outcome.overflows += part.overflows;
        outcome.gave_up |= part.gave_up;
        outcome.counts.cap_hits += part.cap_hits;
        missing += part.missing;
        corrupted += part.corrupted;
        writes += part.writes;
        reads += part.reads;
        for (start, end) in part.acked.to_vec() {
            acked.insert_range(start, end);
        }
        for (start, end) in part.attempted.to_vec() {
            attempted.insert_range(start, end);
        }
    }
    outcome.extra = serde_json::json!({
        "acked_keys": acked.to_vec(), "attempted_keys": attempted.to_vec(),
        "missing_reads": missing, "corrupted_reads": corrupted, "writes": writes, "reads": reads,
    });
}
