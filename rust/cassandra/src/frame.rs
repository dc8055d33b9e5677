//! Frames of Cassandra's native protocol, version 4 (`doc/native_protocol_v4.spec` in Cassandra's source):
//! the few that a load generator uses on its hot path.

mod columns;

use anyhow::{Context, Result, bail, ensure};
use bytes::{BufMut, BytesMut};

pub use columns::Preparation;
use columns::described;
pub(crate) use columns::{ColumnSpec, DataType};

/// The header of every frame: version, flags, stream, opcode, length.
pub const HEADER_BYTES: usize = 9;
const REQUEST: u8 = 0x04;
const RESPONSE: u8 = 0x84;
/// A larger body is not a response: the stream is out of step.
const BODY_BYTES_MAX: usize = 256 << 20;

const FLAG_COMPRESSED: u8 = 0x01;
const FLAG_TRACED: u8 = 0x02;
const FLAG_PAYLOAD: u8 = 0x04;
const FLAG_WARNINGS: u8 = 0x08;
const TRACE_ID_BYTES: usize = 16;

const ERROR: u8 = 0x00;
const STARTUP: u8 = 0x01;
const READY: u8 = 0x02;
const AUTHENTICATE: u8 = 0x03;
const RESULT: u8 = 0x08;
const QUERY: u8 = 0x07;
const PREPARE: u8 = 0x09;
const EXECUTE: u8 = 0x0A;
const AUTH_RESPONSE: u8 = 0x0F;
const AUTH_SUCCESS: u8 = 0x10;

const RESULT_VOID: i32 = 1;
const RESULT_ROWS: i32 = 2;
const RESULT_KEYSPACE: i32 = 3;
const RESULT_PREPARED: i32 = 4;
const ONE_TABLE: i32 = 0x01;
const ROWS_MORE_PAGES: i32 = 0x02;
const ROWS_NO_METADATA: i32 = 0x04;

const QUERY_VALUES: u8 = 0x01;
const QUERY_SKIP_METADATA: u8 = 0x02;
const QUERY_PAGE_SIZE: u8 = 0x04;
const QUERY_PAGING_STATE: u8 = 0x08;
const QUERY_SERIAL: u8 = 0x10;

/// The error code for a statement that the node has forgotten.
pub const UNPREPARED: i32 = 0x2500;

/// Appends the frame that begins a connection.
pub fn put_startup(out: &mut BytesMut) {
    put(out, 0, STARTUP, |body| {
        body.put_u16(1);
        put_string(body, "CQL_VERSION");
        put_string(body, "3.0.0");
    });
}

/// Appends the answer to a node that requires a login: user and password, in the format of SASL's PLAIN (RFC
/// 4616).
pub fn put_login(out: &mut BytesMut, user: &str, password: &str) {
    put(out, 0, AUTH_RESPONSE, |body| {
        put_value(body, format!("\0{user}\0{password}").as_bytes())
    });
}

/// Appends a statement that is executed once, without values.
pub fn put_query(out: &mut BytesMut, query: &str, consistency: u16) {
    put(out, 0, QUERY, |body| {
        body.put_i32(query.len() as i32);
        body.put_slice(query.as_bytes());
        body.put_u16(consistency);
        body.put_u8(0);
    });
}

/// Appends a request to prepare a statement.
pub fn put_prepare(out: &mut BytesMut, stream: i16, query: &str) {
    put(out, stream, PREPARE, |body| {
        body.put_i32(query.len() as i32);
        body.put_slice(query.as_bytes());
    });
}

/// How statements are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Execution {
    pub(crate) consistency: u16,
    /// Of conditional writes; None: the node's own.
    pub(crate) serial: Option<u16>,
    /// Rows of a page; None: all rows at once.
    pub(crate) page_rows: Option<i32>,
}

/// Appends the execution of a prepared statement: its `head`, and the values that `values` writes by `put_value`. `page`:
/// where the page before has ended.
pub(crate) fn put_execute(
    out: &mut BytesMut,
    stream: i16,
    head: &[u8],
    execution: Execution,
    page: Option<&[u8]>,
    values: impl FnOnce(&mut BytesMut),
) {
    put(out, stream, EXECUTE, |body| {
        let start = body.len();
        body.put_slice(head);
        values(body);
        if let Some(rows) = execution.page_rows {
            body.put_i32(rows);
        }
        if let Some(state) = page {
            // The flags stand before the number of values.
            body[start + head.len() - 3] |= QUERY_PAGING_STATE;
            put_value(body, state);
        }
        if let Some(serial) = execution.serial {
            body.put_u16(serial);
        }
    });
}

/// The start of every execution of a statement, up to its values.
pub(crate) fn execute_head(id: &[u8], execution: Execution, values: u16) -> Vec<u8> {
    let mut head = Vec::with_capacity(id.len() + 8);
    head.put_u16(id.len() as u16);
    head.put_slice(id);
    head.put_u16(execution.consistency);
    let serial = execution.serial.map_or(0, |_| QUERY_SERIAL);
    let paged = execution.page_rows.map_or(0, |_| QUERY_PAGE_SIZE);
    head.put_u8(QUERY_VALUES | QUERY_SKIP_METADATA | serial | paged);
    head.put_u16(values);
    head
}

/// Appends one value.
pub fn put_value(out: &mut BytesMut, value: &[u8]) {
    out.put_i32(value.len() as i32);
    out.put_slice(value);
}

fn put(out: &mut BytesMut, stream: i16, opcode: u8, body: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_slice(&[REQUEST, 0]);
    out.put_i16(stream);
    out.put_u8(opcode);
    out.put_i32(0);
    body(out);
    let length = (out.len() - start - HEADER_BYTES) as i32;
    out[start + HEADER_BYTES - 4..start + HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
}

fn put_string(out: &mut BytesMut, text: &str) {
    out.put_u16(text.len() as u16);
    out.put_slice(text.as_bytes());
}

/// A node's answer.
#[derive(Debug)]
pub enum Response<'a> {
    Ready,
    /// The node requires a login, by this class.
    Authenticate(&'a str),
    /// It accepted the login.
    LoggedIn,
    Prepared(Preparation<'a>),
    /// The requested keyspace is set.
    KeyspaceSet,
    /// Done, without a result.
    Void,
    Rows(Rows<'a>),
    Refused(Refusal<'a>),
    /// Any answer that was not requested.
    Other,
}

/// An error reported by a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal<'a> {
    pub code: i32,
    pub message: &'a str,
}

impl Refusal<'_> {
    /// The protocol's own name for it.
    pub fn name(&self) -> &'static str {
        match self.code {
            0x0000 => "ServerError",
            0x000A => "ProtocolError",
            0x0100 => "BadCredentials",
            0x1000 => "Unavailable",
            0x1001 => "Overloaded",
            0x1002 => "IsBootstrapping",
            0x1003 => "TruncateError",
            0x1100 => "WriteTimeout",
            0x1200 => "ReadTimeout",
            0x1300 => "ReadFailure",
            0x1400 => "FunctionFailure",
            0x1500 => "WriteFailure",
            0x2000 => "SyntaxError",
            0x2100 => "Unauthorized",
            0x2200 => "Invalid",
            0x2300 => "ConfigError",
            0x2400 => "AlreadyExists",
            UNPREPARED => "Unprepared",
            _ => "DbError",
        }
    }
}

/// Rows of an answer without metadata, read cell by cell.
#[derive(Debug)]
pub struct Rows<'a> {
    pub columns: usize,
    pub count: usize,
    /// Where the next page begins; None if there is no other.
    pub(crate) next_page: Option<&'a [u8]>,
    cells: Reader<'a>,
}

impl<'a> Rows<'a> {
    /// Rows whose cells are these.
    #[cfg(test)]
    pub(crate) fn over(columns: usize, count: usize, cells: &'a [u8]) -> Self {
        Self {
            columns,
            count,
            next_page: None,
            cells: Reader(cells),
        }
    }

    /// The next cell; None for null. An error if the answer is truncated.
    pub fn cell(&mut self) -> Result<Option<&'a [u8]>> {
        self.cells.value()
    }
}

/// The stream and the answer of the complete frame at the start of `data`, and the frame's length; None while
/// it is incomplete.
pub fn take(data: &[u8]) -> Result<Option<(i16, Response<'_>, usize)>> {
    if data.len() < HEADER_BYTES {
        return Ok(None);
    }
    let mut header = Reader(data);
    let (version, flags, stream, opcode) = (header.u8()?, header.u8()?, header.i16()?, header.u8()?);
    let length = header.i32()? as u32 as usize;
    ensure!(
        version == RESPONSE,
        "the node speaks version {} of the protocol, not 4",
        version & 0x7f
    );
    ensure!(length <= BODY_BYTES_MAX, "the node sent a frame of {length} bytes");
    let whole = HEADER_BYTES + length;
    if data.len() < whole {
        return Ok(None);
    }
    let mut body = Reader(&data[HEADER_BYTES..whole]);
    ensure!(
        flags & FLAG_COMPRESSED == 0,
        "the node compressed what was not asked to be"
    );
    if flags & FLAG_TRACED != 0 {
        body.bytes(TRACE_ID_BYTES)?;
    }
    if flags & FLAG_WARNINGS != 0 {
        for _ in 0..body.u16()? {
            body.string()?;
        }
    }
    if flags & FLAG_PAYLOAD != 0 {
        for _ in 0..body.u16()? {
            body.string()?;
            body.value()?;
        }
    }
    Ok(Some((stream, response(opcode, body)?, whole)))
}

fn response(opcode: u8, mut body: Reader<'_>) -> Result<Response<'_>> {
    Ok(match opcode {
        READY => Response::Ready,
        AUTHENTICATE => Response::Authenticate(body.string()?),
        AUTH_SUCCESS => Response::LoggedIn,
        ERROR => Response::Refused(Refusal {
            code: body.i32()?,
            message: body.string()?,
        }),
        RESULT => match body.i32()? {
            RESULT_VOID => Response::Void,
            RESULT_PREPARED => {
                let length = body.u16()?;
                let id = body.bytes(usize::from(length))?;
                Response::Prepared(Preparation { id, rest: body })
            }
            RESULT_KEYSPACE => Response::KeyspaceSet,
            RESULT_ROWS => {
                let (flags, columns) = (body.i32()?, body.i32()?);
                let next_page = if flags & ROWS_MORE_PAGES != 0 {
                    body.value()?
                } else {
                    None
                };
                if flags & ROWS_NO_METADATA == 0 {
                    // Not requested, but a conditional write's answer has them: it depends on whether it was
                    // applied.
                    described(&mut body, flags, columns)?;
                }
                let count = body.i32()?;
                Response::Rows(Rows {
                    columns: usize::try_from(columns).context("a negative number of columns")?,
                    count: usize::try_from(count).context("a negative number of rows")?,
                    next_page,
                    cells: body,
                })
            }
            _ => Response::Other,
        },
        _ => Response::Other,
    })
}

/// Reads the protocol's primitive types from a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn over(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.0.split_at_checked(count) else {
            bail!("the node's frame is cut short");
        };
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.bytes(N)?;
        Ok(taken.try_into().expect("as many were taken"))
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn i16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    fn string(&mut self) -> Result<&'a str> {
        let length = self.u16()?;
        std::str::from_utf8(self.bytes(usize::from(length))?).context("the node sent a string that is not UTF-8")
    }

    /// `[bytes]`: a length and as many bytes; None where the length is negative.
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>> {
        match usize::try_from(self.i32()?) {
            Ok(length) => self.bytes(length).map(Some),
            Err(_) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
