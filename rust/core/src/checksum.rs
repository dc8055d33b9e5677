//! CRC-32C (Castagnoli; RFC 3720, B.4): Kafka's checksum of batches, and ours of records and rows.

use crc_fast::CrcAlgorithm::Crc32Iscsi;

/// The checksum of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(Crc32Iscsi, bytes) as u32
}

/// The checksum of `parts`, as if they were concatenated.
pub fn crc32c_of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    let mut digest = crc_fast::Digest::new(Crc32Iscsi);
    parts.into_iter().for_each(|part| digest.update(part));
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_standards_own_examples() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    proptest! {
        #[test]
        fn parts_are_as_good_as_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..300), at: usize) {
            let (first, second) = bytes.split_at(at % (bytes.len() + 1));
            prop_assert_eq!(crc32c_of_parts([first, second]), crc32c(&bytes));
        }
    }
}
