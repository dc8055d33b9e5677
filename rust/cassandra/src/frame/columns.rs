//! What a node says of the columns of a prepared statement and of its rows.

use anyhow::Result;

use super::{ONE_TABLE, ROWS_MORE_PAGES, ROWS_NO_METADATA, Reader};
use crate::shape::Described;

/// Types that have parts, by the protocol's numbers.
const CUSTOM: u16 = 0x00;
const LIST: u16 = 0x20;
const MAP: u16 = 0x21;
const SET: u16 = 0x22;
const UDT: u16 = 0x30;
const TUPLE: u16 = 0x31;

/// What a node says of a statement that it has prepared.
#[derive(Debug)]
pub struct Preparation<'a> {
    pub id: &'a [u8],
    pub(super) rest: Reader<'a>,
}

impl Preparation<'_> {
    /// The columns bound to its marks, the places among them that are the partition key, and the columns that it returns.
    pub fn columns(mut self) -> Result<(Vec<Described>, Vec<u16>, Vec<Described>)> {
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

pub(super) fn described(body: &mut Reader<'_>, flags: i32, count: i32) -> Result<Vec<Described>> {
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
            Ok(Described { name, option })
        })
        .collect()
}

/// Passes over what describes a type with parts, behind its number.
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
