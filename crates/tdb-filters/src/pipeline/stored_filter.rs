//! One filter as a pipeline stores it: its code, the length of its options, and the options
//! (docs/format/filters.md).

use tdb_codec::{Datatype, ErrorKind, FormatVersion, Gate, Reader, Result, Writer, to_u64};

use crate::filter::{ByteWidth, Filter, PixelFormat, ScaleFloat, WebP};
use crate::registry;

impl Filter {
    /// Reads one filter: code, option length, options. Further option bytes that the filter does
    /// not need are skipped.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self> {
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
    pub(super) fn write(&self, writer: &mut Writer, version: FormatVersion) -> Result<()> {
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
