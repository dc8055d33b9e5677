//! Decides, before the load begins, which parts of a read can be checked, from the statements and the tables.
//! A value follows from the number of its row. That holds only where no other row and no other writer can
//! have changed it. Anything uncertain is not checked, and the report gives the reason.

use serde::Serialize;

use crate::cql::{Act, Change, How, Parsed, Select, Selected};
use crate::schema::{ColumnKind, Schema, Table};

mod nearest;

pub(crate) use nearest::Nearby;

/// The reason why a part is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    /// A statement, or a writing one, is not understood.
    NotUnderstood,
    /// The table is not one of the workload's.
    UnknownTable,
    /// A materialised view follows its table later, or leaves rows out.
    View,
    /// A range, a list, or no condition at all: any rows may be returned.
    Range,
    /// The row is not selected by its key, given by marks.
    NotByKey,
    /// Several rows have the same key; the last one written remains.
    SharedKey,
    /// Several rows were returned.
    SeveralRows,
    /// A function, JSON, or another name for a column.
    Computed,
    /// It depends on all earlier additions.
    Counter,
    /// It was set by the last row written to the partition.
    Static,
    NotWritten,
    /// A statement writes a value that is not ours.
    WrittenOtherwise,
    Deleted,
    Expiring,
    /// Not every row was written before.
    NotPopulated,
    /// An index finds the nearest vectors, and not always all of them.
    Nearest,
    /// The nearest vectors, but not to one of ours.
    NotByMark,
    /// How many of the nearest is not a number in the statement.
    NoLimit,
    /// By what the nearest are found is not known.
    NoSimilarity,
    /// Rows are left out by other conditions than that columns equal marks.
    Filtered,
    /// The answers do not tell which rows they are.
    NoKey,
    /// The answers have several pages.
    Paged,
    /// To compare with all rows takes too long.
    TooMany,
}

/// The checks of a statement's answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    /// Why a row may be missing; None where it must be there.
    pub(crate) may_miss: Option<Reason>,
    /// One check for each column returned.
    pub(crate) columns: Vec<ColumnCheck>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnCheck {
    pub(crate) name: String,
    pub(crate) how: ColumnHow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnHow {
    Unchecked(Reason),
    /// Why it may be null; None where it must not be.
    Checked {
        may_be_null: Option<Reason>,
    },
}

/// The known facts of a workload's statements and tables.
pub(crate) struct Model<'a> {
    pub(crate) schema: &'a Schema,
    /// The statements that are executed.
    pub(crate) executed: Vec<&'a Parsed>,
    /// The statement that has written each row before, if there is one.
    pub(crate) filled_by: Option<&'a Parsed>,
    /// True if each materialised view held the same rows as its table when the load began.
    pub(crate) views_filled: bool,
    /// True if no two rows have the same value in a column.
    pub(crate) is_unique: &'a dyn Fn(&str) -> bool,
}

impl Model<'_> {
    /// The possible checks of a read whose answers have these columns, or why there are none.
    pub(crate) fn check(&self, parsed: &Parsed, returned: &[&str]) -> Result<Check, Reason> {
        let Parsed::Select(select) = parsed else {
            return Err(Reason::NotUnderstood);
        };
        if select.nearest.is_some() {
            return Err(Reason::Nearest);
        }
        self.reading(select)?.check(returned)
    }

    fn reading<'m>(&'m self, select: &'m Select) -> Result<Reading<'m>, Reason> {
        if self.executed.contains(&&Parsed::Other) {
            return Err(Reason::NotUnderstood);
        }
        let table = select.table.as_ref().and_then(|name| self.schema.get(name));
        let (Some(table), Some(name)) = (table, &select.table) else {
            return Err(Reason::UnknownTable);
        };
        let name = table.view.as_ref().map_or(name, |view| &view.table);
        let written = self.schema.get(name).ok_or(Reason::UnknownTable)?;
        Ok(Reading {
            select,
            table,
            written,
            changes: self
                .executed
                .iter()
                .flat_map(|parsed| changes_of(parsed, name))
                .collect(),
            filled_by: self.filled_by.map(|parsed| changes_of(parsed, name)),
            views_filled: self.views_filled,
            is_unique: self.is_unique,
        })
    }
}

fn changes_of<'a>(parsed: &'a Parsed, table: &str) -> Vec<&'a Change> {
    let all: &[Change] = match parsed {
        Parsed::Write(write) => &write.changes,
        _ => &[],
    };
    all.iter()
        .filter(|change| change.table.as_deref() == Some(table))
        .collect()
}

/// A read of one table, with all changes of that table. Of a materialised view: those of the table that it follows.
struct Reading<'a> {
    select: &'a Select,
    table: &'a Table,
    /// The table that is written.
    written: &'a Table,
    changes: Vec<&'a Change>,
    /// The changes of it by the statement that has written each row before.
    filled_by: Option<Vec<&'a Change>>,
    views_filled: bool,
    is_unique: &'a dyn Fn(&str) -> bool,
}

impl Reading<'_> {
    fn check(&self, returned: &[&str]) -> Result<Check, Reason> {
        if !self.select.is_plain {
            return Err(Reason::Computed);
        }
        if !self.select.is_by_equality {
            return Err(Reason::Range);
        }
        let is_key = |(name, how): &(String, How)| *how == How::Mark && self.key().any(|column| column == name);
        if !self.select.equal.iter().all(is_key)
            || !self.table.of(ColumnKind::Partition).all(|name| self.is_bound(name))
        {
            return Err(Reason::NotByKey);
        }
        if !self.key().all(|name| self.is_bound(name)) && !self.is_one_in_partition() {
            return Err(Reason::Range);
        }
        if !self.key().any(|name| self.is_own(name)) {
            return Err(Reason::SharedKey);
        }
        Ok(Check {
            may_miss: self.may_miss(),
            columns: self.columns(returned),
        })
    }

    fn key(&self) -> impl Iterator<Item = &str> {
        self.table
            .of(ColumnKind::Partition)
            .chain(self.table.of(ColumnKind::Clustering))
    }

    fn is_bound(&self, column: &str) -> bool {
        self.select.equal.iter().any(|(name, _)| name == column)
    }

    /// The writes; a statement that sets only static columns writes the partition.
    fn writes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().copied().filter(|change| change.act != Act::Delete)
    }

    /// True if only one row's number writes under a value of this key column.
    fn is_own(&self, column: &str) -> bool {
        self.is_bound(column)
            && (self.is_unique)(column)
            && self
                .writes()
                .all(|change| change.binds(column) || !self.makes_row(change))
    }

    /// False if it sets only static columns.
    fn makes_row(&self, change: &Change) -> bool {
        let is_of_row = |(name, _): &(String, How)| {
            !matches!(
                self.written.columns.get(name),
                Some(ColumnKind::Partition | ColumnKind::Static)
            )
        };
        self.written.of(ColumnKind::Clustering).next().is_none()
            || change.equal.iter().chain(&change.set).any(is_of_row)
    }

    /// True if the partition holds at most one row: it belongs to one row, and each write gives the rest of
    /// the key by marks.
    fn is_one_in_partition(&self) -> bool {
        self.table.of(ColumnKind::Partition).any(|name| self.is_own(name))
            && self.writes().all(|change| self.key().all(|name| change.binds(name)))
    }

    /// Why a written row may be gone.
    fn may_go(&self) -> Option<Reason> {
        if self.changes.iter().any(|change| change.act == Act::Delete) {
            return Some(Reason::Deleted);
        }
        (self.written.expires || self.changes.iter().any(|change| change.expires)).then_some(Reason::Expiring)
    }

    fn may_miss(&self) -> Option<Reason> {
        if self.select.selected.contains(&Selected::Computed) {
            // An aggregate returns a row even where there is none.
            return Some(Reason::Computed);
        }
        self.may_not_be_there()
    }

    /// Why a row need not be there, whatever is selected of it.
    fn may_not_be_there(&self) -> Option<Reason> {
        if let Some(reason) = self.may_go() {
            return Some(reason);
        }
        if let Some(reason) = self.may_not_be_in_view() {
            return Some(reason);
        }
        let makes_every_row = |change: &Change| match change.act {
            Act::Insert => true,
            // Such a row exists as long as it has a value.
            Act::Update => change.set.iter().any(|(name, _)| self.stays(name)),
            Act::Delete => false,
        };
        let is_filled = self.fills(self.key()).any(makes_every_row);
        (!is_filled).then_some(Reason::NotPopulated)
    }

    /// Why a view need not have a row that its table has.
    fn may_not_be_in_view(&self) -> Option<Reason> {
        let view = self.table.view.as_ref()?;
        // A row has another place there, or none, when its key in the view changes.
        let moved = self.key().find_map(|name| {
            let mut set = self.writes().filter_map(|change| change.sets(name));
            set.find_map(|how| match how {
                How::Mark => None,
                How::Null => Some(Reason::Deleted),
                How::Otherwise => Some(Reason::WrittenOtherwise),
            })
        });
        moved.or((!view.is_whole || !self.views_filled).then_some(Reason::View))
    }

    /// The changes that have written each row, or each partition, before: those that gave this complete key
    /// by marks.
    fn fills<'k>(&self, key: impl Iterator<Item = &'k str>) -> impl Iterator<Item = &Change> {
        let key: Vec<&str> = key.collect();
        let all = self.filled_by.iter().flatten().copied();
        all.filter(move |change| key.iter().all(|name| change.binds(name)))
    }

    /// True if a column of a row, once written, is never null again.
    fn stays(&self, column: &str) -> bool {
        match self.written.columns.get(column) {
            Some(ColumnKind::Counter) => true,
            Some(ColumnKind::Regular) => self
                .writes()
                .all(|change| matches!(change.sets(column), None | Some(How::Mark))),
            _ => false,
        }
    }

    fn columns(&self, returned: &[&str]) -> Vec<ColumnCheck> {
        let selected = &self.select.selected;
        let is_all = selected[..] == [Selected::All];
        let one = |(at, name): (usize, &&str)| ColumnCheck {
            name: (*name).to_owned(),
            how: if is_all || selected.get(at) == Some(&Selected::Column((*name).to_owned())) {
                self.column(name)
            } else {
                ColumnHow::Unchecked(Reason::Computed)
            },
        };
        returned.iter().enumerate().map(one).collect()
    }

    fn column(&self, name: &str) -> ColumnHow {
        let kind = self.table.columns.get(name);
        let unchecked = match kind {
            None => Some(Reason::Computed),
            Some(ColumnKind::Partition | ColumnKind::Clustering) => {
                return ColumnHow::Checked { may_be_null: None };
            }
            Some(ColumnKind::Counter) => Some(Reason::Counter),
            Some(ColumnKind::Static) if !self.has_own_partition() => Some(Reason::Static),
            Some(ColumnKind::Static | ColumnKind::Regular) => None,
        };
        if let Some(reason) = unchecked {
            return ColumnHow::Unchecked(reason);
        }
        let set: Vec<How> = self.writes().filter_map(|change| change.sets(name)).collect();
        if set.is_empty() {
            return ColumnHow::Unchecked(Reason::NotWritten);
        }
        if set.contains(&How::Otherwise) {
            return ColumnHow::Unchecked(Reason::WrittenOtherwise);
        }
        let sets = |change: &Change| change.sets(name) == Some(How::Mark);
        let is_filled = if kind == Some(&ColumnKind::Static) {
            self.fills(self.table.of(ColumnKind::Partition)).any(sets)
        } else {
            self.fills(self.key()).any(sets)
        };
        ColumnHow::Checked {
            may_be_null: if set.contains(&How::Null) {
                Some(Reason::Deleted)
            } else {
                self.may_go().or((!is_filled).then_some(Reason::NotPopulated))
            },
        }
    }

    /// True if no other row shares the partition and its static columns.
    fn has_own_partition(&self) -> bool {
        let is_own = |name: &str| self.is_own(name) && self.writes().all(|change| change.binds(name));
        self.table.of(ColumnKind::Partition).any(is_own)
    }
}

#[cfg(test)]
mod tests;
