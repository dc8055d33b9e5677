//! The lag of a follower.

use std::sync::atomic::Ordering::{Relaxed, Release};

use hydrotest_core::reporter::SharedCounts;

use crate::checker::{Checked, Partition};

/// Counts an answer to a follower. Readable records count as started, passed ones as completed or skipped. So
/// the number in flight is its lag in offsets, as Kafka's own consumer reports it (`records-lag`), whatever
/// the offsets hold.
pub(crate) fn count_followed(counts: &SharedCounts, partitions: &[Partition], checked: Checked) {
    let readable: i64 = partitions.iter().map(|partition| partition.readable_offset).sum();
    counts.started.fetch_max(readable.max(0).cast_unsigned(), Release);
    counts.skipped.fetch_add(checked.skipped, Release);
    counts.bytes.fetch_add(checked.bytes, Relaxed);
    counts.completed.fetch_add(checked.records, Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch_reader::Aborted;
    use crate::checker::Flaws;
    use crate::checker::tests::{partition, two_transactions};

    /// An answer with both transactions of `two_transactions`, seven offsets, from a log that is longer.
    fn answered(aborted: &[(i64, i64)], end: i64, stable: Option<i64>) -> SharedCounts {
        let counts = SharedCounts::default();
        let mut one = partition(0);
        one.reaches(end, stable);
        let mut aborted = Aborted::new(aborted.iter().copied());
        let checked = one
            .check(&two_transactions(), &mut aborted, None, &mut Flaws::default(), |_| {})
            .unwrap();
        count_followed(&counts, &[one], checked);
        counts
    }

    #[test]
    fn markers_and_aborted_records_that_were_passed_are_no_lag() {
        for aborted in [&[(0, 1)][..], &[]] {
            let counts = answered(aborted, 7, None).read();
            assert_eq!((counts.started, counts.in_flight()), (7, 0));
        }
        assert_eq!(answered(&[(0, 1)], 7, None).read().completed, 3);
        assert_eq!(answered(&[], 7, None).read().completed, 5);
    }

    #[test]
    fn what_is_written_and_not_read_is_the_lag() {
        assert_eq!(answered(&[], 17, None).read().in_flight(), 10);
        // Records of undecided transactions cannot be read: a reader of committed records is not behind for
        // them.
        assert_eq!(answered(&[(0, 1)], 17, Some(9)).read().in_flight(), 2);
    }
}
