//! All filters of the format, and the options that each stores in a pipeline
//! (docs/format/filters.md).

use tdb_codec::{Datatype, ErrorKind, FormatVersion, Gate, Reader, Result, Writer, to_u64};

use crate::registry;

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

    /// The lower-case name, e.g. `"double-delta"`; `"bitsort"` for the filter that was removed from
    /// the format, and `"unknown"` for codes that the format never defined.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            // Only libtiledb 2.13 and 2.14 had it.
            Self::Unknown { code: 17, .. } => "bitsort",
            Self::Unknown { .. } => "unknown",
            known => registry::by_code(known.code()).map_or("unknown", |row| row.name),
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

    /// Reads one filter: code, option length, options. Further option bytes that the filter does
    /// not need are skipped.
    pub(crate) fn parse(reader: &mut Reader<'_>) -> Result<Self> {
        let code = reader.u8("filter type")?;
        let len = reader.u32("filter options length")?;
        let mut options = reader.sub(u64::from(len), "filter options")?;
        let options = &mut options;
        Ok(match code {
            0 => Self::None,
            1 => Self::Gzip { level: level(options, code)? },
            2 => Self::Zstd { level: level(options, code)? },
            3 => Self::Lz4 { level: level(options, code)? },
            4 => Self::Rle { level: level(options, code)? },
            5 => Self::Bzip2 { level: level(options, code)? },
            6 => Self::DoubleDelta { level: level(options, code)?, reinterpret: reinterpret(options)? },
            7 => Self::BitWidthReduction { max_window: options.u32("max window size")? },
            8 => Self::BitShuffle,
            9 => Self::ByteShuffle,
            10 => Self::PositiveDelta { max_window: options.u32("max window size")? },
            11 => Self::Aes256Gcm,
            12 => Self::ChecksumMd5,
            13 => Self::ChecksumSha256,
            14 => Self::Dictionary { level: level(options, code)? },
            15 => {
                let scale = options.f64("scale")?;
                let offset = options.f64("offset")?;
                let at = *options;
                let width = options.u64("byte width")?;
                let byte_width = ByteWidth::from_bytes(width)
                    .ok_or_else(|| at.error("byte width", ErrorKind::InvalidValue { value: width }))?;
                Self::ScaleFloat(ScaleFloat { scale, offset, byte_width })
            }
            16 => Self::Xor,
            18 => Self::WebP(WebP {
                quality: options.f32("quality")?,
                format: options.code("pixel format", PixelFormat::from_code)?,
                lossless: options.bool("lossless")?,
                y_extent: options.u16("y extent")?,
                x_extent: options.u16("x extent")?,
            }),
            19 => Self::Delta { level: level(options, code)?, reinterpret: reinterpret(options)? },
            code => Self::Unknown { code, options: options.rest().to_vec() },
        })
    }

    /// Writes the filter as [`Self::parse`] reads it.
    pub(crate) fn write(&self, writer: &mut Writer, version: FormatVersion) -> Result<()> {
        writer.u8(self.code());
        writer.nested_u32("filter options", |writer| {
            match self {
                Self::Gzip { level }
                | Self::Zstd { level }
                | Self::Lz4 { level }
                | Self::Rle { level }
                | Self::Bzip2 { level }
                | Self::Dictionary { level } => self.write_level(writer, *level),
                Self::DoubleDelta { level, reinterpret } => {
                    self.write_level(writer, *level);
                    let stored = version.has(Gate::DoubleDeltaReinterpret);
                    write_reinterpret(writer, *reinterpret, stored)?;
                }
                Self::Delta { level, reinterpret } => {
                    self.write_level(writer, *level);
                    let stored = version.has(Gate::DeltaReinterpret);
                    write_reinterpret(writer, *reinterpret, stored)?;
                }
                Self::BitWidthReduction { max_window } | Self::PositiveDelta { max_window } => {
                    writer.u32(*max_window);
                }
                Self::ScaleFloat(options) => {
                    writer.f64(options.scale);
                    writer.f64(options.offset);
                    writer.u64(to_u64(options.byte_width.bytes()));
                }
                Self::WebP(options) => {
                    writer.f32(options.quality);
                    writer.u8(options.format.code());
                    writer.bool(options.lossless);
                    writer.u16(options.y_extent);
                    writer.u16(options.x_extent);
                    writer.u16(0); // the padding of a C struct
                }
                Self::Unknown { options, .. } => writer.bytes(options),
                Self::None
                | Self::BitShuffle
                | Self::ByteShuffle
                | Self::Aes256Gcm
                | Self::ChecksumMd5
                | Self::ChecksumSha256
                | Self::Xor => {}
            }
            Ok(())
        })
    }

    fn write_level(&self, writer: &mut Writer, level: i32) {
        writer.u8(registry::by_code(self.code()).and_then(|row| row.compressor).unwrap_or(0));
        writer.i32(level);
    }
}

/// Reads the compressor code, which must be the one that belongs to filter `code`, and the level.
fn level(options: &mut Reader<'_>, code: u8) -> Result<i32> {
    let expected = registry::by_code(code).and_then(|row| row.compressor);
    options.code("compressor", |found| (Some(found) == expected).then_some(()))?;
    options.i32("compression level")
}

/// Reads the reinterpret datatype if the options contain one; `ANY` means none.
fn reinterpret(options: &mut Reader<'_>) -> Result<Option<Datatype>> {
    if options.is_empty() {
        return Ok(None);
    }
    let datatype = options.datatype("reinterpret datatype")?;
    Ok(Some(datatype).filter(|&datatype| datatype != Datatype::Any))
}

/// Writes the reinterpret datatype if the version stores one. If it does not and a type is set,
/// that is an error, because the type would be lost.
fn write_reinterpret(writer: &mut Writer, reinterpret: Option<Datatype>, stored: bool) -> Result<()> {
    let datatype = reinterpret.unwrap_or(Datatype::Any);
    if stored {
        writer.u8(datatype.code());
    } else if datatype != Datatype::Any {
        let kind = ErrorKind::InvalidValue { value: u64::from(datatype.code()) };
        return Err(tdb_codec::Error::new("reinterpret datatype", to_u64(writer.len()), kind));
    }
    Ok(())
}
