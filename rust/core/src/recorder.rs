//! Latency recording: three histograms per second of intended start, one recorder per thread, merged when read.
//!
//! * response = end − intended start (what a user waits; the objective is about this one)
//! * service  = end − actual start (what the system took)
//! * wait     = actual start − intended start (what the generator was late by)
//!
//! An operation belongs to the second in which it was *meant* to start, so that a stall does not
//! move its victims out of the window.

use std::collections::{BTreeMap, VecDeque};

use hdrhistogram::Histogram;

/// Values are recorded in microseconds; the highest is ten minutes.
pub const HIGHEST_US: u64 = 600_000_000;
/// Three decimal digits: a reported percentile is within 0.1 % of the true value.
pub const DIGITS: u8 = 3;
/// Seconds that stay open for late completions; those of still later ones are kept separate until the end.
const OPEN_SECONDS: usize = 8;
const SECOND_NS: u64 = 1_000_000_000;

/// The three histograms of one second (or of any merged span). They grow with their content: a generator has
/// dozens of them, and ten minutes take nearly three times the memory of a tenth of a second.
#[derive(Clone, Debug)]
pub struct Latencies {
    pub response: Histogram<u32>,
    pub service: Histogram<u32>,
    pub wait: Histogram<u32>,
}

impl Default for Latencies {
    fn default() -> Self {
        let empty = || Histogram::new(DIGITS).expect("the digits are a valid constant");
        Self {
            response: empty(),
            service: empty(),
            wait: empty(),
        }
    }
}

impl Latencies {
    /// Adds all of `other`; lossless, since the digits are the same.
    pub fn add(&mut self, other: &Self) {
        for (into, from) in [
            (&mut self.response, &other.response),
            (&mut self.service, &other.service),
            (&mut self.wait, &other.wait),
        ] {
            into.add(from).expect("they grow as they must");
        }
    }
}

/// One second's histograms, and the index of that second.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Which second since the recorder's start.
    pub index: u64,
    pub latencies: Latencies,
}

/// The recorder of one thread.
#[derive(Debug)]
pub struct Recorder {
    start_ns: u64,
    first_open: u64,
    open: VecDeque<Latencies>,
    closed: Vec<Interval>,
    /// Operations that ended after their second was closed.
    late: BTreeMap<u64, Latencies>,
    /// Values above `HIGHEST_US`: such a trial is void, because its percentiles would be wrong.
    overflows: u64,
}

impl Recorder {
    /// A recorder whose second 0 begins at `start_ns` (monotonic).
    pub fn new(start_ns: u64) -> Self {
        Self {
            start_ns,
            first_open: 0,
            open: VecDeque::new(),
            closed: Vec::new(),
            late: BTreeMap::new(),
            overflows: 0,
        }
    }

    /// Records one completed operation; all times monotonic nanoseconds.
    pub fn record(&mut self, intended_ns: u64, actual_ns: u64, end_ns: u64) {
        self.record_alike(intended_ns, actual_ns, end_ns, 1);
    }

    /// Records `count` operations with the same times.
    pub fn record_alike(&mut self, intended_ns: u64, actual_ns: u64, end_ns: u64, count: u32) {
        let wait_us = actual_ns.saturating_sub(intended_ns) / 1_000;
        let service_us = end_ns.saturating_sub(actual_ns) / 1_000;
        let response_us = end_ns.saturating_sub(intended_ns) / 1_000;
        if response_us > HIGHEST_US {
            self.overflows += u64::from(count);
            return;
        }
        let slot = self.slot(intended_ns);
        for (histogram, value_us) in [
            (&mut slot.response, response_us),
            (&mut slot.service, service_us),
            (&mut slot.wait, wait_us),
        ] {
            histogram.record_n(value_us, count).expect("it grows as it must");
        }
    }

    /// Values that no histogram could hold.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// Seconds that can no longer change, oldest first; they are handed over once.
    pub fn take_closed(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.closed)
    }

    /// Everything not yet handed over, at the end of the trial.
    pub fn finish(&mut self) -> Vec<Interval> {
        while self.close_oldest() {}
        let late = std::mem::take(&mut self.late);
        self.closed
            .extend(late.into_iter().map(|(index, latencies)| Interval { index, latencies }));
        self.take_closed()
    }

    /// The p99 response of the newest finished second, in milliseconds, for the live display only.
    pub fn recent_p99_ms(&self) -> Option<f64> {
        let recent = self.open.iter().rev().nth(1).or_else(|| self.open.back())?;
        (!recent.response.is_empty()).then(|| recent.response.value_at_quantile(0.99) as f64 / 1e3)
    }

    fn slot(&mut self, intended_ns: u64) -> &mut Latencies {
        let index = intended_ns.saturating_sub(self.start_ns) / SECOND_NS;
        while self.open.is_empty() || index >= self.first_open + self.open.len() as u64 {
            self.open.push_back(Latencies::default());
            if self.open.len() > OPEN_SECONDS {
                self.close_oldest();
            }
        }
        if index < self.first_open {
            return self.late.entry(index).or_default();
        }
        &mut self.open[(index - self.first_open) as usize]
    }

    fn close_oldest(&mut self) -> bool {
        let Some(latencies) = self.open.pop_front() else {
            return false;
        };
        if !latencies.response.is_empty() {
            self.closed.push(Interval {
                index: self.first_open,
                latencies,
            });
        }
        self.first_open += 1;
        true
    }
}

/// The same values, with the bounds that all readers of our logs use.
pub fn in_full_bounds(histogram: &Histogram<u32>) -> Histogram<u32> {
    let mut whole = Histogram::new_with_bounds(1, HIGHEST_US, DIGITS).expect("the bounds are valid constants");
    whole.add(histogram).expect("higher values were counted as overflows");
    whole
}

/// Merges the intervals of several recorders by second, in order of time.
pub fn merge(parts: impl IntoIterator<Item = Interval>) -> Vec<Interval> {
    let mut merged: std::collections::BTreeMap<u64, Latencies> = std::collections::BTreeMap::new();
    for part in parts {
        merged.entry(part.index).or_default().add(&part.latencies);
    }
    merged
        .into_iter()
        .map(|(index, latencies)| Interval { index, latencies })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_three_times_are_told_apart() {
        let mut recorder = Recorder::new(0);
        recorder.record(1_000_000, 3_000_000, 8_000_000);
        let intervals = recorder.finish();
        assert_eq!(intervals.len(), 1);
        let near = |histogram: &Histogram<u32>, us: u64| histogram.equivalent(histogram.max(), us);
        assert!(near(&intervals[0].latencies.response, 7_000));
        assert!(near(&intervals[0].latencies.service, 5_000));
        assert!(near(&intervals[0].latencies.wait, 2_000));
    }

    #[test]
    fn an_overflow_is_counted_not_hidden() {
        let mut recorder = Recorder::new(0);
        recorder.record(0, 0, (HIGHEST_US * 4) * 1_000);
        assert_eq!(recorder.overflows(), 1);
    }

    #[test]
    fn a_late_completion_counts_in_the_second_it_was_meant_for() {
        let mut recorder = Recorder::new(0);
        recorder.record(500_000_000, 500_000_000, 4_500_000_000);
        recorder.record(3_500_000_000, 3_500_000_000, 3_600_000_000);
        // Far more than the seconds that stay open later, one of second 0 ends at last.
        recorder.record(30_500_000_000, 30_500_000_000, 30_600_000_000);
        recorder.record(600_000_000, 600_000_000, 30_700_000_000);
        let intervals = merge(recorder.finish());
        let seconds: Vec<(u64, u64)> = intervals
            .iter()
            .map(|i| (i.index, i.latencies.response.len()))
            .collect();
        assert_eq!(seconds, [(0, 2), (3, 1), (30, 1)]);
    }

    proptest! {
        // Each case fills dozens of histograms; two dozen cases show as much as hundreds and take a second.
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// However operations are spread over recorders, the merged histograms equal a single recorder's.
        #[test]
        fn merging_loses_nothing(ops in prop::collection::vec((0u64..20_000, 0u64..500, 0u64..5_000), 1..300), ways in 1usize..16) {
            let mut ops = ops;
            ops.sort_unstable();
            let mut single = Recorder::new(0);
            let mut many: Vec<Recorder> = (0..ways).map(|_| Recorder::new(0)).collect();
            for (i, (intended_ms, wait_us, service_us)) in ops.iter().enumerate() {
                let intended = intended_ms * 1_000_000;
                let actual = intended + wait_us * 1_000;
                let end = actual + service_us * 1_000;
                single.record(intended, actual, end);
                many[i % ways].record(intended, actual, end);
            }
            let together = |intervals: Vec<Interval>| {
                let mut sum = Latencies::default();
                intervals.iter().for_each(|interval| sum.add(&interval.latencies));
                sum
            };
            let one = together(single.finish());
            let all = together(merge(many.iter_mut().flat_map(Recorder::finish)));
            prop_assert_eq!(one.response, all.response);
            prop_assert_eq!(one.service, all.service);
            prop_assert_eq!(one.wait, all.wait);
        }
    }
}
