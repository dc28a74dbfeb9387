//! Random schemas of everything that a version can hold.

use tdb_array::{ArraySchema, ArrayType, CellValNum, Datatype, enumeration_file_name};
use tdb_codec::{DatatypeClass, FormatVersion, Gate, Layout};
use tdb_filters::{Filter, Pipeline};
use tdb_schema::{Attribute, Dimension, Enumeration, Range};

use crate::conform::random::Random;

/// A schema and what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) schema: ArraySchema,
    pub(super) enumerations: Vec<Enumeration>,
}

const INTEGERS: [Datatype; 8] = [
    Datatype::Int8,
    Datatype::Uint8,
    Datatype::Int16,
    Datatype::Uint16,
    Datatype::Int32,
    Datatype::Uint32,
    Datatype::Int64,
    Datatype::Uint64,
];
const DATES: [Datatype; 6] = [
    Datatype::DatetimeYear,
    Datatype::DatetimeDay,
    Datatype::DatetimeHr,
    Datatype::DatetimeMs,
    Datatype::DatetimeNs,
    Datatype::DatetimeAs,
];
const TIMES: [Datatype; 3] = [Datatype::TimeHr, Datatype::TimeMs, Datatype::TimeNs];
const REALS: [Datatype; 2] = [Datatype::Float32, Datatype::Float64];
const STRINGS: [Datatype; 7] = [
    Datatype::Char,
    Datatype::StringAscii,
    Datatype::StringUtf8,
    Datatype::StringUtf16,
    Datatype::StringUtf32,
    Datatype::StringUcs2,
    Datatype::StringUcs4,
];

/// The first version whose libraries have a type, an order or a filter. These came with libraries, not with formats.
const TIMES_SINCE: u32 = 9;
const HILBERT_SINCE: u32 = 9;
const BLOBS_SINCE: u32 = 14;
const GEOMETRIES_SINCE: u32 = 22;
const CHECKSUMS_SINCE: u32 = 4;
const DATE_DIMENSIONS_SINCE: u32 = 5;
/// Libraries of before count wrongly near the ends of a type.
const WIDE_DOMAINS_SINCE: u32 = 9;
/// Libraries of before cannot have cells of variable length without values.
pub(super) const EMPTY_CELLS_SINCE: u32 = 7;

/// A random schema, of the kind asked for; `None` if what was drawn is not allowed.
pub(super) fn draw(random: &mut Random, version: FormatVersion, array_type: ArrayType) -> Option<Made> {
    let dense = array_type == ArrayType::Dense;
    let mut builder = if dense { ArraySchema::dense() } else { ArraySchema::sparse() }.version(version);
    let dimensions = if dense { random.length(1, 3) } else { random.length(1, 4) };
    let mixed = !dense && version.has(Gate::DimensionFiles);
    let first = dimension_type(random, version, dense);
    for index in 0..dimensions {
        let datatype = if mixed { dimension_type(random, version, dense) } else { first };
        let longest = match dimensions {
            1 => 200,
            2 => 24,
            _ => 8,
        };
        builder = builder.dimension(dimension(random, version, dense, index, datatype, longest)?);
    }
    let orders = [Layout::RowMajor, Layout::ColMajor];
    builder = builder.tile_order(*random.pick(&orders)?);
    let hilbert = !dense && version.number() >= HILBERT_SINCE && random.one_in(4);
    builder = builder.cell_order(if hilbert { Layout::Hilbert } else { *random.pick(&orders)? });
    if !dense {
        builder = builder.capacity(*random.pick(&[1, 2, 3, 7, 10, 64, 1000])?);
        if version.has(Gate::AllowsDuplicates) && random.one_in(3) {
            builder = builder.allow_duplicates();
        }
    }
    if random.one_in(2) {
        builder = builder
            .coords_filters(bytes_pipeline(random, version))
            .offsets_filters(integers_pipeline(random, version))
            .validity_filters(bytes_pipeline(random, version));
    }
    let mut enumerations = Vec::new();
    let attributes = random.length(usize::from(dense), 4);
    let ordered = dense && dimensions == 1 && version.has(Gate::OrderedAttributes) && random.one_in(6);
    for index in 0..attributes {
        let mut attribute = attribute(random, version, index)?;
        if version.has(Gate::Enumerations) && random.one_in(4) {
            let enumeration = enumeration(random, index)?;
            attribute = Attribute::new(attribute.name, Datatype::Uint16, CellValNum::ONE)
                .with_enumeration(enumeration.name.clone());
            builder = builder.enumeration(&enumeration);
            enumerations.push(enumeration);
        } else if ordered && index == 0 {
            let order =
                *random.pick(&[tdb_codec::DataOrder::Increasing, tdb_codec::DataOrder::Decreasing])?;
            attribute = Attribute::new(
                attribute.name,
                *random.pick(&[Datatype::Int32, Datatype::Float64])?,
                CellValNum::ONE,
            );
            attribute.order = order;
        }
        builder = builder.attribute(attribute);
    }
    let mut schema = builder.build().ok()?;
    if version.has(Gate::CurrentDomain) && random.one_in(5) {
        schema.current_domain = current_domain(random, &schema);
        schema.check_new().ok()?;
    }
    Some(Made { schema, enumerations })
}

fn dimension_type(random: &mut Random, version: FormatVersion, dense: bool) -> Datatype {
    let mut types = INTEGERS.to_vec();
    if version.number() >= DATE_DIMENSIONS_SINCE {
        types.extend(DATES);
    }
    if version.number() >= TIMES_SINCE {
        types.extend(TIMES);
    }
    if !dense {
        types.extend(REALS);
        types.extend(REALS);
        if version.has(Gate::DimensionFiles) {
            types.extend([Datatype::StringAscii; 3]);
        }
    }
    random.pick(&types).copied().unwrap_or(Datatype::Int32)
}

fn dimension(
    random: &mut Random,
    version: FormatVersion,
    dense: bool,
    index: usize,
    datatype: Datatype,
    longest: usize,
) -> Option<Dimension> {
    let name = if random.one_in(8) { format!("dim {index}") } else { format!("d{index}") };
    let dimension = if datatype == Datatype::StringAscii {
        Dimension::string(name)
    } else if datatype.physical().is_float() {
        let bytes = |value: f64| match datatype {
            #[expect(clippy::cast_possible_truncation, reason = "the nearest value is wanted")]
            Datatype::Float32 => (value as f32).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        };
        let (low, high) = *random.pick(&[(-100.0, 100.0), (0.0, 1.0), (-1e30, 1e30)])?;
        let dimension = Dimension::fixed(name, datatype, bytes(low), bytes(high));
        let extent = *random.pick(&[Some(0.1), Some(0.3), Some(0.75), None])?;
        match extent {
            Some(share) => dimension.with_extent(bytes((high - low) * share)),
            None => dimension,
        }
    } else {
        let size = datatype.size();
        let signed = datatype.physical().is_signed_integer();
        let bits = u32::try_from(size * 8).ok()?;
        let top: i128 = if signed { (1 << (bits - 1)) - 1 } else { (1 << bits) - 1 };
        let bottom: i128 = if signed { -(1 << (bits - 1)) } else { 0 };
        let longest = longest.min(if size == 1 { 90 } else { usize::MAX });
        let mut cells = i128::try_from(random.length(1, longest)).ok()?;
        let extent = i128::try_from(random.length(1, usize::try_from(cells).ok()?.min(30))).ok()?;
        let plain = version.number() < WIDE_DOMAINS_SINCE;
        let low = *random.pick(if plain { &[0, 1, 10][..] } else { &[] }).unwrap_or(&0);
        let ends = [0, 1, 10, bottom, bottom + 1, top - cells - extent, top / 2, bottom / 2];
        let low = if plain { low } else { *random.pick(&ends)? };
        if !plain && random.one_in(6) {
            // As wide as can be: only parts of it are written.
            cells = (top - low - extent).max(cells);
        }
        let high = low + cells - 1;
        if low < bottom || high > top {
            return None;
        }
        let bytes = |value: i128| value.to_le_bytes().get(..size).map(<[u8]>::to_vec);
        let dimension = Dimension::fixed(name, datatype, bytes(low)?, bytes(high)?);
        if random.one_in(5) && cells < 1000 { dimension } else { dimension.with_extent(bytes(extent)?) }
    };
    if dense || !version.has(Gate::DimensionFiles) || random.one_in(2) {
        return Some(dimension);
    }
    let pipeline = if datatype.physical().is_float() || datatype.is_string() {
        bytes_pipeline(random, version)
    } else {
        integers_pipeline(random, version)
    };
    Some(dimension.with_filters(pipeline))
}

fn attribute(random: &mut Random, version: FormatVersion, index: usize) -> Option<Attribute> {
    let mut types = [INTEGERS.as_slice(), &REALS, &STRINGS, &DATES].concat();
    if version.number() >= TIMES_SINCE {
        types.extend(TIMES);
    }
    if version.number() >= BLOBS_SINCE {
        types.extend([Datatype::Blob, Datatype::Bool]);
    }
    if version.number() >= GEOMETRIES_SINCE {
        types.extend([Datatype::GeomWkb, Datatype::GeomWkt]);
    }
    let datatype = *random.pick(&types)?;
    let values = match random.below(6) {
        0 => CellValNum::from_code(u32::try_from(random.between(2, 4)).ok()?)?,
        1 | 2 => CellValNum::Var,
        _ => CellValNum::ONE,
    };
    let name = if random.one_in(8) { format!("attr {index}") } else { format!("a{index}") };
    let mut attribute = Attribute::new(name, datatype, values);
    if version.has(Gate::Nullable) && random.one_in(3) {
        attribute = attribute.with_nulls();
    }
    if random.one_in(2) {
        let string = values.is_var() && matches!(datatype, Datatype::StringAscii | Datatype::StringUtf8);
        let integer = matches!(datatype.class(), DatatypeClass::Integer) && datatype != Datatype::Bool;
        let pipeline = if string && random.one_in(3) {
            strings_pipeline(random, version, datatype)
        } else if integer {
            integers_pipeline(random, version)
        } else {
            bytes_pipeline(random, version)
        };
        attribute = attribute.with_filters(pipeline);
    }
    if version.has(Gate::FillValues) && random.one_in(3) {
        let size = match values.is_var() {
            true => datatype.size() * random.length(1, 3),
            false => attribute.fill_value.len(),
        };
        let mut fill: Vec<u8> = (0..size).map(|_| u8::try_from(random.below(100)).unwrap_or(7)).collect();
        if datatype == Datatype::Bool {
            fill.iter_mut().for_each(|byte| *byte &= 1);
        }
        attribute = attribute.with_fill(fill);
        if attribute.nullable && random.one_in(2) {
            attribute.fill_validity = 1;
        }
    }
    Some(attribute)
}

fn enumeration(random: &mut Random, index: usize) -> Option<Enumeration> {
    let count = random.length(0, 5);
    let words = ["red", "green", "", "blue", "a longer word"];
    let mut enumeration = Enumeration::new(
        format!("values {index}"),
        enumeration_file_name().ok()?,
        Datatype::StringUtf8,
        CellValNum::Var,
        words.iter().take(count),
    )
    .ok()?;
    enumeration.ordered = random.one_in(2);
    Some(enumeration)
}

/// A part of the domain.
fn current_domain(random: &mut Random, schema: &ArraySchema) -> Option<tdb_schema::CurrentDomain> {
    let ranges = schema.domain.dimensions.iter().map(|dimension| match dimension.last_ordinal() {
        Some(last) => {
            let low = random.between(0, last.min(5));
            let high = random.between(low, last.min(low.saturating_add(60)));
            Some(Range::new(dimension.coordinate(low)?, dimension.coordinate(high)?))
        }
        None if dimension.is_var() => Some(Range::new(*b"b", *b"w")),
        None => dimension.domain.clone().map(|(low, high)| Range::new(low, high)),
    });
    Some(tdb_schema::CurrentDomain { ranges: ranges.collect::<Option<_>>()? })
}

/// Filters for bytes of any kind.
fn bytes_pipeline(random: &mut Random, version: FormatVersion) -> Pipeline {
    let mut filters = Vec::new();
    if random.one_in(3) {
        filters.push(if random.one_in(2) { Filter::ByteShuffle } else { Filter::BitShuffle });
    }
    compress(random, version, &mut filters);
    Pipeline::new(filters)
}

/// Filters for integers: such as look at values, then others.
fn integers_pipeline(random: &mut Random, version: FormatVersion) -> Pipeline {
    let mut filters = Vec::new();
    match random.below(5) {
        0 => filters.push(Filter::BitWidthReduction { max_window: 64 }),
        1 => filters.push(Filter::Rle { level: -1 }),
        2 => filters.push(Filter::ByteShuffle),
        _ => {}
    }
    compress(random, version, &mut filters);
    Pipeline::new(filters)
}

fn strings_pipeline(random: &mut Random, version: FormatVersion, datatype: Datatype) -> Pipeline {
    let dictionary = if datatype == Datatype::StringAscii {
        version.has(Gate::AsciiDictionaryStrings)
    } else {
        version.has(Gate::Utf8Strings)
    };
    let mut filters = vec![Filter::Rle { level: -1 }];
    if dictionary && random.one_in(2) {
        filters = vec![Filter::Dictionary { level: -1 }];
    }
    if random.one_in(2) {
        compress(random, version, &mut filters);
    }
    Pipeline::new(filters)
}

fn compress(random: &mut Random, version: FormatVersion, filters: &mut Vec<Filter>) {
    let level = -1;
    filters.extend(match random.below(7) {
        0 => Some(Filter::Gzip { level: 3 }),
        1 => Some(Filter::Zstd { level }),
        2 => Some(Filter::Lz4 { level }),
        3 => Some(Filter::Bzip2 { level: 1 }),
        4 => Some(Filter::None),
        _ => None,
    });
    if version.number() >= CHECKSUMS_SINCE && random.one_in(8) {
        filters.push(if random.one_in(2) { Filter::ChecksumMd5 } else { Filter::ChecksumSha256 });
    }
}
