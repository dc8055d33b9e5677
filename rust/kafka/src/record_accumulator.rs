//! A producer's record accumulator: open batches, sealed batches on their way to the leaders, and their
//! answers. Batches are sent again where a connection or a leadership was lost.

mod responses;

use std::collections::VecDeque;

use anyhow::Result;
use bytes::Bytes;
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::runs::Runs;
use hydrotest_core::socket::Socket;
use kafka_protocol::messages::ProduceRequest;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};

use crate::access::Access;
use crate::acked_offsets::AckedOffsets;
use crate::admin::identity;
use crate::batch::{Identity, fit_in};
use crate::compression::Codec;
use crate::connection_pool::ConnectionPool;
use crate::flight::{Batch, Op, Partition, Records};
use crate::metadata_refresher::MetadataRefresher;
use crate::partitions::Leaders;
use crate::record::NewRecord;
use crate::settings::ProduceSettings;
use crate::throttle::Throttled;
use crate::topics::{Topics, names};
use crate::transaction::{Step, Transactions, coordinator, transactional_id};

const SERVER_TIMEOUT_MS: i32 = 30_000;
/// Wait before a refused batch is sent again; Kafka's own `retry.backoff.ms`.
const RETRY_NS: u64 = 100_000_000;
/// A request of this size takes no further batch; brokers refuse requests above 100 MiB.
const REQUEST_BYTES_MAX: usize = 4 << 20;
/// Sequences go from 0 to 2³¹ − 1, then start again (`DefaultRecordBatch.incrementSequence`).
const SEQUENCES: u64 = 1 << 31;

/// The final state of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Stored; in a transaction, committed.
    Stored,
    /// Their transaction was aborted, as planned.
    Aborted,
    /// Refused finally, with the broker's name for the reason.
    Refused(String),
}

/// Records that have ended.
pub(crate) struct Ended {
    pub(crate) records: Records,
    pub(crate) end: End,
    /// When the answer came (monotonic).
    pub(crate) at_ns: u64,
}

/// A request in flight on a connection.
enum Out {
    Batches(Vec<Batch>),
    Step(Step),
}

impl Out {
    fn batches(&self) -> &[Batch] {
        match self {
            Self::Batches(batches) => batches,
            Self::Step(_) => &[],
        }
    }
}

pub(crate) struct RecordAccumulator {
    topics: Topics,
    acks: i16,
    codec: Codec,
    batch_bytes: usize,
    requests_in_flight: usize,
    /// The producer's identity, where the broker must store each batch once.
    identity: Option<Identity>,
    pool: ConnectionPool<Out>,
    pub(crate) transactions: Option<Transactions>,
    pub(crate) partitions: Vec<Partition>,
    /// The opening time of each partition's batch, oldest first; some are already sealed.
    opened: VecDeque<(u64, usize)>,
    /// Partitions with sealed batches that are not sent, each once.
    waiting: VecDeque<usize>,
    /// Records sent more than once.
    pub(crate) resent: u64,
    pub(crate) throttled: Throttled,
}

impl RecordAccumulator {
    pub(crate) fn connect(
        settings: &ProduceSettings,
        access: &Access,
        producer: u32,
        leaders: &Leaders,
    ) -> Result<Self> {
        let names = names(&settings.topic, settings.topics);
        let refresher = || MetadataRefresher::new(access, &names, 1, settings.producers);
        let mut pool = ConnectionPool::new(settings.retries.then(refresher));
        let of_thread = settings.producers.div_ceil(settings.load.threads) as usize;
        let mut partitions = Vec::new();
        let mut known = None;
        let mut transactions = None;
        if let Some(wanted) = settings.transactions {
            let id = transactional_id(&settings.topic, producer);
            let mut connection = access.open(&coordinator(access, &id)?)?;
            let identity = identity(&mut connection, Some(&id))?;
            known = Some(identity);
            transactions = Some(Transactions::new(id, pool.add(connection)?, identity, wanted));
        }
        for (&index, address) in leaders {
            let slot = match pool.position(address) {
                Some(slot) => slot,
                None => {
                    let mut connection = access.open(address)?;
                    if settings.idempotent && known.is_none() {
                        known = Some(identity(&mut connection, None)?);
                    }
                    pool.add(connection)?
                }
            };
            partitions.push(Partition {
                index,
                slot,
                next_sequence: 0,
                open: None,
                ready: VecDeque::new(),
                not_before_ns: 0,
                acked: Runs::default(),
                offsets: AckedOffsets::of(leaders.len() * of_thread),
            });
        }
        Ok(Self {
            topics: Topics::new(&names, leaders.len())?,
            acks: settings.acks,
            codec: settings.codec,
            batch_bytes: settings.batch_bytes,
            requests_in_flight: settings.requests_in_flight,
            identity: known,
            pool,
            transactions,
            partitions,
            opened: VecDeque::new(),
            waiting: VecDeque::new(),
            resent: 0,
            throttled: Throttled::default(),
        })
    }

    /// True if the partition's open batch cannot take so many more bytes.
    pub(crate) fn is_full(&self, partition: usize, record_bytes: usize) -> bool {
        let open = self.partitions[partition].open.as_ref();
        open.is_some_and(|open| open.writer.is_full(record_bytes))
    }

    pub(crate) fn is_open(&self, partition: usize) -> bool {
        self.partitions[partition].open.is_some()
    }

    /// Records of so many bytes with which the partition's open batch, or its next one, is full: at least one.
    pub(crate) fn left(&self, partition: usize, record_bytes: usize) -> u64 {
        let open = self.partitions[partition].open.as_ref();
        open.map_or_else(
            || fit_in(self.batch_bytes, record_bytes),
            |open| open.writer.left(record_bytes),
        )
    }

    /// Hands a record to its partition's batch.
    pub(crate) fn push(&mut self, made: &NewRecord<'_>, op: Op) {
        let partition = &mut self.partitions[op.partition];
        if partition.open.is_none() {
            self.opened.push_back((op.opened_ns, op.partition));
        }
        partition.push(self.batch_bytes, made, op);
    }

    /// Closes a partition's open batch; `send_ready` sends it.
    pub(crate) fn seal(&mut self, partition: usize, timestamp_ms: i64) -> Result<()> {
        let Some(open) = self.partitions[partition].open.take() else {
            return Ok(());
        };
        let sequence = (open.records.first_sequence % SEQUENCES) as i32;
        let as_whom = self.identity.map(|identity| (identity, sequence));
        let bytes = open.writer.finish(timestamp_ms, self.codec, as_whom)?;
        self.make_ready(Batch {
            records: open.records,
            bytes: Bytes::from(bytes),
        });
        Ok(())
    }

    /// Closes every batch that was opened at or before `opened_by_ns`.
    pub(crate) fn seal_due(&mut self, opened_by_ns: u64, timestamp_ms: i64) -> Result<()> {
        while let Some(&(opened_ns, partition)) = self.opened.front() {
            let open = self.partitions[partition].open.as_ref();
            let is_open = open.is_some_and(|open| open.opened_ns == opened_ns);
            if is_open && opened_ns > opened_by_ns {
                break;
            }
            self.opened.pop_front();
            if is_open {
                self.seal(partition, timestamp_ms)?;
            }
        }
        Ok(())
    }

    /// When the oldest open batch was opened.
    pub(crate) fn opened_ns(&self) -> Option<u64> {
        self.opened.front().map(|(opened_ns, _)| *opened_ns)
    }

    fn make_ready(&mut self, batch: Batch) {
        let index = batch.records.partition;
        let partition = &mut self.partitions[index];
        if partition.ready.is_empty() {
            self.waiting.push_back(index);
        }
        partition.put_in_place(batch);
    }

    /// Records that were handed over and have not ended.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = &Records> {
        let stored = self.transactions.iter().flat_map(|transactions| &transactions.stored);
        self.unanswered().chain(stored)
    }

    /// Records without an answer from a broker so far.
    fn unanswered(&self) -> impl Iterator<Item = &Records> {
        let out = self.pool.all_out().flat_map(Out::batches);
        let ready = self.partitions.iter().flat_map(|partition| &partition.ready);
        let open = self.partitions.iter().filter_map(|partition| partition.open.as_ref());
        out.chain(ready)
            .map(|batch| &batch.records)
            .chain(open.map(|open| &open.records))
    }

    /// The oldest of each partition and connection: the oldest of all is among them.
    pub(crate) fn oldest(&self) -> impl Iterator<Item = &Records> {
        let out = self.pool.oldest().filter_map(|out| out.batches().first());
        let ready = self
            .waiting
            .iter()
            .filter_map(|&index| self.partitions[index].ready.front());
        let open = self
            .opened
            .iter()
            .filter_map(|&(_, index)| self.partitions[index].open.as_ref());
        out.chain(ready)
            .map(|batch| &batch.records)
            .chain(open.map(|open| &open.records))
            .chain(
                self.transactions
                    .iter()
                    .filter_map(|transactions| transactions.stored.first()),
            )
    }

    /// The sockets to wait for; None where a connection is lost.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = Option<&Socket>> {
        self.pool.sockets()
    }

    /// Without acknowledgements no answers come: sent records have ended, as in Kafka's own producer.
    pub(crate) fn take_sent(&mut self, ended: &mut Vec<Ended>) {
        if self.acks != 0 {
            return;
        }
        let at_ns = monotonic_ns();
        for out in self.pool.take_left() {
            if let Out::Batches(batches) = out {
                ended.extend(batches.into_iter().map(|batch| Ended {
                    records: batch.records,
                    end: End::Stored,
                    at_ns,
                }));
            }
        }
    }

    /// Whether nothing is to be done before the next batch is due, whatever comes meanwhile: no batch waits for an answer,
    /// nothing is half sent or half read, and when answers came is known.
    pub(crate) fn may_sleep(&self) -> bool {
        self.waiting.is_empty() && self.acks != 0 && self.transactions.is_none() && self.pool.may_sleep()
    }

    /// Takes in what has come to the socket with this index; `one_by_one`: each answer with its own time.
    pub(crate) fn take_in(&mut self, socket: usize, one_by_one: bool, ended: &mut Vec<Ended>) -> Result<()> {
        loop {
            match self.pool.pump(socket, one_by_one) {
                Ok(came) => {
                    self.take_answers(socket, ended)?;
                    if !(one_by_one && came) {
                        return Ok(());
                    }
                }
                Err(error) => return self.lose(socket, error),
            }
        }
    }

    /// Sends ready batches, several partitions in one request. A broker answers one request per connection at
    /// a time, so few large requests carry more than many small ones. `at_once`: a transaction need not grow
    /// older when no other work is under way.
    pub(crate) fn send_ready(&mut self, now_ns: u64, at_once: bool) -> Result<()> {
        self.ask_coordinator(now_ns, at_once)?;
        for slot in 0..self.pool.len() {
            while !self.waiting.is_empty()
                && self.pool.is_up(slot)
                && self.pool.requests_out(slot) < self.requests_in_flight
            {
                let (batches, data) = self.gather(slot, now_ns);
                if batches.is_empty() {
                    break;
                }
                let request = ProduceRequest::default()
                    .with_transactional_id(self.transactions.as_ref().map(|transactions| transactions.id.clone()))
                    .with_acks(self.acks)
                    .with_timeout_ms(SERVER_TIMEOUT_MS)
                    .with_topic_data(data);
                if let Err(error) = self.pool.send(slot, &request, Out::Batches(batches)) {
                    self.lose(slot, error)?;
                }
            }
        }
        Ok(())
    }

    /// Lets partitions join the transaction, or ends it, when it is time.
    fn ask_coordinator(&mut self, now_ns: u64, at_once: bool) -> Result<()> {
        let is_quiet = self.pool.all_out().all(|out| out.batches().is_empty());
        let at_once = at_once && self.opened_ns().is_none();
        let Some(transactions) = self.transactions.as_mut().filter(|one| self.pool.is_up(one.slot)) else {
            return Ok(());
        };
        let Some(step) = transactions.step(now_ns, self.waiting.iter().copied(), is_quiet, at_once) else {
            return Ok(());
        };
        let slot = transactions.slot;
        let sent = match &step {
            Step::Join(joining) => {
                let indices = joining
                    .iter()
                    .map(|&partition| self.partitions[partition].index)
                    .collect();
                let request = transactions.join_request(&self.topics, indices);
                self.pool.send(slot, &request, Out::Step(step))
            }
            Step::End { commits } => {
                let request = transactions.end_request(*commits);
                self.pool.send(slot, &request, Out::Step(step))
            }
        };
        sent.or_else(|error| self.lose(slot, error))
    }

    /// One batch of each partition of `slot` that has one, as far as they fit in one request.
    fn gather(&mut self, slot: usize, now_ns: u64) -> (Vec<Batch>, Vec<TopicProduceData>) {
        let retries = self.pool.retries();
        let (mut batches, mut data, mut bytes) = (Vec::new(), Vec::new(), 0);
        for _ in 0..self.waiting.len() {
            let Some(index) = self.waiting.pop_front() else { break };
            let partition = &mut self.partitions[index];
            let is_in = self
                .transactions
                .as_ref()
                .is_none_or(|transactions| transactions.takes(index));
            let goes =
                is_in && partition.slot == slot && partition.not_before_ns <= now_ns && bytes < REQUEST_BYTES_MAX;
            if let Some(mut batch) = goes.then(|| partition.ready.pop_front()).flatten() {
                bytes += batch.bytes.len();
                let encoded = if retries {
                    batch.bytes.clone()
                } else {
                    std::mem::take(&mut batch.bytes)
                };
                batches.push(batch);
                data.push((partition.index, encoded));
            }
            if !partition.ready.is_empty() {
                self.waiting.push_back(index);
            }
        }
        let of_topics = self.topics.by_topic(data).into_iter().map(|(name, parts)| {
            let parts = parts.into_iter().map(|(index, encoded)| {
                PartitionProduceData::default()
                    .with_index(index)
                    .with_records(Some(encoded))
            });
            TopicProduceData::default()
                .with_name(name)
                .with_partition_data(parts.collect())
        });
        (batches, of_topics.collect())
    }

    /// The batches in flight on a lost connection are sent again by another.
    fn lose(&mut self, slot: usize, reason: anyhow::Error) -> Result<()> {
        for out in self.pool.lose(slot, reason)? {
            match out {
                Out::Batches(batches) => batches.into_iter().for_each(|batch| self.send_again(batch, 0)),
                Out::Step(_) => self.transactions.iter_mut().for_each(Transactions::lost),
            }
        }
        Ok(())
    }

    fn send_again(&mut self, batch: Batch, not_before_ns: u64) {
        self.resent += batch.records.count;
        self.partitions[batch.records.partition].not_before_ns = not_before_ns;
        self.make_ready(batch);
    }

    /// Takes over new connections as they are found.
    pub(crate) fn refresh(&mut self) -> Result<()> {
        self.pool
            .refresh(&mut self.partitions, |partition| (partition.index, &mut partition.slot))
    }
}
