//! Opening and reading whole arrays: a few fixtures from local files, and a larger one from memory.
#![expect(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tdb_array::{Array, Layout, OpenOptions};
use tdb_benches::{DENSE_BYTES, dense, fixture};
use tdb_filters::Filter;

const FIXTURES: [&str; 6] = [
    "2.30.0/base_dense",
    "2.30.0/base_sparse",
    "2.30.0/base_strings",
    "2.30.0/hilbert_int32",
    "2.30.0/many_attrs",
    "2.1.6/base_dense",
];

fn fixtures(criterion: &mut Criterion) {
    for name in FIXTURES {
        let folder = fixture(name);
        if !folder.is_dir() {
            continue;
        }
        let mut group = criterion.benchmark_group(name);
        let options = OpenOptions::new().threads(1);
        group.bench_function("open", |bencher| {
            bencher.iter(|| options.clone().open(black_box(&folder)).unwrap());
        });
        let array = options.open(&folder).unwrap();
        group.bench_function("read", |bencher| bencher.iter(|| array.read().collect().unwrap()));
        group.finish();
    }
}

fn synthetic(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dense 2048x2048");
    group.sample_size(10);
    let shuffled = vec![Filter::ByteShuffle, Filter::Lz4 { level: -1 }];
    for (name, filters) in [("none", vec![]), ("byteshuffle-lz4", shuffled)] {
        let storage = dense(filters).unwrap();
        let open = || -> Array { OpenOptions::new().open_storage(storage.clone()).unwrap() };
        let array = open();
        group.throughput(Throughput::Bytes(DENSE_BYTES));
        group.bench_function(format!("{name}/row-major"), |bencher| {
            bencher.iter(|| array.read().collect().unwrap());
        });
        group.bench_function(format!("{name}/column-major"), |bencher| {
            bencher.iter(|| array.read().order(Layout::ColMajor).collect().unwrap());
        });
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("{name}/one cell, opening included"), |bencher| {
            bencher.iter(|| {
                let array = open();
                let read = array.read().range("rows", 700u32..=700);
                read.range("columns", 900u32..=900).collect().unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, fixtures, synthetic);
criterion_main!(benches);
