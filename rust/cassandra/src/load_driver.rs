//! The CQL load driver: starts the threads of a trial and merges their findings. The threads are those of
//! `native_client` or `driver_client`.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use hydrotest_core::control::Control;
use hydrotest_core::draw::Draw;
use hydrotest_core::runs::Runs;
use hydrotest_core::threads::peak_memory_bytes;
use hydrotest_core::trial::{Prepared, Window, conduct};
use hydrotest_core::wire::Outcome;

use crate::account::{Findings, Recorders};
use crate::driver_client::DriverClient;
use crate::native_client::NativeClient;
use crate::recall::recalls;
use crate::row_values::Tables;
use crate::schema;
use crate::settings::{Client, Content, CqlSettings, Statement};
use crate::unchecked::Unchecked;

/// Runs the generator until its time is over. `None` if stopped before it began.
pub fn run(settings: &CqlSettings, control: &Control) -> Result<Option<Outcome>> {
    settings.content.check().map_err(anyhow::Error::msg)?;
    settings.load.check().map_err(anyhow::Error::msg)?;
    Draw::new(settings.keys.clone(), settings.seed, 0, 1).map_err(anyhow::Error::msg)?;
    let timeout = Duration::from_millis(settings.request_timeout_ms);
    let tables = Tables {
        schema: match &settings.content {
            Content::Standard { .. } => schema::Schema::new(),
            Content::Own { .. } => schema::read(&settings.cluster, &settings.keyspace, timeout)?,
        },
        filled: settings.filled,
        views_filled: settings.views_filled,
    };
    let mut threads: Vec<Prepared<Findings>> = Vec::new();
    for share in settings.load.own_shares() {
        threads.push(match settings.client {
            Client::Native => {
                let client = NativeClient::connect(settings, &tables, share)?;
                prepared(settings, move |window, recorders| client.work(window, recorders))
            }
            Client::Driver => {
                let client = DriverClient::connect(settings, share)?;
                prepared(settings, move |window, recorders| client.work(window, recorders))
            }
        });
    }
    let finished = conduct(control, settings.load.seconds, settings.load.nice, threads).map_err(anyhow::Error::msg)?;
    Ok(finished.map(|mut finished| {
        let mut outcome = Outcome {
            counts: finished.counts,
            started_wall_s: finished.started_wall_s,
            ended_wall_s: finished.ended_wall_s,
            memory_bytes_max: peak_memory_bytes(),
            ..Outcome::default()
        };
        let of_all = |found: &mut Findings| std::mem::take(&mut found.samples);
        let samples = finished.results.iter_mut().flat_map(of_all).collect();
        let untold = finished.results.first().map(|found| found.untold.clone());
        merge(finished.results, &settings.statements(), &mut outcome);
        if settings.recall_queries.is_some() {
            // No load is measured any more.
            let (told, mut others) = recalls(samples);
            others.extend(untold.into_iter().flatten());
            outcome.extra["recall"] = serde_json::json!(told);
            outcome.extra["recall_untold"] = serde_json::json!(others);
        }
        outcome
    }))
}

/// A thread that gets its recorders when it begins.
fn prepared(
    settings: &CqlSettings,
    work: impl FnOnce(Window, Recorders) -> Findings + Send + 'static,
) -> Prepared<Findings> {
    let statements = settings.statements();
    Box::new(move |window: &Window| {
        let (window, recorders) = (window.clone(), Recorders::new(window.start_ns, &statements));
        (recorders.channels(), Box::new(move || work(window, recorders)))
    })
}

fn merge(parts: Vec<Findings>, statements: &[Statement], outcome: &mut Outcome) {
    let (mut acked, mut attempted) = (Runs::default(), Runs::default());
    let (mut missing, mut corrupted, mut checked, mut further_pages) = (0, 0, 0, 0);
    let mut stamped = false;
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
        stamped |= part.is_stamped;
        outcome.counts.cap_hits += part.cap_hits;
        missing += part.missing;
        corrupted += part.corrupted;
        checked += part.checked;
        further_pages += part.further_pages;
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
        "further_pages": further_pages, "arrivals_by_kernel": stamped,
        "answered": answered, "not_applied": not_applied,
        "conditional": statements.iter().filter(|one| one.is_conditional).map(|one| &one.name).collect::<Vec<_>>(),
    });
}
