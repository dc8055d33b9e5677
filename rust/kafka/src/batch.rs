//! Record batches, format version 2, written and read directly.
//! Source: Kafka documentation, "Message Format"; `org.apache.kafka.common.record.DefaultRecordBatch`.

use anyhow::{Result, bail, ensure};

use crate::payload::{Stamp, seal};

/// Bytes before the first record.
pub const BATCH_HEADER_BYTES: usize = 61;
/// Offset of the first byte that the batch checksum covers (attributes).
const CHECKED_FROM: usize = 21;
const COMPRESSION_MASK: i16 = 0x07;
const CONTROL_BIT: i16 = 0x20;

/// Writes records of one size into a batch, in place: no copy between here and the socket buffer.
#[derive(Debug)]
pub struct BatchWriter {
    bytes: Vec<u8>,
    count: u32,
    limit_bytes: usize,
}

impl BatchWriter {
    /// A batch that holds at most `limit_bytes`, and at least one record.
    pub fn new(limit_bytes: usize) -> Self {
        let mut bytes = Vec::with_capacity(limit_bytes + 64);
        bytes.resize(BATCH_HEADER_BYTES, 0);
        Self {
            bytes,
            count: 0,
            limit_bytes,
        }
    }

    /// True when a further record of `value_bytes` would pass the limit.
    pub fn is_full(&self, value_bytes: usize) -> bool {
        self.count > 0 && self.bytes.len() + value_bytes + 16 > self.limit_bytes
    }

    /// Appends one record: `filler` with `stamp` sealed over its start.
    pub fn push(&mut self, filler: &[u8], stamp: Stamp) {
        let offset_delta = zigzag(i64::from(self.count));
        // attributes, timestamp delta 0, offset delta, no key, value length, value, no headers
        let body = 1 + 1 + varint_len(offset_delta) + 1 + varint_len(zigzag(filler.len() as i64)) + filler.len() + 1;
        put_varint(&mut self.bytes, zigzag(body as i64));
        self.bytes.extend_from_slice(&[0, 0]);
        put_varint(&mut self.bytes, offset_delta);
        self.bytes.push(1); // key length −1, zigzag
        put_varint(&mut self.bytes, zigzag(filler.len() as i64));
        let start = self.bytes.len();
        self.bytes.extend_from_slice(filler);
        seal(&mut self.bytes[start..], stamp);
        self.bytes.push(0);
        self.count += 1;
    }

    /// Records in the batch.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Completes the header and returns the batch as it goes on the wire.
    pub fn finish(mut self, timestamp_ms: i64) -> Vec<u8> {
        let length = (self.bytes.len() - 12) as i32;
        let header = &mut self.bytes[..BATCH_HEADER_BYTES];
        header[8..12].copy_from_slice(&length.to_be_bytes());
        header[12..16].copy_from_slice(&(-1i32).to_be_bytes()); // partition leader epoch: the broker's
        header[16] = 2; // magic
        header[23..27].copy_from_slice(&(self.count as i32 - 1).to_be_bytes());
        header[27..35].copy_from_slice(&timestamp_ms.to_be_bytes());
        header[35..43].copy_from_slice(&timestamp_ms.to_be_bytes());
        header[43..51].copy_from_slice(&(-1i64).to_be_bytes()); // no producer id: not idempotent
        header[51..53].copy_from_slice(&(-1i16).to_be_bytes());
        header[53..57].copy_from_slice(&(-1i32).to_be_bytes());
        header[57..61].copy_from_slice(&(self.count as i32).to_be_bytes());
        let checksum = crc32c::crc32c(&self.bytes[CHECKED_FROM..]);
        self.bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
        self.bytes
    }
}

/// What a run of batches held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// The offset to fetch next; unchanged where no whole batch was there.
    pub next_offset: i64,
    pub records: u64,
    pub bytes: u64,
    /// Batches whose checksum does not fit; their records are not handed on.
    pub corrupt_batches: u64,
    /// What the header of those batches claims to hold.
    pub corrupt_records: u64,
}

/// Walks every whole batch in `bytes` and hands each record's value to `each`. Records before
/// `from_offset` (a fetch may begin inside a batch) are left out. A cut batch at the end is normal.
pub fn walk(bytes: &[u8], from_offset: i64, mut each: impl FnMut(&[u8])) -> Result<Walked> {
    let mut walked = Walked {
        next_offset: from_offset,
        ..Walked::default()
    };
    let mut rest = bytes;
    while rest.len() >= BATCH_HEADER_BYTES {
        let base_offset = i64_at(rest, 0);
        let length = i32_at(rest, 8);
        ensure!(
            length >= (BATCH_HEADER_BYTES - 12) as i32,
            "a record batch claims {length} bytes"
        );
        let end = 12 + length as usize;
        if rest.len() < end {
            break;
        }
        let batch = &rest[..end];
        rest = &rest[end..];
        let attributes = i16_at(batch, 21);
        let count = i32_at(batch, 57).max(0) as u64;
        walked.next_offset = base_offset + i64::from(i32_at(batch, 23)) + 1;
        if batch[16] != 2 || crc32c::crc32c(&batch[CHECKED_FROM..]) != i32_at(batch, 17) as u32 {
            walked.corrupt_batches += 1;
            walked.corrupt_records += count;
            continue;
        }
        if attributes & COMPRESSION_MASK != 0 {
            bail!(
                "compressed batches (codec {}) are not read",
                attributes & COMPRESSION_MASK
            );
        }
        if attributes & CONTROL_BIT != 0 {
            continue;
        }
        walk_records(batch, base_offset, count, from_offset, &mut walked, &mut each)?;
    }
    Ok(walked)
}

fn walk_records(
    batch: &[u8],
    base_offset: i64,
    count: u64,
    from_offset: i64,
    walked: &mut Walked,
    each: &mut impl FnMut(&[u8]),
) -> Result<()> {
    let mut at = BATCH_HEADER_BYTES;
    for _ in 0..count {
        let length = take_length(batch, &mut at)?;
        let end = at + length;
        at += 1; // attributes
        take_varint(batch, &mut at)?; // timestamp delta
        let offset = base_offset.wrapping_add(take_varint(batch, &mut at)?);
        at += take_length(batch, &mut at)?; // key
        let value = take_length(batch, &mut at)?;
        ensure!(
            at + value <= end && end <= batch.len(),
            "a record reaches beyond its batch"
        );
        if offset >= from_offset {
            walked.records += 1;
            walked.bytes += value as u64;
            each(&batch[at..at + value]);
        }
        at = end;
    }
    Ok(())
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &[u8], at: &mut usize) -> Result<i64> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let Some(&byte) = bytes.get(*at) else {
            bail!("a record is cut")
        };
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift.min(63);
        if byte & 0x80 == 0 {
            return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    bail!("a variable-length number does not end")
}

/// A length that must lie within the batch; −1 (null) counts as 0.
fn take_length(bytes: &[u8], at: &mut usize) -> Result<usize> {
    let length = take_varint(bytes, at)?.max(0);
    ensure!(length <= bytes.len() as i64, "a length reaches beyond its batch");
    Ok(length as usize)
}

fn i16_at(bytes: &[u8], at: usize) -> i16 {
    i16::from_be_bytes(bytes[at..at + 2].try_into().expect("the slice has two bytes"))
}

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_be_bytes(bytes[at..at + 4].try_into().expect("the slice has four bytes"))
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    i64::from_be_bytes(bytes[at..at + 8].try_into().expect("the slice has eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{filler, open};
    use proptest::prelude::*;

    fn batch_of(records: u32, size: usize) -> Vec<u8> {
        let mut writer = BatchWriter::new(1 << 20);
        let filler = filler(size, 7);
        for sequence in 0..records {
            writer.push(
                &filler,
                Stamp {
                    producer: 9,
                    sequence: u64::from(sequence),
                    intended_wall_ns: 5,
                },
            );
        }
        writer.finish(1_700_000_000_000)
    }

    proptest! {
        /// Everything written is read back, in order, whatever the number and size of records.
        #[test]
        fn round_trip(records in 1u32..300, size in 24usize..400) {
            let bytes = batch_of(records, size);
            let mut seen = Vec::new();
            let walked = walk(&bytes, 0, |value| seen.push(open(value).unwrap().sequence)).unwrap();
            prop_assert_eq!(seen, (0..u64::from(records)).collect::<Vec<_>>());
            prop_assert_eq!(walked.next_offset, i64::from(records));
            prop_assert_eq!(walked.bytes, u64::from(records) * size as u64);
        }

        /// No input makes the reader panic.
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = walk(&bytes, 0, |_| {});
        }

        /// Nor does a batch with a good checksum whose records are nonsense.
        #[test]
        fn nonsense_with_a_good_checksum_is_survived(noise in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut bytes = batch_of(3, 30);
            let end = bytes.len();
            let from = end - noise.len().min(end - BATCH_HEADER_BYTES);
            bytes[from..].copy_from_slice(&noise[..end - from]);
            let checksum = crc32c::crc32c(&bytes[CHECKED_FROM..]);
            bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
            let _ = walk(&bytes, 0, |_| {});
        }
    }

    #[test]
    fn a_corrupt_batch_is_counted_and_passed_over() {
        let mut bytes = batch_of(5, 50);
        let last = bytes.len() - 1;
        bytes[last - 10] ^= 1;
        bytes.extend(batch_of(2, 50));
        let walked = walk(&bytes, 0, |_| {}).unwrap();
        assert_eq!(
            (walked.corrupt_batches, walked.corrupt_records, walked.records),
            (1, 5, 2)
        );
    }

    #[test]
    fn a_cut_batch_at_the_end_is_left_for_the_next_fetch() {
        let bytes = batch_of(5, 50);
        let walked = walk(&bytes[..bytes.len() - 1], 3, |_| {}).unwrap();
        assert_eq!((walked.records, walked.next_offset), (0, 3));
    }

    #[test]
    fn records_before_the_fetch_offset_are_left_out() {
        let walked = walk(&batch_of(5, 50), 3, |_| {}).unwrap();
        assert_eq!((walked.records, walked.next_offset), (2, 5));
    }
}
