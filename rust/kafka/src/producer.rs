//! One producing thread: it schedules, encodes, sends, and takes acknowledgements in, with no lock and no hand-over
//! between threads on the way of a record.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use bytes::Bytes;
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::drive::{Driven, Limits, Pace, Target, drive};
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::lock;
use hydrotest_core::schedule::Schedule;
use hydrotest_core::trial::Window;

use crate::admin::Leaders;
use crate::batch::BatchWriter;
use crate::flight::{Batch, OpenBatch, Records, Span, record_span};
use crate::outbox::Outbox;
use crate::payload::{Stamp, filler};
use crate::produce::{Acked, ProduceSettings};

/// How long acknowledgements are awaited after the load has ended.
const DRAIN_NS: u64 = 15_000_000_000;
/// Looks at the schedule per linger: a record waits at most a fifth of it before it is handed to its batch.
const LOOKS_PER_LINGER: f64 = 5.0;
const TICK_NS_MIN: f64 = 100_000.0;
const TICK_NS_MAX: f64 = 1_000_000.0;

/// What one thread found.
pub(crate) struct Produced {
    pub(crate) driven: Driven,
    pub(crate) acked: Vec<Acked>,
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) unanswered: u64,
    pub(crate) completed_late: u64,
    pub(crate) overflows: u64,
    /// Records sent more than once: a lost connection or a refusal left their fate open.
    pub(crate) resent: u64,
    pub(crate) fatal: Option<String>,
}

pub(crate) struct Producer {
    settings: ProduceSettings,
    id: u32,
    share: u64,
    filler: Vec<u8>,
    outbox: Outbox,
    /// The partition that takes the next batch; batches go round, records stick (Kafka's uniform sticky partitioner).
    next_partition: usize,
    open: Option<OpenBatch>,
    in_flight: u64,
    completed_late: u64,
    ended: bool,
    schedule: Option<Schedule>,
    errors: BTreeMap<String, u64>,
    window: Option<Window>,
    recorder: Arc<Mutex<Recorder>>,
}

impl Producer {
    pub(crate) fn connect(settings: &ProduceSettings, share: u32, leaders: &Leaders) -> Result<Self> {
        let id = settings.producer + share;
        Ok(Self {
            id,
            share: u64::from(share),
            filler: filler(settings.record_bytes, u64::from(id)),
            next_partition: share as usize % leaders.len(),
            outbox: Outbox::connect(settings, leaders)?,
            open: None,
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

    /// The thread's whole life: load, account for what is unanswered, drain.
    pub(crate) fn work(mut self) -> Produced {
        let pressure = self.settings.pressure.clone();
        let window = self.window().clone();
        let tick = (self.settings.linger_ms * 1e6 / LOOKS_PER_LINGER).clamp(TICK_NS_MIN, TICK_NS_MAX);
        let limits = Limits::of(&pressure, window.end_ns, tick as u64);
        let pace = Pace::of(&pressure, window.start_ns, self.share);
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
        let id = self.id;
        let acked = self.outbox.partitions.iter().map(|partition| Acked {
            producer: id,
            partition: partition.index,
            sent: partition.next_sequence,
            runs: partition.acked.to_vec(),
        });
        Produced {
            driven,
            acked: acked.collect(),
            unanswered,
            completed_late: self.completed_late,
            overflows,
            resent: self.outbox.resent,
            fatal,
            errors: self.errors,
        }
    }

    /// Everything started or due and not answered counts at its age: a stall at the end is not lost.
    fn age_unanswered(&mut self, driven: Driven) {
        self.ended = true;
        let now = monotonic_ns().min(self.window().end_ns);
        let mut recorder = lock(&self.recorder);
        for span in self.under_way().flat_map(|records| &records.spans) {
            record_span(&mut recorder, self.schedule.as_ref(), *span, now);
        }
        if let Some(schedule) = &self.schedule {
            for op in driven.started..driven.started + driven.unstarted {
                recorder.record(schedule.intended_ns(op), now, now);
            }
        }
    }

    /// Records that were handed over and not acknowledged.
    fn under_way(&self) -> impl Iterator<Item = &Records> {
        self.outbox
            .under_way()
            .chain(self.open.iter().map(|open| &open.records))
    }

    /// Sends what is still here and awaits every acknowledgement, so that fates are known.
    fn drain(&mut self) -> Result<()> {
        let give_up = monotonic_ns() + DRAIN_NS;
        while self.in_flight > 0 && monotonic_ns() < give_up {
            self.serve(monotonic_ns() + 10_000_000, true)?;
        }
        Ok(())
    }

    fn seal_open(&mut self) {
        if let Some(open) = self.open.take() {
            let timestamp_ms = self.window().wall.wall_ns(monotonic_ns()) / 1_000_000;
            let bytes = Bytes::from(open.writer.finish(timestamp_ms as i64));
            self.next_partition = (open.records.partition + 1) % self.outbox.partitions.len();
            self.outbox.put(Batch {
                records: open.records,
                bytes,
            });
        }
    }

    /// Records have come to their end: stored (`refused` is None), or refused for good.
    fn complete(&mut self, records: Records, refused: Option<String>) {
        use std::sync::atomic::Ordering::{Relaxed, Release};
        self.in_flight -= records.count;
        if refused.is_none() {
            let range = (records.first_sequence, records.first_sequence + records.count);
            self.outbox.partitions[records.partition]
                .acked
                .insert_range(range.0, range.1);
        }
        if self.ended {
            match refused {
                None => self.completed_late += records.count,
                Some(name) => *self.errors.entry(name).or_default() += records.count,
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
        match refused {
            None => {
                counts.bytes.fetch_add(records.value_bytes, Relaxed);
                counts.completed.fetch_add(records.count, Release);
            }
            Some(name) => {
                counts.failed.fetch_add(records.count, Release);
                *self.errors.entry(name).or_default() += records.count;
            }
        }
    }
}

impl Target for Producer {
    type Error = anyhow::Error;

    fn start(&mut self, first: u64, count: u64, schedule: Option<&Schedule>, now_ns: u64) -> Result<()> {
        let wall = self.window().wall;
        for op in first..first + count {
            if self
                .open
                .as_ref()
                .is_some_and(|open| open.writer.is_full(self.filler.len()))
            {
                self.seal_open();
            }
            let partition = self.next_partition;
            let sequence = self.outbox.partitions[partition].next_sequence;
            self.outbox.partitions[partition].next_sequence += 1;
            let open = self.open.get_or_insert_with(|| OpenBatch {
                writer: BatchWriter::new(self.settings.batch_bytes),
                opened_ns: now_ns,
                records: Records {
                    partition,
                    first_sequence: sequence,
                    count: 0,
                    spans: Vec::new(),
                    value_bytes: 0,
                },
            });
            let intended_ns = schedule.map_or(now_ns, |schedule| schedule.intended_ns(op));
            let stamp = Stamp {
                producer: self.id,
                sequence,
                intended_wall_ns: wall.wall_ns(intended_ns),
            };
            open.writer.push(&self.filler, stamp);
            open.records.count += 1;
            open.records.value_bytes += self.filler.len() as u64;
            match open.records.spans.last_mut() {
                Some(span) if span.handed_ns == now_ns => span.count += 1,
                _ => open.records.spans.push(Span {
                    first_op: op,
                    count: 1,
                    handed_ns: now_ns,
                }),
            }
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
        loop {
            let now = monotonic_ns();
            let due = self.open.as_ref().map(|open| open.opened_ns + linger_ns);
            let full = self
                .open
                .as_ref()
                .is_some_and(|open| open.writer.is_full(self.filler.len()));
            if full || due.is_some_and(|due| due <= now) {
                self.seal_open();
            }
            self.outbox.mend()?;
            self.outbox.send_ready(now)?;
            let wake = self
                .open
                .as_ref()
                .map_or(until_ns, |open| until_ns.min(open.opened_ns + linger_ns));
            let ended = self.outbox.wait(wake.saturating_sub(monotonic_ns()))?;
            let answered = !ended.is_empty();
            for (records, refused) in ended {
                self.complete(records, refused);
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
        self.outbox
            .oldest()
            .chain(self.open.iter().map(|open| &open.records))
            .filter_map(|records| records.spans.first())
            .map(|span| {
                self.schedule
                    .as_ref()
                    .map_or(span.handed_ns, |schedule| schedule.intended_ns(span.first_op))
            })
            .min()
    }
}
