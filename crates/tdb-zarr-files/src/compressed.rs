//! Compressions of other crates, each of which stops where it should end.

#[cfg(any(feature = "gzip", feature = "zstd", feature = "bzip2"))]
use std::io::Read;

#[cfg(feature = "gzip")]
use tdb_filters::zlib_level;

use crate::error::Problem;

/// How many bytes something may have. What a file says is never believed before it was compared
/// with this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    max: usize,
    is_exact: bool,
}

impl Limit {
    /// Exactly this many.
    pub(crate) const fn exactly(max: usize) -> Self {
        Self { max, is_exact: true }
    }

    /// At most this many.
    pub(crate) const fn at_most(max: usize) -> Self {
        Self { max, is_exact: false }
    }

    /// Compares a number of bytes with it.
    pub(crate) fn check(self, len: usize) -> Result<(), Problem> {
        match (self.is_exact, len > self.max) {
            (true, _) if len != self.max => {
                Err(Problem::damaged(format!("a chunk has other than {} bytes", self.max)))
            }
            (false, true) => Err(Problem::Longer { memory: u64::try_from(self.max).unwrap_or(u64::MAX) }),
            _ => Ok(()),
        }
    }

    /// Reads all of a decoder, as far as it may have it.
    #[cfg(any(feature = "gzip", feature = "zstd", feature = "bzip2"))]
    pub(crate) fn read(self, decoder: impl Read, codec: &str) -> Result<Vec<u8>, Problem> {
        let most = u64::try_from(self.max).unwrap_or(u64::MAX).saturating_add(1);
        let mut out = Vec::with_capacity(if self.is_exact { self.max } else { 0 });
        decoder
            .take(most)
            .read_to_end(&mut out)
            .map_err(|error| Problem::damaged(format!("a chunk cannot be decoded with {codec}: {error}")))?;
        self.check(out.len())?;
        Ok(out)
    }
}

/// The error of a codec that this build does not have.
#[cfg(not(all(feature = "gzip", feature = "zstd", feature = "lz4", feature = "bzip2")))]
fn missing(feature: &str) -> Problem {
    Problem::unsupported(format!("this build does not have the codec (the feature {feature})"))
}

#[cfg(feature = "gzip")]
pub(crate) fn inflate(bytes: &[u8], limit: Limit, is_gzip: bool) -> Result<Vec<u8>, Problem> {
    if is_gzip {
        limit.read(flate2::read::MultiGzDecoder::new(bytes), "gzip")
    } else {
        limit.read(flate2::read::ZlibDecoder::new(bytes), "zlib")
    }
}

#[cfg(feature = "gzip")]
pub(crate) fn deflate(bytes: &[u8], level: i32, is_gzip: bool) -> Result<Vec<u8>, Problem> {
    let level = u32::try_from(level).map_or(6, |level| zlib_level(level.min(9)));
    let level = flate2::Compression::new(level);
    let mut out = Vec::new();
    if is_gzip {
        flate2::read::GzEncoder::new(bytes, level).read_to_end(&mut out)?;
    } else {
        flate2::read::ZlibEncoder::new(bytes, level).read_to_end(&mut out)?;
    }
    Ok(out)
}

#[cfg(not(feature = "gzip"))]
pub(crate) fn inflate(_: &[u8], _: Limit, _: bool) -> Result<Vec<u8>, Problem> {
    Err(missing("gzip"))
}

#[cfg(not(feature = "gzip"))]
pub(crate) fn deflate(_: &[u8], _: i32, _: bool) -> Result<Vec<u8>, Problem> {
    Err(missing("gzip"))
}

#[cfg(feature = "zstd")]
pub(crate) fn unzstd(bytes: &[u8], limit: Limit) -> Result<Vec<u8>, Problem> {
    if !limit.is_exact {
        return limit.read(zstd::stream::read::Decoder::with_buffer(bytes)?, "zstd");
    }
    // At once, there is no window beside the output, of as many bytes as the frame says.
    let mut out = vec![0; limit.max];
    let len = zstd::bulk::decompress_to_buffer(bytes, out.as_mut_slice())
        .map_err(|error| Problem::damaged(format!("a chunk cannot be decoded with zstd: {error}")))?;
    limit.check(len)?;
    Ok(out)
}

#[cfg(feature = "zstd")]
pub(crate) fn to_zstd(bytes: &[u8], level: i32) -> Result<Vec<u8>, Problem> {
    // With the length in front, as Zarr's readers want it.
    Ok(zstd::bulk::compress(bytes, level)?)
}

#[cfg(not(feature = "zstd"))]
pub(crate) fn unzstd(_: &[u8], _: Limit) -> Result<Vec<u8>, Problem> {
    Err(missing("zstd"))
}

#[cfg(not(feature = "zstd"))]
pub(crate) fn to_zstd(_: &[u8], _: i32) -> Result<Vec<u8>, Problem> {
    Err(missing("zstd"))
}

#[cfg(feature = "bzip2")]
pub(crate) fn unbzip2(bytes: &[u8], limit: Limit) -> Result<Vec<u8>, Problem> {
    limit.read(bzip2::read::MultiBzDecoder::new(bytes), "bz2")
}

#[cfg(feature = "bzip2")]
pub(crate) fn to_bzip2(bytes: &[u8], level: i32) -> Result<Vec<u8>, Problem> {
    let level = bzip2::Compression::new(u32::try_from(level).map_or(6, |level| level.clamp(1, 9)));
    let mut out = Vec::new();
    bzip2::read::BzEncoder::new(bytes, level).read_to_end(&mut out)?;
    Ok(out)
}

#[cfg(not(feature = "bzip2"))]
pub(crate) fn unbzip2(_: &[u8], _: Limit) -> Result<Vec<u8>, Problem> {
    Err(missing("bzip2"))
}

#[cfg(not(feature = "bzip2"))]
pub(crate) fn to_bzip2(_: &[u8], _: i32) -> Result<Vec<u8>, Problem> {
    Err(missing("bzip2"))
}

/// A block of LZ4 of exactly `len` bytes, which the caller has allowed.
#[cfg(feature = "lz4")]
pub(crate) fn lz4_block(block: &[u8], len: usize) -> Result<Vec<u8>, Problem> {
    let out = lz4_flex::block::decompress(block, len)
        .map_err(|error| Problem::damaged(format!("a chunk cannot be decoded with lz4: {error}")))?;
    Limit::exactly(len).check(out.len())?;
    Ok(out)
}

#[cfg(feature = "lz4")]
#[expect(clippy::unnecessary_wraps, reason = "a build without the codec has none")]
pub(crate) fn to_lz4_block(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    Ok(lz4_flex::block::compress(bytes))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn lz4_block(_: &[u8], _: usize) -> Result<Vec<u8>, Problem> {
    Err(missing("lz4"))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn to_lz4_block(_: &[u8]) -> Result<Vec<u8>, Problem> {
    Err(missing("lz4"))
}

#[cfg(all(test, feature = "gzip"))]
mod tests {
    use super::*;

    #[test]
    fn the_first_level_of_gzip_is_about_as_small_as_zlib_s() {
        let steps: Vec<u8> = (0..500_000u32).flat_map(|at| (at / 3).to_le_bytes()).collect();
        for is_gzip in [true, false] {
            let stored = deflate(&steps, 1, is_gzip).unwrap();
            // zlib 1.3 makes 378,482 bytes of this; the first level of zlib-rs makes 932,897.
            assert!(stored.len() < 450_000, "{}", stored.len());
            assert_eq!(inflate(&stored, Limit::exactly(steps.len()), is_gzip).unwrap(), steps);
        }
    }
}
