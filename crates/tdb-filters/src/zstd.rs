//! ZSTD (2): each part is one Zstandard frame with its content size, without a prefix.
//!
//! Options: compressor = 2, level i32 (−7 to 22; below −7 counts as 3; −1 is zstd's own fast level
//! −1). Framing of parts: [`crate::compress`]. The libraries that write and read frames:
//! `zstd_library`.

use crate::error::{ErrorKind, Kind};
use crate::scratch::Codecs;
#[cfg(any(feature = "zstd", feature = "zstd-rust"))]
use crate::zstd_library as library;

/// The level an encoder uses; zstd itself clamps levels above its maximum.
pub(crate) const fn level(level: i32) -> i32 {
    if level < -7 { 3 } else { level }
}

/// Decompresses one part, which must fill `out` exactly.
#[cfg(any(feature = "zstd", feature = "zstd-rust"))]
pub(crate) fn decode(input: &[u8], out: &mut [u8], codecs: &mut Codecs) -> Kind<()> {
    use tdb_codec::to_u64;

    let written = library::decode(input, out, &mut codecs.zstd)?;
    if written != out.len() {
        return Err(ErrorKind::WrongLength { expected: to_u64(out.len()), found: to_u64(written) });
    }
    Ok(())
}

/// Appends one frame.
#[cfg(any(feature = "zstd", feature = "zstd-rust"))]
pub(crate) fn encode(input: &[u8], level: i32, out: &mut Vec<u8>, codecs: &mut Codecs) -> Kind<()> {
    library::encode(input, level, out, &mut codecs.zstd)
}

#[cfg(not(any(feature = "zstd", feature = "zstd-rust")))]
pub(crate) fn decode(_: &[u8], _: &mut [u8], _: &mut Codecs) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "zstd" })
}

#[cfg(not(any(feature = "zstd", feature = "zstd-rust")))]
pub(crate) fn encode(_: &[u8], _: i32, _: &mut Vec<u8>, _: &mut Codecs) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "zstd" })
}

#[cfg(all(test, any(feature = "zstd", feature = "zstd-rust")))]
mod tests {
    use super::*;
    #[cfg(all(feature = "zstd", feature = "zstd-rust"))]
    use crate::zstd_library::{c, rust};

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

    /// Runs, text, numbers and noise, from no bytes to several blocks of 128 KiB.
    #[cfg(all(feature = "zstd", feature = "zstd-rust"))]
    #[expect(clippy::indexing_slicing, reason = "a helper of tests")]
    fn inputs() -> Vec<Vec<u8>> {
        let mut noise = 1u32;
        let mut random = || {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            noise.to_be_bytes()[0]
        };
        let mut inputs = Vec::new();
        for len in [0usize, 1, 7, 100, 1000, 65536, 300_000] {
            inputs.push(vec![7; len]);
            inputs.push((0..len).map(|_| random()).collect());
            inputs.push((0..len).map(|i| b"the quick brown fox "[i % 20] ^ (random() & 1)).collect());
            inputs.push((0..len).map(|i| (i / 4).to_le_bytes()[i % 4]).collect());
        }
        inputs
    }

    #[cfg(all(feature = "zstd", feature = "zstd-rust"))]
    #[test]
    fn each_library_decodes_the_other_s_frames() {
        let (mut of_c, mut of_rust) = (c::Contexts::default(), rust::Contexts::default());
        for input in inputs() {
            let mut back = vec![0; input.len()];
            for level in [-7, -1, 0, 1, 3, 4, 9, 19] {
                let mut frame = Vec::new();
                c::encode(&input, level, &mut frame, &mut of_c).unwrap();
                assert_eq!(rust::decode(&frame, &mut back, &mut of_rust), Ok(input.len()));
                assert_eq!(back, input, "C at level {level}");
                back.fill(0);
                frame.clear();
                rust::encode(&input, level, &mut frame, &mut of_rust).unwrap();
                assert_eq!(c::decode(&frame, &mut back, &mut of_c), Ok(input.len()));
                assert_eq!(back, input, "Rust at level {level}");
                back.fill(0);
            }
        }
    }

    #[cfg(all(feature = "zstd", feature = "zstd-rust"))]
    #[test]
    fn both_libraries_refuse_cut_frames_and_stop_at_the_length_they_were_given() {
        let (mut of_c, mut of_rust) = (c::Contexts::default(), rust::Contexts::default());
        let input = vec![0; 1 << 20];
        let mut frame = Vec::new();
        c::encode(&input, 3, &mut frame, &mut of_c).unwrap();
        for len in [0, 10, 1 << 19] {
            assert!(c::decode(&frame, &mut vec![0; len], &mut of_c).is_err());
            assert!(rust::decode(&frame, &mut vec![0; len], &mut of_rust).is_err());
        }
        for len in 1..frame.len() {
            assert!(c::decode(&frame[..len], &mut vec![0; 1 << 20], &mut of_c).is_err());
            assert!(rust::decode(&frame[..len], &mut vec![0; 1 << 20], &mut of_rust).is_err(), "{len}");
        }
    }

    #[cfg(all(feature = "zstd", feature = "zstd-rust"))]
    #[test]
    fn both_libraries_read_the_same_out_of_a_changed_frame_or_refuse_it() {
        let (mut of_c, mut of_rust) = (c::Contexts::default(), rust::Contexts::default());
        let input: Vec<u8> = (0..2000u32).flat_map(|i| (i * i / 7).to_le_bytes()).collect();
        let (mut both, mut refused) = (0, 0);
        for level in [-1, 3, 12] {
            let mut frame = Vec::new();
            c::encode(&input, level, &mut frame, &mut of_c).unwrap();
            for at in 0..frame.len() {
                for change in [1, 0x80, 0xff] {
                    frame[at] ^= change;
                    let (mut a, mut b) = (vec![0; input.len()], vec![0; input.len()]);
                    let found =
                        (c::decode(&frame, &mut a, &mut of_c), rust::decode(&frame, &mut b, &mut of_rust));
                    match found {
                        (Ok(c), Ok(rust)) => {
                            assert_eq!((c, &a[..c]), (rust, &b[..rust]), "byte {at} of level {level}");
                            both += 1;
                        }
                        _ => refused += 1,
                    }
                    frame[at] ^= change;
                }
            }
        }
        assert!(both > 100 && refused > 100, "{both} {refused}");
    }
}
