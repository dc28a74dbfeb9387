//! `cargo xtask conform maintenance`: histories of arrays with maintenance in any order.
//!
//! Half of them are made by tdb and by libtiledb, each in its own array; then libtiledb reads both
//! arrays at every time, and so does tdb. In the others, both take turns in one array, and read it
//! in every window and order. In addition, a simple model computes what the array must contain at
//! the end, and `verify` must find no problem after each of tdb's steps.

mod cases;
mod cells;
mod model;
mod rules;
mod steps;
mod told;
mod turns;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tdb_array::TimeWindow;

use self::cases::{Case, Kind};
use self::rules::{ALONE, EMPTY, WRITES};
use self::steps::make;
use self::turns::{ENDED, Turns};
use crate::peer::{READER, libraries, repository_root};

pub(super) const USAGE: &str = "[--cases N] [--seed N] [--only CASE] [--dir DIR]";

/// Number of failures that are printed in full.
const SHOWN: usize = 20;
/// Largest number of characters of a failure.
const LONGEST: usize = 1500;

/// Number of histories that are on disk at a time.
const BATCH: u64 = 50;

struct Options {
    count: u64,
    seed: u64,
    only: Option<u64>,
    folder: PathBuf,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("tdb-maintenance-{}", std::process::id()));
        let mut options = Self { count: 200, seed: 1, only: None, folder };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"));
            let number = |text: &String| text.parse().map_err(|_| format!("{arg} needs a number"));
            match arg.as_str() {
                "--cases" => options.count = number(value()?)?,
                "--seed" => options.seed = number(value()?)?,
                "--only" => options.only = Some(number(value()?)?),
                "--dir" => options.folder = value()?.into(),
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// The outcomes of all histories.
#[derive(Default)]
struct Report {
    tally: BTreeMap<String, u64>,
    failures: Vec<String>,
    steps: usize,
    windows: usize,
}

impl Report {
    fn count(&mut self, what: impl Into<String>, more: u64) {
        *self.tally.entry(what.into()).or_default() += more;
    }
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let library = libraries(&root, &[READER.to_owned()])?.remove(READER).ok_or("no library")?;
    let numbers = 0..options.only.map_or(options.count, |only| only + 1);
    let numbers: Vec<u64> =
        numbers.filter(|number| options.only.is_none_or(|only| only == *number)).collect();
    let mut report = Report::default();
    for numbers in numbers.chunks(usize::try_from(BATCH).unwrap_or(1)) {
        let cases: Vec<Case> = numbers.iter().map(|number| cases::random(options.seed, *number)).collect();
        // Groups and every second array are made twice; for the others, both libraries take turns.
        let in_turns = |case: &Case, number: u64| number % 2 == 1 && case.kind != Kind::Group;
        let (turns, twice): (Vec<_>, Vec<_>) =
            cases.into_iter().zip(numbers).partition(|(case, number)| in_turns(case, **number));
        let [turns, twice] =
            [turns, twice].map(|of| of.into_iter().map(|(case, _)| case).collect::<Vec<_>>());
        let before = report.failures.len();
        let batch = Batch { root: &root, library: &library, folder: &options.folder, seed: options.seed };
        batch.twice(&twice, &mut report)?;
        batch.turns(&turns, &mut report)?;
        if report.failures.len() == before && options.only.is_none() {
            // The compared arrays are no longer needed.
            let _ = fs::remove_dir_all(&options.folder);
        }
    }
    let Report { tally, failures, steps, windows } = report;
    println!("{} histories of {steps} steps, read in {windows} windows by both libraries", numbers.len());
    for (what, count) in &tally {
        println!("  {count:6} {what}");
    }
    if failures.is_empty() {
        return Ok(());
    }
    failures.iter().take(SHOWN).for_each(|failure| eprintln!("{}", shortened(failure)));
    let (failed, all) = (failures.len(), numbers.len());
    Err(format!("{failed} of {all} histories differ; their arrays are in {}", options.folder.display()))
}

/// The first part of a long text.
fn shortened(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

/// The data that the histories of a batch share.
struct Batch<'b> {
    root: &'b Path,
    library: &'b Path,
    folder: &'b Path,
    seed: u64,
}

impl Batch<'_> {
    /// A failure, with the command that reproduces it.
    fn failed(&self, case: &Case, why: &str) -> String {
        let number = case.name.rsplit('_').next().unwrap_or_default();
        let again = format!("cargo xtask conform maintenance --seed {} --only {number} --dir DIR", self.seed);
        let failure = format!("{} ({}): {}\n    {again}", case.name, case.kind.name(), shortened(why));
        eprintln!("FAILED {}", failure.chars().take(LONGEST / 4).collect::<String>());
        failure
    }

    fn list(&self, cases: &[Case], name: &str) -> Result<PathBuf, String> {
        fs::create_dir_all(self.folder).map_err(|e| format!("{}: {e}", self.folder.display()))?;
        let list = self.folder.join(name);
        let json: Vec<Value> = cases.iter().map(Case::json).collect();
        fs::write(&list, Value::Array(json).to_string()).map_err(|e| format!("{}: {e}", list.display()))?;
        Ok(list)
    }

    /// Histories that both sides make, each in its own array.
    fn twice(&self, cases: &[Case], report: &mut Report) -> Result<(), String> {
        let (ours, theirs) = (self.folder.join("ours"), self.folder.join("theirs"));
        for folder in [&ours, &theirs] {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        for case in cases {
            match make(case, &ours) {
                Ok(verified) => report.count("arrays verified", verified),
                Err(error) => report.failures.push(self.failed(case, &format!("tdb: {error}"))),
            }
        }
        let list = self.list(cases, "twice.json")?;
        let said = self.read(&list, &ours, &theirs, cases.len())?;
        for (case, answer) in cases.iter().zip(&said) {
            let word = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            report.count(format!("{} {}", case.kind.name(), word("outcome")), 1);
            if word("outcome") == "known" {
                report.count(format!("known difference: {}", word("what")), 1);
            } else if word("outcome") == "crashed" && word("what").ends_with(WRITES) {
                report.count(format!("excused by rule, a crash: {EMPTY}"), 1);
            } else if let Some(rule) = case.may_crash().filter(|_| word("outcome") == "crashed") {
                report.count(format!("excused by rule, a crash: {rule}"), 1);
            } else if word("outcome") != "equal" {
                let why = format!("libtiledb: {} {}", word("outcome"), word("what"));
                report.failures.push(self.failed(case, &why));
            } else if let Err(error) = same(case, &ours, &theirs) {
                report.failures.push(self.failed(case, &format!("tdb reads: {error}")));
            }
            report.count_rule(case);
            let skipped = answer.get("skipped").and_then(Value::as_array).map_or(0, Vec::len);
            report.count("maintenance steps that libtiledb refused", u64::try_from(skipped).unwrap_or(0));
        }
        report.steps += cases.iter().map(|case| case.steps.len()).sum::<usize>();
        report.windows += cases.iter().map(|case| case.windows().len()).sum::<usize>();
        Ok(())
    }

    /// libtiledb's answers for each case. After a crash, it is started again with the case after
    /// the one on which it crashed.
    fn read(&self, list: &Path, ours: &Path, theirs: &Path, count: usize) -> Result<Vec<Value>, String> {
        let mut answers: Vec<Value> = Vec::with_capacity(count);
        while answers.len() < count {
            let output = Command::new("python3")
                .arg(self.root.join("xtask/peer/maintain_peer.py"))
                .arg("--lib")
                .arg(self.library)
                .arg("--cases")
                .arg(list)
                .arg("--ours")
                .arg(ours)
                .arg("--theirs")
                .arg(theirs)
                .args(["--skip", &answers.len().to_string()])
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .output()
                .map_err(|error| format!("cannot run python3: {error}"))?;
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                answers.push(serde_json::from_str(line).map_err(|error| format!("{line}: {error}"))?);
            }
            if answers.len() < count {
                if output.status.code().is_some() {
                    return Err(format!("maintain_peer.py: {}", String::from_utf8_lossy(&output.stderr)));
                }
                let stderr = String::from_utf8_lossy(&output.stderr);
                let last = stderr.lines().last().unwrap_or_default();
                answers.push(json!({ "outcome": "crashed", "what": format!("{}: {last}", output.status) }));
            }
        }
        Ok(answers)
    }

    /// Histories in which both sides take turns on one array.
    fn turns(&self, cases: &[Case], report: &mut Report) -> Result<(), String> {
        let arrays = self.folder.join("turns");
        fs::create_dir_all(&arrays).map_err(|e| format!("{}: {e}", arrays.display()))?;
        let list = self.list(cases, "turns.json")?;
        let script = self.root.join("xtask/peer/maintain_peer.py");
        let mut peer = Turns::new(&script, self.library, &list, &arrays);
        for (number, case) in cases.iter().enumerate() {
            match peer.run(case, number) {
                Ok(came) => {
                    report.count(format!("{} in turns, equal", case.kind.name()), 1);
                    report.count("arrays verified", came.verified);
                    report.count("queries of arrays worked on in turns", came.equal);
                    report.count("maintenance steps that libtiledb refused", came.skipped);
                }
                Err(why) if why.starts_with(ENDED) && why.ends_with(WRITES) => {
                    report.count(format!("excused by rule, a crash: {EMPTY}"), 1);
                }
                Err(why) if why.starts_with(ENDED) && why.ends_with(ALONE) => {
                    report.count(format!("excused, a crash: libtiledb dies in a step, {ALONE}"), 1);
                }
                Err(why) => match case.may_crash().filter(|_| why.starts_with(ENDED)) {
                    Some(rule) => report.count(format!("excused by rule, a crash: {rule}"), 1),
                    None => report.failures.push(self.failed(case, &format!("in turns: {why}"))),
                },
            }
            report.count_rule(case);
        }
        report.steps += cases.iter().map(|case| case.steps.len()).sum::<usize>();
        report.windows += cases.iter().map(|case| case.windows().len()).sum::<usize>();
        Ok(())
    }
}

impl Report {
    /// Counts the rule that excuses libtiledb's values of an attribute, if there is one.
    fn count_rule(&mut self, case: &Case) {
        if let Some(rule) = case.ignored() {
            self.count(format!("excused by rule: {rule}"), 1);
        }
    }
}

/// Checks that tdb reads the same from both arrays in every window.
fn same(case: &Case, ours: &Path, theirs: &Path) -> Result<(), String> {
    for window in case.windows() {
        let [a, b] = [ours, theirs].map(|folder| look(case, &folder.join(&case.name), window));
        if let (Err(_), Err(_)) = (&a, &b) {
            // Before the array existed.
            continue;
        }
        let (a, b) = (a.map_err(|e| e.to_string())?, b.map_err(|e| e.to_string())?);
        if a != b {
            return Err(format!("{window:?}: {a:?} from tdb's array, {b:?} from libtiledb's"));
        }
    }
    Ok(())
}

fn look(case: &Case, path: &Path, window: Option<TimeWindow>) -> Result<Vec<String>, tdb_array::Error> {
    let options = case.options(window);
    if case.kind == Kind::Group {
        let group = options.open_group(path)?;
        let mut rows: Vec<String> = group.members().map(|member| member.key().to_owned()).collect();
        rows.sort();
        rows.extend(group.metadata()?.iter().map(|(key, value)| format!("{key:?} {value:?}")));
        return Ok(rows);
    }
    let array = options.open(path)?;
    let cells = array.read().collect()?;
    let mut rows: Vec<String> = (0..cells.len())
        .map(|at| {
            let show = |column: &tdb_array::Column| {
                if column.is_null(at) { "null".to_owned() } else { format!("{:?}", column.cell(at)) }
            };
            let counts = |column: &&tdb_array::Column| case.ignored().is_none() || column.name != "b";
            cells.columns().iter().filter(counts).map(show).collect::<Vec<_>>().join(" ")
        })
        .collect();
    if array.schema().array_type == tdb_array::schema::ArrayType::Sparse {
        rows.sort();
    }
    rows.extend(array.metadata()?.iter().map(|(key, value)| format!("{key:?} {value:?}")));
    Ok(rows)
}
