use tdb_codec::{ArrayType, CellValNum, Datatype};
use tdb_schema::{Attribute, Dimension, Domain};

use super::*;

fn schema() -> ArraySchema {
    let dimension = |name| Dimension::fixed(name, Datatype::Int8, [1], [9]).with_tile_bytes([3]);
    ArraySchema::new(ArrayType::Sparse, Domain::new(vec![dimension("x"), dimension("y")]))
        .with_attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .with_attribute(Attribute::new("s", Datatype::Char, CellValNum::Var))
}

fn sample(version: FormatVersion) -> LegacyMetadata {
    let rectangle = vec![Range::new([1], [4]), Range::new([2], [9])];
    LegacyMetadata {
        version,
        non_empty_domain: Some(rectangle.clone()),
        mbrs: vec![rectangle.clone(), rectangle],
        bounding_coords: vec![vec![1, 2, 3, 4]],
        tile_offsets: vec![vec![0, 7], vec![0, 8], vec![0, 9]],
        var_offsets: vec![vec![], vec![0, 5]],
        var_sizes: vec![vec![], vec![6, 7]],
        last_tile_cell_num: 3,
        file_sizes: vec![10, 11, 12],
        file_var_sizes: vec![0, 13],
    }
}

fn versions() -> impl Iterator<Item = FormatVersion> {
    FormatVersion::all().filter(|version| !version.has(Gate::FragmentFooter))
}

#[test]
fn metadata_reads_back_and_every_truncation_and_trailing_byte_is_refused() {
    for version in versions() {
        for empty in [false, true] {
            let mut metadata = sample(version);
            if empty {
                metadata.non_empty_domain = None;
            }
            let mut bytes = metadata.to_bytes(version, &schema()).unwrap();
            assert_eq!(LegacyMetadata::parse(&bytes, &schema()).unwrap(), metadata);
            for len in 0..bytes.len() {
                let error = LegacyMetadata::parse(&bytes[..len], &schema()).unwrap_err();
                assert!(error.offset <= to_u64(len), "{error}");
            }
            bytes.push(0);
            let error = LegacyMetadata::parse(&bytes, &schema()).unwrap_err();
            assert_eq!(error.kind, ErrorKind::TrailingBytes { count: 1 });
        }
    }
}

#[test]
fn a_hostile_count_and_a_domain_of_another_size_are_refused_where_they_stand() {
    let good = sample(FormatVersion::OLDEST).to_bytes(FormatVersion::OLDEST, &schema()).unwrap();
    let mut bytes = good.clone();
    bytes[16..24].fill(0xff);
    let error = LegacyMetadata::parse(&bytes, &schema()).unwrap_err();
    assert_eq!((error.what, error.offset), ("MBR count", 16));
    assert_eq!(error.kind, ErrorKind::CountTooLarge { count: u64::MAX });
    let mut bytes = good;
    bytes[4] = 5;
    let error = LegacyMetadata::parse(&bytes, &schema()).unwrap_err();
    assert_eq!((error.what, error.offset), ("non-empty domain size", 4));
    assert_eq!(error.kind, ErrorKind::WrongLength { value: 5 });
}

#[test]
fn what_would_not_read_back_is_not_written() {
    let (schema, version) = (schema(), FormatVersion::OLDEST);
    let newer = FormatVersion::CURRENT;
    let error = sample(version).to_bytes(newer, &schema).unwrap_err();
    assert_eq!(error, Error::not_in_version("fragment metadata", newer));
    type Break = fn(&mut LegacyMetadata);
    let cases: [(Break, &str); 4] = [
        (|metadata| metadata.tile_offsets.truncate(2), "tile offsets"),
        (|metadata| metadata.file_var_sizes.clear(), "file var sizes"),
        (|metadata| metadata.mbrs[1].truncate(1), "MBR"),
        (|metadata| metadata.bounding_coords[0].push(0), "bounding coords"),
    ];
    for (damage, what) in cases {
        let mut metadata = sample(version);
        damage(&mut metadata);
        assert_eq!(metadata.to_bytes(version, &schema).unwrap_err().what, what);
    }
}
