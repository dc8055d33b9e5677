//! Which reads of the nearest vectors can be held against an exact search. It goes through all rows that were written, so
//! that each must be there, and be as its number makes it: else an answer that is right would count as wrong.

use super::{ColumnHow, How, Model, Parsed, Reading, Reason, Selected};
use crate::cql::Nearest;
use crate::similarity::Similarity;

/// What an exact search needs to know of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nearby {
    /// The column of vectors.
    pub(crate) column: String,
    pub(crate) similarity: Similarity,
    /// Most rows of an answer.
    pub(crate) limit: u64,
    /// The columns of the table's key, and where each is among those that are returned.
    pub(crate) key: Vec<(String, usize)>,
    /// Columns that must equal those of the row that is asked for.
    pub(crate) equal: Vec<String>,
}

impl Model<'_> {
    /// How the answers of a read can be held against an exact search, or why not; None if it asks for something else.
    pub(crate) fn nearest(&self, parsed: &Parsed, returned: &[&str]) -> Option<Result<Nearby, Reason>> {
        let Parsed::Select(select) = parsed else { return None };
        let nearest = select.nearest.as_ref()?;
        Some(
            self.reading(select)
                .and_then(|reading| reading.nearest(nearest, returned)),
        )
    }
}

impl Reading<'_> {
    fn nearest(&self, nearest: &Nearest, returned: &[&str]) -> Result<Nearby, Reason> {
        if !self.select.is_plain {
            return Err(Reason::Computed);
        }
        if nearest.to != How::Mark {
            return Err(Reason::NotByMark);
        }
        let limit = nearest.limit.ok_or(Reason::NoLimit)?;
        let similarity = self.table.similarities.get(&nearest.column).copied();
        let equal = &self.select.equal;
        let is_by_marks = self.select.is_by_equality && equal.iter().all(|(_, how)| *how == How::Mark);
        if self.select.is_filtered && !is_by_marks {
            return Err(Reason::Filtered);
        }
        let key = self.key_returned(returned).ok_or(Reason::NoKey)?;
        if !key.iter().any(|(name, _)| (self.is_unique)(name)) {
            return Err(Reason::SharedKey);
        }
        let has_our_key = |change: &super::Change| key.iter().all(|(name, _)| change.binds(name));
        if !self
            .writes()
            .all(|change| has_our_key(change) || !self.makes_row(change))
        {
            return Err(Reason::WrittenOtherwise);
        }
        if let Some(reason) = self.may_not_be_there() {
            return Err(reason);
        }
        for name in equal.iter().map(|(name, _)| name).chain([&nearest.column]) {
            match self.column(name) {
                ColumnHow::Checked { may_be_null: None } => {}
                ColumnHow::Checked {
                    may_be_null: Some(reason),
                }
                | ColumnHow::Unchecked(reason) => return Err(reason),
            }
        }
        Ok(Nearby {
            column: nearest.column.clone(),
            similarity: similarity.ok_or(Reason::NoSimilarity)?,
            limit,
            key,
            equal: equal.iter().map(|(name, _)| name.clone()).collect(),
        })
    }

    /// The columns of the key, and where each is returned; None if one is not.
    fn key_returned(&self, returned: &[&str]) -> Option<Vec<(String, usize)>> {
        let selected = &self.select.selected;
        let is_all = selected[..] == [Selected::All];
        let of = |name: &str| {
            let is_it = |at: &usize| is_all || selected.get(*at) == Some(&Selected::Column(name.to_owned()));
            let found = (0..returned.len()).find(|at| returned[*at] == name && is_it(at));
            found.map(|at| (name.to_owned(), at))
        };
        self.key().map(of).collect()
    }
}
