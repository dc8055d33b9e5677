//! The CQL generator: what it is told, and the account of what it did. The threads that work are `native` and `driver`.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use hydrotest_core::cluster::ClusterSettings;
use hydrotest_core::control::Control;
use hydrotest_core::draw::{Distribution, Draw};
use hydrotest_core::runs::Runs;
use hydrotest_core::threads::peak_memory_bytes;
use hydrotest_core::trial::{Prepared, Window, conduct};
use hydrotest_core::wire::{Outcome, Pressure};
use serde::{Deserialize, Serialize};

use crate::account::{Pressed, Recorders};
use crate::content::{Content, Statement, Tables};
use crate::driver::Driver;
use crate::native::Native;
use crate::schema;
use crate::unchecked::Unchecked;

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
    pub content: Content,
    /// Each row of the keys has been written before, and acknowledged: one that a read does not find is missing.
    pub filled: bool,
    pub consistency: String,
    pub keys: Distribution,
    pub seed: u64,
    /// End after this many operations, if that comes first (populating a table).
    pub operations: Option<u64>,
    /// Connections to each node, per thread.
    pub connections: usize,
    pub request_timeout_ms: u64,
    /// The longest time between two looks at the schedule: operations that fall due in it begin together. From 1 ms on answers
    /// too are taken in only that often, which costs least CPU, and lengthens response times by up to as much.
    pub tick_us: u64,
    /// The thread with share `i` writes as `writer + i`.
    pub writer: u32,
    pub pressure: Pressure,
}

impl CqlSettings {
    pub(crate) fn statements(&self) -> Vec<Statement> {
        self.content.statements(&self.keyspace)
    }
}

/// Runs the generator until its time is over. `None` if stopped before it began.
pub fn run(settings: &CqlSettings, control: &Control) -> Result<Option<Outcome>> {
    settings.content.check().map_err(anyhow::Error::msg)?;
    settings.pressure.check().map_err(anyhow::Error::msg)?;
    Draw::new(settings.keys, settings.seed, 0, 1).map_err(anyhow::Error::msg)?;
    let timeout = Duration::from_millis(settings.request_timeout_ms);
    let tables = Tables {
        schema: match &settings.content {
            Content::Standard { .. } => schema::Schema::new(),
            Content::Own { .. } => schema::read(&settings.cluster, &settings.keyspace, timeout)?,
        },
        filled: settings.filled,
    };
    let mut threads: Vec<Prepared<Pressed>> = Vec::new();
    for share in settings.pressure.own_shares() {
        threads.push(match settings.client {
            Client::Native => {
                let client = Native::connect(settings, &tables, share)?;
                prepared(settings, move |window, recorders| client.work(window, recorders))
            }
            Client::Driver => {
                let client = Driver::connect(settings, share)?;
                prepared(settings, move |window, recorders| client.work(window, recorders))
            }
        });
    }
    let finished =
        conduct(control, settings.pressure.seconds, settings.pressure.nice, threads).map_err(anyhow::Error::msg)?;
    Ok(finished.map(|finished| {
        let mut outcome = Outcome {
            counts: finished.counts,
            started_wall_s: finished.started_wall_s,
            ended_wall_s: finished.ended_wall_s,
            memory_bytes_max: peak_memory_bytes(),
            ..Outcome::default()
        };
        merge(finished.results, &settings.statements(), &mut outcome);
        outcome
    }))
}

/// A thread that is given its recorders when it begins.
fn prepared(
    settings: &CqlSettings,
    work: impl FnOnce(Window, Recorders) -> Pressed + Send + 'static,
) -> Prepared<Pressed> {
    let statements = settings.statements();
    Box::new(move |window: &Window| {
        let (window, recorders) = (window.clone(), Recorders::new(window.start_ns, &statements));
        (recorders.channels(), Box::new(move || work(window, recorders)))
    })
}

fn merge(parts: Vec<Pressed>, statements: &[Statement], outcome: &mut Outcome) {
    let (mut acked, mut attempted) = (Runs::default(), Runs::default());
    let (mut missing, mut corrupted, mut checked) = (0, 0, 0);
    let mut answered: BTreeMap<&str, u64> = statements.iter().map(|one| (one.name.as_str(), 0)).collect();
    let writes = statements.iter().filter(|one| one.is_write);
    let mut not_applied: BTreeMap<&str, u64> = writes.map(|one| (one.name.as_str(), 0)).collect();
    let mut unchecked = Vec::new();
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
        checked += part.checked;
        for (statement, count) in statements.iter().zip(part.answered) {
            *answered.entry(&statement.name).or_default() += count;
        }
        for (statement, count) in statements.iter().zip(part.not_applied) {
            if let Some(sum) = not_applied.get_mut(statement.name.as_str()) {
                *sum += count;
            }
        }
        Unchecked::merge(&mut unchecked, part.unchecked);
        for (start, end) in part.acked.to_vec() {
            acked.insert_range(start, end);
        }
        for (start, end) in part.attempted.to_vec() {
            attempted.insert_range(start, end);
        }
    }
    outcome.extra = serde_json::json!({
        "acked_keys": acked.to_vec(), "attempted_keys": attempted.to_vec(),
        "missing_reads": missing, "corrupted_reads": corrupted, "checked_reads": checked, "unchecked": unchecked,
        "answered": answered, "not_applied": not_applied,
    });
}
