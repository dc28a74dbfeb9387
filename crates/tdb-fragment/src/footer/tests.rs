use tdb_codec::{ArrayType, CellValNum, Datatype};
use tdb_schema::{Attribute, Dimension, Domain};

use super::*;
use crate::FooterLocation;

fn schema() -> ArraySchema {
    let low = 1i64.to_le_bytes();
    let extent = 4i64.to_le_bytes();
    let dimension =
        |name| Dimension::fixed(name, Datatype::Int64, low, 10i64.to_le_bytes()).with_tile_bytes(extent);
    ArraySchema::new(ArrayType::Dense, Domain::new(vec![dimension("x"), dimension("y")]))
        .with_attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .with_attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
}

/// The footer of a version, in wire order: the value of every `u64` is its index.
fn bytes(version: FormatVersion) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u32(version.number());
    if version.has(Gate::SchemaFolder) {
        writer.bytes_u64(b"__schema_name");
    }
    writer.bool(true);
    writer.bool(false);
    for ordinal in [2i64, 9, 1, 4] {
        writer.bytes(&ordinal.to_le_bytes());
    }
    writer.u64(0);
    writer.u64(16);
    if version.has(Gate::CellTimestamps) {
        writer.bool(false);
    }
    if version.has(Gate::DeleteMetadata) {
        writer.bool(false);
    }
    let slots = Slots::new(&schema(), version, false, false);
    let (all, var) = (slots.len(), slots.var_len(version));
    let validity = if version.has(Gate::Nullable) { 2 * all } else { 0 };
    let statistics = if version.has(Gate::TileStatistics) { 4 * all } else { 0 };
    let rest =
        usize::from(version.has(Gate::FragmentStatistics)) + usize::from(version.has(Gate::DeleteFiles));
    let words = 2 * all + 3 * var + 1 + validity + statistics + rest;
    (0..words).for_each(|word| writer.u64(to_u64(word)));
    if version.has(Gate::OptionalSections) {
        writer.u32(1);
        writer.u64(7);
        writer.bytes_u32(b"xyz", "").unwrap();
    }
    writer.into_vec()
}

fn versions() -> impl Iterator<Item = FormatVersion> {
    FormatVersion::all().filter(|version| version.has(Gate::FragmentFooter))
}

#[test]
fn a_footer_of_every_version_takes_all_its_bytes_and_writes_them_again() {
    for version in versions() {
        let bytes = bytes(version);
        let footer = Footer::parse(&bytes, 1000, &schema()).unwrap();
        assert_eq!((footer.version, footer.dense, footer.last_tile_cell_num), (version, true, 16));
        assert_eq!(footer.to_bytes(&schema()).unwrap(), bytes, "version {version}");
        assert_eq!(footer.file_sizes[0], 0);
        let words = footer.file_sizes.len() + footer.file_var_sizes.len() + footer.file_validity_sizes.len();
        assert_eq!(footer.sections.get(Section::RTree), Some(to_u64(words)), "version {version}");
    }
}

/// A footer of version 23 with bounds in global order, and its bytes.
fn with_bounds(mins: &[u64], maxes: &[u64]) -> (Footer, Vec<u8>) {
    let mut footer = Footer::parse(&bytes(FormatVersion::NEWEST), 1000, &schema()).unwrap();
    footer.optional.push(OptionalSection::global_order_bounds(mins, maxes));
    let bytes = footer.to_bytes(&schema()).unwrap();
    (footer, bytes)
}

#[test]
fn bounds_in_global_order_are_sections_like_the_others_and_unknown_optional_sections_are_kept() {
    let (_, bytes) = with_bounds(&[500, 600], &[700, 800]);
    let read = Footer::parse(&bytes, 1000, &schema()).unwrap();
    assert_eq!(read.optional.len(), 2, "the other has an unknown identifier");
    assert_eq!(read.to_bytes(&schema()).unwrap(), bytes);
    assert_eq!(read.section(Section::GlobalOrderMins(1)).unwrap(), Some(600..700));
    assert_eq!(read.section(Section::GlobalOrderMaxes(1)).unwrap(), Some(800..1000));
    assert_eq!(read.section(Section::GlobalOrderMaxes(2)).unwrap(), None);
    assert_eq!(read.sections.iter().filter(|(_, offset)| *offset >= 500).count(), 4);
}

#[test]
fn bounds_for_another_number_of_dimensions_are_refused() {
    let (_, bytes) = with_bounds(&[500], &[700]);
    let error = Footer::parse(&bytes, 1000, &schema()).unwrap_err();
    assert_eq!((error.what, error.kind), ("optional section", ErrorKind::WrongLength { value: 16 }));
    assert_eq!(error.offset, 1000 + to_u64(bytes.len()) - 20);
}

#[test]
fn a_footer_that_says_what_its_version_cannot_is_not_written() {
    type Break = fn(&mut Footer);
    let not_in = |version| ErrorKind::NotInVersion { version };
    let wrong = |value| ErrorKind::WrongLength { value };
    let cases: [(u32, Break, &str, ErrorKind); 9] = [
        (9, |footer| footer.schema_name = Some("__schema_name".into()), "schema name", not_in(9)),
        (10, |footer| footer.schema_name = None, "schema name", wrong(0)),
        (13, |footer| footer.has_timestamps = true, "has timestamps", not_in(13)),
        (14, |footer| footer.has_delete_metadata = true, "has delete metadata", not_in(14)),
        (
            22,
            |footer| footer.optional = vec![OptionalSection::global_order_bounds(&[], &[])],
            "optional section",
            not_in(22),
        ),
        (22, |footer| footer.file_sizes.truncate(4), "file sizes", wrong(4)),
        (6, |footer| footer.file_validity_sizes.push(0), "file validity sizes", wrong(1)),
        (
            22,
            |footer| footer.non_empty_domain.as_mut().unwrap()[1].low.truncate(7),
            "non-empty domain",
            wrong(7),
        ),
        (11, |footer| footer.version = FormatVersion::parse(12).unwrap(), "section offset", wrong(41)),
    ];
    for (number, damage, what, kind) in cases {
        let version = FormatVersion::parse(number).unwrap();
        let mut footer = Footer::parse(&bytes(version), 1000, &schema()).unwrap();
        damage(&mut footer);
        let error = footer.to_bytes(&schema()).unwrap_err();
        assert_eq!((error.what, error.kind), (what, kind), "version {number}");
    }
}

#[test]
fn a_footer_cut_off_anywhere_is_refused_and_bytes_behind_it_are_tolerated() {
    for version in versions() {
        let bytes = bytes(version);
        for len in 0..bytes.len() {
            let error = Footer::parse(&bytes[..len], 1000, &schema()).unwrap_err();
            assert!(error.offset >= 1000 && error.offset <= 1000 + to_u64(len), "{error}");
        }
        let longer = [bytes.as_slice(), &[0xee; 8]].concat();
        assert!(Footer::parse(&longer, 1000, &schema()).is_ok(), "version 11 footers may be longer");
    }
}

#[test]
fn the_footer_is_found_by_its_length_or_by_computing_it() {
    for version in versions() {
        let footer = bytes(version);
        let mut file = vec![0xaa; 500];
        file.extend(&footer);
        let location = FooterLocation::of(version, Some(&schema())).unwrap();
        if location == FooterLocation::LengthAtEnd {
            file.extend(to_u64(footer.len()).to_le_bytes());
        }
        assert_eq!(location.end(footer.clone()).unwrap(), file[500..], "version {version}");
        let size = to_u64(file.len());
        let (range, found) = location.slice(size, &file).unwrap();
        assert_eq!((range.start, found), (500, Some(footer.as_slice())), "version {version}");
        let (_, none) = location.slice(size, &file[file.len() - 8..]).unwrap();
        assert_eq!(none, None, "a tail that is too short for the footer");
    }
    let hostile = u64::MAX.to_le_bytes();
    assert!(FooterLocation::LengthAtEnd.range(8, &hostile).is_err());
    assert!(FooterLocation::Length(9).range(8, &hostile).is_err());
    assert_eq!(FooterLocation::Length(9).end(vec![0; 8]).unwrap_err().what, "footer length");
    assert!(FooterLocation::of(FormatVersion::OLDEST, Some(&schema())).is_err());
}

#[test]
fn dense_tiles_are_those_the_domain_touches() {
    let footer = Footer::parse(&bytes(FormatVersion::CURRENT), 1000, &schema()).unwrap();
    assert_eq!(footer.tile_grid(&schema()).unwrap(), [(0, 2), (0, 0)]);
    assert_eq!(footer.tile_count(&schema()).unwrap(), 3);
}

#[test]
fn a_section_offset_at_or_past_the_footer_is_refused() {
    let footer = Footer::parse(&bytes(FormatVersion::CURRENT), 3, &schema()).unwrap();
    let error = footer.section(Section::RTree).unwrap_err();
    assert_eq!(error.what, "section offset");
}

#[test]
fn the_head_of_a_footer_has_its_version_and_the_name_of_its_schema() {
    for version in versions() {
        let name = version.has(Gate::SchemaFolder).then(|| "__schema_name".to_owned());
        assert_eq!(Footer::parse_head(&bytes(version), 1000), Ok((version, name)));
    }
    for number in [0, 2, 99] {
        let error = Footer::parse_head(&u32::to_le_bytes(number), 1000).unwrap_err();
        assert_eq!((error.what, error.offset), ("fragment version", 1000));
        assert_eq!(error.kind, ErrorKind::UnsupportedVersion { version: number });
    }
    let cut_off = &bytes(FormatVersion::CURRENT)[..20];
    assert_eq!(Footer::parse_head(cut_off, 1000).unwrap_err().what, "schema name");
}

#[test]
fn sizes_of_files_are_found_by_field_and_add_up() {
    use FieldKind::{Attribute, Dimension};
    let read = |number| {
        let bytes = bytes(FormatVersion::parse(number).unwrap());
        Footer::parse(&bytes, 1000, &schema()).unwrap()
    };
    let sizes = |footer: &Footer, kind| {
        (footer.file_size(kind), footer.file_var_size(kind), footer.file_validity_size(kind))
    };
    // The lists are a, s, __coords, x, y; each size is its index in the footer.
    let current = read(22);
    assert_eq!(sizes(&current, Attribute(0)), (0, 5, 10));
    assert_eq!(sizes(&current, Attribute(1)), (1, 6, 11));
    assert_eq!(sizes(&current, Dimension(0)), (3, 8, 13));
    assert_eq!(sizes(&current, Dimension(1)), (4, 9, 14));
    assert_eq!(sizes(&current, Dimension(2)), (0, 0, 0), "there is none");
    assert_eq!(current.data_bytes(), (0..15).sum());
    // Up to version 4, the dimensions share __coords, which has no variable part.
    let old = read(4);
    assert_eq!(sizes(&old, Attribute(1)), (1, 4, 0));
    assert_eq!(sizes(&old, Dimension(1)), (2, 0, 0));
    assert_eq!(old.data_bytes(), (0..5).sum());
}

#[test]
fn the_last_tile_of_a_sparse_fragment_may_have_fewer_cells() {
    let mut footer = Footer::parse(&bytes(FormatVersion::CURRENT), 1000, &schema()).unwrap();
    footer.dense = false;
    (footer.sparse_tile_num, footer.last_tile_cell_num) = (3, 16);
    assert_eq!(footer.tile_count(&schema()).unwrap(), 3);
    assert_eq!(footer.sparse_cell_count(100), 216);
    assert_eq!([0, 1, 2].map(|tile| footer.sparse_tile_cells(tile, 100)), [100, 100, 16]);
    footer.sparse_tile_num = 1;
    assert_eq!((footer.sparse_cell_count(100), footer.sparse_tile_cells(0, 100)), (16, 16));
    footer.sparse_tile_num = 0;
    assert_eq!(footer.sparse_cell_count(100), 0);
}

/// The grid of a dense fragment that covers these cells of `x` and all of `y`.
fn grid(low: i64, high: i64) -> Result<Vec<(u64, u64)>> {
    let mut footer = Footer::parse(&bytes(FormatVersion::CURRENT), 1000, &schema()).unwrap();
    let range = |low: i64, high: i64| Range::new(low.to_le_bytes(), high.to_le_bytes());
    footer.non_empty_domain = Some(vec![range(low, high), range(1, 10)]);
    footer.tile_grid(&schema())
}

#[test]
fn the_grid_of_tiles_ends_with_the_domain() {
    // Tiles of x: 1 to 4, 5 to 8, 9 to 12, of which the domain has 9 and 10.
    assert_eq!(grid(1, 10).unwrap(), [(0, 2), (0, 2)]);
    assert_eq!(grid(4, 4).unwrap(), [(0, 0), (0, 2)]);
    assert_eq!(grid(5, 8).unwrap(), [(1, 1), (0, 2)]);
    for (low, high) in [(0, 10), (1, 11), (6, 5)] {
        let error = grid(low, high).unwrap_err();
        assert_eq!((error.what, error.offset), ("non-empty domain", 1000), "{low} to {high}");
    }
}

#[test]
fn a_dimension_without_an_extent_is_one_tile_and_one_of_reals_has_no_grid() {
    let mut footer = Footer::parse(&bytes(FormatVersion::CURRENT), 1000, &schema()).unwrap();
    let mut whole = schema();
    whole.domain.dimensions[0].tile_extent = None;
    assert_eq!(footer.tile_grid(&whole).unwrap(), [(0, 0), (0, 0)]);
    assert_eq!(footer.tile_count(&whole).unwrap(), 1);
    let mut real = schema();
    real.domain.dimensions[1] = Dimension::new("y", 1f64..=10f64);
    assert!(footer.tile_grid(&real).is_err());
    footer.non_empty_domain = None;
    assert!(footer.tile_count(&schema()).is_err());
}

#[test]
fn a_fragment_marked_as_empty_has_zeros_for_its_domain() {
    let version = FormatVersion::CURRENT;
    let mut footer = Footer::parse(&bytes(version), 1000, &schema()).unwrap();
    footer.non_empty_domain = None;
    let written = footer.to_bytes(&schema()).unwrap();
    let mut expected = bytes(version);
    // The flag is behind the version, the name of the schema and the dense flag.
    let flag = 4 + 8 + "__schema_name".len() + 1;
    expected[flag] = 1;
    expected[flag + 1..flag + 33].fill(0);
    assert_eq!(written, expected);
    assert_eq!(Footer::parse(&written, 1000, &schema()).unwrap(), footer);
}

#[test]
fn a_section_ends_where_the_next_begins_and_the_last_one_at_the_footer() {
    // The first offset of a section is 15, behind the 15 sizes.
    let at = |offset| Footer::parse(&bytes(FormatVersion::CURRENT), offset, &schema()).unwrap();
    assert!(at(15).section(Section::RTree).is_err());
    assert_eq!(at(16).section(Section::RTree).unwrap(), Some(15..16));
    assert_eq!(at(1000).section(Section::RTree).unwrap(), Some(15..16));
    let last = at(1000).section(Section::ProcessedConditions).unwrap().unwrap();
    assert_eq!(last.end, 1000);
}
