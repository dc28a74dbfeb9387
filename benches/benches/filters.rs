//! Every filter of the registry, forwards and backwards, on chunks of 64 KiB.
#![expect(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tdb_benches::{CHUNK, Kind, TYPES, context, filter, key};
use tdb_codec::{Budget, Datatype, to_u64};
use tdb_filters::{Pipeline, Scratch, registry};

fn filters(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("memcpy");
    group.throughput(Throughput::Bytes(to_u64(CHUNK)));
    let cells = Kind::Incompressible.cells(1, CHUNK);
    let mut out = vec![0; CHUNK];
    group.bench_function("64KiB", |bencher| bencher.iter(|| out.copy_from_slice(black_box(&cells))));
    group.finish();
    for row in registry::all() {
        for kind in Kind::ALL {
            for datatype in TYPES {
                chunk(criterion, row, kind, datatype);
            }
        }
    }
}

fn chunk(criterion: &mut Criterion, row: &registry::Row, kind: Kind, datatype: Datatype) {
    // Scaled floats come from floats; images are bytes, and their rows whole pixels.
    let input = match (row.name, datatype) {
        ("scale-float", Datatype::Int32) => Datatype::Float32,
        ("scale-float", Datatype::Int64) => Datatype::Float64,
        ("webp", Datatype::Int8) => Datatype::Uint8,
        _ => datatype,
    };
    let len = if row.name == "webp" { CHUNK / 384 * 384 } else { CHUNK };
    let cells = kind.cells(datatype.size(), len);
    let pipeline = Pipeline::new(vec![filter(row, datatype, len)]);
    let (context, key) = (context(input), key(row));
    // Not every filter takes every type; positive delta refuses values that decrease.
    let Ok(encoder) = pipeline.encoder_with_key(context, key.as_ref()) else { return };
    let mut counter = 0u128;
    let mut scratch = Scratch::new().with_nonces(move || {
        counter = counter.wrapping_add(1);
        counter.to_le_bytes().first_chunk().copied().unwrap_or_default()
    });
    let (mut metadata, mut data) = (Vec::new(), Vec::new());
    if encoder.encode_chunk(&cells, &mut scratch, &mut metadata, &mut data).is_err() {
        return;
    }
    let decoder = pipeline.decoder_with_key(context, key.as_ref()).unwrap();
    let mut group = criterion.benchmark_group(format!("{}/{}", row.name, kind.name()));
    group.throughput(Throughput::Bytes(to_u64(len)));
    let (budget, mut out) = (Budget::unlimited(), vec![0; len]);
    group.bench_function(format!("decode/{}", datatype.size()), |bencher| {
        bencher.iter(|| {
            decoder.decode_chunk(black_box(&metadata), &data, &mut out, &mut scratch, &budget).unwrap();
        });
    });
    let (mut metadata, mut data) = (Vec::new(), Vec::new());
    group.bench_function(format!("encode/{}", datatype.size()), |bencher| {
        bencher.iter(|| {
            encoder.encode_chunk(black_box(&cells), &mut scratch, &mut metadata, &mut data).unwrap();
        });
    });
    group.finish();
}

criterion_group!(benches, filters);
criterion_main!(benches);
