//! Random schemas with everything that a version can store.

use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype, enumeration_file_name};
use tdb_codec::{DataOrder, DatatypeClass, FormatVersion, Gate, Layout};
use tdb_filters::{Filter, Pipeline};
use tdb_schema::{
    Attribute, DimensionLabel, Domain, Enumeration, EnumerationName, Range, SchemaBuilder, SchemaProblem,
};

use super::dimensions;
use crate::conform::random::Random;

/// A schema and the parts that belong to it.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) schema: ArraySchema,
    pub(super) enumerations: Vec<Enumeration>,
    /// The reason why tdb refuses to create it, if it does.
    pub(super) refused: Option<String>,
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

/// The first version whose libraries have a type, an order or a filter. These came with libraries,
/// not with formats.
const TIMES_SINCE: u32 = 9;
const HILBERT_SINCE: u32 = 7;
const BLOBS_SINCE: u32 = 14;
const GEOMETRIES_SINCE: u32 = 22;
const CHECKSUMS_SINCE: u32 = 5;
const DATE_DIMENSIONS_SINCE: u32 = 5;
/// Earlier libraries cannot have cells of variable length without values.
pub(super) const EMPTY_CELLS_SINCE: u32 = 7;

/// A random schema of the requested kind, with the reason if tdb refuses to create it.
pub(super) fn draw(random: &mut Random, version: FormatVersion, array_type: ArrayType) -> Option<Made> {
    let dense = array_type == ArrayType::Dense;
    let mut schema = ArraySchema::new(array_type, Domain::default());
    schema.version = version;
    let count = if dense { random.length(1, 3) } else { random.length(1, 4) };
    let mixed = !dense && version.has(Gate::DimensionFiles);
    let first = dimension_type(random, version, dense);
    for index in 0..count {
        let datatype = if mixed { dimension_type(random, version, dense) } else { first };
        let longest = match count {
            1 => 200,
            2 => 24,
            _ => 8,
        };
        let dimension = dimensions::draw(random, version, dense, index, datatype, longest)?;
        schema.domain.dimensions.push(dimension);
    }
    let orders = [Layout::RowMajor, Layout::ColMajor];
    schema.tile_order = *random.pick(&orders)?;
    let hilbert = !dense && version.number() >= HILBERT_SINCE && random.one_in(3);
    schema.cell_order = if hilbert { Layout::Hilbert } else { *random.pick(&orders)? };
    if !dense {
        schema.capacity = *random.pick(&[1, 2, 3, 7, 10, 64, 1000])?;
        schema.allows_duplicates = version.has(Gate::AllowsDuplicates) && random.one_in(3);
    }
    schema.coords_filters = Pipeline::new(vec![Filter::Zstd { level: -1 }]);
    schema.offsets_filters = Pipeline::new(vec![Filter::Zstd { level: -1 }]);
    schema.validity_filters = Pipeline::new(vec![Filter::Rle { level: -1 }]);
    if random.one_in(2) {
        schema.coords_filters = bytes_pipeline(random, version);
        schema.offsets_filters = integers_pipeline(random, version);
        schema.validity_filters = bytes_pipeline(random, version);
    }
    let mut enumerations = Vec::new();
    let attributes = random.length(usize::from(dense), 4);
    let ordered = dense && count == 1 && version.has(Gate::OrderedAttributes) && random.one_in(6);
    let anonymous = random.one_in(10);
    for index in 0..attributes {
        let mut attribute = attribute(random, version, index)?;
        if index == 0 && anonymous {
            attribute.name.clear();
        }
        if version.has(Gate::Enumerations) && random.one_in(4) {
            let enumeration = enumeration(random, version, index)?;
            attribute = Attribute::new(attribute.name, Datatype::Uint16, CellValNum::ONE)
                .with_enumeration(enumeration.name.clone());
            let (name, file_name) = (enumeration.name.clone(), enumeration.file_name.clone());
            schema.enumerations.push(EnumerationName { name, file_name });
            enumerations.push(enumeration);
        } else if ordered && index == 0 {
            let datatype = *random.pick(&[Datatype::Int32, Datatype::Float64])?;
            attribute = Attribute::new(attribute.name, datatype, CellValNum::ONE);
            attribute.order = *random.pick(&[DataOrder::Increasing, DataOrder::Decreasing])?;
        }
        schema.attributes.push(attribute);
    }
    if dense && version.has(Gate::DimensionLabels) && random.one_in(6) {
        schema.labels.push(label(random)?);
    }
    if version.has(Gate::CurrentDomain) && random.one_in(5) {
        schema.current_domain = current_domain(random, &schema);
    }
    Some(Made::new(schema, enumerations))
}

impl Made {
    /// A schema as tdb creates it, or the reason why tdb refuses it.
    pub(super) fn new(schema: ArraySchema, enumerations: Vec<Enumeration>) -> Self {
        match built(&schema, &enumerations) {
            Ok(schema) => Self { schema, enumerations, refused: None },
            Err(error) => Self { schema, enumerations, refused: Some(error.to_string()) },
        }
    }
}

/// The schema that the schema builder creates from these parts.
fn built(parts: &ArraySchema, enumerations: &[Enumeration]) -> Result<ArraySchema, SchemaProblem> {
    let sparse = parts.array_type == ArrayType::Sparse;
    let builder = if sparse { ArraySchema::sparse() } else { ArraySchema::dense() };
    let mut builder = builder
        .version(parts.version)
        .tile_order(parts.tile_order)
        .cell_order(parts.cell_order)
        .capacity(parts.capacity)
        .coords_filters(parts.coords_filters.clone())
        .offsets_filters(parts.offsets_filters.clone())
        .validity_filters(parts.validity_filters.clone());
    if parts.allows_duplicates {
        builder = builder.allow_duplicates();
    }
    if let Some(current) = &parts.current_domain {
        builder = builder.current_domain(current.ranges.clone());
    }
    builder = parts.domain.dimensions.iter().cloned().fold(builder, SchemaBuilder::dimension);
    builder = parts.attributes.iter().cloned().fold(builder, SchemaBuilder::attribute);
    builder = parts.labels.iter().cloned().fold(builder, SchemaBuilder::label);
    enumerations.iter().fold(builder, SchemaBuilder::enumeration).build()
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

fn enumeration(random: &mut Random, version: FormatVersion, index: usize) -> Option<Enumeration> {
    let count = random.length(usize::from(!version.has(Gate::EmptyEnumerations)), 5);
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

/// A label of the first dimension. Its values are in a separate array, which is created and left
/// empty.
fn label(random: &mut Random) -> Option<DimensionLabel> {
    let (datatype, cell_val_num) = *random.pick(&[
        (Datatype::Float64, CellValNum::ONE),
        (Datatype::Int32, CellValNum::ONE),
        (Datatype::StringAscii, CellValNum::Var),
    ])?;
    let mut label = DimensionLabel::new(0, "label", "__labels/l0", datatype, cell_val_num);
    label.order = *random.pick(&[DataOrder::Increasing, DataOrder::Decreasing])?;
    Some(label)
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
    Some(tdb_schema::CurrentDomain::new(ranges.collect::<Option<_>>()?))
}

/// Filters for bytes of any kind.
pub(super) fn bytes_pipeline(random: &mut Random, version: FormatVersion) -> Pipeline {
    let mut filters = Vec::new();
    if random.one_in(3) {
        filters.push(if random.one_in(2) { Filter::ByteShuffle } else { Filter::BitShuffle });
    }
    compress(random, version, &mut filters);
    Pipeline::new(filters)
}

/// Filters for integers: first those that depend on values, then others.
pub(super) fn integers_pipeline(random: &mut Random, version: FormatVersion) -> Pipeline {
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
    let may_chain = datatype != Datatype::StringAscii
        || !version.has(Gate::AsciiRleStrings)
        || version.has(Gate::ChainedStrings);
    if may_chain && random.one_in(2) {
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
