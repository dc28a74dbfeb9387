//! What filters, contexts and errors say of themselves.

use core::error::Error as _;

use tdb_codec::{Gate, Writer};

use super::*;
use crate::{ByteWidth, Error, Key, PixelFormat};

fn sample(name: &str) -> Filter {
    registry::by_name(name).unwrap().sample()
}

#[test]
fn widths_of_integers_are_1_2_4_or_8_bytes_of_a_signed_type() {
    for (bytes, width, datatype) in [
        (1, ByteWidth::One, Datatype::Int8),
        (2, ByteWidth::Two, Datatype::Int16),
        (4, ByteWidth::Four, Datatype::Int32),
        (8, ByteWidth::Eight, Datatype::Int64),
    ] {
        assert_eq!(ByteWidth::from_bytes(bytes), Some(width));
        assert_eq!((width.bytes() as u64, width.datatype()), (bytes, datatype));
    }
    assert_eq!((ByteWidth::from_bytes(0), ByteWidth::from_bytes(3)), (None, None));
}

#[test]
fn pixels_have_a_code_and_three_or_four_bytes() {
    use PixelFormat::{Bgr, Bgra, None as Unset, Rgb, Rgba};
    let depths = [None, Some(3), Some(3), Some(4), Some(4)];
    for ((code, format), depth) in (0..).zip([Unset, Rgb, Bgr, Rgba, Bgra]).zip(depths) {
        assert_eq!((PixelFormat::from_code(code), format.code()), (Some(format), code));
        assert_eq!(format.depth(), depth, "{format:?}");
    }
    assert_eq!(PixelFormat::from_code(5), None);
}

#[test]
fn filters_are_found_by_code_and_by_name() {
    assert_eq!(registry::by_code(9).unwrap().name, "byteshuffle");
    assert!(registry::by_code(17).is_none() && registry::by_name("bitsort").is_none());
    let unknown = |code| Filter::Unknown { code, options: Vec::new() };
    assert_eq!((unknown(17).name(), unknown(18).name(), unknown(99).code()), ("bitsort", "unknown", 99));
    for row in registry::all() {
        assert_eq!(row.pipeline().filters, [row.sample()]);
    }
}

#[test]
fn a_filter_says_which_type_the_next_one_sees() {
    let reinterpret = Some(Datatype::Uint16);
    let bytes = Filter::scale_float(1.0, 0.0, ByteWidth::Two).unwrap();
    for (filter, input, output) in [
        (bytes, Datatype::Float64, Datatype::Int16),
        (Filter::Xor, Datatype::Uint8, Datatype::Int8),
        (Filter::Xor, Datatype::StringUtf16, Datatype::Int16),
        (Filter::Xor, Datatype::Float32, Datatype::Int32),
        (Filter::Xor, Datatype::DatetimeDay, Datatype::Int64),
        (Filter::Delta { level: -1, reinterpret }, Datatype::Int32, Datatype::Uint16),
        (Filter::DoubleDelta { level: -1, reinterpret }, Datatype::Int32, Datatype::Uint16),
        (Filter::Delta { level: -1, reinterpret: None }, Datatype::Int32, Datatype::Int32),
        (Filter::Aes256Gcm, Datatype::Int32, Datatype::Blob),
        (Filter::ByteShuffle, Datatype::Int32, Datatype::Int32),
    ] {
        assert_eq!(filter.output_type(input), output, "{filter:?}");
    }
}

#[test]
fn later_filters_have_a_gate_and_some_do_not_look_at_the_type() {
    let gates = [
        ("checksum-md5", Some(Gate::Checksums)),
        ("checksum-sha256", Some(Gate::Checksums)),
        ("dictionary", Some(Gate::AsciiDictionaryStrings)),
        ("scale-float", Some(Gate::ScaleFloatFilter)),
        ("xor", Some(Gate::XorFilter)),
        ("webp", Some(Gate::WebPFilter)),
        ("delta", Some(Gate::DeltaFilter)),
        ("double-delta", None),
        ("gzip", None),
    ];
    for (name, gate) in gates {
        assert_eq!(sample(name).gate(Datatype::StringAscii), gate, "{name}");
    }
    assert_eq!(sample("dictionary").gate(Datatype::StringUtf8), Some(Gate::Utf8Strings));
    let reinterpret = Filter::DoubleDelta { level: -1, reinterpret: Some(Datatype::Int8) };
    assert_eq!(reinterpret.gate(Datatype::Int64), Some(Gate::DoubleDeltaReinterpret));
    let plain: Vec<&str> =
        registry::all().iter().filter(|row| !row.sample().depends_on_type()).map(|row| row.name).collect();
    let expected = ["none", "gzip", "zstd", "lz4", "rle", "bzip2", "aes-256-gcm"];
    assert_eq!(plain[..7], expected);
    assert_eq!(plain[7..], ["checksum-md5", "checksum-sha256"]);
}

#[test]
fn contexts_are_those_of_the_tiles_that_they_are_named_after() {
    let version = FormatVersion::CURRENT;
    let of = |context: TileContext| (context.datatype, context.cell_size, context.var);
    assert_eq!(of(TileContext::values(Datatype::Int32, version)), (Datatype::Int32, 4, true));
    assert_eq!(of(TileContext::offsets(version)), (Datatype::Uint64, 8, false));
    assert_eq!(of(TileContext::validity(version)), (Datatype::Uint8, 1, false));
    assert_eq!(of(TileContext::generic(version)), (Datatype::Char, 1, false));
    let typed = |number| {
        let version = FormatVersion::parse(number).unwrap();
        TileContext::validity(version).typed_validity(Datatype::Int32).map(of)
    };
    assert_eq!([9, 10, 14, 15].map(typed).map(|seen| seen.is_some()), [false, true, true, false]);
    assert_eq!(typed(12), Some((Datatype::Int32, 1, false)));
}

#[test]
fn errors_say_which_filter_of_how_many_and_of_which_field() {
    let kind = ErrorKind::KeyMissing;
    let error = Error { filter: "zstd", code: 2, position: 2, count: 3, kind };
    let why = "needs a key: the data is encrypted (AES-256-GCM)";
    assert_eq!(error.to_string(), format!("filter 'zstd' {why} (filter 2 of 3)"));
    assert_eq!(error.in_field("a").to_string(), format!("filter 'zstd' {why} (field \"a\", filter 2 of 3)"));
    let whole = Error::pipeline(3, kind);
    assert_eq!((whole.position, whole.count, whole.to_string()), (0, 3, format!("filter pipeline {why}")));
    assert_eq!(whole.in_field("a").to_string(), format!("filter pipeline {why} (field \"a\")"));
    assert!(error.source().is_none());
    let cause = tdb_codec::Error::new("window", 4, tdb_codec::ErrorKind::TrailingBytes { count: 1 });
    for kind in [ErrorKind::from(cause), ErrorKind::Data(cause)] {
        assert_eq!(Error::pipeline(1, kind).source().unwrap().to_string(), cause.to_string());
    }
    assert_eq!(ErrorKind::from(cause), ErrorKind::Metadata(cause));
}

#[test]
fn keys_are_64_hexadecimal_digits_and_are_never_shown() {
    let key = Key::from_hex(&format!("0aF1{}", "00".repeat(30))).unwrap();
    let mut bytes = [0; 32];
    bytes[..2].copy_from_slice(&[0x0a, 0xf1]);
    assert_eq!(key, Key::new(bytes));
    for wrong in ["0a".repeat(31), "0a".repeat(33), format!("0g{}", "00".repeat(31)), "+1".repeat(32)] {
        assert_eq!(Key::from_hex(&wrong), None, "{wrong}");
    }
    assert_eq!(format!("{key:?}"), "Key(..)");
}

#[test]
fn an_encoder_says_what_it_does_to_a_chunk() {
    let of = |filters: Vec<Filter>, context| {
        let encoder = Pipeline::new(filters).encoder(context).unwrap();
        (encoder.is_identity(), encoder.keeps_sizes(), encoder.needs_whole_tiles(), encoder.encodes_strings())
    };
    let numbers = context(Datatype::Int32);
    let strings = TileContext::values(Datatype::StringAscii, FormatVersion::CURRENT);
    assert_eq!(of(vec![], numbers), (true, true, false, false));
    assert_eq!(of(vec![Filter::ByteShuffle], numbers), (false, true, false, false));
    assert_eq!(of(vec![Filter::Rle { level: -1 }], numbers), (false, false, false, false));
    assert_eq!(of(vec![Filter::Rle { level: -1 }], strings), (false, false, true, true));
    let whole = Pipeline { max_chunk_size: 0, filters: vec![Filter::ByteShuffle] };
    assert!(whole.encoder(numbers).unwrap().needs_whole_tiles());
}

#[test]
fn a_chunk_is_not_encoded_into_an_output_of_another_length() {
    let into = |filter, len: usize| {
        let encoder = Pipeline::new(vec![filter]).encoder(context(Datatype::Int32)).unwrap();
        let mut out = vec![0; len];
        encoder.encode_chunk_into(&hundreds(), &mut Scratch::new(), &mut Vec::new(), &mut out)
    };
    assert_eq!(into(Filter::ByteShuffle, 16), Ok(()));
    let kind = ErrorKind::WrongLength { expected: 16, found: 15 };
    assert_eq!(into(Filter::ByteShuffle, 15), Err(Error::pipeline(1, kind)));
    assert_eq!(into(Filter::Rle { level: -1 }, 16), Err(Error::pipeline(1, ErrorKind::ChangesLength)));
}

#[test]
fn a_window_must_have_room_for_a_value_and_a_level_be_one_of_its_codec() {
    let valid = |filter: Filter, datatype| Pipeline::new(vec![filter]).validate(context(datatype)).is_ok();
    let window = |max_window| Filter::PositiveDelta { max_window };
    assert!(valid(window(4), Datatype::Int32) && !valid(window(3), Datatype::Int32));
    assert!(Filter::gzip(9).is_ok() && Filter::gzip(10).is_err());
    assert!(Filter::bzip2(9).is_ok() && Filter::bzip2(10).is_err());
    assert!(Filter::zstd(-7).is_ok() && Filter::zstd(-8).is_err());
    assert!(Filter::scale_float(1.0, f64::NAN, ByteWidth::One).is_err());
}

#[test]
fn strings_and_coded_strings_end_where_the_next_begin() {
    let mut coded = CodedStrings { values: b"redblue".to_vec(), starts: vec![0, 3], codes: vec![1, 0, 2] };
    assert_eq!((coded.string(0), coded.string(1)), (Some(&b"blue"[..]), Some(&b"red"[..])));
    assert_eq!((coded.string(2), coded.string(3)), (None, None), "no such string; no such cell");
    coded.clear();
    assert_eq!(coded, CodedStrings::default());
}

#[test]
fn a_pipeline_of_each_filter_is_written_as_it_is_read() {
    for row in registry::all() {
        let mut writer = Writer::new();
        row.pipeline().write(&mut writer, FormatVersion::CURRENT).unwrap();
        let bytes = writer.into_vec();
        let read = Pipeline::parse(&mut Reader::new(&bytes), FormatVersion::CURRENT).unwrap();
        assert_eq!(read, row.pipeline(), "{}", row.name);
    }
}

#[test]
fn a_pipeline_says_how_tiles_are_cut_and_whether_values_come_back() {
    let rle = Pipeline::new(vec![Filter::Rle { level: -1 }]);
    assert_eq!((rle.usual_chunk(false), rle.usual_chunk(true)), (Some(65_536), None));
    let dictionary = Pipeline::new(vec![Filter::None, sample("dictionary")]);
    assert_eq!((dictionary.usual_chunk(false), dictionary.usual_chunk(true)), (Some(65_536), None));
    let image = Pipeline::new(vec![sample("webp")]);
    assert_eq!((image.usual_chunk(false), image.changes_values()), (None, false));
    let whole = Pipeline { max_chunk_size: 0, ..Pipeline::default() };
    assert_eq!((whole.usual_chunk(false), whole.changes_values()), (None, false));
    let lossy = Filter::webp_lossy(80.0, PixelFormat::Rgb, 16, 48).unwrap();
    assert!(Pipeline::new(vec![lossy]).changes_values());
    assert!(Pipeline::new(vec![sample("scale-float")]).changes_values());
    let effort = |names: [&str; 2]| Pipeline::new(names.map(sample).to_vec()).effort();
    assert_eq!((effort(["bitshuffle", "zstd"]), effort(["bzip2", "gzip"])), (10, 165));
    let decoder = Pipeline::new(vec![Filter::BitShuffle, Filter::Rle { level: -1 }]);
    assert_eq!(decoder.decoder(context(Datatype::Int32)).unwrap().effort(), 2);
    assert_eq!(Pipeline::default().effort(), 0);
}
