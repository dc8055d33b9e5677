//! Answers to a record accumulator: batches are stored, sent again, or refused; and the progress of
//! transactions.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use hydrotest_core::clock::monotonic_ns;
use kafka_protocol::messages::{AddPartitionsToTxnRequest, EndTxnRequest, ProduceRequest};

use super::{End, Ended, Out, RETRY_NS, RecordAccumulator};
use crate::flight::{Batch, Records};
use crate::protocol::{DUPLICATE_SEQUENCE, OUT_OF_ORDER_SEQUENCE, error_name};
use crate::transaction::Step;

impl RecordAccumulator {
    pub(super) fn take_answers(&mut self, slot: usize, ended: &mut Vec<Ended>) -> Result<()> {
        loop {
            let took = match self.pool.front(slot) {
                None => false,
                Some(Out::Batches(_)) => self.take_produced(slot, ended)?,
                Some(Out::Step(Step::Join(_))) => self.take_joined(slot)?,
                Some(Out::Step(Step::End { .. })) => self.take_ended(slot, ended)?,
            };
            if !took {
                return Ok(());
            }
        }
    }

    fn take_joined(&mut self, slot: usize) -> Result<bool> {
        let Some((Out::Step(Step::Join(partitions)), response)) = self.pool.take::<AddPartitionsToTxnRequest>(slot)?
        else {
            return Ok(false);
        };
        if let Some(transactions) = &mut self.transactions {
            transactions.joined(&partitions, &response, monotonic_ns())?;
        }
        Ok(true)
    }

    fn take_ended(&mut self, slot: usize, ended: &mut Vec<Ended>) -> Result<bool> {
        let Some((Out::Step(Step::End { commits }), response)) = self.pool.take::<EndTxnRequest>(slot)? else {
            return Ok(false);
        };
        let transactions = self.transactions.as_mut();
        let over = transactions
            .map(|one| one.ended(commits, response.error_code, monotonic_ns()))
            .transpose()?;
        if let Some(over) = over.flatten() {
            let end = match over.broken {
                _ if over.committed => End::Stored,
                Some(name) => End::Refused(format!("aborted, for {name}")),
                None => End::Aborted,
            };
            let at_ns = self.pool.arrived_ns(slot);
            ended.extend(over.records.into_iter().map(|records| Ended {
                records,
                end: end.clone(),
                at_ns,
            }));
        }
        Ok(true)
    }

    fn take_produced(&mut self, slot: usize, ended: &mut Vec<Ended>) -> Result<bool> {
        let Some((Out::Batches(batches), response)) = self.pool.take::<ProduceRequest>(slot)? else {
            return Ok(false);
        };
        let at_ns = self.pool.arrived_ns(slot);
        self.throttled.note(response.throttle_time_ms);
        let mut answers: BTreeMap<i32, (i16, i64)> = BTreeMap::new();
        for topic in &response.responses {
            for partition in &topic.partition_responses {
                let number = self.topics.number(&topic.name, partition.index)?;
                answers.insert(number, (partition.error_code, partition.base_offset));
            }
        }
        for mut batch in batches {
            let index = self.partitions[batch.records.partition].index;
            let (code, offset) = *answers
                .get(&index)
                .with_context(|| format!("a broker's answer lacks partition {index}"))?;
            match code {
                // It is stored already: the answer to an earlier sending was lost.
                0 | DUPLICATE_SEQUENCE => {
                    // A broker that no longer knows the offset sends −1.
                    batch.records.offset = (offset >= 0).then_some(offset);
                    match &mut self.transactions {
                        Some(transactions) => transactions.stored.push(batch.records),
                        None => ended.push(Ended {
                            records: batch.records,
                            end: End::Stored,
                            at_ns,
                        }),
                    }
                }
                code if self.pool.passes(code) || self.is_out_of_turn(&batch, code) => {
                    self.send_again(batch, monotonic_ns() + RETRY_NS);
                }
                code => {
                    let name = error_name(code).unwrap_or_default();
                    if let Some(transactions) = &mut self.transactions {
                        transactions.refuse(&name);
                    }
                    ended.push(Ended {
                        records: batch.records,
                        end: End::Refused(name),
                        at_ns,
                    });
                }
            }
        }
        Ok(true)
    }

    /// True if a batch was refused only because the previous one was, which will be sent again.
    fn is_out_of_turn(&self, batch: &Batch, code: i16) -> bool {
        let waits = |earlier: &Records| {
            earlier.partition == batch.records.partition && earlier.first_sequence < batch.records.first_sequence
        };
        code == OUT_OF_ORDER_SEQUENCE && self.pool.retries() && self.unanswered().any(waits)
    }
}
