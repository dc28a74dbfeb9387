use core::num::NonZeroU32;

use tdb_codec::{DataOrder, Error as FormatError};
use tdb_filters::Filter;

use super::*;
use crate::{Error, Range};

/// A schema that uses every structure the format has.
fn everything() -> ArraySchema {
    let low = 1i32.to_le_bytes();
    let mut x =
        Dimension::fixed("x", Datatype::Int32, low, 100i32.to_le_bytes()).with_extent(10i32.to_le_bytes());
    x.filters = Pipeline::new(vec![Filter::DoubleDelta { level: -1, reinterpret: None }]);
    let y = Dimension::fixed("y", Datatype::Int32, low, 9i32.to_le_bytes());
    let three = CellValNum::Fixed(NonZeroU32::new(3).unwrap());
    let mut colour = Attribute::new("colour", Datatype::Uint8, CellValNum::ONE);
    colour.enumeration = Some("colours".into());
    colour.nullable = true;
    let mut name = Attribute::new("name", Datatype::StringAscii, CellValNum::Var);
    name.filters = Pipeline::new(vec![Filter::Rle { level: -1 }, Filter::Zstd { level: 3 }]);
    let mut schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![x, y]))
        .with_attribute(Attribute::new("rgb", Datatype::Float32, three))
        .with_attribute(colour)
        .with_attribute(name);
    schema.coords_filters = Pipeline::new(vec![Filter::Zstd { level: -1 }]);
    schema.allows_duplicates = true;
    schema.labels.push(DimensionLabel {
        dimension: 1,
        name: "height".into(),
        relative: true,
        uri: "__labels/l0".into(),
        attribute: "label".into(),
        order: DataOrder::Increasing,
        datatype: Datatype::Float64,
        cell_val_num: CellValNum::ONE,
        external: false,
    });
    schema.enumerations.push(EnumerationName { name: "colours".into(), file_name: "__0_0".into() });
    let range = Range::new(low, 5i32.to_le_bytes());
    schema.current_domain = Some(CurrentDomain { ranges: vec![range.clone(), range] });
    schema
}

#[test]
fn a_schema_of_every_version_reads_back_and_writes_the_same_bytes() {
    for version in FormatVersion::all() {
        let bytes = everything().to_bytes(version).unwrap();
        let read = ArraySchema::parse(&bytes).unwrap();
        assert_eq!(read.version, version);
        assert_eq!(read.to_bytes(version).unwrap(), bytes, "version {version}");
        assert_eq!(read.labels.len(), usize::from(version.has(Gate::DimensionLabels)));
        assert_eq!(read.current_domain.is_some(), version.has(Gate::CurrentDomain));
        assert_eq!(read.attributes[1].nullable, version.has(Gate::Nullable));
        assert_eq!(read.attributes[0].fill_value, f32::NAN.to_le_bytes().repeat(3));
    }
}

#[test]
fn a_schema_cut_off_anywhere_is_refused_where_it_ends() {
    for version in FormatVersion::all() {
        let bytes = everything().to_bytes(version).unwrap();
        for len in 0..bytes.len() {
            let Err(Error::Parse(FormatError { offset, .. })) = ArraySchema::parse(&bytes[..len]) else {
                panic!("version {version} cut to {len} bytes was read");
            };
            assert!(offset <= tdb_codec::to_u64(len));
        }
    }
}

#[test]
fn bytes_after_the_schema_and_versions_of_the_future_are_refused() {
    let mut bytes = everything().to_bytes(FormatVersion::CURRENT).unwrap();
    bytes.push(0);
    let Err(Error::Parse(error)) = ArraySchema::parse(&bytes) else { panic!() };
    assert_eq!(error.kind, ErrorKind::TrailingBytes { count: 1 });
    bytes[0] = 99;
    let Err(Error::Parse(error)) = ArraySchema::parse(&bytes) else { panic!() };
    assert_eq!((error.offset, error.kind), (0, ErrorKind::UnsupportedVersion { version: 99 }));
}

#[test]
fn a_hostile_attribute_count_is_refused_before_it_becomes_a_capacity() {
    let schema = everything();
    let bytes = schema.to_bytes(FormatVersion::OLDEST).unwrap();
    let at = bytes.windows(7).position(|window| window == b"\x03\0\0\0rgb").unwrap() - 4;
    let mut bytes = bytes;
    bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let Err(Error::Parse(error)) = ArraySchema::parse(&bytes) else { panic!() };
    assert_eq!(error.what, "attribute count");
    assert_eq!(error.kind, ErrorKind::CountTooLarge { count: u64::from(u32::MAX) });
    assert_eq!(error.offset, tdb_codec::to_u64(at));
}

#[test]
fn schemas_that_contradict_themselves_are_refused() {
    use crate::SchemaProblem as P;
    type Break = fn(&mut ArraySchema);
    let cases: [(Break, P); 6] = [
        (|s| s.domain.dimensions.clear(), P::NoDimensions),
        (|s| s.attributes[0].name = "name".into(), P::DuplicateName("name".into())),
        (|s| s.capacity = 0, P::ZeroCapacity),
        (|s| s.cell_order = Layout::Unordered, P::CellOrder(Layout::Unordered)),
        (
            |s| s.domain.dimensions[0].tile_extent = Some(0i32.to_le_bytes().to_vec()),
            P::TileExtent { dimension: "x".into(), extent: "0".into() },
        ),
        (|s| s.array_type = ArrayType::Dense, P::DenseDuplicates),
    ];
    for (damage, problem) in cases {
        let mut schema = everything();
        damage(&mut schema);
        assert_eq!(schema.check(), Err(problem));
    }
}
