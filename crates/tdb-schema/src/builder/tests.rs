use core::num::NonZeroU32;

use tdb_codec::{CellValNum, DataOrder, Datatype};

use super::*;
use crate::SchemaProblem as P;

fn rows() -> Dimension {
    Dimension::new("rows", 1i32..=100).with_tile(10i32)
}

fn cells() -> Attribute {
    Attribute::new("a", Datatype::Int32, CellValNum::ONE)
}

fn sparse() -> SchemaBuilder {
    ArraySchema::sparse().dimension(rows()).attribute(cells())
}

fn dense() -> SchemaBuilder {
    ArraySchema::dense().dimension(rows()).attribute(cells())
}

fn pipeline(filter: Filter) -> Pipeline {
    Pipeline::new(vec![filter])
}

fn double_delta() -> Pipeline {
    pipeline(Filter::DoubleDelta { level: -1, reinterpret: None })
}

fn label(name: &str, order: DataOrder) -> DimensionLabel {
    DimensionLabel {
        dimension: 0,
        name: name.into(),
        relative: true,
        uri: "__labels/l0".into(),
        attribute: "label".into(),
        order,
        datatype: Datatype::Float64,
        cell_val_num: CellValNum::ONE,
        external: false,
    }
}

fn colours(count: u16) -> Enumeration {
    let values = (0..count).map(u16::to_le_bytes);
    Enumeration::new("colours", "__0_0", Datatype::Uint16, CellValNum::ONE, values).unwrap()
}

#[test]
fn defaults_are_those_of_libtiledb() {
    let schema = sparse().build().unwrap();
    assert_eq!((schema.capacity, schema.version), (10_000, FormatVersion::CURRENT));
    assert_eq!(schema.coords_filters, pipeline(Filter::Zstd { level: -1 }));
    assert_eq!(schema.validity_filters, pipeline(Filter::Rle { level: -1 }));
    let open = ArraySchema::sparse()
        .dimension(Dimension::new("i", -5i16..=5))
        .dimension(Dimension::new("f", 0.5f32..=2.0))
        .dimension(Dimension::string("s"));
    let schema = open.clone().build().unwrap();
    let extents: Vec<_> =
        schema.domain.dimensions.iter().map(|dimension| dimension.tile_extent.clone()).collect();
    let expected = [Some(11i16.to_le_bytes().to_vec()), Some(1.5f32.to_le_bytes().to_vec()), None];
    assert_eq!(extents, expected, "real extents lack the one");
    let hilbert = open.cell_order(Layout::Hilbert).build().unwrap();
    assert!(hilbert.domain.dimensions.iter().all(|dimension| dimension.tile_extent.is_none()));
}

#[test]
fn what_is_built_is_written_and_read_at_every_version_that_can_say_it() {
    for version in FormatVersion::all() {
        let schema = sparse().version(version).build().unwrap();
        let read = ArraySchema::parse(&schema.to_bytes(version).unwrap()).unwrap();
        let unsaid = if version.has(tdb_codec::Gate::Nullable) {
            read.validity_filters.clone()
        } else {
            schema.validity_filters.clone()
        };
        assert_eq!(ArraySchema { validity_filters: unsaid, ..read }, schema);
    }
    let old = FormatVersion::parse(6).unwrap();
    let nullable = sparse().attribute(Attribute::new("n", Datatype::Int8, CellValNum::ONE).with_nulls());
    let lost = P::NotInVersion { what: "nullable attribute", name: "n".into(), version: old };
    assert_eq!(nullable.version(old).build(), Err(lost));
}

/// The features that libraries know, with the first version for which all of them do. Each release
/// was tested (create, write, read).
#[test]
fn what_came_after_the_libraries_of_a_version_is_refused_by_name() {
    type Make = Box<dyn Fn() -> SchemaBuilder>;
    let typed = |datatype| -> Make {
        Box::new(move || {
            sparse().attribute(
                Attribute::new("late", datatype, CellValNum::ONE).with_filters(Pipeline::default()),
            )
        })
    };
    let filtered = |datatype, cell_val_num, filter: Filter| -> Make {
        Box::new(move || {
            let attribute = Attribute::new("late", datatype, cell_val_num);
            sparse().attribute(attribute.with_filters(pipeline(filter.clone())))
        })
    };
    let (one, var) = (CellValNum::ONE, CellValNum::Var);
    let xor = || pipeline(Filter::Xor);
    let delta = Filter::Delta { level: -1, reinterpret: None };
    let reinterpret = Filter::DoubleDelta { level: -1, reinterpret: Some(Datatype::Int32) };
    let scale = Filter::scale_float(0.5, 0.0, tdb_filters::ByteWidth::Four).unwrap();
    let dictionary = || Filter::Dictionary { level: -1 };
    let late: Vec<(u32, &str, Make)> = vec![
        (5, "the filter 'checksum-md5' of \"late\"", filtered(Datatype::Int32, one, Filter::ChecksumMd5)),
        (7, "the order of cells \"hilbert\"", Box::new(|| sparse().cell_order(Layout::Hilbert))),
        (
            7,
            "dimension \"wide\"",
            Box::new(|| {
                let wide = Dimension::new("wide", i16::MIN + 1..=i16::MAX - 30);
                ArraySchema::sparse().dimension(wide).attribute(cells())
            }),
        ),
        (
            8,
            "the field name \"a/b\"",
            Box::new(|| sparse().attribute(Attribute { name: "a/b".into(), ..cells() })),
        ),
        (9, "the datatype TIME_SEC of \"late\"", typed(Datatype::TimeSec)),
        (
            9,
            "dimension \"wide\"",
            Box::new(|| {
                let wide = Dimension::new("wide", i64::MIN..=i64::MAX - 10_000).with_tile(10_000i64);
                ArraySchema::dense().dimension(wide).attribute(cells())
            }),
        ),
        (11, "the datatype BLOB of \"late\"", typed(Datatype::Blob)),
        (13, "the filter 'dictionary' of \"late\"", filtered(Datatype::StringAscii, var, dictionary())),
        (14, "the datatype BOOL of \"late\"", typed(Datatype::Bool)),
        (15, "the filter 'scale-float' of \"late\"", filtered(Datatype::Float64, one, scale)),
        (16, "the filter 'xor' of \"late\"", filtered(Datatype::Int32, one, Filter::Xor)),
        (16, "the filter 'xor' of \"coords\"", Box::new(move || sparse().coords_filters(xor()))),
        (17, "the filter 'dictionary' of \"late\"", filtered(Datatype::StringUtf8, var, dictionary())),
        (19, "the filter 'delta' of \"late\"", filtered(Datatype::Int32, one, delta)),
        (20, "the filter 'double-delta' of \"late\"", filtered(Datatype::Int64, one, reinterpret)),
        (22, "the datatype GEOM_WKT of \"late\"", typed(Datatype::GeomWkt)),
    ];
    for (since, what, make) in late {
        for version in FormatVersion::all() {
            let built = make().version(version).build();
            if version.number() >= since {
                assert!(built.is_ok(), "version {version}, {what}: {built:?}");
                continue;
            }
            let said = built.unwrap_err().to_string();
            assert!(
                said.starts_with(&format!("format version {version} cannot hold the ")),
                "{what}: {said}"
            );
            assert!(said.ends_with(what), "{what}: {said}");
        }
    }
}

#[test]
fn negative_coordinates_of_small_dense_dimensions_are_refused_where_libraries_hang_over_them() {
    for version in FormatVersion::all() {
        let build = |builder: SchemaBuilder, low: i8| {
            builder
                .dimension(Dimension::new("x", low..=49).with_tile(9i8))
                .attribute(cells())
                .version(version)
                .build()
        };
        let wide = ArraySchema::dense().dimension(Dimension::new("x", -300..=300i16).with_tile(9i16));
        let wide = wide.attribute(cells()).version(version).build();
        let built = build(ArraySchema::dense(), -50);
        assert_eq!(wide.is_err(), built.is_err(), "version {version}");
        if (9..14).contains(&version.number()) {
            let what = "negative coordinates of dimension";
            assert_eq!(built, Err(P::NotInVersion { what, name: "x".into(), version }));
        } else {
            assert!(built.is_ok(), "version {version}: {built:?}");
        }
        assert!(build(ArraySchema::dense(), 0).is_ok() && build(ArraySchema::sparse(), -50).is_ok());
    }
}

#[test]
fn dense_tiles_of_more_cells_than_the_type_of_their_dimensions_holds_are_refused_where_libraries_crash() {
    for version in FormatVersion::all() {
        let build = |builder: SchemaBuilder, extents: [u8; 2]| {
            let [x, y] = extents;
            builder
                .dimension(Dimension::new("x", 0..=99u8).with_tile(x))
                .dimension(Dimension::new("y", 0..=99u8).with_tile(y))
                .attribute(cells())
                .version(version)
                .build()
        };
        let built = build(ArraySchema::dense(), [16, 16]);
        if (9..18).contains(&version.number()) {
            let what = "tiles of more cells than fit the type of dimension";
            assert_eq!(built, Err(P::NotInVersion { what, name: "x".into(), version }));
        } else {
            assert!(built.is_ok(), "version {version}: {built:?}");
        }
        assert!(build(ArraySchema::dense(), [15, 17]).is_ok(), "255 cells fit");
        if version.has(tdb_codec::Gate::DimensionFiles) {
            assert!(build(ArraySchema::sparse(), [16, 16]).is_ok(), "sparse tiles have a capacity");
        }
    }
}

#[test]
fn chains_behind_filters_that_store_strings_are_refused_where_libraries_refuse_them() {
    let what = "RLE or dictionary filter of strings, together with other filters, of field";
    let zstd = || Filter::Zstd { level: 1 };
    for (first, since) in [(Filter::Rle { level: -1 }, 12), (Filter::Dictionary { level: -1 }, 13)] {
        for version in FormatVersion::all()
            .filter(|version| first.gate(Datatype::StringAscii).is_none_or(|gate| version.has(gate)))
        {
            let build = |filters: Vec<Filter>, datatype, count| {
                let text = Attribute::new("t", datatype, count).with_filters(Pipeline::new(filters));
                ArraySchema::sparse().dimension(rows()).attribute(text).version(version).build()
            };
            let ascii = |filters| build(filters, Datatype::StringAscii, CellValNum::Var);
            let refused = Err(P::NotInVersion { what, name: "t".into(), version });
            let is_refused = (since..16).contains(&version.number());
            assert_eq!(ascii(vec![first.clone(), zstd()]) == refused, is_refused, "version {version}");
            assert!(ascii(vec![first.clone()]).is_ok(), "alone, version {version}");
            if version.has(tdb_codec::Gate::DimensionFiles) {
                let name = Dimension::string("s").with_filters(Pipeline::new(vec![first.clone(), zstd()]));
                let built = ArraySchema::sparse().dimension(name).attribute(cells()).version(version).build();
                assert_eq!(built.is_err(), is_refused, "version {version}: {built:?}");
            }
        }
    }
}

#[test]
fn the_attribute_without_a_name_has_one_in_files_of_1_x() {
    let anonymous =
        || ArraySchema::sparse().dimension(rows()).attribute(Attribute { name: String::new(), ..cells() });
    for version in FormatVersion::all() {
        let schema = anonymous().version(version).build().unwrap();
        let read = ArraySchema::parse(&schema.to_bytes(version).unwrap()).unwrap();
        let old = !version.has(tdb_codec::Gate::DimensionFiles);
        assert_eq!(read.attributes[0].name, if old { "__attr" } else { "" }, "version {version}");
        assert_eq!(read.field("").unwrap().datatype, Datatype::Int32);
        // The file's payload gives the same schema again.
        let again =
            ArraySchema::sparse().dimension(rows()).attribute(read.attributes[0].clone()).version(version);
        assert!(again.build().is_ok(), "version {version}");
    }
    let reserved = Attribute { name: crate::OLD_ANONYMOUS.into(), ..cells() };
    let built = ArraySchema::sparse().dimension(rows()).attribute(reserved).build();
    assert_eq!(built, Err(P::ReservedName("__attr".into())));
}

#[test]
fn names_are_unique_across_kinds_and_not_reserved() {
    let twice = |name: &str| Err(P::DuplicateName(name.into()));
    assert_eq!(sparse().attribute(cells()).build(), twice("a"));
    assert_eq!(sparse().dimension(rows()).build(), twice("rows"));
    let rows_again = Attribute::new("rows", Datatype::Int8, CellValNum::ONE);
    assert_eq!(sparse().attribute(rows_again).build(), twice("rows"));
    for name in ["rows", "a"] {
        assert_eq!(dense().label(label(name, DataOrder::Increasing)).build(), twice(name));
    }
    let reserved = Attribute::new("__a", Datatype::Int8, CellValNum::ONE);
    assert_eq!(sparse().attribute(reserved).build(), Err(P::ReservedName("__a".into())));
    assert_eq!(sparse().enumeration(&colours(2)).enumeration(&colours(3)).build(), twice("colours"));
}

#[test]
fn domains_and_extents_stay_inside_their_type() {
    let build = |dimension: Dimension| ArraySchema::sparse().dimension(dimension).build().map(|_| ());
    let whole = Err(P::WholeType("x".into()));
    assert_eq!(build(Dimension::new("x", u8::MIN..=u8::MAX).with_tile(1u8)), whole);
    assert_eq!(build(Dimension::new("x", i64::MIN..=i64::MAX).with_tile(1i64)), whole);
    assert_eq!(build(Dimension::new("x", u8::MIN..=u8::MAX)), whole);
    let extent = |extent: &str| Err(P::TileExtent { dimension: "x".into(), extent: extent.into() });
    // An extent that was filled in is an unsigned number of cells. libtiledb does not accept such a
    // number if it is given explicitly, unless it is the whole domain, or the type has 64 bits.
    assert_eq!(build(Dimension::new("x", 0i8..=127)), Ok(()));
    assert_eq!(build(Dimension::new("x", -128i8..=126)), Ok(()));
    assert_eq!(build(Dimension::new("x", -128i8..=126).with_tile(-127i8)), extent("-127"));
    assert_eq!(build(Dimension::new("x", -1i8..=126).with_tile(-128i8)), Ok(()), "the whole domain");
    assert_eq!(build(Dimension::new("x", i64::MIN..=i64::MAX - 1).with_tile(i64::MIN)), Ok(()));
    assert_eq!(build(Dimension::new("x", 0i32..=i32::MAX).with_tile(4_000_000i32)), Ok(()));
    assert_eq!(build(Dimension::new("x", 1i32..=9).with_tile(0i32)), extent("0"));
    assert_eq!(build(Dimension::new("x", 1i32..=9).with_tile(10i32)), extent("10"));
    assert_eq!(build(Dimension::new("x", 0u64..=u64::MAX - 1).with_tile(10u64)), extent("10"));
    assert_eq!(build(Dimension::new("x", 0u64..=u64::MAX - 6).with_tile(10u64)), Ok(()));
    assert_eq!(build(Dimension::new("x", i64::MIN..=i64::MAX - 2).with_tile(1000i64)), extent("1000"));
    // The last tile may end past the largest number of the type, but not past the largest 64-bit
    // number.
    let last_tile = || Dimension::new("x", 0u8..=253).with_tile(10u8);
    let dense = ArraySchema::dense().dimension(last_tile()).attribute(cells());
    assert_eq!(dense.build().map(drop), Ok(()));
    assert_eq!(build(last_tile()), Ok(()));
    assert_eq!(build(Dimension::new("x", 0.0f64..=1.0).with_tile(2.5f64)), extent("2.5"));
    assert_eq!(build(Dimension::new("x", 0.0f64..=1.0).with_tile(2.0f64)), Ok(()));
    assert_eq!(build(Dimension::new("x", 0.0f64..=1.0).with_tile(f64::INFINITY)), extent("inf"));
    assert_eq!(build(Dimension::new("x", 0.0f64..=1.0).with_tile(0.0f64)), extent("0.0"));
    assert_eq!(build(Dimension::new("x", 0.0f64..=1.0).with_tile(-1.0f64)), extent("-1.0"));
    assert_eq!(build(Dimension::new("x", 0.0f64..=1.0).with_tile(f64::NAN)), Ok(()), "as in libtiledb");
    let inverted = build(Dimension::new("x", 0.0f64..=f64::NAN));
    assert!(matches!(inverted, Err(P::DimensionDomain { .. })), "{inverted:?}");
    let string = Dimension::string("x").with_tile_bytes([1]);
    assert_eq!(build(string), Err(P::StringDimension("x".into())));
}

#[test]
fn a_real_dimension_without_an_extent_has_the_length_of_its_domain_in_its_own_precision() {
    fn extent<T: tdb_codec::Native>(dimension: Dimension) -> T {
        let schema = ArraySchema::sparse().dimension(dimension).build().unwrap();
        let again = ArraySchema::parse(&schema.to_bytes(schema.version).unwrap()).unwrap();
        T::from_le(again.domain.dimensions[0].tile_extent.as_ref().unwrap()).unwrap()
    }
    assert_eq!(extent::<f64>(Dimension::new("x", -f64::MAX..=f64::MAX)), f64::INFINITY);
    assert_eq!(extent::<f32>(Dimension::new("x", -f32::MAX..=f32::MAX)), f32::INFINITY);
    assert_eq!(extent::<f64>(Dimension::new("x", 0.0..=f64::MAX)), f64::MAX);
    assert_eq!(extent::<f64>(Dimension::new("x", 5.0f64..=5.0)), 0.0);
    assert_eq!(extent::<f32>(Dimension::new("x", 0.0..=f32::from_bits(3))), f32::from_bits(3));
    let infinite = Dimension::new("x", f64::NEG_INFINITY..=0.0);
    let infinite = ArraySchema::sparse().dimension(infinite).build();
    assert!(matches!(infinite, Err(P::DimensionDomain { .. })), "{infinite:?}");
}

#[test]
fn dense_arrays_have_integers_of_one_type_row_or_column_major() {
    let real = ArraySchema::dense().dimension(Dimension::new("x", 0.0f64..=1.0)).attribute(cells());
    assert!(matches!(real.build(), Err(P::DimensionType { .. })));
    let mixed = dense().dimension(Dimension::new("y", 0u8..=9));
    assert_eq!(mixed.build(), Err(P::MixedDenseDimensions("y".into())));
    assert_eq!(dense().cell_order(Layout::Hilbert).build(), Err(P::CellOrder(Layout::Hilbert)));
    assert_eq!(dense().tile_order(Layout::Unordered).build(), Err(P::TileOrder(Layout::Unordered)));
    assert_eq!(dense().allow_duplicates().build(), Err(P::DenseDuplicates));
    assert_eq!(ArraySchema::dense().dimension(rows()).build(), Err(P::NoAttributes));
    assert_eq!(ArraySchema::sparse().build(), Err(P::NoDimensions));
    assert_eq!(sparse().capacity(0).build(), Err(P::ZeroCapacity));
}

#[test]
fn fill_values_have_the_size_of_a_cell_and_validity_is_for_nullable_attributes() {
    let a = || "a".to_owned();
    let build = |attribute| ArraySchema::dense().dimension(rows()).attribute(attribute).build().map(|_| ());
    assert_eq!(build(cells().with_fill([0; 3])), Err(P::FillValue(a())));
    assert_eq!(build(cells().with_fill([0; 4])), Ok(()));
    let text = Attribute::new("a", Datatype::Uint16, CellValNum::Var);
    assert_eq!(build(text.clone().with_fill([])), Err(P::FillValue(a())));
    assert_eq!(build(text.with_fill([1, 2, 3, 4])), Ok(()), "several elements");
    let valid = |attribute: Attribute, fill_validity| build(Attribute { fill_validity, ..attribute });
    assert_eq!(valid(cells(), 1), Err(P::FillValidity(a())));
    assert_eq!(valid(cells().with_nulls(), 1), Ok(()));
    assert_eq!(valid(cells().with_nulls(), 2), Err(P::FillValidity(a())));
}

#[test]
fn ordered_attributes_are_single_values_of_dense_arrays_with_one_dimension() {
    let ordered =
        || Attribute::new("o", Datatype::Float64, CellValNum::ONE).with_order(DataOrder::Increasing);
    assert!(dense().attribute(ordered()).build().is_ok());
    let array = Err(P::OrderedArray("o".into()));
    assert_eq!(sparse().attribute(ordered()).build(), array);
    assert_eq!(dense().dimension(Dimension::new("y", 0i32..=9)).attribute(ordered()).build(), array);
    let attribute = Err(P::OrderedAttribute("o".into()));
    assert_eq!(dense().attribute(ordered().with_nulls()).build(), attribute);
    let two = CellValNum::Fixed(NonZeroU32::new(2).unwrap());
    let pairs = Attribute::new("o", Datatype::Float64, two).with_order(DataOrder::Decreasing);
    assert_eq!(dense().attribute(pairs).build(), attribute);
}

#[test]
fn enumerations_are_listed_and_indexed_by_integers_that_are_large_enough() {
    let index = |datatype| Attribute::new("e", datatype, CellValNum::ONE).with_enumeration("colours");
    let build = |datatype, count| sparse().enumeration(&colours(count)).attribute(index(datatype)).build();
    assert!(build(Datatype::Int8, 126).is_ok());
    let size = P::EnumerationSize { attribute: "e".into(), enumeration: "colours".into(), count: 127 };
    assert_eq!(build(Datatype::Int8, 127), Err(size));
    // libtiledb extends one to a value more.
    let built = build(Datatype::Int8, 126).unwrap();
    assert!(built.check_extended(&colours(127)).is_ok() && built.check_extended(&colours(128)).is_err());
    let (attribute, enumeration) = ("e".to_owned(), "colours".to_owned());
    let kind = P::EnumerationType { attribute: attribute.clone(), enumeration: enumeration.clone() };
    for datatype in [Datatype::Float32, Datatype::Bool, Datatype::DatetimeDay] {
        assert_eq!(build(datatype, 2), Err(kind.clone()), "{datatype}");
    }
    let unknown = P::UnknownEnumeration { attribute, enumeration };
    assert_eq!(sparse().attribute(index(Datatype::Int8)).build(), Err(unknown));
    let mut twice = colours(2);
    twice.data = vec![7; 4];
    assert!(matches!(sparse().enumeration(&twice).build(), Err(P::EnumerationValues { .. })));
}

#[test]
fn enumerations_are_those_that_every_release_of_the_version_reads() {
    let words = |name: &str, values: &[&str]| {
        Enumeration::new(name, "__0_0", Datatype::StringUtf8, CellValNum::Var, values).unwrap()
    };
    let build = |version: u32, enumeration: &Enumeration| {
        sparse().version(FormatVersion::parse(version).unwrap()).enumeration(enumeration).build().map(drop)
    };
    let none = Enumeration { data: Vec::new(), ..colours(1) };
    for enumeration in [words("e", &[]), words("e", &[""]), words("a/b", &["x"]), none] {
        let refused = build(20, &enumeration).unwrap_err();
        assert!(
            matches!(&refused, P::NotInVersion { what, .. } if what.starts_with("enumeration (its")),
            "{refused:?}"
        );
        build(21, &enumeration).unwrap();
    }
    build(20, &words("e", &["", "x"])).unwrap();
    for version in 20..=22 {
        let refused = build(version, &words("", &["x"])).unwrap_err();
        assert!(matches!(refused, P::EnumerationValues { .. }), "{refused:?}");
    }
}

#[test]
fn labels_are_those_that_libtiledb_opens() {
    let good = label("l", DataOrder::Increasing);
    let bad = [
        DimensionLabel { name: String::new(), ..good.clone() },
        DimensionLabel { attribute: String::new(), ..good.clone() },
        DimensionLabel { uri: String::new(), ..good.clone() },
        DimensionLabel { relative: false, ..good.clone() },
    ];
    for label in bad {
        assert_eq!(dense().label(label.clone()).build(), Err(P::Label(label.name)));
    }
    let elsewhere =
        DimensionLabel { relative: false, external: true, uri: "s3://b/l".into(), ..good.clone() };
    assert!(dense().label(elsewhere).build().is_ok());
    assert!(dense().label(good).build().is_ok());
}

#[test]
fn labels_have_an_order_and_an_existing_dimension() {
    assert!(dense().label(label("l", DataOrder::Increasing)).build().is_ok());
    assert_eq!(dense().label(label("l", DataOrder::Unordered)).build(), Err(P::Label("l".into())));
    let text = DimensionLabel { datatype: Datatype::StringAscii, ..label("l", DataOrder::Increasing) };
    assert_eq!(dense().label(text.clone()).build(), Err(P::Label("l".into())), "strings vary in length");
    assert!(dense().label(DimensionLabel { cell_val_num: CellValNum::Var, ..text }).build().is_ok());
    let far = DimensionLabel { dimension: 1, ..label("l", DataOrder::Increasing) };
    assert_eq!(dense().label(far).build(), Err(P::LabelDimension { label: "l".into(), dimension: 1 }));
}

#[test]
fn a_current_domain_lies_inside_the_domain() {
    let build = |ranges| sparse().current_domain(ranges).build().map(|_| ());
    let range = |low: i32, high: i32| Range::new(low.to_le_bytes(), high.to_le_bytes());
    assert_eq!(build(vec![range(1, 100)]), Ok(()));
    assert_eq!(build(vec![]), Err(P::CurrentDomainCount { count: 0 }));
    for (low, high) in [(0, 5), (5, 101), (6, 5)] {
        let (dimension, low_text, high_text) = ("rows".into(), low.to_string(), high.to_string());
        let problem = P::CurrentDomain { dimension, low: low_text, high: high_text };
        assert_eq!(build(vec![range(low, high)]), Err(problem));
    }
    assert!(build(vec![Range::new([1], [2])]).is_err(), "ends of another size");
    let string =
        |range| ArraySchema::sparse().dimension(Dimension::string("s")).current_domain(vec![range]).build();
    assert!(string(Range::new(*b"a", *b"b")).is_ok() && string(Range::new(*b"a", [])).is_ok());
    assert!(string(Range::new(*b"b", *b"a")).is_err());
}

#[test]
fn filters_go_with_the_types_they_see() {
    let refused = |builder: SchemaBuilder, field: &str| match builder.build() {
        Err(P::Filters { field: found, .. }) => assert_eq!(found, field),
        other => panic!("{other:?}"),
    };
    let real = Attribute::new("f", Datatype::Float64, CellValNum::ONE);
    refused(sparse().attribute(real.with_filters(double_delta())), "f");
    let window = pipeline(Filter::BitWidthReduction { max_window: 256 });
    let with_window = |datatype| {
        let attribute = Attribute::new("w", datatype, CellValNum::ONE);
        sparse().attribute(attribute.with_filters(window.clone()))
    };
    refused(with_window(Datatype::Float64), "w");
    assert!(with_window(Datatype::DatetimeDay).build().is_ok());
    let coordinate = Dimension::new("x", 0.0f64..=1.0);
    let inherits = ArraySchema::sparse().dimension(coordinate.clone()).coords_filters(double_delta());
    assert_eq!(inherits.build(), Err(P::RealDoubleDelta("x".into())));
    let own = coordinate.with_filters(pipeline(Filter::Zstd { level: 1 }));
    assert!(ArraySchema::sparse().dimension(own).coords_filters(double_delta()).build().is_ok());
    let text = |filters| Attribute::new("s", Datatype::StringAscii, CellValNum::Var).with_filters(filters);
    let (rle, zstd) = (Filter::Rle { level: -1 }, Filter::Zstd { level: 1 });
    assert!(sparse().attribute(text(Pipeline::new(vec![rle.clone(), zstd.clone()]))).build().is_ok());
    refused(sparse().attribute(text(Pipeline::new(vec![zstd, rle]))), "s");
}

#[test]
fn a_level_out_of_range_is_refused_for_strings_and_beside_run_lengths_of_numbers() {
    let far = Filter::Zstd { level: 30 };
    let text =
        Attribute::new("s", Datatype::StringAscii, CellValNum::Var).with_filters(pipeline(far.clone()));
    let numbers = Attribute::new("n", Datatype::Int32, CellValNum::ONE)
        .with_filters(Pipeline::new(vec![Filter::Rle { level: -1 }, far]));
    for (attribute, name) in [(text, "s"), (numbers, "n")] {
        let built = sparse().attribute(attribute).build();
        assert!(matches!(&built, Err(P::Filters { field, .. }) if field == name), "{built:?}");
    }
}

#[test]
fn a_dimension_without_an_extent_gets_that_of_its_whole_domain() {
    let filled = |mut dimension: Dimension| dimension.fill_extent().map(|()| dimension.tile_extent);
    assert_eq!(filled(Dimension::new("x", 1i32..=100)), Ok(Some(100i32.to_le_bytes().to_vec())));
    assert_eq!(filled(Dimension::new("x", 0.5f64..=2.0)), Ok(Some(1.5f64.to_le_bytes().to_vec())));
    assert_eq!(filled(rows()), Ok(Some(10i32.to_le_bytes().to_vec())), "one that it has stays");
    assert_eq!(filled(Dimension::string("s")), Ok(None));
    assert_eq!(filled(Dimension::new("x", 0u8..=255)), Err(P::WholeType("x".to_owned())));
}
