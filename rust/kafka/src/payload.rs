//! The content of every hydrotest record, from which each one is accounted for, big-endian:
//! `crc32c (4) | producer (4) | sequence (8) | intended start, wall ns (8) | filler`, and in shorter values
//! `crc32c (4) | producer (2) | sequence, low half (4) | filler`.
//! The checksum covers everything after itself. Sequences count from 0 per producer and partition.
//!
//! A log record has its level behind the stamp, in capitals and padded with spaces:
//! `stamp (24) | level (8) | filler`.
//! A pipeline carries it on to other topics and stores. So its producer field holds its first partition:
//! `partition (2) | producer (2)`.
//!
//! Where the value belongs to others, a record has the whole stamp in its first header, `STAMP_HEADER`; its checksum covers
//! the rest of itself, and then the value.

use hydrotest_core::checksum::{crc32c, crc32c_of_parts};
use hydrotest_core::splitmix::SplitMix64;

/// Bytes taken by the whole stamp.
pub const STAMP_BYTES: usize = 24;
/// Bytes taken by the short one: no record can be smaller.
pub const SHORT_STAMP_BYTES: usize = 10;
/// The header that holds the stamp of a record whose value is not ours.
pub const STAMP_HEADER: &[u8] = b"hydrotest";

/// Producer ids are below this, so that both stamps hold the same one.
pub const PRODUCERS_MAX: u32 = 1 << 16;

/// Bytes of a log record's level.
pub const LEVEL_BYTES: usize = 8;
/// The end of the level: no log record can be smaller.
pub const LEVEL_END: usize = STAMP_BYTES + LEVEL_BYTES;
/// A log record's level in the record's format.
pub type Level = [u8; LEVEL_BYTES];

/// A level's name in the record's format; `None` if it is too long, or empty.
pub fn level(name: &str) -> Option<Level> {
    let mut level = [b' '; LEVEL_BYTES];
    let name = name.to_ascii_uppercase();
    level.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    (!name.is_empty()).then_some(level)
}

/// The producer of a log record that was first in `partition`.
pub fn tagged(producer: u32, partition: i32) -> u32 {
    producer | partition.cast_unsigned() << 16
}

/// The fields of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub producer: u32,
    pub sequence: u64,
    pub intended_wall_ns: u64,
}

/// The stamp of a record's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    Whole(Stamp),
    /// Of a short value: the lower half of the sequence, no time.
    Short {
        producer: u32,
        sequence_low: u32,
    },
}

/// Writes stamp and checksum over the start of `value`, whose rest is the filler.
/// Panics if `value` is shorter than the short stamp: sizes are checked with the settings.
pub fn seal(value: &mut [u8], stamp: Stamp) {
    if value.len() < STAMP_BYTES {
        value[4..6].copy_from_slice(&(stamp.producer as u16).to_be_bytes());
        value[6..10].copy_from_slice(&(stamp.sequence as u32).to_be_bytes());
    } else {
        put(value, stamp);
    }
    let checksum = crc32c(&value[4..]);
    value[..4].copy_from_slice(&checksum.to_be_bytes());
}

fn put(bytes: &mut [u8], stamp: Stamp) {
    bytes[4..8].copy_from_slice(&stamp.producer.to_be_bytes());
    bytes[8..16].copy_from_slice(&stamp.sequence.to_be_bytes());
    bytes[16..24].copy_from_slice(&stamp.intended_wall_ns.to_be_bytes());
}

fn whole(bytes: &[u8]) -> Stamp {
    Stamp {
        producer: read_u32(bytes, 4),
        sequence: read_u64(bytes, 8),
        intended_wall_ns: read_u64(bytes, 16),
    }
}

/// Writes the stamp of a record whose value is not ours. Panics if `stamp` has not `STAMP_BYTES`.
pub fn seal_apart(bytes: &mut [u8], value: &[u8], stamp: Stamp) {
    put(bytes, stamp);
    let checksum = crc32c_of_parts([&bytes[4..], value]);
    bytes[..4].copy_from_slice(&checksum.to_be_bytes());
}

/// Reads it back, by the record's encoded headers; `None` if it is not there, or its checksum does not fit.
pub fn open_apart(headers: &[u8], value: &[u8]) -> Option<Stamp> {
    let bytes = stamp_in(headers)?;
    (crc32c_of_parts([&bytes[4..], value]) == read_u32(bytes, 0)).then(|| whole(bytes))
}

/// The stamp in the first of the encoded headers.
pub fn stamp_in(headers: &[u8]) -> Option<&[u8]> {
    // Their number takes one byte, as does each length: zigzag, so twice as much.
    let behind = headers.get(1..)?.strip_prefix(&[2 * STAMP_HEADER.len() as u8])?;
    let behind = behind
        .strip_prefix(STAMP_HEADER)?
        .strip_prefix(&[2 * STAMP_BYTES as u8])?;
    behind.get(..STAMP_BYTES)
}

/// Reads the stamp back; `None` if the value is too short or its checksum does not fit.
pub fn open(value: &[u8]) -> Option<Opened> {
    if value.len() < SHORT_STAMP_BYTES || crc32c(&value[4..]) != read_u32(value, 0) {
        return None;
    }
    if value.len() < STAMP_BYTES {
        return Some(Opened::Short {
            producer: u32::from(u16::from_be_bytes([value[4], value[5]])),
            sequence_low: read_u32(value, 6),
        });
    }
    Some(Opened::Whole(whole(value)))
}

/// The sequence nearest to `expected` that has this lower half.
pub fn widen(sequence_low: u32, expected: u64) -> u64 {
    let ahead = sequence_low.wrapping_sub(expected as u32) as i32;
    // Sequences are not negative: then it is the one of the next round.
    expected
        .checked_add_signed(i64::from(ahead))
        .unwrap_or_else(|| u64::from(sequence_low))
}

/// Bytes that do not compress, the same for the same seed.
pub fn filler(length: usize, seed: u64) -> Vec<u8> {
    let mut stream = SplitMix64::new(seed);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&stream.number().to_be_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("the slice has four bytes"))
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("the slice has eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_sealed_opens(producer in 0..PRODUCERS_MAX, sequence: u64, intended_wall_ns: u64, length in 10usize..300) {
            let stamp = Stamp { producer, sequence, intended_wall_ns };
            let mut value = filler(length, 1);
            seal(&mut value, stamp);
            let short = Opened::Short { producer, sequence_low: sequence as u32 };
            prop_assert_eq!(open(&value), Some(if length < STAMP_BYTES { short } else { Opened::Whole(stamp) }));
        }

        /// Beside a value of others it opens with this value only, whatever its length.
        #[test]
        fn a_stamp_apart_is_of_its_value(producer: u32, sequence: u64, intended_wall_ns: u64, length in 0usize..100, at: usize) {
            let stamp = Stamp { producer, sequence, intended_wall_ns };
            let mut value = filler(length, 1);
            let mut headers = stamp_header();
            let start = headers.len() - STAMP_BYTES;
            seal_apart(&mut headers[start..], &value, stamp);
            prop_assert_eq!(open_apart(&headers, &value), Some(stamp));
            value.push(0);
            prop_assert_eq!(open_apart(&headers, &value), None);
            value.pop();
            let at = start + at % STAMP_BYTES;
            headers[at] ^= 1;
            prop_assert_eq!(open_apart(&headers, &value), None);
        }

        #[test]
        fn one_flipped_bit_is_found(length in 10usize..300, at: usize, bit in 0u8..8) {
            let mut value = filler(length, 1);
            seal(&mut value, Stamp { producer: 1, sequence: 2, intended_wall_ns: 3 });
            let at = at % length;
            value[at] ^= 1 << bit;
            prop_assert_eq!(open(&value), None);
        }

        /// The sequence is found again up to two thousand million records off.
        #[test]
        fn short_sequences_widen(expected in 0u64..1 << 40, off in -(1i64 << 31) + 1..1i64 << 31) {
            let sequence = expected.saturating_add_signed(off);
            prop_assert_eq!(widen(sequence as u32, expected), sequence);
        }
    }

    fn stamp_header() -> Vec<u8> {
        let mut headers = vec![2, 18];
        headers.extend_from_slice(STAMP_HEADER);
        headers.push(48);
        headers.extend_from_slice(&[0; STAMP_BYTES]);
        headers
    }

    #[test]
    fn other_headers_hold_no_stamp() {
        for headers in [&[0][..], &[], &[2, 4, b'h', b'0', 2, 7], &stamp_header()[..20]] {
            assert_eq!(stamp_in(headers), None);
        }
    }

    #[test]
    fn levels_are_filled_up_and_not_cut() {
        assert_eq!(level("info"), Some(*b"INFO    "));
        assert_eq!(level("critical"), Some(*b"CRITICAL"));
        assert_eq!(level("emergency"), None);
        assert_eq!(level(""), None);
    }

    #[test]
    fn shorter_values_do_not_open() {
        assert_eq!(open(&[0; 9]), None);
    }
}
