//! Zstandard frames with a library in safe Rust.

use crate::error::{ErrorKind, Kind};

/// Codec contexts, which are expensive to create; each is created on first use.
#[derive(Default)]
pub(crate) struct Contexts {
    decoder: Option<zrip::DecompressContext>,
    encoder: Option<zrip::CompressContext>,
}

/// The highest level of the library. Higher levels would only make smaller frames; every reader
/// reads both.
const MOST: i32 = 4;

/// Decompresses a frame into the front of `out`; returns its number of bytes.
pub(crate) fn decode(input: &[u8], out: &mut [u8], contexts: &mut Contexts) -> Kind<usize> {
    let decoder = contexts.decoder.get_or_insert_default();
    let bytes = decoder
        .decompress_with_limit(input, out.len())
        .map_err(|_| ErrorKind::CorruptStream { reason: "not a valid Zstandard frame of this length" })?;
    if let Some(slot) = out.get_mut(..bytes.len()) {
        slot.copy_from_slice(&bytes);
    }
    Ok(bytes.len())
}

/// Appends a frame.
pub(crate) fn encode(input: &[u8], level: i32, out: &mut Vec<u8>, contexts: &mut Contexts) -> Kind<()> {
    // As in zstd itself, 0 is the default.
    let level = if level == 0 { 3 } else { level.min(MOST) };
    let failed = |_| ErrorKind::Compress { reason: "Zstandard failed" };
    if contexts.encoder.is_none() {
        let mut encoder = zrip::CompressContext::new(level).map_err(failed)?;
        // The form in which libtiledb writes frames.
        encoder.set_content_checksum(false);
        contexts.encoder = Some(encoder);
    }
    let Some(encoder) = contexts.encoder.as_mut() else {
        return Err(ErrorKind::Compress { reason: "no memory for Zstandard" });
    };
    let start = out.len();
    out.resize(start.saturating_add(zrip::compress_bound(input.len())), 0);
    let room = out.get_mut(start..).unwrap_or_default();
    let written =
        encoder.set_level(level).and_then(|()| encoder.compress_into(input, room)).map_err(failed)?;
    out.truncate(start.saturating_add(written));
    Ok(())
}
