//! Replays the corpus, and mutations of it, through the bodies.
//! `TDB_FUZZ_MUTATIONS=5000 cargo test -p tdb-fuzz-bodies` looks harder.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test may panic"
)]

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tdb_fuzz_bodies::all;

/// Mutations of each file of the corpus, unless the environment says another number.
const MUTATIONS: usize = 60;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The entries of a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn stems(folder: &str) -> BTreeSet<String> {
    let paths = entries(&fuzz().join(folder));
    paths.iter().map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Runs `inputs` of every corpus file through its body on two threads; panics with what failed.
fn replay(inputs: impl Fn(u64, &[u8]) -> Vec<Vec<u8>> + Sync) {
    let targets: Vec<String> = all().map(|(name, _)| name).collect();
    let (next, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(name) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (_, body) = all().find(|(other, _)| other == name).unwrap();
                    for (seed, path) in (1..).zip(entries(&fuzz().join("corpus").join(name))) {
                        for input in inputs(seed, &fs::read(&path).unwrap()) {
                            runs.fetch_add(1, Ordering::Relaxed);
                            if catch_unwind(AssertUnwindSafe(|| body(&input))).is_err() {
                                failures.lock().unwrap().push(kept(name, &path, &input));
                                break;
                            }
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} inputs panic:\n{}", failures.len(), failures.join("\n"));
    assert!(runs.into_inner() >= targets.len(), "every target has inputs");
}

/// Writes an input that failed where it can be looked at; returns a line about it.
fn kept(name: &str, from: &Path, input: &[u8]) -> String {
    let hash = input.iter().fold(5381u64, |hash, byte| hash.wrapping_mul(33) ^ u64::from(*byte));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{hash:016x}"));
    fs::write(&path, input).unwrap();
    format!("{name}: {} (from {})", path.display(), from.display())
}

/// A small generator of numbers; the same seed gives the same ones.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Truncations, flipped bits, and numbers that parsers trip over.
fn mutations(seed: u64, file: &[u8], count: usize) -> Vec<Vec<u8>> {
    const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, u32::MAX as u64, u64::MAX];
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut inputs: Vec<Vec<u8>> = vec![Vec::new()];
    while inputs.len() < count && !file.is_empty() {
        let mut input = file.to_vec();
        let at = random.below(input.len());
        match inputs.len() % 5 {
            0 => input.truncate(at),
            1 | 2 => input[at] ^= 1 << random.below(8),
            3 => {
                let width = [1, 2, 4, 8][random.below(4)];
                let number = NUMBERS[random.below(8)].to_le_bytes();
                let width = width.min(input.len() - at);
                input[at..at + width].copy_from_slice(&number[..width]);
            }
            _ => {
                // Several at once: a flip near the front, where lengths are, and a repeated tail.
                let front = random.below(input.len().min(64));
                input[front] = random.below(256) as u8;
                let tail = input[at..].to_vec();
                input.extend(tail);
            }
        }
        inputs.push(input);
    }
    inputs
}

#[test]
fn every_target_has_a_body_a_file_a_line_in_the_manifest_and_a_corpus() {
    let bodies: BTreeSet<String> = all().map(|(name, _)| name).collect();
    assert_eq!(stems("fuzz_targets"), bodies, "fuzz/fuzz_targets");
    assert_eq!(stems("corpus"), bodies, "fuzz/corpus");
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    let paths: BTreeSet<String> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""))
        .map(str::to_owned)
        .collect();
    assert_eq!(paths, bodies, "fuzz/Cargo.toml");
    for name in &bodies {
        let target = fs::read_to_string(fuzz().join("fuzz_targets").join(name).with_extension("rs")).unwrap();
        let filter = name.strip_prefix("filter_").map(|filter| filter.replace('_', "-"));
        let call = match filter {
            Some(filter) => format!("tdb_fuzz_bodies::filter(\"{filter}\", data)"),
            None => format!("tdb_fuzz_bodies::{name}(data)"),
        };
        assert!(target.contains(&call), "{name} does not call {call}");
        assert!(!entries(&fuzz().join("corpus").join(name)).is_empty(), "{name} has no corpus");
    }
}

#[test]
fn no_file_of_the_corpus_panics() {
    replay(|_, file| vec![file.to_vec()]);
}

#[test]
fn no_mutation_of_the_corpus_panics() {
    let count = std::env::var("TDB_FUZZ_MUTATIONS").map_or(MUTATIONS, |count| count.parse().unwrap());
    replay(|seed, file| mutations(seed, file, count));
}

#[test]
fn a_mutation_is_the_same_in_every_run_and_seldom_the_file_itself() {
    let file: Vec<u8> = (0..100).collect();
    assert_eq!(mutations(7, &file, MUTATIONS), mutations(7, &file, MUTATIONS));
    assert_eq!(mutations(7, &file, MUTATIONS).len(), MUTATIONS);
    let unchanged = mutations(7, &file, MUTATIONS).iter().filter(|input| **input == file).count();
    assert!(unchanged < MUTATIONS / 10, "{unchanged}");
}
