//! Every filter × every datatype × every shape of field × kinds of data × sizes around the chunk's:
//! encoded data is decoded to the same bits, and if the format cannot represent a value, the error
//! is the documented one.

use std::collections::BTreeMap;

use tdb_codec::{Datatype, FormatVersion};
use tdb_filters::{ByteWidth, Filter, Pipeline, PixelFormat, ScaleFloat, Scratch, TileContext, WebP};

use crate::common::cells::{Values, starts};
use crate::common::rules::{Outcome, outcome};
use crate::common::{Tile, registry_filters, scratch, there_and_back, version};

/// Shapes of a field's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// This many values in each cell.
    Fixed(usize),
    Var,
    NullableFixed,
    NullableVar,
}

const SHAPES: [Shape; 5] =
    [Shape::Fixed(1), Shape::Fixed(3), Shape::Var, Shape::NullableFixed, Shape::NullableVar];

/// The number of cases with each outcome, by filter.
#[derive(Debug, Default)]
struct Counts(BTreeMap<(&'static str, &'static str), usize>);

impl Counts {
    fn note(&mut self, filter: &Filter, outcome: &Outcome) {
        let kind = match outcome {
            Outcome::Same => "same",
            Outcome::Becomes(_) => "rounded",
            _ => "refused",
        };
        *self.0.entry((filter.name(), kind)).or_default() += 1;
    }

    fn of(&self, filter: &str, kind: &str) -> usize {
        self.0.iter().filter(|((f, k), _)| *f == filter && *k == kind).map(|(_, count)| count).sum()
    }

    fn all(&self) -> usize {
        self.0.values().sum()
    }
}

/// Encodes and decodes one tile with each filter, and compares the outcome with the documented one.
fn check(filters: &[Filter], tile: &Tile<'_>, what: &str, scratch: &mut Scratch, counts: &mut Counts) {
    filters.iter().for_each(|filter| check_one(filter, tile, what, scratch, counts));
}

fn check_one(filter: &Filter, tile: &Tile<'_>, what: &str, scratch: &mut Scratch, counts: &mut Counts) {
    let expected = outcome(filter, tile);
    let what = || format!("{filter:?} on {what}: {:?}, {} bytes", tile.context, tile.input.len());
    let found = match there_and_back(&Pipeline::new(vec![filter.clone()]), tile, scratch) {
        Err(error) => {
            assert_eq!((error.filter, error.position), (filter.name(), 1), "{}", what());
            Outcome::of(&error.kind)
        }
        Ok(Err(error)) => panic!("{}: cannot decode what was encoded: {error}", what()),
        Ok(Ok(back)) if back.cells == tile.input => {
            if let Some(found) = back.starts {
                assert_eq!(Some(found.as_slice()), tile.starts, "{}", what());
            }
            Outcome::Same
        }
        Ok(Ok(back)) => Outcome::Becomes(back.cells),
    };
    assert!(found == expected, "{}: {found:?}, but the documents say {expected:?}", what());
    counts.note(filter, &found);
}

/// All tiles of a field of `count` values in cells of `shape`: the values, their offsets, and their
/// validity.
fn check_field(
    filters: &[Filter],
    datatype: Datatype,
    shape: Shape,
    (values, count): (Values, usize),
    version: FormatVersion,
    scratch: &mut Scratch,
    counts: &mut Counts,
) {
    let size = datatype.size();
    let per_cell = if let Shape::Fixed(count) = shape { count } else { 1 };
    let bytes = values.bytes(datatype, count * per_cell);
    let what = format!("{values:?} {shape:?} {datatype}");
    let mut cells = count;
    if matches!(shape, Shape::Var | Shape::NullableVar) {
        let starts = starts(count, size);
        let context = TileContext::values(datatype, version);
        let tile = Tile { context, input: &bytes, starts: Some(&starts) };
        check(filters, &tile, &what, scratch, counts);
        // Also for filters that store the strings' lengths: a field's offsets have separate
        // filters.
        let offsets: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
        let tile = Tile { context: TileContext::offsets(version), input: &offsets, starts: None };
        check(filters, &tile, &format!("offsets of {what}"), scratch, counts);
        cells = starts.len();
    } else {
        let context = TileContext::new(datatype, (size * per_cell) as u64, version);
        check(filters, &Tile { context, input: &bytes, starts: None }, &what, scratch, counts);
    }
    if matches!(shape, Shape::NullableFixed | Shape::NullableVar) {
        let validity: Vec<u8> = (0..cells).map(|cell| u8::from(cell % 7 > 2)).collect();
        let tile = Tile { context: TileContext::validity(version), input: &validity, starts: None };
        check(filters, &tile, &format!("validity of {what}"), scratch, counts);
    }
}

#[test]
fn every_filter_keeps_every_kind_of_value_of_every_type_or_refuses_as_documented() {
    let (mut counts, mut scratch) = (Counts::default(), scratch());
    let filters = registry_filters();
    // Versions before string modes, before type propagation, and the current one.
    for version in [version(1), version(11), version(19), FormatVersion::CURRENT] {
        for datatype in Datatype::all() {
            // An image of the sample's size, as bytes.
            let count = if datatype.size() == 1 { 768 } else { 300 };
            for shape in SHAPES {
                for values in Values::ALL {
                    let data = (values, count);
                    check_field(&filters, datatype, shape, data, version, &mut scratch, &mut counts);
                }
            }
        }
    }
    println!("{} tiles: {:#?}", counts.all(), counts.0);
    assert!(counts.all() > 120_000, "only {} tiles", counts.all());
    for filter in &filters {
        assert!(counts.of(filter.name(), "same") > 10, "{} accepted almost nothing", filter.name());
    }
}

#[test]
fn tiles_of_nothing_of_one_cell_and_around_the_size_of_a_chunk_come_back() {
    let (mut counts, mut scratch) = (Counts::default(), scratch());
    let filters = registry_filters();
    for datatype in Datatype::all() {
        // Filters treat types of one machine type differently, which the other tests cover: here,
        // large tiles of one type of each class are enough.
        let large = matches!(
            datatype,
            Datatype::Int8
                | Datatype::Uint16
                | Datatype::Int32
                | Datatype::Uint64
                | Datatype::Float32
                | Datatype::Float64
                | Datatype::StringAscii
                | Datatype::StringUtf16
                | Datatype::DatetimeNs
        );
        for shape in SHAPES {
            let cell = datatype.size() * if let Shape::Fixed(count) = shape { count } else { 1 };
            let chunk = 65536 / cell;
            let counts_of_values = [0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk + chunk / 2];
            for &count in counts_of_values.iter().filter(|count| large || **count <= 1) {
                let data = (Values::Sorted, count);
                let version = FormatVersion::CURRENT;
                check_field(&filters, datatype, shape, data, version, &mut scratch, &mut counts);
            }
        }
    }
    println!("{} tiles: {:#?}", counts.all(), counts.0);
    assert!(counts.all() > 15_000, "only {} tiles", counts.all());
}

#[test]
fn unusual_options_change_nothing_about_what_comes_back() {
    let (mut counts, mut scratch) = (Counts::default(), scratch());
    let filters = unusual();
    for datatype in Datatype::all() {
        for shape in SHAPES {
            for values in Values::ALL {
                for count in [768, 301] {
                    let data = (values, count);
                    let version = FormatVersion::CURRENT;
                    check_field(&filters, datatype, shape, data, version, &mut scratch, &mut counts);
                }
            }
        }
    }
    println!("{} tiles: {:#?}", counts.all(), counts.0);
    assert!(counts.all() > 60_000, "only {} tiles", counts.all());
    assert!(counts.of("scale-float", "rounded") > 100 && counts.of("scale-float", "same") > 100);
    assert!(counts.of("delta", "refused") > 100 && counts.of("delta", "same") > 100);
    assert!(counts.of("webp", "same") >= 4 * 5);
}

/// Options at the ends of their ranges, and every reinterpretation of a type.
fn unusual() -> Vec<Filter> {
    let mut filters = vec![
        Filter::Gzip { level: 0 },
        Filter::Gzip { level: 9 },
        Filter::Gzip { level: i32::MIN },
        Filter::Zstd { level: -7 },
        Filter::Zstd { level: -8 },
        Filter::Zstd { level: 0 },
        Filter::Bzip2 { level: 9 },
        Filter::Lz4 { level: i32::MAX },
    ];
    for max_window in [8, 33, 1 << 20, u32::MAX] {
        filters.extend([Filter::BitWidthReduction { max_window }, Filter::PositiveDelta { max_window }]);
    }
    for reinterpret in [
        Datatype::Int8,
        Datatype::Uint16,
        Datatype::Int32,
        Datatype::Uint64,
        Datatype::DatetimeNs,
        Datatype::StringUtf16,
        Datatype::Float32,
        Datatype::Float64,
    ] {
        let reinterpret = Some(reinterpret);
        filters.push(Filter::Delta { level: -1, reinterpret });
        filters.push(Filter::DoubleDelta { level: -1, reinterpret });
    }
    for byte_width in [ByteWidth::One, ByteWidth::Two, ByteWidth::Four, ByteWidth::Eight] {
        for (scale, offset) in [(1.0, 0.0), (0.5, 10.0), (-0.01, 3.25)] {
            filters.push(Filter::ScaleFloat(ScaleFloat { scale, offset, byte_width }));
        }
    }
    for format in [PixelFormat::Rgb, PixelFormat::Bgr, PixelFormat::Rgba, PixelFormat::Bgra] {
        filters.push(Filter::WebP(WebP { quality: 0.0, format, lossless: true, y_extent: 32, x_extent: 24 }));
    }
    filters
}

#[test]
fn cells_that_are_all_empty_come_back_through_every_filter() {
    let mut scratch = scratch();
    let mut counts = Counts::default();
    for datatype in Datatype::all() {
        let context = TileContext::values(datatype, FormatVersion::CURRENT);
        let tile = Tile { context, input: &[], starts: Some(&[0; 5]) };
        check(&registry_filters(), &tile, "five empty cells", &mut scratch, &mut counts);
    }
    assert!(counts.all() > 19 * 40, "{counts:?}");
}
