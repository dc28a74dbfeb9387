//! The table of filters. Code that iterates over all filters (names, tests, benches) uses this
//! table.

use crate::filter::{ByteWidth, Filter, PixelFormat, ScaleFloat, WebP};

/// One filter of the format.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Row {
    /// Wire code in pipelines.
    pub code: u8,
    /// Name in messages.
    pub name: &'static str,
    /// The compressor code, from a second enumeration, which compressors store in their options.
    pub compressor: Option<u8>,
    /// Crate feature that enables the codec, if it needs one.
    pub feature: Option<&'static str>,
    /// Whether this build has that feature.
    pub available: bool,
    /// About how many tenths of a nanosecond it takes to decode a byte
    /// (`cargo xtask compare filters` with one thread, and `docs/filter-speed.md`): enough to tell
    /// whether work is worth a second thread.
    pub effort: u16,
    /// Makes a filter with ordinary options.
    pub sample: fn() -> Filter,
}

impl Row {
    /// A filter of this row with ordinary options.
    #[must_use]
    pub fn sample(&self) -> Filter {
        (self.sample)()
    }
}

/// Every filter of the format, by code.
#[must_use]
pub const fn all() -> &'static [Row] {
    TABLE
}

/// The row with a wire code.
#[must_use]
pub fn by_code(code: u8) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.code == code)
}

/// The row with a name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

impl Filter {
    /// The lower-case name, e.g. `"double-delta"`; `"bitsort"` for the filter that was removed from
    /// the format, and `"unknown"` for codes that the format never defined.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            // Only libtiledb 2.13 and 2.14 had it.
            Self::Unknown { code: 17, .. } => "bitsort",
            Self::Unknown { .. } => "unknown",
            known => by_code(known.code()).map_or("unknown", |row| row.name),
        }
    }
}

const fn row(code: u8, name: &'static str, compressor: Option<u8>, sample: fn() -> Filter) -> Row {
    Row { code, name, compressor, feature: None, available: true, effort: 1, sample }
}

/// A filter that takes longer than a copy of its bytes.
const fn slow(mut row: Row, effort: u16) -> Row {
    row.effort = effort;
    row
}

const fn feature(mut row: Row, feature: &'static str, available: bool) -> Row {
    row.feature = Some(feature);
    row.available = available;
    row
}

/// The table of filters.
const TABLE: &[Row] = &[
    row(0, "none", None, || Filter::None),
    feature(slow(row(1, "gzip", Some(1), || Filter::Gzip { level: -1 }), 15), "gzip", cfg!(feature = "gzip")),
    feature(
        slow(row(2, "zstd", Some(2), || Filter::Zstd { level: -1 }), 9),
        "zstd",
        cfg!(any(feature = "zstd", feature = "zstd-rust")),
    ),
    feature(slow(row(3, "lz4", Some(3), || Filter::Lz4 { level: -1 }), 2), "lz4", cfg!(feature = "lz4")),
    row(4, "rle", Some(4), || Filter::Rle { level: -1 }),
    feature(
        slow(row(5, "bzip2", Some(5), || Filter::Bzip2 { level: -1 }), 150),
        "bzip2",
        cfg!(feature = "bzip2"),
    ),
    row(6, "double-delta", Some(6), || Filter::DoubleDelta { level: -1, reinterpret: None }),
    row(7, "bit-width-reduction", None, || Filter::BitWidthReduction { max_window: 256 }),
    row(8, "bitshuffle", None, || Filter::BitShuffle),
    row(9, "byteshuffle", None, || Filter::ByteShuffle),
    row(10, "positive-delta", None, || Filter::PositiveDelta { max_window: 1024 }),
    feature(row(11, "aes-256-gcm", None, || Filter::Aes256Gcm), "encryption", cfg!(feature = "encryption")),
    feature(
        slow(row(12, "checksum-md5", None, || Filter::ChecksumMd5), 18),
        "checksum",
        cfg!(feature = "checksum"),
    ),
    feature(
        slow(row(13, "checksum-sha256", None, || Filter::ChecksumSha256), 6),
        "checksum",
        cfg!(feature = "checksum"),
    ),
    slow(row(14, "dictionary", Some(7), || Filter::Dictionary { level: -1 }), 5),
    row(15, "scale-float", None, || {
        Filter::ScaleFloat(ScaleFloat { scale: 1.0, offset: 0.0, byte_width: ByteWidth::Eight })
    }),
    row(16, "xor", None, || Filter::Xor),
    feature(slow(row(18, "webp", None, webp), 40), "webp", cfg!(feature = "webp")),
    row(19, "delta", Some(8), || Filter::Delta { level: -1, reinterpret: None }),
];

fn webp() -> Filter {
    Filter::WebP(WebP {
        quality: 100.0,
        format: PixelFormat::Rgb,
        lossless: true,
        y_extent: 16,
        x_extent: 48,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_has_the_code_and_the_name_of_its_row() {
        for row in all() {
            assert_eq!(row.sample().code(), row.code);
            assert_eq!(row.sample().name(), row.name);
            assert_eq!(by_name(row.name).map(|row| row.code), Some(row.code));
        }
    }
}
