//! The partition of a key. Source: `org.apache.kafka.common.utils.Utils.murmur2` and
//! `BuiltInPartitioner.partitionForKey`.

const SEED: u32 = 0x9747_b28c;
const M: u32 = 0x5bd1_e995;
const R: u32 = 24;

/// MurmurHash2 of `key` with Kafka's seed.
pub fn murmur2(key: &[u8]) -> u32 {
    let mut hash = SEED ^ key.len() as u32;
    let mut words = key.chunks_exact(4);
    for word in &mut words {
        let mut k = u32::from_le_bytes(word.try_into().expect("the chunk has four bytes"));
        k = k.wrapping_mul(M);
        k ^= k >> R;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        for (shift, byte) in (0..).step_by(8).zip(rest) {
            hash ^= u32::from(*byte) << shift;
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

/// The partition, of `partitions`, in which Kafka's own producer puts a record with this key.
pub fn partition_of(key: &[u8], partitions: usize) -> usize {
    (murmur2(key) & 0x7fff_ffff) as usize % partitions
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of Kafka's own `UtilsTest.testMurmur2`.
    #[test]
    fn hashes_as_kafka_does() {
        let cases: [(&str, i32); 6] = [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ];
        for (key, hash) in cases {
            assert_eq!(murmur2(key.as_bytes()) as i32, hash, "{key}");
        }
    }

    #[test]
    fn partitions_are_in_range() {
        assert!((0..1_000u32).all(|n| partition_of(&n.to_be_bytes(), 7) < 7));
    }
}
