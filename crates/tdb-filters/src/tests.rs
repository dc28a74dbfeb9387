//! Tests of whole pipelines: the reference's worked examples, round trips over the registry,
//! hostile bytes.

mod facts;
#[cfg(feature = "checksum")]
mod in_place;
mod lies;
mod losses;
mod otherwise;
mod peer;

use proptest::prelude::*;
use tdb_codec::{Budget, Datatype, FormatVersion, Reader};

use crate::{CodedStrings, Decoder, ErrorKind, Filter, Pipeline, Scratch, TileContext, registry};

fn context(datatype: Datatype) -> TileContext {
    TileContext::new(datatype, datatype.size() as u64, FormatVersion::CURRENT)
}

fn encode(
    pipeline: &Pipeline,
    context: TileContext,
    input: &[u8],
) -> Result<(Vec<u8>, Vec<u8>), crate::Error> {
    let (mut metadata, mut data) = (vec![1, 2, 3], vec![4]);
    pipeline.encoder(context)?.encode_chunk(input, &mut Scratch::new(), &mut metadata, &mut data)?;
    Ok((metadata, data))
}

fn decode(decoder: &Decoder, metadata: &[u8], data: &[u8], len: usize) -> Result<Vec<u8>, crate::Error> {
    let mut out = vec![0xaa; len];
    let budget = Budget::new(1 << 24);
    let result = decoder.decode_chunk(metadata, data, &mut out, &mut Scratch::new(), &budget);
    assert_eq!(budget.available(), 1 << 24, "everything charged is released");
    result.map(|()| out)
}

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Input of the worked examples.
fn hundreds() -> Vec<u8> {
    [100u32, 101, 103, 106].iter().flat_map(|value| value.to_le_bytes()).collect()
}

const POSITIVE_DELTA: Filter = Filter::PositiveDelta { max_window: 1024 };

#[test]
fn positive_delta_then_byteshuffle_are_the_reference_s_bytes() {
    let pipeline = Pipeline::new(vec![POSITIVE_DELTA, Filter::ByteShuffle]);
    let (metadata, data) = encode(&pipeline, context(Datatype::Uint32), &hundreds()).unwrap();
    assert_eq!(metadata, hex("01000000 10000000  01000000 64000000 10000000"));
    assert_eq!(data, hex("00010203 00000000 00000000 00000000"));
    let decoder = pipeline.decoder(context(Datatype::Uint32)).unwrap();
    assert!(decoder.keeps_sizes() && !decoder.is_identity());
    assert_eq!(decode(&decoder, &metadata, &data, 16).unwrap(), hundreds());
}

#[cfg(feature = "gzip")]
#[test]
fn gzip_absorbs_the_metadata_before_it_as_in_the_reference() {
    let pipeline = Pipeline::new(vec![POSITIVE_DELTA, Filter::ByteShuffle, Filter::Gzip { level: 6 }]);
    let (metadata, data) = encode(&pipeline, context(Datatype::Uint32), &hundreds()).unwrap();
    assert_eq!(metadata.len(), 32);
    assert_eq!(metadata[..8], hex("02000000 01000000"));
    // Two metadata parts of 8 and 12 bytes, a data part of 16; any zlib encoder may choose the
    // lengths.
    assert_eq!((metadata[8], metadata[16], metadata[24]), (8, 12, 16));
    assert_eq!(data[..4], hex("789c6364"));
    let decoder = pipeline.decoder(context(Datatype::Uint32)).unwrap();
    assert!(!decoder.keeps_sizes());
    assert_eq!(decode(&decoder, &metadata, &data, 16).unwrap(), hundreds());
}

#[cfg(feature = "checksum")]
#[test]
fn checksums_cover_earlier_metadata_as_in_the_reference() {
    let filters = vec![POSITIVE_DELTA, Filter::BitWidthReduction { max_window: 256 }, Filter::ChecksumMd5];
    let pipeline = Pipeline::new(filters);
    let (metadata, data) = encode(&pipeline, context(Datatype::Uint32), &hundreds()).unwrap();
    assert_eq!(metadata.len(), 109);
    assert_eq!(metadata[..16], hex("02000000 01000000 1100000000000000"));
    assert_eq!(metadata[32..40], hex("0c00000000000000"));
    assert_eq!(metadata[56..64], hex("0400000000000000"));
    let expected = "10000000 01000000 00000000 08 10000000  01000000 64000000 10000000";
    assert_eq!(metadata[80..], hex(expected));
    assert_eq!(data, hex("00010203"));
    let decoder = pipeline.decoder(context(Datatype::Uint32)).unwrap();
    assert_eq!(decode(&decoder, &metadata, &data, 16).unwrap(), hundreds());
}

#[test]
fn peers_chunks_decode_to_the_cells_they_hold() {
    for chunk in peer::CHUNKS {
        let version = |number| FormatVersion::parse(number).unwrap();
        let bytes = hex(chunk.pipeline);
        let pipeline = Pipeline::parse(&mut Reader::new(&bytes), version(chunk.versions.0)).unwrap();
        let context = TileContext {
            datatype: Datatype::from_code(chunk.datatype.0).unwrap(),
            cell_size: chunk.datatype.1,
            schema_version: version(chunk.versions.0),
            fragment_version: version(chunk.versions.1),
            writer_version: version(chunk.versions.1),
            var: chunk.var,
            string_mode: None,
        };
        let decoder = match pipeline.decoder(context) {
            Ok(decoder) => decoder,
            Err(error) if matches!(error.kind, ErrorKind::FeatureMissing { .. }) => continue,
            Err(error) => panic!("libtiledb {}: {error}", chunk.writer),
        };
        let (metadata, data, cells) = (hex(chunk.metadata), hex(chunk.data), hex(chunk.cells));
        let mut scratch = Scratch::new();
        let what = format!("libtiledb {} {pipeline:?}", chunk.writer);
        if let Some(expected) = chunk.offsets {
            let (mut values, mut offsets) = (Vec::new(), Vec::new());
            decoder
                .decode_string_chunk(
                    &metadata,
                    &data,
                    &mut values,
                    &mut offsets,
                    &mut scratch,
                    &Budget::new(1 << 20),
                )
                .unwrap();
            assert_eq!((values, offsets.as_slice()), (cells.clone(), expected), "{what}");
            let mut coded = CodedStrings::default();
            let budget = Budget::new(1 << 20);
            let bytes =
                decoder.decode_coded_chunk(&metadata, &data, &mut coded, &mut scratch, &budget).unwrap();
            assert_eq!((bytes, coded.codes.len()), (cells.len(), expected.len()), "{what}");
            let all: Vec<u8> =
                (0..expected.len()).flat_map(|cell| coded.string(cell).unwrap().to_vec()).collect();
            assert_eq!(all, cells, "{what}");
        } else {
            assert_eq!(decode(&decoder, &metadata, &data, cells.len()).unwrap(), cells, "{what}");
        }
    }
}

#[test]
fn a_pipeline_without_filters_copies_and_refuses_metadata() {
    let decoder = Pipeline::default().decoder(context(Datatype::Int32)).unwrap();
    assert!(decoder.is_identity() && decoder.keeps_sizes());
    assert_eq!(decode(&decoder, &[], &[1, 2, 3], 3).unwrap(), [1, 2, 3]);
    let error = decode(&decoder, &[0], &[1, 2, 3], 3).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Metadata(_)));
    assert_eq!(error.position, 0);
    let error = decode(&decoder, &[], &[1, 2, 3], 4).unwrap_err();
    assert_eq!(error.kind, ErrorKind::WrongLength { expected: 4, found: 3 });
}

#[test]
fn metadata_that_no_filter_reads_is_refused() {
    let pipeline = Pipeline::new(vec![Filter::ByteShuffle]);
    let (mut metadata, data) = encode(&pipeline, context(Datatype::Int32), &[1; 8]).unwrap();
    metadata.push(0);
    let decoder = pipeline.decoder(context(Datatype::Int32)).unwrap();
    assert!(decode(&decoder, &metadata, &data, 8).is_err());
}

#[test]
fn unknown_filters_are_refused_by_number_and_position() {
    let filters = vec![Filter::None, Filter::Unknown { code: 17, options: vec![] }, Filter::ByteShuffle];
    let error = Pipeline::new(filters).decoder(context(Datatype::Int32)).unwrap_err();
    assert_eq!((error.position, error.count), (2, 3));
    assert_eq!(error.kind, ErrorKind::UnknownFilter { code: 17 });
    assert!(error.to_string().contains("17"), "{error}");
}

#[test]
fn double_delta_refuses_floats_unless_they_are_reinterpreted() {
    let plain = Pipeline::new(vec![Filter::DoubleDelta { level: -1, reinterpret: None }]);
    let error = plain.decoder(context(Datatype::Float64)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InputType { datatype: Datatype::Float64 });
    let filter = Filter::DoubleDelta { level: -1, reinterpret: Some(Datatype::Int64) };
    assert!(Pipeline::new(vec![filter]).decoder(context(Datatype::Float64)).is_ok());
}

#[test]
fn intermediate_buffers_over_the_budget_are_refused_before_they_grow() {
    // RLE metadata that claims 4 GiB of metadata for the byteshuffle before it.
    let pipeline = Pipeline::new(vec![Filter::ByteShuffle, Filter::Rle { level: -1 }]);
    let decoder = pipeline.decoder(context(Datatype::Uint8)).unwrap();
    let metadata = hex("01000000 01000000 ffffffff 03000000 01000000 03000000");
    let mut scratch = Scratch::new();
    let error = decoder
        .decode_chunk(&metadata, &[0, 0, 1, 0, 0, 1], &mut [0], &mut scratch, &Budget::new(1000))
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::OverBudget { size: u64::from(u32::MAX) });
    assert!(scratch.capacity() <= 1000);
}

#[test]
fn runs_of_cells_without_bytes_are_refused() {
    let pipeline = Pipeline::new(vec![Filter::Rle { level: -1 }]);
    let context = |size| TileContext::new(Datatype::Uint8, size, FormatVersion::CURRENT);
    assert!(pipeline.decoder(context(1)).is_ok());
    assert_eq!(pipeline.decoder(context(0)).unwrap_err().kind, ErrorKind::InvalidValue { value: 0 });
}

/// Pipelines of one, two and three filters that this build can run.
fn pipelines() -> Vec<Pipeline> {
    let usable: Vec<Filter> = registry::all()
        .iter()
        // Images have only one length, and scaled floats lose precision: they have separate tests.
        .filter(|row| !matches!(row.name, "webp" | "scale-float"))
        .map(registry::Row::sample)
        .filter(|filter| Pipeline::new(vec![filter.clone()]).decoder(context(Datatype::Int32)).is_ok())
        .collect();
    assert!(usable.len() >= 8, "most of the registry takes part");
    let mut all: Vec<_> = usable.iter().map(|filter| vec![filter.clone()]).collect();
    for first in &usable {
        for second in &usable {
            all.push(vec![first.clone(), second.clone()]);
        }
    }
    all.push(usable.clone());
    all.push(usable.into_iter().rev().collect());
    all.into_iter().map(Pipeline::new).collect()
}

/// Bytes that never decrease as integers of any type, so that every filter can encode them.
fn gentle(datatype: Datatype, len: usize, step: usize) -> Vec<u8> {
    let size = datatype.size();
    let mut out = vec![0; len];
    for (i, value) in out.chunks_mut(size).enumerate() {
        let number = (i * step / 4).min(if size == 1 { 100 } else { 30_000 }) as u64;
        let bytes = number.to_le_bytes();
        let len = value.len();
        value.copy_from_slice(&bytes[..len]);
    }
    out
}

/// Whether the format requires that encoding fails with this error.
fn is_legitimate_refusal(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PartialValue { .. } | ErrorKind::Decreasing { .. } | ErrorKind::OutOfRange { .. }
    )
}

#[test]
fn every_pair_of_filters_round_trips_on_every_datatype_and_size() {
    for pipeline in pipelines() {
        for datatype in Datatype::all() {
            let Ok(decoder) = pipeline.decoder(context(datatype)) else { continue };
            for len in [0, 1, 8, 23, 24, 64, 1000, 1024] {
                let input = gentle(datatype, len, 3);
                let (metadata, data) = match encode(&pipeline, context(datatype), &input) {
                    Ok(encoded) => encoded,
                    Err(error) if is_legitimate_refusal(&error.kind) => continue,
                    Err(error) => panic!("{pipeline:?} {datatype} {len}: {error}"),
                };
                match decode(&decoder, &metadata, &data, len) {
                    Ok(back) => assert_eq!(back, input, "{pipeline:?} {datatype} {len}"),
                    Err(error) => panic!("{pipeline:?} {datatype} {len}: {error}"),
                }
                if decoder.keeps_sizes() {
                    assert_eq!(data.len(), len);
                }
            }
        }
    }
}

#[test]
fn whole_numbers_survive_scaling_in_front_of_every_filter() {
    let scale_float = registry::by_name("scale-float").unwrap().sample();
    for second in registry::all().iter().filter(|row| row.name != "scale-float") {
        for datatype in [Datatype::Float32, Datatype::Float64] {
            let pipeline = Pipeline::new(vec![scale_float.clone(), second.sample()]);
            let Ok(decoder) = pipeline.decoder(context(datatype)) else { continue };
            for count in [0u8, 1, 2, 100] {
                let numbers = (0..count).map(f32::from);
                let input: Vec<u8> = match datatype {
                    Datatype::Float32 => numbers.flat_map(f32::to_le_bytes).collect(),
                    _ => numbers.flat_map(|number| f64::from(number).to_le_bytes()).collect(),
                };
                match encode(&pipeline, context(datatype), &input) {
                    Ok((metadata, data)) => {
                        assert_eq!(decode(&decoder, &metadata, &data, input.len()).unwrap(), input);
                        // A chunk without cells has nothing to decode.
                        for len in (0..data.len()).filter(|_| count > 0) {
                            assert!(decode(&decoder, &metadata, &data[..len], input.len()).is_err());
                        }
                    }
                    // An 8-byte metadata part is not a whole number of values of some types, and an
                    // image has a fixed size.
                    Err(error) => assert_eq!(error.position, 2, "{error}"),
                }
            }
        }
    }
}

#[test]
fn no_truncation_of_metadata_or_data_is_accepted() {
    for pipeline in pipelines() {
        let datatype = Datatype::Int32;
        let decoder = pipeline.decoder(context(datatype)).unwrap();
        let input = gentle(datatype, 48, 3);
        let Ok((metadata, data)) = encode(&pipeline, context(datatype), &input) else { continue };
        for len in 0..metadata.len() {
            assert!(decode(&decoder, &metadata[..len], &data, 48).is_err(), "{pipeline:?} metadata {len}");
        }
        for len in 0..data.len() {
            assert!(decode(&decoder, &metadata, &data[..len], 48).is_err(), "{pipeline:?} data {len}");
        }
        for len in [47, 49] {
            assert!(decode(&decoder, &metadata, &data, len).is_err(), "{pipeline:?} out {len}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_values_round_trip(
        input in proptest::collection::vec(any::<u8>(), 0..3000),
        which in any::<proptest::sample::Index>(),
        code in 0u8..44,
    ) {
        let pipelines = pipelines();
        let pipeline = which.get(&pipelines);
        let context = context(Datatype::from_code(code).unwrap());
        if let Ok(decoder) = pipeline.decoder(context) {
            match encode(pipeline, context, &input) {
                Ok((metadata, data)) => {
                    prop_assert_eq!(decode(&decoder, &metadata, &data, input.len()).unwrap(), input);
                }
                Err(error) => prop_assert!(is_legitimate_refusal(&error.kind), "{error}"),
            }
        }
    }

    #[test]
    fn mutated_chunks_never_panic_and_never_go_over_the_budget(
        which in any::<proptest::sample::Index>(),
        code in 0u8..44,
        len in 0usize..200,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut pipelines = pipelines();
        pipelines.extend(["scale-float", "webp"].map(|name| registry::by_name(name).unwrap().pipeline()));
        let pipeline = which.get(&pipelines);
        let datatype = Datatype::from_code(code).unwrap();
        if let Ok(decoder) = pipeline.decoder(context(datatype))
            && let Ok((mut metadata, mut data)) = encode(pipeline, context(datatype), &gentle(datatype, len, 3))
        {
            let total = metadata.len() + data.len();
            for (at, byte) in changes {
                if total == 0 { break; }
                let at = at.index(total);
                let split = metadata.len();
                let slot = if at < split { &mut metadata[at] } else { &mut data[at - split] };
                *slot = byte;
            }
            let budget = Budget::new(4096);
            let mut scratch = Scratch::new();
            let _ = decoder.decode_chunk(&metadata, &data, &mut vec![0; len], &mut scratch, &budget);
            prop_assert_eq!(budget.available(), 4096);
            prop_assert!(scratch.capacity() <= 2 * 4096);
        }
    }
}

#[test]
fn xor_changes_the_type_that_bit_width_reduction_sees_only_since_its_gate() {
    let filters = vec![Filter::Xor, Filter::BitWidthReduction { max_window: 256 }];
    let pipeline = Pipeline::new(filters);
    let input = gentle(Datatype::Float64, 64, 0);
    let at = |version| {
        let context = TileContext::new(Datatype::Float64, 8, FormatVersion::parse(version).unwrap());
        (context, encode(&pipeline, context, &input).unwrap())
    };
    let (_, (_, old)) = at(19);
    let (mut context, (metadata, new)) = at(20);
    assert_eq!((old.len(), new.len()), (64, 8));
    // A newer library that writes into an old array still propagates types.
    context.fragment_version = FormatVersion::parse(16).unwrap();
    assert_eq!(decode(&pipeline.decoder(context).unwrap(), &metadata, &new, 64).unwrap(), input);
    context.writer_version = context.fragment_version;
    assert!(decode(&pipeline.decoder(context).unwrap(), &metadata, &new, 64).is_err());
}

/// Values tiles of every type whose strings the filter stores, and of the version before that.
#[test]
fn string_mode_begins_at_the_gate_of_filter_and_type() {
    let rle = Pipeline::new(vec![Filter::Rle { level: -1 }]);
    let dictionary = Pipeline::new(vec![Filter::Dictionary { level: -1 }]);
    let strings = |pipeline: &Pipeline, datatype, version| {
        let context = TileContext::values(datatype, FormatVersion::parse(version).unwrap());
        pipeline.decoder(context).map(|decoder| decoder.decodes_strings())
    };
    assert_eq!(strings(&rle, Datatype::StringAscii, 11), Ok(false));
    assert_eq!(strings(&rle, Datatype::StringAscii, 12), Ok(true));
    assert_eq!(strings(&rle, Datatype::StringUtf8, 16), Ok(false));
    assert_eq!(strings(&rle, Datatype::StringUtf8, 17), Ok(true));
    assert_eq!(strings(&rle, Datatype::Char, 22), Ok(false));
    assert!(strings(&dictionary, Datatype::StringAscii, 12).is_err());
    assert_eq!(strings(&dictionary, Datatype::StringAscii, 13), Ok(true));
    assert_eq!(strings(&dictionary, Datatype::StringUtf8, 17), Ok(true));
    assert!(strings(&dictionary, Datatype::Char, 22).is_err());
    let fixed = TileContext::new(Datatype::StringAscii, 1, FormatVersion::CURRENT);
    assert!(!rle.decoder(fixed).unwrap().decodes_strings());
    let mut old = TileContext::values(Datatype::StringAscii, FormatVersion::parse(9).unwrap());
    old.string_mode = Some(true);
    assert!(rle.decoder(old).unwrap().decodes_strings());
    let late = Pipeline::new(vec![Filter::ByteShuffle, Filter::Rle { level: -1 }]);
    let context = TileContext::values(Datatype::StringAscii, FormatVersion::CURRENT);
    let error = late.decoder(context).unwrap_err();
    assert_eq!((error.position, error.kind), (2, ErrorKind::NotFirst));
}

#[test]
fn strings_round_trip_through_pipelines_and_join_up() {
    let context = TileContext::values(Datatype::StringUtf8, FormatVersion::CURRENT);
    let (values, offsets) = (b"aaaabbbcc".as_slice(), [0, 2, 4, 7, 7]);
    for first in [Filter::Rle { level: -1 }, Filter::Dictionary { level: -1 }] {
        for row in registry::all() {
            let pipeline = Pipeline::new(vec![first.clone(), row.sample()]);
            let Ok(encoder) = pipeline.encoder(context) else { continue };
            let decoder = pipeline.decoder(context).unwrap();
            assert!(encoder.encodes_strings() && encoder.needs_whole_tiles());
            let mut scratch = Scratch::new();
            let (mut metadata, mut data) = (Vec::new(), Vec::new());
            let result =
                encoder.encode_string_chunk(values, &offsets, &mut scratch, &mut metadata, &mut data);
            match result {
                Ok(()) => {}
                // An image needs a fixed size.
                Err(error) if row.name == "webp" && error.position == 2 => continue,
                Err(error) => panic!("{pipeline:?}: {error}"),
            }
            let (mut back, mut starts) = (b"xy".to_vec(), vec![0]);
            let budget = Budget::new(100_000);
            for _ in 0..2 {
                decoder
                    .decode_string_chunk(&metadata, &data, &mut back, &mut starts, &mut scratch, &budget)
                    .unwrap();
            }
            assert_eq!(back, [b"xy", values, values].concat());
            assert_eq!(starts, [0, 2, 4, 6, 9, 9, 11, 13, 15, 18, 18]);
            assert_eq!(budget.available(), 100_000);
            // Codes of a second chunk go on after those of the first one, and no more of them exist
            // than strings are stored.
            let mut coded = CodedStrings::default();
            for chunk in 1..=2usize {
                let found = decoder.decode_coded_chunk(&metadata, &data, &mut coded, &mut scratch, &budget);
                assert_eq!((found.unwrap(), coded.codes.len()), (values.len(), chunk * 5));
            }
            let strings: Vec<u8> = (0..10).flat_map(|cell| coded.string(cell).unwrap().to_vec()).collect();
            assert_eq!(strings, [values, values].concat());
            assert!(coded.string(10).is_none() && coded.starts.len() < 10, "{coded:?}");
            for len in 0..metadata.len() {
                let found = decoder.decode_coded_chunk(
                    &metadata[..len],
                    &data,
                    &mut CodedStrings::default(),
                    &mut scratch,
                    &budget,
                );
                assert!(found.is_err());
                let (mut values, mut offsets) = (Vec::new(), Vec::new());
                assert!(
                    decoder
                        .decode_string_chunk(
                            &metadata[..len],
                            &data,
                            &mut values,
                            &mut offsets,
                            &mut scratch,
                            &budget
                        )
                        .is_err()
                );
            }
            let error =
                decoder.decode_chunk(&metadata, &data, &mut [0; 9], &mut scratch, &budget).unwrap_err();
            assert_eq!(error.kind, ErrorKind::StringMode);
        }
    }
}

#[cfg(feature = "encryption")]
#[test]
fn encryption_hides_earlier_metadata_with_the_lengths_of_the_reference() {
    let key = crate::Key::new([7; 32]);
    let pipeline = Pipeline::new(vec![POSITIVE_DELTA, Filter::ByteShuffle]);
    let context = context(Datatype::Int32);
    let encoder = pipeline.encoder_with_key(context, Some(&key)).unwrap();
    let mut count = 0u8;
    let mut scratch = Scratch::new().with_nonces(move || {
        count += 1;
        [count; 12]
    });
    let input = gentle(Datatype::Int32, 80, 4);
    let (mut metadata, mut data) = (Vec::new(), Vec::new());
    encoder.encode_chunk(&input, &mut scratch, &mut metadata, &mut data).unwrap();
    assert_eq!((metadata.len(), data.len()), (116, 8 + 12 + 80));
    assert_eq!(metadata[8..16], hex("08000000 08000000"));
    assert_eq!((metadata[16], metadata[52], metadata[88]), (1, 2, 3));

    let decoder = pipeline.decoder_with_key(context, Some(&key)).unwrap();
    assert_eq!(decode(&decoder, &metadata, &data, 80).unwrap(), input);
    for len in 0..metadata.len() {
        assert!(decode(&decoder, &metadata[..len], &data, 80).is_err());
    }
    for len in 0..data.len() {
        assert!(decode(&decoder, &metadata, &data[..len], 80).is_err());
    }
    let wrong = pipeline.decoder_with_key(context, Some(&crate::Key::new([8; 32]))).unwrap();
    let error = decode(&wrong, &metadata, &data, 80).unwrap_err();
    assert_eq!((error.position, error.count, error.kind), (3, 3, ErrorKind::Decryption { part: 0 }));
    data[99] ^= 1;
    let error = decode(&decoder, &metadata, &data, 80).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Decryption { part: 2 });

    let error = encoder.encode_chunk(&input, &mut Scratch::new(), &mut metadata, &mut data).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NonceMissing);
    let named = Pipeline::new(vec![Filter::Aes256Gcm]);
    assert_eq!(named.decoder(context).unwrap_err().kind, ErrorKind::KeyMissing);
    assert!(named.decoder_with_key(context, Some(&key)).is_ok(), "named once, not appended again");
}
