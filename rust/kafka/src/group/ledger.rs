//! Which records of a topic a group has processed: once, more than once, or not at all.

use std::ops::AddAssign;

use hydrotest_core::runs::Runs;
use serde::Serialize;

use super::frames::Polled;

/// The first so many stretches of missed offsets are listed.
const MISSED_MAX: usize = 10;

/// What a group has read of one partition.
#[derive(Clone, Debug, Default)]
struct Partition {
    /// The offsets that some member passed, in one go from the offset at which it began.
    passed: Runs,
    /// Those of them that held a record.
    records: Runs,
}

/// What a group has read of a topic's partitions.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    partitions: Vec<Partition>,
    /// Records read again.
    again: u64,
    corrupted: u64,
}

/// What a poll added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Records that were not read before.
    pub records: u64,
    /// Offsets that held none for this group: markers of transactions, and aborted records.
    pub skipped: u64,
    pub bytes: u64,
}

impl AddAssign for Added {
    fn add_assign(&mut self, other: Self) {
        self.records += other.records;
        self.skipped += other.skipped;
        self.bytes += other.bytes;
    }
}

/// The account of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Records that were read, each counted once.
    pub records: u64,
    pub again: u64,
    pub corrupted: u64,
    /// Offsets that held no record for the group.
    pub skipped: u64,
    /// Offsets that the group is past without having read them.
    pub missed: u64,
    /// Offsets that it had still before it.
    pub unread: u64,
    /// The first missed offsets, by partition: `[from, to)`.
    pub first_missed: Vec<(i32, u64, u64)>,
}

impl Ledger {
    pub fn new(partitions: usize) -> Self {
        Self {
            partitions: vec![Partition::default(); partitions],
            ..Self::default()
        }
    }

    /// Adds what a poll gave of a partition. `fresh` is called with the intended start of each record that was not read
    /// before. An error in words for a partition that there is not.
    pub fn add(&mut self, polled: &Polled, mut fresh: impl FnMut(u64)) -> Result<Added, String> {
        let partition = usize::try_from(polled.partition)
            .ok()
            .and_then(|index| self.partitions.get_mut(index))
            .ok_or_else(|| format!("a member read partition {}, which there is not", polled.partition))?;
        let (mut records, mut read, mut at) = (0, 0, 0);
        for &(first, number) in &polled.runs {
            let intended = &polled.intended_wall_ns[at..at + number as usize];
            at += number as usize;
            read += u64::from(number);
            if first >= partition.records.end() {
                records += partition.records.insert_range(first, first + u64::from(number));
                intended.iter().for_each(|&ns| fresh(ns));
                continue;
            }
            for (offset, &ns) in (first..).zip(intended) {
                if partition.records.insert(offset) {
                    records += 1;
                    fresh(ns);
                }
            }
        }
        let passed = partition.passed.insert_range(polled.from, polled.to);
        self.again += read - records;
        self.corrupted += polled.corrupted;
        Ok(Added {
            records,
            skipped: passed.saturating_sub(records),
            bytes: polled.bytes,
        })
    }

    /// The offset behind the last one that any member passed.
    pub fn end(&self, partition: usize) -> u64 {
        self.partitions[partition].passed.end()
    }

    /// The account of a topic that ends at these offsets, by partition.
    pub fn account(&self, ends: &[u64]) -> Account {
        let mut account = Account {
            records: 0,
            again: self.again,
            corrupted: self.corrupted,
            skipped: 0,
            missed: 0,
            unread: 0,
            first_missed: Vec::new(),
        };
        for ((index, partition), &end) in (0..).zip(&self.partitions).zip(ends) {
            let (passed, records) = (partition.passed.len(), partition.records.len());
            account.records += records;
            account.skipped += passed.saturating_sub(records);
            account.unread += end.saturating_sub(partition.passed.end());
            let mut last = 0;
            for (from, to) in partition.passed.to_vec() {
                if from > last {
                    account.missed += from - last;
                    account.first_missed.push((index, last, from));
                }
                last = to;
            }
        }
        account.first_missed.truncate(MISSED_MAX);
        account
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A poll of partition 0, with a record at each offset.
    fn polled(from: u64, to: u64) -> Polled {
        of(from, to, vec![(from, (to - from) as u32)])
    }

    fn of(from: u64, to: u64, runs: Vec<(u64, u32)>) -> Polled {
        let records: u32 = runs.iter().map(|(_, number)| number).sum();
        Polled {
            partition: 0,
            from,
            to,
            bytes: 0,
            corrupted: 0,
            runs,
            intended_wall_ns: (0..u64::from(records)).map(|at| from + at).collect(),
        }
    }

    fn account(polls: &[Polled], end: u64) -> Account {
        let mut ledger = Ledger::new(1);
        for one in polls {
            ledger.add(one, |_| {}).unwrap();
        }
        ledger.account(&[end])
    }

    #[test]
    fn a_successor_that_begins_too_early_reads_again() {
        // The first member read up to 100, but had committed 80 only.
        let found = account(&[polled(0, 100), polled(80, 120)], 130);
        assert_eq!(
            (found.records, found.again, found.missed, found.unread),
            (120, 20, 0, 10)
        );
    }

    #[test]
    fn a_successor_that_begins_too_late_misses() {
        let found = account(&[polled(0, 100), polled(150, 160)], 160);
        assert_eq!((found.records, found.missed, found.unread), (110, 50, 0));
        assert_eq!(found.first_missed, [(0, 100, 150)]);
        let first = account(&[polled(5, 6)], 6);
        assert_eq!((first.missed, first.first_missed), (5, vec![(0, 0, 5)]));
    }

    #[test]
    fn markers_between_records_are_not_missed() {
        let found = account(&[of(0, 10, vec![(0, 4), (6, 3)])], 10);
        assert_eq!((found.records, found.skipped, found.missed, found.unread), (7, 3, 0, 0));
    }

    #[test]
    fn only_records_that_are_new_are_timed() {
        let mut ledger = Ledger::new(1);
        let mut timed = Vec::new();
        ledger.add(&polled(0, 3), |ns| timed.push(ns)).unwrap();
        let added = ledger.add(&polled(1, 5), |ns| timed.push(ns)).unwrap();
        assert_eq!(timed, [0, 1, 2, 3, 4]);
        assert_eq!((added.records, added.skipped), (2, 0));
        // A zombie's late report lies before what its successor has read.
        let added = ledger.add(&polled(2, 4), |_| panic!("all of it was read")).unwrap();
        assert_eq!(added.records, 0);
        assert_eq!(ledger.account(&[5]).again, 4);
    }

    #[test]
    fn a_partition_that_there_is_not_is_an_error() {
        let other = Polled {
            partition: 1,
            ..polled(0, 1)
        };
        assert!(Ledger::new(1).add(&other, |_| {}).is_err());
    }
}
