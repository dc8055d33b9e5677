//! FNV-1a (Fowler, Noll, Vo): a hash that is the same everywhere, and needs no other library.

/// Of nothing.
pub(crate) const EMPTY: u64 = 0xCBF2_9CE4_8422_2325;

/// The hash of what has this hash, and of more bytes behind it.
pub(crate) fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the test suite of its authors (`test_fnv.c`).
    #[test]
    fn hashes_are_those_of_the_authors() {
        assert_eq!(fnv1a(EMPTY, b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a(EMPTY, b"a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv1a(fnv1a(EMPTY, b"foo"), b"bar"), 0x8594_4171_F739_67E8);
    }
}
