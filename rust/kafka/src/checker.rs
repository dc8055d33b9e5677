//! The checks of one partition's records: every record's checksum, and every producer's sequence.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use anyhow::{Context, Result};
use hydrotest_core::runs::Runs;
use serde::Serialize;

use crate::batch_reader::{Aborted, read_batches};
use crate::payload::{LEVEL_END, Level, Opened, STAMP_BYTES, Stamp, open, open_apart, stamp_in, widen};

/// Sequences of one producer in one partition.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    pub(crate) seen: Runs,
    /// Sequences that were found more than once.
    pub(crate) doubled: Runs,
    pub(crate) duplicated: u64,
    pub(crate) out_of_order: u64,
}

impl Tracker {
    /// Records the sequence with this lower half that is nearest to the last one.
    fn note_low(&mut self, sequence_low: u32) {
        self.note(widen(sequence_low, self.seen.end()));
    }

    fn note(&mut self, sequence: u64) {
        let behind = sequence < self.seen.end();
        if !self.seen.insert(sequence) {
            self.duplicated += 1;
            self.doubled.insert(sequence);
        } else if behind {
            self.out_of_order += 1;
        }
    }
}

/// Records that differ from what was written, or are in the wrong place. Their producer cannot be identified,
/// or does not matter.
#[derive(Debug, Default)]
pub(crate) struct Flaws {
    pub(crate) corrupted: u64,
    /// Log records with another level than this topic's.
    pub(crate) wrong_branch: u64,
}

/// The content of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) records: u64,
    /// Bytes of their values.
    pub(crate) bytes: u64,
    /// Offsets that were passed without a record for this reader: markers of transactions, aborted records,
    /// unreadable batches.
    pub(crate) skipped: u64,
    /// The records of aborted transactions among these.
    pub(crate) aborted: u64,
}

impl AddAssign for Checked {
    fn add_assign(&mut self, other: Self) {
        self.records += other.records;
        self.bytes += other.bytes;
        self.skipped += other.skipped;
        self.aborted += other.aborted;
    }
}

/// A partition under read.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) index: i32,
    pub(crate) slot: usize,
    pub(crate) next_offset: i64,
    pub(crate) end_offset: i64,
    /// End of the topic as the broker last reported it.
    pub(crate) written_offset: i64,
    /// The offset up to which this reader may read, as last reported: the end, or the start of the first
    /// undecided transaction.
    pub(crate) readable_offset: i64,
    /// No fetch before this time: the last answer was a temporary refusal.
    pub(crate) not_before_ns: u64,
    pub(crate) passes: u64,
    pub(crate) trackers: BTreeMap<u32, Tracker>,
    /// Flaws of later passes; the runs are the first pass's.
    pub(crate) first_pass: Option<BTreeMap<u32, Tracker>>,
}

impl Partition {
    /// True when everything up to the wanted end is read.
    pub(crate) fn is_read(&self) -> bool {
        self.next_offset >= self.end_offset
    }

    /// Records the end of the broker's log. `stable`: the offset up to which all transactions are decided,
    /// where only that part is read.
    pub(crate) fn reaches(&mut self, end: i64, stable: Option<i64>) {
        self.written_offset = self.written_offset.max(end);
        self.readable_offset = self.readable_offset.max(stable.unwrap_or(end));
    }

    /// Checks the records of one answer, except those of `aborted` transactions. `level`: the level of all
    /// log records in the topic.
    pub(crate) fn check(
        &mut self,
        data: &[u8],
        aborted: &mut Aborted,
        level: Option<Level>,
        flaws: &mut Flaws,
        mut arrived: impl FnMut(&Stamp),
    ) -> Result<Checked> {
        let (mut flawed, mut strayed) = (0, 0);
        // An answer nearly always holds one producer's records: its tracker is taken out of the map
        // and looked up again only when the producer changes.
        let mut current: Option<(u32, Tracker)> = None;
        let trackers = &mut self.trackers;
        let read = read_batches(data, self.next_offset, aborted, |value, headers| {
            let opened = match stamp_in(headers) {
                Some(_) => open_apart(headers, value).map(Opened::Whole),
                None => open(value),
            };
            let Some(opened) = opened else {
                flawed += 1;
                return;
            };
            strayed += u64::from(level.is_some_and(|level| value.get(STAMP_BYTES..LEVEL_END) != Some(&level[..])));
            let (Opened::Whole(Stamp { producer, .. }) | Opened::Short { producer, .. }) = opened;
            if current.as_ref().is_none_or(|(known, _)| *known != producer) {
                trackers.extend(current.take());
            }
            let tracker = &mut current
                .get_or_insert_with(|| (producer, trackers.remove(&producer).unwrap_or_default()))
                .1;
            match opened {
                Opened::Whole(stamp) => {
                    arrived(&stamp);
                    tracker.note(stamp.sequence);
                }
                // It has no time: its latency is unknown.
                Opened::Short { sequence_low, .. } => tracker.note_low(sequence_low),
            }
        })
        .with_context(|| format!("partition {} at offset {}", self.index, self.next_offset))?;
        self.trackers.extend(current);
        flaws.corrupted += flawed + read.corrupt_records;
        flaws.wrong_branch += strayed;
        let passed = (read.next_offset - self.next_offset).max(0).cast_unsigned();
        self.next_offset = read.next_offset;
        Ok(Checked {
            records: read.records,
            bytes: read.bytes,
            skipped: passed.saturating_sub(read.records),
            aborted: read.aborted_records,
        })
    }

    pub(crate) fn end_pass(&mut self, repeat: bool) {
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

/// A partition that was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Stopped {
    partition: i32,
    /// The first offset that was not read, and the one behind the last.
    read_to: i64,
    end: i64,
}

impl Stopped {
    pub(crate) fn of(partition: &Partition) -> Option<Self> {
        let end = partition.end_offset.min(partition.written_offset);
        (partition.passes == 0 && partition.next_offset < end).then_some(Self {
            partition: partition.index,
            read_to: partition.next_offset,
            end,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::batch_reader::tests::{Kind, log_of};

    pub(crate) fn partition(index: i32) -> Partition {
        Partition {
            index,
            slot: 0,
            next_offset: 0,
            end_offset: i64::MAX,
            written_offset: 0,
            readable_offset: 0,
            not_before_ns: 0,
            passes: 0,
            trackers: BTreeMap::new(),
            first_pass: None,
        }
    }

    /// A transaction that is aborted, and one that is committed.
    pub(crate) fn two_transactions() -> Vec<u8> {
        use Kind::{InTransaction, Marker};
        log_of(&[
            (1, InTransaction),
            (1, InTransaction),
            (1, Marker { commits: false }),
            (1, InTransaction),
            (1, InTransaction),
            (1, InTransaction),
            (1, Marker { commits: true }),
        ])
    }

    #[test]
    fn what_holds_no_record_is_passed_over() {
        let mut flaws = Flaws::default();
        let mut check = |aborted: &[(i64, i64)]| {
            let mut aborted = Aborted::new(aborted.iter().copied());
            let checked = partition(0).check(&two_transactions(), &mut aborted, None, &mut flaws, |_| {});
            let checked = checked.unwrap();
            (checked.records, checked.skipped, checked.aborted)
        };
        assert_eq!(check(&[(0, 1)]), (3, 4, 2));
        // A reader of all that is there receives no aborted transaction.
        assert_eq!(check(&[]), (5, 2, 0));
    }

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

    #[test]
    fn a_partition_is_stopped_in_only_where_something_is_left() {
        let mut one = partition(3);
        one.reaches(10, None);
        one.next_offset = 7;
        let stopped = Stopped {
            partition: 3,
            read_to: 7,
            end: 10,
        };
        assert_eq!(Stopped::of(&one), Some(stopped));
        one.next_offset = 10;
        assert_eq!(Stopped::of(&one), None);
        // Read once already, and begun anew.
        (one.next_offset, one.passes) = (0, 1);
        assert_eq!(Stopped::of(&one), None);
    }
}
