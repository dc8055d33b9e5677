//! The columns of a prepared statement: the values bound to its marks, and the check of the rows that it
//! returns.

use anyhow::{Context, Result, bail, ensure};
use bytes::{BufMut, BytesMut};
use hydrotest_core::draw::{Distribution, Draw};
use hydrotest_core::splitmix::mix;

use crate::account::Found;
use crate::checks::{Check, ColumnHow};
use crate::frame::{ColumnSpec, Rows};
use crate::value_generator::{ColumnType, ValueGenerator};

/// Bounds for a column without a generator: numbers up to this, or so many bytes (as in cassandra-stress's
/// columns).
const NUMBER_MAX: u64 = 1_000_000;
const BYTES: u64 = 34;

/// FNV-1a (Fowler, Noll, Vo).
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    })
}

/// Makes the values of one column.
pub(crate) struct Column {
    kind: ColumnType,
    salt: u64,
    generator: Generator,
}

enum Generator {
    Row,
    Number(Draw),
    Bytes(Draw),
}

impl Column {
    /// The column `name` of type `kind`, made by `generator`. Without one, a column of the partition key is
    /// the row's number, and any other has a value that fits its type. `rows_max` is the highest row. Returns
    /// an error in words where generator and type do not fit.
    pub(crate) fn new(
        name: &str,
        kind: ColumnType,
        generator: Option<ValueGenerator>,
        is_key: bool,
        rows_max: u64,
    ) -> Result<Self> {
        // A LIMIT of 0 would be refused (nodes name it `[limit]`, and a TTL `[ttl]`).
        let min = u64::from(name.starts_with('['));
        let generator = generator.unwrap_or(match kind {
            _ if is_key => ValueGenerator::Row,
            ColumnType::Text | ColumnType::Blob => {
                ValueGenerator::Bytes(Distribution::Uniform { min: BYTES, max: BYTES })
            }
            _ => ValueGenerator::Number(Distribution::Uniform {
                min,
                max: kind.number_max().min(NUMBER_MAX),
            }),
        });
        let draw = |distribution| Draw::new(distribution, 0, 0, 1).map_err(anyhow::Error::msg);
        let (largest, generator) = match generator {
            ValueGenerator::Row => (rows_max, Generator::Row),
            ValueGenerator::Number(distribution) => (distribution.range().1, Generator::Number(draw(distribution)?)),
            ValueGenerator::Bytes(distribution) => {
                ensure!(
                    kind.has_bytes(),
                    "a size does not fit column {name}, which is of type {kind:?}"
                );
                (0, Generator::Bytes(draw(distribution)?))
            }
        };
        ensure!(
            largest <= kind.number_max(),
            "column {name} is of type {kind:?} and cannot hold {largest}"
        );
        Ok(Self {
            kind,
            salt: hash(name),
            generator,
        })
    }

    /// Appends the value for a row, without its length.
    fn put_body(&mut self, out: &mut BytesMut, row: u64) {
        let seed = mix(row ^ self.salt);
        match &mut self.generator {
            Generator::Row => self.kind.put_number(out, row),
            Generator::Number(draw) => {
                draw.reseed(seed);
                self.kind.put_number(out, draw.number());
            }
            Generator::Bytes(draw) => {
                draw.reseed(seed);
                self.kind.put_bytes(out, draw.number(), seed);
            }
        }
    }

    /// Appends the value for a row as the protocol's `[value]`.
    pub(crate) fn put(&mut self, out: &mut BytesMut, row: u64) {
        let start = out.len();
        out.put_i32(0);
        self.put_body(out, row);
        let length = (out.len() - start - 4) as i32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// True if `cell` is the value of this column in a row; `scratch` is overwritten.
    pub(crate) fn is_of(&mut self, cell: Option<&[u8]>, row: u64, scratch: &mut BytesMut) -> bool {
        scratch.clear();
        self.put_body(scratch, row);
        cell == Some(&scratch[..])
    }
}

/// The type of a column. An error if no values can be generated for it.
fn type_of(column: &ColumnSpec) -> Result<ColumnType> {
    let Some(kind) = ColumnType::of(column.option) else {
        bail!(
            "column {} has a type (number {:#06x} of the protocol) that no values are made for; write it as a literal",
            column.name,
            column.option
        );
    };
    Ok(kind)
}

/// Values and checks of one prepared statement.
pub(crate) struct BoundStatement {
    bound: Vec<Column>,
    /// Indices of the partition key's columns among them, in its order; empty where not all are bound.
    key: Vec<usize>,
    /// The checks of its answers; None without any.
    checked: Option<Checked>,
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
        rows_max: u64,
    ) -> Result<Self> {
        let column = |described: &ColumnSpec| {
            let name = &described.name;
            Column::new(
                name,
                type_of(described)?,
                generator(name),
                keys.contains(name),
                rows_max,
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
        Ok(Self { bound, key, checked })
    }

    /// Appends the partition key of a row as nodes hash it; false where some of it is not bound. In a key of
    /// several columns, each has its length before it and a zero byte behind it (Cassandra's CompositeType).
    pub(crate) fn put_partition_key(&mut self, out: &mut BytesMut, row: u64) -> bool {
        if let [only] = self.key[..] {
            self.bound[only].put_body(out, row);
            return true;
        }
        for &at in &self.key {
            let start = out.len();
            out.put_u16(0);
            self.bound[at].put_body(out, row);
            let length = (out.len() - start - 2) as u16;
            out[start..start + 2].copy_from_slice(&length.to_be_bytes());
            out.put_u8(0);
        }
        !self.key.is_empty()
    }

    /// Appends the values of a statement for a row.
    pub(crate) fn put(&mut self, out: &mut BytesMut, row: u64) {
        for column in &mut self.bound {
            column.put(out, row);
        }
    }

    /// Checks the rows returned for row number `row`.
    pub(crate) fn judge(&mut self, rows: &mut Rows<'_>, row: u64, scratch: &mut BytesMut) -> Found {
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
