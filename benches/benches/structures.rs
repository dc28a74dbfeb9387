//! Parsing schemas, footers and R-trees of the fixtures.
#![expect(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::fs;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tdb_array::Array;
use tdb_benches::fixture;
use tdb_codec::{Budget, Limits, to_u64, to_usize};
use tdb_fragment::{Footer, RTree, Section};
use tdb_schema::ArraySchema;
use tdb_tile::GenericTile;

fn payload(tile: &[u8]) -> Vec<u8> {
    GenericTile::parse(tile, 0).unwrap().decode(None, &Limits::default(), &Budget::unlimited()).unwrap()
}

fn structures(criterion: &mut Criterion) {
    for name in ["2.30.0/base_dense", "2.30.0/base_sparse", "2.30.0/many_attrs", "2.30.0/rtree_3_levels"] {
        let folder = fixture(name);
        let array = Array::open(&folder).unwrap();
        let mut group = criterion.benchmark_group(name);
        let file = fs::read(folder.join(array.schema_key())).unwrap();
        group.throughput(Throughput::Bytes(to_u64(file.len())));
        group.bench_function("schema file", |bencher| {
            bencher.iter(|| ArraySchema::parse(&payload(black_box(&file))).unwrap());
        });
        let schema = payload(&file);
        group.throughput(Throughput::Bytes(to_u64(schema.len())));
        group.bench_function("schema", |bencher| {
            bencher.iter(|| ArraySchema::parse(black_box(&schema)).unwrap());
        });
        let fragment = array.fragments().first().unwrap();
        let (schema, footer) = (fragment.schema(), fragment.footer());
        let metadata = fs::read(folder.join(fragment.metadata_key())).unwrap();
        let bytes = metadata.get(to_usize(footer.offset).unwrap()..).unwrap();
        group.throughput(Throughput::Bytes(to_u64(bytes.len())));
        group.bench_function("footer", |bencher| {
            bencher.iter(|| Footer::parse(black_box(bytes), footer.offset, schema).unwrap());
        });
        let rtree = to_usize(footer.sections.get(Section::RTree).unwrap()).unwrap();
        let rtree = payload(metadata.get(rtree..).unwrap());
        group.throughput(Throughput::Bytes(to_u64(rtree.len())));
        group.bench_function("R-tree", |bencher| {
            bencher.iter(|| RTree::parse(black_box(&rtree), fragment.version(), &schema.domain).unwrap());
        });
        group.finish();
    }
}

criterion_group!(benches, structures);
criterion_main!(benches);
