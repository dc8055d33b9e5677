//! How many of the nearest vectors are in the answers of a sample: each is held against an exact search of all rows. It is
//! made after the load, at the lowest priority.

use std::collections::HashMap;

use anyhow::{Context, Result};
use bytes::BytesMut;
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::threads::lower_priority;
use serde::Serialize;

use crate::answer_sample::{AnswerSample, Recipes, key_hash};
use crate::checks::Reason;
use crate::column::{Column, Recipe};
use crate::settings::asked_row;
use crate::similarity::Similarity;

/// The controller waits longer than that for a generator's account (`DRAIN_S` of python/hydrotest/load/native.py).
const GIVE_UP_NS: u64 = 60_000_000_000;
/// Rows between two looks at the clock.
const LOOK_ROWS: u64 = 1_000;
/// Vectors whose scores differ by less are as near: an index computes with 32 bits.
const TIE: f64 = 1e-6;

/// The recall of a statement's answers.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Recall {
    statement: String,
    similarity: Similarity,
    /// Most rows of an answer.
    limit: u64,
    dimension: u64,
    /// Rows that were searched.
    rows: u64,
    /// Answers that the queries are a sample of.
    answers: u64,
    /// Of each query: how many of the nearest its answer holds, how many rows it has, and how many there are to find.
    queries: Vec<[u64; 3]>,
}

/// A statement whose recall is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Untold {
    pub(crate) statement: String,
    pub(crate) reason: Reason,
}

/// The recall of each statement, from the samples of all threads; and those of which it is not known.
pub(crate) fn recalls(samples: Vec<AnswerSample>) -> (Vec<Recall>, Vec<Untold>) {
    let mut merged: Vec<AnswerSample> = Vec::new();
    for sample in samples {
        match merged.iter_mut().find(|one| one.statement == sample.statement) {
            Some(one) => one.merge(sample),
            None => merged.push(sample),
        }
    }
    if merged.iter().all(|sample| sample.answers == 0) {
        return (Vec::new(), Vec::new());
    }
    // A thread of its own, since the rest of the process keeps its priority.
    let search = move || {
        lower_priority();
        let give_up_ns = monotonic_ns() + GIVE_UP_NS;
        let (mut told, mut untold) = (Vec::new(), Vec::new());
        for sample in merged.into_iter().filter(|sample| sample.answers > 0) {
            match recall(&sample, give_up_ns) {
                Ok(recall) => told.push(recall),
                Err(reason) => untold.push(Untold {
                    statement: sample.statement,
                    reason,
                }),
            }
        }
        (told, untold)
    };
    let thread = std::thread::Builder::new().name("recall".into()).spawn(search);
    thread
        .expect("a thread can be started")
        .join()
        .expect("a search returns its failures")
}

fn recall(sample: &AnswerSample, give_up_ns: u64) -> Result<Recall, Reason> {
    if sample.is_paged {
        return Err(Reason::Paged);
    }
    Ok(Recall {
        statement: sample.statement.clone(),
        similarity: sample.nearby.similarity,
        limit: sample.nearby.limit,
        dimension: sample.recipes.dimension().ok_or(Reason::NoSimilarity)?,
        rows: sample.rows.1 - sample.rows.0 + 1,
        answers: sample.answers,
        queries: search(sample, give_up_ns)?,
    })
}

/// One query, and what is found for it so far.
struct Query {
    vector: Vec<f64>,
    /// The values that rows must have.
    equal: Vec<u8>,
    answers: u64,
    /// The highest scores, in falling order.
    best: Vec<f64>,
    /// The scores of the rows that answered.
    answered: Vec<f64>,
    /// Rows that can be found.
    there: u64,
}

impl Query {
    fn take(&mut self, score: f64, limit: usize, is_answer: bool) {
        self.there += 1;
        if is_answer {
            self.answered.push(score);
        }
        if self.best.len() < limit || self.best.last().is_some_and(|last| score > *last) {
            let at = self.best.partition_point(|one| *one >= score);
            self.best.insert(at, score);
            self.best.truncate(limit);
        }
    }

    fn told(&self, limit: usize) -> Option<[u64; 3]> {
        let least = self.best.last().filter(|_| self.best.len() == limit);
        let least = least.map_or(f64::NEG_INFINITY, |least| least - least.abs() * TIE);
        let hits = self.answered.iter().filter(|score| **score >= least).count();
        (self.there > 0).then_some([hits.min(limit) as u64, self.answers, self.best.len() as u64])
    }
}

/// Goes through all rows once, for all queries.
fn search(sample: &AnswerSample, give_up_ns: u64) -> Result<Vec<[u64; 3]>, Reason> {
    let (nearby, (first, last)) = (&sample.nearby, sample.rows);
    let mut maker = Maker::new(&sample.recipes, nearby.similarity).expect("their columns were made before");
    let limit = nearby.limit as usize;
    let mut asked_by: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut queries = Vec::new();
    for (at, sampled) in sample.kept().enumerate() {
        let mut vector = Vec::new();
        maker.vector(asked_row(sampled.row, last), &mut vector);
        for key in &sampled.found {
            asked_by.entry(*key).or_default().push(at);
        }
        queries.push(Query {
            vector,
            equal: maker.equal(sampled.row).to_vec(),
            answers: sampled.found.len() as u64,
            best: Vec::new(),
            answered: Vec::new(),
            there: 0,
        });
    }
    let mut vector = Vec::new();
    for row in first..=last {
        if (row - first).is_multiple_of(LOOK_ROWS) && monotonic_ns() > give_up_ns {
            return Err(Reason::TooMany);
        }
        let asked = asked_by.get(&maker.key(row));
        maker.vector(row, &mut vector);
        let equal = maker.equal(row);
        for (at, query) in queries.iter_mut().enumerate() {
            if query.equal == equal {
                let score = nearby.similarity.score(&query.vector, &vector);
                // What has no score, as zero has no direction, is not in the index.
                if !score.is_nan() {
                    query.take(score, limit, asked.is_some_and(|asked| asked.contains(&at)));
                }
            }
        }
    }
    Ok(queries.iter().filter_map(|query| query.told(limit)).collect())
}

/// Makes the values of rows.
struct Maker {
    similarity: Similarity,
    vector: Column,
    key: Vec<Column>,
    equal: Vec<Column>,
    out: BytesMut,
}

impl Maker {
    fn new(recipes: &Recipes, similarity: Similarity) -> Result<Self> {
        let columns = |all: &[Recipe]| all.iter().map(Recipe::column).collect::<Result<Vec<Column>>>();
        Ok(Self {
            similarity,
            vector: recipes.vector.column().context("the vector")?,
            key: columns(&recipes.key)?,
            equal: columns(&recipes.equal)?,
            out: BytesMut::new(),
        })
    }

    /// A row's vector, prepared for scores.
    fn vector(&mut self, row: u64, vector: &mut Vec<f64>) {
        self.out.clear();
        self.vector.put_body(&mut self.out, row);
        let (elements, _) = self.out.as_chunks::<4>();
        vector.clear();
        vector.extend(elements.iter().map(|bytes| f64::from(f32::from_be_bytes(*bytes))));
        self.similarity.prepare(vector);
    }

    fn key(&mut self, row: u64) -> u64 {
        self.out.clear();
        let mut ends = Vec::with_capacity(self.key.len());
        for column in &mut self.key {
            column.put_body(&mut self.out, row);
            ends.push(self.out.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        key_hash(starts.zip(&ends).map(|(start, end)| &self.out[start..*end]))
    }

    /// The values of the columns that must be equal.
    fn equal(&mut self, row: u64) -> &[u8] {
        self.out.clear();
        for column in &mut self.equal {
            column.put(&mut self.out, row);
        }
        &self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer_sample::tests::{answer, sample};

    const LAST: u64 = 499;

    /// The rows nearest to that of an operation, by a search of its own.
    fn nearest(row: u64, is_there: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut maker = Maker::new(&sample(1, &[], 4, LAST, 1).recipes, Similarity::Euclidean).unwrap();
        let mut of = |row: u64| {
            let mut vector = Vec::new();
            maker.vector(row, &mut vector);
            vector
        };
        let asked = of(LAST + 1 + row);
        let mut all: Vec<(f64, u64)> = (0..=LAST)
            .filter(|row| is_there(*row))
            .map(|row| (of(row).iter().zip(&asked).map(|(a, b)| (a - b).powi(2)).sum(), row))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.into_iter().map(|(_, row)| row).collect()
    }

    fn queries(sample: AnswerSample) -> Vec<[u64; 3]> {
        let (mut told, untold) = recalls(vec![sample]);
        assert!(untold.is_empty());
        told.pop().unwrap().queries
    }

    #[test]
    fn the_nearest_of_all_rows_are_counted() {
        for (missed, expected) in [(0, [10, 10, 10]), (3, [7, 10, 10])] {
            let mut one = sample(10, &[], 4, LAST, 20);
            for row in [3, 77, LAST] {
                let all = nearest(row, |_| true);
                // Instead of the nearest ones, some behind them.
                answer(&mut one, row, &all[missed..missed + 10]);
            }
            assert_eq!(queries(one), [expected; 3]);
        }
    }

    #[test]
    fn short_answers_and_rows_of_others_are_no_hits() {
        let mut one = sample(10, &[], 4, LAST, 20);
        let all = nearest(5, |_| true);
        answer(&mut one, 5, &all[..4]);
        assert_eq!(queries(one), [[4, 4, 10]]);
        let mut one = sample(10, &[], 4, LAST, 20);
        // Twice the same row, and one that was never written.
        answer(&mut one, 5, &[all[0], all[0], 1_000_000]);
        assert_eq!(queries(one), [[1, 3, 10]]);
    }

    #[test]
    fn only_rows_that_are_asked_for_count() {
        // A third of the rows has the same tag, and so does the operation's row.
        let mut one = sample(10, &["tag"], 4, LAST, 20);
        let like = nearest(5, |row| row % 3 == 5 % 3);
        answer(&mut one, 5, &like[..10]);
        assert_eq!(queries(one), [[10, 10, 10]]);
        let mut one = sample(400, &["tag"], 4, LAST, 20);
        answer(&mut one, 5, &like);
        // All that there are; of the others none counts.
        assert_eq!(queries(one), [[166, 166, 166]]);
        let mut one = sample(10, &["tag"], 4, LAST, 20);
        answer(&mut one, 5, &nearest(5, |row| row % 3 != 5 % 3)[..10]);
        assert_eq!(queries(one), [[0, 10, 10]]);
    }

    #[test]
    fn rows_as_near_as_the_last_are_as_good() {
        let mut one = sample(3, &[], 4, LAST, 20);
        one.recipes.vector.generator = Some(crate::value_generator::ValueGenerator::Modulo(1));
        answer(&mut one, 5, &[400, 20, 30]);
        assert_eq!(queries(one), [[3, 3, 3]]);
    }

    #[test]
    fn samples_of_threads_are_one_and_what_has_no_answers_is_left_out() {
        let (mut one, mut other) = (sample(10, &[], 4, LAST, 20), sample(10, &[], 4, LAST, 20));
        answer(&mut one, 5, &nearest(5, |_| true)[..10]);
        answer(&mut other, 6, &nearest(6, |_| true)[..10]);
        let mut silent = sample(10, &[], 4, LAST, 20);
        silent.statement = "never".into();
        let (told, untold) = recalls(vec![one, other, silent]);
        assert_eq!((told.len(), told[0].answers, untold.len()), (1, 2, 0));
        assert_eq!(told[0].queries, [[10, 10, 10]; 2]);
        let mut paged = sample(10, &[], 4, LAST, 20);
        (paged.answers, paged.is_paged) = (1, true);
        let (told, untold) = recalls(vec![paged]);
        assert_eq!((told, untold[0].reason), (vec![], Reason::Paged));
    }

    #[test]
    fn a_search_that_takes_too_long_is_given_up() {
        let mut one = sample(10, &[], 4, LAST, 20);
        answer(&mut one, 5, &[1]);
        assert_eq!(search(&one, 0), Err(Reason::TooMany));
    }
}
