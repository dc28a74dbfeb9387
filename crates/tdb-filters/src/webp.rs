//! WEBP (18): a tile as an image.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | part count | u32 = 1 |
//! | encoded length | u32 |
//!
//! Data: a RIFF/WebP file. The whole tile is one chunk; the option `y extent` is the number of
//! rows, `x extent` is the number of bytes in a row, and pixels have 3 or 4 bytes in the order of
//! the option `format`. Lossless images are read and written exactly. Reading lossy images gives
//! the same pixels as libtiledb; writing them needs the C library that libtiledb uses, enabled by
//! the feature `webp-lossy`.
//!
//! Options: quality f32, format u8, lossless u8, y extent u16, x extent u16, 2 bytes of padding.

use tdb_codec::{Reader, Writer};

use crate::error::{ErrorKind, Kind};
use crate::filter::{PixelFormat, WebP};
use crate::scratch::Charge;

/// The image that the options describe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Image {
    width: u32,
    height: u32,
    depth: usize,
    reversed: bool,
    /// The quality of a lossy image; `None` for a lossless one.
    quality: Option<f32>,
    /// Bytes of the tile.
    pub(crate) len: usize,
}

/// The most pixels along a side of an image.
const MOST_PIXELS: u32 = (1 << 14) - 1;

impl Image {
    /// Checks the options.
    pub(crate) fn new(options: &WebP) -> Kind<Self> {
        let depth = options.format.depth().ok_or(ErrorKind::InvalidOption { value: 0 })?;
        let (row, height) = (usize::from(options.x_extent), usize::from(options.y_extent));
        if row == 0 || height == 0 || !row.is_multiple_of(depth) {
            return Err(ErrorKind::InvalidOption { value: i64::from(options.x_extent) });
        }
        let width = u32::from(options.x_extent).checked_div(u32::try_from(depth).unwrap_or(1)).unwrap_or(0);
        Ok(Self {
            width,
            height: u32::from(options.y_extent),
            depth,
            reversed: matches!(options.format, PixelFormat::Bgr | PixelFormat::Bgra),
            quality: (!options.lossless).then_some(options.quality),
            len: row.saturating_mul(height),
        })
    }

    /// Whether it is larger than WebP images can be: their sides have 14 bits.
    pub(crate) const fn is_too_large(self) -> bool {
        self.width > MOST_PIXELS || self.height > MOST_PIXELS
    }

    /// Swaps red and blue if the format stores them in the opposite order.
    #[cfg(feature = "webp")]
    fn reorder(self, pixels: &mut [u8]) {
        if self.reversed {
            for pixel in pixels.chunks_exact_mut(self.depth) {
                if let [first, _, third, ..] = pixel {
                    core::mem::swap(first, third);
                }
            }
        }
    }
}

/// Reads the metadata block and decodes the image in `src` into `out`, which has [`Image::len`]
/// bytes.
#[cfg(feature = "webp")]
pub(crate) fn decode(
    image: Image,
    block: &mut Reader<'_>,
    src: &[u8],
    out: &mut [u8],
    charge: &Charge<'_>,
) -> Kind<()> {
    use tdb_codec::to_u64;

    let lengths = crate::parts::read_lengths(block, src.len())?;
    if lengths.len() != 1 {
        return Err(ErrorKind::InvalidValue { value: to_u64(lengths.len()) });
    }
    // "RIFF", then the length of the rest. It is checked here because the decoder does not read
    // past the image.
    let promised = src.get(4..8).and_then(<[u8]>::first_chunk).map(|&length| u32::from_le_bytes(length));
    if promised.map(|length| u64::from(length).saturating_add(8)) != Some(to_u64(src.len())) {
        return Err(ErrorKind::CorruptStream { reason: "a WebP file of the wrong length" });
    }
    let corrupt = |_| ErrorKind::CorruptStream { reason: "not a valid WebP image" };
    let mut decoder = image_webp::WebPDecoder::new(std::io::Cursor::new(src)).map_err(corrupt)?;
    if decoder.is_animated() {
        return Err(ErrorKind::CorruptStream { reason: "an animated WebP image" });
    }
    let (width, height) = decoder.dimensions();
    if (width, height) != (image.width, image.height) {
        return Err(ErrorKind::ImageSize { width, height });
    }
    let stored = if decoder.has_alpha() { 4 } else { 3 };
    // The decoder allocates 4 bytes for each pixel.
    charge.charge((image.len / image.depth).saturating_mul(4))?;
    if stored == image.depth {
        decoder.read_image(out).map_err(corrupt)?;
    } else {
        // The file has no alpha and the format has it (all pixels are opaque), or the other way
        // round.
        let len = (image.len / image.depth).saturating_mul(stored);
        charge.charge(len)?;
        let mut pixels = vec![0; len];
        decoder.read_image(&mut pixels).map_err(corrupt)?;
        for (slot, pixel) in out.chunks_exact_mut(image.depth).zip(pixels.chunks_exact(stored)) {
            let bytes = pixel.iter().copied().chain([u8::MAX]);
            slot.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = byte);
        }
    }
    image.reorder(out);
    Ok(())
}

/// Appends the metadata block, and appends the image to `out`.
#[cfg(feature = "webp")]
pub(crate) fn encode(image: Image, src: &[u8], block: &mut Writer, out: &mut Vec<u8>) -> Kind<()> {
    use image_webp::{ColorType, WebPEncoder};
    use tdb_codec::to_u64;

    if src.len() != image.len {
        return Err(ErrorKind::WrongLength { expected: to_u64(image.len), found: to_u64(src.len()) });
    }
    let mut pixels = src.to_vec();
    image.reorder(&mut pixels);
    match image.quality {
        Some(quality) => encode_lossy(image, quality, &pixels, out)?,
        None => {
            let color = if image.depth == 4 { ColorType::Rgba8 } else { ColorType::Rgb8 };
            WebPEncoder::new(&mut *out)
                .encode(&pixels, image.width, image.height, color)
                .map_err(|_| ErrorKind::Compress { reason: "an image this large" })?;
        }
    }
    block.u32(1);
    block.len_u32(out.len(), "encoded length")?;
    Ok(())
}

/// Appends the image as libwebp encodes it with its default settings and this quality, which are
/// the settings that libtiledb uses.
#[cfg(feature = "webp-lossy")]
fn encode_lossy(image: Image, quality: f32, pixels: &[u8], out: &mut Vec<u8>) -> Kind<()> {
    // libwebp does not reject a NaN.
    if !(0.0..=100.0).contains(&quality) {
        #[expect(clippy::cast_possible_truncation, reason = "shown to a person")]
        return Err(ErrorKind::InvalidOption { value: quality as i64 });
    }
    let encoder = match image.depth {
        4 => webp::Encoder::from_rgba(pixels, image.width, image.height),
        _ => webp::Encoder::from_rgb(pixels, image.width, image.height),
    };
    let file = encoder
        .encode_simple(false, quality)
        .map_err(|_| ErrorKind::Compress { reason: "libwebp rejects the image" })?;
    out.extend_from_slice(&file);
    Ok(())
}

#[cfg(all(feature = "webp", not(feature = "webp-lossy")))]
const fn encode_lossy(_: Image, _: f32, _: &[u8], _: &mut Vec<u8>) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "webp-lossy" })
}

#[cfg(not(feature = "webp"))]
pub(crate) fn decode(_: Image, _: &mut Reader<'_>, _: &[u8], _: &mut [u8], _: &Charge<'_>) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "webp" })
}

#[cfg(not(feature = "webp"))]
pub(crate) fn encode(_: Image, _: &[u8], _: &mut Writer, _: &mut Vec<u8>) -> Kind<()> {
    Err(ErrorKind::FeatureMissing { feature: "webp" })
}

#[cfg(all(test, feature = "webp"))]
mod tests {
    use tdb_codec::Budget;

    use super::*;

    fn options(format: PixelFormat) -> WebP {
        let depth = if matches!(format, PixelFormat::Rgb | PixelFormat::Bgr) { 3 } else { 4 };
        WebP { quality: 100.0, format, lossless: true, y_extent: 5, x_extent: 7 * depth }
    }

    #[test]
    fn lossless_images_of_every_format_come_back_exactly() {
        for format in [PixelFormat::Rgb, PixelFormat::Bgr, PixelFormat::Rgba, PixelFormat::Bgra] {
            let image = Image::new(&options(format)).unwrap();
            let pixels: Vec<u8> = (0..image.len).map(|i| (i * 37).to_le_bytes()[0]).collect();
            let (mut block, mut out) = (Writer::new(), Vec::new());
            encode(image, &pixels, &mut block, &mut out).unwrap();
            assert_eq!(out[..4], *b"RIFF");
            let mut back = vec![0; image.len];
            let budget = Budget::new(10_000);
            let mut reader = Reader::new(block.as_slice());
            decode(image, &mut reader, &out, &mut back, &Charge::new(&budget)).unwrap();
            assert_eq!(back, pixels, "{format:?}");
        }
    }

    #[test]
    fn images_of_another_size_and_cut_images_are_refused() {
        let image = Image::new(&options(PixelFormat::Rgb)).unwrap();
        let (mut block, mut out) = (Writer::new(), Vec::new());
        encode(image, &vec![9; image.len], &mut block, &mut out).unwrap();
        let taller = Image::new(&WebP { y_extent: 6, ..options(PixelFormat::Rgb) }).unwrap();
        let budget = Budget::unlimited();
        let charge = Charge::new(&budget);
        let error =
            decode(taller, &mut Reader::new(block.as_slice()), &out, &mut vec![0; taller.len], &charge)
                .unwrap_err();
        assert_eq!(error, ErrorKind::ImageSize { width: 7, height: 5 });
        for len in 0..out.len() {
            let block = [1u32, u32::try_from(len).unwrap()].map(u32::to_le_bytes).concat();
            let mut back = vec![0; image.len];
            assert!(
                decode(image, &mut Reader::new(&block), &out[..len], &mut back, &charge).is_err(),
                "{len}"
            );
        }
    }

    #[test]
    fn options_without_pixels_are_refused() {
        let good = options(PixelFormat::Rgb);
        for bad in [
            WebP { format: PixelFormat::None, ..good },
            WebP { x_extent: 0, ..good },
            WebP { y_extent: 0, ..good },
            WebP { x_extent: 20, ..good },
        ] {
            assert!(Image::new(&bad).is_err());
        }
    }

    #[cfg(not(feature = "webp-lossy"))]
    #[test]
    fn lossy_encoding_names_the_feature_it_needs() {
        let lossy = Image::new(&WebP { lossless: false, ..options(PixelFormat::Rgb) }).unwrap();
        let error = encode(lossy, &vec![0; lossy.len], &mut Writer::new(), &mut Vec::new()).unwrap_err();
        assert_eq!(error, ErrorKind::FeatureMissing { feature: "webp-lossy" });
    }

    #[cfg(feature = "webp-lossy")]
    #[test]
    fn lossy_images_come_back_alike_and_better_with_more_quality() {
        for format in [PixelFormat::Rgb, PixelFormat::Bgr, PixelFormat::Rgba, PixelFormat::Bgra] {
            let error_at = |quality| {
                let options =
                    WebP { quality, lossless: false, y_extent: 32, x_extent: 96, ..options(format) };
                let image = Image::new(&options).unwrap();
                // Opaque colours that change slowly.
                let pixel =
                    |i: usize| (0..image.depth).map(move |c| if c == 3 { 255 } else { i / 8 + 40 * c });
                let pixels: Vec<u8> = (0..image.len / image.depth)
                    .flat_map(pixel)
                    .map(|value| u8::try_from(value).unwrap())
                    .collect();
                let (mut block, mut out) = (Writer::new(), Vec::new());
                encode(image, &pixels, &mut block, &mut out).unwrap();
                let (mut back, budget) = (vec![0; image.len], Budget::unlimited());
                let mut reader = Reader::new(block.as_slice());
                decode(image, &mut reader, &out, &mut back, &Charge::new(&budget)).unwrap();
                pixels.iter().zip(&back).map(|(&a, &b)| u32::from(a.abs_diff(b))).sum::<u32>()
                    / u32::try_from(image.len).unwrap()
            };
            let (rough, fine) = (error_at(0.0), error_at(100.0));
            assert!(fine <= 4 && fine <= rough && rough < 60, "{format:?}: {fine} {rough}");
        }
    }

    #[cfg(feature = "webp-lossy")]
    #[test]
    fn a_quality_that_is_none_is_refused() {
        for quality in [-1.0, 100.5, f32::NAN] {
            let options = WebP { quality, lossless: false, ..options(PixelFormat::Rgb) };
            let image = Image::new(&options).unwrap();
            let error = encode(image, &vec![0; image.len], &mut Writer::new(), &mut Vec::new()).unwrap_err();
            assert!(matches!(error, ErrorKind::InvalidOption { .. }));
        }
    }
}
