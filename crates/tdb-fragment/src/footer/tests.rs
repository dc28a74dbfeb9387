use tdb_codec::{ArrayType, CellValNum, Datatype};
use tdb_schema::{Attribute, Dimension, Domain};

use super::*;
use crate::FooterLocation;

fn schema() -> ArraySchema {
    let low = 1i64.to_le_bytes();
    let extent = 4i64.to_le_bytes();
    let dimension =
        |name| Dimension::fixed(name, Datatype::Int64, low, 10i64.to_le_bytes()).with_extent(extent);
    ArraySchema::new(ArrayType::Dense, Domain::new(vec![dimension("x"), dimension("y")]))
        .with_attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .with_attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
}

/// The footer of a version, in wire order: every `u64` holds its own number.
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
    (0..words).for_each(|word| writer.u64(tdb_codec::to_u64(word)));
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
        assert_eq!(footer.sections.get(Section::RTree), Some(tdb_codec::to_u64(words)), "version {version}");
    }
}

#[test]
fn a_footer_cut_off_anywhere_is_refused_and_bytes_behind_it_are_tolerated() {
    for version in versions() {
        let bytes = bytes(version);
        for len in 0..bytes.len() {
            let error = Footer::parse(&bytes[..len], 1000, &schema()).unwrap_err();
            assert!(error.offset >= 1000 && error.offset <= 1000 + tdb_codec::to_u64(len), "{error}");
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
            file.extend(tdb_codec::to_u64(footer.len()).to_le_bytes());
        }
        let size = tdb_codec::to_u64(file.len());
        let (range, found) = location.slice(size, &file).unwrap();
        assert_eq!((range.start, found), (500, Some(footer.as_slice())), "version {version}");
        let (_, none) = location.slice(size, &file[file.len() - 8..]).unwrap();
        assert_eq!(none, None, "a tail too short for the footer says so");
    }
    let hostile = u64::MAX.to_le_bytes();
    assert!(FooterLocation::LengthAtEnd.range(8, &hostile).is_err());
    assert!(FooterLocation::Length(9).range(8, &hostile).is_err());
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
