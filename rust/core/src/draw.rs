//! Random whole numbers from a range: the next key, the size of the next record. The distributions are
//! cassandra-stress's: sequential, uniform, gaussian and zipf over a closed range.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution as _, Normal, Zipf};
use serde::{Deserialize, Serialize};

/// A distribution over the numbers `min ..= max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// min, min + 1, … and from min again after max.
    Sequential {
        min: u64,
        max: u64,
    },
    Uniform {
        min: u64,
        max: u64,
    },
    /// Normal, drawn again while outside the range.
    Gaussian {
        min: u64,
        max: u64,
        mean: f64,
        sd: f64,
    },
    /// Rank r has weight r^−exponent; rank 1 is `min`.
    Zipf {
        min: u64,
        max: u64,
        exponent: f64,
    },
}

/// Draws numbers for one thread of several.
pub struct Draw {
    settings: Distribution,
    random: SmallRng,
    next: u64,
    step: u64,
    normal: Option<Normal<f64>>,
    zipf: Option<Zipf<f64>>,
}

/// Redraws of a gaussian before it is clamped: only a range far off the mean needs more.
const REDRAWS_MAX: u32 = 1_000;

impl Draw {
    /// For thread `share` of `shares`; the same seed draws the same numbers.
    pub fn new(settings: Distribution, seed: u64, share: u64, shares: u64) -> Result<Self, String> {
        let (min, max) = settings.range();
        if min > max {
            return Err(format!("from {min} to {max}: the range is empty"));
        }
        let normal = match settings {
            Distribution::Gaussian { mean, sd, .. } => Some(Normal::new(mean, sd).map_err(|error| error.to_string())?),
            _ => None,
        };
        let zipf = match settings {
            Distribution::Zipf { exponent, .. } => {
                Some(Zipf::new((max - min + 1) as f64, exponent).map_err(|error| error.to_string())?)
            }
            _ => None,
        };
        let random = SmallRng::seed_from_u64(seed.wrapping_add(share));
        Ok(Self {
            settings,
            random,
            next: share,
            step: shares,
            normal,
            zipf,
        })
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        match self.settings {
            Distribution::Sequential { min, max } => {
                let number = min + self.next % (max - min + 1);
                self.next += self.step;
                number
            }
            Distribution::Uniform { min, max } => self.random.random_range(min..=max),
            Distribution::Gaussian { min, max, mean, .. } => {
                let normal = self.normal.expect("made with the settings");
                for _ in 0..REDRAWS_MAX {
                    let drawn = normal.sample(&mut self.random).round();
                    if drawn >= min as f64 && drawn <= max as f64 {
                        return drawn as u64;
                    }
                }
                (mean.max(min as f64) as u64).min(max)
            }
            Distribution::Zipf { min, max, .. } => {
                let rank = self.zipf.expect("made with the settings").sample(&mut self.random) as u64;
                (min + rank.max(1) - 1).min(max)
            }
        }
    }

    /// A number from 0 to below 1, from the same random stream.
    pub fn fraction(&mut self) -> f64 {
        self.random.random()
    }

    /// From here on, draws the numbers of a new one with this seed: so each number depends only on its
    /// purpose.
    pub fn reseed(&mut self, seed: u64) {
        self.random = SmallRng::seed_from_u64(seed);
    }
}

impl Distribution {
    /// The closed range.
    pub fn range(&self) -> (u64, u64) {
        match *self {
            Self::Sequential { min, max }
            | Self::Uniform { min, max }
            | Self::Gaussian { min, max, .. }
            | Self::Zipf { min, max, .. } => (min, max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every distribution stays in its range.
        #[test]
        fn in_range(min in 0u64..1000, width in 0u64..1000, which in 0..4, seed: u64) {
            let max = min + width;
            let settings = match which {
                0 => Distribution::Sequential { min, max },
                1 => Distribution::Uniform { min, max },
                2 => Distribution::Gaussian { min, max, mean: (min + max) as f64 / 2.0, sd: 1.0 + width as f64 / 6.0 },
                _ => Distribution::Zipf { min, max, exponent: 1.1 },
            };
            let mut draw = Draw::new(settings, seed, 0, 1).unwrap();
            for _ in 0..200 {
                let number = draw.number();
                prop_assert!((min..=max).contains(&number));
            }
        }

        /// The threads' sequential numbers together are the complete sequence, once each.
        #[test]
        fn sequential_shares_cover_the_range(shares in 1u64..6, rounds in 1u64..40) {
            let settings = Distribution::Sequential { min: 10, max: 10 + shares * rounds - 1 };
            let mut all: Vec<u64> = (0..shares)
                .flat_map(|share| {
                    let mut draw = Draw::new(settings, 1, share, shares).unwrap();
                    (0..rounds).map(move |_| draw.number()).collect::<Vec<_>>()
                })
                .collect();
            all.sort_unstable();
            prop_assert_eq!(all, (10..10 + shares * rounds).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_rank_is_the_most_frequent() {
        let mut draw = Draw::new(
            Distribution::Zipf {
                min: 5,
                max: 1_000,
                exponent: 1.0,
            },
            7,
            0,
            1,
        )
        .unwrap();
        let drawn: Vec<u64> = (0..5_000).map(|_| draw.number()).collect();
        let count = |key| drawn.iter().filter(|k| **k == key).count();
        assert!(count(5) > count(6) && count(6) > count(50));
    }
}
