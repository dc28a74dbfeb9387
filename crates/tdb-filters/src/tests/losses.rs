//! Cases in which libtiledb's encoder loses data, crashes, or writes what it cannot read, and what
//! this encoder does instead. The cases are listed in `docs/format/filters.md`.

use tdb_codec::{Datatype, FormatVersion};

use super::{POSITIVE_DELTA, context, decode, encode};
use crate::{ByteWidth, ErrorKind, Filter, Pipeline, ScaleFloat, TileContext};

const DELTA: Filter = Filter::Delta { level: -1, reinterpret: None };
const DOUBLE_DELTA: Filter = Filter::DoubleDelta { level: -1, reinterpret: None };
const NARROW: Filter = Filter::BitWidthReduction { max_window: 256 };

#[test]
fn data_that_is_no_whole_number_of_values_is_refused_where_libtiledb_drops_its_tail() {
    // The values are reinterpreted as a wider type than that of the cells.
    let wide = Some(Datatype::Int32);
    for (filter, datatype) in [
        (Filter::Xor, Datatype::Int32),
        (DELTA, Datatype::Int32),
        (DOUBLE_DELTA, Datatype::Int32),
        (Filter::Delta { level: -1, reinterpret: wide }, Datatype::Int16),
        (Filter::DoubleDelta { level: -1, reinterpret: wide }, Datatype::Int16),
    ] {
        let error = encode(&Pipeline::new(vec![filter]), context(datatype), &[0; 6]).unwrap_err();
        assert_eq!((error.position, error.kind), (1, ErrorKind::PartialValue { bytes: 6, size: 4 }));
    }
}

#[test]
fn metadata_that_is_no_whole_number_of_values_is_refused_where_libtiledb_drops_its_tail() {
    // The metadata of bit-width reduction is 8 bytes, and 13 for each window. That of byteshuffle
    // is 8 bytes, which are one value.
    for filter in [DELTA, DOUBLE_DELTA, Filter::Rle { level: -1 }] {
        let pipeline = Pipeline::new(vec![NARROW, filter.clone()]);
        let error = encode(&pipeline, context(Datatype::Int64), &[0; 80]).unwrap_err();
        assert_eq!((error.position, error.kind), (2, ErrorKind::PartialValue { bytes: 21, size: 8 }));
        let pipeline = Pipeline::new(vec![Filter::ByteShuffle, filter]);
        let (metadata, data) = encode(&pipeline, context(Datatype::Int64), &[1; 80]).unwrap();
        let decoder = pipeline.decoder(context(Datatype::Int64)).unwrap();
        assert_eq!(decode(&decoder, &metadata, &data, 80).unwrap(), [1; 80]);
    }
    // XOR after narrowing: the metadata is not changed, but ten values of one byte are not a whole
    // number of values.
    let pipeline = Pipeline::new(vec![NARROW, Filter::Xor]);
    let error = encode(&pipeline, context(Datatype::Int64), &[0; 80]).unwrap_err();
    assert_eq!((error.position, error.kind), (2, ErrorKind::PartialValue { bytes: 10, size: 8 }));
}

#[test]
fn nothing_is_encoded_as_nothing_where_libtiledb_divides_by_zero_or_adds_garbage() {
    let expected: [(Filter, &[u8], &[u8]); 4] = [
        // No windows; libtiledb divides by a window of no bytes.
        (NARROW, &[0; 8], &[]),
        (POSITIVE_DELTA, &[0; 4], &[]),
        // No part; libtiledb writes one with a value too many, and cannot read a part without
        // values.
        (DELTA, &[0; 8], &[]),
        (DOUBLE_DELTA, &[0; 8], &[]),
    ];
    for (filter, metadata, data) in expected {
        let pipeline = Pipeline::new(vec![filter]);
        let context = TileContext::values(Datatype::Int32, FormatVersion::CURRENT);
        let encoded = encode(&pipeline, context, &[]).unwrap();
        assert_eq!((encoded.0.as_slice(), encoded.1.as_slice()), (metadata, data), "{pipeline:?}");
        let decoder = pipeline.decoder(context).unwrap();
        assert_eq!(decode(&decoder, metadata, data, 0).unwrap(), []);
    }
}

#[test]
#[cfg(feature = "checksum")]
fn nothing_behind_another_filter_is_a_part_where_libtiledb_can_read_it_and_none_where_not() {
    const RLE: Filter = Filter::Rle { level: -1 };
    const MD5: Filter = Filter::ChecksumMd5;
    const SHUFFLE: Filter = Filter::ByteShuffle;
    const NOTHING: &[u8] =
        &[0xd4, 0x1d, 0x8c, 0xd9, 0x8f, 0, 0xb2, 4, 0xe9, 0x80, 9, 0x98, 0xec, 0xf8, 0x42, 0x7e];
    let md5_of_nothing = [&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], NOTHING].concat();
    let context = TileContext::values(Datatype::Int32, FormatVersion::CURRENT);
    let metadata = |filters: Vec<Filter>| {
        let pipeline = Pipeline::new(filters);
        let (metadata, data) = encode(&pipeline, context, &[]).unwrap();
        let decoder = pipeline.decoder(context).unwrap();
        assert_eq!(decode(&decoder, &metadata, &data, 0).unwrap(), [], "{pipeline:?}");
        metadata
    };
    // The form that libtiledb 2.30 writes and reads.
    assert_eq!(metadata(vec![Filter::None, SHUFFLE]), [0; 4]);
    assert_eq!(metadata(vec![Filter::None, RLE]), [0; 8]);
    assert_eq!(metadata(vec![Filter::None, Filter::Xor, SHUFFLE]), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(metadata(vec![MD5]), md5_of_nothing);
    assert_eq!(metadata(vec![MD5, Filter::BitShuffle]), [&[0; 4][..], &md5_of_nothing].concat());
    assert_eq!(metadata(vec![RLE, Filter::Xor])[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
    // libtiledb writes a part here and cannot read it.
    assert_eq!(metadata(vec![Filter::BitShuffle, RLE])[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
    let shuffled = metadata(vec![SHUFFLE, MD5]);
    assert_eq!(
        (&shuffled[..8], &shuffled[shuffled.len() - 4..]),
        (&[1, 0, 0, 0, 1, 0, 0, 0][..], &[0; 4][..])
    );
    let runs = metadata(vec![RLE, MD5]);
    assert_eq!((&runs[..8], &runs[runs.len() - 8..]), (&[1, 0, 0, 0, 1, 0, 0, 0][..], &[0; 8][..]));
}

#[test]
fn a_part_of_nothing_is_read_whether_it_is_listed_or_not() {
    let context = TileContext::values(Datatype::Int32, FormatVersion::CURRENT);
    let one = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    // libtiledb writes the garbage value.
    let delta = [&one[..], &[12, 0, 0, 0]].concat();
    let double_delta = [&one[..], &[9, 0, 0, 0]].concat();
    for (filter, metadata, data) in [
        (Filter::ByteShuffle, &[1, 0, 0, 0, 0, 0, 0, 0][..], &[][..]),
        (Filter::Xor, &[0; 4], &[]),
        (Filter::Rle { level: -1 }, &[0; 8], &[]),
        (Filter::Rle { level: -1 }, &[&one[..], &[0; 4]].concat(), &[]),
        (DELTA, &delta, &[0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7]),
        (DOUBLE_DELTA, &double_delta, &[0; 9]),
    ] {
        let decoder = Pipeline::new(vec![filter]).decoder(context).unwrap();
        assert_eq!(decode(&decoder, metadata, data, 0).unwrap(), []);
    }
}

#[test]
fn differences_past_64_bits_are_stored_raw_where_libtiledb_gives_up() {
    let input: Vec<u8> =
        [i64::MIN, i64::MAX, i64::MIN, 0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let pipeline = Pipeline::new(vec![DOUBLE_DELTA]);
    let (metadata, data) = encode(&pipeline, context(Datatype::Int64), &input).unwrap();
    assert_eq!((data[0], &data[9..]), (63, input.as_slice()));
    let decoder = pipeline.decoder(context(Datatype::Int64)).unwrap();
    assert_eq!(decode(&decoder, &metadata, &data, 32).unwrap(), input);
}

#[test]
fn the_first_difference_counts_as_it_does_in_libtiledb_2_30() {
    // A constant step of 10: the differences of differences are 0, but four bits are used.
    let input: Vec<u8> = [0i32, 10, 20, 30].iter().flat_map(|value| value.to_le_bytes()).collect();
    let (_, data) = encode(&Pipeline::new(vec![DOUBLE_DELTA]), context(Datatype::Int32), &input).unwrap();
    assert_eq!(data[0], 4);
}

#[test]
fn floats_that_no_integer_holds_are_refused_where_libtiledb_stores_anything() {
    let filter = Filter::ScaleFloat(ScaleFloat { scale: 1.0, offset: 0.0, byte_width: ByteWidth::One });
    for value in [128.0, -129.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let input = [0.0, value].map(f64::to_le_bytes).concat();
        let pipeline = Pipeline::new(vec![filter.clone()]);
        let error = encode(&pipeline, context(Datatype::Float64), &input).unwrap_err();
        assert_eq!((error.filter, error.kind), ("scale-float", ErrorKind::OutOfRange { index: 1 }));
    }
}

#[test]
fn old_arrays_get_the_string_form_that_their_readers_expect() {
    // libtiledb 2.30 writes runs of strings into arrays of versions 7 to 11, and cannot read them.
    let rle = Pipeline::new(vec![Filter::Rle { level: -1 }]);
    let strings = |version| {
        let context = TileContext::values(Datatype::StringAscii, FormatVersion::parse(version).unwrap());
        rle.encoder(context).unwrap().encodes_strings()
    };
    assert_eq!([7, 11, 12].map(strings), [false, false, true]);
    // UTF-8 with a dictionary cannot be written in versions that have no form for it.
    let dictionary = Pipeline::new(vec![Filter::Dictionary { level: -1 }]);
    let context = TileContext::values(Datatype::StringUtf8, FormatVersion::parse(16).unwrap());
    let error = dictionary.encoder(context).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InputType { datatype: Datatype::StringUtf8 });
}
