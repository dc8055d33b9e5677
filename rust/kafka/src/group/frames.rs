//! What a member of a group reports, big-endian (python/hydrotest/jobs/group/Member.java):
//! `length (4) | kind (1) | monotonic ns (8) | content`. Partitions are numbered through (`topics`).

use std::io::{self, Read};

use anyhow::{Context, Result, bail};

/// More than a poll can give: `fetch.max.bytes` is 50 MiB, and a record takes 20 bytes of a frame.
const FRAME_BYTES_MAX: usize = 256 << 20;

/// One report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub at_ns: u64,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Partitions that the member reads from now on.
    Assigned(Vec<i32>),
    /// Partitions that it gives back.
    Revoked(Vec<i32>),
    /// Partitions that were taken from it: it was too late.
    Lost(Vec<i32>),
    /// What a poll gave.
    Polled(Vec<Polled>),
    /// Commits so far.
    Committed(u64),
}

/// What a poll gave of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polled {
    pub partition: i32,
    /// The offsets that it passed, `[from, to)`.
    pub from: u64,
    pub to: u64,
    pub bytes: u64,
    /// Records whose checksum is wrong.
    pub corrupted: u64,
    /// The offsets of the records: `(first, number)`.
    pub runs: Vec<(u64, u32)>,
    /// When each record was meant to be sent, wall ns; 0 where it does not say so.
    pub intended_wall_ns: Vec<u64>,
}

/// The next report. `None` at the end, also at one inside a report: its member was ended before it had processed the
/// records.
pub fn next(from: &mut impl Read) -> Result<Option<Frame>> {
    let Some(length) = filled(from, 4)? else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(length.try_into().expect("as many as asked for")) as usize;
    if length > FRAME_BYTES_MAX {
        bail!("a member reports {length} bytes at once");
    }
    let Some(bytes) = filled(from, length)? else {
        return Ok(None);
    };
    parse(&mut Cursor(&bytes))
        .context("a member's report does not fit its form")
        .map(Some)
}

fn filled(from: &mut impl Read, length: usize) -> Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; length];
    match from.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error).context("a member's reports cannot be read"),
    }
}

fn parse(cursor: &mut Cursor) -> Result<Frame> {
    let kind = cursor.take(1)?[0];
    let at_ns = cursor.long()?;
    let content = match kind {
        b'A' => Content::Assigned(cursor.list(Cursor::partition)?),
        b'R' => Content::Revoked(cursor.list(Cursor::partition)?),
        b'L' => Content::Lost(cursor.list(Cursor::partition)?),
        b'P' => Content::Polled(cursor.list(polled)?),
        b'C' => Content::Committed(cursor.long()?),
        other => bail!("{other} is no kind of report"),
    };
    Ok(Frame { at_ns, content })
}

fn polled(cursor: &mut Cursor) -> Result<Polled> {
    let (partition, from, to) = (cursor.partition()?, cursor.long()?, cursor.long()?);
    let (bytes, corrupted) = (u64::from(cursor.int()?), u64::from(cursor.int()?));
    let runs = cursor.list(|cursor| Ok((cursor.long()?, cursor.int()?)))?;
    let records = runs.iter().map(|(_, number)| *number as usize).sum();
    let intended_wall_ns = (0..records).map(|_| cursor.long()).collect::<Result<_>>()?;
    Ok(Polled {
        partition,
        from,
        to,
        bytes,
        corrupted,
        runs,
        intended_wall_ns,
    })
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length).context("it ends early")?;
        self.0 = rest;
        Ok(head)
    }

    fn int(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.take(4)?.try_into()?))
    }

    fn long(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.take(8)?.try_into()?))
    }

    fn partition(&mut self) -> Result<i32> {
        Ok(self.int()?.cast_signed())
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        (0..self.int()?).map(|_| item(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(kind: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = (9 + content.len() as u32).to_be_bytes().to_vec();
        bytes.push(kind);
        bytes.extend(7u64.to_be_bytes());
        bytes.extend(content);
        bytes
    }

    fn of_poll() -> Vec<u8> {
        let mut content = Vec::new();
        content.extend(1u32.to_be_bytes());
        content.extend(3u32.to_be_bytes());
        content.extend([10u64, 14].iter().flat_map(|offset| offset.to_be_bytes()));
        content.extend([500u32, 1, 2].iter().flat_map(|number| number.to_be_bytes()));
        for (first, number) in [(10u64, 2u32), (13, 1)] {
            content.extend(first.to_be_bytes());
            content.extend(number.to_be_bytes());
        }
        content.extend([100u64, 101, 0].iter().flat_map(|ns| ns.to_be_bytes()));
        content
    }

    #[test]
    fn a_poll_is_read() {
        let bytes = framed(b'P', &of_poll());
        let polled = Polled {
            partition: 3,
            from: 10,
            to: 14,
            bytes: 500,
            corrupted: 1,
            runs: vec![(10, 2), (13, 1)],
            intended_wall_ns: vec![100, 101, 0],
        };
        let content = Content::Polled(vec![polled]);
        assert_eq!(next(&mut bytes.as_slice()).unwrap(), Some(Frame { at_ns: 7, content }));
    }

    #[test]
    fn what_a_killed_member_did_not_complete_is_not_processed() {
        let bytes = framed(b'P', &of_poll());
        for cut in 0..bytes.len() {
            assert_eq!(next(&mut &bytes[..cut]).unwrap(), None, "{cut}");
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(next(&mut framed(b'X', &[]).as_slice()).is_err());
        assert!(next(&mut framed(b'R', &[0, 0, 0, 2, 0, 0, 0, 1]).as_slice()).is_err());
        assert!(next(&mut u32::MAX.to_be_bytes().as_slice()).is_err());
    }
}
