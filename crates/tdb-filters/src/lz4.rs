//! LZ4 (3): each part is a raw LZ4 block, without frame or size.
//!
//! Options: compressor = 3, level i32 (ignored). Framing of parts: [`crate::compress`]. Blocks are
//! decoded by `lz4_flex` and written by `lz4_block`.

use crate::error::{ErrorKind, Kind};
use crate::scratch::Codecs;

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

/// Writes one block into `out` from `at` on, and returns its end.
#[cfg(feature = "lz4")]
pub(crate) fn encode(input: &[u8], out: &mut Vec<u8>, at: usize, codecs: &mut Codecs) -> Kind<usize> {
    use crate::lz4_block::LONGEST;
    use crate::scratch::room;

    if input.len() <= LONGEST {
        let block = codecs.lz4.get_or_insert_default().compress(input);
        room(out, at, block.len()).copy_from_slice(block);
        return Ok(at.saturating_add(block.len()));
    }
    // Chunks longer than that, which contain a long cell.
    let bound = lz4_flex::block::get_maximum_output_size(input.len());
    let written = lz4_flex::block::compress_into(input, room(out, at, bound))
        .map_err(|_| ErrorKind::Compress { reason: "LZ4 output over its bound" })?;
    Ok(at.saturating_add(written))
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn decode(_: &[u8], _: &mut [u8]) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "lz4" })
}

#[cfg(not(feature = "lz4"))]
pub(crate) fn encode(_: &[u8], _: &mut Vec<u8>, _: usize, _: &mut Codecs) -> Kind<usize> {
    Err(ErrorKind::FeatureMissing { feature: "lz4" })
}

#[cfg(test)]
#[cfg(feature = "lz4")]
mod tests {
    use super::*;

    #[test]
    fn empty_input_is_one_zero_byte() {
        let mut out = Vec::new();
        let end = encode(&[], &mut out, 0, &mut Codecs::default()).unwrap();
        out.truncate(end);
        assert_eq!(out, [0]);
        decode(&out, &mut []).unwrap();
    }

    #[test]
    fn a_block_of_another_length_is_refused() {
        let mut block = Vec::new();
        let end = encode(&[7; 100], &mut block, 0, &mut Codecs::default()).unwrap();
        block.truncate(end);
        decode(&block, &mut [0; 100]).unwrap();
        assert!(decode(&block, &mut [0; 99]).is_err());
        assert!(decode(&block, &mut [0; 101]).is_err());
    }

    /// Bytes that resemble cells: runs, steps, words, noise.
    fn inputs(len: usize) -> Vec<Vec<u8>> {
        let mut noise = 1u32;
        let mut random = || {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            noise >> 16
        };
        let mut words = Vec::new();
        while words.len() < len {
            words.extend_from_slice(&b"the quick brown fox "[..(random() % 20) as usize]);
        }
        words.truncate(len);
        let steps = (0u32..).flat_map(|i| (i * 7 % 1013).to_le_bytes()).take(len).collect();
        let counts = (0..len / 4 + 1).flat_map(|_| (random() % 300 + 900).to_le_bytes()).take(len).collect();
        vec![vec![7; len], words, steps, counts, (0..len).map(|_| random().to_le_bytes()[0]).collect()]
    }

    #[test]
    fn blocks_of_all_lengths_are_decoded_and_keep_their_bound() {
        for len in (0..300).chain([1000, 65_535, 65_536, 65_537, 65_547, 200_000]) {
            for input in inputs(len) {
                let (mut out, mut codecs) = (Vec::new(), Codecs::default());
                for _ in 0..2 {
                    let end = encode(&input, &mut out, 0, &mut codecs).unwrap();
                    assert!(end <= lz4_flex::block::get_maximum_output_size(len), "{len}: {end}");
                    let mut cells = vec![0; len];
                    decode(&out[..end], &mut cells).unwrap();
                    assert_eq!(cells, input);
                }
            }
        }
    }

    /// FNV-1a.
    fn digest(bytes: &[u8]) -> u64 {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
    }

    #[test]
    fn blocks_of_chunks_have_the_bytes_of_the_c_library() {
        // Lengths and digests of the output of LZ4_compress_default of lz4 1.9.4.
        let known: [(usize, [(usize, u64); 5]); 3] = [
            (
                100,
                [
                    (11, 0xfb2e_b5b6_f713_0ed6),
                    (53, 0x7d5f_91c0_c094_2928),
                    (102, 0x8f6d_bd1c_6c48_36ae),
                    (98, 0xaca0_aa4b_a11d_9cd2),
                    (102, 0x35ea_2d0e_c647_7573),
                ],
            ),
            (
                5000,
                [
                    (30, 0xf408_22d1_f01b_76bc),
                    (1769, 0xf7b6_e61d_4337_142c),
                    (4081, 0x13bd_f530_17a1_dbf9),
                    (3601, 0xd8f4_be4f_cba8_d9c1),
                    (5021, 0xf512_b64e_7315_c6f5),
                ],
            ),
            (
                65_536,
                [
                    (267, 0x2016_a1b9_a104_1582),
                    (22_379, 0xc1bc_9b4c_dab3_ee34),
                    (4319, 0xd29f_957e_8ca7_2bfc),
                    (48_229, 0x2906_7ea3_c328_3007),
                    (65_794, 0x1c5e_a803_cd7a_18df),
                ],
            ),
        ];
        for (len, blocks) in known {
            for (input, known) in inputs(len).iter().zip(blocks) {
                let mut out = Vec::new();
                let end = encode(input, &mut out, 0, &mut Codecs::default()).unwrap();
                assert_eq!((end, digest(&out[..end])), known, "{len}");
            }
        }
    }

    /// `LZ4_compress_default` of lz4 1.9.4 writes the same blocks.
    #[test]
    fn the_last_match_begins_twelve_bytes_before_the_end() {
        let block = |input: &[u8]| {
            let mut out = Vec::new();
            let end = encode(input, &mut out, 0, &mut Codecs::default()).unwrap();
            out.truncate(end);
            out
        };
        assert_eq!(block(b"abcdabcdefghijkl"), *b"\x40abcd\x04\x00\x80efghijkl");
        assert_eq!(block(b"abcdabcdefghijk"), *b"\xf0\x00abcdabcdefghijk");
    }

    #[test]
    fn a_block_is_written_over_what_was_there_and_nothing_before_it_is_touched() {
        let mut out = vec![9; 500];
        let end = encode(&[7; 100], &mut out, 3, &mut Codecs::default()).unwrap();
        assert_eq!(out[..3], [9; 3]);
        let mut cells = [0; 100];
        decode(&out[3..end], &mut cells).unwrap();
        assert_eq!(cells, [7; 100]);
    }
}
