//! Numbers that neighbouring rows share, such as that of their partition: how many do follows a distribution.

use anyhow::{Result, ensure};
use hydrotest_core::draw::{Distribution, Draw};

/// Of these, memory is needed for each.
const DRAWN_MAX: usize = 10_000_000;
/// The same in all threads and trials: rows that were written are found again.
const SEED: u64 = 1;

/// Which rows share a number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shares {
    /// As many rows for each.
    Even(u64),
    /// The first row of each, in order.
    Drawn(Vec<u64>),
}

impl Shares {
    /// For rows up to `last`. An error in words if there are too many, or if a number may have no rows.
    pub(crate) fn new(rows: Distribution, last: u64) -> Result<Self> {
        let (least, most) = rows.range();
        ensure!(least > 0, "a number that 0 rows share is never there");
        if least == most {
            return Ok(Self::Even(least));
        }
        let mut draw = Draw::new(rows, SEED, 0, 1).map_err(anyhow::Error::msg)?;
        let (mut first, mut firsts) = (0_u64, Vec::new());
        while first <= last {
            ensure!(
                firsts.len() < DRAWN_MAX,
                "more than {DRAWN_MAX} numbers that rows share do not fit into memory"
            );
            firsts.push(first);
            first = first.saturating_add(draw.number());
        }
        Ok(Self::Drawn(firsts))
    }

    /// The number of a row.
    pub(crate) fn of(&self, row: u64) -> u64 {
        match self {
            Self::Even(rows) => row / rows,
            Self::Drawn(firsts) => (firsts.partition_point(|first| *first <= row) - 1) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn as_many_rows_share_a_number_as_drawn() {
        let even = Shares::new(Distribution::Uniform { min: 10, max: 10 }, 99).unwrap();
        assert_eq!([even.of(0), even.of(9), even.of(10), even.of(99)], [0, 0, 1, 9]);
        let rows = Distribution::Weights {
            values: vec![(1, 3.0), (50, 1.0)],
        };
        let drawn = Shares::new(rows.clone(), 99_999).unwrap();
        let mut counts = BTreeMap::<u64, u64>::new();
        for row in 0..100_000 {
            *counts.entry(drawn.of(row)).or_default() += 1;
        }
        // From 0 on, without a gap; the last may be cut off.
        let last = counts.len() as u64 - 1;
        assert_eq!(
            counts.keys().copied().collect::<Vec<_>>(),
            (0..=last).collect::<Vec<_>>()
        );
        let whole = || {
            counts
                .iter()
                .filter(|(number, _)| **number != last)
                .map(|(_, rows)| *rows)
        };
        assert!(whole().all(|rows| rows == 1 || rows == 50));
        // A quarter of about 7,550, and five standard deviations.
        let wide = whole().filter(|rows| *rows == 50).count() as f64 / last as f64;
        assert!((0.225..0.275).contains(&wide), "{wide}");
        assert_eq!(drawn, Shares::new(rows, 99_999).unwrap());
        assert!(Shares::new(Distribution::Uniform { min: 0, max: 5 }, 9).is_err());
    }
}
