//! Values of the columns of user-defined tables. Each follows only from the number of its row and the name of
//! its column, so that values read can be checked against those that must have been written.

use std::fmt::Write;

use bytes::{BufMut, BytesMut};
use hydrotest_core::draw::Distribution;
use hydrotest_core::splitmix::{SplitMix64, mix};
use serde::{Deserialize, Serialize};

/// Times and dates are counted from 2020-01-01.
const EPOCH_MS: i64 = 1_577_836_800_000;
const EPOCH_DAYS: u32 = (1 << 31) + 18_262;
/// 100-nanosecond intervals between 1582-10-15, where time UUIDs begin, and 1970-01-01 (RFC 9562).
const UUID_EPOCH: u64 = 0x01B2_1DD2_1381_4000;
const DAY_NS: u64 = 86_400_000_000_000;
/// How a column's value follows from the number of its row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ValueGenerator {
    /// The row's number itself.
    Row,
    /// What is left of the row's number, divided by this one: neighbouring rows have different values.
    Modulo(u64),
    /// A number that so many neighbouring rows share, counted from 0.
    Shared(Distribution),
    /// A random number.
    Number(Distribution),
    /// A random number of bytes or characters.
    Bytes(Distribution),
    /// So many elements of a collection; of a map, `each` makes the values.
    Many {
        count: Distribution,
        each: Option<Box<ValueGenerator>>,
    },
}

/// A column's type, as far as values can be made for it. Source: `doc/native_protocol_v4.spec`, section 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Text,
    Blob,
    Boolean,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Varint,
    Decimal,
    Float,
    Double,
    Timestamp,
    Date,
    Time,
    Uuid,
    TimeUuid,
    Inet,
}

impl ColumnType {
    /// The type with this number in the protocol; None for types with parts.
    pub(crate) fn of(option: u16) -> Option<Self> {
        Some(match option {
            0x01 | 0x0D => Self::Text,
            0x02 | 0x05 => Self::BigInt,
            0x03 => Self::Blob,
            0x04 => Self::Boolean,
            0x06 => Self::Decimal,
            0x07 => Self::Double,
            0x08 => Self::Float,
            0x09 => Self::Int,
            0x0B => Self::Timestamp,
            0x0C => Self::Uuid,
            0x0E => Self::Varint,
            0x0F => Self::TimeUuid,
            0x10 => Self::Inet,
            0x11 => Self::Date,
            0x12 => Self::Time,
            0x13 => Self::SmallInt,
            0x14 => Self::TinyInt,
            _ => return None,
        })
    }

    /// The largest number that it represents exactly.
    pub(crate) fn number_max(self) -> u64 {
        match self {
            Self::Boolean => 1,
            Self::TinyInt => i8::MAX as u64,
            Self::SmallInt => i16::MAX as u64,
            Self::Int | Self::Date => i32::MAX as u64,
            Self::Inet | Self::Float => (1 << 24) - 1,
            Self::Double => 1 << 53,
            Self::Time => DAY_NS - 1,
            // A thousand years of milliseconds.
            Self::Timestamp | Self::TimeUuid => 1000 * 365 * 86_400_000,
            _ => i64::MAX as u64,
        }
    }

    pub(crate) fn has_bytes(self) -> bool {
        matches!(self, Self::Text | Self::Blob)
    }

    pub(crate) fn put_number(self, out: &mut BytesMut, number: u64) {
        match self {
            Self::Text => write!(out, "{number}").expect("a buffer takes what is written"),
            Self::Blob | Self::BigInt => out.put_u64(number),
            Self::Boolean => out.put_u8(u8::from(number & 1 == 1)),
            Self::TinyInt => out.put_i8(number as i8),
            Self::SmallInt => out.put_i16(number as i16),
            Self::Int => out.put_i32(number as i32),
            Self::Varint => put_varint(out, number),
            Self::Decimal => {
                out.put_i32(2); // digits behind the point
                put_varint(out, number);
            }
            Self::Float => out.put_f32(number as f32),
            Self::Double => out.put_f64(number as f64),
            Self::Timestamp => out.put_i64(EPOCH_MS + number as i64),
            Self::Date => out.put_u32(EPOCH_DAYS.saturating_add(number as u32)),
            Self::Time => out.put_u64(number % DAY_NS),
            Self::Uuid => {
                // Version 4, and the variant of RFC 9562.
                out.put_u64(mix(number) & !0xF000 | 0x4000);
                out.put_u64(mix(!number) >> 2 | 1 << 63);
            }
            Self::TimeUuid => {
                let time = UUID_EPOCH + (EPOCH_MS as u64 + number) * 10_000;
                out.put_u32(time as u32);
                out.put_u16((time >> 32) as u16);
                out.put_u16((time >> 48) as u16 & 0x0FFF | 0x1000);
                out.put_u64(mix(number) >> 2 | 1 << 63);
            }
            Self::Inet => out.put_u32(10 << 24 | number as u32 & 0x00FF_FFFF),
        }
    }

    pub(crate) fn put_bytes(self, out: &mut BytesMut, count: u64, seed: u64) {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut left = count as usize;
        // The stream's first number is the seed of the value's length (`bound_statement`); these follow it.
        let mut stream = SplitMix64::new(seed);
        stream.number();
        while left > 0 {
            let mut bytes = stream.number().to_be_bytes();
            if self == Self::Text {
                bytes = bytes.map(|byte| LETTERS[usize::from(byte & 63)]);
            }
            let taken = left.min(8);
            out.put_slice(&bytes[..taken]);
            left -= taken;
        }
    }
}

/// The fewest bytes that hold the number and a sign.
fn put_varint(out: &mut BytesMut, number: u64) {
    let bytes = number.to_be_bytes();
    let zeros = (number.leading_zeros() / 8).min(7) as usize;
    if bytes[zeros] & 0x80 != 0 {
        out.put_u8(0);
    }
    out.put_slice(&bytes[zeros..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As Cassandra reads them: the fewest bytes of two's complement.
        #[test]
        fn varints_come_back(number: u64) {
            let mut out = BytesMut::new();
            put_varint(&mut out, number);
            let value = out.iter().fold(if out[0] & 0x80 != 0 { -1i128 } else { 0 }, |value, byte| value << 8 | i128::from(*byte));
            prop_assert_eq!(value, i128::from(number));
            prop_assert!(out.len() == 1 || out[0] != 0 || out[1] & 0x80 != 0);
        }
    }

    #[test]
    fn uuids_have_their_version_and_variant() {
        for (kind, version) in [(ColumnType::Uuid, 4), (ColumnType::TimeUuid, 1)] {
            let mut out = BytesMut::new();
            kind.put_number(&mut out, 12_345);
            assert_eq!((out.len(), out[6] >> 4, out[8] >> 6), (16, version, 2));
        }
    }
}
