//! The consuming generator: reads a topic's partitions as fast as the brokers deliver, and checks the
//! checksum and the sequence of every record. When it follows a topic that is being written, it also measures
//! each record's end-to-end latency, from its intended start to its arrival here.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail, ensure};
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::control::Control;
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::{Channel, lock};
use hydrotest_core::threads::peak_memory_bytes;
use hydrotest_core::trial::{Prepared, Window, conduct};
use hydrotest_core::wire::Outcome;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{FetchRequest, FetchResponse};
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::batch_reader::Aborted;
use crate::checker::{Checked, Flaws, Partition, Stopped};
use crate::connection_pool::ConnectionPool;
use crate::lag::count_followed;
use crate::metadata_refresher::MetadataRefresher;
use crate::partitions::{await_decisions, await_ends};
use crate::payload::{Level, Stamp, level};
use crate::protocol::error_name;
use crate::settings::{ConsumeSettings, Reading};
use crate::throttle::Throttled;
use crate::topics::{Topics, names};

const FETCH_WAIT_MS: i32 = 100;
const FETCH_BYTES_MAX: i32 = 50 << 20;
/// Wait before a refused partition is asked again; Kafka's own `retry.backoff.ms`. Also the longest sleep.
const RETRY_NS: u64 = 100_000_000;
/// Limit on reading the producers' remaining records after a followed trial.
const DRAIN_NS: u64 = 15_000_000_000;

/// The records of one producer found in one partition, in the first pass over it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub producer: u32,
    pub partition: i32,
    pub runs: Vec<(u64, u64)>,
    /// The sequences found more than once, and the total number of surplus copies.
    pub doubled: Vec<(u64, u64)>,
    pub duplicated: u64,
    pub out_of_order: u64,
}

/// Runs the generator. `None` if stopped before it began.
pub fn run(settings: &ConsumeSettings, control: &Control) -> Result<Option<Outcome>> {
    ensure!(settings.connections > 0, "a consumer needs at least one connection");
    ensure!(
        settings.share < settings.shares,
        "invalid share {} of {}",
        settings.share,
        settings.shares
    );
    let mut consumer = Consumer::connect(settings)?;
    let thread: Prepared<(Consumer, Option<String>)> = Box::new(move |window: &Window| {
        consumer.window = Some(window.clone());
        let mut channels = Vec::new();
        if consumer.settings.reading == Reading::Follow {
            let recorder = Arc::new(Mutex::new(Recorder::new(window.start_ns)));
            consumer.recorder = Some(recorder.clone());
            channels.push(Channel { op: None, recorder });
        }
        (channels, Box::new(move || consumer.work()))
    });
    let finished = conduct(control, settings.seconds, settings.nice, vec![thread]).map_err(anyhow::Error::msg)?;
    let Some(finished) = finished else {
        return Ok(None);
    };
    let (consumer, fatal) = finished
        .results
        .into_iter()
        .next()
        .context("the consumer left no result")?;
    Ok(Some(Outcome {
        counts: finished.counts,
        started_wall_s: finished.started_wall_s,
        ended_wall_s: finished.ended_wall_s,
        memory_bytes_max: peak_memory_bytes(),
        overflows: consumer
            .recorder
            .as_ref()
            .map_or(0, |recorder| lock(recorder).overflows()),
        extra: consumer.findings(fatal),
        ..Outcome::default()
    }))
}

struct Consumer {
    settings: ConsumeSettings,
    access: Access,
    names: Vec<String>,
    topics: Topics,
    /// Each has at most one request in flight.
    pool: ConnectionPool<()>,
    /// In the order of their indices.
    partitions: Vec<Partition>,
    level: Option<Level>,
    flaws: Flaws,
    throttled: Throttled,
    window: Option<Window>,
    /// End-to-end latencies, when following.
    recorder: Option<Arc<Mutex<Recorder>>>,
    /// The load is over; records from now on are checked, but no longer counted.
    ended: bool,
    /// Bytes read so far, and since when: for `bytes_per_s`.
    read: u64,
    since_ns: u64,
    /// Records skipped because their transaction was aborted; counted until the load is over, like
    /// `completed`.
    aborted: u64,
}

impl Consumer {
    fn connect(settings: &ConsumeSettings) -> Result<Self> {
        let access = Access::new(&settings.cluster)?;
        let follows = settings.reading == Reading::Follow;
        let names = names(&settings.topic, settings.topics);
        let (leaders, ends) = await_ends(&access, &names)?;
        if settings.committed && !follows {
            await_decisions(&access, &leaders, &names, &ends)?;
        }
        let refresher = || MetadataRefresher::new(&access, &names, settings.connections, 1);
        let mut pool = ConnectionPool::new(settings.retries.then(refresher));
        // By broker: its slots, and the number of its partitions that were assigned.
        let mut of_broker: BTreeMap<&str, (Vec<usize>, usize)> = BTreeMap::new();
        let mut partitions = Vec::new();
        let own = |index: i32| index.cast_unsigned() % settings.shares == settings.share;
        for (&index, address) in leaders.iter().filter(|(index, _)| own(**index)) {
            let (opened, led) = of_broker.entry(address).or_default();
            if opened.len() < settings.connections {
                opened.push(pool.add(access.open(address)?)?);
            }
            partitions.push(Partition {
                index,
                slot: opened[*led % settings.connections],
                next_offset: 0,
                end_offset: if follows { i64::MAX } else { ends[&index] },
                written_offset: ends[&index],
                readable_offset: if settings.committed { 0 } else { ends[&index] },
                not_before_ns: 0,
                passes: 0,
                trackers: BTreeMap::new(),
                first_pass: None,
            });
            *led += 1;
        }
        Ok(Self {
            settings: settings.clone(),
            access,
            topics: Topics::new(&names, leaders.len())?,
            names,
            pool,
            partitions,
            level: settings
                .level
                .as_deref()
                .map(|name| level(name).with_context(|| format!("invalid log level {name:?}")))
                .transpose()?,
            flaws: Flaws::default(),
            throttled: Throttled::default(),
            window: None,
            recorder: None,
            ended: false,
            read: 0,
            since_ns: 0,
            aborted: 0,
        })
    }

    fn work(mut self) -> (Self, Option<String>) {
        let window = self.window.clone().expect("begin comes before work");
        let mut fatal = self.read_all(&window, window.end_ns).err();
        window.load_ended();
        self.ended = true;
        if fatal.is_none() && self.settings.reading == Reading::Follow && !window.stop.load(Relaxed) {
            fatal = self.drain(&window).err();
        }
        (self, fatal.map(|error| format!("{error:#}")))
    }

    /// Reads the producers' remaining records, so that their account is complete. Records that are
    /// acknowledged late, after a leader was away, arrive late too: a while without records does not mean
    /// that none will come.
    fn drain(&mut self, window: &Window) -> Result<()> {
        while !window.written.load(Acquire) && !window.stop.load(Relaxed) {
            self.read_all(window, monotonic_ns() + RETRY_NS)?;
        }
        let (leaders, ends) = await_ends(&self.access, &self.names)?;
        if self.settings.committed {
            await_decisions(&self.access, &leaders, &self.names, &ends)?;
        }
        for partition in &mut self.partitions {
            partition.end_offset = ends[&partition.index];
            partition.written_offset = partition.end_offset;
        }
        self.read_all(window, monotonic_ns() + DRAIN_NS)
    }

    fn read_all(&mut self, window: &Window, end_ns: u64) -> Result<()> {
        if self.since_ns == 0 {
            self.since_ns = monotonic_ns();
        }
        loop {
            let now = monotonic_ns();
            if now >= end_ns || window.stop.load(Relaxed) || self.partitions.iter().all(Partition::is_read) {
                return Ok(());
            }
            self.pool
                .refresh(&mut self.partitions, |partition| (partition.index, &mut partition.slot))?;
            for slot in 0..self.pool.len() {
                self.request(slot)?;
            }
            for slot in self.pool.wait((end_ns - now).min(RETRY_NS))? {
                if let Err(error) = self.pool.pump(slot, false) {
                    self.pool.lose(slot, error)?;
                }
                while let Some(((), response)) = self.pool.take::<FetchRequest>(slot)? {
                    self.take(response, window)?;
                    // The broker reads the next part while we check this one.
                    self.request(slot)?;
                }
            }
        }
    }

    /// Sends the next fetch on a connection without a request in flight.
    fn request(&mut self, slot: usize) -> Result<()> {
        if !self.pool.is_up(slot) || self.pool.requests_out(slot) > 0 {
            return Ok(());
        }
        let now = monotonic_ns();
        if now < self.due_ns() {
            return Ok(());
        }
        let partition_bytes = self.settings.partition_bytes;
        let open = self
            .partitions
            .iter()
            .filter(|partition| partition.slot == slot && !partition.is_read() && partition.not_before_ns <= now)
            .map(|partition| (partition.index, partition.next_offset));
        let wanted: Vec<FetchTopic> = self
            .topics
            .by_topic(open)
            .into_iter()
            .map(|(name, partitions)| {
                let partitions = partitions.into_iter().map(|(index, next_offset)| {
                    FetchPartition::default()
                        .with_partition(index)
                        .with_fetch_offset(next_offset)
                        .with_current_leader_epoch(-1)
                        .with_partition_max_bytes(partition_bytes)
                });
                FetchTopic::default()
                    .with_topic(name)
                    .with_partitions(partitions.collect())
            })
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let request = FetchRequest::default()
            .with_max_wait_ms(FETCH_WAIT_MS)
            .with_min_bytes(1)
            .with_max_bytes(self.fetch_bytes_max())
            .with_isolation_level(i8::from(self.settings.committed))
            .with_topics(wanted);
        if let Err(error) = self.pool.send(slot, &request, ()) {
            self.pool.lose(slot, error)?;
        }
        Ok(())
    }

    /// When the bytes read so far are allowed.
    fn due_ns(&self) -> u64 {
        self.settings
            .bytes_per_s
            .map_or(0, |most| self.since_ns + (self.read as f64 / most * 1e9) as u64)
    }

    /// Of an answer; so much that several fit into a second.
    fn fetch_bytes_max(&self) -> i32 {
        self.settings
            .bytes_per_s
            .map_or(FETCH_BYTES_MAX, |most| ((most / 10.0) as i32).clamp(1, FETCH_BYTES_MAX))
    }

    fn take(&mut self, response: FetchResponse, window: &Window) -> Result<()> {
        if let Some(name) = error_name(response.error_code) {
            bail!("fetch was refused: {name}");
        }
        self.throttled.note(response.throttle_time_ms);
        let mut checked = Checked::default();
        let now = monotonic_ns();
        let recorder = self.recorder.clone().filter(|_| !self.ended);
        let mut recorder = recorder.as_ref().map(|recorder| lock(recorder));
        let answered = response
            .responses
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(move |data| (&topic.topic, data)));
        for (topic, data) in answered {
            let index = self.topics.number(topic, data.partition_index)?;
            let Ok(at) = self
                .partitions
                .binary_search_by_key(&index, |partition| partition.index)
            else {
                bail!("the broker sent partition {index}, which was not asked for");
            };
            let partition = &mut self.partitions[at];
            match error_name(data.error_code) {
                Some(_) if self.pool.passes(data.error_code) => {
                    partition.not_before_ns = now + RETRY_NS;
                    continue;
                }
                Some(name) => bail!("partition {index} cannot be read: {name}"),
                None => {}
            }
            // Brokers that do not report the last stable offset send −1.
            let stable = (self.settings.committed && data.last_stable_offset >= 0).then_some(data.last_stable_offset);
            partition.reaches(data.high_watermark, stable);
            // A consumer has no start of its own: its service time begins at the intended start.
            let arrived = |stamp: &Stamp| {
                if let Some(recorder) = &mut recorder {
                    let intended_ns = window.wall.monotonic_ns(stamp.intended_wall_ns);
                    recorder.record(intended_ns, intended_ns, now);
                }
            };
            let transactions = data.aborted_transactions.iter().flatten();
            let mut aborted = Aborted::new(transactions.map(|one| (one.first_offset, one.producer_id.0)));
            let data = data.records.as_deref().unwrap_or_default();
            self.read += data.len() as u64;
            checked += partition.check(data, &mut aborted, self.level, &mut self.flaws, arrived)?;
            if partition.is_read() {
                partition.end_pass(self.settings.reading == Reading::Repeat);
            }
        }
        drop(recorder);
        if self.ended {
            return Ok(());
        }
        self.aborted += checked.aborted;
        if self.settings.reading == Reading::Follow {
            count_followed(&window.counts, &self.partitions, checked);
        } else {
            window.counts.started.fetch_add(checked.records, Release);
            window.counts.bytes.fetch_add(checked.bytes, Relaxed);
            window.counts.completed.fetch_add(checked.records, Release);
        }
        Ok(())
    }

    fn findings(mut self, fatal: Option<String>) -> serde_json::Value {
        let mut seen = Vec::new();
        let stopped: Vec<Stopped> = self.partitions.iter().filter_map(Stopped::of).collect();
        for partition in &mut self.partitions {
            let index = partition.index;
            let trackers = partition
                .first_pass
                .take()
                .unwrap_or_else(|| std::mem::take(&mut partition.trackers));
            seen.extend(trackers.into_iter().map(|(producer, tracker)| Seen {
                producer,
                partition: index,
                runs: tracker.seen.to_vec(),
                doubled: tracker.doubled.to_vec(),
                duplicated: tracker.duplicated,
                out_of_order: tracker.out_of_order,
            }));
        }
        let passes = self
            .partitions
            .iter()
            .map(|partition| partition.passes)
            .min()
            .unwrap_or(0);
        serde_json::json!({
            "seen": seen, "corrupted": self.flaws.corrupted, "wrong_branch": self.flaws.wrong_branch,
            "stopped": stopped, "passes": passes, "aborted": self.aborted, "throttled": self.throttled, "fatal": fatal,
        })
    }
}
