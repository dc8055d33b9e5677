//! Transactions: records written between a begin and an end become readable together, or not at all. One
//! broker, the coordinator, keeps the transactions of a producer; a partition joins one before its first
//! batch in it. Sources: KIP-98; Kafka documentation, "Message Delivery Semantics"; `TransactionManager` of
//! Kafka's own producer.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, EndTxnRequest, ProducerId, TransactionalId,
};
use kafka_protocol::protocol::StrBytes;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::batch::Identity;
use crate::coordinator::{Kept, find};
use crate::flight::Records;
use crate::protocol::{CONCURRENT_TRANSACTIONS, error_name, is_passing};
use crate::topics::Topics;

/// Wait before a coordinator that was not ready is asked again: the end of the last transaction is still
/// being written. Kafka's own producer waits as long.
const RETRY_NS: u64 = 20_000_000;

/// How records are put into transactions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionSettings {
    /// A transaction ends at this age.
    pub every_ms: f64,
    /// Share of the transactions that are aborted on purpose, 0 to 1.
    pub aborts: f64,
}

/// A request to the coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// These partitions must join; indices into the producer's partitions.
    Join(Vec<usize>),
    /// The transaction must end.
    End { commits: bool },
}

/// The end of a transaction, and its content.
pub(crate) struct Over {
    pub(crate) records: Vec<Records>,
    pub(crate) committed: bool,
    /// Why it was aborted, if not on purpose.
    pub(crate) broken: Option<String>,
}

/// The transactions of one producing thread, one after the other.
pub(crate) struct Transactions {
    pub(crate) id: TransactionalId,
    /// Slot of the connection to the coordinator.
    pub(crate) slot: usize,
    identity: Identity,
    settings: TransactionSettings,
    joined: BTreeSet<usize>,
    begun_ns: Option<u64>,
    /// It takes no further batches and ends when the last one is answered.
    is_ending: bool,
    /// The coordinator has not answered yet.
    is_asking: bool,
    not_before_ns: u64,
    /// Stored in their partitions, but not committed yet.
    pub(crate) stored: Vec<Records>,
    broken: Option<String>,
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
}

impl Transactions {
    pub(crate) fn new(id: TransactionalId, slot: usize, identity: Identity, settings: TransactionSettings) -> Self {
        Self {
            id,
            slot,
            identity,
            settings,
            joined: BTreeSet::new(),
            begun_ns: None,
            is_ending: false,
            is_asking: false,
            not_before_ns: 0,
            stored: Vec::new(),
            broken: None,
            committed: 0,
            aborted: 0,
        }
    }

    /// True if the partition's batches may be sent now.
    pub(crate) fn takes(&self, partition: usize) -> bool {
        !self.is_ending && self.joined.contains(&partition)
    }

    /// A batch of it was refused finally: the transaction cannot be committed.
    pub(crate) fn refuse(&mut self, name: &str) {
        self.broken.get_or_insert_with(|| name.to_owned());
    }

    /// The next request to the coordinator. `waiting` are the partitions with batches to send. `is_quiet` is
    /// true if no batch is in flight, `at_once` if the transaction need not grow older.
    pub(crate) fn step(
        &mut self,
        now_ns: u64,
        waiting: impl Iterator<Item = usize>,
        is_quiet: bool,
        at_once: bool,
    ) -> Option<Step> {
        if self.is_asking || now_ns < self.not_before_ns {
            return None;
        }
        let lacking: Vec<usize> = waiting.filter(|partition| !self.joined.contains(partition)).collect();
        if let Some(begun_ns) = self.begun_ns {
            let age_ns = (self.settings.every_ms * 1e6) as u64;
            self.is_ending |= now_ns.saturating_sub(begun_ns) >= age_ns || self.broken.is_some();
            self.is_ending |= at_once && is_quiet && lacking.is_empty() && !self.stored.is_empty();
        }
        let step = if self.is_ending {
            is_quiet.then(|| Step::End {
                commits: self.broken.is_none() && !self.is_to_be_aborted(),
            })
        } else {
            (!lacking.is_empty()).then_some(Step::Join(lacking))
        };
        if step.is_some() {
            self.is_asking = true;
        }
        step
    }

    /// Spread evenly over all: the n-th is aborted where the share of n passes a whole number.
    fn is_to_be_aborted(&self) -> bool {
        let number = (self.committed + self.aborted) as f64;
        ((number + 1.0) * self.settings.aborts).floor() > (number * self.settings.aborts).floor()
    }

    pub(crate) fn join_request(&self, topics: &Topics, partitions: Vec<i32>) -> AddPartitionsToTxnRequest {
        let of_topics = topics.by_topic(partitions.into_iter().map(|number| (number, ())));
        let joining = of_topics.into_iter().map(|(name, partitions)| {
            AddPartitionsToTxnTopic::default()
                .with_name(name)
                .with_partitions(partitions.into_iter().map(|(partition, ())| partition).collect())
        });
        AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(self.id.clone())
            .with_v3_and_below_producer_id(ProducerId(self.identity.producer_id))
            .with_v3_and_below_producer_epoch(self.identity.epoch)
            .with_v3_and_below_topics(joining.collect())
    }

    pub(crate) fn end_request(&self, commits: bool) -> EndTxnRequest {
        EndTxnRequest::default()
            .with_transactional_id(self.id.clone())
            .with_producer_id(ProducerId(self.identity.producer_id))
            .with_producer_epoch(self.identity.epoch)
            .with_committed(commits)
    }

    /// The answer to `Join`. An error if the coordinator refuses finally.
    pub(crate) fn joined(
        &mut self,
        partitions: &[usize],
        answer: &AddPartitionsToTxnResponse,
        now_ns: u64,
    ) -> Result<()> {
        let results = answer.results_by_topic_v3_and_below.iter();
        let codes = results.flat_map(|topic| {
            topic
                .results_by_partition
                .iter()
                .map(|result| result.partition_error_code)
        });
        if self
            .is_answered(codes, now_ns)
            .context("a transaction cannot be begun")?
        {
            // Only now is there a transaction: one without partitions cannot be ended.
            self.begun_ns.get_or_insert(now_ns);
            self.joined.extend(partitions);
        }
        Ok(())
    }

    /// The answer to `End`: the records that have ended with the transaction. None if the request must be
    /// repeated; an error if the coordinator refuses finally.
    pub(crate) fn ended(&mut self, commits: bool, code: i16, now_ns: u64) -> Result<Option<Over>> {
        if !self
            .is_answered([code].into_iter(), now_ns)
            .context("a transaction cannot be ended")?
        {
            return Ok(None);
        }
        *(if commits {
            &mut self.committed
        } else {
            &mut self.aborted
        }) += 1;
        self.joined.clear();
        self.begun_ns = None;
        self.is_ending = false;
        Ok(Some(Over {
            records: std::mem::take(&mut self.stored),
            committed: commits,
            broken: self.broken.take(),
        }))
    }

    /// The connection to the coordinator was lost: the request is repeated, which does no harm.
    pub(crate) fn lost(&mut self) {
        self.is_asking = false;
    }

    /// True if the coordinator did as requested; false if the request must be repeated a little later.
    fn is_answered(&mut self, mut codes: impl Iterator<Item = i16>, now_ns: u64) -> Result<bool> {
        self.is_asking = false;
        match codes.find(|&code| code != 0) {
            None => Ok(true),
            Some(code) if code == CONCURRENT_TRANSACTIONS || is_passing(code) => {
                self.not_before_ns = now_ns + RETRY_NS;
                Ok(false)
            }
            Some(code) => bail!("{}", error_name(code).unwrap_or_default()),
        }
    }
}

/// The address of the broker that keeps a producer's transactions; waits for one, with a bound.
pub(crate) fn coordinator(access: &Access, id: &TransactionalId) -> Result<String> {
    find(access, Kept::Transactions, id.0.as_str())
}

/// A producer's id in transactions; it begins with the prefix of all our names.
pub(crate) fn transactional_id(topic: &str, producer: u32) -> TransactionalId {
    TransactionalId(StrBytes::from_string(format!("{topic}-{producer}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::add_partitions_to_txn_response::{
        AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
    };

    const MS: u64 = 1_000_000;

    fn transactions(aborts: f64) -> Transactions {
        let identity = Identity {
            producer_id: 1,
            epoch: 0,
            is_transactional: true,
        };
        let settings = TransactionSettings {
            every_ms: 100.0,
            aborts,
        };
        Transactions::new(transactional_id("hydrotest-x", 7), 0, identity, settings)
    }

    fn join_answer(code: i16) -> AddPartitionsToTxnResponse {
        let result = AddPartitionsToTxnPartitionResult::default().with_partition_error_code(code);
        AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(vec![
            AddPartitionsToTxnTopicResult::default().with_results_by_partition(vec![result]),
        ])
    }

    fn records(count: u64) -> Records {
        Records {
            partition: 0,
            first_sequence: 0,
            count,
            spans: Vec::new(),
            value_bytes: 0,
            offset: None,
        }
    }

    #[test]
    fn partitions_join_before_their_batches_go() {
        let mut one = transactions(0.0);
        assert!(!one.takes(0));
        assert_eq!(
            one.step(0, [0, 2].into_iter(), true, false),
            Some(Step::Join(vec![0, 2]))
        );
        // One request at a time.
        assert_eq!(one.step(MS, [0, 1].into_iter(), true, false), None);
        one.joined(&[0, 2], &join_answer(0), MS).unwrap();
        assert!(one.takes(0) && one.takes(2) && !one.takes(1));
        assert_eq!(
            one.step(MS, [0, 1].into_iter(), false, false),
            Some(Step::Join(vec![1]))
        );
    }

    #[test]
    fn it_ends_when_it_is_old_and_nothing_is_out() {
        let mut one = transactions(0.0);
        one.step(0, [0].into_iter(), true, false);
        one.joined(&[0], &join_answer(0), 0).unwrap();
        assert_eq!(one.step(99 * MS, std::iter::empty(), false, false), None);
        assert_eq!(one.step(100 * MS, [0, 1].into_iter(), false, false), None);
        assert!(!one.takes(0));
        one.stored.push(records(5));
        assert_eq!(
            one.step(101 * MS, [0, 1].into_iter(), true, false),
            Some(Step::End { commits: true })
        );
        let over = one.ended(true, 0, 102 * MS).unwrap().unwrap();
        assert!(over.committed && over.broken.is_none());
        assert_eq!(over.records.len(), 1);
        // The next begins anew.
        assert_eq!(
            one.step(103 * MS, [0].into_iter(), true, false),
            Some(Step::Join(vec![0]))
        );
    }

    #[test]
    fn a_closed_loop_does_not_wait_for_its_age() {
        let mut one = transactions(0.0);
        one.step(0, [0].into_iter(), true, true);
        one.joined(&[0], &join_answer(0), 0).unwrap();
        assert_eq!(one.step(MS, std::iter::empty(), true, true), None);
        one.stored.push(records(5));
        assert_eq!(
            one.step(MS, std::iter::empty(), true, true),
            Some(Step::End { commits: true })
        );
    }

    #[test]
    fn a_coordinator_that_is_not_ready_is_asked_again() {
        let mut one = transactions(0.0);
        one.step(0, [0].into_iter(), true, false);
        one.joined(&[0], &join_answer(CONCURRENT_TRANSACTIONS), 0).unwrap();
        assert_eq!(one.step(MS, [0].into_iter(), true, false), None);
        assert_eq!(
            one.step(RETRY_NS, [0].into_iter(), true, false),
            Some(Step::Join(vec![0]))
        );
        const INVALID_PRODUCER_EPOCH: i16 = 47;
        let error = one.joined(&[0], &join_answer(INVALID_PRODUCER_EPOCH), 0).unwrap_err();
        assert!(format!("{error:#}").contains("InvalidProducerEpoch"), "{error:#}");
    }

    #[test]
    fn one_with_a_refused_batch_is_aborted() {
        let mut one = transactions(0.0);
        one.step(0, [0].into_iter(), true, false);
        one.joined(&[0], &join_answer(0), 0).unwrap();
        one.refuse("MessageTooLarge");
        assert_eq!(
            one.step(MS, std::iter::empty(), true, false),
            Some(Step::End { commits: false })
        );
        assert_eq!(
            one.ended(false, 0, MS).unwrap().unwrap().broken.as_deref(),
            Some("MessageTooLarge")
        );
    }

    #[test]
    fn as_many_are_aborted_as_asked() {
        let mut one = transactions(0.25);
        for number in 0..20 {
            one.step(number * 1_000 * MS, [0].into_iter(), true, false);
            one.joined(&[0], &join_answer(0), 0).unwrap();
            let Some(Step::End { commits }) = one.step((number * 1_000 + 500) * MS, std::iter::empty(), true, false)
            else {
                panic!("it is old enough");
            };
            one.ended(commits, 0, 0).unwrap();
        }
        assert_eq!((one.committed, one.aborted), (15, 5));
    }
}
