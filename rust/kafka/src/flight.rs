//! Records on their way: open batch, ready batches, requests out.

use std::collections::VecDeque;

use bytes::Bytes;
use hydrotest_core::recorder::Recorder;
use hydrotest_core::runs::Runs;
use hydrotest_core::schedule::Schedule;

use crate::batch::BatchWriter;

/// Consecutive operations that were handed to a batch in the same moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) first_op: u64,
    pub(crate) count: u64,
    pub(crate) handed_ns: u64,
}

/// A batch on its way.
pub(crate) struct Batch {
    pub(crate) partition: usize,
    pub(crate) first_sequence: u64,
    pub(crate) count: u64,
    pub(crate) spans: Vec<Span>,
    pub(crate) value_bytes: u64,
}

pub(crate) struct OpenBatch {
    pub(crate) writer: BatchWriter,
    pub(crate) opened_ns: u64,
    pub(crate) batch: Batch,
}

pub(crate) struct Request {
    pub(crate) correlation: i32,
    pub(crate) batches: Vec<Batch>,
}

pub(crate) struct Partition {
    pub(crate) index: i32,
    pub(crate) leader: usize,
    pub(crate) next_sequence: u64,
    pub(crate) ready: VecDeque<(Batch, Bytes)>,
    pub(crate) acked: Runs,
}

/// Records every operation of a span as ended at `now_ns`.
pub(crate) fn record_span(recorder: &mut Recorder, schedule: Option<&Schedule>, span: Span, now_ns: u64) {
    for op in span.first_op..span.first_op + span.count {
        let intended = schedule.map_or(span.handed_ns, |schedule| schedule.intended_ns(op));
        recorder.record(intended, span.handed_ns, now_ns);
    }
}
