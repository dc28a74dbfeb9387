//! `cargo xtask conform writes`: random arrays that tdb writes, read by libtiledb.
//!
//! Each case is an array of a random schema and some random writes, in every order there is. A plain model says what the
//! array must hold. tdb reads it whole, libtiledb 2.30 does, and for arrays of older versions the libtiledb of that age.
//! Whatever is not equal fails the run, unless the library makes the same mistake with the same cells when it has written
//! them itself ("own fault"), or the mistake is named here with the reason.

mod bench;
mod cells;
mod schemas;
mod told;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;
use tdb_array::{ArraySchema, ArrayType};
use tdb_codec::{FormatVersion, to_u64};
use tdb_filters::Filter;
use tdb_schema::{Dimension, Field};

use self::bench::{Case, Query};
pub(super) use self::told::hex;
use super::peers::{Answer, Outcome, Peer};
use super::random::Random;
use crate::peer::{READER, libraries, repository_root};

pub(super) const USAGE: &str = "[--cases N] [--seed S] [--at VERSION]… [--only CASE] [--dir DIR]";

/// The library of each version's age that there is a build of, which reads what has this version.
pub(super) const READERS: [(u32, &str); 20] = [
    (3, "1.6.3"),
    (4, "1.7.7"),
    (5, "2.0.8"),
    (6, "2.1.6"),
    (7, "2.2.2"),
    (8, "2.2.9"),
    (9, "2.3.3"),
    (10, "2.4.3"),
    (11, "2.7.2"),
    (12, "2.8.2"),
    (13, "2.9.5"),
    (14, "2.10.4"),
    (15, "2.11.3"),
    (16, "2.12.3"),
    (17, "2.14.0"),
    (18, "2.15.4"),
    (19, "2.16.3"),
    (20, "2.17.4"),
    (21, "2.19.2"),
    (22, READER),
];

/// What libraries get wrong by themselves, but not always with the same cells, which may lie in other tiles then.
const EXCUSED: [Excuse; 2] = [
    Excuse {
        library: "2.7.2",
        words: "FilterBuffer error; cannot init buffer: nullptr given",
        fits: |schema| schema.domain.dimensions.iter().any(Dimension::is_var),
        why: "a tile of empty strings only, read in global order",
    },
    Excuse {
        library: READER,
        words: "FilterBuffer error; no current buffer",
        fits: |schema| {
            let mut var = schema.fields().filter(Field::is_var);
            var.any(|field| matches!(field.filters.filters.as_slice(), [.., Filter::Rle { .. }, _]))
        },
        why: "a tile of empty cells only, by RLE before another filter",
    },
];

/// Cases that are on disk at a time.
const BATCH: usize = 250;
/// Failures of a version and library that are printed in full.
const SHOWN: usize = 5;

struct Excuse {
    library: &'static str,
    /// Words of what it answers.
    words: &'static str,
    /// Which arrays may meet it.
    fits: fn(&ArraySchema) -> bool,
    why: &'static str,
}

struct Options {
    cases: usize,
    seed: u64,
    versions: Vec<u32>,
    only: Option<usize>,
    folder: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { cases: 4000, seed: 1, versions: Vec::new(), only: None, folder: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} wants a value: {USAGE}"));
            let number = |word: &str| word.parse().map_err(|_| format!("{word:?} is no number"));
            match arg.as_str() {
                "--cases" => options.cases = number(value()?)?,
                "--seed" => options.seed = to_u64(number(value()?)?),
                "--at" => options
                    .versions
                    .push(u32::try_from(number(value()?)?).map_err(|_| "--at wants a version")?),
                "--only" => options.only = Some(number(value()?)?),
                "--dir" => options.folder = Some(value()?.into()),
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        if options.only.is_some() && options.versions.len() != 1 {
            return Err("--only wants one --at: each version has cases of its own".into());
        }
        Ok(options)
    }

    /// How many cases a version gets: half of all are of the current one.
    fn share(&self, version: u32) -> usize {
        let chosen = self.versions.len();
        if chosen > 0 {
            return self.cases.div_ceil(chosen);
        }
        let half = self.cases / 2;
        if version == FormatVersion::CURRENT.number() { half } else { half.div_ceil(READERS.len() - 1) }
    }
}

/// What came of the cases of one version with one library.
#[derive(Debug, Default)]
struct Counts {
    cases: usize,
    equal: usize,
    cells: u64,
    /// Arrays of the same cells that the library writes itself and then cannot read, or reads as others.
    own: Vec<String>,
    excused: BTreeMap<&'static str, usize>,
    failures: Vec<String>,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let names: Vec<String> = READERS.iter().map(|(_, library)| (*library).to_owned()).collect();
    let paths = libraries(&root, &names)?;
    let script = root.join("xtask/peer/writes_peer.py");
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = base.join(format!("tdb-conform-writes-{}", std::process::id()));
    let folder = options.folder.clone().unwrap_or(folder);
    let started = Instant::now();
    let mut all = BTreeMap::new();
    for (version, library) in READERS {
        if !options.versions.is_empty() && !options.versions.contains(&version) {
            continue;
        }
        let mut readers = vec![library];
        if library != READER {
            readers.push(READER);
        }
        let mut numbers: Vec<usize> = (0..options.share(version)).collect();
        numbers.retain(|number| options.only.is_none_or(|only| only == *number));
        for batch in numbers.chunks(BATCH) {
            let written = write(version, options.seed, batch, &folder)?;
            let start = |reader: &str, op, batch: &Path, cases| {
                let library = paths.get(reader).ok_or_else(|| format!("no libtiledb {reader}"))?.clone();
                let (script, arrays) = (script.clone(), batch.join("arrays"));
                Peer { script, library, batch: batch.to_owned(), op, arrays, cases, child: None }.start()
            };
            let mut peers = Vec::new();
            for reader in &readers {
                peers.push((*reader, start(reader, "read", &folder, written.good.len())?));
            }
            for (reader, peer) in peers {
                let counts: &mut Counts = all.entry((version, reader)).or_default();
                counts.cases += batch.len();
                counts.failures.extend(written.failures.iter().cloned());
                let answers = if written.good.is_empty() { Vec::new() } else { peer.finish()? };
                let wrong: Vec<usize> = answers
                    .iter()
                    .enumerate()
                    .filter(|(_, answer)| answer.outcome != Outcome::Equal)
                    .map(|(at, _)| at)
                    .collect();
                let own = if wrong.is_empty() {
                    Vec::new()
                } else {
                    let again = again(&folder, &wrong)?;
                    let able = start(reader, "write", &again, wrong.len())?.finish()?;
                    let own = start(reader, "read", &again, wrong.len())?.finish()?;
                    able.into_iter().zip(own).collect()
                };
                let mut own = wrong.into_iter().zip(own).collect::<BTreeMap<_, _>>();
                for (at, ((number, case, cells), answer)) in written.good.iter().zip(answers).enumerate() {
                    let told =
                        Told { version, reader, number: *number, case, cells: *cells, own: own.remove(&at) };
                    counts.add(&told, &answer, &options);
                }
            }
            if options.folder.is_none() {
                fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
            }
        }
        eprintln!("version {version} done, {:.0} s", started.elapsed().as_secs_f64());
    }
    print(&all)
}

/// What is known of a case besides an answer.
struct Told<'c> {
    version: u32,
    reader: &'c str,
    number: usize,
    case: &'c Case,
    cells: u64,
    /// If the answer was wrong: whether the library can write the same cells itself, and what it then reads.
    own: Option<(Answer, Answer)>,
}

impl Counts {
    fn add(&mut self, told: &Told<'_>, answer: &Answer, options: &Options) {
        let Told { version, reader, number, case, cells, own } = told;
        if answer.outcome == Outcome::Equal {
            self.equal += 1;
            self.cells += cells;
            return;
        }
        // Of itself, too: it crashes on writing the same cells, or does not read what it wrote.
        let same = own.as_ref().and_then(|(able, own)| match able.outcome {
            Outcome::Equal if own.outcome != Outcome::Equal => Some(&own.what),
            Outcome::Crashed => Some(&able.what),
            _ => None,
        });
        if let Some(what) = same {
            self.own.push(format!("version {version} case {number}, libtiledb {reader}: {what}"));
            return;
        }
        let excuse = EXCUSED.iter().find(|excuse| {
            excuse.library == *reader
                && answer.what.contains(excuse.words)
                && (excuse.fits)(&case.made.schema)
        });
        if let Some(excuse) = excuse {
            *self.excused.entry(excuse.why).or_default() += 1;
            return;
        }
        let seed = options.seed;
        let own = match own {
            Some((able, _)) if able.outcome != Outcome::Equal => {
                format!("cannot write it ({:?}: {})", able.outcome, able.what)
            }
            _ => "writes and reads it right".to_owned(),
        };
        self.failures.push(format!(
            "version {version} case {number}, libtiledb {reader}: {:?}: {}\n    by itself it {own}\n    {}\n    cargo xtask conform writes --seed {seed} --at {version} --only {number} --cases {} --dir DIR",
            answer.outcome,
            answer.what,
            case.describe(),
            number + 1
        ));
    }
}

/// Lists some of the cases anew, for a library that is to write them itself.
fn again(folder: &Path, chosen: &[usize]) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let again = folder.join("again");
    if again.exists() {
        fs::remove_dir_all(&again).map_err(failed)?;
    }
    fs::create_dir_all(again.join("arrays")).map_err(failed)?;
    let list = fs::read(folder.join("cases.json")).map_err(failed)?;
    let list: Vec<Value> = serde_json::from_slice(&list).map_err(|error| error.to_string())?;
    let list: Vec<Value> = chosen
        .iter()
        .filter_map(|at| list.get(*at).cloned())
        .map(|mut case| {
            // Only cells count: the library makes schemas of its own version.
            case.as_object_mut().and_then(|case| case.insert("own".into(), true.into()));
            case
        })
        .collect();
    let list = serde_json::to_string(&list).map_err(|error| error.to_string())?;
    fs::write(again.join("cases.json"), list).map_err(failed)?;
    fs::copy(folder.join("cells"), again.join("cells")).map_err(failed)?;
    Ok(again)
}

/// The table of counts; an error if anything differs.
fn print(all: &BTreeMap<(u32, &str), Counts>) -> Result<(), String> {
    println!("version  libtiledb   cases   equal   cells compared  own fault  excused  FAILED");
    let (mut failures, mut equal, mut shown) = (0, 0, Vec::new());
    let mut excuses: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for ((version, library), counts) in all {
        let excused: usize = counts.excused.values().sum();
        println!(
            "{version:7}  {library:9} {:7} {:7} {:16} {:10} {excused:8} {:7}",
            counts.cases,
            counts.equal,
            counts.cells,
            counts.own.len(),
            counts.failures.len()
        );
        equal += counts.equal;
        failures += counts.failures.len();
        shown.extend(counts.failures.iter().take(SHOWN));
        for (why, count) in &counts.excused {
            *excuses.entry((*library, *why)).or_default() += *count;
        }
    }
    println!("{equal} arrays read equal, {failures} not");
    for ((library, why), count) in excuses {
        println!("excused {count} × libtiledb {library}: {why}");
    }
    println!("own faults, one of each library:");
    for counts in all.values() {
        counts.own.first().into_iter().for_each(|own| println!("  {own}"));
    }
    for failure in shown {
        println!("{failure}");
    }
    if failures == 0 { Ok(()) } else { Err(format!("{failures} arrays differ")) }
}

/// A batch that is on disk.
struct Written {
    /// Number, case, and cells of its queries.
    good: Vec<(usize, Case, u64)>,
    failures: Vec<String>,
}

/// Draws and writes cases, has tdb read them, and lists those that came out right for the peers.
fn write(version: u32, seed: u64, numbers: &[usize], folder: &Path) -> Result<Written, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    let arrays = folder.join("arrays");
    fs::create_dir_all(&arrays).map_err(failed)?;
    let version = FormatVersion::parse(version).map_err(|error| error.to_string())?;
    let queue = Mutex::new(numbers.iter().copied());
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(number) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                    let case = draw(version, seed, number);
                    let path = arrays.join(number.to_string());
                    let queries = case.write(&path).and_then(|()| case.queries(&path));
                    if let Ok(mut results) = results.lock() {
                        results.push((number, case, queries));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().map_err(|_| "a thread died".to_owned())?;
    results.sort_by_key(|(number, ..)| *number);
    if results.len() != numbers.len() {
        return Err("a thread died".into());
    }
    let (mut good, mut failures, mut list, mut blob) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, case, queries) in results {
        match queries {
            Ok(queries) => {
                list.push(case.for_peer(number, &queries, &mut blob));
                let cells = bench::cells(&queries);
                drop::<Vec<Query>>(queries);
                good.push((number, case, cells));
            }
            Err(error) => failures.push(format!(
                "version {version} case {number}, tdb: {error}\n    {}\n    cargo xtask conform writes --seed {seed} --at {version} --only {number} --cases {} --dir DIR",
                case.describe(),
                number + 1
            )),
        }
    }
    fs::write(folder.join("cells"), blob).map_err(failed)?;
    fs::write(folder.join("cases.json"), Value::from(list).to_string()).map_err(failed)?;
    Ok(Written { good, failures })
}

/// The case of a number: of some schemas that are drawn, the first that is allowed.
fn draw(version: FormatVersion, seed: u64, number: usize) -> Case {
    let start =
        to_u64(number) ^ (u64::from(version.number()) << 32) ^ seed.wrapping_mul(0x5851_f42d_4c95_7f2d);
    let mut random = Random::new(start);
    loop {
        let array_type = if random.one_in(2) { ArrayType::Dense } else { ArrayType::Sparse };
        let Some(made) = schemas::draw(&mut random, version, array_type) else { continue };
        let steps = cells::draw(&mut random, &made.schema);
        if steps.is_empty() {
            continue;
        }
        let encrypted = random.one_in(10);
        return Case { made, encrypted, steps };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::words;

    #[test]
    fn arguments_are_read_and_wrong_ones_refused() {
        let options = Options::parse(&words("--cases 7 --seed 3 --at 12 --only 5")).unwrap();
        assert_eq!((options.cases, options.seed, options.only), (7, 3, Some(5)));
        assert_eq!(options.share(12), 7);
        for wrong in ["--cases", "--cases many", "--only 3", "--all"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_difference_fails_the_run_and_an_equal_array_does_not() {
        let mut all = BTreeMap::new();
        all.insert((22, READER), Counts { cases: 1, equal: 1, ..Counts::default() });
        assert!(print(&all).is_ok());
        all.entry((22, READER)).and_modify(|counts| counts.failures.push("differs".into()));
        assert!(print(&all).is_err());
    }

    #[test]
    fn every_version_has_a_library_of_its_age() {
        let versions: Vec<u32> = READERS.iter().map(|(version, _)| *version).collect();
        assert_eq!(versions, (3..=FormatVersion::CURRENT.number()).collect::<Vec<_>>());
    }
}
