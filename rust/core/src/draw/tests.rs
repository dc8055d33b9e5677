use super::*;
use proptest::prelude::*;

proptest! {
    /// Every distribution stays in its range.
    #[test]
    fn in_range(min in 0u64..1000, width in 0u64..1000, which in 0..6, seed: u64) {
        let max = min + width;
        let settings = match which {
            0 => Distribution::Sequential { min, max },
            1 => Distribution::Uniform { min, max },
            2 => Distribution::Gaussian { min, max, mean: (min + max) as f64 / 2.0, sd: 1.0 + width as f64 / 6.0 },
            3 => Distribution::Weibull { min, max, exponent: 0.5, scale: 1.0 + width as f64 },
            4 => Distribution::Weights { values: vec![(max, 1.0), (min, 0.5)] },
            _ => Distribution::Zipf { min, max, exponent: 1.1 },
        };
        prop_assert_eq!(settings.range(), (min, max));
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
                let mut draw = Draw::new(settings.clone(), 1, share, shares).unwrap();
                (0..rounds).map(move |_| draw.number()).collect::<Vec<_>>()
            })
            .collect();
        all.sort_unstable();
        prop_assert_eq!(all, (10..10 + shares * rounds).collect::<Vec<_>>());
    }
}

const DRAWN: u64 = 100_000;
/// Of the Kolmogorov–Smirnov distance of as many draws; a right sampler exceeds it once in a thousand seeds.
const DISTANCE_MAX: f64 = 1.95 / 316.2;

/// The largest distance between the shares of numbers drawn up to each number, and `cumulative`.
fn distance(settings: Distribution, cumulative: impl Fn(u64) -> f64) -> f64 {
    let mut draw = Draw::new(settings, 7, 0, 1).unwrap();
    let mut counts = std::collections::BTreeMap::<u64, u64>::new();
    for _ in 0..DRAWN {
        *counts.entry(draw.number()).or_default() += 1;
    }
    let mut up_to = 0;
    let mut largest = 0.0f64;
    for (number, count) in counts {
        let before = number.checked_sub(1).map_or(0.0, &cumulative);
        largest = largest.max((up_to as f64 / DRAWN as f64 - before).abs());
        up_to += count;
        largest = largest.max((up_to as f64 / DRAWN as f64 - cumulative(number)).abs());
    }
    largest
}

#[test]
fn a_weibull_distribution_has_its_closed_form() {
    for (exponent, scale) in [(1.0, 14_000.0), (1.0, 90_000.0), (3.0, 40_000.0), (0.5, 3_000.0)] {
        let (min, max) = (5, 100_004);
        let settings = Distribution::Weibull {
            min,
            max,
            exponent,
            scale,
        };
        let cumulative = |number: u64| match number {
            number if number < min => 0.0,
            number if number >= max => 1.0,
            number => 1.0 - (-((number - min + 1) as f64 / scale).powf(exponent)).exp(),
        };
        let found = distance(settings.clone(), cumulative);
        assert!(found < DISTANCE_MAX, "{exponent} {scale}: {found}");
        // The test tells a scale from another that is a tenth larger.
        let other = distance(settings, |number| match number {
            number if number >= max => 1.0,
            number => 1.0 - (-((number.saturating_sub(min - 1)) as f64 / scale / 1.1).powf(exponent)).exp(),
        });
        assert!(other > DISTANCE_MAX, "{exponent} {scale}: {other}");
    }
}

#[test]
fn numbers_come_by_their_weights() {
    let values = vec![(1_000, 2.0), (100, 8.0), (7, 0.0)];
    let cumulative = |number: u64| match number {
        0..100 => 0.0,
        100..1_000 => 0.8,
        _ => 1.0,
    };
    let found = distance(Distribution::Weights { values }, cumulative);
    assert!(found < DISTANCE_MAX, "{found}");
    for values in [vec![], vec![(1, 0.0)], vec![(1, -1.0), (2, 3.0)]] {
        assert!(Draw::new(Distribution::Weights { values }, 0, 0, 1).is_err());
    }
}

#[test]
fn an_inverted_one_counts_from_its_other_end() {
    let zipf = Distribution::Zipf {
        min: 5,
        max: 1_000,
        exponent: 1.1,
    };
    let inverted = Distribution::Inverted {
        of: Box::new(zipf.clone()),
    };
    assert_eq!(inverted.range(), (5, 1_000));
    let mut plain = Draw::new(zipf, 7, 0, 1).unwrap();
    let mut other = Draw::new(inverted.clone(), 7, 0, 1).unwrap();
    assert!((0..1_000).all(|_| plain.number() + other.number() == 1_005));
    let twice = Distribution::Inverted { of: Box::new(inverted) };
    assert!(Draw::new(twice, 0, 0, 1).is_err());
}

#[test]
fn the_first_rank_is_the_most_frequent() {
    let settings = Distribution::Zipf {
        min: 5,
        max: 1_000,
        exponent: 1.0,
    };
    let mut draw = Draw::new(settings, 7, 0, 1).unwrap();
    let drawn: Vec<u64> = (0..5_000).map(|_| draw.number()).collect();
    let count = |key| drawn.iter().filter(|k| **k == key).count();
    assert!(count(5) > count(6) && count(6) > count(50));
}
