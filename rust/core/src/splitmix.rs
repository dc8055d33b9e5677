//! SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): the same numbers
//! for the same seed in every release, for bytes that are written now and checked when they are read.

/// The increment of the state: the golden ratio of 2^64.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of numbers that do not compress.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// The first number of the stream with this seed, as a hash: neighbouring seeds give unrelated numbers.
pub fn mix(value: u64) -> u64 {
    SplitMix64::new(value).number()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the reference implementation (`splitmix64.c`, S. Vigna) for seed 1234567.
    #[test]
    fn numbers_are_those_of_the_reference() {
        let mut stream = SplitMix64::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| stream.number()).collect();
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
        assert_eq!(mix(1_234_567), numbers[0]);
    }
}
