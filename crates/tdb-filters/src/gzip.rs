//! GZIP (1): each part is a zlib stream (RFC 1950, header `78 xx`, Adler-32), not a gzip file.
//!
//! Options: compressor = 1, level i32 (0 to 9; negative = 6). Framing of parts:
//! [`crate::compress`].
//!
//! Levels are those of zlib, as in libtiledb. zlib-rs follows zlib-ng, whose level 1 is a different
//! strategy with output up to 2.1 times as large as zlib's. Level 1 is therefore encoded at level
//! 2, whose output is within 4 % of zlib's level 1 on eight kinds of data (the header is then
//! `78 5e` instead of `78 01`; no decoder checks it). The output of levels 0, 5 to 9 and the
//! default is at most 3 % larger than zlib's, and that of levels 2, 3 and 4 at most 11 %.

use crate::error::{ErrorKind, Kind};
use crate::scratch::Codecs;

/// The level an encoder uses.
///
/// # Errors
/// If the level is over 9, as in libtiledb.
pub(crate) fn level(level: i32) -> Kind<u32> {
    match level {
        10.. => Err(ErrorKind::InvalidOption { value: i64::from(level) }),
        level => Ok(u32::try_from(level).unwrap_or(6)),
    }
}

/// The level of zlib-rs whose output is about as small as that of zlib's `level`: it has another
/// strategy for level 1, whose output is up to twice as large.
#[cfg(feature = "gzip")]
#[must_use]
pub const fn zlib_level(level: u32) -> u32 {
    if level == 1 { 2 } else { level }
}

/// Inflates one stream, which must fill `out` exactly and use up `input`.
#[cfg(feature = "gzip")]
pub(crate) fn decode(input: &[u8], out: &mut [u8], codecs: &mut Codecs) -> Kind<()> {
    use flate2::{Decompress, FlushDecompress, Status};
    use tdb_codec::to_u64;

    let inflate = codecs.inflate.get_or_insert_with(|| Decompress::new(true));
    inflate.reset(true);
    match inflate.decompress(input, out, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => {}
        // Out of input or out of space for output: there are no further buffers.
        Ok(Status::Ok | Status::BufError) => {
            return Err(ErrorKind::CorruptStream { reason: "no end of the zlib stream within its length" });
        }
        Err(_) => return Err(ErrorKind::CorruptStream { reason: "not a valid zlib stream" }),
    }
    let (read, written) = (inflate.total_in(), inflate.total_out());
    if written != to_u64(out.len()) {
        return Err(ErrorKind::WrongLength { expected: to_u64(out.len()), found: written });
    }
    if read != to_u64(input.len()) {
        return Err(ErrorKind::CorruptStream { reason: "bytes after the end of the zlib stream" });
    }
    Ok(())
}

/// Writes one stream into `out` from `at` on, and returns its end.
#[cfg(feature = "gzip")]
pub(crate) fn encode(
    input: &[u8],
    level: u32,
    out: &mut Vec<u8>,
    at: usize,
    codecs: &mut Codecs,
) -> Kind<usize> {
    use flate2::{Compress, Compression, FlushCompress, Status};
    use tdb_codec::to_usize;

    use crate::scratch::room;

    let level = zlib_level(level);
    let same = codecs.deflate.take().filter(|(of, _)| *of == level);
    let (_, deflate) =
        codecs.deflate.insert(same.unwrap_or_else(|| (level, Compress::new(Compression::new(level), true))));
    deflate.reset();
    // zlib's own bound: stored blocks of at most 16 KiB, header and trailer.
    let mut left = input.len().saturating_add(input.len() >> 12).saturating_add(64);
    loop {
        let rest = to_usize(deflate.total_in()).and_then(|read| input.get(read..)).unwrap_or_default();
        let end = to_usize(deflate.total_out()).unwrap_or(usize::MAX).saturating_add(at);
        let status = deflate
            .compress(rest, room(out, end, left), FlushCompress::Finish)
            .map_err(|_| ErrorKind::Compress { reason: "zlib failed" })?;
        if status == Status::StreamEnd {
            return Ok(to_usize(deflate.total_out()).unwrap_or(usize::MAX).saturating_add(at));
        }
        left = 1024;
    }
}

#[cfg(not(feature = "gzip"))]
pub(crate) fn decode(_: &[u8], _: &mut [u8], _: &mut Codecs) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "gzip" })
}

#[cfg(not(feature = "gzip"))]
pub(crate) fn encode(_: &[u8], _: u32, _: &mut Vec<u8>, _: usize, _: &mut Codecs) -> Kind<usize> {
    Err(ErrorKind::FeatureMissing { feature: "gzip" })
}

#[cfg(all(test, feature = "gzip"))]
mod tests {
    use super::*;

    #[test]
    fn the_empty_stream_is_the_reference_s() {
        let mut out = Vec::new();
        let end = encode(&[], 6, &mut out, 0, &mut Codecs::default()).unwrap();
        out.truncate(end);
        // The FLEVEL bits of the second byte follow the level; the reference's 9c is level 6.
        assert_eq!(out, [0x78, 0x9c, 0x03, 0, 0, 0, 0, 1]);
        decode(&out, &mut [], &mut Codecs::default()).unwrap();
    }

    #[test]
    fn a_stream_that_is_longer_shorter_or_followed_by_bytes_is_refused() {
        let mut codecs = Codecs::default();
        let mut stream = Vec::new();
        let end = encode(b"0123456789", 1, &mut stream, 0, &mut codecs).unwrap();
        stream.truncate(end);
        assert!(decode(&stream, &mut [0; 9], &mut codecs).is_err());
        let error = decode(&stream, &mut [0; 11], &mut codecs).unwrap_err();
        assert_eq!(error, ErrorKind::WrongLength { expected: 11, found: 10 });
        stream.push(0);
        assert!(decode(&stream, &mut [0; 10], &mut codecs).is_err());
    }

    #[test]
    fn no_level_leaves_more_than_zlib_s_and_a_tenth() {
        // Output lengths of zlib 1.2.13 at levels 0 to 9 for these bytes.
        const ZLIB: [usize; 10] = [65552, 24475, 24438, 21461, 22262, 21550, 18953, 18479, 18413, 18168];
        let (mut x, mut input) = (1u64, Vec::new());
        for i in 0..16_384u32 {
            x = (x * 1_103_515_245 + 12345) % (1 << 31);
            let noise = u32::try_from((x >> 16) % 8).unwrap();
            input.extend((1000 + (i * i / 5000) % 300 + noise).to_le_bytes());
        }
        let mut codecs = Codecs::default();
        for (stored, zlib) in (0..).zip(ZLIB) {
            let mut out = Vec::new();
            let end = encode(&input, level(stored).unwrap(), &mut out, 0, &mut codecs).unwrap();
            assert!(end * 10 <= zlib * 11, "level {stored}: {end} bytes, zlib {zlib}");
            out.truncate(end);
            let mut back = vec![0; input.len()];
            decode(&out, &mut back, &mut codecs).unwrap();
            assert_eq!(back, input);
        }
    }

    #[test]
    fn levels_over_nine_are_refused_and_negative_ones_are_the_default() {
        assert_eq!(level(-1), Ok(6));
        assert_eq!(level(0), Ok(0));
        assert_eq!(level(10), Err(ErrorKind::InvalidOption { value: 10 }));
    }
}
