//! Whole tiles of 4 MiB: framing, decoding and encoding through pipelines people use, beside a
//! copy.
#![expect(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tdb_benches::{Kind, context};
use tdb_codec::{Budget, Datatype, to_u64};
use tdb_filters::{Filter, Pipeline, Scratch};
use tdb_tile::split::{Cells, chunk_lengths};
use tdb_tile::{TileChunks, encode_tile};

const TILE: usize = 4 << 20;

fn tiles(criterion: &mut Criterion) {
    let cells = Kind::Realistic.cells(8, TILE);
    let mut group = criterion.benchmark_group("tile");
    group.throughput(Throughput::Bytes(to_u64(TILE)));
    let mut out = vec![0; TILE];
    group.bench_function("memcpy", |bencher| bencher.iter(|| out.copy_from_slice(black_box(&cells))));
    group.bench_function("cut", |bencher| {
        bencher.iter(|| chunk_lengths(black_box(TILE), Cells::Fixed { size: 8 }).unwrap());
    });
    let delta = Filter::DoubleDelta { level: -1, reinterpret: None };
    let pipelines = [
        ("none", vec![]),
        ("zstd", vec![Filter::Zstd { level: 3 }]),
        ("byteshuffle-lz4", vec![Filter::ByteShuffle, Filter::Lz4 { level: -1 }]),
        ("double-delta-zstd", vec![delta, Filter::Zstd { level: 3 }]),
        ("zstd-sha256", vec![Filter::Zstd { level: 3 }, Filter::ChecksumSha256]),
    ];
    let (context, budget, mut scratch) = (context(Datatype::Int64), Budget::unlimited(), Scratch::new());
    for (name, filters) in pipelines {
        let pipeline = Pipeline::new(filters);
        let encoder = pipeline.encoder(context).unwrap();
        let decoder = pipeline.decoder(context).unwrap();
        let fixed = Cells::Fixed { size: 8 };
        let tile = encode_tile(&encoder, &cells, fixed, &mut scratch).unwrap();
        group.bench_function(format!("{name}/decode"), |bencher| {
            bencher.iter(|| {
                let chunks = TileChunks::parse(black_box(&tile), 0).unwrap();
                chunks.decode(&decoder, &mut out, &mut scratch, &budget).unwrap();
            });
        });
        assert!(out == cells, "{name} decodes to the cells");
        group.bench_function(format!("{name}/encode"), |bencher| {
            bencher.iter(|| encode_tile(&encoder, black_box(&cells), fixed, &mut scratch).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, tiles);
criterion_main!(benches);
