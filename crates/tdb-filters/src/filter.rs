//! All filters of the format, and the options that each stores in a pipeline
//! (docs/format/filters.md).

use tdb_codec::{Datatype, Gate};

/// A filter and its options.
///
/// `level` is stored unchanged, whatever its value. No decoder reads it; the comment of each field
/// says how an encoder uses it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Filter {
    /// Passes bytes through.
    None,
    /// zlib streams (despite the name).
    Gzip {
        /// 0 to 9, negative for zlib's default.
        level: i32,
    },
    /// Zstandard frames.
    Zstd {
        /// −7 to 22; below −7 counts as 3.
        level: i32,
    },
    /// Raw LZ4 blocks.
    Lz4 {
        /// Ignored.
        level: i32,
    },
    /// Runs of equal cells.
    Rle {
        /// Ignored.
        level: i32,
    },
    /// bzip2 streams.
    Bzip2 {
        /// 1 to 9; below 1 counts as 1.
        level: i32,
    },
    /// Differences of differences, bit-packed.
    DoubleDelta {
        /// Ignored.
        level: i32,
        /// The type to read values as, if it differs from the input type.
        reinterpret: Option<Datatype>,
    },
    /// Stores integers as narrow offsets from the minimum of their window.
    BitWidthReduction {
        /// Largest window in bytes.
        max_window: u32,
    },
    /// Stores bits of equal significance next to each other.
    BitShuffle,
    /// Stores bytes of equal significance next to each other.
    ByteShuffle,
    /// Differences to the previous value, for values that never decrease.
    PositiveDelta {
        /// Largest window in bytes.
        max_window: u32,
    },
    /// AES-256 in Galois counter mode; stored in generic tiles only.
    Aes256Gcm,
    /// Adds an MD5 digest.
    ChecksumMd5,
    /// Adds a SHA-256 digest.
    ChecksumSha256,
    /// Strings as indices into a dictionary.
    Dictionary {
        /// Ignored.
        level: i32,
    },
    /// Floats as scaled integers.
    ScaleFloat(ScaleFloat),
    /// The XOR of each value and the previous value.
    Xor,
    /// Images.
    WebP(WebP),
    /// Differences to the previous value.
    Delta {
        /// Ignored.
        level: i32,
        /// The type to read values as, if it differs from the input type.
        reinterpret: Option<Datatype>,
    },
    /// A code that the format does not define. It can be parsed and written; using it is an error.
    Unknown {
        /// The wire code.
        code: u8,
        /// The option bytes.
        options: Vec<u8>,
    },
}

/// Options of [`Filter::ScaleFloat`]: the stored integer is `(value − offset) / scale`, rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleFloat {
    /// The number that the stored integer is multiplied by.
    pub scale: f64,
    /// The number that is added to the product.
    pub offset: f64,
    /// Width of the stored integer.
    pub byte_width: ByteWidth,
}

/// Width of an integer in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteWidth {
    /// 1 byte.
    One,
    /// 2 bytes.
    Two,
    /// 4 bytes.
    Four,
    /// 8 bytes.
    Eight,
}

impl ByteWidth {
    /// From a number of bytes.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Option<Self> {
        match bytes {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            4 => Some(Self::Four),
            8 => Some(Self::Eight),
            _ => None,
        }
    }

    /// Number of bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The signed integer type of this width.
    #[must_use]
    pub const fn datatype(self) -> Datatype {
        match self {
            Self::One => Datatype::Int8,
            Self::Two => Datatype::Int16,
            Self::Four => Datatype::Int32,
            Self::Eight => Datatype::Int64,
        }
    }
}

/// Options of [`Filter::WebP`]. The extents are computed from the dimensions' tile extents when the
/// schema is created.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebP {
    /// 0 to 100; lossy encoding only.
    pub quality: f32,
    /// Order of the channels in the tile.
    pub format: PixelFormat,
    /// Whether to encode without loss.
    pub lossless: bool,
    /// Rows of a tile.
    pub y_extent: u16,
    /// Bytes of a row.
    pub x_extent: u16,
}

/// Order of the channels of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say what they are")]
pub enum PixelFormat {
    None,
    Rgb,
    Bgr,
    Rgba,
    Bgra,
}

impl PixelFormat {
    const ALL: [Self; 5] = [Self::None, Self::Rgb, Self::Bgr, Self::Rgba, Self::Bgra];

    /// From the wire code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The wire code.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Bytes of a pixel; `None` for [`PixelFormat::None`].
    #[must_use]
    pub const fn depth(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Rgb | Self::Bgr => Some(3),
            Self::Rgba | Self::Bgra => Some(4),
        }
    }
}

impl Filter {
    /// Runs of equal cells. The level that is stored with it, which no decoder reads, is the one
    /// that libtiledb stores by default.
    #[must_use]
    pub const fn rle() -> Self {
        Self::Rle { level: -1 }
    }

    /// Strings as indices into a dictionary; the stored level is as of [`Self::rle`].
    #[must_use]
    pub const fn dictionary() -> Self {
        Self::Dictionary { level: -1 }
    }

    /// The wire code.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip { .. } => 1,
            Self::Zstd { .. } => 2,
            Self::Lz4 { .. } => 3,
            Self::Rle { .. } => 4,
            Self::Bzip2 { .. } => 5,
            Self::DoubleDelta { .. } => 6,
            Self::BitWidthReduction { .. } => 7,
            Self::BitShuffle => 8,
            Self::ByteShuffle => 9,
            Self::PositiveDelta { .. } => 10,
            Self::Aes256Gcm => 11,
            Self::ChecksumMd5 => 12,
            Self::ChecksumSha256 => 13,
            Self::Dictionary { .. } => 14,
            Self::ScaleFloat(_) => 15,
            Self::Xor => 16,
            Self::WebP(_) => 18,
            Self::Delta { .. } => 19,
            Self::Unknown { code, .. } => *code,
        }
    }

    /// The type that the next filter sees, given the type that this one sees.
    #[must_use]
    pub const fn output_type(&self, input: Datatype) -> Datatype {
        match self {
            Self::ScaleFloat(options) => options.byte_width.datatype(),
            Self::Xor => match input.size() {
                1 => Datatype::Int8,
                2 => Datatype::Int16,
                4 => Datatype::Int32,
                _ => Datatype::Int64,
            },
            Self::Delta { reinterpret: Some(datatype), .. }
            | Self::DoubleDelta { reinterpret: Some(datatype), .. } => *datatype,
            Self::Aes256Gcm => Datatype::Blob,
            _ => input,
        }
    }

    /// The gate that introduced the filter for values of this type; `None` if every version has it.
    /// It is the first version for which every release that wrote that version knows the filter and
    /// its options.
    #[must_use]
    pub const fn gate(&self, datatype: Datatype) -> Option<Gate> {
        match self {
            Self::ChecksumMd5 | Self::ChecksumSha256 => Some(Gate::Checksums),
            Self::Dictionary { .. } => match datatype {
                Datatype::StringUtf8 => Some(Gate::Utf8Strings),
                _ => Some(Gate::AsciiDictionaryStrings),
            },
            Self::ScaleFloat(_) => Some(Gate::ScaleFloatFilter),
            Self::Xor => Some(Gate::XorFilter),
            Self::WebP(_) => Some(Gate::WebPFilter),
            Self::Delta { .. } => Some(Gate::DeltaFilter),
            Self::DoubleDelta { reinterpret: Some(_), .. } => Some(Gate::DoubleDeltaReinterpret),
            _ => None,
        }
    }

    /// Whether the filter depends on the type of the values, not only on the size of cells.
    #[must_use]
    pub const fn depends_on_type(&self) -> bool {
        match self {
            Self::None
            | Self::Gzip { .. }
            | Self::Zstd { .. }
            | Self::Lz4 { .. }
            | Self::Bzip2 { .. }
            | Self::Rle { .. }
            | Self::Aes256Gcm
            | Self::ChecksumMd5
            | Self::ChecksumSha256 => false,
            Self::DoubleDelta { .. }
            | Self::BitWidthReduction { .. }
            | Self::BitShuffle
            | Self::ByteShuffle
            | Self::PositiveDelta { .. }
            | Self::Dictionary { .. }
            | Self::ScaleFloat(_)
            | Self::Xor
            | Self::WebP(_)
            | Self::Delta { .. }
            | Self::Unknown { .. } => true,
        }
    }
}
