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

    /// Bytes of a value and its headers, of the only size that there is; None where records differ, or have keys.
    pub(crate) fn fixed_record_bytes(&self) -> Option<usize> {
        let is_one = self.keys.is_none() && self.key_texts.is_empty() && self.places.is_empty();
        self.fixed.as_ref().filter(|_| is_one).map(|_| self.smallest)
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
    let own = settings
        .stamp_in_header()
        .then(|| (STAMP_HEADER.to_vec(), vec![0; STAMP_BYTES]));
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
mod tests;
