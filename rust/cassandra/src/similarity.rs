//! How near two vectors are, by the functions of an index (Cassandra's `similarity_function`). The scores only rank: they
//! are not those that `similarity_cosine` and its like return.

use std::collections::BTreeMap;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Similarity {
    Cosine,
    DotProduct,
    Euclidean,
}

/// Additions that do not wait for each other.
const LANES: usize = 8;

impl Similarity {
    /// By the options of an index; None where its function is another one, or not told.
    pub(crate) fn of(options: &BTreeMap<String, String>) -> Option<Self> {
        match options.get("similarity_function") {
            Some(name) => match name.to_ascii_lowercase().as_str() {
                "cosine" => Some(Self::Cosine),
                "dot_product" => Some(Self::DotProduct),
                "euclidean" => Some(Self::Euclidean),
                _ => None,
            },
            // Some vendors choose the function by the model that the vectors come from.
            None => (!options.contains_key("source_model")).then_some(Self::Cosine),
        }
    }

    /// The vector as `score` takes it.
    pub(crate) fn prepare(self, vector: &mut [f64]) {
        if self == Self::Cosine {
            let length = dot(vector, vector).sqrt();
            vector.iter_mut().for_each(|element| *element /= length);
        }
    }

    /// How near two prepared vectors of one length are: the nearer, the higher.
    pub(crate) fn score(self, one: &[f64], other: &[f64]) -> f64 {
        match self {
            Self::Cosine | Self::DotProduct => dot(one, other),
            Self::Euclidean => -sum(one, other, |a, b| (a - b) * (a - b)),
        }
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    sum(one, other, |a, b| a * b)
}

fn sum(one: &[f64], other: &[f64], part: impl Fn(f64, f64) -> f64) -> f64 {
    let (whole, rest) = one.as_chunks::<LANES>();
    let (others, other_rest) = other.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in whole.iter().zip(others) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += part(*a, *b);
        }
    }
    let rest = rest.iter().zip(other_rest).map(|(a, b)| part(*a, *b));
    sums.into_iter().sum::<f64>() + rest.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|&(key, value)| (key.into(), value.into())).collect()
    }

    #[test]
    fn the_function_is_that_of_the_index() {
        let named = |name| Similarity::of(&options(&[("similarity_function", name), ("target", "v")]));
        assert_eq!(named("DOT_PRODUCT"), Some(Similarity::DotProduct));
        assert_eq!(named("euclidean"), Some(Similarity::Euclidean));
        assert_eq!(named("manhattan"), None);
        assert_eq!(Similarity::of(&options(&[("target", "v")])), Some(Similarity::Cosine));
        assert_eq!(Similarity::of(&options(&[("source_model", "ada002")])), None);
    }

    #[test]
    fn scores_rank_as_the_functions_do() {
        // Longer than the lanes, with a rest.
        let near: Vec<f64> = (1..=19).map(f64::from).collect();
        let double: Vec<f64> = near.iter().map(|element| element * 2.0).collect();
        let other: Vec<f64> = near.iter().rev().copied().collect();
        let score = |similarity: Similarity, one: &[f64], other: &[f64]| {
            let (mut one, mut other) = (one.to_vec(), other.to_vec());
            similarity.prepare(&mut one);
            similarity.prepare(&mut other);
            similarity.score(&one, &other)
        };
        // Of Σ n² = 2,470 and Σ n (20 − n) = 1,330.
        assert_eq!(score(Similarity::DotProduct, &near, &near), 2_470.0);
        assert_eq!(score(Similarity::DotProduct, &near, &double), 4_940.0);
        assert_eq!(score(Similarity::Euclidean, &near, &double), -2_470.0);
        assert_eq!(score(Similarity::Euclidean, &near, &other), -2_280.0);
        assert!((score(Similarity::Cosine, &near, &double) - 1.0).abs() < 1e-12);
        assert!((score(Similarity::Cosine, &near, &other) - 1_330.0 / 2_470.0).abs() < 1e-12);
    }
}
