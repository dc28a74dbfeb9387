//! `cargo xtask conform arrow`: arrays that libtiledb wrote as Arrow, as Parquet and as arrays
//! again.
//!
//! Each array, a fixture or a random one, becomes record batches, and these a new array
//! (`tdb-arrow`), whose schema and cells libtiledb 2.30 must read as it reads those of the
//! original. `tdb export` makes a Parquet and an Arrow file of it, which pyarrow and `DuckDB` must
//! read as the same cells. pyarrow then writes the same table in other types, formats and
//! encodings, with the array's metadata and without, and libtiledb reads the arrays that
//! `tdb import` makes of these files. Where a reader of Parquet returns something else,
//! `xtask/peer/arrow_cells.py` has a rule with a name, and the run counts it.

mod command;
mod copy;
mod refused;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tdb_array::schema::ArrayType;
use tdb_array::{Array, Key, Layout, OpenOptions};

use self::command::Tdb;
use self::copy::{Part, copy};
use super::form::text;
use super::peers::{Outcome, Peer};
use super::pure::WHOLE_TILES;
use super::reads::live::{Came, Live};
use super::writes::hex;
use crate::peer::{READER, environment, libraries, repository_root};

pub(super) const USAGE: &str =
    "[--only SUBSTRING] [--every N] [--random N] [--seed S] [--dir DIR] [--tdb COMMAND] [--optional yes]";

/// What the peer needs in addition to libtiledb.
const PACKAGES: [&str; 2] = ["pyarrow==26.0.1", "duckdb==2.0.0"];
/// A file with a cell at NaN, which libtiledb writes and tdb refuses.
const NAN: &str = "nan_coordinates";
/// The files that pyarrow writes (`xtask/peer/arrow_files.py`): with the metadata of the array, and
/// without.
const KEPT: [&str; 11] =
    ["lz4", "zstd", "small", "views", "utc", "dictionaries", "delta", "snappy", "v2", "gzip", "plain"];
const BARE: [&str; 5] = ["bare", "bare-small", "bare-views", "bare-dictionaries", "bare-parquet"];
/// How many of the former each array gets; of the latter it gets one.
const TURNS: usize = 2;

#[derive(Debug, Default)]
struct Options {
    only: String,
    every: usize,
    /// This number of random arrays instead of the fixtures.
    random: Option<u64>,
    seed: u64,
    folder: Option<PathBuf>,
    tdb: Option<PathBuf>,
    optional: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { every: 1, seed: 1, ..Self::default() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            let number = || value.parse().map_err(|_| format!("{arg}: {value:?} is not a number"));
            match arg.as_str() {
                "--only" => options.only.clone_from(value),
                "--every" => options.every = usize::try_from(number()?).unwrap_or(usize::MAX).max(1),
                "--random" => options.random = Some(number()?),
                "--seed" => options.seed = number()?,
                "--dir" => options.folder = Some(value.into()),
                "--tdb" => options.tdb = Some(value.into()),
                "--optional" => options.optional = value == "yes",
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// An array that libtiledb wrote.
struct Case {
    name: String,
    original: PathBuf,
    key: Option<String>,
    /// The seed and the number of a random array.
    random: Option<(u64, u64)>,
}

/// An array of which there are a copy and files.
struct Made {
    case: Case,
    folder: PathBuf,
    /// The box of a dense array, in hexadecimal digits.
    ranges: Value,
    layout: &'static str,
    dimensions: Vec<String>,
    as_stored: bool,
}

/// What the run counts.
#[derive(Default)]
struct Counts {
    cells: u64,
    batches: u64,
    equal: usize,
    imported: usize,
    refused: usize,
    skipped: BTreeMap<String, Vec<String>>,
    rules: BTreeMap<String, usize>,
    failures: Vec<String>,
}

impl Counts {
    fn rule(&mut self, rule: &str) {
        *self.rules.entry(rule.to_owned()).or_default() += 1;
    }

    fn skip(&mut self, why: &str, name: &str) {
        self.skipped.entry(why.to_owned()).or_default().push(name.to_owned());
    }
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let library = match libraries(&root, &[READER.to_owned()]).and_then(|found| installed().map(|()| found)) {
        Ok(found) => found.get(READER).cloned().ok_or("there is no libtiledb")?,
        Err(why) if options.optional => {
            println!("skipped: libtiledb, pyarrow and DuckDB are not there: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let tdb = Tdb::new(options.tdb.clone())?;
    let scratch = std::env::temp_dir().join(format!("tdb-arrow-{}", std::process::id()));
    let folder = options.folder.clone().unwrap_or(scratch);
    let peer = Asked { script: root.join("xtask/peer/arrow_peer.py"), library, folder: folder.clone() };
    let mut counts = Counts::default();
    let cases = match options.random {
        Some(cases) => random(&root, &peer, cases, &options, &mut counts)?,
        None => fixtures(&root, &options, &mut counts)?,
    };
    let mut all = Vec::new();
    for (number, case) in cases.into_iter().enumerate() {
        let at = folder.join(number.to_string());
        match make(&tdb, &case, &at, &mut counts) {
            Ok(Some((ranges, layout, dimensions, as_stored))) => {
                all.push(Made { case, folder: at, ranges, layout, dimensions, as_stored });
            }
            Ok(None) => {}
            Err(why) => counts.failures.push(format!("{}: {why}", case.name)),
        }
    }
    let good = files(&peer, &all, &mut counts)?;
    imports(&peer, &tdb, &good, &mut counts)?;
    refused::check(&peer, &tdb, &mut counts)?;
    if options.folder.is_none() && counts.failures.is_empty() {
        let _ = fs::remove_dir_all(&folder);
    }
    counts.print(&folder)
}

/// Installs the packages if they are missing.
fn installed() -> Result<(), String> {
    let marker = environment("arrow", "installed", &PACKAGES)?;
    fs::write(&marker, PACKAGES.join("\n")).map_err(|error| format!("{}: {error}", marker.display()))
}

/// The fixtures that libtiledb 2.30 reads rightly.
fn fixtures(root: &Path, options: &Options, counts: &mut Counts) -> Result<Vec<Case>, String> {
    let folder = root.join("xtask/fixtures");
    let read = |file: PathBuf| -> Result<Value, String> {
        let content = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        serde_json::from_slice(&content).map_err(|error| format!("{}: {error}", file.display()))
    };
    let manifest = read(folder.join("manifest.json"))?;
    let entries = manifest.as_array().map_or(&[][..], Vec::as_slice).iter();
    let entries = entries.filter(|entry| {
        entry.get("object").is_none_or(Value::is_null) && text(entry, "id").contains(&options.only)
    });
    let mut cases = Vec::new();
    for entry in entries.step_by(options.every) {
        let id = text(entry, "id");
        let reader = read(folder.join("expected").join(format!("{id}.json")))?;
        if text(&reader, "reader") != format!("libtiledb {READER}") {
            counts.skip("libtiledb 2.30 does not read it, or misreads it (docs/correctness_issues.md)", id);
        } else if id.ends_with(NAN) {
            counts.skip("a coordinate is no number, which tdb does not write", id);
        } else if id == WHOLE_TILES {
            counts.skip(
                "libtiledb does not read tiles of more cells than their type counts, which tdb writes",
                id,
            );
        } else {
            let key = entry.get("key").and_then(Value::as_str).map(str::to_owned);
            let original = folder.join("arrays").join(id);
            cases.push(Case { name: id.to_owned(), original, key, random: None });
        }
    }
    Ok(cases)
}

/// Random arrays of `conform reads`.
fn random(
    root: &Path,
    peer: &Asked,
    cases: u64,
    options: &Options,
    counts: &mut Counts,
) -> Result<Vec<Case>, String> {
    let arrays = peer.folder.join("random");
    fs::create_dir_all(&arrays).map_err(|error| format!("{}: {error}", arrays.display()))?;
    let (script, library) = (root.join("xtask/peer/reads_peer.py"), peer.library.clone());
    let only = options.only.parse().ok();
    let seed = options.seed;
    let live = Live { script, library, arrays: arrays.clone(), seed, cases, queries: 0, only };
    let (mut written, mut crashed) = (Vec::new(), Vec::new());
    live.run(&mut |number, came| match came {
        Came::Read(case) => {
            let key = case.get("key").and_then(Value::as_str).map(str::to_owned);
            let (name, original) = (format!("random {seed}/{number}"), arrays.join(number.to_string()));
            written.push(Case { name, original, key, random: Some((seed, number)) });
        }
        Came::Refused(_) => counts.skip("libtiledb does not write it", &number.to_string()),
        // It is written again, for what does not need the library to read it.
        Came::Crashed(_) => crashed.push((seed, number)),
    })?;
    written.retain(|case| !case.random.is_some_and(|random| crashed.contains(&random)));
    crashed.iter().for_each(|(_, number)| counts.skip("libtiledb crashes on it", &number.to_string()));
    Ok(written)
}

type Converted = (Value, &'static str, Vec<String>, bool);

/// Makes the copy and the files of an array; `None` if it is skipped.
fn make(tdb: &Tdb, case: &Case, folder: &Path, counts: &mut Counts) -> Result<Option<Converted>, String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder.join("files")).map_err(|error| error.to_string())?;
    let options = OpenOptions::new().threads(1);
    let key_file = folder.join("key");
    let options = match &case.key {
        Some(key) => {
            fs::write(&key_file, key).map_err(|error| error.to_string())?;
            let key: [u8; 32] = key.as_bytes().try_into().map_err(|_| "a key of another length")?;
            options.key(Key::new(key))
        }
        None => options,
    };
    let array: Array = options.open(&case.original).map_err(|error| error.to_string())?;
    let part = match Part::of(&array) {
        Ok(part) => part,
        Err(why) => {
            counts.skip(why, &case.name);
            return Ok(None);
        }
    };
    let copied = copy(&array, &part, &folder.join("copy")).map_err(|error| format!("tdb-arrow: {error}"))?;
    counts.cells += copied.cells;
    counts.batches += copied.batches;
    if copied.binary {
        counts.rule("tdb-arrow: text that is not UTF-8 becomes LargeBinary (`Text::Binary`)");
    }
    let files = [folder.join("cells.parquet"), folder.join("cells.arrow")];
    let as_stored = tdb.export(&case.original, case.key.as_ref().map(|_| key_file.as_path()), &files)?;
    if as_stored {
        counts.rule("tdb export: values that Arrow or Parquet cannot represent (--as-stored)");
    }
    let ranges = part.ranges.as_ref().map(|ranges| {
        ranges.iter().map(|range| json!([hex(&range.low), hex(&range.high)])).collect::<Value>()
    });
    let layout = if part.order == Layout::ColMajor { "col-major" } else { "row-major" };
    let dimensions = &array.schema().domain.dimensions;
    let names = dimensions.iter().map(|dimension| dimension.name.clone()).collect();
    debug_assert!(ranges.is_some() == (array.schema().array_type == ArrayType::Dense));
    Ok(Some((ranges.unwrap_or_default(), layout, names, as_stored)))
}

/// Has the copies and the files read, and other files written; returns the arrays that are as they
/// should be, with their variants.
fn files<'m>(
    peer: &Asked,
    all: &'m [Made],
    counts: &mut Counts,
) -> Result<Vec<(&'m Made, Vec<&'static str>)>, String> {
    let jobs = all.iter().enumerate().map(|(number, made)| {
        let mut job = made.job("files");
        job.insert("copy".into(), made.folder.join("copy").display().to_string().into());
        job.insert("parquet".into(), made.folder.join("cells.parquet").display().to_string().into());
        job.insert("variants".into(), variants(number).into());
        job.insert("folder".into(), made.folder.join("files").display().to_string().into());
        if let Some((seed, case)) = made.case.random {
            job.insert("seed".into(), seed.into());
            job.insert("case".into(), case.into());
        }
        Value::Object(job)
    });
    let answers = peer.ask("files", jobs.collect())?;
    let mut good = Vec::new();
    for (number, (made, answer)) in all.iter().zip(answers).enumerate() {
        let name = &made.case.name;
        match answer.outcome {
            Outcome::Equal => {
                counts.equal += 1;
                answer.what.lines().for_each(|rule| counts.rule(rule));
                good.push((made, variants(number)));
            }
            Outcome::Refused => counts.skip(&answer.what, name),
            other => {
                counts.failures.push(format!(
                    "{name} ({}): {other:?} {}",
                    made.folder.display(),
                    answer.what
                ));
            }
        }
    }
    Ok(good)
}

/// Imports the files that pyarrow wrote, and has the new arrays read.
fn imports(
    peer: &Asked,
    tdb: &Tdb,
    good: &[(&Made, Vec<&'static str>)],
    counts: &mut Counts,
) -> Result<(), String> {
    let mut jobs = Vec::new();
    for (number, (made, variants)) in good.iter().enumerate() {
        let mut arrays = Map::new();
        for variant in variants {
            let file = |ending| made.folder.join("files").join(format!("{variant}.{ending}"));
            let file = ["arrow", "arrows", "parquet"].map(file).into_iter().find(|file| file.exists());
            // What pyarrow does not write is counted by a rule.
            let Some(file) = file else { continue };
            let array = made.folder.join(format!("array-{variant}"));
            // Of files without metadata, every other becomes an array whose dimension numbers the
            // rows.
            let dimensions = match variant.starts_with("bare") && number % 2 == 0 {
                true => made.dimensions.as_slice(),
                false => &[],
            };
            let bare = variant.starts_with("bare");
            let mut imported = tdb.import(&array, &file, dimensions);
            if let Err(why) = &imported
                && !dimensions.is_empty()
                && why.contains("with --domain")
            {
                counts.rule(
                    "tdb import: a coordinate is outside the wide domain of a new dimension (--domain)",
                );
                imported = tdb.import(&array, &file, &[]);
            }
            match imported {
                Ok(()) => drop(arrays.insert((*variant).to_owned(), array.display().to_string().into())),
                Err(why) if bare && why.contains("names that begin with \"__\" are reserved") => {
                    counts.rule(
                        "tdb import: a name begins with \"__\", which the format has reserved since 2.0",
                    );
                }
                Err(why) => counts.failures.push(format!("{}, {variant}: {why}", made.case.name)),
            }
        }
        counts.imported += arrays.len();
        let mut job = made.job("imported");
        job.insert("arrays".into(), arrays.into());
        jobs.push(Value::Object(job));
    }
    let answers = peer.ask("imported", jobs)?;
    for ((made, _), answer) in good.iter().zip(answers) {
        if answer.outcome != Outcome::Equal {
            let (name, folder) = (&made.case.name, made.folder.display());
            counts
                .failures
                .push(format!("{name} ({folder}), imported: {:?} {}", answer.outcome, answer.what));
        }
    }
    Ok(())
}

/// The files that pyarrow writes of an array: in turn, so that each is written of many.
fn variants(number: usize) -> Vec<&'static str> {
    let kept = KEPT.iter().cycle().skip((number * TURNS) % KEPT.len()).take(TURNS);
    kept.chain(BARE.get(number % BARE.len())).copied().collect()
}

impl Made {
    /// What all jobs about an array say.
    fn job(&self, what: &str) -> Map<String, Value> {
        let arrow = self.folder.join("cells.arrow");
        let job = json!({
            "do": what, "key": self.case.key, "original": self.case.original.display().to_string(), "box": self.ranges,
            "layout": self.layout, "as_stored": self.as_stored, "arrow": arrow.display().to_string(),
        });
        job.as_object().cloned().unwrap_or_default()
    }
}

/// The peer.
struct Asked {
    script: PathBuf,
    library: PathBuf,
    folder: PathBuf,
}

impl Asked {
    fn ask(&self, what: &str, jobs: Vec<Value>) -> Result<Vec<super::peers::Answer>, String> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let batch = self.folder.join(what);
        let failed = |error: std::io::Error| format!("{}: {error}", batch.display());
        fs::create_dir_all(&batch).map_err(failed)?;
        let cases = jobs.len();
        fs::write(batch.join("cells"), []).map_err(failed)?;
        fs::write(batch.join("cases.json"), Value::from(jobs).to_string()).map_err(failed)?;
        let (script, library) = (self.script.clone(), self.library.clone());
        let arrays = self.folder.clone();
        Peer { script, library, batch, op: "read", arrays, cases, child: None }.start()?.finish()
    }
}

impl Counts {
    fn print(&self, folder: &Path) -> Result<(), String> {
        let Self { cells, batches, equal, imported, refused, .. } = self;
        println!(
            "{equal} arrays equal as record batches, as Parquet and as Arrow files ({cells} cells, {batches} batches); {imported} \
             files of pyarrow imported; {refused} refused that no array can hold"
        );
        for (why, names) in &self.skipped {
            println!("skipped {} × {why}: {}", names.len(), names.join(", "));
        }
        for (rule, count) in &self.rules {
            println!("rule {count} × {rule}");
        }
        self.failures.iter().for_each(|failure| println!("FAILED {failure}"));
        match (self.failures.len(), equal) {
            (0, 0) => Err("no array was compared".to_owned()),
            (0, _) => Ok(()),
            (failures, _) => {
                Err(format!("{failures} comparisons failed; the files are in {}", folder.display()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::words;

    #[test]
    fn arguments_are_read_and_wrong_ones_refused() {
        let options =
            Options::parse(&words("--only dense --every 10 --random 7 --seed 3 --optional yes")).unwrap();
        assert_eq!((options.only.as_str(), options.every, options.random), ("dense", 10, Some(7)));
        assert!(options.seed == 3 && options.optional && options.tdb.is_none());
        assert_eq!(Options::parse(&words("--every 0")).unwrap().every, 1);
        for wrong in ["--every", "--random many", "--all", "--cases 3"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_file_of_pyarrow_has_its_turn() {
        let mut written: Vec<&str> = (0..11).flat_map(variants).collect();
        assert_eq!(written.len(), 33);
        written.sort_unstable();
        written.dedup();
        assert_eq!(written.len(), KEPT.len() + BARE.len());
    }

    #[test]
    fn a_run_fails_if_something_differs_or_nothing_was_compared() {
        let mut counts = Counts::default();
        assert!(counts.print(Path::new("here")).is_err());
        counts.equal = 1;
        assert!(counts.print(Path::new("here")).is_ok());
        counts.failures.push("differs".to_owned());
        assert!(counts.print(Path::new("here")).unwrap_err().contains("here"));
    }
}
