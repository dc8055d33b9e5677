//! The shape of records: their sizes, keys, headers, and compressibility.

use anyhow::{Context, Result, ensure};
use hydrotest_core::draw::{Distribution, Draw};
use serde::{Deserialize, Serialize};

use crate::batch::{Record, put_varint, zigzag};
use crate::contents::{PayloadFile, Place};
use crate::payload::{LEVEL_BYTES, LEVEL_END, Level, SHORT_STAMP_BYTES, STAMP_BYTES, STAMP_HEADER, filler, level};

/// Size of the pool of incompressible bytes from which values are cut.
const POOL_BYTES: usize = 4 << 20;
/// Step in the pool from one value's start to the next: its golden ratio, so that the starts of successive
/// values are as far from each other as possible (V. T. Sós, "On the distribution mod 1 of the sequence nα",
/// 1958). No two values of a batch of up to 1 MiB overlap: a codec finds no repetition.
const POOL_STEP: usize = 2_592_241;

/// Their number is encoded in one byte.
const HEADERS_BESIDE_STAMP_MAX: u32 = 63;

/// Resolution of the draw of levels.
const LEVEL_STEPS: u64 = 1_000_000;
const LEVEL_RANGE: Distribution = Distribution::Uniform {
    min: 0,
    max: LEVEL_STEPS - 1,
};

/// Keys that are numbers have this size.
const KEY_BYTES: usize = 8;

/// The shape of records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordSettings {
    /// Size of the values, in bytes.
    pub size: Distribution,
    /// Share of each value that is zeros, and so compresses away, 0 to 1; the rest does not compress. (fio's
    /// `buffer_compress_percentage` mixes in the same way.)
    pub compressible: f64,
    /// The numbers of the keys. Without it records have none, and batches rotate over the partitions.
    pub key: Option<Distribution>,
    /// The keys by their numbers; none where they are the numbers themselves, big-endian.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_texts: Vec<String>,
    pub headers: u32,
    /// Size of each header's value, in bytes.
    pub header_bytes: usize,
    /// The levels of log records, and their relative frequencies. Empty for other records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<(String, f64)>,
    /// What stands behind the stamp; `size` is then that of the file's contents, with the stamp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadFile>,
}

impl RecordSettings {
    /// An error in words if such records cannot be made.
    pub fn check(&self) -> Result<()> {
        let (least, _) = self.size.range();
        ensure!(
            self.stamp_in_header() || least >= SHORT_STAMP_BYTES as u64,
            "records of {least} bytes cannot carry the {SHORT_STAMP_BYTES} bytes that account for them"
        );
        ensure!(
            !self.stamp_in_header() || self.headers < HEADERS_BESIDE_STAMP_MAX,
            "{} headers are too many beside that which accounts for a record",
            self.headers
        );
        ensure!(
            (0.0..=1.0).contains(&self.compressible),
            "the compressible share is {}, and must be from 0 to 1",
            self.compressible
        );
        if let Some(key) = self.key.as_ref().filter(|_| !self.key_texts.is_empty()) {
            ensure!(
                key.range().1 < self.key_texts.len() as u64,
                "there are {} keys, and number {} is drawn",
                self.key_texts.len(),
                key.range().1
            );
        }
        if !self.levels.is_empty() {
            ensure!(
                least >= LEVEL_END as u64,
                "log records of {least} bytes have no room for their level"
            );
            let all: f64 = self.levels.iter().map(|(_, weight)| weight).sum();
            ensure!(
                all > 0.0 && self.levels.iter().all(|(_, weight)| *weight >= 0.0),
                "the levels' weights add up to {all}"
            );
        }
        self.shares_of_levels().map(drop)
    }

    /// Whether the stamp is in a header, and not in the value.
    fn stamp_in_header(&self) -> bool {
        self.payload.as_ref().is_some_and(|payload| payload.stamp_in_header)
    }

    /// Each level in the record's format, and the cumulative share of the records.
    fn shares_of_levels(&self) -> Result<Vec<(Level, f64)>> {
        let all: f64 = self.levels.iter().map(|(_, weight)| weight).sum();
        let mut up_to = 0.0;
        self.levels
            .iter()
            .map(|(name, weight)| {
                up_to += weight / all;
                let level = level(name)
                    .with_context(|| format!("a level's name has 1 to {LEVEL_BYTES} letters; {name:?} has not"))?;
                Ok((level, up_to))
            })
            .collect()
    }
}

/// Makes one thread's records.
pub(crate) struct RecordGenerator {
    sizes: Draw,
    /// The common size of all values, if there is one, and its random part: nothing is drawn then.
    fixed: Option<(usize, usize)>,
    keys: Option<Draw>,
    key_texts: Vec<String>,
    key_number: [u8; KEY_BYTES],
    levels: Vec<(Level, f64)>,
    level_draw: Draw,
    random_share: f64,
    /// Encoded, their number first.
    headers: Vec<u8>,
    /// Where the stamp is in them, if it is.
    stamp_at: Option<usize>,
    pool: Vec<u8>,
    /// Of a payload's contents in the pool: begin and length; and the next one of this thread, and its step.
    places: Vec<Place>,
    turn: usize,
    shares: usize,
    at: usize,
    /// 0 where equal values make no difference.
    step: usize,
    smallest: usize,
}

/// A record to be made: its key, and its value's size and content.
pub(crate) struct NewRecord<'a> {
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) random: &'a [u8],
    pub(crate) zeros: usize,
    pub(crate) headers: &'a [u8],
    pub(crate) stamp_at: Option<usize>,
    /// The level of a log record.
    pub(crate) level: Option<Level>,
}

impl NewRecord<'_> {
    /// Size of the value.
    pub(crate) fn value_bytes(&self) -> usize {
        self.random.len() + self.zeros
    }

    /// Size of key, value and headers.
    pub(crate) fn record_bytes(&self) -> usize {
        self.key.map_or(0, <[u8]>::len) + self.value_bytes() + self.headers.len()
    }

    pub(crate) fn record(&self) -> Record<'_> {
        Record {
            key: self.key,
            random: self.random,
            zeros: self.zeros,
            headers: self.headers,
            stamp_at: self.stamp_at,
            level: self.level,
        }
    }
}

impl RecordGenerator {
    /// For thread `share` of `shares`, which is producer `id`. `varies`: neighbouring values must differ,
    /// because they are compressed.
    pub(crate) fn new(settings: &RecordSettings, varies: bool, id: u32, share: u64, shares: u64) -> Result<Self> {
        settings.check()?;
        let draw = |distribution, seed| Draw::new(distribution, seed, share, shares).map_err(anyhow::Error::msg);
        let (least, most) = settings.size.range();
        let (headers, stamp_at) = encoded_headers(settings);
        let random_share = 1.0 - settings.compressible;
        let (contents, places) = match &settings.payload {
            Some(payload) => payload.read()?,
            None => (Vec::new(), Vec::new()),
        };
        let pool = if places.is_empty() {
            filler(most as usize + if varies { POOL_BYTES } else { 0 }, u64::from(id))
        } else {
            contents
        };
        let least = places.iter().map(|&(_, size)| size).min().unwrap_or(least as usize);
        let smallest_key = settings.key_texts.iter().map(String::len).min().unwrap_or(KEY_BYTES);
        Ok(Self {
            sizes: draw(settings.size.clone(), u64::from(id))?,
            fixed: (least as u64 == most).then(|| (least, random_bytes(least, random_share))),
            // Another stream: otherwise a record's key would follow from its size.
            keys: settings.key.clone().map(|key| draw(key, !u64::from(id))).transpose()?,
            levels: settings.shares_of_levels()?,
            level_draw: draw(LEVEL_RANGE, u64::from(id).rotate_left(32))?,
            key_texts: settings.key_texts.clone(),
            key_number: [0; KEY_BYTES],
            random_share,
            pool,
            turn: share as usize,
            shares: shares as usize,
            places,
            at: 0,
            step: if varies { POOL_STEP } else { 0 },
            stamp_at,
            smallest: least + settings.key.as_ref().map_or(0, |_| smallest_key) + headers.len(),
            headers,
        })
    }

    /// The minimum size of key, value and headers.
    pub(crate) fn smallest(&self) -> usize {
        self.smallest
    }

    /// The next record.
    pub(crate) fn make(&mut self) -> NewRecord<'_> {
        if !self.places.is_empty() {
            return self.next_content();
        }
        let (size, random) = self.fixed.unwrap_or_else(|| {
            let size = self.sizes.number() as usize;
            (size, random_bytes(size, self.random_share))
        });
        self.at = (self.at + self.step) % POOL_BYTES;
        let level = self.draw_level();
        let number = self.keys.as_mut().map(Draw::number);
        NewRecord {
            key: number.map(|number| key(number, &self.key_texts, &mut self.key_number)),
            random: &self.pool[self.at..self.at + random],
            zeros: size - random,
            headers: &self.headers,
            stamp_at: self.stamp_at,
            level,
        }
    }

    /// The threads of a trial take the contents in turns.
    fn next_content(&mut self) -> NewRecord<'_> {
        let (at, size) = self.places[self.turn % self.places.len()];
        self.turn = (self.turn + self.shares) % self.places.len().saturating_mul(self.shares);
        let number = self.keys.as_mut().map(Draw::number);
        NewRecord {
            key: number.map(|number| key(number, &self.key_texts, &mut self.key_number)),
            random: &self.pool[at..at + size],
            zeros: 0,
            headers: &self.headers,
            stamp_at: self.stamp_at,
            level: None,
        }
    }

    fn draw_level(&mut self) -> Option<Level> {
        let (last, _) = *self.levels.last()?;
        let at = self.level_draw.number() as f64 / LEVEL_STEPS as f64;
        let found = self.levels.iter().find(|(_, up_to)| at < *up_to);
        Some(found.map_or(last, |(level, _)| *level))
    }
}

/// The key with this number; `scratch` is overwritten.
fn key<'a>(number: u64, texts: &'a [String], scratch: &'a mut [u8; KEY_BYTES]) -> &'a [u8] {
    match texts.get(number as usize) {
        Some(text) => text.as_bytes(),
        None => {
            *scratch = number.to_be_bytes();
            scratch
        }
    }
}

/// The headers as records have them, and where the stamp is in them, if it is: in the first (`payload::stamp_in`).
fn encoded_headers(settings: &RecordSettings) -> (Vec<u8>, Option<usize>) {
    let own = settings.stamp_in_header().then(|| (STAMP_HEADER.to_vec(), vec![0; STAMP_BYTES]));
    let named = |number: u32| {
        let name = format!("h{number}").into_bytes();
        (name, filler(settings.header_bytes, u64::from(number)))
    };
    let every: Vec<(Vec<u8>, Vec<u8>)> = own.into_iter().chain((0..settings.headers).map(named)).collect();
    let mut headers = Vec::new();
    put_varint(&mut headers, zigzag(every.len() as i64));
    let mut stamp_at = None;
    for (name, value) in every {
        put_varint(&mut headers, zigzag(name.len() as i64));
        headers.extend_from_slice(&name);
        put_varint(&mut headers, zigzag(value.len() as i64));
        if name == STAMP_HEADER {
            stamp_at = Some(headers.len());
        }
        headers.extend(value);
    }
    (headers, stamp_at)
}

/// The incompressible part of a value of `size` bytes.
fn random_bytes(size: usize, share: f64) -> usize {
    (size as f64 * share).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::Codec;
    use crate::contents::PayloadForm;

    fn settings() -> RecordSettings {
        RecordSettings {
            size: Distribution::Uniform { min: 10, max: 200 },
            compressible: 0.25,
            key: Some(Distribution::Uniform { min: 0, max: 9 }),
            key_texts: Vec::new(),
            headers: 2,
            header_bytes: 3,
            levels: Vec::new(),
            payload: None,
        }
    }

    #[test]
    fn contents_of_a_file_are_used_in_turns() {
        let path = std::env::temp_dir().join(format!("hydrotest-payload-{}", std::process::id()));
        std::fs::write(&path, "one\ntwo, longer\r\n\nthree").unwrap();
        let with = |form| RecordSettings {
            payload: Some(PayloadFile {
                path: path.clone(),
                form,
                stamp_in_header: false,
                prefix: Vec::new(),
            }),
            size: Distribution::Uniform { min: 27, max: 35 },
            ..settings()
        };
        let made = |share: u64, form| -> Vec<Vec<u8>> {
            let mut generator = RecordGenerator::new(&with(form), true, 7, share, 2).unwrap();
            assert_eq!(generator.smallest(), 27 + KEY_BYTES + generator.headers.len());
            (0..3)
                .map(|_| generator.make().random[STAMP_BYTES..].to_vec())
                .collect()
        };
        assert_eq!(
            made(0, PayloadForm::Lines),
            [b"one".to_vec(), b"three".to_vec(), b"two, longer".to_vec()]
        );
        assert_eq!(
            made(1, PayloadForm::Lines),
            [b"two, longer".to_vec(), b"one".to_vec(), b"three".to_vec()]
        );
        std::fs::write(&path, b"\0\0\0\x03one\0\0\0\x05three").unwrap();
        assert_eq!(made(0, PayloadForm::LengthPrefixed)[0], b"one");
        assert_eq!(made(1, PayloadForm::LengthPrefixed)[0], b"three");
        // Of others' values the stamp is in a header, and a schema registry's prefix may stand before them.
        let mut apart = with(PayloadForm::LengthPrefixed);
        let payload = apart.payload.as_mut().unwrap();
        (payload.stamp_in_header, payload.prefix) = (true, vec![0, 0, 0, 0, 7]);
        let mut generator = RecordGenerator::new(&apart, true, 7, 0, 1).unwrap();
        assert_eq!(generator.make().random, b"\0\0\0\0\x07one");
        assert!(crate::payload::stamp_in(&generator.headers).is_some());
        assert_eq!(generator.headers[0], 2 * 3);
        std::fs::write(&path, b"\0\0\0\x09one").unwrap();
        assert!(RecordGenerator::new(&with(PayloadForm::LengthPrefixed), true, 7, 0, 1).is_err());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn records_are_as_asked_for() {
        let mut generator = RecordGenerator::new(&settings(), true, 7, 0, 1).unwrap();
        let mut before = Vec::new();
        for _ in 0..1_000 {
            let made = generator.make();
            let size = made.value_bytes();
            assert!((10..=200).contains(&size));
            assert_eq!(made.random.len(), (size as f64 * 0.75).round() as usize);
            assert!(u64::from_be_bytes(made.key.unwrap().try_into().unwrap()) < 10);
            assert_eq!(made.headers.len(), 1 + 2 * (1 + 2 + 1 + 3));
            assert_ne!(made.random, before);
            before = made.random.to_vec();
        }
    }

    /// A batch is not smaller when it is compressed, whatever its codec and the sizes in it.
    #[test]
    fn what_is_not_compressible_does_not_compress() {
        for (size, batch_bytes) in [(100, 16 << 10), (1_000, 64 << 10), (1_000, 1 << 20), (10_000, 1 << 20)] {
            let size = Distribution::Uniform { min: size, max: size };
            let settings = RecordSettings {
                size: size.clone(),
                compressible: 0.0,
                key: None,
                key_texts: Vec::new(),
                headers: 0,
                header_bytes: 0,
                levels: Vec::new(),
                payload: None,
            };
            let mut generator = RecordGenerator::new(&settings, true, 7, 0, 1).unwrap();
            let values = std::iter::repeat_with(|| generator.make().random.to_vec());
            let plain: Vec<u8> = values.take(batch_bytes / size.range().0 as usize).flatten().collect();
            for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
                let mut packed = Vec::new();
                codec.compress(&plain, &mut packed).unwrap();
                assert!(packed.len() as f64 > 0.99 * plain.len() as f64, "{codec:?} {size:?}");
            }
        }
    }

    #[test]
    fn keys_from_a_file_are_used_as_often_as_they_are_there() {
        let settings = RecordSettings {
            key: Some(Distribution::Weights {
                values: vec![(0, 9.0), (1, 1.0)],
            }),
            key_texts: vec!["often".into(), "no".into()],
            headers: 0,
            ..settings()
        };
        let mut generator = RecordGenerator::new(&settings, true, 7, 0, 1).unwrap();
        assert_eq!(generator.smallest(), 10 + "no".len() + generator.headers.len());
        let rare = (0..1_000).filter(|_| match generator.make().key.unwrap() {
            b"often" => false,
            key => key == b"no",
        });
        // One in ten, and five standard deviations.
        assert!((53..148).contains(&rare.count()));
        let short = RecordSettings {
            key: Some(Distribution::Uniform { min: 0, max: 2 }),
            ..settings
        };
        assert!(RecordGenerator::new(&short, true, 7, 0, 1).is_err());
    }

    #[test]
    fn keys_and_sizes_have_nothing_to_do_with_each_other() {
        let range = Distribution::Uniform { min: 100, max: 199 };
        let settings = RecordSettings {
            size: range.clone(),
            key: Some(range),
            ..settings()
        };
        let mut generator = RecordGenerator::new(&settings, true, 7, 0, 1).unwrap();
        let alike = (0..1_000).filter(|_| {
            let made = generator.make();
            u64::from_be_bytes(made.key.unwrap().try_into().unwrap()) == made.value_bytes() as u64
        });
        // One in a hundred by chance: ten, and five standard deviations.
        assert!(alike.count() < 26);
    }

    #[test]
    fn levels_come_as_often_as_asked_for() {
        let settings = RecordSettings {
            size: Distribution::Uniform { min: 100, max: 100 },
            levels: vec![("info".into(), 8.0), ("error".into(), 2.0)],
            ..settings()
        };
        let mut generator = RecordGenerator::new(&settings, false, 7, 0, 1).unwrap();
        let errors = (0..10_000)
            .filter(|_| generator.make().level == Some(*b"ERROR   "))
            .count();
        // A fifth, within five standard deviations.
        assert!((1_800..2_200).contains(&errors), "{errors}");
    }

    #[test]
    fn too_small_a_record_is_refused() {
        let size = Distribution::Uniform { min: 9, max: 200 };
        assert!(
            RecordSettings { size, ..settings() }
                .check()
                .unwrap_err()
                .to_string()
                .contains("9 bytes")
        );
    }
}
