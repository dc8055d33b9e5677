//! One producing thread: it schedules, encodes, sends, and takes acknowledgements in. A record's path has no
//! lock and no hand-over between threads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::drive::{Driven, Limits, Pace, Target, drive};
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::lock;
use hydrotest_core::schedule::Schedule;
use hydrotest_core::trial::Window;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::client::{Clients, Now};
use crate::compression::Codec;
use crate::flight::{Records, record_span};
use crate::partitions::Leaders;
use crate::payload::tagged;
use crate::record::RecordGenerator;
use crate::record_accumulator::End;
use crate::settings::ProduceSettings;
use crate::throttle::Throttled;

/// How long to wait for acknowledgements after the load has ended.
const DRAIN_NS: u64 = 15_000_000_000;
/// Checks of the schedule per linger: a record waits at most a fifth of it before it is handed to its batch.
const LOOKS_PER_LINGER: f64 = 5.0;
const TICK_NS_MIN: f64 = 100_000.0;
const TICK_NS_MAX: f64 = 1_000_000.0;

/// Acknowledged sequences of one producer in one partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acked {
    pub producer: u32,
    pub partition: i32,
    /// Records given a sequence, acknowledged or not.
    pub sent: u64,
    pub runs: Vec<(u64, u64)>,
    /// Offsets of the newest of them: (first sequence, end, first offset).
    pub places: Vec<(u64, u64, i64)>,
}

/// The findings of one thread.
pub(crate) struct Produced {
    pub(crate) driven: Driven,
    pub(crate) acked: Vec<Acked>,
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) unanswered: u64,
    pub(crate) completed_late: u64,
    pub(crate) overflows: u64,
    /// Records sent more than once: after a lost connection or a refusal their state was unknown.
    pub(crate) resent: u64,
    pub(crate) throttled: Throttled,
    /// Number of transactions.
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    pub(crate) fatal: Option<String>,
}

pub(crate) struct Producer {
    settings: ProduceSettings,
    share: u64,
    generator: RecordGenerator,
    clients: Clients,
    in_flight: u64,
    completed_late: u64,
    ended: bool,
    schedule: Option<Schedule>,
    errors: BTreeMap<String, u64>,
    window: Option<Window>,
    recorder: Arc<Mutex<Recorder>>,
}

impl Producer {
    pub(crate) fn connect(settings: &ProduceSettings, access: &Access, share: u32, leaders: &Leaders) -> Result<Self> {
        Ok(Self {
            share: u64::from(share),
            generator: RecordGenerator::new(
                &settings.records,
                settings.codec != Codec::None,
                settings.producer + share,
                u64::from(share),
                u64::from(settings.load.shares),
            )?,
            clients: Clients::connect(settings, access, share, leaders)?,
            in_flight: 0,
            completed_late: 0,
            ended: false,
            schedule: None,
            errors: BTreeMap::new(),
            window: None,
            recorder: Arc::new(Mutex::new(Recorder::new(0))),
            settings: settings.clone(),
        })
    }

    pub(crate) fn begin(&mut self, window: Window, recorder: Arc<Mutex<Recorder>>) {
        self.recorder = recorder;
        self.window = Some(window);
    }

    fn window(&self) -> &Window {
        self.window.as_ref().expect("begin comes before work")
    }

    /// The thread's complete life: load, account for unanswered records, drain.
    pub(crate) fn work(mut self) -> Produced {
        let load = self.settings.load.clone();
        let window = self.window().clone();
        let tick = (self.settings.linger_ms * 1e6 / LOOKS_PER_LINGER).clamp(TICK_NS_MIN, TICK_NS_MAX);
        let limits = Limits::of(&load, window.end_ns, tick as u64);
        let pace = Pace::of(&load, window.start_ns, self.share);
        self.schedule = pace.schedule();
        let (driven, mut fatal) = match drive(&mut self, pace, limits, &window.stop) {
            Ok(driven) => (driven, None),
            Err(error) => (Driven::default(), Some(format!("{error:#}"))),
        };
        window.load_ended();
        let unanswered = self.in_flight + driven.unstarted;
        self.age_unanswered(driven);
        if fatal.is_none() {
            fatal = self.drain().err().map(|error| format!("{error:#}"));
        }
        let overflows = lock(&self.recorder).overflows();
        let is_log = !self.settings.records.levels.is_empty();
        let (mut acked, mut resent, mut throttled) = (Vec::new(), 0, Throttled::default());
        let (mut committed, mut aborted) = (0, 0);
        for client in self.clients.iter() {
            let (id, accumulator) = (client.id, &client.accumulator);
            acked.extend(accumulator.partitions.iter().map(|partition| Acked {
                producer: if is_log { tagged(id, partition.index) } else { id },
                partition: partition.index,
                sent: partition.next_sequence,
                runs: partition.acked.to_vec(),
                places: partition.offsets.to_vec(),
            }));
            resent += accumulator.resent;
            throttled.add(accumulator.throttled);
            committed += accumulator.transactions.as_ref().map_or(0, |one| one.committed);
            aborted += accumulator.transactions.as_ref().map_or(0, |one| one.aborted);
        }
        Produced {
            driven,
            acked,
            unanswered,
            completed_late: self.completed_late,
            overflows,
            resent,
            throttled,
            committed,
            aborted,
            fatal,
            errors: self.errors,
        }
    }

    /// Records that are started or due and unanswered count with their age: a stall at the end is not lost.
    fn age_unanswered(&mut self, driven: Driven) {
        self.ended = true;
        let now = monotonic_ns().min(self.window().end_ns);
        let mut recorder = lock(&self.recorder);
        for span in self.clients.under_way().flat_map(|records| &records.spans) {
            record_span(&mut recorder, self.schedule.as_ref(), *span, now);
        }
        if let Some(schedule) = &self.schedule {
            for op in driven.started..driven.started + driven.unstarted {
                recorder.record(schedule.intended_ns(op), now, now);
            }
        }
    }

    /// Sends the remaining batches and awaits every acknowledgement, so that the account is complete.
    fn drain(&mut self) -> Result<()> {
        let give_up = monotonic_ns() + DRAIN_NS;
        while self.in_flight > 0 && monotonic_ns() < give_up {
            self.serve(monotonic_ns() + 10_000_000, true)?;
        }
        Ok(())
    }

    /// Records of a producer have ended.
    fn complete(&mut self, client: usize, records: Records, end: End) {
        use std::sync::atomic::Ordering::{Relaxed, Release};
        self.in_flight -= records.count;
        if matches!(end, End::Stored) && self.settings.acks != 0 {
            let range = (records.first_sequence, records.first_sequence + records.count);
            let partition = &mut self.clients.accumulator(client).partitions[records.partition];
            partition.acked.insert_range(range.0, range.1);
            if let Some(offset) = records.offset {
                partition.offsets.put(range.0, records.count, offset);
            }
        }
        if self.ended {
            match end {
                End::Stored | End::Aborted => self.completed_late += records.count,
                End::Refused(name) => *self.errors.entry(name).or_default() += records.count,
            }
            return;
        }
        let now = monotonic_ns();
        let mut recorder = lock(&self.recorder);
        for span in &records.spans {
            record_span(&mut recorder, self.schedule.as_ref(), *span, now);
        }
        drop(recorder);
        let counts = &self.window().counts;
        match end {
            End::Stored | End::Aborted => {
                counts.bytes.fetch_add(records.value_bytes, Relaxed);
                counts.completed.fetch_add(records.count, Release);
            }
            End::Refused(name) => {
                counts.failed.fetch_add(records.count, Release);
                *self.errors.entry(name).or_default() += records.count;
            }
        }
    }
}

impl Target for Producer {
    type Error = anyhow::Error;

    fn start(&mut self, first: u64, count: u64, schedule: Option<&Schedule>, now_ns: u64) -> Result<()> {
        let now = Now::at(now_ns, self.window().wall);
        let smallest = self.generator.smallest();
        for number in first..first + count {
            let made = self.generator.make();
            let intended_ns = schedule.map_or(now_ns, |schedule| schedule.intended_ns(number));
            self.clients
                .of(number)
                .push(&made, number, intended_ns, now, smallest)?;
        }
        self.in_flight += count;
        self.window()
            .counts
            .started
            .fetch_add(count, std::sync::atomic::Ordering::Release);
        Ok(())
    }

    fn serve(&mut self, until_ns: u64, return_early: bool) -> Result<()> {
        let linger_ns = (self.settings.linger_ms * 1e6) as u64;
        let wall = self.window().wall;
        loop {
            let now = Now::at(monotonic_ns(), wall);
            self.clients.send_due(
                now,
                now.ns.saturating_sub(linger_ns),
                self.schedule.is_none() || self.ended,
            )?;
            let due = self
                .clients
                .opened_ns()
                .map_or(until_ns, |opened_ns| opened_ns + linger_ns);
            let ended = self.clients.wait(due.min(until_ns).saturating_sub(monotonic_ns()))?;
            let answered = !ended.is_empty();
            for (client, of_client) in ended {
                for (records, end) in of_client {
                    self.complete(client, records, end);
                }
            }
            if monotonic_ns() >= until_ns || (return_early && (answered || self.in_flight == 0)) {
                return Ok(());
            }
        }
    }

    fn in_flight(&self) -> u64 {
        self.in_flight
    }

    fn oldest_intended_ns(&self) -> Option<u64> {
        self.clients
            .oldest()
            .filter_map(|records| records.spans.first())
            .map(|span| {
                self.schedule
                    .as_ref()
                    .map_or(span.handed_ns, |schedule| schedule.intended_ns(span.first_op))
            })
            .min()
    }
}
