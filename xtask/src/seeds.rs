//! `cargo xtask seeds`: the corpus of the fuzz targets, from the fixtures.
//!
//! Every structure of every array below `xtask/fixtures/arrays` is a candidate for its parser's
//! target, and the first chunk of data files with a single filter is a candidate for that filter's
//! target. Only a selection over all writers is kept, so `fuzz/corpus` stays small.

mod arrays;
mod chunks;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::peer;

/// Largest number of bytes of a seed.
const MOST_BYTES: usize = 8 << 10;
/// Largest number of seeds of a target.
const MOST_SEEDS: usize = 40;
/// Largest number of bytes of all seeds of a target.
const TARGET_BYTES: usize = 40 << 10;
/// The same limit for whole arrays, which contain everything else.
const ARRAY_BYTES: usize = 120 << 10;
/// Arrays that are used in addition to the selection, because they contain things that only some
/// queries read.
const ALWAYS: [&str; 8] = [
    "2-30-0-current-domain-sparse",
    "2-30-0-deletes",
    "2-30-0-deletes-consolidated",
    "2-30-0-enumeration",
    "2-30-0-evolved-sparse",
    "2-30-0-fragments-sparse",
    "2-30-0-label-increasing-int64",
    "2-30-0-sparse-dups",
];

/// Candidates by target.
#[derive(Debug, Default)]
struct Seeds(BTreeMap<String, Vec<Seed>>);

/// A candidate: its origin and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seed {
    from: String,
    bytes: Vec<u8>,
}

impl Seeds {
    /// Adds a candidate unless it is too long.
    fn add(&mut self, target: &str, from: &str, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        if bytes.len() <= MOST_BYTES {
            let from = from.replace(['/', '.', '_'], "-");
            self.0.entry(target.to_owned()).or_default().push(Seed { from, bytes });
        }
    }
}

/// Entry point: takes no arguments.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some(word) = args.first() {
        return Err(format!("unknown argument {word}"));
    }
    let root = peer::repository_root()?;
    let mut seeds = Seeds::default();
    arrays::collect(&root.join("xtask/fixtures/arrays"), &mut seeds)?;
    chunks::made(&mut seeds);
    texts::written(&mut seeds);
    let mut total = 0usize;
    for (target, candidates) in &seeds.0 {
        let max = if target == "whole_array" { ARRAY_BYTES } else { TARGET_BYTES };
        let (always, others): (Vec<Seed>, Vec<Seed>) = candidates
            .iter()
            .cloned()
            .partition(|seed| target == "whole_array" && ALWAYS.iter().any(|name| seed.from.ends_with(name)));
        let mut chosen = choose(&others, max);
        chosen.extend(always);
        let bytes: usize = chosen.iter().map(|seed| seed.bytes.len()).sum();
        println!("{target:28} {:3} of {:5} candidates, {bytes:6} bytes", chosen.len(), candidates.len());
        total = total.saturating_add(bytes);
        write(&root.join("fuzz/corpus").join(target), &chosen)?;
    }
    let unseeded = tdb_fuzz_bodies::all().find(|(name, _)| !seeds.0.contains_key(name));
    if let Some((target, _)) = unseeded {
        return Err(format!("the fixtures hold no seed for {target}"));
    }
    println!("{total} bytes in all");
    Ok(())
}

/// A selection of different candidates that together are small enough.
fn choose(candidates: &[Seed], max: usize) -> Vec<Seed> {
    let mut known = BTreeSet::new();
    let different: Vec<&Seed> = candidates.iter().filter(|seed| known.insert(&seed.bytes)).collect();
    let count = different.len().min(MOST_SEEDS);
    let mut left = max;
    let mut chosen = Vec::new();
    for index in 0..count {
        let at = index.saturating_mul(different.len()).checked_div(count).unwrap_or(0);
        // If the candidate at this position is too long, a later one may fit.
        let end = index.saturating_add(1).saturating_mul(different.len()).checked_div(count).unwrap_or(0);
        let share = left.checked_div(count.saturating_sub(index)).unwrap_or(0).saturating_mul(2);
        let fits = different.iter().take(end).skip(at).find(|seed| seed.bytes.len() <= share.min(left));
        if let Some(seed) = fits {
            left = left.saturating_sub(seed.bytes.len());
            chosen.push((*seed).clone());
        }
    }
    chosen
}

/// Replaces a folder of the corpus; files named `found-…` are inputs that once failed; they are
/// kept.
fn write(folder: &Path, seeds: &[Seed]) -> Result<(), String> {
    let error = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(error)?;
    for entry in fs::read_dir(folder).map_err(error)? {
        let entry = entry.map_err(error)?;
        if !entry.file_name().to_string_lossy().starts_with("found-") {
            fs::remove_file(entry.path()).map_err(error)?;
        }
    }
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(folder.join(format!("{number:02}-{}", seed.from)), &seed.bytes).map_err(error)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(number: u8, len: usize) -> Seed {
        Seed { from: number.to_string(), bytes: vec![number; len] }
    }

    #[test]
    fn the_choice_is_spread_over_the_candidates_without_repetition_and_within_its_size() {
        let mut candidates: Vec<Seed> = (0..200).map(|number| seed(number, 10)).collect();
        candidates.extend(candidates.clone());
        let chosen = choose(&candidates, 1000);
        assert_eq!(chosen.len(), MOST_SEEDS);
        assert_eq!((chosen[0].from.as_str(), chosen[39].from.as_str()), ("0", "195"));
        let few = choose(&candidates, 100);
        assert!((5..=10).contains(&few.len()), "{}", few.len());
    }

    #[test]
    fn long_candidates_are_left_out() {
        let mut seeds = Seeds::default();
        seeds.add("target", "a/b.c", vec![0; MOST_BYTES + 1]);
        seeds.add("target", "a/b.c", vec![0; MOST_BYTES]);
        assert_eq!(seeds.0["target"].len(), 1);
        assert_eq!(seeds.0["target"][0].from, "a-b-c");
    }
}
