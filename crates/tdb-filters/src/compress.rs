//! The common part of all compressors: each part, metadata or data, is a separate stream.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | metadata part count | u32 |
//! | data part count | u32 |
//! | per metadata part, then per data part: original length | u32 |
//! | … compressed length | u32 |
//!
//! Data: the compressed metadata parts, then the compressed data parts. The incoming metadata is no
//! longer in the chunk's metadata; decoding restores it.

use tdb_codec::{Physical, Reader, Writer, to_u64, to_usize};

use crate::error::{ErrorKind, Kind};
use crate::scratch::Codecs;
use crate::{bzip2, delta, double_delta, gzip, lz4, rle, zstd};

/// A compressor with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Gzip { level: i32 },
    Zstd { level: i32 },
    Lz4,
    Bzip2 { level: i32 },
    Rle { cell: usize },
    DoubleDelta { physical: Physical },
    Delta { size: usize },
}

impl Codec {
    /// Decompresses one part, which must fill `out` exactly.
    fn decode(self, input: &[u8], out: &mut [u8], codecs: &mut Codecs) -> Kind<()> {
        match self {
            Self::Gzip { .. } => gzip::decode(input, out, codecs),
            Self::Zstd { .. } => zstd::decode(input, out, codecs),
            Self::Lz4 => lz4::decode(input, out),
            Self::Bzip2 { .. } => bzip2::decode(input, out),
            Self::Rle { cell } => rle::decode(cell, input, out),
            Self::DoubleDelta { physical } => double_delta::decode(physical.size(), input, out),
            Self::Delta { size } => delta::decode(size, input, out),
        }
    }

    /// Writes one compressed part into `out` from `at` on, and returns its end. The bytes of `out`
    /// after that end are meaningless; they are kept because growing `out` again would zero them.
    fn encode(self, input: &[u8], out: &mut Vec<u8>, at: usize, codecs: &mut Codecs) -> Kind<usize> {
        match self {
            Self::Gzip { level } => gzip::encode(input, gzip::level(level)?, out, at, codecs),
            Self::Zstd { level } => {
                append(out, at, |out| zstd::encode(input, zstd::level(level), out, codecs))
            }
            Self::Lz4 => lz4::encode(input, out, at, codecs),
            Self::Bzip2 { level } => {
                let level = bzip2::level(level)?;
                append(out, at, |out| bzip2::encode(input, level, out))
            }
            Self::Rle { cell } => append(out, at, |out| rle::encode(cell, input, out)),
            Self::DoubleDelta { physical } => {
                append(out, at, |out| double_delta::encode(physical, input, out))
            }
            Self::Delta { size } => delta::encode(size, input, out, at),
        }
    }
}

/// Lets `work` append to the first `at` bytes of `out`; returns the new end.
fn append(out: &mut Vec<u8>, at: usize, work: impl FnOnce(&mut Vec<u8>) -> Kind<()>) -> Kind<usize> {
    out.truncate(at);
    work(out)?;
    Ok(out.len())
}

/// The compressors' chunk metadata.
pub(crate) struct Block<'a> {
    /// Length of the decoded metadata.
    pub(crate) metadata_len: usize,
    /// Length of the decoded data.
    pub(crate) data_len: usize,
    metadata: &'a [[u8; 8]],
    data: &'a [[u8; 8]],
}

impl<'a> Block<'a> {
    /// Reads the block, which must be all of the metadata: compressors absorb earlier metadata.
    pub(crate) fn parse(mut block: Reader<'a>) -> Kind<Self> {
        let metadata_count = block.count_u32(8, "metadata part count")?;
        let data_count = block.count_u32(8, "data part count")?;
        let metadata = block.take(metadata_count.saturating_mul(8), "metadata parts")?.as_chunks().0;
        let data = block.take(data_count.saturating_mul(8), "data parts")?.as_chunks().0;
        block.finish("compressor metadata")?;
        Ok(Self { metadata_len: total(metadata)?, data_len: total(data)?, metadata, data })
    }

    /// Decompresses everything in `src` into `metadata` and `data`, which have the lengths of the
    /// block.
    pub(crate) fn decode(
        &self,
        codec: Codec,
        src: &[u8],
        metadata: &mut [u8],
        data: &mut [u8],
        codecs: &mut Codecs,
    ) -> Kind<()> {
        let rest = decode_parts(codec, self.metadata, src, metadata, codecs)?;
        let rest = decode_parts(codec, self.data, rest, data, codecs)?;
        if !rest.is_empty() {
            let found = to_u64(src.len());
            return Err(ErrorKind::WrongLength { expected: found.saturating_sub(to_u64(rest.len())), found });
        }
        Ok(())
    }
}

/// Original and compressed length of a part.
fn lengths(entry: [u8; 8]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = entry;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

fn total(parts: &[[u8; 8]]) -> Kind<usize> {
    let sum = parts.iter().fold(0u64, |sum, &entry| sum.saturating_add(u64::from(lengths(entry).0)));
    to_usize(sum).ok_or(ErrorKind::OverBudget { size: sum })
}

fn decode_parts<'s>(
    codec: Codec,
    parts: &[[u8; 8]],
    mut src: &'s [u8],
    mut out: &mut [u8],
    codecs: &mut Codecs,
) -> Kind<&'s [u8]> {
    for &entry in parts {
        let (original, compressed) = lengths(entry);
        let wrong =
            |found: usize| ErrorKind::WrongLength { expected: u64::from(compressed), found: to_u64(found) };
        let (input, src_rest) = to_usize(u64::from(compressed))
            .and_then(|compressed| src.split_at_checked(compressed))
            .ok_or_else(|| wrong(src.len()))?;
        let (slot, out_rest) = to_usize(u64::from(original))
            .and_then(|original| out.split_at_mut_checked(original))
            .ok_or_else(|| wrong(src.len()))?;
        codec.decode(input, slot, codecs)?;
        (src, out) = (src_rest, out_rest);
    }
    Ok(src)
}

/// Appends the block, and writes the compressed parts to the front of `out`; returns their length.
/// The most recent metadata part comes first; if there is no data, there is no data part.
pub(crate) fn encode<'a>(
    codec: Codec,
    metadata: impl ExactSizeIterator<Item = &'a [u8]>,
    data: Option<&'a [u8]>,
    block: &mut Writer,
    out: &mut Vec<u8>,
    codecs: &mut Codecs,
) -> Kind<usize> {
    block.len_u32(metadata.len(), "metadata part count")?;
    block.u32(data.is_some().into());
    let mut end = 0;
    for part in metadata.chain(data) {
        let start = end;
        end = codec.encode(part, out, start, codecs)?;
        block.len_u32(part.len(), "original length")?;
        block.len_u32(end.saturating_sub(start), "compressed length")?;
    }
    Ok(end)
}
