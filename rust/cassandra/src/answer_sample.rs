//! A sample of the answers to the reads of the nearest vectors by one statement, drawn while the load goes on: each answer is
//! as likely to be in it as any other, and it never grows. `recall` finds out afterwards how many of the nearest are in them.

use std::collections::BinaryHeap;

use anyhow::Result;
use hydrotest_core::splitmix::SplitMix64;

use crate::checks::{Nearby, Reason};
use crate::column::Recipe;
use crate::fnv::{EMPTY, fnv1a};
use crate::frame::{DataType, Rows};

/// Time that an exact search may take on one core of a usual machine: for each element of a vector to be made, and to be
/// compared with that of a query.
const SEARCH_NS: f64 = 3e9;
const MADE_NS: f64 = 15.0;
const COMPARED_NS: f64 = 1.0;
/// A recall of fewer queries tells nothing.
const QUERIES_MIN: f64 = 10.0;
/// The number of `float` in the protocol.
const FLOAT: u16 = 0x08;

/// How many answers are drawn at most, and by which random numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    pub(crate) most: usize,
    pub(crate) seed: u64,
}

/// The columns by which a row is among the nearest.
#[derive(Clone)]
pub(crate) struct Recipes {
    pub(crate) vector: Recipe,
    pub(crate) key: Vec<Recipe>,
    pub(crate) equal: Vec<Recipe>,
}

impl Recipes {
    /// Elements of a vector; None where an index finds no such vectors.
    pub(crate) fn dimension(&self) -> Option<u64> {
        match &self.vector.kind {
            DataType::Vector(each, dimension) if **each == DataType::Plain(FLOAT) => Some(*dimension),
            _ => None,
        }
    }
}

/// One answer of the sample.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sampled {
    /// Random: the lowest are kept.
    order: u64,
    /// The row of the operation.
    pub(crate) row: u64,
    /// The keys of the rows that answered, as `key_hash` has them.
    pub(crate) found: Vec<u64>,
}

pub(crate) struct AnswerSample {
    pub(crate) statement: String,
    pub(crate) nearby: Nearby,
    pub(crate) recipes: Recipes,
    /// All rows.
    pub(crate) rows: (u64, u64),
    /// Answers that it was drawn from.
    pub(crate) answers: u64,
    /// True if one had several pages.
    pub(crate) is_paged: bool,
    most: usize,
    random: SplitMix64,
    kept: BinaryHeap<Sampled>,
}

impl AnswerSample {
    /// An empty one, so large that an exact search for all of it does not take too long; else why there is none.
    pub(crate) fn new(
        statement: &str,
        nearby: Nearby,
        recipes: Recipes,
        rows: (u64, u64),
        sampling: Sampling,
    ) -> Result<Self, Reason> {
        let dimension = recipes.dimension().ok_or(Reason::NoSimilarity)?;
        let elements = (rows.1 - rows.0 + 1) as f64 * dimension as f64;
        let most = (SEARCH_NS / elements - MADE_NS) / COMPARED_NS;
        if most < QUERIES_MIN {
            return Err(Reason::TooMany);
        }
        Ok(Self {
            statement: statement.into(),
            nearby,
            recipes,
            rows,
            answers: 0,
            is_paged: false,
            most: sampling.most.min(most as usize),
            random: SplitMix64::new(sampling.seed),
            kept: BinaryHeap::new(),
        })
    }

    /// Takes an answer to the operation of a row.
    pub(crate) fn offer(&mut self, rows: &mut Rows<'_>, row: u64) {
        self.answers += 1;
        if rows.next_page.is_some() {
            self.is_paged = true;
            return;
        }
        let order = self.random.number();
        if self.kept.len() >= self.most && self.kept.peek().is_none_or(|last| last.order <= order) {
            return;
        }
        let found = (0..rows.count).map_while(|_| self.key_of(rows)).collect();
        self.keep(Sampled { order, row, found });
    }

    fn keep(&mut self, sampled: Sampled) {
        self.kept.push(sampled);
        if self.kept.len() > self.most {
            self.kept.pop();
        }
    }

    /// The key of the next row; None where the answer is cut short.
    fn key_of(&self, rows: &mut Rows<'_>) -> Option<u64> {
        let cells: Vec<Option<&[u8]>> = (0..rows.columns).map(|_| rows.cell()).collect::<Result<_>>().ok()?;
        let key = self.nearby.key.iter();
        Some(key_hash(key.map(|(_, at)| cells[*at].unwrap_or_default())))
    }

    /// Adds what another thread has drawn.
    pub(crate) fn merge(&mut self, other: Self) {
        self.answers += other.answers;
        self.is_paged |= other.is_paged;
        other.kept.into_iter().for_each(|one| self.keep(one));
    }

    pub(crate) fn kept(&self) -> impl Iterator<Item = &Sampled> {
        self.kept.iter()
    }
}

/// A key by its columns' values: of a billion keys two have the same hash once in forty times.
pub(crate) fn key_hash<'a>(cells: impl Iterator<Item = &'a [u8]>) -> u64 {
    cells.fold(EMPTY, |hash, cell| {
        fnv1a(fnv1a(hash, &(cell.len() as u32).to_be_bytes()), cell)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use bytes::{BufMut, BytesMut};
    use hydrotest_core::draw::Distribution;

    use super::*;
    use crate::similarity::Similarity;
    use crate::value_generator::ValueGenerator;

    const INT: u16 = 0x09;

    /// Of `SELECT tag, k FROM t [WHERE tag = ?] ORDER BY v ANN OF ? LIMIT …`, of the rows 0 to `last`.
    pub(crate) fn sample(limit: u64, equal: &[&str], dimension: u64, last: u64, most: usize) -> AnswerSample {
        let recipe = |name: &str, kind, generator| Recipe {
            name: name.into(),
            kind,
            generator: Some(generator),
            is_key: false,
            rows_max: last,
        };
        let vector = DataType::Vector(Box::new(DataType::Plain(FLOAT)), dimension);
        let tag = |name: &&str| recipe(name, DataType::Plain(INT), ValueGenerator::Modulo(3));
        let nearby = Nearby {
            column: "v".into(),
            similarity: Similarity::Euclidean,
            limit,
            key: vec![("k".into(), 1)],
            equal: equal.iter().map(|name| (*name).into()).collect(),
        };
        let recipes = Recipes {
            vector: recipe(
                "v",
                vector,
                ValueGenerator::Number(Distribution::Uniform { min: 0, max: 1_000 }),
            ),
            key: vec![recipe("k", DataType::Plain(INT), ValueGenerator::Row)],
            equal: equal.iter().map(tag).collect(),
        };
        AnswerSample::new("near", nearby, recipes, (0, last), Sampling { most, seed: 1 }).unwrap()
    }

    /// Offers an answer of these rows.
    pub(crate) fn answer(sample: &mut AnswerSample, row: u64, rows: &[u64]) {
        let mut body = BytesMut::new();
        for row in rows {
            body.put_i32(-1);
            body.put_i32(4);
            body.put_i32(*row as i32);
        }
        sample.offer(&mut Rows::over(2, rows.len(), &body), row);
    }

    #[test]
    fn every_answer_is_as_likely_to_be_kept() {
        let mut counts = [0_u32; 40];
        for seed in 0..4_000 {
            let mut parts: Vec<AnswerSample> = (0..2)
                .map(|part| {
                    let mut one = sample(3, &[], 2, 99, 10);
                    one.random = SplitMix64::new(2 * seed + part);
                    // The first thread has three times as many answers.
                    let answers = if part == 0 { 0..30 } else { 30..40 };
                    answers.for_each(|row| answer(&mut one, row, &[row]));
                    one
                })
                .collect();
            let (other, mut all) = (parts.pop().unwrap(), parts.pop().unwrap());
            all.merge(other);
            assert_eq!((all.answers, all.kept().count()), (40, 10));
            all.kept().for_each(|one| counts[one.row as usize] += 1);
        }
        // A quarter of 4,000, and five standard deviations.
        assert!(counts.iter().all(|count| (863..1_137).contains(count)), "{counts:?}");
    }

    #[test]
    fn answers_are_known_by_their_keys() {
        let mut one = sample(3, &[], 2, 99, 10);
        answer(&mut one, 7, &[5, 9]);
        let hash = |row: i32| key_hash([&row.to_be_bytes()[..]].into_iter());
        assert_eq!(one.kept().next().unwrap().found, [hash(5), hash(9)]);
        // One that is cut short has no more rows.
        one.offer(&mut Rows::over(2, 2, &[0xFF, 0xFF, 0xFF, 0xFF]), 8);
        assert_eq!(one.kept().map(|one| one.found.len()).sum::<usize>(), 2);
        assert!(!one.is_paged);
    }

    #[test]
    fn more_rows_than_can_be_searched_are_refused() {
        let recipes = sample(3, &[], 128, 99, 10).recipes;
        let nearby = sample(3, &[], 128, 99, 10).nearby;
        let of = |last: u64| {
            let sampling = Sampling { most: 100, seed: 1 };
            AnswerSample::new("near", nearby.clone(), recipes.clone(), (0, last), sampling).map(|one| one.most)
        };
        assert_eq!(of(9_999).ok(), Some(100));
        assert!(of(800_000).is_ok_and(|most| (10..20).contains(&most)));
        assert_eq!(of(10_000_000).err(), Some(Reason::TooMany));
    }
}
