use core::num::NonZeroU32;

use tdb_codec::{DataOrder, Error as FormatError};
use tdb_filters::Filter;

use super::*;
use crate::{Error, Range, SchemaProblem};

/// A schema that uses every structure the format has.
fn everything() -> ArraySchema {
    let low = 1i32.to_le_bytes();
    let mut x = Dimension::fixed("x", Datatype::Int32, low, 100i32.to_le_bytes())
        .with_tile_bytes(10i32.to_le_bytes());
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

/// A schema with everything that `version` can store.
fn everything_of(version: FormatVersion) -> ArraySchema {
    let mut schema = everything();
    schema.allows_duplicates &= version.has(Gate::AllowsDuplicates);
    if !version.has(Gate::DimensionFiles) {
        schema.domain.dimensions.iter_mut().for_each(|dimension| dimension.filters = Pipeline::default());
    }
    for attribute in &mut schema.attributes {
        attribute.nullable &= version.has(Gate::Nullable);
        attribute.enumeration = attribute.enumeration.take().filter(|_| version.has(Gate::Enumerations));
    }
    if version.has(Gate::FillValues) {
        schema.attributes[0].fill_value = vec![7; 12];
    }
    schema.labels.retain(|_| version.has(Gate::DimensionLabels));
    schema.enumerations.retain(|_| version.has(Gate::Enumerations));
    schema.current_domain = schema.current_domain.filter(|_| version.has(Gate::CurrentDomain));
    schema
}

#[test]
fn what_a_version_cannot_say_is_refused_by_name_up_to_the_version_before_it_could() {
    type Say = fn(&mut ArraySchema);
    let said: [(Gate, &str, Say); 11] = [
        (Gate::AllowsDuplicates, "allows duplicates", |s| s.allows_duplicates = true),
        (Gate::DimensionFiles, "dimension of variable length", |s| {
            s.domain.dimensions[1] = Dimension::string("y");
        }),
        (Gate::DimensionFiles, "dimension with a different type", |s| {
            s.domain.dimensions[1] = Dimension::fixed("y", Datatype::Uint8, [1], [9]);
        }),
        (Gate::DimensionFiles, "dimension filters", |s| {
            s.domain.dimensions[0].filters = Pipeline::new(vec![Filter::Bzip2 { level: 1 }]);
        }),
        (Gate::FillValues, "fill value", |s| s.attributes[0].fill_value = vec![1; 12]),
        (Gate::Nullable, "nullable attribute", |s| s.attributes[2].nullable = true),
        (Gate::OrderedAttributes, "order of the attribute", |s| {
            s.array_type = ArrayType::Dense;
            s.domain.dimensions.truncate(1);
            s.attributes[1].order = DataOrder::Decreasing;
        }),
        (Gate::DimensionLabels, "dimension label", |s| s.labels = everything().labels),
        (Gate::Enumerations, "enumeration", |s| s.enumerations = everything().enumerations),
        (Gate::Enumerations, "enumeration of the attribute", |s| {
            s.enumerations = everything().enumerations;
            s.attributes[1].enumeration = Some("colours".into());
        }),
        (Gate::CurrentDomain, "current domain", |s| s.current_domain = everything().current_domain),
    ];
    for (gate, lost, say) in said {
        for version in FormatVersion::all() {
            let mut schema = everything_of(FormatVersion::OLDEST);
            say(&mut schema);
            let written = schema.to_bytes(version);
            if version.has(gate) {
                assert_eq!(ArraySchema::parse(&written.unwrap()).unwrap(), ArraySchema { version, ..schema });
                continue;
            }
            let Err(Error::Invalid(SchemaProblem::NotInVersion { what, version: at, .. })) = written else {
                panic!("{lost} was written at version {version}");
            };
            // The list of enumerations is checked before their use, but attributes are checked
            // first.
            assert_eq!((what, at), (lost, version));
        }
    }
}

#[test]
fn a_schema_of_every_version_reads_back_and_writes_the_same_bytes() {
    for version in FormatVersion::all() {
        let bytes = everything_of(version).to_bytes(version).unwrap();
        let read = ArraySchema::parse(&bytes).unwrap();
        assert_eq!(read.version, version);
        assert_eq!(read.to_bytes(version).unwrap(), bytes, "version {version}");
        assert_eq!(read.labels.len(), usize::from(version.has(Gate::DimensionLabels)));
        assert_eq!(read.current_domain.is_some(), version.has(Gate::CurrentDomain));
        assert_eq!(read.attributes[1].nullable, version.has(Gate::Nullable));
        let default = f32::NAN.to_le_bytes().repeat(3);
        assert_eq!(read.attributes[0].fill_value != default, version.has(Gate::FillValues));
    }
}

#[test]
fn a_schema_cut_off_anywhere_is_refused_where_it_ends() {
    for version in FormatVersion::all() {
        let bytes = everything_of(version).to_bytes(version).unwrap();
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
    let schema = everything_of(FormatVersion::OLDEST);
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

#[test]
fn fields_are_found_by_name_and_by_kind() {
    let schema = everything();
    assert_eq!((schema.dimension_index("y"), schema.dimension_index("z")), (Some(1), None));
    assert_eq!(schema.field("y").unwrap().kind, FieldKind::Dimension(1));
    assert_eq!(schema.field("name").unwrap().kind, FieldKind::Attribute(2));
    assert!(schema.field("height").is_none(), "labels are no fields");
    assert!(schema.field_of(FieldKind::Dimension(2)).is_none());
    assert!(schema.field_of(FieldKind::Attribute(3)).is_none());
    let fields: Vec<_> =
        schema.fields().map(|field| (field.name.to_owned(), field.cell_size(), field.is_var())).collect();
    let of = |name: &str, size: Option<usize>| (name.to_owned(), size, size.is_none());
    let sizes = [("x", Some(4)), ("y", Some(4)), ("rgb", Some(12)), ("colour", Some(1)), ("name", None)];
    assert_eq!(fields, sizes.map(|(name, size)| of(name, size)));
    assert!(schema.field("colour").unwrap().nullable && !schema.field("x").unwrap().nullable);
}

#[test]
fn an_attribute_is_found_before_a_dimension_of_its_name_and_the_anonymous_one_by_no_name() {
    let mut schema = everything();
    schema.attributes[1].name = "x".into();
    assert_eq!(schema.field("x").unwrap().kind, FieldKind::Attribute(1));
    schema.attributes[1].name = OLD_ANONYMOUS.into();
    assert!(schema.field("").is_none(), "this version has a name for each attribute");
    schema.version = FormatVersion::parse(4).unwrap();
    assert_eq!(schema.field("").unwrap().kind, FieldKind::Attribute(1));
}

#[test]
fn dimensions_without_filters_inherit_those_of_coordinates_as_their_fragments_version_has_it() {
    let schema = everything();
    let (x, y, name) =
        (schema.field("x").unwrap(), schema.field("y").unwrap(), schema.field("name").unwrap());
    assert_eq!((x.filters, y.filters), (&schema.domain.dimensions[0].filters, &schema.coords_filters));
    let version = |number| FormatVersion::parse(number).unwrap();
    assert_eq!(schema.filters_in(&x, version(5)), x.filters);
    assert_eq!(schema.filters_in(&x, version(4)), &schema.coords_filters);
    assert_eq!(schema.filters_in(&name, version(4)), name.filters);
    // Of a schema from before files of dimensions, fragments from version 20 on are unfiltered.
    let old = ArraySchema { version: version(4), ..everything_of(version(4)) };
    let y = old.field("y").unwrap();
    assert!(y.filters.filters.is_empty());
    assert_eq!(old.filters_in(&y, version(4)), &old.coords_filters);
    assert_eq!(old.filters_in(&y, version(19)), &old.coords_filters);
    assert_eq!(old.filters_in(&y, version(20)), y.filters);
}
