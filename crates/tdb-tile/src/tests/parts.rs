//! Tests of the parts of a tile: where its chunks are, how each is decoded alone, and what its
//! errors say.

use core::error::Error as _;

use tdb_codec::{Budget, Datatype, ErrorKind as FormatError, FormatVersion, Limits};
use tdb_filters::{CodedStrings, Filter, Key, Pipeline, Scratch, TileContext};

use super::{encode, numbers, shuffle};
use crate::split::Cells;
use crate::{
    ChunkBuffers, ChunkWalk, Encryption, Error, ErrorKind, GenericTile, TileChunks, encode_string_tile,
    encode_tile, encode_tile_into, plain_chunks,
};

#[test]
fn chunks_say_which_bytes_of_the_tile_they_are_and_decode_alone() {
    let (pipeline, decoder) = shuffle();
    let input = numbers(40_000);
    let bytes = encode(&pipeline, &input);
    let tile = TileChunks::parse(&bytes, 1000).unwrap();
    assert_eq!((tile.len(), tile.is_empty(), tile.offset()), (3, false, 1000));
    assert_eq!(tile.original_len(), 160_000);
    let expected = [0..65_536, 65_536..131_072, 131_072..160_000];
    let (mut scratch, budget) = (Scratch::new(), Budget::unlimited());
    for (chunk, range) in tile.chunks().zip(expected.clone()) {
        assert_eq!(chunk.range(), range);
        let mut out = vec![0; range.len()];
        chunk.decode(&decoder, &mut out, &mut scratch, &budget).unwrap();
        assert_eq!(out, input[range]);
    }
    let mut out = vec![0; input.len()];
    for (job, (index, range)) in tile.jobs(&mut out).unwrap().zip((0..).zip(expected)) {
        assert_eq!((job.chunk().index, job.range()), (index, range));
    }
}

#[test]
fn a_tile_in_front_of_others_leaves_the_reader_at_its_end() {
    let (pipeline, _) = shuffle();
    let first = encode(&pipeline, &numbers(3));
    let both = [first.as_slice(), &encode(&pipeline, &numbers(5))].concat();
    let mut reader = tdb_codec::Reader::with_offset(&both, 10);
    assert_eq!(TileChunks::parse_next(&mut reader).unwrap().original_len(), 12);
    assert_eq!(reader.offset(), 10 + first.len() as u64);
    let second = TileChunks::parse_next(&mut reader).unwrap();
    assert_eq!((second.original_len(), second.offset()), (20, 10 + first.len() as u64));
    assert!(reader.is_empty());
}

#[test]
fn a_generic_tile_says_where_it_is_and_how_it_is_encrypted() {
    let bytes = GenericTile::encode(b"payload", FormatVersion::CURRENT).unwrap();
    let tile = GenericTile::parse(&bytes, 70).unwrap();
    assert_eq!((tile.offset(), tile.total_len()), (70, bytes.len() as u64));
    assert_eq!((tile.persisted_size, tile.tile_size), (tile.body().len() as u64, 7));
    assert_eq!(tile.body(), &bytes[bytes.len() - tile.body().len()..]);
    for (code, encryption) in [(0, Encryption::None), (1, Encryption::Aes256Gcm)] {
        assert_eq!((Encryption::from_code(code), encryption.code()), (Some(encryption), code));
    }
    assert_eq!(Encryption::from_code(2), None);
}

#[test]
fn working_memory_of_the_caller_makes_the_same_generic_tile() {
    let version = FormatVersion::CURRENT;
    let mut scratch = Scratch::new().with_nonces(|| [7; 12]);
    let plain = GenericTile::encode_with(b"payload", version, None, &mut scratch).unwrap();
    assert_eq!(plain, GenericTile::encode(b"payload", version).unwrap());
    let key = Key::new([3; 32]);
    let encrypted = GenericTile::encode_with(b"payload", version, Some(&key), &mut scratch).unwrap();
    assert_eq!(encrypted, GenericTile::encode_encrypted(b"payload", version, &key, &mut scratch).unwrap());
    assert_ne!(encrypted, plain);
}

#[test]
fn a_generic_tile_of_exactly_the_limit_is_decoded_and_its_memory_given_back() {
    let bytes = GenericTile::encode(b"payload", FormatVersion::CURRENT).unwrap();
    let mut limits = Limits::default();
    limits.metadata_bytes = 7;
    let budget = Budget::new(7);
    let payload = GenericTile::parse(&bytes, 0).unwrap().decode(None, &limits, &budget).unwrap();
    assert_eq!((payload.as_slice(), budget.available()), (&b"payload"[..], 7));
}

#[test]
fn errors_say_which_chunk_or_tile_is_wrong_and_keep_their_cause() {
    let format = tdb_codec::Error::new("chunk count", 5, FormatError::TrailingBytes { count: 1 });
    let from_format = Error::from(format);
    assert_eq!((from_format.offset, from_format.chunk), (5, None));
    assert_eq!(from_format.to_string(), format.to_string());
    assert_eq!(from_format.source().unwrap().to_string(), format.to_string());
    let mut error = Error { offset: 9, chunk: None, kind: ErrorKind::OverLimit { size: 3 } };
    assert_eq!(error.to_string(), "tile at offset 9: the tile needs 3 bytes, which is over the limit");
    assert!(error.source().is_none());
    error.chunk = Some(2);
    assert!(error.to_string().starts_with("chunk 2 at offset 9: the tile needs"));
    let context = TileContext::new(Datatype::Float32, 4, FormatVersion::CURRENT);
    let pipeline = Pipeline::new(vec![Filter::DoubleDelta { level: -1, reinterpret: None }]);
    let cause = pipeline.decoder(context).unwrap_err();
    error.kind = ErrorKind::Filter(cause);
    assert_eq!(error.source().unwrap().to_string(), cause.to_string());
}

#[test]
fn a_buffer_of_the_caller_has_the_tile_and_nothing_of_the_one_before() {
    let mut buffers = ChunkBuffers::default();
    let mut scratch = Scratch::new();
    for filters in
        [vec![], vec![Filter::ByteShuffle], vec![Filter::ChecksumMd5], vec![Filter::Zstd { level: 1 }]]
    {
        let encoder = Pipeline::new(filters).encoder(super::context()).unwrap();
        let mut out = b"old".to_vec();
        for count in [30_000, 5] {
            let (input, cells) = (numbers(count), Cells::Fixed { size: 4 });
            encode_tile_into(&encoder, &input, cells, &mut scratch, &mut buffers, &mut out).unwrap();
            assert_eq!(out, encode_tile(&encoder, &input, cells, &mut Scratch::new()).unwrap());
        }
    }
}

/// A tile of the strings "ab", "c" and "ab", which are stored once each.
fn strings() -> (Pipeline, TileContext, Vec<u8>) {
    let context = TileContext::values(Datatype::StringAscii, FormatVersion::CURRENT);
    let pipeline = Pipeline::new(vec![Filter::Dictionary { level: -1 }]);
    let encoder = pipeline.encoder(context).unwrap();
    let bytes = encode_string_tile(&encoder, b"abcab", &[0, 2, 3], &mut Scratch::new()).unwrap();
    (pipeline, context, bytes)
}

#[test]
fn strings_that_are_stored_once_stay_so_and_their_bytes_are_counted_for_each_cell() {
    let (pipeline, context, bytes) = strings();
    let decoder = pipeline.decoder(context).unwrap();
    let tile = TileChunks::parse(&bytes, 0).unwrap();
    let mut coded = CodedStrings::default();
    let (mut scratch, budget) = (Scratch::new(), Budget::unlimited());
    assert_eq!(tile.decode_codes_into(&decoder, &mut coded, &mut scratch, &budget), Ok(5));
    assert_eq!((coded.values.as_slice(), coded.codes.as_slice()), (&b"abc"[..], &[0, 1, 0][..]));
    let (mut values, mut offsets) = (b"before".to_vec(), vec![0]);
    tile.decode_strings_into(&decoder, &mut values, &mut offsets, &mut scratch, &budget).unwrap();
    assert_eq!((values.as_slice(), offsets.as_slice()), (&b"beforeabcab"[..], &[0, 6, 8, 9][..]));
}

#[test]
fn strings_of_another_length_than_their_header_says_are_refused() {
    let (pipeline, context, mut bytes) = strings();
    bytes[8] = 6;
    let decoder = pipeline.decoder(context).unwrap();
    let tile = TileChunks::parse(&bytes, 100).unwrap();
    let (mut scratch, budget) = (Scratch::new(), Budget::unlimited());
    let coded = tile.decode_codes_into(&decoder, &mut CodedStrings::default(), &mut scratch, &budget);
    let whole = tile.decode_strings(&decoder, &mut scratch, &budget).map(|_| 0);
    let kind = ErrorKind::WrongLength { expected: 6, found: 5 };
    for error in [coded.unwrap_err(), whole.unwrap_err()] {
        assert_eq!((error.kind, error.chunk, error.offset), (kind, Some(0), 108));
    }
}

/// The walk over a whole tile at offset 1000, with the chunk that each step finds.
fn walked(bytes: &[u8], original_len: usize) -> Vec<(usize, crate::ChunkPlace)> {
    let mut walk = ChunkWalk::new(1000..1000 + bytes.len() as u64, original_len);
    let mut found = Vec::new();
    while let Some(range) = walk.needs() {
        let part = &bytes[usize::try_from(range.start - 1000).unwrap()..];
        let part = &part[..usize::try_from(range.end - range.start).unwrap()];
        if let Some(place) = walk.feed(part).unwrap() {
            found.push((walk.position(), place));
        }
    }
    found
}

#[test]
fn chunks_that_a_walk_finds_decode_alone_and_the_walk_says_how_far_it_came() {
    // A checksum is in the metadata, so that the chunks are not plain.
    let pipeline = Pipeline::new(vec![Filter::ByteShuffle, Filter::ChecksumMd5]);
    let decoder = pipeline.decoder(super::context()).unwrap();
    let input = numbers(20_000);
    let bytes = encode(&pipeline, &input);
    let found = walked(&bytes, input.len());
    assert_eq!(found.iter().map(|(position, _)| *position).collect::<Vec<_>>(), [65_536, 80_000]);
    for (_, place) in &found {
        let body = usize::try_from(place.body.start - 1000).unwrap()
            ..usize::try_from(place.body.end - 1000).unwrap();
        let mut out = vec![0; place.output.len()];
        let (mut scratch, budget) = (Scratch::new(), Budget::unlimited());
        place.decode(&bytes[body.clone()], &decoder, &mut out, &mut scratch, &budget).unwrap();
        assert_eq!(out, input[place.output.clone()]);
        assert!(!place.is_plain());
        let error = place.decode(&bytes[body.start..=body.start], &decoder, &mut out, &mut scratch, &budget);
        assert_eq!(error.unwrap_err().offset, place.body.start);
    }
}

#[test]
fn a_chunk_that_is_not_plain_says_what_is_wrong_with_it() {
    // 3 cells and 2 bytes of data; 3 cells, as many bytes and one of metadata.
    let headers = [[3u32, 2, 0], [3, 3, 1]];
    let bodies: [&[u8]; 2] = [&[1; 2], &[1; 4]];
    let mut bytes = 2u64.to_le_bytes().to_vec();
    for (header, body) in headers.iter().zip(bodies) {
        header.iter().for_each(|field| bytes.extend(field.to_le_bytes()));
        bytes.extend(body);
    }
    let found = walked(&bytes, 6);
    let short = found[0].1.expect_plain().unwrap_err();
    assert_eq!((short.offset, short.kind), (1008, ErrorKind::WrongLength { expected: 3, found: 2 }));
    let ErrorKind::Format(error) = found[1].1.expect_plain().unwrap_err().kind else { panic!() };
    assert_eq!((error.offset, error.kind), (1034, FormatError::TrailingBytes { count: 1 }));
}

#[test]
fn plain_tiles_are_known_by_their_length() {
    assert_eq!(plain_chunks(8, 0), Some(0));
    assert_eq!(plain_chunks(8 + 3 * 12 + 100, 100), Some(3));
    assert_eq!(plain_chunks(8 + 3 * 12 + 101, 100), None);
    assert_eq!((plain_chunks(7, 0), plain_chunks(20, 13)), (None, None));
}

#[test]
fn the_first_bytes_that_a_walk_needs_end_with_the_tile() {
    // The count and a header, if the tile has room for both.
    assert_eq!(ChunkWalk::new(5..25, 0).needs(), Some(5..25));
    assert_eq!(ChunkWalk::new(5..24, 0).needs(), Some(5..13));
    let mut empty = ChunkWalk::new(0..8, 0);
    assert_eq!((empty.mean_stored(), empty.position()), (None, 0));
    assert_eq!(empty.feed(&[0; 8]), Ok(None));
    assert_eq!(empty.needs(), None);
    assert!(ChunkWalk::new(0..8, 1).feed(&[0; 8]).is_err(), "no chunks, but a cell");
}

/// A tile of one chunk with this header, and so many bytes behind it.
fn one_chunk(header: [u32; 3], body: usize) -> Vec<u8> {
    let header = header.map(u32::to_le_bytes).concat();
    [&1u64.to_le_bytes()[..], &header, &vec![7; body]].concat()
}

#[test]
fn a_walk_refuses_a_chunk_that_ends_after_the_tile_and_takes_one_that_ends_with_it() {
    let fed = |bytes: &[u8]| ChunkWalk::new(0..bytes.len() as u64, 3).feed(&bytes[..20]);
    assert_eq!(fed(&one_chunk([3, 2, 1], 3)).unwrap().unwrap().body, 20..23);
    let ErrorKind::Format(error) = fed(&one_chunk([3, 2, 3], 3)).unwrap_err().kind else { panic!() };
    assert_eq!((error.what, error.offset), ("chunk", 8));
    assert_eq!(error.kind, FormatError::UnexpectedEnd { missing: 2 });
}

#[test]
fn a_chunk_that_ends_after_its_tile_is_refused_with_the_offset_of_its_header() {
    // The metadata fits, and the data after it do not.
    let error = TileChunks::parse(&one_chunk([3, 2, 3], 3), 1000).unwrap_err();
    let ErrorKind::Format(error) = error.kind else { panic!() };
    assert_eq!((error.what, error.offset), ("chunk", 1008));
    assert_eq!(error.kind, FormatError::UnexpectedEnd { missing: 2 });
}

#[test]
fn a_walk_skips_in_tiles_whose_length_is_that_of_chunks_like_the_first_only() {
    let can_skip = |lens: &[u32], first_metadata: u32| {
        let mut tile = (lens.len() as u64).to_le_bytes().to_vec();
        for (number, &len) in lens.iter().enumerate() {
            let metadata = if number == 0 { first_metadata } else { 0 };
            tile.extend([len, len - metadata, metadata].map(u32::to_le_bytes).concat());
            tile.extend(vec![7; usize::try_from(len).unwrap()]);
        }
        let original_len = usize::try_from(lens.iter().sum::<u32>()).unwrap();
        let mut walk = ChunkWalk::new(0..tile.len() as u64, original_len).of_equal_chunks();
        walk.feed(&tile[..20]).unwrap();
        walk.can_skip()
    };
    assert!(can_skip(&[3, 3, 3, 1], 0));
    assert!(!can_skip(&[3, 3, 4], 0), "ten bytes in chunks of three are four chunks");
    assert!(!can_skip(&[3, 3, 3, 1], 1), "a filter wrote metadata for the first");
}

#[test]
fn a_skip_that_goes_nowhere_does_not_read_a_header_twice() {
    // Chunks of 30, 10, 30 and 25 bytes, without filters.
    let mut tile = 4u64.to_le_bytes().to_vec();
    for len in [30u32, 10, 30, 25] {
        tile.extend([len, len, 0].map(u32::to_le_bytes).concat());
        tile.extend(vec![7; usize::try_from(len).unwrap()]);
    }
    let mut walk = ChunkWalk::new(0..tile.len() as u64, 95).of_equal_chunks();
    walk.feed(&tile[..20]).unwrap();
    walk.skip_to(35);
    assert_eq!(walk.needs(), Some(50..62));
    assert_eq!(walk.feed(&tile[50..62]).unwrap().unwrap().output, 30..40);
}
