//! The offsets of a producer's acknowledged records in a partition. They show whether a reader that stopped
//! early has passed them.

use std::collections::VecDeque;

/// Runs kept by one producing thread for all its partitions; a few tens of kilobytes in a trial's record.
const KEPT: usize = 2_048;
const KEPT_OF_PARTITION_MIN: usize = 4;

/// The newest runs of one partition: a reader has nearly always passed the older ones.
#[derive(Debug)]
pub(crate) struct AckedOffsets {
    /// (first sequence, end, first offset), consecutive in both.
    runs: VecDeque<(u64, u64, i64)>,
    most: usize,
}

impl AckedOffsets {
    /// For one of so many partitions of all producers of the thread.
    pub(crate) fn of(partitions: usize) -> Self {
        Self {
            runs: VecDeque::new(),
            most: (KEPT / partitions.max(1)).max(KEPT_OF_PARTITION_MIN),
        }
    }

    /// Notes that `count` records from sequence `first` on are at `offset` and behind it.
    pub(crate) fn put(&mut self, first: u64, count: u64, offset: i64) {
        let end = first + count;
        if let Some(last) = self.runs.back_mut()
            && last.1 == first
            && last.2 + (last.1 - last.0).cast_signed() == offset
        {
            last.1 = end;
            return;
        }
        if self.runs.len() == self.most {
            self.runs.pop_front();
        }
        self.runs.push_back((first, end, offset));
    }

    pub(crate) fn to_vec(&self) -> Vec<(u64, u64, i64)> {
        self.runs.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_together_is_one_run() {
        let mut offsets = AckedOffsets::of(1);
        offsets.put(0, 10, 100);
        offsets.put(10, 5, 110);
        // A marker, or another producer's record, is in between.
        offsets.put(15, 5, 116);
        assert_eq!(offsets.to_vec(), [(0, 15, 100), (15, 20, 116)]);
    }

    #[test]
    fn the_newest_are_kept() {
        let mut offsets = AckedOffsets::of(KEPT);
        for number in 0..10 {
            offsets.put(number, 1, number.cast_signed() * 2);
        }
        assert_eq!(offsets.to_vec(), [(6, 7, 12), (7, 8, 14), (8, 9, 16), (9, 10, 18)]);
    }
}
