//! Record batches, format version 2, written directly.
//! Source: Kafka documentation, "Message Format"; `org.apache.kafka.common.record.DefaultRecordBatch`.

use anyhow::Result;
use hydrotest_core::checksum::crc32c;

use crate::compression::Codec;
use crate::payload::{LEVEL_BYTES, Level, STAMP_BYTES, Stamp, seal, seal_apart};

/// Bytes before the first record.
pub const BATCH_HEADER_BYTES: usize = 61;
/// Offset of the first byte that the batch checksum covers (attributes).
pub(crate) const CHECKED_FROM: usize = 21;
/// Set in the attributes of a batch that belongs to a transaction.
pub(crate) const TRANSACTIONAL_BIT: i16 = 0x10;
/// Maximum overhead of a record: five numbers of variable length and the attributes.
const RECORD_OVERHEAD_BYTES: usize = 16;

/// Offset deltas below each of these take one, two, three bytes.
const OFFSETS_UNTIL: [(u64, usize); 3] = [(1 << 6, 1), (1 << 13, 2), (u64::MAX, 3)];

/// Records of so many bytes (value, and headers with their number) with which a batch that has `count` and so much room is
/// full: a further one would not be sure to fit.
fn fit(room: usize, count: u64, record_bytes: usize) -> u64 {
    let mut left = room.saturating_sub(record_bytes + RECORD_OVERHEAD_BYTES) as u64;
    let mut records = 0;
    for (until, offset_bytes) in OFFSETS_UNTIL {
        let body = 3 + offset_bytes + varint_len(zigzag(record_bytes as i64)) + record_bytes;
        let each = (body + varint_len(zigzag(body as i64))) as u64;
        let (needed, alike) = (left / each + 1, until.saturating_sub(count + records));
        if needed <= alike {
            return records + needed;
        }
        (left, records) = (left - alike * each, records + alike);
    }
    records.max(1)
}

/// Records with which a new batch of at most `limit_bytes` is full.
pub(crate) fn fit_in(limit_bytes: usize, record_bytes: usize) -> u64 {
    fit(limit_bytes.saturating_sub(BATCH_HEADER_BYTES), 0, record_bytes)
}

/// One record to be written.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub key: Option<&'a [u8]>,
    /// The value: these bytes, then so many zeros.
    pub random: &'a [u8],
    pub zeros: usize,
    /// Encoded, with their number first.
    pub headers: &'a [u8],
    /// Where the stamp is in them; `None` if it overwrites the start of the value.
    pub stamp_at: Option<usize>,
    /// The level of a log record: it follows the stamp.
    pub level: Option<Level>,
}

impl Record<'_> {
    fn value_bytes(&self) -> usize {
        self.random.len() + self.zeros
    }
}

/// The identity of an idempotent producer: the broker stores each of its batches once, in the order of their
/// sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub producer_id: i64,
    pub epoch: i16,
    /// Its batches belong to transactions.
    pub is_transactional: bool,
}

/// Kafka's own `batch.size`.
const RESERVED_BYTES: usize = 16 << 10;

/// Writes records into a batch, in place: no copy between here and the socket buffer, unless they are compressed.
#[derive(Debug)]
pub struct BatchWriter {
    bytes: Vec<u8>,
    count: u32,
    limit_bytes: usize,
}

impl BatchWriter {
    /// A batch that holds at most `limit_bytes` before compression, and at least one record.
    pub fn new(limit_bytes: usize) -> Self {
        // Of a thousand partitions with keys each has an open batch: large ones grow as they fill.
        let mut bytes = Vec::with_capacity(limit_bytes.min(RESERVED_BYTES) + 64);
        bytes.resize(BATCH_HEADER_BYTES, 0);
        Self {
            bytes,
            count: 0,
            limit_bytes,
        }
    }

    /// True when a further record of `record_bytes` (key, value and headers) would pass the limit.
    pub fn is_full(&self, record_bytes: usize) -> bool {
        self.count > 0 && self.bytes.len() + record_bytes + RECORD_OVERHEAD_BYTES > self.limit_bytes
    }

    /// Records of so many bytes of key, value and headers with which it is full: at least one.
    pub fn left(&self, record_bytes: usize) -> u64 {
        let room = self.limit_bytes.saturating_sub(self.bytes.len());
        fit(room, self.count.into(), record_bytes)
    }

    /// Appends one record, with `stamp` sealed over the start of its value, or in a header.
    pub fn push(&mut self, record: Record<'_>, stamp: Stamp) {
        let offset_delta = zigzag(i64::from(self.count));
        let value_bytes = record.value_bytes();
        let key_length = zigzag(record.key.map_or(-1, |key| key.len() as i64));
        let value_length = zigzag(value_bytes as i64);
        // attributes, timestamp delta 0, offset delta, key, value, headers
        let body = 2
            + varint_len(offset_delta)
            + varint_len(key_length)
            + record.key.map_or(0, <[u8]>::len)
            + varint_len(value_length)
            + value_bytes
            + record.headers.len();
        put_varint(&mut self.bytes, zigzag(body as i64));
        self.bytes.extend_from_slice(&[0, 0]);
        put_varint(&mut self.bytes, offset_delta);
        put_varint(&mut self.bytes, key_length);
        self.bytes.extend_from_slice(record.key.unwrap_or_default());
        put_varint(&mut self.bytes, value_length);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record.random);
        self.bytes.resize(start + value_bytes, 0);
        if let Some(level) = record.level {
            self.bytes[start + STAMP_BYTES..][..LEVEL_BYTES].copy_from_slice(&level);
        }
        if record.stamp_at.is_none() {
            seal(&mut self.bytes[start..], stamp);
        }
        self.bytes.extend_from_slice(record.headers);
        if let Some(at) = record.stamp_at {
            let (value, headers) = self.bytes[start..].split_at_mut(value_bytes);
            seal_apart(&mut headers[at..at + STAMP_BYTES], value, stamp);
        }
        self.count += 1;
    }

    /// Completes the header and returns the batch for the wire. `as_whom`, for an idempotent producer, is its
    /// identity with the sequence of the first record.
    pub fn finish(self, timestamp_ms: i64, codec: Codec, as_whom: Option<(Identity, i32)>) -> Result<Vec<u8>> {
        let mut bytes = self.bytes;
        if codec != Codec::None {
            let plain = bytes;
            bytes = Vec::with_capacity(plain.len());
            bytes.resize(BATCH_HEADER_BYTES, 0);
            codec.compress(&plain[BATCH_HEADER_BYTES..], &mut bytes)?;
        }
        let length = (bytes.len() - 12) as i32;
        let header = &mut bytes[..BATCH_HEADER_BYTES];
        header[8..12].copy_from_slice(&length.to_be_bytes());
        header[12..16].copy_from_slice(&(-1i32).to_be_bytes()); // partition leader epoch: the broker's
        header[16] = 2; // magic
        let in_transaction = as_whom.is_some_and(|(identity, _)| identity.is_transactional);
        let attributes = codec.number() | if in_transaction { TRANSACTIONAL_BIT } else { 0 };
        header[21..23].copy_from_slice(&attributes.to_be_bytes());
        header[23..27].copy_from_slice(&(self.count as i32 - 1).to_be_bytes());
        header[27..35].copy_from_slice(&timestamp_ms.to_be_bytes());
        header[35..43].copy_from_slice(&timestamp_ms.to_be_bytes());
        let (producer_id, epoch, sequence) = as_whom.map_or((-1, -1, -1), |(identity, sequence)| {
            (identity.producer_id, identity.epoch, sequence)
        });
        header[43..51].copy_from_slice(&producer_id.to_be_bytes());
        header[51..53].copy_from_slice(&epoch.to_be_bytes());
        header[53..57].copy_from_slice(&sequence.to_be_bytes());
        header[57..61].copy_from_slice(&(self.count as i32).to_be_bytes());
        let checksum = crc32c(&bytes[CHECKED_FROM..]);
        bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
        if bytes.len() < bytes.capacity() / 2 {
            // Batches wait: thousands of them, where many partitions share few records.
            bytes.shrink_to_fit();
        }
        Ok(bytes)
    }
}

pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_full_with_as_many_records_as_it_says() {
        let stamp = Stamp {
            producer: 1,
            sequence: 0,
            intended_wall_ns: 0,
        };
        for (limit, value) in [
            (16 << 10, 100),
            (16 << 10, 60),
            (16 << 10, 1_000),
            (1 << 20, 100),
            (2_000, 5_000),
        ] {
            let bytes = vec![7u8; value];
            let record = Record {
                key: None,
                random: &bytes,
                zeros: 0,
                headers: &[0],
                stamp_at: None,
                level: None,
            };
            let mut writer = BatchWriter::new(limit);
            let said = fit_in(limit, value + 1);
            for number in 0..said {
                assert!(
                    !writer.is_full(value + 1),
                    "{limit} {value}: full with {number}, not {said}"
                );
                assert_eq!(writer.left(value + 1), said - number);
                writer.push(record, stamp);
            }
            assert!(writer.is_full(value + 1), "{limit} {value}: not full with {said}");
        }
    }
}
