//! The producing generator: what it is told, and the account of what it did. The thread that works is `producer`.

use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use hydrotest_core::cluster::ClusterSettings;
use hydrotest_core::control::Control;
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::Channel;
use hydrotest_core::threads::peak_memory_bytes;
use hydrotest_core::trial::{Finished, Prepared, Window, conduct};
use hydrotest_core::wire::{Outcome, Pressure};
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::admin::leaders;
use crate::compression::Codec;
use crate::payload::PRODUCERS_MAX;
use crate::producer::{Produced, Producer};
use crate::record::RecordSettings;
use crate::throttle::Throttled;
use crate::transaction::TransactionSettings;

/// What to produce, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProduceSettings {
    pub cluster: ClusterSettings,
    pub topic: String,
    pub records: RecordSettings,
    pub codec: Codec,
    /// 1, −1 for all in-sync replicas, or 0 for none: then nobody is told of a loss, and records are at their end when they
    /// have left.
    pub acks: i16,
    /// The broker stores each batch once, in the order of their sequences (Kafka's `enable.idempotence`); with `acks` −1.
    pub idempotent: bool,
    /// Records are put into transactions; needs `idempotent`.
    pub transactions: Option<TransactionSettings>,
    /// A batch is sent when it has this many bytes …
    pub batch_bytes: usize,
    /// … or when its first record has waited this long.
    pub linger_ms: f64,
    /// Requests a connection may have unanswered (Kafka's `max.in.flight.requests.per.connection`).
    pub requests_in_flight: usize,
    /// Send again, until the trial is over, what a lost connection or a passing refusal left without an answer. Such records
    /// may be stored twice, unless the producer is idempotent. Without it a lost connection ends the trial.
    pub retries: bool,
    /// The thread with share `i` is producer `producer + i`.
    pub producer: u32,
    pub pressure: Pressure,
}

/// Acknowledged sequences of one producer in one partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acked {
    pub producer: u32,
    pub partition: i32,
    /// Records given a sequence, acknowledged or not.
    pub sent: u64,
    pub runs: Vec<(u64, u64)>,
    /// Where the newest of them lie: (first sequence, end, first offset).
    pub places: Vec<(u64, u64, i64)>,
}

/// Runs the generator until its time is over. `None` if stopped before it began.
pub fn run(settings: &ProduceSettings, control: &Control) -> Result<Option<Outcome>> {
    settings.records.check()?;
    ensure!(
        !settings.idempotent || settings.acks == -1,
        "an idempotent producer needs the acknowledgement of all replicas"
    );
    ensure!(
        settings.transactions.is_none() || settings.idempotent,
        "a transactional producer is idempotent too"
    );
    ensure!(
        settings.producer + settings.pressure.shares <= PRODUCERS_MAX,
        "producer ids end at {PRODUCERS_MAX}"
    );
    settings.pressure.check().map_err(anyhow::Error::msg)?;
    let access = Access::new(&settings.cluster)?;
    let leaders = leaders(&mut access.open_any()?, &settings.topic)?;
    let mut threads: Vec<Prepared<Produced>> = Vec::new();
    for share in settings.pressure.own_shares() {
        let mut producer = Producer::connect(settings, &access, share, &leaders)?;
        threads.push(Box::new(move |window: &Window| {
            let recorder = Arc::new(Mutex::new(Recorder::new(window.start_ns)));
            let channel = Channel {
                op: None,
                recorder: recorder.clone(),
            };
            producer.begin(window.clone(), recorder);
            (vec![channel], Box::new(move || producer.work()))
        }));
    }
    let finished =
        conduct(control, settings.pressure.seconds, settings.pressure.nice, threads).map_err(anyhow::Error::msg)?;
    Ok(finished.map(|finished| into_outcome(finished, settings.acks != 0)))
}

fn into_outcome(finished: Finished<Produced>, acknowledges: bool) -> Outcome {
    let mut outcome = Outcome {
        counts: finished.counts,
        started_wall_s: finished.started_wall_s,
        ended_wall_s: finished.ended_wall_s,
        memory_bytes_max: peak_memory_bytes(),
        ..Outcome::default()
    };
    let mut acked = Vec::new();
    let (mut resent, mut committed, mut aborted) = (0, 0, 0);
    let mut throttled = Throttled::default();
    let mut fatal = None;
    for part in finished.results {
        for (name, count) in part.errors {
            *outcome.errors.entry(name).or_default() += count;
        }
        outcome.unanswered += part.unanswered;
        outcome.completed_late += part.completed_late;
        outcome.overflows += part.overflows;
        outcome.gave_up |= part.driven.gave_up;
        outcome.counts.cap_hits += part.driven.cap_hits;
        acked.extend(part.acked);
        resent += part.resent;
        throttled.add(part.throttled);
        committed += part.committed;
        aborted += part.aborted;
        fatal = fatal.or(part.fatal);
    }
    outcome.extra = serde_json::json!({
        "acked": acked, "acknowledges": acknowledges, "resent": resent, "throttled": throttled,
        "transactions": { "committed": committed, "aborted": aborted }, "fatal": fatal,
    });
    outcome
}
