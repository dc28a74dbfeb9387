//! Filters: what a step of a pipeline does, and its options.

use tdb_array::schema::{ByteWidth, Datatype, DatatypeClass, Filter, PixelFormat, ScaleFloat, WebP};

use crate::codes;
use crate::context::Ctx;
use crate::enums::FILTER_TYPES;
use crate::ffi::{Data, Failure, Freed, In, Object, Out, OutHandle, Outcome};
use crate::shared::Shared;

/// The number for no reinterpretation: the datatype ANY.
const ANY: u8 = 17;

/// The numbers of `tiledb_filter_option_t`.
mod option {
    pub(super) const COMPRESSION_LEVEL: u32 = 0;
    pub(super) const BIT_WIDTH_MAX_WINDOW: u32 = 1;
    pub(super) const POSITIVE_DELTA_MAX_WINDOW: u32 = 2;
    pub(super) const SCALE_FLOAT_BYTEWIDTH: u32 = 3;
    pub(super) const SCALE_FLOAT_FACTOR: u32 = 4;
    pub(super) const SCALE_FLOAT_OFFSET: u32 = 5;
    pub(super) const WEBP_QUALITY: u32 = 6;
    pub(super) const WEBP_INPUT_FORMAT: u32 = 7;
    pub(super) const WEBP_LOSSLESS: u32 = 8;
    pub(super) const COMPRESSION_REINTERPRET_DATATYPE: u32 = 9;
}

/// A filter behind a pointer.
pub(crate) struct FilterObject(pub(crate) Shared<Filter>);

impl Object for FilterObject {
    const NAME: &'static str = "filter";
}

/// A filter of a type, with the options that libtiledb gives it.
fn new_filter(code: u32) -> Option<Filter> {
    let level = -1;
    Some(match code {
        0 => Filter::None,
        1 => Filter::Gzip { level },
        2 => Filter::Zstd { level },
        3 => Filter::Lz4 { level },
        4 => Filter::Rle { level },
        5 => Filter::Bzip2 { level },
        6 => Filter::DoubleDelta { level, reinterpret: None },
        7 => Filter::BitWidthReduction { max_window: 256 },
        8 => Filter::BitShuffle,
        9 => Filter::ByteShuffle,
        10 => Filter::PositiveDelta { max_window: 1024 },
        12 => Filter::ChecksumMd5,
        13 => Filter::ChecksumSha256,
        14 => Filter::Dictionary { level },
        15 => Filter::ScaleFloat(ScaleFloat { scale: 1.0, offset: 0.0, byte_width: ByteWidth::Eight }),
        16 => Filter::Xor,
        18 => {
            let format = PixelFormat::None;
            Filter::WebP(WebP { quality: 100.0, format, lossless: false, y_extent: 0, x_extent: 0 })
        }
        19 => Filter::Delta { level, reinterpret: None },
        _ => return None,
    })
}

/// Whether a filter takes values of a datatype, as libtiledb asks when a list is set.
fn accepts(filter: &Filter, input: Datatype) -> bool {
    let class = input.class();
    match filter {
        Filter::BitWidthReduction { .. } | Filter::PositiveDelta { .. } => matches!(
            class,
            DatatypeClass::Integer | DatatypeClass::Datetime | DatatypeClass::Time | DatatypeClass::Byte
        ),
        Filter::Delta { reinterpret, .. } | Filter::DoubleDelta { reinterpret, .. } => match reinterpret {
            Some(other) => {
                other.class() != DatatypeClass::Real && input.size().is_multiple_of(other.size().max(1))
            }
            None => class != DatatypeClass::Real,
        },
        Filter::ScaleFloat(_) => matches!(input.size(), 4 | 8),
        Filter::Xor => matches!(input.size(), 1 | 2 | 4 | 8),
        Filter::WebP(_) => input == Datatype::Uint8,
        _ => true,
    }
}

/// Checks that each filter of a list takes what the one before it makes of values of a datatype.
///
/// # Errors
/// The first that does not.
pub(crate) fn check_chain(filters: &[Filter], datatype: Datatype, is_var: bool) -> Outcome {
    let failure = |text: String| Failure::of("FilterPipeline", text);
    let is_text = matches!(datatype, Datatype::StringAscii | Datatype::StringUtf8);
    let of_text = |filter: &Filter| matches!(filter, Filter::Rle { .. } | Filter::Dictionary { .. });
    if is_text && is_var && filters.iter().skip(1).any(of_text) {
        let why =
            "RLE and dictionary filters must be the first filter to apply when used on a variable length";
        return Err(failure(format!("{why} string attribute")));
    }
    let mut input = datatype;
    for filter in filters {
        if !accepts(filter, input) {
            let word = FILTER_TYPES.word(u32::from(filter.code())).unwrap_or("");
            return Err(failure(format!("Filter {word} does not accept input type {}.", input.name())));
        }
        input = filter.output_type(input);
    }
    Ok(())
}

fn unknown(filter: &Filter) -> Failure {
    let word = FILTER_TYPES.word(u32::from(filter.code())).unwrap_or("");
    Failure::of("Filter", format!("{word} filter error; unknown option"))
}

fn invalid(what: &str) -> Failure {
    Failure::of("Filter", format!("filter error; invalid {what}"))
}

/// A value of the caller.
fn value<const N: usize>(data: Data) -> Result<[u8; N], Failure> {
    if data.is_null() {
        return Err(invalid("option value"));
    }
    data.bytes(crate::number(N))?.try_into().map_err(|_| invalid("option value"))
}

fn set_option(filter: &mut Filter, option: u32, data: Data) -> Outcome {
    let is_level = option == option::COMPRESSION_LEVEL;
    match filter {
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Bzip2 { level }
        | Filter::Dictionary { level }
        | Filter::DoubleDelta { level, .. }
        | Filter::Delta { level, .. }
            if is_level =>
        {
            *level = i32::from_le_bytes(value(data)?);
        }
        Filter::DoubleDelta { reinterpret, .. } | Filter::Delta { reinterpret, .. }
            if option == option::COMPRESSION_REINTERPRET_DATATYPE =>
        {
            let [code] = value(data)?;
            *reinterpret = if code == ANY { None } else { Some(codes::datatype(u32::from(code))?) };
        }
        // The other compressors keep no such type, which changes nothing for them.
        Filter::Gzip { .. }
        | Filter::Zstd { .. }
        | Filter::Lz4 { .. }
        | Filter::Rle { .. }
        | Filter::Bzip2 { .. }
        | Filter::Dictionary { .. }
            if option == option::COMPRESSION_REINTERPRET_DATATYPE => {}
        Filter::BitWidthReduction { max_window } if option == option::BIT_WIDTH_MAX_WINDOW => {
            *max_window = u32::from_le_bytes(value(data)?);
        }
        Filter::PositiveDelta { max_window } if option == option::POSITIVE_DELTA_MAX_WINDOW => {
            *max_window = u32::from_le_bytes(value(data)?);
        }
        Filter::ScaleFloat(options) => return set_scale(options, option, data),
        Filter::WebP(options) => return set_image(options, option, data),
        _ => return Err(unknown(filter)),
    }
    Ok(())
}

fn set_scale(options: &mut ScaleFloat, option: u32, data: Data) -> Outcome {
    match option {
        option::SCALE_FLOAT_BYTEWIDTH => {
            let width = ByteWidth::from_bytes(u64::from_le_bytes(value(data)?));
            options.byte_width = width.ok_or_else(|| invalid("byte width value"))?;
        }
        option::SCALE_FLOAT_FACTOR => {
            let scale = f64::from_le_bytes(value(data)?);
            if !scale.is_normal() {
                return Err(invalid("scale value"));
            }
            options.scale = scale;
        }
        option::SCALE_FLOAT_OFFSET => {
            let offset = f64::from_le_bytes(value(data)?);
            if !offset.is_finite() {
                return Err(invalid("offset value"));
            }
            options.offset = offset;
        }
        _ => return Err(unknown(&Filter::ScaleFloat(*options))),
    }
    Ok(())
}

fn set_image(options: &mut WebP, option: u32, data: Data) -> Outcome {
    match option {
        option::WEBP_QUALITY => {
            let quality = f32::from_le_bytes(value(data)?);
            if !(0.0..=100.0).contains(&quality) {
                return Err("Webp filter error; Quality must be in range [0.0, 100.0]".into());
            }
            options.quality = quality;
        }
        option::WEBP_INPUT_FORMAT => {
            let [code] = value(data)?;
            let format = PixelFormat::from_code(code);
            options.format = format.ok_or("Webp filter error; Invalid input format option setting")?;
        }
        option::WEBP_LOSSLESS => {
            let [flag] = value(data)?;
            if flag > 1 {
                return Err("Webp filter error; Lossless option must be 0 or 1".into());
            }
            options.lossless = flag == 1;
        }
        _ => return Err(unknown(&Filter::WebP(*options))),
    }
    Ok(())
}

fn get_option(filter: &Filter, option: u32, out: Out<u8>) -> Outcome {
    match filter {
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Bzip2 { level }
        | Filter::Dictionary { level }
        | Filter::DoubleDelta { level, .. }
        | Filter::Delta { level, .. }
            if option == option::COMPRESSION_LEVEL =>
        {
            out.fill(&level.to_le_bytes())
        }
        Filter::DoubleDelta { reinterpret, .. } | Filter::Delta { reinterpret, .. }
            if option == option::COMPRESSION_REINTERPRET_DATATYPE =>
        {
            out.fill(&[reinterpret.map_or(ANY, Datatype::code)])
        }
        Filter::BitWidthReduction { max_window } if option == option::BIT_WIDTH_MAX_WINDOW => {
            out.fill(&max_window.to_le_bytes())
        }
        Filter::PositiveDelta { max_window } if option == option::POSITIVE_DELTA_MAX_WINDOW => {
            out.fill(&max_window.to_le_bytes())
        }
        Filter::ScaleFloat(options) => match option {
            option::SCALE_FLOAT_BYTEWIDTH => {
                out.fill(&crate::number(options.byte_width.bytes()).to_le_bytes())
            }
            option::SCALE_FLOAT_FACTOR => out.fill(&options.scale.to_le_bytes()),
            option::SCALE_FLOAT_OFFSET => out.fill(&options.offset.to_le_bytes()),
            _ => Err(unknown(filter)),
        },
        Filter::WebP(options) => match option {
            option::WEBP_QUALITY => out.fill(&options.quality.to_le_bytes()),
            option::WEBP_INPUT_FORMAT => out.fill(&[options.format.code()]),
            option::WEBP_LOSSLESS => out.fill(&[u8::from(options.lossless)]),
            _ => Err(unknown(filter)),
        },
        _ => Err(unknown(filter)),
    }
}

exported! {
    fn tiledb_filter_alloc(ctx: Ctx, filter_type: u32, filter: OutHandle<FilterObject>) -> Code for ctx {
        let found = new_filter(filter_type).ok_or("Invalid filter type")?;
        filter.put(FilterObject(Shared::new(found)))
    }

    fn tiledb_filter_free(filter: Freed<FilterObject>) {
        filter.free();
    }

    fn tiledb_filter_get_type(ctx: Ctx, filter: In<FilterObject>, filter_type: Out<u32>) -> Code for ctx {
        filter_type.set(u32::from(filter.get()?.0.lock().code()))
    }

    fn tiledb_filter_set_option(ctx: Ctx, filter: In<FilterObject>, option: u32, data: Data) -> Code for ctx {
        set_option(&mut filter.get()?.0.lock(), option, data)
    }

    fn tiledb_filter_get_option(ctx: Ctx, filter: In<FilterObject>, option: u32, out: Out<u8>) -> Code for ctx {
        get_option(&filter.get()?.0.lock(), option, out)
    }
}
