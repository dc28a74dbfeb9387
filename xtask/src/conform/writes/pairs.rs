//! Every feature in every version: small arrays with one datatype, filter, option, type of metadata
//! or structure.
//!
//! tdb writes the array, and every release that writes the version reads it; or tdb refuses it with
//! a specific error, and so does a release.

use std::collections::BTreeMap;

use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype, enumeration_file_name};
use tdb_array::write::Duplicates;
use tdb_codec::{DataOrder, DatatypeClass, FormatVersion, Layout, to_u64};
use tdb_filters::{ByteWidth, Filter, Pipeline, PixelFormat, ScaleFloat, WebP};
use tdb_schema::{
    Attribute, CurrentDomain, Dimension, DimensionLabel, Domain, Enumeration, EnumerationName, MetadataValue,
    Range,
};

use super::Run;
use super::batch;
use super::bench::Case;
use super::dimensions::real_bytes;
use super::judge::{Bench, Job, Tally};
use super::model::{Act, How, Row, Step};
use super::schemas::Made;
use crate::peer::READER;

/// Number of cells of an array.
const CELLS: u64 = 10;

/// A feature of an array that not every version has.
#[derive(Clone, Debug, PartialEq)]
enum Thing {
    Attribute(Datatype, CellValNum),
    Nullable(Datatype, CellValNum),
    /// For a sparse or a dense array.
    Dimension(Datatype, ArrayType),
    Filter(Filter, Tile),
    Metadata(Datatype, usize),
    Anonymous(ArrayType),
    Fill,
    Duplicates,
    Hilbert,
    Enumeration(Datatype, Datatype),
    Ordered,
    Label,
    CurrentDomain,
    SmallChunks,
    Encrypted,
    FieldName(&'static str),
    MixedDimensions,
}

/// The kinds of tiles that filters work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tile {
    Values(Datatype),
    Strings(Datatype),
    Offsets,
    Validity(Datatype),
    Coordinates(Datatype),
    /// For all dimensions without their own filters.
    AllCoordinates,
}

/// All features, in a fixed order.
fn things() -> Vec<Thing> {
    let types: Vec<Datatype> = (0..=u8::MAX).filter_map(Datatype::from_code).collect();
    let mut things = Vec::new();
    for datatype in types.iter().copied() {
        things.push(Thing::Attribute(datatype, CellValNum::ONE));
        things.push(Thing::Attribute(datatype, CellValNum::Var));
        things.push(Thing::Nullable(datatype, CellValNum::ONE));
        things.push(Thing::Dimension(datatype, ArrayType::Sparse));
        things.push(Thing::Dimension(datatype, ArrayType::Dense));
        things.push(Thing::Metadata(datatype, 2));
    }
    things.extend([Datatype::Int32, Datatype::StringUtf8, Datatype::Char].map(|of| Thing::Metadata(of, 0)));
    let tiles = [
        Tile::Values(Datatype::Int32),
        Tile::Values(Datatype::Uint8),
        Tile::Values(Datatype::Float64),
        Tile::Values(Datatype::Float32),
        Tile::Values(Datatype::DatetimeDay),
        Tile::Values(Datatype::Char),
        Tile::Strings(Datatype::StringAscii),
        Tile::Strings(Datatype::StringUtf8),
        Tile::Strings(Datatype::Int32),
        Tile::Offsets,
        Tile::Validity(Datatype::Int32),
        Tile::Validity(Datatype::Float64),
        Tile::Coordinates(Datatype::Int64),
        Tile::Coordinates(Datatype::Float64),
        Tile::Coordinates(Datatype::StringAscii),
        Tile::Coordinates(Datatype::DatetimeDay),
        Tile::AllCoordinates,
    ];
    for filter in filters() {
        things.extend(tiles.iter().map(|tile| Thing::Filter(filter.clone(), *tile)));
    }
    things.push(Thing::Filter(webp(), Tile::Values(Datatype::Uint8)));
    for values in [Datatype::StringUtf8, Datatype::Int32, Datatype::Float64, Datatype::Blob] {
        things.push(Thing::Enumeration(values, Datatype::Uint8));
        things.push(Thing::Enumeration(values, Datatype::Int64));
    }
    things.extend([
        Thing::Anonymous(ArrayType::Dense),
        Thing::Anonymous(ArrayType::Sparse),
        Thing::Nullable(Datatype::StringAscii, CellValNum::Var),
        Thing::Fill,
        Thing::Duplicates,
        Thing::Hilbert,
        Thing::Ordered,
        Thing::Label,
        Thing::CurrentDomain,
        Thing::SmallChunks,
        Thing::Encrypted,
        Thing::MixedDimensions,
        Thing::FieldName("a b/c:d%é"),
    ]);
    things
}

/// All filters, including options that were introduced later.
fn filters() -> Vec<Filter> {
    let scale = |byte_width| Filter::ScaleFloat(ScaleFloat { scale: 0.5, offset: 1.0, byte_width });
    vec![
        Filter::None,
        Filter::Gzip { level: 9 },
        Filter::Zstd { level: -7 },
        Filter::Zstd { level: 22 },
        Filter::Lz4 { level: 1 },
        Filter::Rle { level: -1 },
        Filter::Bzip2 { level: 9 },
        Filter::DoubleDelta { level: -1, reinterpret: None },
        Filter::DoubleDelta { level: -1, reinterpret: Some(Datatype::Uint8) },
        Filter::BitWidthReduction { max_window: 256 },
        Filter::BitWidthReduction { max_window: 24 },
        Filter::BitShuffle,
        Filter::ByteShuffle,
        Filter::PositiveDelta { max_window: 1024 },
        Filter::ChecksumMd5,
        Filter::ChecksumSha256,
        Filter::Dictionary { level: -1 },
        scale(ByteWidth::One),
        scale(ByteWidth::Eight),
        Filter::Xor,
        Filter::Delta { level: -1, reinterpret: None },
        Filter::Delta { level: -1, reinterpret: Some(Datatype::Uint8) },
    ]
}

const fn webp() -> Filter {
    Filter::WebP(WebP { quality: 100.0, format: PixelFormat::Rgb, lossless: true, y_extent: 0, x_extent: 0 })
}

/// The pairs of the run's versions.
pub(super) fn run(run: &Run<'_>, tally: &mut Tally) -> Result<(), String> {
    let versions = run.releases.versions();
    for version in versions.into_iter().filter(|version| run.options.has_version(*version)) {
        let format = FormatVersion::parse(version).map_err(|error| error.to_string())?;
        let things = things();
        let numbers = run.options.numbers(things.len());
        let cases = numbers.iter().filter_map(|number| {
            let case = case(things.get(*number)?, format)?;
            Some((*number, case))
        });
        let made = batch::write(run.folder, cases.collect())?;
        let again = |number| run.again("pairs", version, number);
        let bench = Bench { releases: run.releases, script: run.script, folder: run.folder, again: &again };
        let all: Vec<usize> = (0..made.good.len()).collect();
        let mut readers = run.releases.of(version);
        if !readers.contains(&READER) {
            readers.push(READER);
        }
        let job =
            |reader: &str, cases: &[usize]| Job { version, reader: reader.to_owned(), cases: cases.to_vec() };
        let jobs: Vec<Job> = readers.iter().map(|reader| job(reader, &all)).collect();
        bench.read(&made, &jobs, tally)?;
        let refused: Vec<usize> = (made.good.len()..).take(made.refused.len()).collect();
        let current = version == FormatVersion::CURRENT.number();
        let oldest = run.releases.of(version).first().copied().unwrap_or(READER);
        bench.refusals(&made, &[job(if current { READER } else { oldest }, &refused)], tally)?;
        eprintln!("pairs of version {version} done, {:.0} s", run.started.elapsed().as_secs_f64());
    }
    Ok(())
}

/// The array for a feature.
fn case(thing: &Thing, version: FormatVersion) -> Option<Case> {
    let mut schema = ArraySchema::new(ArrayType::Dense, Domain::default());
    schema.version = version;
    schema.offsets_filters = Pipeline::new(vec![Filter::Zstd { level: -1 }]);
    let (mut x, mut attribute) = (dimension("x", Datatype::Int32)?, plain(Datatype::Int32, CellValNum::ONE));
    let mut enumerations = Vec::new();
    let mut acts = Vec::new();
    let sparse = |schema: &mut ArraySchema| {
        schema.array_type = ArrayType::Sparse;
        schema.capacity = 3;
    };
    match thing {
        Thing::Attribute(datatype, values) => attribute = plain(*datatype, *values),
        Thing::Nullable(datatype, values) => attribute = plain(*datatype, *values).with_nulls(),
        Thing::Dimension(datatype, array_type) => {
            schema.array_type = *array_type;
            x = dimension("x", *datatype)?;
        }
        Thing::Filter(filter, tile) => {
            let pipeline = Pipeline::new(vec![filter.clone()]);
            match tile {
                Tile::Values(Datatype::Uint8) if matches!(filter, Filter::WebP(_)) => {
                    schema.domain.dimensions.push(Dimension::new("y", 1i32..=7).with_tile(7i32));
                    x = Dimension::new("x", 1i32..=6).with_tile(6i32);
                    attribute = plain(Datatype::Uint8, CellValNum::ONE).with_filters(pipeline);
                }
                Tile::Values(datatype) => {
                    attribute = plain(*datatype, CellValNum::ONE).with_filters(pipeline);
                }
                Tile::Strings(datatype) => {
                    attribute = plain(*datatype, CellValNum::Var).with_filters(pipeline);
                }
                Tile::Offsets => {
                    attribute = plain(Datatype::StringAscii, CellValNum::Var);
                    schema.offsets_filters = pipeline;
                }
                Tile::Validity(datatype) => {
                    attribute = plain(*datatype, CellValNum::ONE).with_nulls();
                    schema.validity_filters = pipeline;
                }
                Tile::Coordinates(datatype) => {
                    sparse(&mut schema);
                    x = dimension("x", *datatype)?.with_filters(pipeline);
                }
                Tile::AllCoordinates => {
                    sparse(&mut schema);
                    schema.coords_filters = pipeline;
                }
            }
        }
        Thing::Metadata(datatype, count) => {
            let data = (0..*count).flat_map(|at| number(*datatype, to_u64(at))).collect();
            let value = MetadataValue { datatype: *datatype, data };
            acts.push(Act::Metadata { time: 10, entries: BTreeMap::from([("key".to_owned(), Some(value))]) });
        }
        Thing::Anonymous(array_type) => {
            schema.array_type = *array_type;
            attribute.name.clear();
        }
        Thing::Fill => attribute = attribute.with_fill(7i32.to_le_bytes()),
        Thing::Duplicates => {
            sparse(&mut schema);
            schema.allows_duplicates = true;
        }
        Thing::Hilbert => {
            sparse(&mut schema);
            schema.cell_order = Layout::Hilbert;
            schema.domain.dimensions.push(dimension("y", Datatype::Int32)?);
        }
        Thing::MixedDimensions => {
            sparse(&mut schema);
            schema.domain.dimensions.push(dimension("y", Datatype::Float64)?);
        }
        Thing::Enumeration(values, index) => {
            let enumeration = enumeration(*values)?;
            attribute =
                Attribute::new("a", *index, CellValNum::ONE).with_enumeration(enumeration.name.clone());
            let (name, file_name) = (enumeration.name.clone(), enumeration.file_name.clone());
            schema.enumerations.push(EnumerationName { name, file_name });
            enumerations.push(enumeration);
        }
        Thing::Ordered => attribute.order = DataOrder::Increasing,
        Thing::Label => schema.labels.push(label()),
        Thing::CurrentDomain => {
            let range = Range::new(1i32.to_le_bytes(), 9i32.to_le_bytes());
            schema.current_domain = Some(CurrentDomain::new(vec![range]));
        }
        Thing::SmallChunks => attribute.filters.max_chunk_size = 8,
        Thing::FieldName(name) => (*name).clone_into(&mut attribute.name),
        Thing::Encrypted => {}
    }
    schema.domain.dimensions.push(x);
    schema.attributes.push(attribute);
    let made = Made::new(schema, enumerations);
    acts.insert(0, Act::Write(cells(&made.schema)?));
    Some(Case { made, encrypted: *thing == Thing::Encrypted, acts, pair: true })
}

fn plain(datatype: Datatype, values: CellValNum) -> Attribute {
    Attribute::new("a", datatype, values)
}

fn dimension(name: &str, datatype: Datatype) -> Option<Dimension> {
    if datatype == Datatype::StringAscii {
        return Some(Dimension::string(name));
    }
    let real = datatype.physical().is_float();
    let bytes = |value: u64| match real {
        #[expect(clippy::cast_precision_loss, reason = "it is small")]
        true => Some(real_bytes(datatype, value as f64)),
        false => value.to_le_bytes().get(..datatype.size()).map(<[u8]>::to_vec),
    };
    Some(Dimension::fixed(name, datatype, bytes(1)?, bytes(10)?).with_tile_bytes(bytes(5)?))
}

fn enumeration(values: Datatype) -> Option<Enumeration> {
    let var = matches!(values, Datatype::StringUtf8 | Datatype::Blob);
    let cells: Vec<Vec<u8>> = (0..20).map(|at| number(values, at)).collect();
    let count = if var { CellValNum::Var } else { CellValNum::ONE };
    Enumeration::new("values", enumeration_file_name().ok()?, values, count, cells).ok()
}

fn label() -> DimensionLabel {
    DimensionLabel::new(0, "label", "__labels/l0", Datatype::Float64, CellValNum::ONE)
}

/// A small number as a value of a type.
fn number(datatype: Datatype, at: u64) -> Vec<u8> {
    if datatype.physical().is_float() {
        #[expect(clippy::cast_precision_loss, reason = "it is small")]
        return real_bytes(datatype, at as f64);
    }
    let value = match datatype.class() {
        _ if datatype == Datatype::Bool => at % 2,
        DatatypeClass::String | DatatypeClass::Char => u64::from(b'a') + at,
        _ => at,
    };
    value.to_le_bytes().into_iter().take(datatype.size()).collect()
}

/// A few cells that every filter accepts: tiles are full, and no value is less than the previous
/// one.
fn cells(schema: &ArraySchema) -> Option<Step> {
    let dense = schema.array_type == ArrayType::Dense;
    let dimensions = &schema.domain.dimensions;
    let sides: Vec<(u64, u64)> = match dimensions.len() {
        // A current domain ends one cell before the domain.
        1 => vec![(0, CELLS - 1 - u64::from(schema.current_domain.is_some()))],
        _ => dimensions.iter().map(|dimension| (0, dimension.last_ordinal().unwrap_or(0))).collect(),
    };
    let count = if dense { sides.iter().map(|(_, high)| high + 1).product() } else { CELLS };
    let value = |attribute: &Attribute, at: u64| {
        let values = if attribute.cell_val_num.is_var() { at % 3 + 1 } else { 1 };
        let datatype = attribute.datatype;
        let valid = !attribute.nullable || at > 3;
        ((0..values).flat_map(|_| number(datatype, at + 1)).collect::<Vec<u8>>(), valid)
    };
    let coordinate = |dimension: &Dimension, at: u64| {
        if dimension.is_var() || dimension.last_ordinal().is_none() {
            number(dimension.datatype, at + 1)
        } else {
            dimension.coordinate(at).unwrap_or_default()
        }
    };
    let cells = (0..count).map(|at| {
        let row: Row = schema.attributes.iter().map(|attribute| value(attribute, at)).collect();
        let place = if dense {
            Vec::new()
        } else {
            dimensions.iter().map(|dimension| coordinate(dimension, at)).collect()
        };
        (place, row)
    });
    let cells = cells.collect();
    let how = if dense { How::Dense(Layout::RowMajor) } else { How::Unordered(Duplicates::Refuse) };
    let sides = if dense { sides } else { Vec::new() };
    Some(Step { time: 10, how, sides, cells, fragment_bytes: None, batches: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_and_every_filter_is_among_the_things_and_the_current_version_holds_most() {
        let things = things();
        for code in 0..=u8::MAX {
            if let Some(datatype) = Datatype::from_code(code) {
                assert!(things.contains(&Thing::Metadata(datatype, 2)));
                assert!(things.contains(&Thing::Attribute(datatype, CellValNum::ONE)));
            }
        }
        let cases: Vec<Case> =
            things.iter().filter_map(|thing| case(thing, FormatVersion::CURRENT)).collect();
        assert_eq!(cases.len(), things.len());
        let made = cases.iter().filter(|case| case.made.refused.is_none()).count();
        assert!(made > things.len() / 2, "{made} of {}", things.len());
    }
}
