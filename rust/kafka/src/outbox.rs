//! Sealed batches on their way to the leaders of their partitions, and back as answers; sent again where a connection or a
//! leadership was lost in between.

use std::collections::{BTreeMap, VecDeque};

use anyhow::Result;
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::runs::Runs;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{ProduceRequest, TopicName};

use crate::admin::Leaders;
use crate::connection::Connection;
use crate::finder::Finder;
use crate::flight::{Batch, Partition, Records};
use crate::links::Links;
use crate::produce::ProduceSettings;
use crate::protocol::{error_name, topic_name};

const SERVER_TIMEOUT_MS: i32 = 30_000;
/// Before a refused batch is sent again; Kafka's own `retry.backoff.ms`.
const RETRY_NS: u64 = 100_000_000;

/// Records that have come to their end, and the refusal's name; None where they are stored.
pub(crate) type Ended = (Records, Option<String>);

pub(crate) struct Outbox {
    topic: TopicName,
    acks: i16,
    requests_in_flight: usize,
    links: Links<Vec<Batch>>,
    pub(crate) partitions: Vec<Partition>,
    /// Records sent more than once.
    pub(crate) resent: u64,
}

impl Outbox {
    pub(crate) fn connect(settings: &ProduceSettings, leaders: &Leaders) -> Result<Self> {
        let finder = || Finder::new(&settings.bootstrap, &settings.topic, 1);
        let mut links = Links::new(settings.retries.then(finder));
        let mut partitions = Vec::new();
        for (&index, address) in leaders {
            let link = match links.position(address) {
                Some(link) => link,
                None => links.add(Connection::open(address)?)?,
            };
            partitions.push(Partition {
                index,
                link,
                next_sequence: 0,
                ready: VecDeque::new(),
                not_before_ns: 0,
                acked: Runs::default(),
            });
        }
        Ok(Self {
            topic: topic_name(&settings.topic),
            acks: settings.acks,
            requests_in_flight: settings.requests_in_flight,
            links,
            partitions,
            resent: 0,
        })
    }

    /// Takes a sealed batch; `send_ready` sends it.
    pub(crate) fn put(&mut self, batch: Batch) {
        self.partitions[batch.records.partition].ready.push_back(batch);
    }

    /// Records that are here or out.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = &Records> {
        let out = self.links.all_out().flatten();
        let ready = self.partitions.iter().flat_map(|partition| &partition.ready);
        out.chain(ready).map(|batch| &batch.records)
    }

    /// The oldest of each partition and connection: the oldest of all is among them.
    pub(crate) fn oldest(&self) -> impl Iterator<Item = &Records> {
        let out = self.links.oldest().filter_map(|batches| batches.first());
        let ready = self.partitions.iter().filter_map(|partition| partition.ready.front());
        out.chain(ready).map(|batch| &batch.records)
    }

    /// Waits for answers, at most `timeout_ns`, and takes them in: what came to its end.
    pub(crate) fn wait(&mut self, timeout_ns: u64) -> Result<Vec<Ended>> {
        let mut ended = Vec::new();
        for link in self.links.wait(timeout_ns)? {
            match self.links.pump(link) {
                Ok(()) => self.take_answers(link, &mut ended)?,
                Err(error) => self.lose(link, error)?,
            }
        }
        Ok(ended)
    }

    /// Sends ready batches, several partitions in one request: a broker answers one request per
    /// connection at a time, so few large requests carry more than many small ones.
    pub(crate) fn send_ready(&mut self, now_ns: u64) -> Result<()> {
        let retries = self.links.retries();
        for link in 0..self.links.len() {
            while self.links.is_up(link) && self.links.requests_out(link) < self.requests_in_flight {
                let mut batches = Vec::new();
                let mut data = Vec::new();
                let led = |partition: &&mut Partition| partition.link == link && partition.not_before_ns <= now_ns;
                for partition in self.partitions.iter_mut().filter(led) {
                    if let Some(mut batch) = partition.ready.pop_front() {
                        let bytes = if retries {
                            batch.bytes.clone()
                        } else {
                            std::mem::take(&mut batch.bytes)
                        };
                        batches.push(batch);
                        data.push(
                            PartitionProduceData::default()
                                .with_index(partition.index)
                                .with_records(Some(bytes)),
                        );
                    }
                }
                if batches.is_empty() {
                    break;
                }
                let request = ProduceRequest::default()
                    .with_acks(self.acks)
                    .with_timeout_ms(SERVER_TIMEOUT_MS)
                    .with_topic_data(vec![
                        TopicProduceData::default()
                            .with_name(self.topic.clone())
                            .with_partition_data(data),
                    ]);
                if let Err(error) = self.links.send(link, &request, batches) {
                    self.lose(link, error)?;
                }
            }
        }
        Ok(())
    }

    /// What was out on a lost connection is sent again by another.
    fn lose(&mut self, link: usize, reason: anyhow::Error) -> Result<()> {
        for batch in self.links.lose(link, reason)?.into_iter().flatten() {
            self.send_again(batch, 0);
        }
        Ok(())
    }

    fn send_again(&mut self, batch: Batch, not_before_ns: u64) {
        self.resent += batch.records.count;
        let partition = &mut self.partitions[batch.records.partition];
        partition.not_before_ns = not_before_ns;
        partition.put_back(batch);
    }

    /// Takes new connections over as they are found.
    pub(crate) fn mend(&mut self) -> Result<()> {
        self.links
            .mend(&mut self.partitions, |partition| (partition.index, &mut partition.link))
    }

    fn take_answers(&mut self, link: usize, ended: &mut Vec<Ended>) -> Result<()> {
        while let Some((batches, response)) = self.links.take::<ProduceRequest>(link)? {
            let answers: BTreeMap<i32, i16> = response
                .responses
                .iter()
                .flat_map(|topic| &topic.partition_responses)
                .map(|partition| (partition.index, partition.error_code))
                .collect();
            for batch in batches {
                let index = self.partitions[batch.records.partition].index;
                match answers.get(&index) {
                    Some(&code) if self.links.passes(code) => {
                        self.send_again(batch, monotonic_ns() + RETRY_NS);
                    }
                    Some(&code) => ended.push((batch.records, error_name(code))),
                    None => ended.push((batch.records, Some("NotAnswered".to_owned()))),
                }
            }
        }
        Ok(())
    }
}
