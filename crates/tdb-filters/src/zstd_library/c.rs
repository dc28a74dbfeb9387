//! Zstandard frames with the C library.

use tdb_codec::to_u64;

use crate::error::{ErrorKind, Kind};

/// Codec contexts, which are expensive to create; each is created on first use.
#[derive(Default)]
pub(crate) struct Contexts {
    decoder: Option<zstd_safe::DCtx<'static>>,
    encoder: Option<zstd_safe::CCtx<'static>>,
}

/// Decompresses a frame into the front of `out`; returns its number of bytes.
pub(crate) fn decode(input: &[u8], out: &mut [u8], contexts: &mut Contexts) -> Kind<usize> {
    if contexts.decoder.is_none() {
        contexts.decoder = zstd_safe::DCtx::try_create();
    }
    let Some(decoder) = contexts.decoder.as_mut() else {
        return Err(ErrorKind::CorruptStream { reason: "no memory for zstd" });
    };
    decoder
        .decompress(out, input)
        .map_err(|code| ErrorKind::CorruptStream { reason: zstd_safe::get_error_name(code) })
}

/// Appends a frame.
pub(crate) fn encode(input: &[u8], level: i32, out: &mut Vec<u8>, contexts: &mut Contexts) -> Kind<()> {
    if contexts.encoder.is_none() {
        contexts.encoder = zstd_safe::CCtx::try_create();
    }
    let Some(encoder) = contexts.encoder.as_mut() else {
        return Err(ErrorKind::Compress { reason: "no memory for zstd" });
    };
    // Writes into the vector's spare capacity, which need not be zeroed first: zstd-safe sets the
    // length to the number of bytes written.
    out.reserve(zstd_safe::compress_bound(input.len()));
    let mut end = std::io::Cursor::new(&mut *out);
    end.set_position(to_u64(end.get_ref().len()));
    encoder
        .compress(&mut end, input, level)
        .map_err(|code| ErrorKind::Compress { reason: zstd_safe::get_error_name(code) })?;
    Ok(())
}
