//! The producing generator: starts the threads of a trial (`producer`) and merges their findings.

use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use hydrotest_core::control::Control;
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::Channel;
use hydrotest_core::threads::peak_memory_bytes;
use hydrotest_core::trial::{Finished, Prepared, Window, conduct};
use hydrotest_core::wire::Outcome;

use crate::access::Access;
use crate::partitions::leaders;
use crate::producer::{Produced, Producer};
use crate::settings::ProduceSettings;
use crate::throttle::Throttled;
use crate::topics::names;

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
    settings.load.check().map_err(anyhow::Error::msg)?;
    let access = Access::new(&settings.cluster)?;
    let leaders = leaders(&mut access.open_any()?, &names(&settings.topic, settings.topics))?;
    let mut threads: Vec<Prepared<Produced>> = Vec::new();
    for share in settings.load.own_shares() {
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
    let finished = conduct(control, settings.load.seconds, settings.load.nice, threads).map_err(anyhow::Error::msg)?;
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
    let mut slept = false;
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
        slept |= part.slept;
        committed += part.committed;
        aborted += part.aborted;
        fatal = fatal.or(part.fatal);
    }
    outcome.extra = serde_json::json!({
        "acked": acked, "acknowledges": acknowledges, "resent": resent, "throttled": throttled, "arrivals_by_kernel": slept,
        "transactions": { "committed": committed, "aborted": aborted }, "fatal": fatal,
    });
    outcome
}
