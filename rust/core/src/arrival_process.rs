//! The distribution of operations over time: evenly, at random, in bursts, or at a changing rate. An arrival
//! process is fixed before its first operation: no event changes when an operation is due.

use std::cell::RefCell;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution as _, Exp1, Gamma};
use serde::{Deserialize, Serialize};

/// The arrival pattern at a given rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// At equal intervals.
    #[default]
    Even,
    /// As from many independent clients: the times between operations are exponentially distributed.
    Poisson { seed: u64 },
    /// So many at once, as often as the rate requires.
    Bursts { size: u64 },
}

/// A stretch of a profile, over which the rate changes evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    pub seconds: f64,
    pub from_per_s: f64,
    pub to_per_s: f64,
}

/// When each operation is due, in nanoseconds from the beginning; operations are numbered from 0.
#[derive(Clone, Debug)]
pub enum ArrivalProcess {
    Even { rate_per_s: f64 },
    Bursts { rate_per_s: f64, size: u64 },
    Poisson(Box<Poisson>),
    Profile(Arc<[Piece]>),
}

impl ArrivalProcess {
    /// Arrivals at one rate. `seconds` is how long the process is needed; later random arrivals are even.
    /// Panics if the rate is not a positive finite number: settings are checked before they come here.
    pub fn steady(rate_per_s: f64, arrivals: Arrivals, seconds: f64) -> Self {
        assert!(rate_per_s.is_finite() && rate_per_s > 0.0, "rate must be positive");
        match arrivals {
            Arrivals::Even => Self::Even { rate_per_s },
            Arrivals::Bursts { size } => Self::Bursts {
                rate_per_s,
                size: size.max(1),
            },
            Arrivals::Poisson { seed } => Self::Poisson(Box::new(Poisson::new(rate_per_s, seed, seconds))),
        }
    }

    /// Arrivals of stretches, one after the other; nothing is due behind the last.
    pub fn profile(stretches: &[Stretch]) -> Self {
        let mut pieces = Vec::new();
        let (mut begin_s, mut first_op) = (0.0, 0.0);
        for stretch in stretches {
            let piece = Piece {
                begin_s,
                first_op,
                stretch: *stretch,
            };
            begin_s += stretch.seconds;
            first_op += piece.ops_by(stretch.seconds);
            pieces.push(piece);
        }
        Self::Profile(pieces.into())
    }

    /// When operation `op` is due; `u64::MAX` if never.
    pub fn offset_ns(&self, op: u64) -> u64 {
        match self {
            Self::Even { rate_per_s } => even_offset_ns(op, *rate_per_s),
            Self::Bursts { rate_per_s, size } => even_offset_ns(op - op % size, *rate_per_s),
            Self::Poisson(poisson) => poisson.offset_ns(op),
            Self::Profile(pieces) => pieces
                .iter()
                .rev()
                .find(|piece| piece.first_op <= op as f64)
                .and_then(|piece| piece.offset_s(op))
                .map_or(u64::MAX, |seconds| (seconds * 1e9) as u64),
        }
    }

    /// The number of operations due at or before `offset_ns`.
    pub fn due_by(&self, offset_ns: u64) -> u64 {
        let guess = match self {
            Self::Even { rate_per_s } => offset_ns as f64 * rate_per_s / 1e9,
            Self::Bursts { rate_per_s, size } => {
                let even = Self::Even {
                    rate_per_s: *rate_per_s,
                };
                // A burst is due when its first operation is.
                return ((even.due_by(offset_ns) - 1) / size + 1) * size;
            }
            Self::Poisson(poisson) => return poisson.due_by(offset_ns),
            Self::Profile(pieces) => {
                let seconds = offset_ns as f64 / 1e9;
                let begun = pieces.iter().rev().find(|piece| piece.begin_s <= seconds);
                begun.map_or(0.0, |piece| piece.first_op + piece.ops_by(seconds - piece.begin_s))
            }
        };
        let mut n = guess as u64;
        // The guess is off by at most one or two from floating-point rounding; the definition decides.
        while n > 0 && self.offset_ns(n - 1) > offset_ns {
            n -= 1;
        }
        while self.offset_ns(n) <= offset_ns {
            n += 1;
        }
        n
    }
}

fn even_offset_ns(op: u64, rate_per_s: f64) -> u64 {
    (op as f64 * 1e9 / rate_per_s) as u64
}

/// A stretch, and the sum of those before it.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    begin_s: f64,
    /// Operations due before it, as the integral of the rate.
    first_op: f64,
    stretch: Stretch,
}

impl Piece {
    /// The integral of the rate over its first `seconds`.
    fn ops_by(&self, seconds: f64) -> f64 {
        let Stretch {
            seconds: whole,
            from_per_s,
            to_per_s,
        } = self.stretch;
        let t = seconds.min(whole);
        from_per_s * t + (to_per_s - from_per_s) * t * t / (2.0 * whole)
    }

    /// When an operation is due, in seconds from the beginning of the process; None if not in this piece.
    fn offset_s(&self, op: u64) -> Option<f64> {
        let Stretch {
            seconds,
            from_per_s,
            to_per_s,
        } = self.stretch;
        let wanted = op as f64 - self.first_op;
        // The root of from·t + (to − from)·t²/2T = wanted, in the form that does not subtract near equals.
        let slope = (to_per_s - from_per_s) / seconds;
        let root = (from_per_s * from_per_s + 2.0 * slope * wanted).max(0.0).sqrt();
        let t = if wanted <= 0.0 {
            0.0
        } else {
            2.0 * wanted / (from_per_s + root)
        };
        (wanted < self.ops_by(seconds)).then_some(self.begin_s + t.min(seconds))
    }
}

/// Operations of a block: its length is drawn at once, its operations only when one is requested.
const BLOCK_OPS: u64 = 4096;
/// Number of cached blocks: those due now, and those whose answers arrive.
const KEPT: usize = 8;

/// A block's number, and when each of its operations is due.
type Block = (u64, Arc<[u64]>);

/// Arrivals of a Poisson process. A block of n operations takes a gamma-distributed time. Given that time,
/// the operations divide it like n exponential times divide their sum (Devroye, "Non-Uniform Random Variate
/// Generation", 1986, ch. V.2). So any operation's time can be computed without all earlier ones.
#[derive(Clone, Debug)]
pub struct Poisson {
    rate_per_s: f64,
    seed: u64,
    /// End of each block, nanoseconds.
    ends_ns: Arc<[f64]>,
    kept: RefCell<[Option<Block>; KEPT]>,
}

impl Poisson {
    fn new(rate_per_s: f64, seed: u64, seconds: f64) -> Self {
        let lengths = Gamma::new(BLOCK_OPS as f64, 1e9 / rate_per_s).expect("shape and scale are positive");
        let mut random = SmallRng::seed_from_u64(seed);
        let mut ends_ns = Vec::new();
        let mut end_ns = 0.0;
        while end_ns <= seconds * 1e9 {
            end_ns += lengths.sample(&mut random);
            ends_ns.push(end_ns);
        }
        Self {
            rate_per_s,
            seed,
            ends_ns: ends_ns.into(),
            kept: RefCell::default(),
        }
    }

    fn end_ns(&self, block: u64) -> f64 {
        block.checked_sub(1).map_or(0.0, |before| self.ends_ns[before as usize])
    }

    /// When each of a block's operations is due.
    fn block(&self, block: u64) -> Arc<[u64]> {
        let mut kept = self.kept.borrow_mut();
        let place = &mut kept[block as usize % KEPT];
        if let Some((number, offsets)) = place
            && *number == block
        {
            return offsets.clone();
        }
        let mut random = SmallRng::seed_from_u64(self.seed ^ (block + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut sum = 0.0;
        let sums: Vec<f64> = (0..BLOCK_OPS)
            .map(|_| {
                let gap: f64 = Exp1.sample(&mut random);
                sum += gap;
                sum
            })
            .collect();
        let (begin, end) = (self.end_ns(block), self.end_ns(block + 1));
        let offsets: Arc<[u64]> = sums
            .iter()
            .map(|at| (begin + (end - begin) * at / sum).min(end) as u64)
            .collect();
        *place = Some((block, offsets.clone()));
        offsets
    }

    fn offset_ns(&self, op: u64) -> u64 {
        let blocks = self.ends_ns.len() as u64;
        match op / BLOCK_OPS {
            block if block < blocks => self.block(block)[(op % BLOCK_OPS) as usize],
            _ => self.end_ns(blocks) as u64 + even_offset_ns(op - blocks * BLOCK_OPS + 1, self.rate_per_s),
        }
    }

    fn due_by(&self, offset_ns: u64) -> u64 {
        let ended = self.ends_ns.partition_point(|end| (*end as u64) <= offset_ns) as u64;
        if ended == self.ends_ns.len() as u64 {
            let beyond = offset_ns - self.end_ns(ended) as u64;
            let rate_per_s = self.rate_per_s;
            return ended * BLOCK_OPS + ArrivalProcess::Even { rate_per_s }.due_by(beyond) - 1;
        }
        ended * BLOCK_OPS + self.block(ended).partition_point(|at| *at <= offset_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn courses() -> impl Strategy<Value = ArrivalProcess> {
        let rate = 0.5f64..2e6;
        let stretch = (0.1f64..20.0, 0.0f64..1e5, 0.0f64..1e5).prop_map(|(seconds, from_per_s, to_per_s)| Stretch {
            seconds,
            from_per_s,
            to_per_s,
        });
        prop_oneof![
            rate.clone()
                .prop_map(|rate| ArrivalProcess::steady(rate, Arrivals::Even, 60.0)),
            (rate.clone(), 1u64..5_000).prop_map(|(rate, size)| ArrivalProcess::steady(
                rate,
                Arrivals::Bursts { size },
                60.0
            )),
            (rate, any::<u64>()).prop_map(|(rate, seed)| ArrivalProcess::steady(rate, Arrivals::Poisson { seed }, 2.0)),
            prop::collection::vec(stretch, 1..6).prop_map(|stretches| ArrivalProcess::profile(&stretches)),
        ]
    }

    proptest! {
        /// `due_by` and `offset_ns` are inverse: the time of a due operation has come, that of the next has
        /// not.
        #[test]
        fn due_agrees_with_offsets(process in courses(), at in 0u64..60_000_000_000) {
            let due = process.due_by(at);
            prop_assert!(due == 0 || process.offset_ns(due - 1) <= at);
            prop_assert!(process.offset_ns(due) > at);
        }

        /// Due times never decrease.
        #[test]
        fn offsets_never_fall(process in courses(), op in 0u64..100_000) {
            prop_assert!(process.offset_ns(op) <= process.offset_ns(op + 1));
        }
    }

    #[test]
    fn a_profile_offers_the_integral_of_its_rate() {
        let stretch = |seconds, from_per_s, to_per_s| Stretch {
            seconds,
            from_per_s,
            to_per_s,
        };
        let process = ArrivalProcess::profile(&[
            stretch(10.0, 100.0, 100.0),
            stretch(5.0, 0.0, 0.0),
            stretch(10.0, 0.0, 200.0),
        ]);
        let due = |seconds: f64| process.due_by((seconds * 1e9) as u64);
        assert_eq!(due(5.0), 501);
        assert_eq!((due(10.0), due(14.9)), (1_000, 1_000));
        assert_eq!(due(20.0), 1_000 + 250 + 1);
        assert_eq!(due(1_000.0), 2_000);
        assert_eq!(process.offset_ns(2_000), u64::MAX);
    }

    #[test]
    fn bursts_come_whole_and_at_the_rate() {
        let process = ArrivalProcess::steady(1_000.0, Arrivals::Bursts { size: 100 }, 10.0);
        assert_eq!(process.due_by(0), 100);
        assert_eq!(process.due_by(99_999_999), 100);
        assert_eq!(process.due_by(100_000_000), 200);
    }

    /// Counts in equal times have a variance near their mean, and gaps exceed their mean as often as e⁻¹.
    #[test]
    fn poisson_arrivals_are_poisson() {
        let process = ArrivalProcess::steady(50_000.0, Arrivals::Poisson { seed: 3 }, 20.0);
        let counts: Vec<f64> = (0..2_000u64)
            .map(|i| (process.due_by((i + 1) * 10_000_000) - process.due_by(i * 10_000_000)) as f64)
            .collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64;
        assert!((mean / 500.0 - 1.0).abs() < 0.01, "mean {mean}");
        // The relative deviation of a variance from 2,000 counts is √(2/2000) = 3 %; five of those.
        assert!(
            (variance / mean - 1.0).abs() < 0.16,
            "variance {variance} at mean {mean}"
        );
        let longer = (0..100_000u64)
            .filter(|&op| process.offset_ns(op + 1) - process.offset_ns(op) > 20_000)
            .count();
        assert!((longer as f64 / 1e5 - (-1.0f64).exp()).abs() < 0.008, "{longer}");
    }
}
