//! Random whole numbers from a range: the next key, the size of the next record. The distributions are
//! cassandra-stress's: sequential, uniform, gaussian, exponential, Weibull and zipf over a closed range; or numbers by
//! their weights.

use rand::distr::weighted::WeightedIndex;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution as _, Normal, Weibull, Zipf};
use serde::{Deserialize, Serialize};

/// A distribution over the numbers `min ..= max`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// `min`, and the whole part of what a Weibull distribution draws; what lies beyond is `max`. With the exponent 1
    /// it is the exponential distribution, and `scale` its mean. (cassandra-stress's `DistributionOffsetApache`.)
    Weibull {
        min: u64,
        max: u64,
        exponent: f64,
        scale: f64,
    },
    /// Each number with its weight.
    Weights {
        values: Vec<(u64, f64)>,
    },
    /// Of a range, counted from its other end: cassandra-stress's `~`.
    Inverted {
        of: Box<Distribution>,
    },
}

/// Draws numbers for one thread of several.
pub struct Draw {
    sampler: Sampler,
    random: SmallRng,
    next: u64,
    step: u64,
    /// min + max of one that is inverted.
    mirror: Option<u64>,
}

/// A distribution, ready to be drawn from.
enum Sampler {
    Sequential {
        min: u64,
        count: u64,
    },
    Uniform {
        min: u64,
        max: u64,
    },
    Gaussian {
        min: u64,
        max: u64,
        normal: Normal<f64>,
    },
    Zipf {
        min: u64,
        max: u64,
        zipf: Zipf<f64>,
    },
    Weibull {
        min: u64,
        max: u64,
        weibull: Weibull<f64>,
    },
    Weights {
        numbers: Vec<u64>,
        index: WeightedIndex<f64>,
    },
}

/// Redraws of a gaussian before it is clamped: only a range far off the mean needs more.
const REDRAWS_MAX: u32 = 1_000;

impl Sampler {
    fn new(settings: Distribution) -> Result<Self, String> {
        fn words(error: impl ToString) -> String {
            error.to_string()
        }
        Ok(match settings {
            Distribution::Sequential { min, max } => Self::Sequential {
                min,
                count: max - min + 1,
            },
            Distribution::Uniform { min, max } => Self::Uniform { min, max },
            Distribution::Gaussian { min, max, mean, sd } => Self::Gaussian {
                min,
                max,
                normal: Normal::new(mean, sd).map_err(words)?,
            },
            Distribution::Zipf { min, max, exponent } => Self::Zipf {
                min,
                max,
                zipf: Zipf::new((max - min + 1) as f64, exponent).map_err(words)?,
            },
            Distribution::Weibull {
                min,
                max,
                exponent,
                scale,
            } => Self::Weibull {
                min,
                max,
                weibull: Weibull::new(scale, exponent).map_err(words)?,
            },
            Distribution::Inverted { .. } => return Err("what is inverted is inverted again".into()),
            Distribution::Weights { values } => Self::Weights {
                index: WeightedIndex::new(values.iter().map(|(_, weight)| *weight)).map_err(words)?,
                numbers: values.into_iter().map(|(number, _)| number).collect(),
            },
        })
    }
}

impl Draw {
    /// For thread `share` of `shares`; the same seed draws the same numbers.
    pub fn new(settings: Distribution, seed: u64, share: u64, shares: u64) -> Result<Self, String> {
        let (min, max) = settings.range();
        if min > max {
            return Err(format!("from {min} to {max}: the range is empty"));
        }
        let (settings, mirror) = match settings {
            Distribution::Inverted { of } => (*of, Some(min + max)),
            settings => (settings, None),
        };
        Ok(Self {
            mirror,
            sampler: Sampler::new(settings)?,
            random: SmallRng::seed_from_u64(seed.wrapping_add(share)),
            next: share,
            step: shares,
        })
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        let number = self.drawn();
        self.mirror.map_or(number, |ends| ends - number)
    }

    fn drawn(&mut self) -> u64 {
        let random = &mut self.random;
        match &self.sampler {
            Sampler::Sequential { min, count } => {
                let number = min + self.next % count;
                self.next += self.step;
                number
            }
            Sampler::Uniform { min, max } => random.random_range(*min..=*max),
            Sampler::Gaussian { min, max, normal } => {
                for _ in 0..REDRAWS_MAX {
                    let drawn = normal.sample(random).round();
                    if drawn >= *min as f64 && drawn <= *max as f64 {
                        return drawn as u64;
                    }
                }
                (normal.mean().max(*min as f64) as u64).min(*max)
            }
            Sampler::Zipf { min, max, zipf } => {
                let rank = zipf.sample(random) as u64;
                (min + rank.max(1) - 1).min(*max)
            }
            // A conversion of what no u64 holds gives the largest.
            Sampler::Weibull { min, max, weibull } => min + (weibull.sample(random) as u64).min(max - min),
            Sampler::Weights { numbers, index } => numbers[index.sample(random)],
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
        match self {
            Self::Sequential { min, max }
            | Self::Uniform { min, max }
            | Self::Gaussian { min, max, .. }
            | Self::Zipf { min, max, .. }
            | Self::Weibull { min, max, .. } => (*min, *max),
            Self::Inverted { of } => of.range(),
            Self::Weights { values } => {
                let numbers = || values.iter().map(|(number, _)| *number);
                // Without any number the range is empty.
                (numbers().min().unwrap_or(1), numbers().max().unwrap_or(0))
            }
        }
    }
}

#[cfg(test)]
mod tests;
