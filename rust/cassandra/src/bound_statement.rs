//! The columns of a prepared statement: the values bound to its marks, and the check of the rows that it
//! returns.

use anyhow::{Context, Result};
use bytes::{BufMut, BytesMut};

use crate::account::Found;
use crate::answer_sample::AnswerSample;
use crate::checks::{Check, ColumnHow};
use crate::column::Column;
use crate::frame::{ColumnSpec, Rows};
use crate::settings::{Group, asked_row};
use crate::value_generator::ValueGenerator;

/// Values and checks of one prepared statement.
pub(crate) struct BoundStatement {
    bound: Vec<Column>,
    /// Of a batch, each row has its part of the columns.
    group: Group,
    /// Indices of the partition key's columns among them, in its order; empty where not all are bound.
    key: Vec<usize>,
    /// The index of the vector that the nearest are asked for to.
    asked: Option<usize>,
    /// The checks of its answers; None without any.
    checked: Option<Checked>,
    sample: Option<AnswerSample>,
}

struct Checked {
    /// The columns with known values, in the order in which they are returned.
    columns: Vec<Option<CheckedColumn>>,
    may_miss: bool,
}

struct CheckedColumn {
    column: Column,
    may_be_null: bool,
}

impl BoundStatement {
    /// Made from a node's description of a statement: the columns bound to its marks, those of the partition
    /// key, and the returned columns. `keys` are the columns of all statements' partition keys, `check` lists
    /// the checks of the returned values.
    pub(crate) fn new(
        bound: &[ColumnSpec],
        key: &[u16],
        keys: &[String],
        returned: &[ColumnSpec],
        generator: impl Fn(&str) -> Option<ValueGenerator>,
        check: Option<&Check>,
        group: Group,
    ) -> Result<Self> {
        let column = |described: &ColumnSpec| {
            let name = &described.name;
            Column::new(
                name,
                &described.kind,
                generator(name),
                keys.contains(name),
                group.range.1,
            )
        };
        let bound = bound
            .iter()
            .map(column)
            .collect::<Result<Vec<Column>>>()
            .context("a statement cannot be bound")?;
        let checked = check
            .map(|check| {
                let one = |(described, found): (&ColumnSpec, &ColumnHow)| match found {
                    ColumnHow::Unchecked(_) => Ok(None),
                    ColumnHow::Checked { may_be_null } => column(described).map(|column| {
                        Some(CheckedColumn {
                            column,
                            may_be_null: may_be_null.is_some(),
                        })
                    }),
                };
                let hows = check.columns.iter().map(|column| &column.how);
                anyhow::Ok(Checked {
                    columns: returned.iter().zip(hows).map(one).collect::<Result<_>>()?,
                    may_miss: check.may_miss.is_some(),
                })
            })
            .transpose()?;
        let key = key.iter().map(|&at| usize::from(at)).collect();
        Ok(Self {
            bound,
            group,
            key,
            asked: None,
            checked,
            sample: None,
        })
    }

    /// It asks for the nearest to the vector that is bound at this index, which is that of no row.
    pub(crate) fn asking(self, at: Option<usize>) -> Self {
        Self { asked: at, ..self }
    }

    /// Its answers are drawn from by this sample.
    pub(crate) fn sampled(self, sample: Option<AnswerSample>) -> Self {
        Self { sample, ..self }
    }

    /// What was drawn of its answers.
    pub(crate) fn take_sample(&mut self) -> Option<AnswerSample> {
        self.sample.take()
    }

    /// Appends the partition key of a row as nodes hash it; false where some of it is not bound. In a key of
    /// several columns, each has its length before it and a zero byte behind it (Cassandra's CompositeType).
    pub(crate) fn put_partition_key(&mut self, out: &mut BytesMut, row: u64) -> bool {
        if let [only] = self.key[..] {
            let row = self.row_at(only, row);
            self.bound[only].put_body(out, row);
            return true;
        }
        for index in 0..self.key.len() {
            let at = self.key[index];
            let start = out.len();
            out.put_u16(0);
            let row = self.row_at(at, row);
            self.bound[at].put_body(out, row);
            let length = (out.len() - start - 2) as u16;
            out[start..start + 2].copy_from_slice(&length.to_be_bytes());
            out.put_u8(0);
        }
        !self.key.is_empty()
    }

    /// Appends the values of a statement for a row.
    pub(crate) fn put(&mut self, out: &mut BytesMut, row: u64) {
        if self.group.rows == 1 {
            for at in 0..self.bound.len() {
                let row = self.row_at(at, row);
                self.bound[at].put(out, row);
            }
            return;
        }
        let rows = self.group.rows_of(row);
        let each = self.columns_each();
        for (row, columns) in rows.zip(self.bound.chunks_mut(each)) {
            columns.iter_mut().for_each(|column| column.put(out, row));
        }
    }

    /// Columns that are bound for each row of a batch.
    fn columns_each(&self) -> usize {
        (self.bound.len() / self.group.rows as usize).max(1)
    }

    /// The row that a bound column belongs to.
    fn row_at(&self, column: usize, row: u64) -> u64 {
        if self.asked == Some(column) {
            return asked_row(row, self.group.range.1);
        }
        if self.group.rows == 1 {
            return row;
        }
        let part = column / self.columns_each();
        self.group.rows_of(row).nth(part).unwrap_or(row)
    }

    /// Checks the rows returned for row number `row`.
    pub(crate) fn judge(&mut self, rows: &mut Rows<'_>, row: u64, scratch: &mut BytesMut) -> Found {
        if let Some(sample) = &mut self.sample {
            sample.offer(rows, row);
        }
        let Some(checked) = &mut self.checked else {
            return Found::Unchecked;
        };
        match rows.count {
            0 if checked.may_miss => Found::Absent,
            0 => Found::Missing,
            1 => {
                let mut is_same = |column: &mut CheckedColumn, cell: Option<&[u8]>| {
                    cell.is_none() && column.may_be_null || column.column.is_of(cell, row, scratch)
                };
                // A truncated cell was never written.
                let is_intact = checked.columns.iter_mut().all(|column| match (column, rows.cell()) {
                    (_, Err(_)) => false,
                    (None, _) => true,
                    (Some(column), Ok(cell)) => is_same(column, cell),
                });
                if is_intact { Found::Intact } else { Found::Corrupted }
            }
            _ => Found::SeveralRows,
        }
    }
}

#[cfg(test)]
mod tests;
