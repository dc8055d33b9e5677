//! The metadata of a prepared statement and of its rows: the columns, as described by a node.

use anyhow::Result;

use super::{ONE_TABLE, ROWS_MORE_PAGES, ROWS_NO_METADATA, Reader};

/// Types that have parts, by the protocol's numbers.
const CUSTOM: u16 = 0x00;
const LIST: u16 = 0x20;
const MAP: u16 = 0x21;
const SET: u16 = 0x22;
const UDT: u16 = 0x30;
const TUPLE: u16 = 0x31;
/// Where Cassandra's classes of types are.
const MARSHAL: &str = "org.apache.cassandra.db.marshal.";

/// A column as described by a node (`col_spec` in the protocol).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnSpec {
    pub(crate) name: String,
    pub(crate) kind: DataType,
}

/// The type of a column, as described by a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DataType {
    /// Without parts, by the protocol's number.
    Plain(u16),
    List(Box<DataType>),
    Set(Box<DataType>),
    Map(Box<DataType>, Box<DataType>),
    /// Also a user-defined type.
    Tuple(Vec<DataType>),
    /// The type of its elements, and how many there are.
    Vector(Box<DataType>, u64),
    /// Any other, by the name of its class.
    Custom(String),
}

/// A node's answer to a request to prepare a statement.
#[derive(Debug)]
pub struct Preparation<'a> {
    pub id: &'a [u8],
    pub(super) rest: Reader<'a>,
}

impl Preparation<'_> {
    /// The columns bound to its marks, the indices of those in the partition key, and the returned columns.
    pub fn columns(mut self) -> Result<(Vec<ColumnSpec>, Vec<u16>, Vec<ColumnSpec>)> {
        let body = &mut self.rest;
        let (flags, count) = (body.i32()?, body.i32()?);
        let key = (0..body.i32()?).map(|_| body.u16()).collect::<Result<Vec<u16>>>()?;
        let bound = described(body, flags, count)?;
        let (flags, count) = (body.i32()?, body.i32()?);
        if flags & ROWS_MORE_PAGES != 0 {
            body.value()?;
        }
        let returned = if flags & ROWS_NO_METADATA != 0 {
            Vec::new()
        } else {
            described(body, flags, count)?
        };
        Ok((bound, key, returned))
    }
}

pub(super) fn described(body: &mut Reader<'_>, flags: i32, count: i32) -> Result<Vec<ColumnSpec>> {
    let table = |body: &mut Reader<'_>| body.string().and_then(|_| body.string().map(drop));
    if flags & ONE_TABLE != 0 {
        table(body)?;
    }
    (0..count)
        .map(|_| {
            if flags & ONE_TABLE == 0 {
                table(body)?;
            }
            let name = body.string()?.to_owned();
            let kind = data_type(body)?;
            Ok(ColumnSpec { name, kind })
        })
        .collect()
}

/// Reads the description of a type (`option` in the protocol).
fn data_type(body: &mut Reader<'_>) -> Result<DataType> {
    Ok(match body.u16()? {
        CUSTOM => DataType::of_class(body.string()?),
        LIST => DataType::List(Box::new(data_type(body)?)),
        SET => DataType::Set(Box::new(data_type(body)?)),
        MAP => DataType::Map(Box::new(data_type(body)?), Box::new(data_type(body)?)),
        UDT => {
            body.string()?;
            body.string()?;
            let field = |body: &mut Reader<'_>| body.string().and_then(|_| data_type(body));
            let count = body.u16()?;
            DataType::Tuple((0..count).map(|_| field(body)).collect::<Result<_>>()?)
        }
        TUPLE => {
            let count = body.u16()?;
            DataType::Tuple((0..count).map(|_| data_type(body)).collect::<Result<_>>()?)
        }
        plain => DataType::Plain(plain),
    })
}

impl DataType {
    /// Version 4 of the protocol has no number for vectors: they are told by their class, e.g.
    /// `….VectorType(….FloatType , 3)` (`VectorType.toString` in Cassandra's source).
    fn of_class(class: &str) -> Self {
        let vector = class
            .strip_prefix(MARSHAL)
            .and_then(|class| class.strip_prefix("VectorType("))
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|rest| rest.rsplit_once(','));
        let of = |(each, dimension): (&str, &str)| {
            // Only elements of these classes have a fixed size, and stand next to each other.
            let option = match each.trim().strip_prefix(MARSHAL)? {
                "LongType" => 0x02,
                "DoubleType" => 0x07,
                "FloatType" => 0x08,
                "Int32Type" => 0x09,
                _ => return None,
            };
            Some(Self::Vector(
                Box::new(Self::Plain(option)),
                dimension.trim().parse().ok()?,
            ))
        };
        vector.and_then(of).unwrap_or_else(|| Self::Custom(class.to_owned()))
    }
}
