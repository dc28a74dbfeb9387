//! Blosc, version 1: bytes in blocks, shuffled and compressed by another codec.
//!
//! A buffer has a header of 16 bytes (version, version of the codec's format, flags, bytes of a
//! value; then the length of the bytes, of a block and of the buffer, in four bytes each), where
//! each block begins, in four bytes, and the blocks. A block has one or more streams, each behind
//! its length in four bytes; a stream that is as long as what it says is not compressed.

use tdb_filters::{shuffle_bytes, unshuffle_bytes};

use crate::blosclz;
use crate::compressed::{self, Limit};
use crate::error::Problem;
use crate::shuffle::{bitshuffled, bitunshuffled};
use crate::thresholds::BLOSC_BLOCK;

const HEADER: usize = 16;
const SHUFFLE: u8 = 0x01;
const STORED: u8 = 0x02;
const BITSHUFFLE: u8 = 0x04;
const ONE_STREAM: u8 = 0x10;
/// The most streams of a block, and the fewest values of one.
const MAX_STREAMS: usize = 16;
const MIN_VALUES: usize = 128;

/// How the bytes of values are sorted before they are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    None,
    Bytes,
    Bits,
}

/// A codec of blosc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    BloscLz,
    Lz4,
    Zlib,
    Zstd,
}

fn damaged(what: &str) -> Problem {
    Problem::damaged(format!("a blosc buffer {what}"))
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let end = at.checked_add(4)?;
    let word: [u8; 4] = bytes.get(at..end)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(word)).ok()
}

/// The bytes in a buffer.
pub(crate) fn decode(input: &[u8], limit: Limit) -> Result<Vec<u8>, Problem> {
    let short = || damaged("ends early");
    let [kind, _, flags, value] = *input.first_chunk::<4>().ok_or_else(short)?;
    let sizes = word(input, 4).zip(word(input, 8)).zip(word(input, 12)).ok_or_else(short)?;
    let ((len, block), stored) = sizes;
    if kind != 2 {
        return Err(damaged(&format!("has version {kind}, not 2")));
    }
    limit.check(len)?;
    let input = input.get(..stored).ok_or_else(short)?;
    if flags & STORED != 0 {
        let end = HEADER.checked_add(len).ok_or_else(short)?;
        return Ok(input.get(HEADER..end).ok_or_else(short)?.to_vec());
    }
    if len == 0 {
        return Ok(Vec::new());
    }
    if block == 0 || block > len {
        return Err(damaged("has blocks of a wrong length"));
    }
    let inner = match flags >> 5 {
        0 => Inner::BloscLz,
        1 => Inner::Lz4,
        3 => Inner::Zlib,
        4 => Inner::Zstd,
        2 => return Err(Problem::unsupported("blosc with snappy is not read")),
        other => return Err(damaged(&format!("has the codec {other}, which there is not"))),
    };
    let value = usize::from(value.max(1));
    let mut out = Vec::with_capacity(len);
    let mut plain = Vec::new();
    for number in 0..len.div_ceil(block) {
        let size = block.min(len - out.len());
        let begin = number.checked_mul(4).and_then(|at| word(input, at + HEADER)).ok_or_else(short)?;
        let splits = flags & ONE_STREAM == 0 && value <= MAX_STREAMS && block / value >= MIN_VALUES;
        let streams = if splits && size == block { value } else { 1 };
        plain.clear();
        let mut at = begin;
        for _ in 0..streams {
            let length = word(input, at).ok_or_else(short)?;
            let start = at + 4;
            at = start.checked_add(length).ok_or_else(short)?;
            let stream = input.get(start..at).ok_or_else(short)?;
            let each = size / streams;
            if length == each {
                plain.extend_from_slice(stream);
            } else if streams == 1 {
                // A block may be the whole buffer: it is not held twice.
                plain = unpacked(inner, stream, each)?;
            } else {
                plain.extend(unpacked(inner, stream, each)?);
            }
        }
        if plain.len() != size {
            return Err(damaged("has a block of a wrong length"));
        }
        match (flags & SHUFFLE != 0 && value > 1, flags & BITSHUFFLE != 0 && size >= value) {
            (true, _) => unshuffle_bytes(value, &plain, &mut out),
            (_, true) => bitunshuffled(&plain, value, &mut out),
            _ => out.extend_from_slice(&plain),
        }
    }
    Ok(out)
}

/// One stream, which has exactly `len` bytes.
fn unpacked(inner: Inner, stream: &[u8], len: usize) -> Result<Vec<u8>, Problem> {
    let exact = Limit::exactly(len);
    match inner {
        Inner::BloscLz => {
            let mut out = Vec::with_capacity(len);
            blosclz::decode(stream, &mut out, len).ok_or_else(|| damaged("has a damaged block"))?;
            Ok(out)
        }
        Inner::Lz4 => compressed::lz4_block(stream, len),
        Inner::Zlib => compressed::inflate(stream, exact, false),
        Inner::Zstd => compressed::unzstd(stream, exact),
    }
}

/// A buffer of bytes: all blocks have one stream each.
pub(crate) fn encode(
    bytes: &[u8],
    inner: Inner,
    level: i32,
    shuffle: Shuffle,
    value: u8,
) -> Result<Vec<u8>, Problem> {
    let too_large = || Problem::unsupported("blosc holds less than 2 GiB at once");
    let len = u32::try_from(bytes.len()).ok().filter(|len| *len <= i32::MAX.cast_unsigned() - 16);
    let len = len.ok_or_else(too_large)?;
    let size = usize::from(value.max(1));
    // Whole values, eight at a time, so that bits can be shuffled.
    let block = (BLOSC_BLOCK / (size * 8)).max(1) * size * 8;
    let block = block.min(bytes.len().max(1));
    let (flag, code) = match (inner, shuffle) {
        (Inner::BloscLz, _) => return Err(Problem::unsupported("blosc with blosclz is not written")),
        (Inner::Lz4, _) => (1, 1),
        (Inner::Zlib, _) => (3, 1),
        (Inner::Zstd, _) => (4, 1),
    };
    let sorted = match shuffle {
        Shuffle::None => 0,
        Shuffle::Bytes => SHUFFLE,
        Shuffle::Bits => BITSHUFFLE,
    };
    let mut out = vec![2, code, flag << 5 | ONE_STREAM | sorted, value.max(1)];
    out.extend(len.to_le_bytes());
    out.extend(u32::try_from(block).map_err(|_| too_large())?.to_le_bytes());
    out.extend([0; 4]);
    let blocks = bytes.len().div_ceil(block);
    out.resize(HEADER + blocks * 4, 0);
    let mut plain = Vec::new();
    for (number, part) in bytes.chunks(block).enumerate() {
        plain.clear();
        match shuffle {
            Shuffle::Bytes if size > 1 => shuffle_bytes(size, part, &mut plain),
            Shuffle::Bits if part.len() >= size => bitshuffled(part, size, &mut plain),
            _ => plain.extend_from_slice(part),
        }
        let packed = match inner {
            Inner::Lz4 => compressed::to_lz4_block(&plain)?,
            Inner::Zlib => compressed::deflate(&plain, level, false)?,
            _ => compressed::to_zstd(&plain, level)?,
        };
        let stream = if packed.len() < plain.len() { &packed } else { &plain };
        let begin = u32::try_from(out.len()).map_err(|_| too_large())?;
        let at = HEADER + number * 4;
        out.get_mut(at..at + 4).ok_or_else(too_large)?.copy_from_slice(&begin.to_le_bytes());
        out.extend(u32::try_from(stream.len()).map_err(|_| too_large())?.to_le_bytes());
        out.extend_from_slice(stream);
    }
    if out.len() >= bytes.len() + HEADER {
        // It is shorter without any compression.
        out.truncate(HEADER);
        if let Some(flags) = out.get_mut(2) {
            *flags |= STORED;
        }
        out.extend_from_slice(bytes);
    }
    let stored = u32::try_from(out.len()).map_err(|_| too_large())?;
    out.get_mut(12..16).ok_or_else(too_large)?.copy_from_slice(&stored.to_le_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Vec<Vec<u8>> {
        let mut noise = 1u32;
        let mut random = move || {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            noise.to_be_bytes()[0]
        };
        [0usize, 1, 7, 1000, 300_001, 600_000]
            .into_iter()
            .flat_map(|len| {
                let numbers: Vec<u8> = (0..len).map(|at| (at / 8).to_le_bytes()[at % 8]).collect();
                [numbers, (0..len).map(|_| random()).collect()]
            })
            .collect()
    }

    #[test]
    fn what_was_encoded_is_decoded_with_every_codec_and_shuffle() {
        for input in inputs() {
            for inner in [Inner::Lz4, Inner::Zlib, Inner::Zstd] {
                for shuffle in [Shuffle::None, Shuffle::Bytes, Shuffle::Bits] {
                    for value in [1, 3, 8] {
                        let buffer = encode(&input, inner, 5, shuffle, value).unwrap();
                        let back = decode(&buffer, Limit::exactly(input.len())).unwrap();
                        assert!(back == input, "{} {inner:?} {shuffle:?} {value}", input.len());
                    }
                }
            }
        }
    }

    #[test]
    fn damage_never_panics_and_never_makes_more_than_was_allowed() {
        let input: Vec<u8> = (0..4000u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        for inner in [Inner::Lz4, Inner::Zlib, Inner::Zstd] {
            let buffer = encode(&input, inner, 5, Shuffle::Bytes, 4).unwrap();
            assert!(decode(&buffer, Limit::exactly(input.len() - 1)).is_err());
            for len in 0..buffer.len() {
                assert!(decode(&buffer[..len], Limit::exactly(input.len())).is_err());
            }
            for at in 0..buffer.len().min(400) {
                for change in [1, 0x80, 0xff] {
                    let mut changed = buffer.clone();
                    changed[at] ^= change;
                    if let Ok(out) = decode(&changed, Limit::at_most(input.len() * 2)) {
                        assert!(out.len() <= input.len() * 2);
                    }
                }
            }
        }
        let snappy = [2, 1, 0x51, 4, 8, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0, 0];
        assert!(decode(&snappy, Limit::exactly(8)).unwrap_err().to_string().contains("snappy"));
    }
}
