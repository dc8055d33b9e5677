//! The parts of reads that were not checked, and how often, for the report.

use serde::Serialize;

use crate::checks::{Check, ColumnHow, Reason};

/// The part of an answer that was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    /// All of it.
    Read,
    /// Whether its row exists; for columns, whether they have a value.
    Presence,
    /// The values of columns.
    Values,
}

/// Reads of a statement of which a part was not checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Unchecked {
    pub(crate) statement: String,
    pub(crate) what: What,
    pub(crate) reason: Reason,
    pub(crate) columns: Vec<String>,
    pub(crate) reads: u64,
    /// The reads that found no row, where that is not known to be a loss.
    pub(crate) absent: u64,
}

impl Unchecked {
    pub(crate) fn new(statement: &str, what: What, reason: Reason, columns: Vec<String>) -> Self {
        Self {
            statement: statement.into(),
            what,
            reason,
            columns,
            reads: 0,
            absent: 0,
        }
    }

    /// The parts of a statement's reads that are not checked: all of them, or those that `check` leaves out.
    /// The counts begin at zero.
    pub(crate) fn of(statement: &str, check: &Result<Check, Reason>) -> Vec<Self> {
        let check = match check {
            Err(reason) => return vec![Self::new(statement, What::Read, *reason, Vec::new())],
            Ok(check) => check,
        };
        let row = check
            .may_miss
            .map(|reason| Self::new(statement, What::Presence, reason, Vec::new()));
        let mut all: Vec<Self> = row.into_iter().collect();
        for column in &check.columns {
            let (what, reason) = match column.how {
                ColumnHow::Unchecked(reason) => (What::Values, reason),
                // When the row is gone, so are its values.
                ColumnHow::Checked {
                    may_be_null: Some(reason),
                } if Some(reason) != check.may_miss => (What::Presence, reason),
                ColumnHow::Checked { .. } => continue,
            };
            let alike = |one: &&mut Self| (one.what, one.reason) == (what, reason) && !one.columns.is_empty();
            match all.iter_mut().find(alike) {
                Some(one) => one.columns.push(column.name.clone()),
                None => all.push(Self::new(statement, what, reason, vec![column.name.clone()])),
            }
        }
        all
    }

    /// Adds the counts of another thread.
    pub(crate) fn merge(all: &mut Vec<Self>, others: Vec<Self>) {
        for other in others {
            let is_same = |one: &&mut Self| {
                (&one.statement, one.what, one.reason, &one.columns)
                    == (&other.statement, other.what, other.reason, &other.columns)
            };
            match all.iter_mut().find(is_same) {
                Some(one) => {
                    one.reads += other.reads;
                    one.absent += other.absent;
                }
                None => all.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::ColumnCheck;

    #[test]
    fn columns_with_one_reason_stand_together_and_counts_of_threads_add_up() {
        let column = |name: &str, how| ColumnCheck { name: name.into(), how };
        let check = Check {
            may_miss: Some(Reason::Deleted),
            columns: vec![
                column("a", ColumnHow::Unchecked(Reason::Counter)),
                column(
                    "b",
                    ColumnHow::Checked {
                        may_be_null: Some(Reason::Deleted),
                    },
                ),
                column("c", ColumnHow::Unchecked(Reason::Counter)),
                column(
                    "d",
                    ColumnHow::Checked {
                        may_be_null: Some(Reason::NotPopulated),
                    },
                ),
                column("e", ColumnHow::Checked { may_be_null: None }),
            ],
        };
        let mut found = Unchecked::of("look", &Ok(check));
        let brief: Vec<_> = found
            .iter()
            .map(|one| (one.what, one.reason, one.columns.join(" ")))
            .collect();
        assert_eq!(
            brief,
            [
                (What::Presence, Reason::Deleted, String::new()),
                (What::Values, Reason::Counter, "a c".into()),
                (What::Presence, Reason::NotPopulated, "d".into()),
            ]
        );
        found[0].reads = 5;
        let mut more = Unchecked::new("look", What::Presence, Reason::Deleted, Vec::new());
        (more.reads, more.absent) = (2, 1);
        Unchecked::merge(
            &mut found,
            vec![more, Unchecked::new("list", What::Read, Reason::Range, Vec::new())],
        );
        assert_eq!((found.len(), found[0].reads, found[0].absent), (4, 7, 1));
    }
}
