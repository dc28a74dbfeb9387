//! LZ4 (3): each part is a raw LZ4 block, without frame or size (section 6.6).
//!
//! Options: compressor = 3, level i32 (ignored). Framing of parts: [`crate::compress`].

use crate::error::{ErrorKind, Kind};

/// Decompresses one block, which must fill `out` exactly.
#[cfg(feature = "lz4")]
pub(crate) fn decode(input: &[u8], out: &mut [u8]) -> Kind<()> {
    use tdb_codec::to_u64;

    let written = lz4_flex::block::decompress_into(input, out)
        .map_err(|_| ErrorKind::CorruptStream { reason: "not a valid LZ4 block of this length" })?;
    if written != out.len() {
        return Err(ErrorKind::WrongLength { expected: to_u64(out.len()), found: to_u64(written) });
    }
    Ok(())
}

/// Appends one block.
#[cfg(feature = "lz4")]
pub(crate) fn encode(input: &[u8], out: &mut Vec<u8>) -> Kind<()> {
    let start = out.len();
    let bound = lz4_flex::block::get_maximum_output_size(input.len());
    out.resize(start.saturating_add(bound), 0);
    let room = out.get_mut(start..).unwrap_or_default();
    let written = lz4_flex::block::compress_into(input, room)
        .map_err(|_| ErrorKind::Compress { reason: "LZ4 output over its bound" })?;
    out.truncate(start.saturating_add(written));
    Ok(())
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn decode(_: &[u8], _: &mut [u8]) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "lz4" })
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn encode(_: &[u8], _: &mut Vec<u8>) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "lz4" })
}

#[cfg(all(test, feature = "lz4"))]
mod tests {
    use super::*;

    #[test]
    fn empty_input_is_one_zero_byte() {
        let mut out = Vec::new();
        encode(&[], &mut out).unwrap();
        assert_eq!(out, [0]);
        decode(&out, &mut []).unwrap();
    }

    #[test]
    fn a_block_of_another_length_is_refused() {
        let mut block = Vec::new();
        encode(&[7; 100], &mut block).unwrap();
        decode(&block, &mut [0; 100]).unwrap();
        assert!(decode(&block, &mut [0; 99]).is_err());
        assert!(decode(&block, &mut [0; 101]).is_err());
    }
}
