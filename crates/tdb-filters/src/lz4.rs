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

/// Writes one block into `out` from `at` on, and returns where it ends.
#[cfg(feature = "lz4")]
pub(crate) fn encode(input: &[u8], out: &mut Vec<u8>, at: usize) -> Kind<usize> {
    let bound = lz4_flex::block::get_maximum_output_size(input.len());
    let written = lz4_flex::block::compress_into(input, crate::scratch::room(out, at, bound))
        .map_err(|_| ErrorKind::Compress { reason: "LZ4 output over its bound" })?;
    Ok(at.saturating_add(written))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn decode(_: &[u8], _: &mut [u8]) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "lz4" })
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn encode(_: &[u8], _: &mut Vec<u8>, _: usize) -> Kind<usize> {
    Err(ErrorKind::FeatureMissing { feature: "lz4" })
}

#[cfg(all(test, feature = "lz4"))]
mod tests {
    use super::*;

    #[test]
    fn empty_input_is_one_zero_byte() {
        let mut out = Vec::new();
        let end = encode(&[], &mut out, 0).unwrap();
        out.truncate(end);
        assert_eq!(out, [0]);
        decode(&out, &mut []).unwrap();
    }

    #[test]
    fn a_block_of_another_length_is_refused() {
        let mut block = Vec::new();
        let end = encode(&[7; 100], &mut block, 0).unwrap();
        block.truncate(end);
        decode(&block, &mut [0; 100]).unwrap();
        assert!(decode(&block, &mut [0; 99]).is_err());
        assert!(decode(&block, &mut [0; 101]).is_err());
    }
    #[test]
    fn a_block_is_written_over_what_was_there_and_nothing_before_it_is_touched() {
        let mut out = vec![9; 500];
        let end = encode(&[7; 100], &mut out, 3).unwrap();
        assert_eq!(out[..3], [9; 3]);
        let mut cells = [0; 100];
        decode(&out[3..end], &mut cells).unwrap();
        assert_eq!(cells, [7; 100]);
    }
}
