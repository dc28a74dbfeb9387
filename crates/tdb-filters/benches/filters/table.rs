//! `cargo bench -p tdb-filters -- --table [names…]`: one table of all filters, with their targets.
//!
//! With `--write-docs` the table is written to `docs/filter-speed.md`.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use tdb_filters::{Filter, registry};

use crate::bed::{Arena, Bed, Direction, WHOLE};
use crate::data::{CHUNK, Case, Kind};
use crate::{raw, whole_len};

/// The minimum time, and the minimum number of passes, for each measurement.
const HOT: Duration = Duration::from_millis(40);
const PASSES: usize = 3;

const INTRODUCTION: &str = "\
# Speed of the filters

Written by `cargo bench -p tdb-filters -- --table --write-docs`; do not edit. One thread; GB/s (10⁹ bytes) of unfiltered
bytes; best of several passes. *Hot* is one chunk of 64 KiB that stays in the cache. *Whole* is 256 MiB of such chunks,
decoded into one warm destination, or encoded one after the other into one; codecs that are so slow that memory does not
matter run for 0.04 s. The share is *whole* in relation to one copy of 256 MiB into a warm destination, timed right before
it.

What is filtered: sensor readings, a slow wave with noise (none, byte compressors, shuffles, bit-width-reduction, xor,
checksums, encryption); time stamps in order with irregular steps below 16 (delta, double-delta, positive-delta); runs of
8 to 71 equal cells (rle); floats with two decimals stored in half the width (scale-float); 100 labels of 6 to 13 letters
(dictionary); gradients with two bits of noise (webp). Incompressible data are random bits; random values in order for
positive-delta, random letters for dictionary, random numbers that fit for scale-float. Options are those of the registry's
samples: level −1 for compressors, windows of 256 and 1024 bytes.
";

/// The speed of `work` in GB/s: the best of the passes.
fn speed(bytes: usize, mut work: impl FnMut()) -> f64 {
    work();
    let (mut best, start, mut passes) = (f64::INFINITY, Instant::now(), 0);
    while passes < PASSES || start.elapsed() < HOT {
        let clock = Instant::now();
        work();
        best = best.min(clock.elapsed().as_secs_f64());
        passes += 1;
    }
    bytes as f64 / best / 1e9
}

/// Why some targets are missed; the same for all machines.
const MISSES: &str = "
Where byte shuffle stays below its target, memory is the limit and not the shuffle: hot, it is faster than the copy, and a
copy of the same 64 KiB pieces is not much faster either. The one large copy bypasses the cache on its way out; ordinary
stores, which safe Rust has, first fetch each line that they overwrite. Byte compressors and checksums are compared with
their own library in single passes over 64 KiB: a *no* there that is not repeated in the next run is noise.
";

/// The targets of whole tiles of 4- and 8-byte values: a share of the copy, or GB/s.
fn target(row: &Row) -> Option<(String, bool)> {
    if row.kind != Kind::Realistic || !matches!(row.width, 4 | 8) {
        return None;
    }
    let share = match (row.name.as_str(), row.direction.name()) {
        ("byteshuffle", _) => 0.6,
        ("bitshuffle", _) => 0.4,
        ("bit-width-reduction" | "positive-delta" | "delta" | "xor" | "rle", "decode") => 0.4,
        ("double-delta", "decode") => return Some(("1.5 GB/s".to_owned(), row.whole? >= 1.5)),
        ("gzip" | "zstd" | "lz4" | "bzip2" | "checksum-md5" | "checksum-sha256", _) => {
            return Some(("within 5 % of the codec".to_owned(), row.hot >= 0.95 * row.raw?));
        }
        _ => return None,
    };
    Some((format!("{share}"), row.share? >= share))
}

struct Row {
    name: String,
    kind: Kind,
    width: usize,
    direction: Direction,
    ratio: f64,
    hot: f64,
    raw: Option<f64>,
    whole: Option<f64>,
    share: Option<f64>,
}

/// Entry point: `words` name filters; none means all.
pub(crate) fn run(words: &[String], write_docs: bool) {
    let mut arena = Arena::new();
    let copies = [
        ("256 MiB at once", speed(WHOLE, || arena.copy())),
        ("256 MiB in pieces of 64 KiB", speed(WHOLE, || arena.copy_chunks(CHUNK))),
        ("64 KiB, hot", hot_copy()),
    ];
    let mut text = String::from(INTRODUCTION);
    text.push_str("\n| copy | GB/s |\n|---|---:|\n");
    for (name, speed) in copies {
        let _ = writeln!(text, "| {name} | {speed:.1} |");
    }
    text.push_str(MISSES);
    text.push_str(
        "\n| filter | data | width | | ratio | hot | codec alone | whole | share | target | met |\n",
    );
    text.push_str("|---|---|---:|---|---:|---:|---:|---:|---:|---|---|\n");
    print!("{text}");
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    for row in registry::all().iter().filter(|row| wanted(row.name)) {
        for kind in Kind::ALL {
            for width in [1, 2, 4, 8] {
                for row in
                    Case::of_row(row, kind, width).map(|case| rows(case, &mut arena)).into_iter().flatten()
                {
                    line(&row, &mut text);
                }
            }
        }
    }
    let chains: Vec<_> = chains().into_iter().filter(|case| wanted(&case.name)).collect();
    if !chains.is_empty() {
        let head = "\nChains: a chunk goes through all filters before the next one begins. *Parts* is the speed that the \
                    filters would\nhave one after another, each on the output of the previous filter, hot.\n\n\
                    | chain | | ratio | hot | parts | whole | share |\n|---|---|---:|---:|---:|---:|---:|\n";
        text.push_str(head);
        print!("{head}");
    }
    for case in chains {
        chain(case, &mut arena, &mut text);
    }
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let processor = processor.map_or("unknown processor", |(_, name)| name.trim());
    let _ = writeln!(text, "\nMeasured on one core of: {processor}; tdb {}.", env!("CARGO_PKG_VERSION"));
    if write_docs {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/filter-speed.md");
        std::fs::write(path, text).unwrap();
        println!("wrote docs/filter-speed.md");
    }
}

/// Appends and prints a line of the table.
fn line(row: &Row, text: &mut String) {
    let dash = || "–".to_owned();
    let number = |value: Option<f64>| value.map_or_else(dash, figure);
    let (target, met) = target(row)
        .map_or((dash(), dash()), |(text, met)| (text, if met { "yes" } else { "**no**" }.to_owned()));
    let line = format!(
        "| {} | {} | {} | {} | {:.2} | {} | {} | {} | {} | {target} | {met} |\n",
        row.name,
        row.kind.name(),
        row.width,
        row.direction.name(),
        row.ratio,
        figure(row.hot),
        number(row.raw),
        number(row.whole),
        row.share.map_or_else(dash, |share| format!("{share:.2}")),
    );
    print!("{line}");
    text.push_str(&line);
}

/// Formats a speed with three significant digits.
fn figure(speed: f64) -> String {
    if speed < 1.0 { format!("{speed:.3}") } else { format!("{speed:.2}") }
}

fn hot_copy() -> f64 {
    let (source, mut out) = (vec![1u8; CHUNK], vec![0; CHUNK]);
    speed(CHUNK, || black_box(&mut out).copy_from_slice(black_box(&source)))
}

/// Both directions of a case.
fn rows(case: Case, arena: &mut Arena) -> Vec<Row> {
    let Some(mut bed) = Bed::new(case) else { return Vec::new() };
    let mut alone = None;
    let len = bed.chunk_len();
    let mut hot = [0f64; 2];
    if let Some(mut raw) = raw::codec(&bed.case.name) {
        let cells = bed.first().0.to_vec();
        let mut room = vec![0; len * 2];
        // The two are measured alternately, so other load on the machine affects both.
        let mut best = [0f64; 2];
        for _ in 0..PASSES {
            hot[0] = hot[0].max(speed(len, || bed.run_hot(Direction::Decode)));
            best[0] = best[0].max(speed(len, || bed.decode_alone(&mut raw.decode)));
            hot[1] = hot[1].max(speed(len, || bed.run_hot(Direction::Encode)));
            best[1] = best[1].max(speed(len, || {
                (raw.encode)(black_box(&cells), &mut room);
            }));
        }
        bed.decode_alone(&mut raw.decode);
        assert!(bed.decoded_first(), "the codec alone returns the cells");
        alone = Some(best);
    } else {
        hot = [speed(len, || bed.run_hot(Direction::Decode)), speed(len, || bed.run_hot(Direction::Encode))];
    }
    Direction::BOTH
        .into_iter()
        .zip(hot)
        .enumerate()
        .map(|(index, (direction, hot))| {
            let raw = alone.map(|alone| alone[index]);
            let (whole, share) = whole(&mut bed, arena, direction, hot).unzip();
            let (name, kind, width) = (bed.case.name.clone(), bed.case.kind, bed.case.width);
            Row { name, kind, width, direction, ratio: bed.ratio(), hot, raw, whole, share }
        })
        .collect()
}

/// GB/s of a whole tile, and its share of the copy timed right before it.
fn whole(bed: &mut Bed, arena: &mut Arena, direction: Direction, hot: f64) -> Option<(f64, f64)> {
    let copy = speed(WHOLE, || arena.copy());
    let bytes = bed.lay_out(arena, whole_len(hot))?;
    let whole = speed(bytes, || bed.run_whole(direction, arena));
    Some((whole, whole / copy))
}

/// Chains that people use, on 8-byte values; each is followed by its parts.
pub(crate) fn chains() -> Vec<Case> {
    let chain = |filters| Case::chain(filters, Kind::Realistic, 8);
    vec![
        chain(vec![Filter::BitShuffle, Filter::Lz4 { level: -1 }]),
        chain(vec![Filter::BitShuffle, Filter::Zstd { level: -1 }]),
        chain(vec![
            Filter::PositiveDelta { max_window: 1024 },
            Filter::ByteShuffle,
            Filter::Gzip { level: -1 },
        ]),
        chain(vec![Filter::ByteShuffle, Filter::Zstd { level: -1 }, Filter::ChecksumSha256]),
    ]
}

/// A line of the table of chains.
fn chain(case: Case, arena: &mut Arena, text: &mut String) {
    let filters = case.pipeline.filters.clone();
    let parts = |direction: Direction| -> Option<f64> {
        // Seconds for each byte of cells, summed over the filters.
        let mut seconds = 0.0;
        let mut cells: Option<Vec<u8>> = None;
        for filter in &filters {
            let mut case = Case::chain(vec![filter.clone()], Kind::Realistic, 8);
            match &cells {
                Some(cells) => case.chunks.iter_mut().for_each(|chunk| chunk.bytes.clone_from(cells)),
                None => case.chunks = Case::chain(filters.clone(), Kind::Realistic, 8).chunks,
            }
            let mut bed = Bed::new(case)?;
            let len = bed.chunk_len();
            let speed = speed(len, || bed.run_hot(direction));
            seconds += len as f64 / CHUNK as f64 / speed;
            cells = Some(bed.first().1.to_vec());
        }
        Some(1.0 / seconds)
    };
    let name = case.name.clone();
    let Some(mut bed) = Bed::new(case) else { return };
    let len = bed.chunk_len();
    for direction in Direction::BOTH {
        let hot = speed(len, || bed.run_hot(direction));
        let Some((whole, share)) = whole(&mut bed, arena, direction, hot) else { continue };
        let parts = parts(direction).map_or_else(|| "–".to_owned(), figure);
        let ratio = bed.ratio();
        let line = format!(
            "| {name} | {} | {ratio:.2} | {} | {parts} | {} | {share:.2} |\n",
            direction.name(),
            figure(hot),
            figure(whole),
        );
        print!("{line}");
        text.push_str(&line);
    }
}
