//! The columns of a prepared statement: the values bound to its marks, and the check of what it returns.

use anyhow::{Context, Result, bail, ensure};
use bytes::{BufMut, BytesMut};
use hydrotest_core::draw::{Distribution, Draw};

use crate::values::{Kind, Maker, mix};

/// What a column holds for which no maker is given: numbers up to this, or so many bytes (as cassandra-stress's columns have).
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
    kind: Kind,
    salt: u64,
    maker: Made,
}

enum Made {
    Row,
    Number(Draw),
    Bytes(Draw),
}

impl Column {
    /// The column `name` of type `kind`, made by `maker`; without one, a column of the partition key is the row's number, and
    /// any other what suits its type. `rows_max` is the highest row. An error in words where maker and type do not fit.
    pub(crate) fn new(name: &str, kind: Kind, maker: Option<Maker>, is_key: bool, rows_max: u64) -> Result<Self> {
        let maker = maker.unwrap_or(match kind {
            _ if is_key => Maker::Row,
            Kind::Text | Kind::Blob => Maker::Bytes(Distribution::Uniform { min: BYTES, max: BYTES }),
            _ => Maker::Number(Distribution::Uniform {
                min: 0,
                max: kind.number_max().min(NUMBER_MAX),
            }),
        });
        let draw = |distribution| Draw::new(distribution, 0, 0, 1).map_err(anyhow::Error::msg);
        let (largest, maker) = match maker {
            Maker::Row => (rows_max, Made::Row),
            Maker::Number(distribution) => (distribution.range().1, Made::Number(draw(distribution)?)),
            Maker::Bytes(distribution) => {
                ensure!(
                    kind.has_bytes(),
                    "a size does not fit column {name}, which is of type {kind:?}"
                );
                (0, Made::Bytes(draw(distribution)?))
            }
        };
        ensure!(
            largest <= kind.number_max(),
            "column {name} is of type {kind:?} and cannot hold {largest}"
        );
        Ok(Self {
            kind,
            salt: hash(name),
            maker,
        })
    }

    /// True if no two rows have the same value.
    pub(crate) fn is_unique(&self) -> bool {
        matches!(self.maker, Made::Row)
    }

    /// Appends the value for a row, without its length.
    fn put_body(&mut self, out: &mut BytesMut, row: u64) {
        let seed = mix(row ^ self.salt);
        match &mut self.maker {
            Made::Row => self.kind.put_number(out, row),
            Made::Number(draw) => {
                draw.reseed(seed);
                self.kind.put_number(out, draw.number());
            }
            Made::Bytes(draw) => {
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

    /// True if `cell` is what this column holds in a row; `scratch` is overwritten.
    pub(crate) fn is_of(&mut self, cell: Option<&[u8]>, row: u64, scratch: &mut BytesMut) -> bool {
        scratch.clear();
        self.put_body(scratch, row);
        cell == Some(&scratch[..])
    }
}

/// A column as a node describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) name: String,
    /// The protocol's number of its type.
    pub(crate) option: u16,
}

impl Described {
    /// Its type. An error in words if no values are made for it.
    pub(crate) fn kind(&self) -> Result<Kind> {
        let Some(kind) = Kind::of(self.option) else {
            bail!(
                "column {} has a type (number {:#06x} of the protocol) that no values are made for; write it as a literal",
                self.name,
                self.option
            );
        };
        Ok(kind)
    }
}

/// Values and checks of one prepared statement.
pub(crate) struct Shape {
    bound: Vec<Column>,
    /// Places among them of the partition key's columns, in its order; empty where not all are bound.
    key: Vec<usize>,
    /// Of what it returns: the columns whose values are known; None if its rows cannot be told from others.
    returned: Option<Vec<Option<Column>>>,
}

impl Shape {
    /// What a node said of a statement: the columns bound to its marks, which of them are the partition key, and those that
    /// it returns. `keys` are the columns of all statements' partition keys, `written` are those that any of them writes.
    pub(crate) fn new(
        bound: &[Described],
        key: &[u16],
        keys: &[String],
        returned: &[Described],
        maker: impl Fn(&str) -> Option<Maker>,
        written: &[String],
        rows_max: u64,
    ) -> Result<Self> {
        let column = |described: &Described| {
            let name = &described.name;
            Column::new(name, described.kind()?, maker(name), keys.contains(name), rows_max)
        };
        let bound = bound
            .iter()
            .map(column)
            .collect::<Result<Vec<Column>>>()
            .context("a statement cannot be bound")?;
        // Where no bound column is the row's own, other rows may have been written over what is read.
        let is_one_row = bound.iter().any(Column::is_unique);
        let known = |described: &Described| {
            let is_known = written.contains(&described.name);
            is_known.then(|| column(described)).transpose()
        };
        let returned = is_one_row
            .then(|| returned.iter().map(known).collect::<Result<Vec<_>>>())
            .transpose()?;
        let key = key.iter().map(|&at| usize::from(at)).collect();
        Ok(Self { bound, key, returned })
    }

    /// Appends the partition key of a row as nodes hash it; false where not all of it is bound. A key of several columns has
    /// each with its length before it and a zero byte behind it (Cassandra's CompositeType).
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

    /// True if rows of this statement are checked.
    pub(crate) fn is_checked(&self) -> bool {
        self.returned.is_some()
    }

    /// True if the cells of one returned row are what was written.
    pub(crate) fn is_intact<'a>(
        &mut self,
        cells: impl Iterator<Item = Option<&'a [u8]>>,
        row: u64,
        scratch: &mut BytesMut,
    ) -> bool {
        let columns = self.returned.iter_mut().flatten();
        columns
            .zip(cells)
            .all(|(column, cell)| column.as_mut().is_none_or(|column| column.is_of(cell, row, scratch)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(kind: Kind, maker: Option<Maker>) -> Column {
        Column::new("note", kind, maker, false, 1_000).unwrap()
    }

    const KINDS: [Kind; 17] = [
        Kind::Text,
        Kind::Blob,
        Kind::Boolean,
        Kind::TinyInt,
        Kind::SmallInt,
        Kind::Int,
        Kind::BigInt,
        Kind::Varint,
        Kind::Decimal,
        Kind::Float,
        Kind::Double,
        Kind::Timestamp,
        Kind::Date,
        Kind::Time,
        Kind::Uuid,
        Kind::TimeUuid,
        Kind::Inet,
    ];

    proptest! {
        /// What is written for a row is what is expected of it, and of hardly any other; its length stands before it.
        #[test]
        fn values_follow_from_their_row(row in 0u64..1_000, which in 0usize..17) {
            let mut made = column(KINDS[which], None);
            let (mut out, mut scratch) = (BytesMut::new(), BytesMut::new());
            made.put(&mut out, row);
            let length = i32::from_be_bytes(out[..4].try_into().unwrap()) as usize;
            prop_assert_eq!(length, out.len() - 4);
            prop_assert!(made.is_of(Some(&out[4..]), row, &mut scratch));
            prop_assert!(!made.is_of(None, row, &mut scratch));
        }
    }

    #[test]
    fn makers_that_do_not_fit_are_refused() {
        let numbers = Maker::Number(Distribution::Uniform { min: 0, max: 1 << 40 });
        let error = Column::new("id", Kind::Int, Some(numbers), false, 0)
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("column id is of type Int and cannot hold 1099511627776"),
            "{error}"
        );
        let size = Maker::Bytes(Distribution::Uniform { min: 5, max: 5 });
        assert!(
            Column::new("id", Kind::Int, Some(size), false, 0)
                .err()
                .unwrap()
                .to_string()
                .contains("a size does not fit")
        );
        assert!(Column::new("id", Kind::TinyInt, None, true, 1_000).is_err());
        let list = Described {
            name: "tags".into(),
            option: 0x20,
        };
        assert!(list.kind().unwrap_err().to_string().contains("column tags"));
    }

    #[test]
    fn text_is_text_and_as_long_as_drawn() {
        let mut out = BytesMut::new();
        column(
            Kind::Text,
            Some(Maker::Bytes(Distribution::Uniform { min: 13, max: 13 })),
        )
        .put(&mut out, 7);
        assert_eq!(out.len(), 4 + 13);
        assert!(
            std::str::from_utf8(&out[4..])
                .unwrap()
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
        );
    }

    fn described(names: &[(&str, u16)]) -> Vec<Described> {
        let of = |&(name, option): &(&str, u16)| Described {
            name: name.into(),
            option,
        };
        names.iter().map(of).collect()
    }

    #[test]
    fn rows_are_checked_where_they_are_the_row_s_own() {
        let bound = described(&[("customer", 0x02), ("id", 0x09)]);
        let returned = described(&[("note", 0x0D), ("count", 0x02)]);
        let written = ["customer", "id", "note"].map(String::from);
        let keys = ["customer".to_owned()];
        let mut own = Shape::new(&bound, &[0], &keys, &returned, |_| None, &written, 1_000).unwrap();
        assert!(own.is_checked());
        let (mut out, mut scratch) = (BytesMut::new(), BytesMut::new());
        Column::new("note", Kind::Text, None, false, 1_000)
            .unwrap()
            .put(&mut out, 5);
        // A column that nobody writes may hold anything.
        let cells = |note: &[u8]| [Some(note.to_vec()), Some(vec![1])];
        let intact = |own: &mut Shape, cells: &[Option<Vec<u8>>], scratch: &mut BytesMut| {
            own.is_intact(cells.iter().map(Option::as_deref), 5, scratch)
        };
        assert!(intact(&mut own, &cells(&out[4..]), &mut scratch));
        assert!(!intact(&mut own, &cells(b"other"), &mut scratch));
        let shared =
            |name: &str| (name == "customer").then_some(Maker::Number(Distribution::Uniform { min: 0, max: 9 }));
        assert!(
            !Shape::new(&bound, &[0], &keys, &returned, shared, &written, 1_000)
                .unwrap()
                .is_checked()
        );
    }

    #[test]
    fn a_key_that_is_returned_is_the_key_that_was_bound() {
        let bound = described(&[("customer", 0x02)]);
        let (keys, written) = (["customer".to_owned()], ["customer".to_owned()]);
        let mut own = Shape::new(&bound, &[0], &keys, &bound, |_| None, &written, 1_000).unwrap();
        let (mut out, mut scratch) = (BytesMut::new(), BytesMut::new());
        own.put(&mut out, 7);
        assert!(own.is_intact(std::iter::once(Some(&out[4..])), 7, &mut scratch));
    }

    #[test]
    fn partition_keys_are_laid_out_as_nodes_hash_them() {
        let bound = described(&[("day", 0x09), ("note", 0x0D), ("customer", 0x02)]);
        let keys = ["customer".to_owned(), "day".to_owned()];
        let laid_out = |key: &[u16]| {
            let mut own = Shape::new(&bound, key, &keys, &[], |_| None, &[], 1_000).unwrap();
            let mut out = BytesMut::new();
            own.put_partition_key(&mut out, 7).then(|| out.to_vec())
        };
        assert_eq!(laid_out(&[2]), Some(vec![0, 0, 0, 0, 0, 0, 0, 7]));
        assert_eq!(
            laid_out(&[2, 0]),
            Some(vec![0, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 4, 0, 0, 0, 7, 0])
        );
        assert_eq!(laid_out(&[]), None);
    }
}
