//! Tests of chunks that do not match their pipeline: without cells, or filtered as if they
//! contained other values.

use tdb_codec::{Datatype, FormatVersion};

use super::{context, decode, encode, hex};
use crate::{Filter, Pipeline, TileContext, registry};

/// For example, libtiledb 2.7 to 2.25 ran gzip on no bytes and stored a stream that zlib does not
/// accept.
#[test]
fn in_a_chunk_without_cells_it_does_not_matter_what_a_compressor_cannot_decode() {
    let (metadata, data) = (hex("00000000 01000000 00000000 02000000"), hex("789c"));
    for name in ["gzip", "zstd", "lz4", "bzip2"] {
        let row = registry::by_name(name).unwrap();
        if !row.available {
            continue;
        }
        let decoder = row.pipeline().decoder(context(Datatype::Int32)).unwrap();
        assert_eq!(decode(&decoder, &metadata, &data, 0), Ok(Vec::new()), "{name}");
        assert!(decode(&decoder, &metadata, &data, 4).is_err(), "{name}");
        let behind =
            Pipeline::new(vec![Filter::ByteShuffle, row.sample()]).decoder(context(Datatype::Int32)).unwrap();
        assert_eq!(decode(&behind, &metadata, &data, 0), Ok(Vec::new()), "{name}");
    }
}

#[test]
fn bytes_of_a_chunk_without_cells_are_refused_by_filters_that_do_not_compress() {
    let plain = Pipeline::default().decoder(context(Datatype::Int32)).unwrap();
    assert!(decode(&plain, &[], &[1], 0).is_err());
    for filter in [Filter::ByteShuffle, Filter::BitWidthReduction { max_window: 16 }] {
        let decoder = Pipeline::new(vec![filter]).decoder(context(Datatype::Int32)).unwrap();
        assert!(decode(&decoder, &[0xff], &[0xff; 3], 0).is_err());
    }
}

/// A tile of bytes that may have been filtered as if they were numbers.
#[test]
fn what_one_decoder_refuses_another_may_decode_and_the_error_of_both_is_the_first_one_s() {
    let pipeline = Pipeline::new(vec![Filter::BitWidthReduction { max_window: 16 }]);
    let bytes = TileContext::validity(FormatVersion::parse(12).unwrap());
    let typed = bytes.typed_validity(Datatype::Int32).unwrap();
    let input: Vec<u8> = (0..40).map(|cell| u8::from(cell % 3 == 0)).collect();
    let both = pipeline.decoder(typed).unwrap().or(pipeline.decoder(bytes).unwrap());
    for context in [typed, bytes] {
        let (metadata, data) = encode(&pipeline, context, &input).unwrap();
        assert_eq!(metadata.is_empty(), context == bytes);
        assert_eq!(decode(&both, &metadata, &data, input.len()).unwrap(), input);
    }
    let alone = decode(&pipeline.decoder(typed).unwrap(), &[9], &[9], 4);
    assert_eq!(decode(&both, &[9], &[9], 4), alone);
    assert!(alone.is_err() && !both.is_identity() && !both.keeps_sizes());
}

/// The result of a shuffle does not show the size of its elements, but validity bytes are 0 or 1.
#[test]
fn of_two_ways_to_shuffle_validity_the_one_that_makes_zeros_and_ones_counts() {
    for filter in [Filter::BitShuffle, Filter::ByteShuffle] {
        let pipeline = Pipeline::new(vec![filter]);
        let bytes = TileContext::validity(FormatVersion::parse(12).unwrap());
        let typed = bytes.typed_validity(Datatype::Uint16).unwrap();
        let both = pipeline.decoder(typed).unwrap().or(pipeline.decoder(bytes).unwrap());
        let input: Vec<u8> = (0..720).map(|cell| u8::from(cell % 5 != 2)).collect();
        let (metadata, data) = encode(&pipeline, typed, &input).unwrap();
        assert_eq!(decode(&both, &metadata, &data, input.len()).unwrap(), input, "typed");
        // Shuffling single bytes moves nothing. With another element size, the result may be
        // validity bytes too.
        if pipeline == Pipeline::new(vec![Filter::BitShuffle]) {
            let (metadata, data) = encode(&pipeline, bytes, &input).unwrap();
            assert_eq!(decode(&both, &metadata, &data, input.len()).unwrap(), input, "bytes");
        }
        // For bytes other than 0 and 1, the result is that of the first decoder.
        let odd: Vec<u8> = (0..720).map(|cell| u8::try_from(cell % 251).unwrap()).collect();
        let (metadata, data) = encode(&pipeline, typed, &odd).unwrap();
        assert_eq!(decode(&both, &metadata, &data, odd.len()).unwrap(), odd);
    }
}

/// libtiledb lists an empty buffer as a part, but not where the next filter passes its input on.
#[test]
fn no_bytes_are_no_part_before_a_filter_that_passes_its_input_on() {
    let shuffled = |later: &[Filter]| {
        let pipeline = Pipeline::new([&[Filter::ByteShuffle], later].concat());
        let (metadata, data) = encode(&pipeline, context(Datatype::Int32), &[]).unwrap();
        assert!(data.is_empty());
        metadata
    };
    let (one, none) = (hex("01000000 00000000"), hex("00000000"));
    assert_eq!(shuffled(&[]), one);
    assert!(shuffled(&[Filter::Xor]).ends_with(&one));
    // Behind a filter that does nothing.
    assert!(!shuffled(&[Filter::None, Filter::Xor]).ends_with(&one));
    assert!(shuffled(&[Filter::None, Filter::Xor]).ends_with(&none));
    // Scaling does not make a part of what is none.
    let scaled = |filters: &[Filter]| {
        let context = TileContext::new(Datatype::Float32, 4, FormatVersion::CURRENT);
        encode(&Pipeline::new(filters.to_vec()), context, &[]).unwrap().0
    };
    let scale = registry::by_name("scale-float").unwrap().sample();
    assert!(scaled(&[scale.clone(), Filter::ByteShuffle]).starts_with(&one));
    assert!(scaled(&[Filter::None, scale, Filter::ByteShuffle]).starts_with(&none));
    #[cfg(feature = "checksum")]
    for checksum in [Filter::ChecksumMd5, Filter::ChecksumSha256] {
        assert!(!shuffled(std::slice::from_ref(&checksum)).ends_with(&one));
        assert!(shuffled(&[checksum]).ends_with(&none));
    }
}
