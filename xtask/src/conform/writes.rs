//! `cargo xtask conform writes`: random arrays that tdb makes, read by libtiledb.
//!
//! Each case is an array with a random schema and the operations on it: writes in every order, with
//! timestamps in any order, metadata, consolidation. A simple model computes what the array must
//! contain. After each step, `verify` must find no problem. tdb reads the whole array, and so do
//! libtiledb 2.30 and a release that writes the array's version; releases take turns. Every fifth
//! case is a copy: a release makes the array, tdb copies it into another version, and a release of
//! that version reads the copy. In addition, there are all pairs of features and versions
//! (`pairs`): each datatype, filter, option and type of metadata in each version.
//!
//! Any difference fails the run, unless the library makes the same mistake with the same cells
//! after writing them itself ("own fault"), or `judge` lists the mistake with its reason. If tdb
//! refuses to create an array, a release of that version must refuse it too; otherwise the run
//! fails.

mod answers;
mod batch;
mod bench;
mod cells;
mod copies;
mod dimensions;
mod judge;
mod model;
mod pairs;
mod rules;
mod schemas;
mod told;

use std::path::{Path, PathBuf};
use std::time::Instant;

use tdb_array::schema::ArrayType;
use tdb_codec::{FormatVersion, to_u64};

use self::bench::Case;
pub(super) use self::cells::FUTURE;
use self::judge::{Bench, Job, Tally};
pub(super) use self::told::{base64, hex, schema as told_schema};
use super::random::Random;
use super::releases::Releases;
use crate::peer::{READER, repository_root, scratch};

pub(super) const USAGE: &str =
    "[--part cases|copies|pairs]… [--cases N] [--seed S] [--at VERSION]… [--only CASE] [--dir DIR]";

/// Number of cases that are on disk at a time.
const BATCH: usize = 250;

#[derive(Debug)]
struct Options {
    cases: usize,
    seed: u64,
    versions: Vec<u32>,
    only: Option<usize>,
    folder: Option<PathBuf>,
    parts: Vec<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options =
            Self { cases: 4000, seed: 1, versions: Vec::new(), only: None, folder: None, parts: Vec::new() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"));
            let number = |word: &str| word.parse().map_err(|_| format!("{word:?} is not a number"));
            match arg.as_str() {
                "--cases" => options.cases = number(value()?)?,
                "--seed" => options.seed = to_u64(number(value()?)?),
                "--at" => options
                    .versions
                    .push(u32::try_from(number(value()?)?).map_err(|_| "--at needs a version")?),
                "--only" => options.only = Some(number(value()?)?),
                "--dir" => options.folder = Some(value()?.into()),
                "--part" => match value()?.as_str() {
                    part @ ("cases" | "copies" | "pairs") => options.parts.push(part.to_owned()),
                    part => return Err(format!("{part:?} is not a part: {USAGE}")),
                },
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        if options.only.is_some() && (options.versions.len(), options.parts.len()) != (1, 1) {
            return Err("--only needs one --part and one --at: each version has its own cases".into());
        }
        Ok(options)
    }

    fn has(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|chosen| chosen == part)
    }

    fn has_version(&self, version: u32) -> bool {
        self.versions.is_empty() || self.versions.contains(&version)
    }

    /// The numbers of the first `count` requested cases.
    fn numbers(&self, count: usize) -> Vec<usize> {
        (0..count).filter(|number| self.only.is_none_or(|only| only == *number)).collect()
    }

    /// The number of cases of a version, with a given number of versions: half of all cases have
    /// the current version.
    fn share(&self, version: u32, versions: usize) -> usize {
        if self.only.is_some() {
            return self.only.map_or(0, |only| only + 1);
        }
        let cases = self.cases - self.copies();
        let chosen = self.versions.len();
        if chosen > 0 {
            return cases.div_ceil(chosen);
        }
        let half = cases / 2;
        if version == FormatVersion::CURRENT.number() { half } else { half.div_ceil((versions - 1).max(1)) }
    }

    /// The number of cases that are copies.
    fn copies(&self) -> usize {
        if self.parts.iter().any(|part| part == "copies") && self.parts.len() == 1 {
            self.cases
        } else if self.has("copies") {
            self.cases / 5
        } else {
            0
        }
    }
}

/// The data that the parts of the run share.
struct Run<'r> {
    options: &'r Options,
    releases: &'r Releases,
    script: &'r Path,
    folder: &'r Path,
    started: Instant,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let releases = Releases::fetch(&root)?;
    let script = root.join("xtask/peer/writes_peer.py");
    let folder = options.folder.clone().unwrap_or_else(|| scratch("conform-writes"));
    let run = Run {
        options: &options,
        releases: &releases,
        script: &script,
        folder: &folder,
        started: Instant::now(),
    };
    let mut failed = Vec::new();
    for (part, work) in [
        ("pairs", pairs::run as fn(&Run<'_>, &mut Tally) -> Result<(), String>),
        ("copies", copies::run),
        ("cases", cases),
    ] {
        if options.has(part) {
            let mut tally = Tally::default();
            work(&run, &mut tally)?;
            failed.extend(tally.print(part).err().map(|error| format!("{part}: {error}")));
            eprintln!("{part} done, {:.0} s", run.started.elapsed().as_secs_f64());
        }
    }
    if options.folder.is_none() && folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// The random arrays of all versions.
fn cases(run: &Run<'_>, tally: &mut Tally) -> Result<(), String> {
    let versions = run.releases.versions();
    for version in versions.iter().copied().filter(|version| run.options.has_version(*version)) {
        let numbers = run.options.numbers(run.options.share(version, versions.len()));
        let format = FormatVersion::parse(version).map_err(|error| error.to_string())?;
        for numbers in numbers.chunks(BATCH) {
            let cases = numbers.iter().map(|number| (*number, draw(format, run.options.seed, *number)));
            let again = |number| run.again("cases", version, number);
            run.read_all(cases.collect(), version, &again, tally)?;
        }
        eprintln!("version {version} done, {:.0} s", run.started.elapsed().as_secs_f64());
    }
    Ok(())
}

impl Run<'_> {
    /// The command that creates a case again.
    fn again(&self, part: &str, version: u32, number: usize) -> String {
        let seed = self.options.seed;
        format!(
            "cargo xtask conform writes --part {part} --seed {seed} --at {version} --only {number} --dir DIR"
        )
    }

    /// Lets tdb create arrays of a version; releases of that version's time, in turns, and the
    /// newest release read them.
    fn read_all(
        &self,
        cases: Vec<(usize, Case)>,
        version: u32,
        again: &dyn Fn(usize) -> String,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let made = batch::write(self.folder, cases)?;
        let mut jobs: Vec<Job> = Vec::new();
        let mut add = |reader: &str, at: usize| match jobs.iter_mut().find(|job| job.reader == reader) {
            Some(job) => job.cases.push(at),
            None => jobs.push(Job { version, reader: reader.to_owned(), cases: vec![at] }),
        };
        for (at, good) in made.good.iter().enumerate() {
            for reader in self.releases.readers(version, good.number) {
                add(reader, at);
            }
        }
        let bench = Bench { releases: self.releases, script: self.script, folder: self.folder, again };
        bench.read(&made, &jobs, tally)?;
        let refused = (made.good.len()..).take(made.refused.len()).collect();
        let oldest = self.releases.of(version).first().copied().unwrap_or(READER);
        // For the current version, each release creates what it knows; the newest release is the
        // reference.
        let judge = if version == FormatVersion::CURRENT.number() { READER } else { oldest };
        bench.refusals(&made, &[Job { version, reader: judge.to_owned(), cases: refused }], tally)
    }
}

/// The case with this number.
fn draw(version: FormatVersion, seed: u64, number: usize) -> Case {
    let start =
        to_u64(number) ^ (u64::from(version.number()) << 32) ^ seed.wrapping_mul(0x5851_f42d_4c95_7f2d);
    let mut random = Random::new(start);
    loop {
        let array_type = if random.one_in(2) { ArrayType::Dense } else { ArrayType::Sparse };
        let Some(made) = schemas::draw(&mut random, version, array_type) else { continue };
        let acts = cells::draw(&mut random, &made.schema);
        if acts.is_empty() {
            continue;
        }
        let encrypted = random.one_in(10);
        return Case { made, encrypted, acts, pair: false };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::words;

    #[test]
    fn arguments_are_read_and_wrong_ones_refused() {
        let options = Options::parse(&words("--part cases --cases 7 --seed 3 --at 12 --only 5")).unwrap();
        assert_eq!((options.cases, options.seed, options.only), (7, 3, Some(5)));
        assert_eq!(options.numbers(options.share(12, 20)), [5]);
        for wrong in ["--cases", "--cases many", "--only 3", "--part none", "--all"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_fifth_of_the_cases_are_copies_and_half_of_the_others_of_the_current_version() {
        let options = Options::parse(&words("--cases 1000")).unwrap();
        assert_eq!((options.copies(), options.share(22, 20), options.share(9, 20)), (200, 400, 22));
        let copies = Options::parse(&words("--part copies --cases 1000")).unwrap();
        assert_eq!((copies.copies(), copies.has("cases")), (1000, false));
    }

    #[test]
    fn a_case_depends_on_seed_version_and_number_only() {
        let version = FormatVersion::CURRENT;
        let [one, same, other] = [(1, 7), (1, 7), (2, 7)].map(|(seed, number)| draw(version, seed, number));
        assert_eq!(format!("{:?}", one.acts), format!("{:?}", same.acts));
        assert_ne!(format!("{:?}", one.acts), format!("{:?}", other.acts));
    }
}
