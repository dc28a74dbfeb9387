//! The candidates: each encodes a chunk into a buffer, and decodes it into a slice of its length.

use std::io::Cursor;

/// Encodes into the buffer; gives the length written.
type Encode = Box<dyn FnMut(&[u8], &mut [u8]) -> usize>;
/// Fills the slice from a stream.
type Decode = Box<dyn FnMut(&[u8], &mut [u8])>;

/// A way to encode and decode.
pub struct Candidate {
    pub name: &'static str,
    pub encode: Encode,
    pub decode: Option<Decode>,
}

fn candidate(
    name: &'static str,
    encode: impl FnMut(&[u8], &mut [u8]) -> usize + 'static,
    decode: impl FnMut(&[u8], &mut [u8]) + 'static,
) -> Candidate {
    Candidate { name, encode: Box::new(encode), decode: Some(Box::new(decode)) }
}

/// A family: its name, and its candidates, the one tdb uses first.
type Family = (&'static str, fn() -> Vec<Candidate>);

/// All families.
pub fn families() -> [Family; 8] {
    [
        ("gzip", gzip),
        ("zstd", zstd),
        ("lz4", lz4),
        ("bzip2", bzip2),
        ("sha256", sha256),
        ("md5", md5),
        ("aes-256-gcm", aes_gcm),
        ("webp", webp),
    ]
}

fn gzip() -> Vec<Candidate> {
    use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
    use libdeflater::{CompressionLvl, Compressor, Decompressor};
    use miniz_oxide::deflate::core::{CompressorOxide, create_comp_flags_from_zip_params};
    use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

    const LEVEL: u32 = 6;
    let mut deflate = Compress::new(Compression::new(LEVEL), true);
    let mut inflate = Decompress::new(true);
    let flags = create_comp_flags_from_zip_params(6, 15, 0);
    let mut oxide = Box::new(CompressorOxide::new(flags));
    let mut unoxide = Box::new(DecompressorOxide::new());
    let mut libdeflate = Compressor::new(CompressionLvl::new(6).expect("a level"));
    let mut libinflate = Decompressor::new();
    vec![
        candidate(
            if cfg!(feature = "zlib-ng") { "flate2, zlib-ng (C)" } else { "flate2, zlib-rs" },
            move |input, out| {
                deflate.reset();
                deflate.compress(input, out, FlushCompress::Finish).expect("compresses");
                deflate.total_out() as usize
            },
            move |input, out| {
                inflate.reset(true);
                inflate.decompress(input, out, FlushDecompress::Finish).expect("decompresses");
            },
        ),
        candidate(
            "miniz_oxide",
            move |input, out| {
                oxide.reset();
                let flush = miniz_oxide::MZFlush::Finish;
                miniz_oxide::deflate::stream::deflate(&mut oxide, input, out, flush).bytes_written
            },
            move |input, out| {
                unoxide.init();
                let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
                    | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
                decompress(&mut unoxide, input, out, 0, flags);
            },
        ),
        candidate(
            "libdeflate (C)",
            move |input, out| libdeflate.zlib_compress(input, out).expect("compresses"),
            move |input, out| {
                libinflate.zlib_decompress(input, out).expect("decompresses");
            },
        ),
    ]
}

fn zstd() -> Vec<Candidate> {
    const LEVEL: i32 = 3;
    let mut encoder = zstd_safe::CCtx::create();
    let mut decoder = zstd_safe::DCtx::create();
    let mut ruzstd = ruzstd::decoding::FrameDecoder::new();
    let mut zip = zrip::CompressContext::new(LEVEL).expect("a level");
    let mut unzip = zrip::DecompressContext::new();
    let mut decoded = Vec::new();
    vec![
        candidate(
            "zstd-safe (C)",
            move |input, out| encoder.compress(out, input, LEVEL).expect("compresses"),
            move |input, out| {
                decoder.decompress(out, input).expect("decompresses");
            },
        ),
        candidate(
            "zrip",
            move |input, out| {
                let stream = zip.compress(input).expect("compresses");
                out[..stream.len()].copy_from_slice(&stream);
                stream.len()
            },
            move |input, out| {
                decoded.clear();
                unzip.decompress_into(input, &mut decoded).expect("decompresses");
                out.copy_from_slice(&decoded);
            },
        ),
        candidate(
            "ruzstd (encodes at its own fastest)",
            |input, out| {
                let level = ruzstd::encoding::CompressionLevel::Fastest;
                let mut cursor = Cursor::new(out);
                ruzstd::encoding::compress(input, &mut cursor, level);
                cursor.position() as usize
            },
            move |input, out| {
                ruzstd.decode_all(input, out).expect("decompresses");
            },
        ),
    ]
}

fn lz4() -> Vec<Candidate> {
    vec![
        candidate(
            "lz4_flex, safe",
            |input, out| lz4_flex::block::compress_into(input, out).expect("compresses"),
            |input, out| {
                lz4_flex::block::decompress_into(input, out).expect("decompresses");
            },
        ),
        candidate(
            "lz4_flex 0.13, unsafe",
            |input, out| lz4_flex_unsafe::block::compress_into(input, out).expect("compresses"),
            |input, out| {
                lz4_flex_unsafe::block::decompress_into(input, out).expect("decompresses");
            },
        ),
        candidate(
            "lz4 (C)",
            |input, out| lz4::block::compress_to_buffer(input, None, false, out).expect("compresses"),
            |input, out| {
                let len = i32::try_from(out.len()).ok();
                lz4::block::decompress_to_buffer(input, len, out).expect("decompresses");
            },
        ),
    ]
}

fn bzip2() -> Vec<Candidate> {
    macro_rules! with {
        ($name:literal, $bzip2:ident) => {
            candidate(
                $name,
                |input, out| {
                    let mut stream = $bzip2::Compress::new($bzip2::Compression::new(9), 30);
                    stream.compress(input, out, $bzip2::Action::Finish).expect("compresses");
                    stream.total_out() as usize
                },
                |input, out| {
                    let mut stream = $bzip2::Decompress::new(false);
                    stream.decompress(input, out).expect("decompresses");
                },
            )
        };
    }
    vec![with!("bzip2, libbz2-rs", bzip2), with!("bzip2 0.5, libbz2 (C)", bzip2_c)]
}

fn digest(name: &'static str, digest: impl Fn(&[u8], &mut [u8]) -> usize + 'static) -> Candidate {
    Candidate { name, encode: Box::new(digest), decode: None }
}

/// Writes a digest; gives its length.
fn put(digest: &[u8], out: &mut [u8]) -> usize {
    out[..digest.len()].copy_from_slice(digest);
    digest.len()
}

fn sha256() -> Vec<Candidate> {
    use sha2::Digest;
    vec![
        digest("sha2", |input, out| put(&sha2::Sha256::digest(input), out)),
        digest("ring (C)", |input, out| put(ring::digest::digest(&ring::digest::SHA256, input).as_ref(), out)),
        digest("aws-lc-rs (C)", |input, out| {
            put(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, input).as_ref(), out)
        }),
    ]
}

fn md5() -> Vec<Candidate> {
    use md_5::Digest;
    vec![
        digest("md-5", |input, out| put(&md_5::Md5::digest(input), out)),
        digest("md5", |input, out| put(&md5::compute(input).0, out)),
    ]
}

fn aes_gcm() -> Vec<Candidate> {
    use aes_gcm::{AeadInOut, Aes256Gcm, KeyInit};

    const KEY: [u8; 32] = [7; 32];
    const NONCE: [u8; 12] = [1; 12];
    /// The ciphertext and its tag.
    fn seal(input: &[u8], out: &mut [u8], seal: impl FnOnce(&mut [u8]) -> [u8; 16]) -> usize {
        let (text, rest) = out.split_at_mut(input.len());
        text.copy_from_slice(input);
        rest[..16].copy_from_slice(&seal(text));
        input.len() + 16
    }
    macro_rules! ring {
        ($name:literal, $ring:ident) => {{
            use $ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
            let key = || LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &KEY).expect("a key"));
            let (sealing, opening) = (key(), key());
            let mut room = Vec::new();
            candidate(
                $name,
                move |input, out| {
                    seal(input, out, |text| {
                        let nonce = Nonce::assume_unique_for_key(NONCE);
                        let tag = sealing.seal_in_place_separate_tag(nonce, Aad::empty(), text);
                        tag.expect("encrypts").as_ref().try_into().expect("16 bytes")
                    })
                },
                move |input, out| {
                    room.clear();
                    room.extend_from_slice(input);
                    let nonce = Nonce::assume_unique_for_key(NONCE);
                    let text = opening.open_in_place(nonce, Aad::empty(), &mut room).expect("decrypts");
                    out.copy_from_slice(text);
                },
            )
        }};
    }
    let (sealing, opening) = (Aes256Gcm::new(&KEY.into()), Aes256Gcm::new(&KEY.into()));
    vec![
        candidate(
            "aes-gcm",
            move |input, out| {
                seal(input, out, |text| {
                    sealing.encrypt_inout_detached(&NONCE.into(), &[], text.into()).expect("encrypts").into()
                })
            },
            move |input, out| {
                let (text, tag) = input.split_at(out.len());
                out.copy_from_slice(text);
                let tag: [u8; 16] = tag.try_into().expect("16 bytes");
                opening
                    .decrypt_inout_detached(&NONCE.into(), &[], out.into(), &tag.into())
                    .expect("decrypts");
            },
        ),
        ring!("ring (C)", ring),
        ring!("aws-lc-rs (C)", aws_lc_rs),
    ]
}

fn webp() -> Vec<Candidate> {
    const WIDTH: u32 = 128;
    let height = |bytes: usize| u32::try_from(bytes).expect("small") / 3 / WIDTH;
    vec![
        candidate(
            "image-webp",
            move |input, out| {
                let mut stream = Vec::new();
                image_webp::WebPEncoder::new(&mut stream)
                    .encode(input, WIDTH, height(input.len()), image_webp::ColorType::Rgb8)
                    .expect("encodes");
                put(&stream, out)
            },
            |input, out| {
                let mut decoder = image_webp::WebPDecoder::new(Cursor::new(input)).expect("an image");
                decoder.read_image(out).expect("decodes");
            },
        ),
        candidate(
            "libwebp (C)",
            move |input, out| {
                put(&webp::Encoder::from_rgb(input, WIDTH, height(input.len())).encode_lossless(), out)
            },
            |input, out| out.copy_from_slice(&webp::Decoder::new(input).decode().expect("decodes")),
        ),
    ]
}
