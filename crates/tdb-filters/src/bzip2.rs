//! BZIP2 (5): each part is a `BZh` stream.
//!
//! Options: compressor = 5, level i32 (block size in 100 kB, 1 to 9; below 1 counts as 1). Framing
//! of parts: [`crate::compress`].

use crate::error::{ErrorKind, Kind};

/// The level an encoder uses.
///
/// # Errors
/// If the level is over 9.
pub(crate) fn level(level: i32) -> Kind<u32> {
    match level {
        10.. => Err(ErrorKind::InvalidOption { value: i64::from(level) }),
        level => Ok(u32::try_from(level).unwrap_or(1).max(1)),
    }
}

/// Decompresses one stream, which must fill `out` exactly and use up `input`.
#[cfg(feature = "bzip2")]
pub(crate) fn decode(input: &[u8], out: &mut [u8]) -> Kind<()> {
    use bzip2::{Decompress, Status};
    use tdb_codec::{to_u64, to_usize};

    let mut stream = Decompress::new(false);
    // The decoder recognises the end of the stream only if it is asked for more than the output, so
    // it gets one more byte of space.
    let mut spare = [0u8; 1];
    loop {
        let (read, written) = (stream.total_in(), stream.total_out());
        let rest = to_usize(read).and_then(|read| input.get(read..)).unwrap_or_default();
        let room = to_usize(written).and_then(|written| out.get_mut(written..)).unwrap_or_default();
        let room = if room.is_empty() { &mut spare[..] } else { room };
        let status = stream
            .decompress(rest, room)
            .map_err(|_| ErrorKind::CorruptStream { reason: "not a valid bzip2 stream" })?;
        if stream.total_out() > to_u64(out.len()) {
            return Err(ErrorKind::WrongLength { expected: to_u64(out.len()), found: stream.total_out() });
        }
        if status == Status::StreamEnd {
            break;
        }
        if (stream.total_in(), stream.total_out()) == (read, written) {
            return Err(ErrorKind::CorruptStream { reason: "no end of the bzip2 stream within its length" });
        }
    }
    if stream.total_out() != to_u64(out.len()) {
        return Err(ErrorKind::WrongLength { expected: to_u64(out.len()), found: stream.total_out() });
    }
    if stream.total_in() != to_u64(input.len()) {
        return Err(ErrorKind::CorruptStream { reason: "bytes after the end of the bzip2 stream" });
    }
    Ok(())
}

/// Appends one stream.
#[cfg(feature = "bzip2")]
pub(crate) fn encode(input: &[u8], level: u32, out: &mut Vec<u8>) -> Kind<()> {
    use bzip2::{Action, Compress, Compression, Status};
    use tdb_codec::to_usize;

    let mut stream = Compress::new(Compression::new(level), 30);
    out.reserve(input.len().saturating_add(input.len() / 100).saturating_add(600));
    loop {
        let rest = to_usize(stream.total_in()).and_then(|read| input.get(read..)).unwrap_or_default();
        let status = stream
            .compress_vec(rest, out, Action::Finish)
            .map_err(|_| ErrorKind::Compress { reason: "bzip2 failed" })?;
        if status == Status::StreamEnd {
            return Ok(());
        }
        out.reserve(1024);
    }
}

#[cfg(not(feature = "bzip2"))]
pub(crate) fn decode(_: &[u8], _: &mut [u8]) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "bzip2" })
}

#[cfg(not(feature = "bzip2"))]
pub(crate) fn encode(_: &[u8], _: u32, _: &mut Vec<u8>) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "bzip2" })
}

#[cfg(all(test, feature = "bzip2"))]
mod tests {
    use super::*;

    #[test]
    fn streams_start_with_their_magic_and_fill_the_output_exactly() {
        for len in [0usize, 1, 1000] {
            let input = vec![b'x'; len];
            let mut stream = Vec::new();
            encode(&input, 1, &mut stream).unwrap();
            assert_eq!(stream[..4], *b"BZh1");
            let mut out = vec![0; len];
            decode(&stream, &mut out).unwrap();
            assert_eq!(out, input);
            assert!(decode(&stream, &mut vec![0; len + 1]).is_err());
            if len > 0 {
                assert!(decode(&stream, &mut vec![0; len - 1]).is_err());
            }
            stream.push(0);
            assert!(decode(&stream, &mut out).is_err());
        }
    }

    #[test]
    fn levels_below_one_count_as_one() {
        assert_eq!((level(-1), level(0), level(9)), (Ok(1), Ok(1), Ok(9)));
        assert!(level(10).is_err());
    }
}
