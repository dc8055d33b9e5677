//! What every hydrotest record carries, so that each one can be accounted for:
//! `crc32c (4) | producer (4) | sequence (8) | intended start, wall ns (8) | filler`, big-endian.
//! The checksum covers everything after itself. Sequences count from 0 per producer and partition.

/// Bytes taken by the fields; a record's value is at least this long.
pub const HEADER_BYTES: usize = 24;

/// The fields of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub producer: u32,
    pub sequence: u64,
    pub intended_wall_ns: u64,
}

/// Writes stamp and checksum over the start of `value`, whose rest is the filler.
/// Panics if `value` is shorter than the header: sizes are checked with the settings.
pub fn seal(value: &mut [u8], stamp: Stamp) {
    value[4..8].copy_from_slice(&stamp.producer.to_be_bytes());
    value[8..16].copy_from_slice(&stamp.sequence.to_be_bytes());
    value[16..24].copy_from_slice(&stamp.intended_wall_ns.to_be_bytes());
    let checksum = crc32c::crc32c(&value[4..]);
    value[..4].copy_from_slice(&checksum.to_be_bytes());
}

/// Reads the stamp back; `None` if the value is too short or its checksum does not fit.
pub fn open(value: &[u8]) -> Option<Stamp> {
    if value.len() < HEADER_BYTES || crc32c::crc32c(&value[4..]) != read_u32(value, 0) {
        return None;
    }
    Some(Stamp {
        producer: read_u32(value, 4),
        sequence: read_u64(value, 8),
        intended_wall_ns: read_u64(value, 16),
    })
}

/// Bytes that do not compress, the same for the same seed (SplitMix64, Steele et al. 2014).
pub fn filler(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend_from_slice(&(z ^ (z >> 31)).to_be_bytes());
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
        fn what_was_sealed_opens(producer: u32, sequence: u64, intended_wall_ns: u64, length in 24usize..300) {
            let stamp = Stamp { producer, sequence, intended_wall_ns };
            let mut value = filler(length, 1);
            seal(&mut value, stamp);
            prop_assert_eq!(open(&value), Some(stamp));
        }

        #[test]
        fn one_flipped_bit_is_found(length in 24usize..300, at: usize, bit in 0u8..8) {
            let mut value = filler(length, 1);
            seal(&mut value, Stamp { producer: 1, sequence: 2, intended_wall_ns: 3 });
            let at = at % length;
            value[at] ^= 1 << bit;
            prop_assert_eq!(open(&value), None);
        }
    }

    #[test]
    fn short_values_do_not_open() {
        assert_eq!(open(&[0; 23]), None);
    }
}
