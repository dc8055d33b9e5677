//! Values of one column of a statement: each follows from the number of its row, also those with parts (collections,
//! tuples, user-defined types, vectors), so that what is read can be compared with what must have been written.

use anyhow::{Result, bail, ensure};
use bytes::{BufMut, BytesMut};
use hydrotest_core::draw::{Distribution, Draw};
use hydrotest_core::splitmix::mix;

use crate::fnv::{EMPTY, fnv1a};
use crate::frame::{DataType, Reader};
use crate::shares::Shares;
use crate::value_generator::{ColumnType, ValueGenerator};

/// Bounds for a column without a generator: numbers up to this, or so many bytes (as in cassandra-stress's
/// columns), and so many elements of a collection.
const NUMBER_MAX: u64 = 1_000_000;
const BYTES: u64 = 34;
const ELEMENTS: Distribution = Distribution::Uniform { min: 1, max: 5 };

/// All that the values of a column follow from.
#[derive(Clone)]
pub(crate) struct Recipe {
    pub(crate) name: String,
    pub(crate) kind: DataType,
    pub(crate) generator: Option<ValueGenerator>,
    /// True if it is a part of a partition key.
    pub(crate) is_key: bool,
    /// The highest row.
    pub(crate) rows_max: u64,
}

impl Recipe {
    pub(crate) fn column(&self) -> Result<Column> {
        Column::new(
            &self.name,
            &self.kind,
            self.generator.clone(),
            self.is_key,
            self.rows_max,
        )
    }
}

/// Makes the values of one column.
pub(crate) struct Column {
    salt: u64,
    maker: Maker,
}

/// Makes values of one type.
enum Maker {
    Plain(ColumnType, Generator),
    List(Draw, Box<Maker>),
    /// Elements differ.
    Set(Draw, Box<Maker>),
    /// Keys differ.
    Map(Draw, Box<(Maker, Maker)>),
    /// Also a user-defined type.
    Tuple(Vec<Maker>),
    /// Elements of a fixed size, and how many.
    Vector(Box<Maker>, u64),
}

enum Generator {
    Row,
    Modulo(u64),
    Shared(Shares),
    Number(Draw),
    Bytes(Draw),
}

fn draw(distribution: Distribution) -> Result<Draw> {
    Draw::new(distribution, 0, 0, 1).map_err(anyhow::Error::msg)
}

impl Column {
    /// The column `name`, made by `generator`. Without one, a column of the partition key that has no parts is the row's
    /// number, and any other has a value that fits its type. `rows_max` is the highest row. Returns an error in words
    /// where generator and type do not fit.
    pub(crate) fn new(
        name: &str,
        kind: &DataType,
        generator: Option<ValueGenerator>,
        is_key: bool,
        rows_max: u64,
    ) -> Result<Self> {
        let generator = generator.or(match kind {
            DataType::Plain(_) if is_key => Some(ValueGenerator::Row),
            _ => None,
        });
        Ok(Self {
            salt: fnv1a(EMPTY, name.as_bytes()),
            maker: Maker::new(name, kind, generator, rows_max)?,
        })
    }

    /// Appends the value for a row, without its length.
    pub(crate) fn put_body(&mut self, out: &mut BytesMut, row: u64) {
        self.maker.put(out, row, mix(row ^ self.salt));
    }

    /// Appends the value for a row as the protocol's `[value]`.
    pub(crate) fn put(&mut self, out: &mut BytesMut, row: u64) {
        sized(out, |out| self.put_body(out, row));
    }

    /// True if `cell` is the value of this column in a row; `scratch` is overwritten.
    pub(crate) fn is_of(&mut self, cell: Option<&[u8]>, row: u64, scratch: &mut BytesMut) -> bool {
        scratch.clear();
        self.put_body(scratch, row);
        match cell {
            Some(cell) => self.maker.is_alike(cell, scratch),
            // An empty collection that is not frozen is null.
            None => self.maker.is_collection() && scratch[..] == [0; 4],
        }
    }
}

/// Appends what `put` appends, with its length before it.
fn sized(out: &mut BytesMut, put: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_i32(0);
    put(out);
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

impl Maker {
    fn new(name: &str, kind: &DataType, generator: Option<ValueGenerator>, rows_max: u64) -> Result<Self> {
        let many = |generator: Option<ValueGenerator>| match generator {
            None => Ok((draw(ELEMENTS)?, None)),
            Some(ValueGenerator::Many { count, each }) => Ok((draw(count)?, each.map(|each| *each))),
            Some(_) => bail!("column {name} is a collection; write e.g. {{count: 3}}"),
        };
        let of = |kind: &DataType, generator| Self::new(name, kind, generator, rows_max);
        Ok(match kind {
            DataType::Plain(option) => {
                let Some(kind) = ColumnType::of(*option) else {
                    bail!(
                        "column {name} has a type (number {option:#06x} of the protocol) that no values are made for; write it as a literal"
                    );
                };
                Self::plain(name, kind, generator, rows_max)?
            }
            DataType::List(each) => {
                let (count, generator) = many(generator)?;
                Self::List(count, Box::new(of(each, generator)?))
            }
            DataType::Set(each) => {
                let (count, generator) = many(generator)?;
                Self::Set(count, Box::new(of(each, generator)?))
            }
            DataType::Map(key, value) => {
                let (count, generator) = many(generator)?;
                Self::Map(count, Box::new((of(key, None)?, of(value, generator)?)))
            }
            DataType::Tuple(fields) => {
                ensure!(
                    generator.is_none(),
                    "column {name} is a tuple or of a user-defined type, whose fields suit their types; leave it out of the values"
                );
                Self::Tuple(fields.iter().map(|field| of(field, None)).collect::<Result<_>>()?)
            }
            DataType::Vector(each, dimension) => Self::Vector(Box::new(of(each, generator)?), *dimension),
            DataType::Custom(class) => {
                bail!("column {name} is of type {class}, which no values are made for; write it as a literal")
            }
        })
    }

    fn plain(name: &str, kind: ColumnType, generator: Option<ValueGenerator>, rows_max: u64) -> Result<Self> {
        // A LIMIT of 0 would be refused (nodes name it `[limit]`, and a TTL `[ttl]`).
        let min = u64::from(name.starts_with('['));
        let generator = generator.unwrap_or(match kind {
            ColumnType::Text | ColumnType::Blob => {
                ValueGenerator::Bytes(Distribution::Uniform { min: BYTES, max: BYTES })
            }
            _ => ValueGenerator::Number(Distribution::Uniform {
                min,
                max: kind.number_max().min(NUMBER_MAX),
            }),
        });
        let (largest, generator) = match generator {
            ValueGenerator::Row => (rows_max, Generator::Row),
            ValueGenerator::Modulo(divisor) => {
                ensure!(divisor > 0, "column {name}: a number cannot be divided by 0");
                (divisor - 1, Generator::Modulo(divisor))
            }
            ValueGenerator::Shared(rows) => {
                let shares = Shares::new(rows, rows_max)?;
                (shares.of(rows_max), Generator::Shared(shares))
            }
            ValueGenerator::Number(distribution) => (distribution.range().1, Generator::Number(draw(distribution)?)),
            ValueGenerator::Bytes(distribution) => {
                ensure!(
                    kind.has_bytes(),
                    "a size does not fit column {name}, which is of type {kind:?}"
                );
                (0, Generator::Bytes(draw(distribution)?))
            }
            ValueGenerator::Many { .. } => {
                bail!("column {name} is of type {kind:?} and holds one value, not a count of them")
            }
        };
        ensure!(
            largest <= kind.number_max(),
            "column {name} is of type {kind:?} and cannot hold {largest}"
        );
        Ok(Self::Plain(kind, generator))
    }

    fn is_collection(&self) -> bool {
        matches!(self, Self::List(..) | Self::Set(..) | Self::Map(..))
    }

    /// Appends a value, without its length. Parts have seeds of their own.
    fn put(&mut self, out: &mut BytesMut, row: u64, seed: u64) {
        let of = |part: u64| mix(seed.wrapping_add(part + 1));
        let counted = |draw: &mut Draw| {
            draw.reseed(seed);
            draw.number()
        };
        match self {
            Self::Plain(kind, Generator::Row) => kind.put_number(out, row),
            Self::Plain(kind, Generator::Modulo(divisor)) => kind.put_number(out, row % *divisor),
            Self::Plain(kind, Generator::Shared(shares)) => kind.put_number(out, shares.of(row)),
            Self::Plain(kind, Generator::Number(draw)) => kind.put_number(out, counted(draw)),
            Self::Plain(kind, Generator::Bytes(draw)) => kind.put_bytes(out, counted(draw), seed),
            Self::Vector(each, dimension) => (0..*dimension).for_each(|part| each.put(out, row, of(part))),
            Self::Tuple(fields) => {
                for (part, field) in fields.iter_mut().enumerate() {
                    sized(out, |out| field.put(out, row, of(part as u64)));
                }
            }
            Self::List(count, each) => {
                let count = counted(count);
                out.put_i32(count as i32);
                (0..count).for_each(|part| sized(out, |out| each.put(out, row, of(part))));
            }
            Self::Set(count, each) => {
                let count = counted(count);
                differing(out, count, |out, part| each.put(out, row, of(part)), |_, _| {});
            }
            Self::Map(count, pair) => {
                let (count, (key, value)) = (counted(count), &mut **pair);
                // Keys and values of a map have seeds of their own, too.
                let put_value = |out: &mut BytesMut, part| sized(out, |out| value.put(out, row, !of(part)));
                differing(out, count, |out, part| key.put(out, row, of(part)), put_value);
            }
        }
    }

    /// True if two values of this type are the same: the order of a set's or a map's parts is the node's.
    fn is_alike(&self, found: &[u8], written: &[u8]) -> bool {
        if found == written {
            return true;
        }
        let are_alike = |each: &Self, found: &[&[u8]], written: &[&[u8]]| {
            found.len() == written.len() && found.iter().zip(written).all(|(one, other)| each.is_alike(one, other))
        };
        match self {
            Self::Plain(..) | Self::Vector(..) => false,
            Self::Tuple(fields) => match (parts(found), parts(written)) {
                (Some(found), Some(written)) => {
                    found.len() == written.len()
                        && fields.len() == found.len()
                        && (0..fields.len()).all(|at| fields[at].is_alike(found[at], written[at]))
                }
                _ => false,
            },
            Self::List(_, each) => match (elements(found, 1), elements(written, 1)) {
                (Some(found), Some(written)) => {
                    // A write of a list that is not frozen adds elements under UUIDs of its own, and removes those
                    // that are older: of two in the same microsecond both stay.
                    let times = found.len() / written.len().max(1);
                    are_alike(each, &found, &written)
                        || times > 1
                            && is_same_bag(found, written.repeat(times), |one, other| each.is_alike(one, other))
                }
                _ => false,
            },
            Self::Set(_, each) => match (elements(found, 1), elements(written, 1)) {
                (Some(found), Some(written)) => is_same_bag(found, written, |one, other| each.is_alike(one, other)),
                _ => false,
            },
            Self::Map(_, pair) => match (elements(found, 2), elements(written, 2)) {
                (Some(found), Some(written)) => is_same_bag(paired(&found), paired(&written), |one, other| {
                    pair.0.is_alike(one.0, other.0) && pair.1.is_alike(one.1, other.1)
                }),
                _ => false,
            },
        }
    }
}

/// Appends up to `count` parts that differ, each with its length before it, and what `behind` appends behind each; their
/// number goes first.
fn differing(
    out: &mut BytesMut,
    count: u64,
    mut put: impl FnMut(&mut BytesMut, u64),
    mut behind: impl FnMut(&mut BytesMut, u64),
) {
    let start = out.len();
    out.put_i32(0);
    let mut there: Vec<std::ops::Range<usize>> = Vec::new();
    for part in 0..count {
        let from = out.len();
        sized(out, |out| put(out, part));
        if there.iter().any(|one| out[one.clone()] == out[from..]) {
            out.truncate(from);
            continue;
        }
        there.push(from..out.len());
        behind(out, part);
    }
    out[start..start + 4].copy_from_slice(&(there.len() as i32).to_be_bytes());
}

/// The parts of a value, each with its length before it; None where one is null, or cut short.
fn parts(value: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = Reader::over(value);
    let mut found = Vec::new();
    while !rest.is_empty() {
        found.push(rest.value().ok()??);
    }
    Some(found)
}

/// The parts of a collection, behind their number. `each`: parts of an element, two in a map.
fn elements(value: &[u8], each: usize) -> Option<Vec<&[u8]>> {
    let (number, rest) = value.split_first_chunk::<4>()?;
    let found = parts(rest)?;
    (found.len() == each * u32::from_be_bytes(*number) as usize).then_some(found)
}

fn paired<'a>(parts: &[&'a [u8]]) -> Vec<(&'a [u8], &'a [u8])> {
    parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// True if both hold the same, in whatever order.
fn is_same_bag<T: Ord>(mut found: Vec<T>, mut written: Vec<T>, is_alike: impl Fn(&T, &T) -> bool) -> bool {
    if found.len() != written.len() {
        return false;
    }
    found.sort_unstable();
    written.sort_unstable();
    if found == written {
        return true;
    }
    // Parts of parts may be in another order, too.
    found.iter().all(|one| {
        let at = written.iter().position(|other| is_alike(one, other));
        at.map(|at| written.swap_remove(at)).is_some()
    })
}

#[cfg(test)]
mod tests;
