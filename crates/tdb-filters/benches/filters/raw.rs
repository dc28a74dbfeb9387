//! The codecs inside filters, called directly on the same bytes. A filter may only add the time for
//! its framing.

/// Encodes cells into a buffer that is large enough, and returns the length.
type Encode = Box<dyn FnMut(&[u8], &mut [u8]) -> usize>;
/// Fills cells from one stream.
type Decode = Box<dyn FnMut(&[u8], &mut [u8])>;

/// A codec with its contexts, reused for each chunk.
pub(crate) struct Raw {
    pub(crate) encode: Encode,
    pub(crate) decode: Decode,
}

#[allow(dead_code, reason = "a build without codecs does not call it")]
fn raw(
    encode: impl FnMut(&[u8], &mut [u8]) -> usize + 'static,
    decode: impl FnMut(&[u8], &mut [u8]) + 'static,
) -> Option<Raw> {
    Some(Raw { encode: Box::new(encode), decode: Box::new(decode) })
}

/// The codec of a filter with the options of its row, if it has one.
pub(crate) fn codec(filter: &str) -> Option<Raw> {
    match filter {
        #[cfg(feature = "gzip")]
        "gzip" => {
            use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
            let mut deflate = Compress::new(Compression::new(6), true);
            let mut inflate = Decompress::new(true);
            raw(
                move |cells, out| {
                    deflate.reset();
                    deflate.compress(cells, out, FlushCompress::Finish).unwrap();
                    deflate.total_out() as usize
                },
                move |stream, cells| {
                    inflate.reset(true);
                    inflate.decompress(stream, cells, FlushDecompress::Finish).unwrap();
                },
            )
        }
        #[cfg(feature = "zstd")]
        "zstd" => {
            let (mut encoder, mut decoder) = (zstd_safe::CCtx::create(), zstd_safe::DCtx::create());
            raw(
                move |cells, out| encoder.compress(out, cells, -1).unwrap(),
                move |stream, cells| {
                    decoder.decompress(cells, stream).unwrap();
                },
            )
        }
        #[cfg(feature = "lz4")]
        "lz4" => raw(
            |cells, out| lz4_flex::block::compress_into(cells, out).unwrap(),
            |stream, cells| {
                lz4_flex::block::decompress_into(stream, cells).unwrap();
            },
        ),
        #[cfg(feature = "bzip2")]
        "bzip2" => raw(
            |cells, out| {
                let mut stream = bzip2::Compress::new(bzip2::Compression::new(1), 30);
                stream.compress(cells, out, bzip2::Action::Finish).unwrap();
                stream.total_out() as usize
            },
            |stream, cells| {
                let (mut decoder, mut spare) = (bzip2::Decompress::new(false), [0]);
                // The decoder may need another call to read the end of the stream and its checksum.
                while decoder
                    .decompress(&stream[decoder.total_in() as usize..], {
                        let written = decoder.total_out() as usize;
                        if written < cells.len() { &mut cells[written..] } else { &mut spare }
                    })
                    .unwrap()
                    != bzip2::Status::StreamEnd
                {}
            },
        ),
        #[cfg(feature = "checksum")]
        "checksum-md5" => digest::<md5::Md5>(),
        #[cfg(feature = "checksum")]
        "checksum-sha256" => digest::<sha2::Sha256>(),
        #[cfg(feature = "encryption")]
        "aes-256-gcm" => {
            use aes_gcm::{AeadInOut, Aes256Gcm, KeyInit, aead::inout::InOutBuf};
            let cipher = || Aes256Gcm::new(&[7; 32].into());
            let (sealing, opening) = (cipher(), cipher());
            // The tag is recomputed, not stored: the first chunk decrypts under the bed's first
            // nonce.
            let mut tag = None;
            let mut nonce = [0; 12];
            nonce[0] = 1;
            raw(
                move |cells, out| {
                    let text = InOutBuf::new(cells, &mut out[..cells.len()]).unwrap();
                    sealing.encrypt_inout_detached(&nonce.into(), &[], text).unwrap();
                    cells.len()
                },
                move |stream, cells| {
                    let tag = tag.get_or_insert_with(|| {
                        // Counter mode: encrypting the ciphertext returns the cells, and encrypting
                        // those returns the tag.
                        let mut text = stream.to_vec();
                        opening
                            .encrypt_inout_detached(&nonce.into(), &[], text.as_mut_slice().into())
                            .unwrap();
                        opening
                            .encrypt_inout_detached(&nonce.into(), &[], text.as_mut_slice().into())
                            .unwrap()
                    });
                    let text = InOutBuf::new(stream, cells).unwrap();
                    opening.decrypt_inout_detached(&nonce.into(), &[], text, tag).unwrap();
                },
            )
        }
        _ => None,
    }
}

/// Computes the digest of a chunk, and copies the chunk.
#[cfg(feature = "checksum")]
fn digest<D: sha2::Digest + 'static>() -> Option<Raw> {
    raw(
        |cells, out| {
            std::hint::black_box(D::digest(cells));
            out[..cells.len()].copy_from_slice(cells);
            cells.len()
        },
        |stream, cells| {
            std::hint::black_box(D::digest(stream));
            cells.copy_from_slice(stream);
        },
    )
}
