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
    Lz4,
    Zstd,
}

impl Codec {
    /// The codec's number in a batch's attributes.
    pub fn number(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// The codec of a number; an error for an unknown one.
    pub fn of(number: i16) -> Result<Self> {
        Ok(match number {
            0 => Self::None,
            1 => Self::Gzip,
            3 => Self::Lz4,
            4 => Self::Zstd,
            2 => bail!("snappy batches are not read"),
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
        let read = match self {
            Self::None => packed.take(PLAIN_BYTES_MAX).read_to_end(out),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Codec; 4] = [Codec::None, Codec::Gzip, Codec::Lz4, Codec::Zstd];

    proptest! {
        #[test]
        fn what_was_compressed_comes_back(plain in prop::collection::vec(any::<u8>(), 0..20_000), which in 0usize..4) {
            let codec = ALL[which];
            let (mut packed, mut again) = (Vec::new(), Vec::new());
            codec.compress(&plain, &mut packed).unwrap();
            codec.decompress(&packed, &mut again).unwrap();
            prop_assert_eq!(plain, again);
            prop_assert_eq!(Codec::of(codec.number()).unwrap(), codec);
        }

        /// Nonsense is an error, never a panic.
        #[test]
        fn nonsense_is_survived(packed in prop::collection::vec(any::<u8>(), 0..2_000), which in 1usize..4) {
            let _ = ALL[which].decompress(&packed, &mut Vec::new());
        }
    }
}
