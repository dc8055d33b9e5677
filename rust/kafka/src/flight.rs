//! Records in flight: an open batch, ready batches, and batches sent.

use std::collections::VecDeque;

use bytes::Bytes;
use hydrotest_core::recorder::Recorder;
use hydrotest_core::runs::Runs;
use hydrotest_core::schedule::Schedule;

use crate::acked_offsets::AckedOffsets;
use crate::batch::BatchWriter;
use crate::payload::{Stamp, tagged};
use crate::record::NewRecord;

/// Consecutive operations that were handed to a batch at the same moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) first_op: u64,
    pub(crate) count: u32,
    pub(crate) handed_ns: u64,
    /// How late their batch was for all of them, where they waited for it; else each counts from when it was handed over.
    pub(crate) late_ns: Option<u64>,
}

/// One operation: a record that is handed to its batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    pub(crate) number: u64,
    pub(crate) producer: u32,
    /// Index into the producer's partitions.
    pub(crate) partition: usize,
    pub(crate) handed_ns: u64,
    /// When a batch is opened with it, though it was handed over later.
    pub(crate) opened_ns: u64,
    /// See `Span`.
    pub(crate) late_ns: Option<u64>,
    pub(crate) intended_wall_ns: u64,
}

/// The records of a batch.
pub(crate) struct Records {
    /// Index into the producer's partitions.
    pub(crate) partition: usize,
    pub(crate) first_sequence: u64,
    pub(crate) count: u64,
    pub(crate) spans: Vec<Span>,
    pub(crate) value_bytes: u64,
    /// The offset of the first one, once the broker has answered.
    pub(crate) offset: Option<i64>,
}

/// A batch that takes records.
pub(crate) struct OpenBatch {
    pub(crate) writer: BatchWriter,
    pub(crate) opened_ns: u64,
    pub(crate) records: Records,
}

/// A sealed batch, ready or sent.
pub(crate) struct Batch {
    pub(crate) records: Records,
    /// Its encoding; kept after sending only where it may have to be sent again.
    pub(crate) bytes: Bytes,
}

pub(crate) struct Partition {
    pub(crate) index: i32,
    pub(crate) slot: usize,
    pub(crate) next_sequence: u64,
    /// The batch that takes records now.
    pub(crate) open: Option<OpenBatch>,
    /// In order of their sequences.
    pub(crate) ready: VecDeque<Batch>,
    /// Nothing is sent before this time: the last answer was a temporary refusal.
    pub(crate) not_before_ns: u64,
    pub(crate) acked: Runs,
    pub(crate) offsets: AckedOffsets,
}

impl Partition {
    /// Appends a record, to a new batch of at most `batch_bytes` if none is open.
    pub(crate) fn push(&mut self, batch_bytes: usize, made: &NewRecord<'_>, op: Op) {
        let open = self.open.get_or_insert_with(|| OpenBatch {
            writer: BatchWriter::new(batch_bytes),
            opened_ns: op.opened_ns,
            records: Records {
                partition: op.partition,
                first_sequence: self.next_sequence,
                count: 0,
                spans: Vec::new(),
                value_bytes: 0,
                offset: None,
            },
        });
        let stamp = Stamp {
            producer: made.level.map_or(op.producer, |_| tagged(op.producer, self.index)),
            sequence: self.next_sequence,
            intended_wall_ns: op.intended_wall_ns,
        };
        open.writer.push(made.record(), stamp);
        self.next_sequence += 1;
        open.records.count += 1;
        open.records.value_bytes += made.value_bytes() as u64;
        match open.records.spans.last_mut() {
            // With keys, consecutive operations go to different partitions.
            Some(span) if span.handed_ns == op.handed_ns && span.first_op + u64::from(span.count) == op.number => {
                span.count += 1
            }
            _ => open.records.spans.push(Span {
                first_op: op.number,
                count: 1,
                handed_ns: op.handed_ns,
                late_ns: op.late_ns,
            }),
        }
    }

    /// Inserts a sealed batch in order: behind all others, or where it was before it was sent. So only
    /// batches that a broker refused out of order are reordered.
    pub(crate) fn put_in_place(&mut self, batch: Batch) {
        let behind = |other: &Batch| other.records.first_sequence < batch.records.first_sequence;
        let place = self.ready.partition_point(behind);
        self.ready.insert(place, batch);
    }
}

/// Records every operation of a span as ended at `now_ns`.
pub(crate) fn record_span(recorder: &mut Recorder, schedule: Option<&Schedule>, span: Span, now_ns: u64) {
    let Some(schedule) = schedule else {
        recorder.record_alike(span.handed_ns, span.handed_ns, now_ns, span.count);
        return;
    };
    for op in span.first_op..span.first_op + u64::from(span.count) {
        let intended_ns = schedule.intended_ns(op);
        let handed_ns = span.late_ns.map_or(span.handed_ns, |late_ns| intended_ns + late_ns);
        recorder.record(intended_ns, handed_ns, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_comes_to_its_place() {
        let batch = |first_sequence| Batch {
            records: Records {
                partition: 0,
                first_sequence,
                count: 10,
                spans: Vec::new(),
                value_bytes: 0,
                offset: None,
            },
            bytes: Bytes::new(),
        };
        let mut partition = Partition {
            index: 0,
            slot: 0,
            next_sequence: 50,
            open: None,
            ready: VecDeque::from([batch(20), batch(40)]),
            not_before_ns: 0,
            acked: Runs::default(),
            offsets: AckedOffsets::of(1),
        };
        for sequence in [30, 0, 10] {
            partition.put_in_place(batch(sequence));
        }
        let order: Vec<u64> = partition
            .ready
            .iter()
            .map(|batch| batch.records.first_sequence)
            .collect();
        assert_eq!(order, [0, 10, 20, 30, 40]);
    }
}
