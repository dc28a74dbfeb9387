//! ZSTD (2): each part is one Zstandard frame with its content size, no prefix (section 6.6).
//!
//! Options: compressor = 2, level i32 (−7 to 22; below −7 counts as 3; −1 is zstd's own fast level −1).
//! Framing of parts: [`crate::compress`].

use crate::error::{ErrorKind, Kind};
use crate::scratch::Codecs;

/// The level an encoder uses; zstd itself clamps levels above its maximum.
pub(crate) const fn level(level: i32) -> i32 {
    if level < -7 { 3 } else { level }
}

/// Decompresses one part, which must fill `out` exactly.
#[cfg(feature = "zstd")]
pub(crate) fn decode(input: &[u8], out: &mut [u8], codecs: &mut Codecs) -> Kind<()> {
    use tdb_codec::to_u64;

    if codecs.zstd_decoder.is_none() {
        codecs.zstd_decoder = zstd_safe::DCtx::try_create();
    }
    let Some(decoder) = codecs.zstd_decoder.as_mut() else {
        return Err(ErrorKind::CorruptStream { reason: "no memory for zstd" });
    };
    let written = decoder
        .decompress(out, input)
        .map_err(|code| ErrorKind::CorruptStream { reason: zstd_safe::get_error_name(code) })?;
    if written != out.len() {
        return Err(ErrorKind::WrongLength { expected: to_u64(out.len()), found: to_u64(written) });
    }
    Ok(())
}

/// Appends one frame.
#[cfg(feature = "zstd")]
pub(crate) fn encode(input: &[u8], level: i32, out: &mut Vec<u8>, codecs: &mut Codecs) -> Kind<()> {
    use tdb_codec::to_u64;

    if codecs.zstd_encoder.is_none() {
        codecs.zstd_encoder = zstd_safe::CCtx::try_create();
    }
    let Some(encoder) = codecs.zstd_encoder.as_mut() else {
        return Err(ErrorKind::Compress { reason: "no memory for zstd" });
    };
    // Into the vector's spare room, which need not be zeroed first: zstd-safe sets the length to what was written.
    out.reserve(zstd_safe::compress_bound(input.len()));
    let mut end = std::io::Cursor::new(&mut *out);
    end.set_position(to_u64(end.get_ref().len()));
    encoder
        .compress(&mut end, input, level)
        .map_err(|code| ErrorKind::Compress { reason: zstd_safe::get_error_name(code) })?;
    Ok(())
}

#[cfg(not(feature = "zstd"))]
pub(crate) fn decode(_: &[u8], _: &mut [u8], _: &mut Codecs) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "zstd" })
}

#[cfg(not(feature = "zstd"))]
pub(crate) fn encode(_: &[u8], _: i32, _: &mut Vec<u8>, _: &mut Codecs) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "zstd" })
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use super::*;

    #[test]
    fn frames_start_with_the_magic_number_and_the_empty_frame_has_nine_bytes() {
        let mut out = Vec::new();
        encode(&[], -1, &mut out, &mut Codecs::default()).unwrap();
        assert_eq!(out.len(), 9);
        assert_eq!(out[..4], [0x28, 0xb5, 0x2f, 0xfd]);
        decode(&out, &mut [], &mut Codecs::default()).unwrap();
    }

    #[test]
    fn a_frame_of_another_length_is_refused() {
        let mut codecs = Codecs::default();
        let mut frame = Vec::new();
        encode(b"0123456789", 3, &mut frame, &mut codecs).unwrap();
        assert!(decode(&frame, &mut [0; 9], &mut codecs).is_err());
        let error = decode(&frame, &mut [0; 11], &mut codecs).unwrap_err();
        assert_eq!(error, ErrorKind::WrongLength { expected: 11, found: 10 });
        frame.push(0);
        assert!(decode(&frame, &mut [0; 10], &mut codecs).is_err());
    }

    #[test]
    fn only_levels_below_minus_seven_count_as_three() {
        assert_eq!((level(-7), level(-8), level(22)), (-7, 3, 22));
    }
    #[test]
    fn frames_are_appended() {
        let mut codecs = Codecs::default();
        let mut out = vec![9; 3];
        encode(b"0123456789", 3, &mut out, &mut codecs).unwrap();
        assert_eq!(out[..3], [9; 3]);
        let mut cells = [0; 10];
        decode(&out[3..], &mut cells, &mut codecs).unwrap();
        assert_eq!(cells, *b"0123456789");
    }
}
