//! The consuming generator: reads a topic's partitions as fast as the brokers give, and checks the
//! checksum and the sequence of every single record. Following a topic that is being written, it also
//! tells each record's end-to-end latency, from its intended start to its arrival here.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail, ensure};
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::control::Control;
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::{Channel, lock};
use hydrotest_core::runs::Runs;
use hydrotest_core::trial::{Prepared, Window, conduct};
use hydrotest_core::wire::Outcome;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{FetchRequest, TopicName};
use serde::{Deserialize, Serialize};

use crate::admin::{connect_any, end_offsets, leaders};
use crate::batch::walk;
use crate::connection::{Connection, wait_any};
use crate::payload::{Stamp, open};
use crate::protocol::{decode, encode, error_name, topic_name};

const FETCH_WAIT_MS: i32 = 100;
const FETCH_BYTES_MAX: i32 = 50 << 20;
/// After a followed trial: the producer's last records may take this long to come, and no longer than the other bound.
const SETTLE_NS: u64 = 500_000_000;
const DRAIN_NS: u64 = 15_000_000_000;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// At the end that the topic had in the beginning.
    Once,
    /// When the time is over; at the topic's end begin again, so that the rate can be measured.
    Repeat,
    /// When the time is over and all that was written by then is read.
    Follow,
}

/// What to consume, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsumeSettings {
    pub bootstrap: Vec<String>,
    pub topic: String,
    /// Longest time to read, in seconds.
    pub seconds: f64,
    pub reading: Reading,
    /// Most bytes of one partition in one answer (`max.partition.fetch.bytes`).
    pub partition_bytes: i32,
    /// Connections per broker; each has one request out at a time.
    pub connections: usize,
    pub nice: i32,
}

/// What was seen of one producer in one partition, in the first pass over it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub producer: u32,
    pub partition: i32,
    pub runs: Vec<(u64, u64)>,
    pub duplicated: u64,
    pub out_of_order: u64,
}

/// Runs the generator. `None` if stopped before it began.
pub fn run(settings: &ConsumeSettings, control: &Control) -> Result<Option<Outcome>> {
    ensure!(settings.connections > 0, "a consumer needs at least one connection");
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
    let Some(finished) = conduct(control, settings.seconds, settings.nice, vec![thread]) else {
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
        overflows: consumer
            .recorder
            .as_ref()
            .map_or(0, |recorder| lock(recorder).overflows()),
        extra: consumer.findings(fatal),
        ..Outcome::default()
    }))
}

/// Sequences of one producer in one partition.
#[derive(Debug, Default)]
struct Tracker {
    seen: Runs,
    duplicated: u64,
    out_of_order: u64,
}

impl Tracker {
    fn note(&mut self, sequence: u64) {
        let behind = sequence < self.seen.end();
        if !self.seen.insert(sequence) {
            self.duplicated += 1;
        } else if behind {
            self.out_of_order += 1;
        }
    }
}

#[derive(Debug)]
struct Partition {
    index: i32,
    connection: usize,
    next_offset: i64,
    end_offset: i64,
    /// End of the topic as the broker last told it.
    written_offset: i64,
    passes: u64,
    trackers: BTreeMap<u32, Tracker>,
    /// Flaws of later passes; the runs are the first pass's.
    first_pass: Option<BTreeMap<u32, Tracker>>,
}

struct Consumer {
    settings: ConsumeSettings,
    topic: TopicName,
    connections: Vec<Connection>,
    busy: Vec<bool>,
    partitions: Vec<Partition>,
    corrupted: u64,
    window: Option<Window>,
    /// End-to-end latencies, when following.
    recorder: Option<Arc<Mutex<Recorder>>>,
    /// The load is over; what comes now is checked, but no longer counted.
    ended: bool,
}

impl Consumer {
    fn connect(settings: &ConsumeSettings) -> Result<Self> {
        let leaders = leaders(&mut connect_any(&settings.bootstrap)?, &settings.topic)?;
        let follows = settings.reading == Reading::Follow;
        let ends = end_offsets(&leaders, &settings.topic)?;
        let mut connections: Vec<Connection> = Vec::new();
        // Per broker: its connections, and how many of its partitions were given out.
        let mut of_broker: BTreeMap<&str, (Vec<usize>, usize)> = BTreeMap::new();
        let mut partitions = Vec::new();
        for (&index, address) in &leaders {
            let (own, led) = of_broker.entry(address).or_default();
            if own.len() < settings.connections {
                let mut connection = Connection::open(address)?;
                connection.set_nonblocking()?;
                own.push(connections.len());
                connections.push(connection);
            }
            partitions.push(Partition {
                index,
                connection: own[*led % settings.connections],
                next_offset: 0,
                end_offset: if follows { i64::MAX } else { ends[&index] },
                written_offset: ends[&index],
                passes: 0,
                trackers: BTreeMap::new(),
                first_pass: None,
            });
            *led += 1;
        }
        Ok(Self {
            settings: settings.clone(),
            topic: topic_name(&settings.topic),
            busy: vec![false; connections.len()],
            connections,
            partitions,
            corrupted: 0,
            window: None,
            recorder: None,
            ended: false,
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

    /// Reads what the producers have still written, so that fates are known.
    fn drain(&mut self, window: &Window) -> Result<()> {
        let give_up = monotonic_ns() + DRAIN_NS;
        loop {
            let before = self
                .partitions
                .iter()
                .map(|partition| partition.next_offset)
                .sum::<i64>();
            self.read_all(window, monotonic_ns() + SETTLE_NS)?;
            let after = self
                .partitions
                .iter()
                .map(|partition| partition.next_offset)
                .sum::<i64>();
            if (after == before && self.lag() == 0) || monotonic_ns() >= give_up {
                return Ok(());
            }
        }
    }

    /// Records that are written and not read yet.
    fn lag(&self) -> i64 {
        let of = |partition: &Partition| (partition.written_offset - partition.next_offset).max(0);
        self.partitions.iter().map(of).sum()
    }

    fn read_all(&mut self, window: &Window, end_ns: u64) -> Result<()> {
        loop {
            let now = monotonic_ns();
            if now >= end_ns || window.stop.load(Relaxed) {
                return Ok(());
            }
            let mut waiting = false;
            for connection in 0..self.connections.len() {
                waiting |= self.busy[connection] || self.request(connection)?;
            }
            if !waiting {
                return Ok(());
            }
            let active = wait_any(&self.connections, (end_ns - now).min(100_000_000))?;
            for (connection, _) in active.iter().enumerate().filter(|(_, active)| **active) {
                self.connections[connection].flush()?;
                self.connections[connection].receive()?;
                while let Some(frame) = self.connections[connection].take_frame()? {
                    self.busy[connection] = false;
                    self.take(frame, window)?;
                    // The broker reads the next part while we check this one's successors.
                    self.request(connection)?;
                }
            }
        }
    }

    /// Asks for what is next on one connection; false if all its partitions are read.
    fn request(&mut self, connection: usize) -> Result<bool> {
        let partition_bytes = self.settings.partition_bytes;
        let open: Vec<FetchPartition> = self
            .partitions
            .iter()
            .filter(|partition| partition.connection == connection && partition.next_offset < partition.end_offset)
            .map(|partition| {
                FetchPartition::default()
                    .with_partition(partition.index)
                    .with_fetch_offset(partition.next_offset)
                    .with_current_leader_epoch(-1)
                    .with_partition_max_bytes(partition_bytes)
            })
            .collect();
        if open.is_empty() {
            return Ok(false);
        }
        let request = FetchRequest::default()
            .with_max_wait_ms(FETCH_WAIT_MS)
            .with_min_bytes(1)
            .with_max_bytes(FETCH_BYTES_MAX)
            .with_topics(vec![
                FetchTopic::default()
                    .with_topic(self.topic.clone())
                    .with_partitions(open),
            ]);
        let correlation = self.connections[connection].correlation();
        self.connections[connection].send(encode(correlation, &request)?)?;
        self.busy[connection] = true;
        Ok(true)
    }

    fn take(&mut self, frame: bytes::Bytes, window: &Window) -> Result<()> {
        let (_, response) = decode::<FetchRequest>(frame)?;
        if let Some(name) = error_name(response.error_code) {
            bail!("fetch was refused: {name}");
        }
        let (mut records, mut bytes) = (0, 0);
        let now = monotonic_ns();
        let recorder = self.recorder.clone().filter(|_| !self.ended);
        let mut recorder = recorder.as_ref().map(|recorder| lock(recorder));
        for data in response.responses.iter().flat_map(|topic| &topic.partitions) {
            let index = data.partition_index;
            if let Some(name) = error_name(data.error_code) {
                bail!("partition {index} cannot be read: {name}");
            }
            let Some(partition) = self.partitions.iter_mut().find(|partition| partition.index == index) else {
                bail!("the broker sent partition {index}, which was not asked for");
            };
            partition.written_offset = partition.written_offset.max(data.high_watermark);
            // A consumer has no start of its own: its service time is the whole way from the intended start.
            let arrived = |stamp: &Stamp| {
                if let Some(recorder) = &mut recorder {
                    let intended_ns = window.wall.monotonic_ns(stamp.intended_wall_ns);
                    recorder.record(intended_ns, intended_ns, now);
                }
            };
            let data = data.records.as_deref().unwrap_or_default();
            let walked = partition.check(data, &mut self.corrupted, arrived)?;
            records += walked.0;
            bytes += walked.1;
            if partition.next_offset >= partition.end_offset {
                partition.end_pass(self.settings.reading == Reading::Repeat);
            }
        }
        drop(recorder);
        if self.ended {
            return Ok(());
        }
        let counts = &window.counts;
        if self.settings.reading == Reading::Follow {
            // What is written counts as started, so that in flight is the lag.
            let written: i64 = self.partitions.iter().map(|partition| partition.written_offset).sum();
            counts.started.fetch_max(written as u64, Release);
        } else {
            counts.started.fetch_add(records, Release);
        }
        counts.bytes.fetch_add(bytes, Relaxed);
        counts.completed.fetch_add(records, Release);
        Ok(())
    }

    fn findings(mut self, fatal: Option<String>) -> serde_json::Value {
        let mut seen = Vec::new();
        let unread: i64 = self
            .partitions
            .iter()
            .filter(|partition| partition.passes == 0)
            .map(|partition| partition.end_offset.min(partition.written_offset) - partition.next_offset)
            .sum();
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
            "seen": seen, "corrupted": self.corrupted, "unread": unread, "passes": passes, "fatal": fatal,
        })
    }
}

impl Partition {
    /// Checks the records of one answer; returns how many, and their value bytes.
    fn check(&mut self, data: &[u8], corrupted: &mut u64, mut arrived: impl FnMut(&Stamp)) -> Result<(u64, u64)> {
        let mut flawed = 0;
        // An answer nearly always holds one producer's records: its tracker is taken out of the map
        // and looked up again only when the producer changes.
        let mut current: Option<(u32, Tracker)> = None;
        let trackers = &mut self.trackers;
        let walked = walk(data, self.next_offset, |value| match open(value) {
            Some(stamp) => {
                arrived(&stamp);
                match &mut current {
                    Some((producer, tracker)) if *producer == stamp.producer => tracker.note(stamp.sequence),
                    _ => {
                        trackers.extend(current.take());
                        let mut tracker = trackers.remove(&stamp.producer).unwrap_or_default();
                        tracker.note(stamp.sequence);
                        current = Some((stamp.producer, tracker));
                    }
                }
            }
            None => flawed += 1,
        })
        .with_context(|| format!("partition {} at offset {}", self.index, self.next_offset))?;
        self.trackers.extend(current);
        *corrupted += flawed + walked.corrupt_records;
        self.next_offset = walked.next_offset;
        Ok((walked.records, walked.bytes))
    }

    fn end_pass(&mut self, repeat: bool) {
        self.passes += 1;
        let trackers = std::mem::take(&mut self.trackers);
        if self.first_pass.is_none() {
            self.first_pass = Some(trackers);
        }
        if repeat && self.end_offset > 0 {
            self.next_offset = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(sequences: &[u64]) -> (Vec<(u64, u64)>, u64, u64) {
        let mut tracker = Tracker::default();
        sequences.iter().for_each(|sequence| tracker.note(*sequence));
        (tracker.seen.to_vec(), tracker.duplicated, tracker.out_of_order)
    }

    #[test]
    fn each_flaw_is_told_apart() {
        assert_eq!(noted(&[0, 1, 2, 3]), (vec![(0, 4)], 0, 0));
        assert_eq!(noted(&[0, 1, 1, 2]), (vec![(0, 3)], 1, 0));
        assert_eq!(noted(&[0, 2, 1, 3]), (vec![(0, 4)], 0, 1));
        assert_eq!(noted(&[0, 1, 4, 5]), (vec![(0, 2), (4, 6)], 0, 0));
    }
}
