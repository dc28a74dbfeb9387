//! Every filter of the registry, forwards and backwards, on one chunk of 64 KiB and on whole tiles,
//! compared with a copy.
//!
//! `cargo bench -p tdb-filters` runs all benchmarks with criterion in some minutes,
//! `cargo bench -p tdb-filters -- zstd` those whose name contains the word; `-- --table` prints one
//! table instead (`table.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a benchmark may panic"
)]

mod bed;
mod data;
mod raw;
mod table;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput};
use tdb_codec::to_u64;
use tdb_filters::registry;

use bed::{Arena, Bed, Direction, WHOLE};
use data::{CHUNK, Case, Kind};

/// Number of bytes of a whole tile for a filter with this speed on one chunk (GB/s): as many as it
/// processes in 0.04 s, at most 256 MiB.
fn whole_len(hot: f64) -> usize {
    if hot >= 1.0 { WHOLE } else { ((hot * 4e7) as usize).max(CHUNK) }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--table") {
        let write_docs = words.iter().any(|word| word == "--write-docs");
        let names: Vec<String> = words.into_iter().filter(|word| !word.starts_with("--")).collect();
        table::run(&names, write_docs);
        return;
    }
    // Some 500 benchmarks in some minutes: short samples, and few of them.
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(200))
        .nresamples(1000)
        .without_plots()
        .configure_from_args();
    // Criterion's own arguments begin with a dash; a word is a filter on names.
    let wanted = words.iter().find(|word| !word.starts_with('-')).cloned();
    let wanted =
        |name: &str| wanted.as_ref().is_none_or(|word| word.contains(name) || name.contains(word.as_str()));
    let mut arena = Arena::new();
    copies(&mut criterion, &mut arena);
    for row in registry::all().iter().filter(|row| wanted(row.name)) {
        for kind in Kind::ALL {
            for width in [1, 2, 4, 8] {
                if let Some(bed) = Case::of_row(row, kind, width).and_then(Bed::new) {
                    bench(&mut criterion, bed, &mut arena);
                }
            }
        }
    }
    for case in table::chains().into_iter().filter(|case| wanted(&case.name)) {
        bench(&mut criterion, Bed::new(case).unwrap(), &mut arena);
    }
    criterion.final_summary();
}

fn copies(criterion: &mut Criterion, arena: &mut Arena) {
    let mut group = criterion.benchmark_group("copy");
    group.throughput(Throughput::Bytes(to_u64(CHUNK)));
    let (source, mut out) = (vec![1u8; CHUNK], vec![0; CHUNK]);
    group.bench_function("64 KiB, hot", |bencher| {
        bencher.iter(|| black_box(&mut out).copy_from_slice(black_box(&source)));
    });
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Bytes(to_u64(WHOLE)));
    group.bench_function("256 MiB", |bencher| bencher.iter(|| arena.copy()));
    group.bench_function("256 MiB in pieces of 64 KiB", |bencher| bencher.iter(|| arena.copy_chunks(CHUNK)));
    group.finish();
}

fn bench(criterion: &mut Criterion, mut bed: Bed, arena: &mut Arena) {
    let width = bed.case.width;
    let mut group = criterion.benchmark_group(format!("{}/{}", bed.case.name, bed.case.kind.name()));
    let len = bed.chunk_len();
    for direction in Direction::BOTH {
        group.sampling_mode(SamplingMode::Auto).throughput(Throughput::Bytes(to_u64(len)));
        group.bench_function(format!("{}/{width}/chunk", direction.name()), |bencher| {
            bencher.iter(|| bed.run_hot(direction));
        });
        // Measures the speed once, to choose the size of a whole tile.
        let clock = std::time::Instant::now();
        bed.run_hot(direction);
        let hot = len as f64 / clock.elapsed().as_secs_f64() / 1e9;
        let Some(whole) = bed.lay_out(arena, whole_len(hot)) else { continue };
        group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Bytes(to_u64(whole)));
        group.bench_function(format!("{}/{width}/whole", direction.name()), |bencher| {
            bencher.iter(|| bed.run_whole(direction, arena));
        });
    }
    group.finish();
}
