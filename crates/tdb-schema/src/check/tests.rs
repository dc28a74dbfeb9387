//! Tests of the rules that readers rely on, and of those for new schemas.

use core::num::NonZeroU32;

use tdb_codec::Physical;
use tdb_filters::{Pipeline, PixelFormat, WebP};

use super::SchemaProblem as P;
use super::*;
use crate::{DimensionLabel, Domain, Enumeration};

/// A sparse schema of one dimension.
fn of(dimension: Dimension) -> ArraySchema {
    ArraySchema::new(ArrayType::Sparse, Domain::new(vec![dimension]))
}

fn x() -> Dimension {
    Dimension::new("x", 1i32..=100).with_tile(10i32)
}

fn built(dimension: Dimension) -> Result<(), P> {
    ArraySchema::sparse().dimension(dimension).build().map(drop)
}

#[test]
fn hilbert_order_has_at_most_16_dimensions() {
    let with = |count: usize| {
        let dimension = |number| Dimension::new(format!("d{number}"), 0u8..=9);
        let mut schema =
            ArraySchema::new(ArrayType::Sparse, Domain::new((0..count).map(dimension).collect()));
        schema.cell_order = Layout::Hilbert;
        schema.check()
    };
    assert_eq!((with(16), with(17)), (Ok(()), Err(P::HilbertDimensions(17))));
}

#[test]
fn dimensions_are_numbers_dates_times_or_ascii_strings() {
    for datatype in Datatype::all() {
        let mut dimension =
            Dimension::fixed("x", datatype, vec![0; datatype.size()], vec![0; datatype.size()]);
        if datatype.is_string() {
            dimension = Dimension { datatype, ..Dimension::string("x") };
        }
        let legal = match datatype {
            Datatype::Bool | Datatype::Char | Datatype::Any | Datatype::Blob => false,
            Datatype::GeomWkb | Datatype::GeomWkt => false,
            _ => !datatype.is_string() || datatype == Datatype::StringAscii,
        };
        let checked = of(dimension).check();
        let expected = if legal { Ok(()) } else { Err(P::DimensionType { dimension: "x".into(), datatype }) };
        assert_eq!(checked, expected, "{datatype}");
    }
}

#[test]
fn strings_vary_in_length_and_numbers_have_one_value() {
    let wrong = Err(P::DimensionCellValNum("x".into()));
    assert_eq!(of(Dimension { cell_val_num: CellValNum::Var, ..x() }).check(), wrong);
    let two = CellValNum::Fixed(NonZeroU32::new(2).unwrap());
    assert_eq!(of(Dimension { cell_val_num: two, ..x() }).check(), wrong);
    assert_eq!(of(Dimension { cell_val_num: CellValNum::ONE, ..Dimension::string("x") }).check(), wrong);
}

#[test]
fn a_domain_has_two_finite_ends_of_the_size_of_its_type_in_their_order() {
    let number = |low: &[u8], high: &[u8]| of(Dimension::fixed("x", Datatype::Int16, low, high)).check();
    assert_eq!(number(&[1, 0], &[1, 0]), Ok(()));
    for (low, high) in [(&[1][..], &[1, 0][..]), (&[1, 0], &[1]), (&[2, 0], &[1, 0]), (&[1, 0, 0], &[1, 0])] {
        assert!(matches!(number(low, high), Err(P::DimensionDomain { .. })), "{low:?} to {high:?}");
    }
    assert!(matches!(of(Dimension { domain: None, ..x() }).check(), Err(P::DimensionDomain { .. })));
    let real = |low: f32, high: f32| of(Dimension::new("x", low..=high)).check();
    assert_eq!(real(-1.0, f32::MAX), Ok(()));
    for (low, high) in [(f32::NEG_INFINITY, 0.0), (0.0, f32::INFINITY), (f32::NAN, 0.0), (0.0, f32::NAN)] {
        assert!(matches!(real(low, high), Err(P::DimensionDomain { .. })), "{low} to {high}");
    }
}

#[test]
fn an_extent_is_at_most_the_domain_and_has_the_size_of_its_type() {
    let extent = |bytes: &[u8]| of(Dimension::new("x", 1u8..=100).with_tile_bytes(bytes)).check();
    assert_eq!((extent(&[1]), extent(&[100])), (Ok(()), Ok(())));
    for wrong in [&[0][..], &[101], &[1, 0], &[]] {
        assert!(matches!(extent(wrong), Err(P::TileExtent { .. })), "{wrong:?}");
    }
    // One of reals may be anything that is not negative.
    let real = |extent: f64| of(Dimension::new("x", 0f64..=1.0).with_tile(extent)).check();
    assert!([0.0, 9.0, f64::INFINITY, f64::NAN].map(real).iter().all(Result::is_ok));
    assert!(matches!(real(-0.5), Err(P::TileExtent { .. })));
}

#[test]
fn an_attribute_of_any_type_varies_in_length() {
    let attribute = |count| of(x()).with_attribute(Attribute::new("a", Datatype::Any, count)).check();
    assert_eq!(attribute(CellValNum::Var), Ok(()));
    assert_eq!(attribute(CellValNum::ONE), Err(P::FixedAny("a".into())));
    let byte = Attribute::new("a", Datatype::Uint8, CellValNum::ONE);
    assert_eq!(of(x()).with_attribute(byte).check(), Ok(()));
}

#[test]
fn a_current_domain_of_strings_may_be_open_at_its_end() {
    let checked = |low: &[u8], high: &[u8]| {
        let mut schema = of(Dimension::string("s"));
        schema.current_domain = Some(CurrentDomain { ranges: vec![Range::new(low, high)] });
        schema.check()
    };
    assert_eq!((checked(b"a", b"b"), checked(b"a", b"a"), checked(b"b", b"")), (Ok(()), Ok(()), Ok(())));
    assert!(matches!(checked(b"b", b"a"), Err(P::CurrentDomain { .. })));
}

#[test]
fn the_last_tile_ends_at_the_largest_64_bit_number_at_most() {
    let extent = |dimension: Dimension| matches!(built(dimension), Err(P::TileExtent { .. }));
    // Tiles of 10 from 5 on end at 14, 24, …, and the last one before the largest number.
    assert!(!extent(Dimension::new("x", 5u64..=u64::MAX - 11).with_tile(10u64)));
    assert!(extent(Dimension::new("x", 6u64..=u64::MAX - 1).with_tile(u64::MAX / 2)));
    assert!(!extent(Dimension::new("x", u64::MAX - 10..=u64::MAX - 1).with_tile(5u64)));
    assert!(extent(Dimension::new("x", u64::MAX - 10..=u64::MAX - 1).with_tile(7u64)));
    assert!(!extent(Dimension::new("x", i64::MIN + 8..=i64::MAX - 2).with_tile(8i64)));
    assert!(extent(Dimension::new("x", i64::MIN + 9..=i64::MAX - 2).with_tile(8i64)));
    assert!(!extent(Dimension::new("x", -8i64..=i64::MAX - 2).with_tile(8i64)));
    assert!(extent(Dimension::new("x", -7i64..=i64::MAX - 2).with_tile(8i64)));
    assert!(!extent(Dimension::new("x", 7i64..=i64::MAX - 1).with_tile(8i64)));
    assert!(extent(Dimension::new("x", 1i64..=i64::MAX - 1).with_tile(8i64)));
}

#[test]
fn an_extent_of_reals_is_at_most_one_longer_than_the_domain() {
    let float = |low: f32, high: f32, extent: f32| built(Dimension::new("x", low..=high).with_tile(extent));
    assert_eq!((float(1.0, 3.0, 3.0), float(1.0, 3.0, 0.5)), (Ok(()), Ok(())));
    assert!(float(1.0, 3.0, 3.5).is_err() && float(1.0, 3.0, 0.0).is_err());
    assert_eq!(float(2.0, 2.0, 0.0), Ok(()), "a single point");
    let double = |extent: f64| built(Dimension::new("x", 1.0f64..=3.0).with_tile(extent));
    assert_eq!(double(3.0), Ok(()));
    assert!(double(3.5).is_err());
}

#[test]
fn strings_of_new_schemas_have_neither_domain_nor_extent() {
    assert_eq!(built(Dimension::string("s")), Ok(()));
    let with_tile = Dimension::string("s").with_tile_bytes([1]);
    assert_eq!(built(with_tile), Err(P::StringDimension("s".into())));
}

#[test]
fn an_enumeration_has_fewer_values_than_the_largest_index() {
    let most = |datatype: Datatype, count: usize| {
        let values = (0..count).map(|value| u32::try_from(value).unwrap().to_le_bytes());
        let values = Enumeration::new("e", "f", Datatype::Uint32, CellValNum::ONE, values).unwrap();
        Attribute::new("a", datatype, CellValNum::ONE).check_indexes(&values).is_ok()
    };
    for (datatype, count) in
        [(Datatype::Int8, 127), (Datatype::Uint8, 255), (Datatype::Int16, 32_767), (Datatype::Uint16, 65_535)]
    {
        assert!(most(datatype, count - 1) && !most(datatype, count), "{datatype}");
    }
    for datatype in [Datatype::Int32, Datatype::Uint32, Datatype::Int64, Datatype::Uint64] {
        assert!(most(datatype, 70_000), "{datatype}");
    }
    assert_eq!(Datatype::Float32.physical(), Physical::F32);
    assert!(!most(Datatype::Float32, 1));
}

#[test]
fn labels_have_a_type_that_can_be_ordered() {
    let label = |datatype: Datatype, cell_val_num| DimensionLabel {
        dimension: 0,
        name: "l".into(),
        relative: true,
        uri: "__labels/l0".into(),
        attribute: "label".into(),
        order: DataOrder::Increasing,
        datatype,
        cell_val_num,
        external: false,
    };
    let attribute = || Attribute::new("a", Datatype::Int32, CellValNum::ONE);
    let built = |datatype, count| {
        ArraySchema::dense()
            .dimension(x())
            .attribute(attribute())
            .label(label(datatype, count))
            .build()
            .is_ok()
    };
    use Datatype::{Blob, Bool, Char, DatetimeDay, Float32, Int8, StringAscii, StringUtf8, TimeMs};
    for datatype in [Int8, Float32, DatetimeDay, TimeMs] {
        assert!(built(datatype, CellValNum::ONE) && !built(datatype, CellValNum::Var), "{datatype}");
    }
    for datatype in [Bool, Blob, Char] {
        assert!(!built(datatype, CellValNum::ONE), "{datatype}");
    }
    assert!(built(StringAscii, CellValNum::Var) && !built(StringUtf8, CellValNum::Var));
}

#[test]
fn images_are_bytes_of_dense_arrays_with_two_dimensions() {
    let image = || {
        let format = PixelFormat::Rgb;
        Filter::WebP(WebP { quality: 100.0, format, lossless: true, y_extent: 0, x_extent: 0 })
    };
    let attribute =
        |datatype| Attribute::new("a", datatype, CellValNum::ONE).with_filters(Pipeline::new(vec![image()]));
    let y = || Dimension::new("y", 1i32..=30).with_tile(30i32);
    let x = || Dimension::new("x", 1i32..=30).with_tile(30i32);
    let dense = || ArraySchema::dense().dimension(y()).dimension(x());
    assert!(dense().attribute(attribute(Datatype::Uint8)).build().is_ok());
    let refused = |built: Result<ArraySchema, P>| {
        let reason = "WebP is for UINT8 attributes of dense arrays with two dimensions";
        assert_eq!(built, Err(P::Filters { field: "a".into(), reason: reason.into() }));
    };
    refused(dense().attribute(attribute(Datatype::Int8)).build());
    refused(ArraySchema::dense().dimension(x()).attribute(attribute(Datatype::Uint8)).build());
    let sparse = ArraySchema::sparse().dimension(y()).dimension(x());
    refused(sparse.attribute(attribute(Datatype::Uint8)).build());
}
