//! Record batches, format version 2, read directly; `batch` writes them.
//! Sources: Kafka documentation, "Message Format"; `org.apache.kafka.common.record.DefaultRecordBatch`.

use std::collections::{BTreeSet, VecDeque};

use anyhow::{Result, bail, ensure};
use hydrotest_core::checksum::crc32c;

use crate::batch::{BATCH_HEADER_BYTES, CHECKED_FROM, TRANSACTIONAL_BIT};
use crate::compression::Codec;

const COMPRESSION_MASK: i16 = 0x07;
const CONTROL_BIT: i16 = 0x20;
/// Type of a control record, behind its version in the key.
const ABORT: i16 = 0;

/// The content of a run of batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchesRead {
    /// The offset to fetch next; unchanged without a complete batch.
    pub next_offset: i64,
    pub records: u64,
    pub bytes: u64,
    /// Batches whose checksum does not fit; their records are not passed on.
    pub corrupt_batches: u64,
    /// The number of records by those batches' headers.
    pub corrupt_records: u64,
    /// Records that were left out because their transaction was aborted.
    pub aborted_records: u64,
}

/// The aborted transactions of one answer to a fetch; a reader of committed records skips their records.
/// Source: `CompletedFetch.nextFetchedRecord` of Kafka's own consumer.
#[derive(Clone, Debug, Default)]
pub struct Aborted {
    /// (offset of the first record, producer), in order of the offsets, not reached yet.
    to_come: VecDeque<(i64, i64)>,
    /// Producers whose batches belong to an aborted transaction at this point.
    producers: BTreeSet<i64>,
}

impl Aborted {
    /// From (offset of the first record, producer) of each.
    pub fn new(transactions: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut to_come: Vec<(i64, i64)> = transactions.into_iter().collect();
        to_come.sort_unstable();
        Self {
            to_come: to_come.into(),
            producers: BTreeSet::new(),
        }
    }

    /// True if the batch that ends at `last_offset` belongs to an aborted transaction.
    fn holds(&mut self, batch: &[u8], last_offset: i64) -> bool {
        while let Some(&(_, producer)) = self.to_come.front().filter(|(first, _)| *first <= last_offset) {
            self.producers.insert(producer);
            self.to_come.pop_front();
        }
        let attributes = i16_at(batch, 21);
        let producer = i64_at(batch, 43);
        if attributes & CONTROL_BIT != 0 {
            if control_type(&batch[BATCH_HEADER_BYTES..]) == Some(ABORT) {
                self.producers.remove(&producer);
            }
            return false;
        }
        attributes & TRANSACTIONAL_BIT != 0 && self.producers.contains(&producer)
    }
}

/// Whether a control batch's record is a commit or an abort.
fn control_type(records: &[u8]) -> Option<i16> {
    let mut at = 0;
    take_length(records, &mut at).ok()?;
    at += 1; // attributes
    take_varint(records, &mut at).ok()?; // timestamp delta
    take_varint(records, &mut at).ok()?; // offset delta
    let key = take_length(records, &mut at).ok()?;
    (key >= 4 && at + 4 <= records.len()).then(|| i16_at(records, at + 2))
}

/// Reads every complete batch in `bytes` and passes each record's value, and its encoded headers, to `each`. Records before
/// `from_offset` (a fetch may begin inside a batch) and those of `aborted` transactions are skipped. A cut
/// batch at the end is normal.
pub fn read_batches(
    bytes: &[u8],
    from_offset: i64,
    aborted: &mut Aborted,
    mut each: impl FnMut(&[u8], &[u8]),
) -> Result<BatchesRead> {
    let mut read = BatchesRead {
        next_offset: from_offset,
        ..BatchesRead::default()
    };
    let mut rest = bytes;
    let mut plain = Vec::new();
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
        read.next_offset = base_offset + i64::from(i32_at(batch, 23)) + 1;
        if batch[16] != 2 || crc32c(&batch[CHECKED_FROM..]) != i32_at(batch, 17) as u32 {
            read.corrupt_batches += 1;
            read.corrupt_records += count;
            continue;
        }
        if aborted.holds(batch, read.next_offset - 1) {
            read.aborted_records += (read.next_offset - base_offset.max(from_offset)).max(0).cast_unsigned();
            continue;
        }
        if attributes & CONTROL_BIT != 0 {
            continue;
        }
        let codec = Codec::of(attributes & COMPRESSION_MASK)?;
        let mut records = &batch[BATCH_HEADER_BYTES..];
        if codec != Codec::None {
            plain.clear();
            codec.decompress(records, &mut plain)?;
            records = &plain;
        }
        read_records(records, base_offset, count, from_offset, &mut read, &mut each)?;
    }
    Ok(read)
}

fn read_records(
    records: &[u8],
    base_offset: i64,
    count: u64,
    from_offset: i64,
    read: &mut BatchesRead,
    each: &mut impl FnMut(&[u8], &[u8]),
) -> Result<()> {
    let mut at = 0;
    for _ in 0..count {
        let length = take_length(records, &mut at)?;
        let end = at + length;
        at += 1; // attributes
        take_varint(records, &mut at)?; // timestamp delta
        let offset = base_offset.wrapping_add(take_varint(records, &mut at)?);
        at += take_length(records, &mut at)?; // key
        let value = take_length(records, &mut at)?;
        ensure!(
            at + value <= end && end <= records.len(),
            "a record reaches beyond its batch"
        );
        if offset >= from_offset {
            read.records += 1;
            read.bytes += value as u64;
            each(&records[at..at + value], &records[at + value..end]);
        }
        at = end;
    }
    Ok(())
}

#[inline]
fn take_varint(bytes: &[u8], at: &mut usize) -> Result<i64> {
    // Nearly all have one byte or two.
    match bytes.get(*at..*at + 2) {
        Some(&[first, _]) if first < 0x80 => {
            *at += 1;
            Ok(unzigzag(u64::from(first)))
        }
        Some(&[first, second]) if second < 0x80 => {
            *at += 2;
            Ok(unzigzag(u64::from(first & 0x7f) | u64::from(second) << 7))
        }
        _ => take_long_varint(bytes, at),
    }
}

fn take_long_varint(bytes: &[u8], at: &mut usize) -> Result<i64> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let Some(&byte) = bytes.get(*at) else {
            bail!("a record is cut")
        };
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift.min(63);
        if byte & 0x80 == 0 {
            return Ok(unzigzag(value));
        }
    }
    bail!("a variable-length number does not end")
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// A length that must lie within the batch; −1 (null) counts as 0.
#[inline]
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
pub(crate) mod tests {
    use super::*;
    use crate::batch::{BatchWriter, Identity, Record};
    use crate::payload::{Opened, Stamp, filler, open};
    use proptest::prelude::*;

    fn batch_as(records: u32, size: usize, codec: Codec, key: Option<&[u8]>, headers: &[u8]) -> Vec<u8> {
        let mut writer = BatchWriter::new(1 << 20);
        let filler = filler(size, 7);
        for sequence in 0..records {
            let zeros = size / 3;
            let record = Record {
                key,
                random: &filler[zeros..],
                zeros,
                headers,
                stamp_at: None,
                level: None,
            };
            let stamp = Stamp {
                producer: 9,
                sequence: u64::from(sequence),
                intended_wall_ns: 5,
            };
            writer.push(record, stamp);
        }
        writer.finish(1_700_000_000_000, codec, None).unwrap()
    }

    fn batch_of(records: u32, size: usize) -> Vec<u8> {
        batch_as(records, size, Codec::None, None, &[0])
    }

    proptest! {
        /// Everything written is read back, in order, whatever the number and size of records, their keys, headers and
        /// codec.
        #[test]
        fn round_trip(records in 1u32..300, size in 24usize..400, codec in 0usize..4, keyed: bool) {
            let codec = [Codec::None, Codec::Gzip, Codec::Lz4, Codec::Zstd][codec];
            // One header, "h" with the value "x".
            let (key, headers): (Option<&[u8]>, &[u8]) = if keyed { (Some(b"key"), &[2, 2, b'h', 2, b'x']) } else { (None, &[0]) };
            let bytes = batch_as(records, size, codec, key, headers);
            let mut seen = Vec::new();
            let read = read_batches(&bytes, 0, &mut Aborted::default(), |value, _| {
                let Some(Opened::Whole(stamp)) = open(value) else { panic!("the stamp is whole") };
                seen.push(stamp.sequence);
            }).unwrap();
            prop_assert_eq!(seen, (0..u64::from(records)).collect::<Vec<_>>());
            prop_assert_eq!(read.next_offset, i64::from(records));
            prop_assert_eq!(read.bytes, u64::from(records) * size as u64);
        }

        /// No input makes the reader panic.
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read_batches(&bytes, 0, &mut Aborted::default(), |_, _| {});
        }

        /// Nor does a batch with a good checksum whose records are nonsense.
        #[test]
        fn nonsense_with_a_good_checksum_is_survived(noise in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut bytes = batch_of(3, 30);
            let end = bytes.len();
            let from = end - noise.len().min(end - BATCH_HEADER_BYTES);
            bytes[from..].copy_from_slice(&noise[..end - from]);
            let checksum = crc32c(&bytes[CHECKED_FROM..]);
            bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
            let _ = read_batches(&bytes, 0, &mut Aborted::default(), |_, _| {});
        }
    }

    /// Batches of one record each, in order: their producer, and their kind.
    #[derive(Clone, Copy)]
    pub(crate) enum Kind {
        Plain,
        InTransaction,
        Marker { commits: bool },
    }

    pub(crate) fn log_of(batches: &[(i64, Kind)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (offset, (producer_id, kind)) in batches.iter().enumerate() {
            let mut writer = BatchWriter::new(1 << 20);
            let is_transactional = !matches!(kind, Kind::Plain);
            let stamp = Stamp {
                producer: *producer_id as u32,
                sequence: offset as u64,
                intended_wall_ns: 5,
            };
            let key: Option<&[u8]> = match kind {
                Kind::Marker { commits: true } => Some(&[0, 0, 0, 1]),
                Kind::Marker { commits: false } => Some(&[0, 0, 0, 0]),
                _ => None,
            };
            let random = filler(30, 7);
            let record = Record {
                key,
                random: &random,
                zeros: 0,
                headers: &[0],
                stamp_at: None,
                level: None,
            };
            writer.push(record, stamp);
            let identity = Identity {
                producer_id: *producer_id,
                epoch: 0,
                is_transactional,
            };
            let mut batch = writer.finish(0, Codec::None, Some((identity, 0))).unwrap();
            batch[..8].copy_from_slice(&(offset as i64).to_be_bytes());
            if matches!(kind, Kind::Marker { .. }) {
                let attributes = i16_at(&batch, 21) | CONTROL_BIT;
                batch[21..23].copy_from_slice(&attributes.to_be_bytes());
                let checksum = crc32c(&batch[CHECKED_FROM..]);
                batch[17..21].copy_from_slice(&checksum.to_be_bytes());
            }
            bytes.extend(batch);
        }
        bytes
    }

    fn sequences_of(bytes: &[u8], aborted: &[(i64, i64)]) -> Vec<u64> {
        let mut seen = Vec::new();
        read_batches(bytes, 0, &mut Aborted::new(aborted.iter().copied()), |value, _| {
            let Some(Opened::Whole(stamp)) = open(value) else {
                panic!("the stamp is whole")
            };
            seen.push(stamp.sequence);
        })
        .unwrap();
        seen
    }

    #[test]
    fn what_was_aborted_is_left_out_and_nothing_else() {
        use Kind::{InTransaction, Marker, Plain};
        let log = log_of(&[
            (1, InTransaction),             // 0, aborted at 3
            (2, InTransaction),             // 1, committed at 5
            (1, InTransaction),             // 2
            (1, Marker { commits: false }), // 3
            (1, InTransaction),             // 4, committed at 6
            (2, Marker { commits: true }),  // 5
            (1, Marker { commits: true }),  // 6
            (1, Plain),                     // 7
        ]);
        assert_eq!(sequences_of(&log, &[(0, 1)]), [1, 4, 7]);
        let read = read_batches(&log, 0, &mut Aborted::new([(0, 1)]), |_, _| {}).unwrap();
        assert_eq!((read.records, read.aborted_records), (3, 2));
        // A reader without the list of aborted transactions receives all records.
        assert_eq!(sequences_of(&log, &[]), [0, 1, 2, 4, 7]);
    }

    #[test]
    fn a_corrupt_batch_is_counted_and_passed_over() {
        let mut bytes = batch_of(5, 50);
        let last = bytes.len() - 1;
        bytes[last - 10] ^= 1;
        bytes.extend(batch_of(2, 50));
        let read = read_batches(&bytes, 0, &mut Aborted::default(), |_, _| {}).unwrap();
        assert_eq!((read.corrupt_batches, read.corrupt_records, read.records), (1, 5, 2));
    }

    #[test]
    fn a_cut_batch_at_the_end_is_left_for_the_next_fetch() {
        let bytes = batch_of(5, 50);
        let read = read_batches(&bytes[..bytes.len() - 1], 3, &mut Aborted::default(), |_, _| {}).unwrap();
        assert_eq!((read.records, read.next_offset), (0, 3));
    }

    #[test]
    fn records_before_the_fetch_offset_are_left_out() {
        let read = read_batches(&batch_of(5, 50), 3, &mut Aborted::default(), |_, _| {}).unwrap();
        assert_eq!((read.records, read.next_offset), (2, 5));
    }
}
