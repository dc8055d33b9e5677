//! The codecs of record batches. The numbers are those of a batch's attributes; the levels are Kafka's own defaults.
//! Source: Kafka documentation, "Record Batch"; `org.apache.kafka.common.record.CompressionType`.

use std::io::{Read, Write};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// `compression.gzip.level` −1 is zlib's 6, `compression.zstd.level` is 3.
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;
/// A larger batch is a decompression bomb or a stream out of step; brokers take 1 MiB by default.
const PLAIN_BYTES_MAX: u64 = 256 << 20;

/// How the records of a batch are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    #[default]
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

impl Codec {
    /// The codec's number in a batch's attributes.
    pub fn number(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// The codec of a number; an error for an unknown one.
    pub fn of(number: i16) -> Result<Self> {
        Ok(match number {
            0 => Self::None,
            1 => Self::Gzip,
            2 => Self::Snappy,
            3 => Self::Lz4,
            4 => Self::Zstd,
            other => bail!("a batch with the unknown codec {other}"),
        })
    }

    /// Appends `plain`, compressed, to `out`.
    pub fn compress(self, plain: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::None => out.extend_from_slice(plain),
            Self::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::new(GZIP_LEVEL));
                encoder.write_all(plain)?;
                encoder.finish()?;
            }
            Self::Snappy => snappy_compress(plain, out)?,
            Self::Lz4 => {
                use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
                // Kafka's LZ4 streams have independent blocks of 64 KiB and no checksum of their own.
                let info = FrameInfo::new().block_size(BlockSize::Max64KB);
                let mut encoder = FrameEncoder::with_frame_info(info, out);
                encoder.write_all(plain)?;
                encoder.finish()?;
            }
            Self::Zstd => zstd::stream::copy_encode(plain, out, ZSTD_LEVEL)?,
        }
        Ok(())
    }

    /// Appends the decompressed content of `packed` to `out`.
    pub fn decompress(self, packed: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let before = out.len() as u64;
        if self == Self::Snappy {
            return snappy_decompress(packed, out);
        }
        let read = match self {
            Self::None | Self::Snappy => packed.take(PLAIN_BYTES_MAX).read_to_end(out),
            Self::Gzip => flate2::read::GzDecoder::new(packed)
                .take(PLAIN_BYTES_MAX)
                .read_to_end(out),
            Self::Lz4 => lz4_flex::frame::FrameDecoder::new(packed)
                .take(PLAIN_BYTES_MAX)
                .read_to_end(out),
            Self::Zstd => zstd::stream::read::Decoder::new(packed)?
                .take(PLAIN_BYTES_MAX)
                .read_to_end(out),
        };
        read.with_context(|| format!("a {self:?} batch cannot be decompressed"))?;
        if out.len() as u64 - before >= PLAIN_BYTES_MAX {
            bail!("a {self:?} batch holds more than {PLAIN_BYTES_MAX} bytes");
        }
        Ok(())
    }
}

/// The frame of snappy-java's `SnappyOutputStream`, in which Kafka's own producer writes: this, two versions, and
/// blocks behind their sizes (big endian).
const SNAPPY_MAGIC: &[u8] = b"\x82SNAPPY\0";
const SNAPPY_HEADER: usize = 16;
/// Its blocks, before they are compressed.
const SNAPPY_BLOCK: usize = 32 << 10;

fn snappy_compress(plain: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(SNAPPY_MAGIC);
    out.extend_from_slice(&1i32.to_be_bytes());
    out.extend_from_slice(&1i32.to_be_bytes());
    let mut encoder = snap::raw::Encoder::new();
    for block in plain.chunks(SNAPPY_BLOCK) {
        let packed = encoder.compress_vec(block)?;
        out.extend_from_slice(&(packed.len() as u32).to_be_bytes());
        out.extend_from_slice(&packed);
    }
    Ok(())
}

/// Other clients write one block without a frame.
fn snappy_decompress(packed: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if !packed.starts_with(SNAPPY_MAGIC) {
        return snappy_block(packed, 0, out).context("a Snappy batch cannot be decompressed");
    }
    let before = out.len();
    let mut rest = packed
        .get(SNAPPY_HEADER..)
        .context("a Snappy batch ends inside its header")?;
    while !rest.is_empty() {
        let (size, blocks) = rest
            .split_first_chunk::<4>()
            .context("a Snappy batch ends inside a size")?;
        let size = u32::from_be_bytes(*size) as usize;
        let block = blocks.get(..size).context("a Snappy batch ends inside a block")?;
        snappy_block(block, out.len() - before, out).context("a Snappy batch cannot be decompressed")?;
        rest = &blocks[size..];
    }
    Ok(())
}

fn snappy_block(block: &[u8], so_far: usize, out: &mut Vec<u8>) -> Result<()> {
    let size = snap::raw::decompress_len(block)?;
    if (so_far + size) as u64 >= PLAIN_BYTES_MAX {
        bail!("a Snappy batch holds more than {PLAIN_BYTES_MAX} bytes");
    }
    let at = out.len();
    out.resize(at + size, 0);
    let written = snap::raw::Decoder::new().decompress(block, &mut out[at..])?;
    out.truncate(at + written);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

    proptest! {
        #[test]
        fn what_was_compressed_comes_back(plain in prop::collection::vec(any::<u8>(), 0..20_000), which in 0usize..5) {
            let codec = ALL[which];
            let (mut packed, mut again) = (Vec::new(), Vec::new());
            codec.compress(&plain, &mut packed).unwrap();
            codec.decompress(&packed, &mut again).unwrap();
            prop_assert_eq!(plain, again);
            prop_assert_eq!(Codec::of(codec.number()).unwrap(), codec);
        }

        /// Nonsense is an error, never a panic.
        #[test]
        fn nonsense_is_survived(packed in prop::collection::vec(any::<u8>(), 0..2_000), which in 1usize..5) {
            let _ = ALL[which].decompress(&packed, &mut Vec::new());
        }
    }
}
