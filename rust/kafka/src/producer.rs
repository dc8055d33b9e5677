//! One producing thread: it schedules, encodes, sends, and takes acknowledgements in. A record's path has no
//! lock and no hand-over between threads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::drive::{Driven, Limits, Pace, Target, drive};
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::lock;
use hydrotest_core::schedule::Schedule;
use hydrotest_core::trial::Window;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::client::{Clients, Due, Now};
use crate::compression::Codec;
use crate::flight::record_span;
use crate::partitions::Leaders;
use crate::payload::tagged;
use crate::record::RecordGenerator;
use crate::record_accumulator::{End, Ended};
use crate::settings::ProduceSettings;
use crate::throttle::Throttled;

/// How long to wait for acknowledgements after the load has ended.
const DRAIN_NS: u64 = 15_000_000_000;
/// Checks of the schedule per linger: a record waits at most a fifth of it before it is handed to its batch.
const LOOKS_PER_LINGER: f64 = 5.0;
const TICK_NS_MIN: f64 = 100_000.0;
const TICK_NS_MAX: f64 = 1_000_000.0;
/// A thread that need not wake for answers sleeps no longer: connections are lost, and batches refused.
const SLEEP_NS_MAX: u64 = 5_000_000;

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
    /// The kernel said when answers came, and the thread slept meanwhile.
    pub(crate) slept: bool,
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
    /// Bytes of records that wait to go with others.
    gathers: Option<usize>,
    /// The kernel said when answers came, and the thread slept meanwhile.
    slept: bool,
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
            gathers: None,
            slept: false,
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

    /// When record `first` goes, and with it those that are due by then: when the oldest batch that is open, or its own, is
    /// `linger` old, or when one of a producer is full.
    fn batch_goes_ns(&self, schedule: &Schedule, first: u64, record_bytes: usize) -> u64 {
        let opened_ns = self.clients.opened_ns().unwrap_or(u64::MAX);
        let aged_ns = opened_ns
            .min(schedule.intended_ns(first))
            .saturating_add(self.linger_ns());
        aged_ns.min(schedule.intended_ns(self.clients.fills_with(first, record_bytes)))
    }

    fn linger_ns(&self) -> u64 {
        (self.settings.linger_ms * 1e6) as u64
    }

    fn window(&self) -> &Window {
        self.window.as_ref().expect("begin comes before work")
    }

    /// The thread's complete life: load, account for unanswered records, drain.
    pub(crate) fn work(mut self) -> Produced {
        let load = self.settings.load.clone();
        let window = self.window().clone();
        let pace = Pace::of(&load, window.start_ns, self.share);
        let tick = (self.settings.linger_ms * 1e6 / LOOKS_PER_LINGER).clamp(TICK_NS_MIN, TICK_NS_MAX);
        // Of keys each has a batch of its own, and of records that differ in size it is not known how many fill one: those are
        // handed over as they come.
        let is_lean = !self.settings.each_answer && pace.schedule().is_some();
        self.gathers = self.generator.fixed_record_bytes().filter(|_| is_lean);
        let limits = Limits::of(&load, window.end_ns, tick as u64);
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
            slept: self.slept,
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
    fn complete(&mut self, client: usize, Ended { records, end, at_ns }: Ended) {
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
        let mut recorder = lock(&self.recorder);
        for span in &records.spans {
            record_span(&mut recorder, self.schedule.as_ref(), *span, at_ns);
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
        let late_ns = self.gathers.zip(schedule).map(|(record_bytes, schedule)| {
            let goes_ns = self.batch_goes_ns(schedule, first, record_bytes);
            now_ns.saturating_sub(goes_ns)
        });
        for number in first..first + count {
            let made = self.generator.make();
            let due = Due {
                number,
                intended_ns: schedule.map_or(now_ns, |schedule| schedule.intended_ns(number)),
                late_ns,
            };
            self.clients.of(number).push(&made, due, now, smallest)?;
        }
        self.in_flight += count;
        self.window()
            .counts
            .started
            .fetch_add(count, std::sync::atomic::Ordering::Release);
        Ok(())
    }

    fn goes_ns(&self, schedule: &Schedule, first: u64) -> u64 {
        match self.gathers {
            Some(record_bytes) => self.batch_goes_ns(schedule, first, record_bytes),
            None => schedule.intended_ns(first),
        }
    }

    fn serve(&mut self, until_ns: u64, return_early: bool) -> Result<()> {
        let linger_ns = self.linger_ns();
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
            let mut left = due.min(until_ns).saturating_sub(monotonic_ns());
            let is_lean = self.gathers.is_some() && !return_early && !self.ended;
            if is_lean && self.clients.may_sleep() {
                std::thread::sleep(Duration::from_nanos(left.min(SLEEP_NS_MAX)));
                (left, self.slept) = (0, true);
            }
            let ended = self.clients.wait(left, is_lean)?;
            let answered = !ended.is_empty();
            for (client, of_client) in ended {
                for one in of_client {
                    self.complete(client, one);
                }
            }
            // Records that came due meanwhile go with a batch that is due now.
            let until_ns = if is_lean { until_ns.min(due) } else { until_ns };
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
