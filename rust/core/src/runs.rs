//! Sets of sequence numbers kept as runs: memory grows with anomalies, not with records.

use std::collections::BTreeMap;

/// A set of `u64` as disjoint, non-touching half-open runs `[start, end)`.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// All runs but the current one, by start.
    others: BTreeMap<u64, u64>,
    /// The run that grew last, kept out of the map: records nearly always arrive in order, and then
    /// an insert is one comparison and one addition.
    current: Option<(u64, u64)>,
    /// Start of the first run behind the current one, where the fast path must stop.
    wall: u64,
}

impl Runs {
    /// Adds one number. False if it was there already.
    pub fn insert(&mut self, value: u64) -> bool {
        if let Some((_, end)) = &mut self.current
            && value == *end
            && value + 1 < self.wall
        {
            *end += 1;
            return true;
        }
        self.insert_range(value, value + 1) == 1
    }

    /// Adds `[start, end)`; returns how many of its numbers are new.
    pub fn insert_range(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        if let Some((s, e)) = self.current.take() {
            self.others.insert(s, e);
        }
        let mut merged = (start, end);
        let mut already = 0;
        // Every run that overlaps or touches [start, end): they are disjoint, so walk back from `end`.
        while let Some((&s, &e)) = self.others.range(..=end).next_back() {
            if e < start {
                break;
            }
            already += e.min(end).saturating_sub(s.max(start));
            merged = (merged.0.min(s), merged.1.max(e));
            self.others.remove(&s);
        }
        self.wall = self.others.range(merged.1..).next().map_or(u64::MAX, |(&s, _)| s);
        self.current = Some(merged);
        (end - start) - already
    }

    /// The highest number plus one; 0 when empty.
    pub fn end(&self) -> u64 {
        let others = self.others.last_key_value().map_or(0, |(_, &end)| end);
        others.max(self.current.map_or(0, |(_, end)| end))
    }

    /// The number of elements in the set.
    pub fn len(&self) -> u64 {
        self.to_vec().iter().map(|(s, e)| e - s).sum()
    }

    /// True when nothing was added.
    pub fn is_empty(&self) -> bool {
        self.current.is_none() && self.others.is_empty()
    }

    /// The runs in ascending order, half-open.
    pub fn to_vec(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = self.others.iter().map(|(&s, &e)| (s, e)).collect();
        runs.extend(self.current);
        runs.sort_unstable();
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against the plain set: same answers, same content, runs disjoint and not touching.
        #[test]
        fn equals_a_plain_set(steps in prop::collection::vec((0u64..220, 1u64..20, any::<bool>()), 0..150)) {
            let mut runs = Runs::default();
            let mut plain = BTreeSet::new();
            for (start, length, single) in steps {
                if single {
                    prop_assert_eq!(runs.insert(start), plain.insert(start));
                } else {
                    let new = (start..start + length).filter(|value| plain.insert(*value)).count() as u64;
                    prop_assert_eq!(runs.insert_range(start, start + length), new);
                }
                prop_assert_eq!(runs.end(), plain.last().map_or(0, |last| last + 1));
            }
            prop_assert_eq!(runs.len(), plain.len() as u64);
            let listed: Vec<u64> = runs.to_vec().into_iter().flat_map(|(s, e)| s..e).collect();
            prop_assert_eq!(listed, plain.into_iter().collect::<Vec<_>>());
            let runs = runs.to_vec();
            prop_assert!(runs.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }

    #[test]
    fn in_order_records_make_one_run() {
        let mut runs = Runs::default();
        assert!((0..100_000).all(|value| runs.insert(value)));
        assert_eq!(runs.to_vec(), [(0, 100_000)]);
        assert!(!runs.insert(7));
    }
}
