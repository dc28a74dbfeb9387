//! Tests of whole tiles: peers' bytes, truncation, hostile counts, partial and parallel decoding.

mod parts;
mod peer;

use proptest::prelude::*;
use tdb_codec::{Budget, Datatype, ErrorKind as FormatError, FormatVersion, Limits};
use tdb_filters::{Decoder, Filter, Key, Pipeline, Scratch, TileContext, registry};

use crate::split::Cells;
use crate::{ChunkBuffers, EMPTY_TILE, EncodeJob, Encryption, ErrorKind, GenericTile, TileChunks};
use crate::{encode_jobs, encode_string_tile, encode_tile};

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn context() -> TileContext {
    TileContext::new(Datatype::Int32, 4, FormatVersion::CURRENT)
}

fn encode(pipeline: &Pipeline, input: &[u8]) -> Vec<u8> {
    let encoder = pipeline.encoder(context()).unwrap();
    encode_tile(&encoder, input, Cells::Fixed { size: 4 }, &mut Scratch::new()).unwrap()
}

fn shuffle() -> (Pipeline, Decoder) {
    let pipeline = Pipeline::new(vec![Filter::ByteShuffle]);
    let decoder = pipeline.decoder(context()).unwrap();
    (pipeline, decoder)
}

fn numbers(count: usize) -> Vec<u8> {
    (0u32..).take(count).flat_map(u32::to_le_bytes).collect()
}

#[test]
fn generic_tiles_of_three_format_versions_decode_to_their_schemas() {
    use peer::*;
    for (number, tile, payload) in [
        (1, SCHEMA_V1, SCHEMA_V1_PAYLOAD),
        (2, SCHEMA_V2, SCHEMA_V2_PAYLOAD),
        (22, SCHEMA_V22, SCHEMA_V22_PAYLOAD),
    ] {
        let (bytes, payload) = (hex(tile), hex(payload));
        let tile = GenericTile::parse(&bytes, 0).unwrap();
        assert_eq!(tile.version.number(), number);
        assert_eq!(tile.total_len(), bytes.len() as u64);
        assert_eq!((tile.datatype, tile.cell_size), (Datatype::Char, 1));
        assert_eq!(tile.encryption, Encryption::None);
        assert_eq!(tile.pipeline, Pipeline::new(vec![Filter::Gzip { level: 1 }]));
        assert_eq!(tile.decode(None, &Limits::default(), &Budget::unlimited()).unwrap(), payload);
        // The tile that tdb writes is the same, except for the choices of the zlib encoder.
        let ours = GenericTile::encode(&payload, tile.version).unwrap();
        assert_eq!(ours[..4], bytes[..4]);
        assert_eq!(ours[12..52], bytes[12..52]);
        let tile = GenericTile::parse(&ours, 0).unwrap();
        assert_eq!(tile.decode(None, &Limits::default(), &Budget::unlimited()).unwrap(), payload);
    }
}

#[test]
fn a_peer_s_encrypted_tile_is_refused_by_name_without_its_key() {
    let bytes = hex(peer::ENCRYPTED_V1);
    let tile = GenericTile::parse(&bytes, 7).unwrap();
    assert_eq!(tile.encryption, Encryption::Aes256Gcm);
    assert_eq!(tile.pipeline.filters, [Filter::Gzip { level: 1 }, Filter::Aes256Gcm]);
    let error = tile.decode(None, &Limits::default(), &Budget::unlimited()).unwrap_err();
    assert_eq!((error.offset, error.kind), (7, ErrorKind::Encrypted));
    assert!(error.to_string().contains("encrypted (AES-256-GCM)"));
    // With its key it can be decoded, and contains a schema of version 1.
    let key = Key::new(*b"0123456789abcdeF0123456789abcdeF");
    let payload = tile.decode(Some(&key), &Limits::default(), &Budget::unlimited()).unwrap();
    assert_eq!((payload.len(), &payload[..5]), (0xaf, &[1, 0, 0, 0, 0][..]));
}

#[test]
fn generic_tiles_stand_back_to_back() {
    let mut bytes = GenericTile::encode(b"first", FormatVersion::CURRENT).unwrap();
    let second_at = bytes.len();
    bytes.extend(GenericTile::encode(b"", FormatVersion::CURRENT).unwrap());
    let first = GenericTile::parse(&bytes, 0).unwrap();
    assert_eq!(first.total_len(), second_at as u64);
    let second = GenericTile::parse(&bytes[second_at..], second_at as u64).unwrap();
    assert_eq!(second.decode(None, &Limits::default(), &Budget::unlimited()).unwrap(), b"");
}

#[test]
fn large_payloads_become_several_chunks() {
    let payload = numbers(50_000);
    let bytes = GenericTile::encode(&payload, FormatVersion::CURRENT).unwrap();
    let tile = GenericTile::parse(&bytes, 0).unwrap();
    let lengths: Vec<_> = tile.chunks().unwrap().chunks().map(|chunk| chunk.original_len).collect();
    assert_eq!(lengths, [65536, 65536, 65536, 3392]);
    assert_eq!(tile.decode(None, &Limits::default(), &Budget::unlimited()).unwrap(), payload);
}

#[test]
fn generic_tiles_over_the_limit_or_the_budget_are_refused_before_allocation() {
    let mut bytes = GenericTile::encode(b"payload", FormatVersion::CURRENT).unwrap();
    let decode = |bytes: &[u8], limits: &Limits, budget: &Budget| {
        GenericTile::parse(bytes, 0).unwrap().decode(None, limits, budget).unwrap_err().kind
    };
    let mut limits = Limits::default();
    limits.metadata_bytes = 6;
    assert_eq!(decode(&bytes, &limits, &Budget::unlimited()), ErrorKind::OverLimit { size: 7 });
    assert_eq!(decode(&bytes, &Limits::default(), &Budget::new(6)), ErrorKind::OverLimit { size: 7 });
    // A header with a larger length than that of its chunks.
    bytes[19] = 0x7f;
    let kind = decode(&bytes, &Limits::default(), &Budget::unlimited());
    assert!(matches!(kind, ErrorKind::WrongLength { found: 7, .. }));
}

#[test]
fn no_truncated_generic_tile_is_accepted() {
    let bytes = hex(peer::SCHEMA_V22);
    for len in 0..bytes.len() {
        assert!(GenericTile::parse(&bytes[..len], 0).is_err(), "{len}");
    }
}

#[test]
fn header_errors_carry_the_offset_in_the_file() {
    let good = hex(peer::SCHEMA_V22);
    let error_at = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        let error = GenericTile::parse(&bytes, 1000).unwrap_err();
        let ErrorKind::Format(error) = error.kind else { panic!("{error}") };
        (error.offset, error.kind)
    };
    assert_eq!(error_at(0, 99), (1000, FormatError::UnsupportedVersion { version: 99 }));
    assert_eq!(error_at(20, 200), (1020, FormatError::InvalidValue { value: 200 }));
    assert_eq!(error_at(29, 2), (1029, FormatError::InvalidValue { value: 2 }));
    assert_eq!(error_at(47, 9), (1047, FormatError::InvalidValue { value: 9 }));
    assert!(matches!(error_at(11, 1), (1052, FormatError::UnexpectedEnd { .. })));
}

#[test]
fn tiles_without_chunks_and_chunks_without_bytes_are_ordinary() {
    let (pipeline, decoder) = shuffle();
    let tile = TileChunks::parse(&[0; 8], 0).unwrap();
    assert!(tile.is_empty());
    tile.decode(&decoder, &mut [], &mut Scratch::new(), &Budget::unlimited()).unwrap();
    let bytes = encode(&pipeline, &[]);
    let tile = TileChunks::parse(&bytes, 0).unwrap();
    assert_eq!((tile.len(), tile.original_len()), (1, 0));
    tile.decode(&decoder, &mut [], &mut Scratch::new(), &Budget::unlimited()).unwrap();
}

#[test]
fn hostile_counts_and_trailing_bytes_are_refused_with_their_offset() {
    let error = TileChunks::parse(&[0xff; 100], 50).unwrap_err();
    assert_eq!(error.offset, 50);
    let ErrorKind::Format(error) = error.kind else { panic!() };
    assert_eq!(error.kind, FormatError::CountTooLarge { count: u64::MAX });
    let (pipeline, _) = shuffle();
    let mut bytes = encode(&pipeline, &numbers(4));
    for len in 0..bytes.len() {
        assert!(TileChunks::parse(&bytes[..len], 0).is_err(), "{len}");
    }
    bytes.push(0);
    let error = TileChunks::parse(&bytes, 50).unwrap_err();
    assert_eq!(error.offset, 50 + bytes.len() as u64 - 1);
}

#[test]
fn chunk_errors_name_the_chunk_and_the_offset_of_its_header() {
    let (pipeline, decoder) = shuffle();
    let mut bytes = encode(&pipeline, &numbers(20_000));
    let second = TileChunks::parse(&bytes, 0).unwrap().chunks().nth(1).unwrap().offset;
    let at = usize::try_from(second).unwrap() + 12;
    bytes[at] = 9;
    let tile = TileChunks::parse(&bytes, 1000).unwrap();
    let error =
        tile.decode(&decoder, &mut [0; 80_000], &mut Scratch::new(), &Budget::unlimited()).unwrap_err();
    assert_eq!((error.chunk, error.offset), (Some(1), 1000 + second));
    assert!(error.to_string().starts_with("chunk 1 at offset"), "{error}");
}

#[test]
fn only_wanted_chunks_are_decoded() {
    let (pipeline, decoder) = shuffle();
    let input = numbers(50_000);
    let bytes = encode(&pipeline, &input);
    let tile = TileChunks::parse(&bytes, 0).unwrap();
    let mut out = vec![0xee; input.len()];
    let wanted = |range: core::ops::Range<usize>| range.contains(&70_000);
    tile.decode_where(&decoder, &mut out, wanted, &mut Scratch::new(), &Budget::unlimited()).unwrap();
    assert!(out[..65536].iter().all(|&byte| byte == 0xee));
    assert_eq!(out[65536..131_072], input[65536..131_072]);
    assert!(out[131_072..].iter().all(|&byte| byte == 0xee));
}

#[test]
fn jobs_run_on_any_thread_and_in_any_order() {
    let (pipeline, decoder) = shuffle();
    let input = numbers(50_000);
    let bytes = encode(&pipeline, &input);
    let tile = TileChunks::parse(&bytes, 0).unwrap();
    let mut out = vec![0; input.len()];
    let budget = Budget::unlimited();
    std::thread::scope(|scope| {
        for job in tile.jobs(&mut out).unwrap() {
            let (decoder, budget) = (&decoder, &budget);
            scope.spawn(move || job.run(decoder, &mut Scratch::new(), budget).unwrap());
        }
    });
    assert_eq!(out, input);
    assert!(tile.jobs(&mut out[1..]).is_err());
}

#[test]
fn encrypted_tiles_open_with_their_key_only() {
    let (limits, budget) = (Limits::default(), Budget::unlimited());
    let key = Key::new(*b"0123456789abcdeF0123456789abcdeF");
    let mut next = 0u8;
    let mut scratch = Scratch::new().with_nonces(move || {
        next += 1;
        [next; 12]
    });
    let bytes = GenericTile::encode_encrypted(b"secret", FormatVersion::CURRENT, &key, &mut scratch).unwrap();
    let tile = GenericTile::parse(&bytes, 0).unwrap();
    assert_eq!(bytes[30..34], [23, 0, 0, 0]);
    assert_eq!(tile.decode(Some(&key), &limits, &budget).unwrap(), b"secret");
    assert!(tile.decode(Some(&Key::new([0; 32])), &limits, &budget).is_err());
    assert_eq!(tile.decode(None, &limits, &budget).unwrap_err().kind, ErrorKind::Encrypted);
    let plain = GenericTile::encode(b"open", FormatVersion::CURRENT).unwrap();
    let error = GenericTile::parse(&plain, 0).unwrap().decode(Some(&key), &limits, &budget).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotEncrypted);
}

#[test]
fn string_tiles_are_one_chunk_and_hold_their_offsets() {
    let context = TileContext::values(Datatype::StringAscii, FormatVersion::CURRENT);
    let pipeline = Pipeline::new(vec![Filter::Dictionary { level: -1 }, Filter::Zstd { level: -1 }]);
    let offsets: Vec<u64> = (0..40_000).map(|i| i * 4).collect();
    let values = b"abcd".repeat(offsets.len());
    let mut scratch = Scratch::new();
    let bytes =
        encode_string_tile(&pipeline.encoder(context).unwrap(), &values, &offsets, &mut scratch).unwrap();
    let tile = TileChunks::parse(&bytes, 0).unwrap();
    assert_eq!((tile.len(), tile.original_len()), (1, 160_000));
    let decoder = pipeline.decoder(context).unwrap();
    let decoded = tile.decode_strings(&decoder, &mut scratch, &Budget::unlimited()).unwrap();
    assert_eq!(decoded, (values, offsets));
    let error = tile.decode_strings(&decoder, &mut scratch, &Budget::new(1000)).unwrap_err();
    assert_eq!(error.chunk, Some(0));
    assert!(TileChunks::parse(&EMPTY_TILE, 0).unwrap().is_empty());
}

#[test]
fn pipelines_that_need_whole_tiles_get_one_chunk() {
    let pipeline = Pipeline { max_chunk_size: 0, filters: vec![Filter::ByteShuffle] };
    assert_eq!(TileChunks::parse(&encode(&pipeline, &numbers(50_000)), 0).unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn mutated_tiles_never_panic(
        row in 0..registry::all().len(),
        count in 0usize..500,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let pipeline = registry::all()[row].pipeline();
        if let Ok(decoder) = pipeline.decoder(context())
            && registry::all()[row].name != "scale-float"
        {
            let mut bytes = encode(&pipeline, &numbers(count));
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(tile) = TileChunks::parse(&bytes, 0)
                && let Ok(len) = usize::try_from(tile.original_len())
                && len < 1 << 20
            {
                let _ = tile.decode(&decoder, &mut vec![0; len], &mut Scratch::new(), &Budget::new(1 << 20));
            }
        }
    }

    #[test]
    fn mutated_generic_tiles_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = hex(peer::SCHEMA_V22);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(tile) = GenericTile::parse(&bytes, 0) {
            let _ = tile.decode(None, &Limits::default(), &Budget::new(1 << 20));
        }
    }
}

#[test]
fn jobs_that_ran_in_any_order_make_the_same_tile() {
    let filters = vec![Filter::BitShuffle, Filter::Lz4 { level: -1 }, Filter::ChecksumMd5];
    let encoder = Pipeline::new(filters).encoder(context()).unwrap();
    for count in [0, 1, 16_384, 16_385, 100_000] {
        let (cells, fixed) = (numbers(count), Cells::Fixed { size: 4 });
        let mut jobs: Vec<_> = encode_jobs(&encoder, &cells, fixed).unwrap().collect();
        assert!(jobs.iter().map(EncodeJob::index).eq(0..jobs.len() as u64));
        assert_eq!(jobs.iter().map(|job| job.cells().len()).sum::<usize>(), cells.len());
        jobs.reverse();
        let (mut scratch, mut buffers) = (Scratch::new(), ChunkBuffers::default());
        let mut chunks: Vec<Vec<u8>> = Vec::new();
        for job in jobs {
            let mut chunk = Vec::new();
            job.run(&encoder, &mut scratch, &mut buffers, &mut chunk).unwrap();
            chunks.push(chunk);
        }
        chunks.push((chunks.len() as u64).to_le_bytes().to_vec());
        chunks.reverse();
        assert_eq!(chunks.concat(), encode_tile(&encoder, &cells, fixed, &mut scratch).unwrap());
    }
}

#[test]
fn a_job_whose_filter_refuses_the_chunk_names_it() {
    let pipeline = Pipeline::new(vec![Filter::PositiveDelta { max_window: 1024 }]);
    let encoder = pipeline.encoder(context()).unwrap();
    let mut cells = numbers(40_000);
    cells[70_000..70_004].fill(0);
    let error = encode_tile(&encoder, &cells, Cells::Fixed { size: 4 }, &mut Scratch::new()).unwrap_err();
    assert_eq!(error.chunk, Some(1));
    assert!(matches!(error.kind, ErrorKind::Filter(_)));
    assert!(error.offset > 65_536);
}
