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

/// A column as described by a node (`col_spec` in the protocol).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnSpec {
    pub(crate) name: String,
    /// The protocol's number of its type.
    pub(crate) option: u16,
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
            let option = body.u16()?;
            skip_parts(body, option)?;
            Ok(ColumnSpec { name, option })
        })
        .collect()
}

/// Skips the description of a type with parts, behind its number.
fn skip_parts(body: &mut Reader<'_>, option: u16) -> Result<()> {
    let one = |body: &mut Reader<'_>| {
        let option = body.u16()?;
        skip_parts(body, option)
    };
    match option {
        CUSTOM => body.string().map(drop),
        LIST | SET => one(body),
        MAP => one(body).and_then(|()| one(body)),
        UDT => {
            body.string()?;
            body.string()?;
            for _ in 0..body.u16()? {
                body.string()?;
                one(body)?;
            }
            Ok(())
        }
        TUPLE => {
            for _ in 0..body.u16()? {
                one(body)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
