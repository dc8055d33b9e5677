//! The default row: cassandra-stress's `standard1`, a blob key and blob columns C0 … C4, with a
//! checksum over the whole row in C0 so that every row read can be checked:
//! `C0 = crc32c (4) | writer (4) | sequence (8) | intended start, wall ns (8) | filler`.

use bytes::{BufMut, BytesMut};
use hydrotest_core::checksum::crc32c_of_parts;
use hydrotest_core::splitmix::SplitMix64;

/// Shape of a row.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowShape {
    pub columns: usize,
    pub column_bytes: usize,
}

const STAMP_BYTES: usize = 24;
/// cassandra-stress's keys have ten bytes too.
pub const KEY_BYTES: usize = 10;

impl RowShape {
    /// An error in words if rows of this shape cannot carry their checksum.
    pub fn check(&self) -> Result<(), String> {
        if self.columns == 0 || self.column_bytes < STAMP_BYTES {
            return Err(format!("a row needs at least one column of {STAMP_BYTES} bytes"));
        }
        Ok(())
    }

    /// Payload of a row, key included.
    pub fn bytes(&self) -> u64 {
        (KEY_BYTES + self.columns * self.column_bytes) as u64
    }

    /// All columns of row `key`.
    pub fn build(&self, key: u64, writer: u32, sequence: u64, intended_wall_ns: u64) -> Vec<Vec<u8>> {
        let mut row = BytesMut::new();
        self.put(&mut row, key, writer, sequence, intended_wall_ns);
        row.chunks(4 + self.column_bytes)
            .map(|cell| cell[4..].to_vec())
            .collect()
    }

    /// Appends all columns of row `key`, each with its length before it, in the protocol's format `[value]`.
    pub fn put(&self, out: &mut BytesMut, key: u64, writer: u32, sequence: u64, intended_wall_ns: u64) {
        let start = out.len();
        for column in 0..self.columns {
            out.put_i32(self.column_bytes as i32);
            self.put_filler(out, key, column);
        }
        let row = &mut out[start..];
        row[8..12].copy_from_slice(&writer.to_be_bytes());
        row[12..20].copy_from_slice(&sequence.to_be_bytes());
        row[20..28].copy_from_slice(&intended_wall_ns.to_be_bytes());
        let sum = {
            let mut cells = row.chunks(4 + self.column_bytes).map(|cell| &cell[4..]);
            let first = cells.next().expect("a row has a column");
            checksum(&key_bytes(key), first, cells)
        };
        row[4..8].copy_from_slice(&sum.to_be_bytes());
    }

    fn put_filler(&self, out: &mut BytesMut, key: u64, column: usize) {
        let mut stream = SplitMix64::new(key ^ ((column as u64 + 1) << 56));
        let mut left = self.column_bytes;
        while left > 0 {
            let taken = left.min(8);
            out.put_slice(&stream.number().to_be_bytes()[..taken]);
            left -= taken;
        }
    }
}

/// The key of row `number` as bytes.
pub fn key_bytes(number: u64) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[2..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The row number of a key; `None` if hydrotest did not write it.
pub fn key_number(key: &[u8]) -> Option<u64> {
    let bytes: [u8; KEY_BYTES] = key.try_into().ok()?;
    (bytes[..2] == [0, 0]).then(|| u64::from_be_bytes(bytes[2..].try_into().expect("eight bytes are left")))
}

/// True if the row's checksum fits its content.
pub fn is_intact<'a>(key: &'a [u8], mut columns: impl Iterator<Item = &'a [u8]>) -> bool {
    match columns.next() {
        Some(first) if first.len() >= STAMP_BYTES => checksum(key, first, columns).to_be_bytes() == first[..4],
        _ => false,
    }
}

fn checksum<'a>(key: &'a [u8], first: &'a [u8], others: impl Iterator<Item = &'a [u8]>) -> u32 {
    crc32c_of_parts([key, &first[4..]].into_iter().chain(others))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: RowShape = RowShape {
        columns: 5,
        column_bytes: 34,
    };

    proptest! {
        #[test]
        fn a_row_is_intact_until_a_bit_flips(key: u64, sequence: u64, column in 0usize..5, at in 0usize..34, bit in 0u8..8) {
            let mut columns = SHAPE.build(key, 3, sequence, 4);
            prop_assert!(is_intact(&key_bytes(key), columns.iter().map(Vec::as_slice)));
            columns[column][at] ^= 1 << bit;
            prop_assert!(!is_intact(&key_bytes(key), columns.iter().map(Vec::as_slice)));
        }

        #[test]
        fn keys_come_back(number: u64) {
            prop_assert_eq!(key_number(&key_bytes(number)), Some(number));
        }
    }

    #[test]
    fn a_row_under_the_wrong_key_is_found() {
        let columns = SHAPE.build(1, 3, 0, 4);
        assert!(!is_intact(&key_bytes(2), columns.iter().map(Vec::as_slice)));
    }
}
