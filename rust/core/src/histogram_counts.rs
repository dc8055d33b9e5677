//! Histograms of interval logs as counts, by the index of a histogram with the bounds of `recorder`.
//!
//! What is written here has the bounds of `recorder`, and its counts are added as they are decoded (HdrHistogram's format V2:
//! github.com/HdrHistogram/HdrHistogram, `AbstractHistogram.decodeFromByteBuffer`). The crate makes a histogram of 20,000 counts for each
//! interval first, which takes four fifths of the time. It reads those of other bounds.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use crate::recorder::{DIGITS, HIGHEST_US};

const COMPRESSED: u32 = 0x1c84_9304 | 0x10;
const PLAIN: u32 = 0x1c84_9303 | 0x10;
/// Bytes of a compressed histogram before its deflated part, and of what is in that before the counts.
const OUTER: usize = 8;
const INNER: usize = 40;
/// Of three digits: half of the values that each power of two has, as a power of two.
const HALF: u32 = 10;

/// Decodes histograms; its buffers are used again.
#[derive(Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// What was inflated last is at its beginning.
    plain: Vec<u8>,
    inflate: Option<Decompress>,
}

impl Decoder {
    /// Adds a histogram, as a line of a log has it.
    pub fn add(&mut self, text: &str, counts: &mut Vec<u64>) -> Result<(), String> {
        self.bytes.clear();
        STANDARD
            .decode_vec(text, &mut self.bytes)
            .map_err(|error| error.to_string())?;
        if number(&self.bytes, 0) == Some(COMPRESSED) {
            let length = self.inflate()?;
            if let Some(payload) = ours(&self.plain[..length]) {
                return add_payload(payload, counts);
            }
        }
        let other: Histogram<u64> = Deserializer::new()
            .deserialize(&mut Cursor::new(&self.bytes))
            .map_err(|error| error.to_string())?;
        for bucket in other.iter_recorded() {
            *count_at(counts, index_of(bucket.value_iterated_to()))? += bucket.count_at_value();
        }
        Ok(())
    }

    /// Returns the length of what is in `plain`; 0 for one that is longer than any of ours.
    fn inflate(&mut self) -> Result<usize, String> {
        let inflate = self.inflate.get_or_insert_with(|| Decompress::new(true));
        inflate.reset(true);
        // A histogram of ours has at most nine bytes for each of its counts. Zeroed once: what `decompress_vec` is given it zeroes each
        // time, 190 kB for the some kilobytes of one.
        self.plain.resize(INNER + 9 * COUNTS_MAX, 0);
        let deflated = self.bytes.get(OUTER..).unwrap_or_default();
        let status = inflate.decompress(deflated, &mut self.plain, FlushDecompress::Finish);
        let length = usize::try_from(inflate.total_out()).map_err(|error| error.to_string())?;
        match status {
            Ok(Status::StreamEnd) => Ok(length),
            // One of other bounds is longer: the crate reads it.
            Ok(_) if length == self.plain.len() => Ok(0),
            Ok(_) => Err("a histogram is cut off".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The counts of a histogram that has the bounds of `recorder`.
fn ours(plain: &[u8]) -> Option<&[u8]> {
    let is_ours = number(plain, 0)? == PLAIN
        && number(plain, 8)? == 0
        && number(plain, 12)? == u32::from(DIGITS)
        && plain.get(16..24)? == 1_u64.to_be_bytes()
        && plain.get(24..32)? == HIGHEST_US.to_be_bytes();
    let length = usize::try_from(number(plain, 4)?).ok()?;
    is_ours.then_some(plain.get(INNER..INNER + length)?)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(four.try_into().expect("four bytes")))
}

/// Counts as zigzag numbers in base 128; a negative one is so many zeros.
fn add_payload(payload: &[u8], counts: &mut Vec<u64>) -> Result<(), String> {
    let (mut at, mut index) = (0, 0_usize);
    while at < payload.len() {
        let mut encoded = 0_u64;
        for place in 0..9 {
            let byte = *payload.get(at).ok_or("a histogram is cut off")?;
            at += 1;
            // The ninth has all of its bits.
            let bits = if place == 8 { byte } else { byte & 0x7f };
            encoded |= u64::from(bits) << (7 * place);
            if place == 8 || byte & 0x80 == 0 {
                break;
            }
        }
        let number = (encoded >> 1).cast_signed() ^ -(encoded & 1).cast_signed();
        if number < 0 {
            let zeros = usize::try_from(number.unsigned_abs()).map_err(|error| error.to_string())?;
            index = index.checked_add(zeros).ok_or(TOO_MANY)?;
        } else {
            if number > 0 {
                *count_at(counts, index)? += number.cast_unsigned();
            }
            index += 1;
        }
    }
    Ok(())
}

/// Those of a histogram with the bounds of `recorder`: twenty powers of two above 2,048 us.
const COUNTS_MAX: usize = 21 << HALF;
const TOO_MANY: &str = "a histogram has values beyond those that are kept";

/// Stretches have as many as they need: of a profile there may be thousands.
fn count_at(counts: &mut Vec<u64>, index: usize) -> Result<&mut u64, String> {
    if index >= COUNTS_MAX {
        return Err(TOO_MANY.into());
    }
    if index >= counts.len() {
        counts.resize((index + 1).next_multiple_of(1 << HALF), 0);
    }
    Ok(&mut counts[index])
}

/// HdrHistogram's `countsArrayIndex`, for values from 1 on and three digits.
fn index_of(value: u64) -> usize {
    let bucket = (u64::BITS - value.leading_zeros()).saturating_sub(HALF + 1);
    (bucket as usize) * (1 << HALF) + usize::try_from(value >> bucket).expect("less than 2,048")
}

/// The lowest value that counts there.
fn value_at(index: usize) -> u64 {
    let bucket = (index >> HALF).saturating_sub(1);
    ((index - (bucket << HALF)) as u64) << bucket
}

fn of_counts(counts: &[u64]) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, HIGHEST_US, DIGITS).expect("the bounds are valid constants");
    for (index, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
        histogram
            .record_n(value_at(index), count)
            .expect("it is within the bounds");
    }
    histogram
}

/// Counts as a line of a log has them.
pub fn encoded(counts: &[u64]) -> String {
    encoded_histogram(&of_counts(counts))
}

/// The same of a histogram.
pub(crate) fn encoded_histogram(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing to memory does not fail");
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_decoded_as_the_crate_does() {
        let mut counts = Vec::new();
        let mut whole = Histogram::<u64>::new_with_bounds(1, HIGHEST_US, DIGITS).unwrap();
        for (value, count) in [
            (0, 3),
            (1, 2),
            (1_023, 1),
            (1_024, 7),
            (2_047, 1),
            (2_048, 300),
            (70_001, 1 << 40),
            (HIGHEST_US, 5),
        ] {
            whole.record_n(value, count).unwrap();
        }
        Decoder::default().add(&encoded_histogram(&whole), &mut counts).unwrap();
        assert_eq!(of_counts(&counts), whole);
        // One of other bounds.
        let mut other = Histogram::<u64>::new_with_bounds(1, 1_000_000, 2).unwrap();
        other.record_n(500_000, 4).unwrap();
        Decoder::default().add(&encoded_histogram(&other), &mut counts).unwrap();
        assert_eq!(of_counts(&counts).len(), whole.len() + 4);
        for (index, _) in counts.iter().enumerate() {
            assert_eq!(index_of(value_at(index)), index);
        }
    }

    #[test]
    fn a_histogram_that_is_cut_off_is_an_error() {
        let mut whole = Histogram::<u64>::new_with_bounds(1, HIGHEST_US, DIGITS).unwrap();
        (1..2_000).for_each(|value| whole.record_n(value, value).unwrap());
        let text = encoded_histogram(&whole);
        for length in (0..text.len()).step_by(4) {
            assert!(
                Decoder::default().add(&text[..length], &mut Vec::new()).is_err(),
                "{length}"
            );
        }
    }
}
