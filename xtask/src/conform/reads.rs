//! `cargo xtask conform reads`: random queries of random arrays that libtiledb wrote, run by both
//! libraries.
//!
//! `xtask/peer/reads_cases.py` generates arrays and queries, and `reads_peer.py` lets libtiledb
//! write and read them. Schemas at several times, metadata, the non-empty domain and the fragments
//! must be those that libtiledb tells (`schemas.rs`). tdb answers every query at once, in batches
//! with the smallest memory that works, and in many small batches. Then it consolidates a copy of
//! the array, of which every time must show the same cells as before (`kept.rs`). Any difference
//! fails the run, except known faults of libtiledb (`docs/correctness_issues.md`), each of which
//! has a rule in `answer.rs`.

mod answer;
mod groups;
mod kept;
pub(super) mod live;
mod question;
mod schemas;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use self::answer::Verdict;
use self::live::{Came, Live};
use super::expected;
use super::form::{list, text};
use crate::peer::{READER, libraries, repository_root, scratch};

pub(super) const USAGE: &str = "[--cases N] [--seed S] [--queries Q] [--only CASE] [--dir DIR]";

/// Number of failures that are printed in full.
const SHOWN: usize = 500;
/// From this number on, batches count as many.
const MANY: u64 = 3;

struct Options {
    cases: u64,
    seed: u64,
    queries: u64,
    only: Option<u64>,
    folder: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { cases: 500, seed: 1, queries: 8, only: None, folder: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"));
            let number = |word: &str| word.parse().map_err(|_| format!("{word:?} is not a number"));
            match arg.as_str() {
                "--cases" => options.cases = number(value()?)?,
                "--seed" => options.seed = number(value()?)?,
                "--queries" => options.queries = number(value()?)?,
                "--only" => options.only = Some(number(value()?)?),
                "--dir" => options.folder = Some(value()?.into()),
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// The number of queries of a kind with each outcome.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    equal: u64,
    known: u64,
    refused: u64,
    differing: u64,
}

/// The outcomes of all queries.
#[derive(Debug, Default)]
struct Counts {
    arrays: u64,
    queries: u64,
    cells: u64,
    batches: u64,
    /// Queries whose cells were returned in three batches or more.
    in_many: u64,
    /// Queries whose cells do not follow from the steps of their case, by the reason; their
    /// expected cells are those of libtiledb.
    undecided: BTreeMap<String, u64>,
    kinds: BTreeMap<String, Tally>,
    /// Known faults, refusals and crashes of libtiledb, by kind.
    known: BTreeMap<String, u64>,
    refused: BTreeMap<String, u64>,
    crashed: Vec<String>,
    failures: Vec<String>,
    /// Arrays of which every time showed the same cells after tdb had consolidated them.
    kept: u64,
    /// Times at which array metadata and the non-empty domain are equal.
    facts: u64,
    /// Times at which the schemas are equal, arrays with equal fragments, and extensions of
    /// enumerations that both refuse or both accept.
    schemas: u64,
    fragments: u64,
    extensions: u64,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let library = libraries(&root, &[READER.to_owned()])?.remove(READER).ok_or("no library")?;
    let scratch = scratch("conform-reads");
    let arrays = options.folder.clone().unwrap_or_else(|| scratch.clone());
    fs::create_dir_all(&arrays).map_err(|error| format!("{}: {error}", arrays.display()))?;
    let live = Live {
        script: root.join("xtask/peer/reads_peer.py"),
        library,
        arrays: arrays.clone(),
        seed: options.seed,
        cases: options.cases,
        queries: options.queries,
        only: options.only,
    };
    let started = Instant::now();
    let mut counts = Counts::default();
    live.run(&mut |number, came| {
        counts.add(&arrays.join(number.to_string()), number, came, &options);
        if options.folder.is_none() {
            // The compared arrays are no longer needed.
            let _ = fs::remove_dir_all(arrays.join(number.to_string()));
        }
        if number % 100 == 99 {
            let seconds = started.elapsed().as_secs();
            eprintln!("{} arrays, {} queries, {seconds} s", counts.arrays, counts.queries);
        }
    })?;
    if options.folder.is_none() {
        let _ = fs::remove_dir_all(&scratch);
    }
    counts.print()
}

impl Counts {
    fn add(&mut self, path: &Path, number: u64, came: Came, options: &Options) {
        let case = match came {
            Came::Refused(what) => {
                *self.refused.entry(format!("writing: {what}")).or_default() += 1;
                return;
            }
            Came::Crashed(doing) => {
                self.crashed.push(format!("case {number}: {doing}"));
                return;
            }
            Came::Read(case) => case,
        };
        self.arrays += 1;
        for (place, query) in list(&case, "queries").iter().enumerate() {
            let verdict = answer::judge(path, &case, query);
            self.queries += 1;
            if query.get("why").is_some() {
                *self.undecided.entry(text(query, "why").to_owned()).or_default() += 1;
            }
            let mut tally = Tally::default();
            match verdict {
                Verdict::Equal { cells, batches, known } => {
                    self.cells += cells;
                    self.batches += batches;
                    self.in_many += u64::from(batches >= MANY);
                    tally.equal = 1;
                    if let Some(why) = known {
                        (tally.equal, tally.known) = (0, 1);
                        *self.known.entry(why).or_default() += 1;
                    }
                }
                Verdict::Refused(what) => {
                    tally.refused = 1;
                    *self.refused.entry(what).or_default() += 1;
                }
                Verdict::Differs(what) => {
                    tally.differing = 1;
                    let Options { seed, cases, queries, .. } = options;
                    self.failures.push(format!(
                        "case {number} query {place}: {what}\n    {}\n    {}\n    cargo xtask conform reads --seed {seed} --cases {cases} --queries {queries} --only {number} --dir DIR",
                        question::show(query),
                        case.get("steps").unwrap_or(&Value::Null),
                    ));
                }
            }
            for kind in kinds(&case, query) {
                self.kinds.entry(kind).or_default().add(tally);
            }
        }
        for then in list(&case, "facts") {
            match expected::check_facts(path, &case, then) {
                Ok(()) => self.facts += 1,
                Err(what) => self.failures.push(failed(options, number, &case, &what)),
            }
            match schemas::compare(path, &case, then) {
                Ok(extensions) => {
                    self.schemas = self.schemas.saturating_add(1);
                    self.extensions = self.extensions.saturating_add(extensions);
                }
                Err(what) => self.failures.push(failed(options, number, &case, &what)),
            }
        }
        match schemas::fragments(path, &case) {
            Ok(compared) => self.fragments += u64::from(compared),
            Err(what) => self.failures.push(failed(options, number, &case, &what)),
        }
        match kept::changed(path, &case) {
            Ok(None) => self.kept += 1,
            Ok(Some(what)) | Err(what) => self.failures.push(failed(options, number, &case, &what)),
        }
    }

    /// The table of counts; an error if anything differs.
    fn print(&self) -> Result<(), String> {
        println!("kind of query                    equal  known fault  refused by libtiledb  DIFFERENT");
        for (kind, tally) in &self.kinds {
            let Tally { equal, known, refused, differing } = tally;
            println!("{kind:30} {equal:7} {known:12} {refused:21} {differing:10}");
        }
        let Self { arrays, queries, cells, batches, in_many, .. } = self;
        println!("{queries} queries of {arrays} arrays, {cells} cells");
        println!("again in {batches} small batches, {in_many} queries in {MANY} or more");
        println!("{} arrays show the same cells at every time after tdb consolidated them", self.kept);
        println!("{} times with the same array metadata and non-empty domain", self.facts);
        println!(
            "{} times with the same schema, {} arrays with the same fragments",
            self.schemas, self.fragments
        );
        println!("{} extensions of enumerations that both accept or both refuse", self.extensions);
        let undecided: u64 = self.undecided.values().sum();
        println!(
            "{} queries are compared with what was written, {undecided} with libtiledb alone:",
            queries - undecided
        );
        self.undecided.iter().for_each(|(why, count)| println!("    {count} × {why}"));
        for (why, count) in &self.known {
            println!("known fault of libtiledb {count} × {why}");
        }
        for (what, count) in &self.refused {
            println!("refused by libtiledb {count} × {what}");
        }
        println!("{} cases on which libtiledb crashed", self.crashed.len());
        self.crashed.iter().take(SHOWN).for_each(|crashed| println!("  {crashed}"));
        self.failures.iter().take(SHOWN).for_each(|failure| println!("{failure}"));
        match self.failures.len() {
            0 if queries == &0 => Err("no query was compared".into()),
            0 => Ok(()),
            failures => Err(format!("{failures} failures in {queries} queries of {arrays} arrays")),
        }
    }
}

impl Tally {
    const fn add(&mut self, other: Self) {
        self.equal += other.equal;
        self.known += other.known;
        self.refused += other.refused;
        self.differing += other.differing;
    }
}

/// The report of a failure of a case as a whole.
fn failed(options: &Options, number: u64, case: &Value, what: &str) -> String {
    let Options { seed, cases, .. } = options;
    let steps = case.get("steps").unwrap_or(&Value::Null);
    format!(
        "case {number}: {what}\n    {steps}\n    cargo xtask conform reads --seed {seed} --cases {cases} --only {number} --dir DIR"
    )
}

/// The special properties of a query; each property is counted.
fn kinds(case: &Value, query: &Value) -> Vec<String> {
    let schema = case.get("schema").unwrap_or(&Value::Null);
    let truly = |value: &Value, name: &str| value.get(name).and_then(Value::as_bool) == Some(true);
    let array = match text(schema, "array_type") {
        "sparse" if text(schema, "cell_order") == "hilbert" => "Hilbert",
        "sparse" if truly(schema, "allows_dups") => "sparse with duplicates",
        other => other,
    };
    let steps =
        |step: &str| list(case, "steps").iter().any(|s| s.as_str().is_some_and(|s| s.starts_with(step)));
    let begun = text(case, "begun");
    let ranges: Vec<&[Value]> = list(query, "ranges").iter().map(list_of).collect();
    let point = |range: &Value| range.get(0) == range.get(1);
    let open = |range: &Value| list_of(range).iter().any(Value::is_null);
    let has = |name: &str| !list(schema, name).is_empty();
    let strings = ranges
        .iter()
        .zip(list(schema, "dimensions"))
        .any(|(ranges, dimension)| !ranges.is_empty() && text(dimension, "type") == "STRING_ASCII");
    let mut kinds = vec![format!("array: {array}")];
    let aggregates = list(query, "aggregates");
    if aggregates.is_empty() {
        kinds.push(format!("order: {}", text(query, "layout")));
    }
    for (says, kind) in [
        (steps("delete at"), "array: with deletes"),
        (steps("consolidate"), "array: consolidated"),
        (steps("evolve"), "array: evolved schema"),
        (!["", READER].contains(&begun), "array: of an older release"),
        (has("enumerations"), "array: enumerations"),
        (has("current_domain"), "array: current domain"),
        (case.get("key").is_some_and(Value::is_string), "array: encrypted"),
        (steps("delete_fragments"), "array: fragments deleted"),
        (list(schema, "dimensions").len() > 6, "array: many dimensions"),
        (!has("attributes") && has("dimensions"), "array: no attributes"),
        (!list(query, "labels").is_empty(), "ranges: label"),
        (ranges.iter().any(|ranges| ranges.len() >= 20), "ranges: many points"),
        (ranges.iter().any(|ranges| ranges.iter().any(open)), "ranges: open end"),
        (ranges.iter().all(|ranges| ranges.is_empty()), "ranges: none"),
        (ranges.iter().any(|ranges| ranges.len() == 1), "ranges: one"),
        (ranges.iter().any(|ranges| ranges.len() > 1), "ranges: several"),
        (ranges.iter().filter(|ranges| ranges.len() > 1).count() > 1, "ranges: several in several"),
        (ranges.iter().any(|ranges| ranges.len() > 1 && ranges.iter().all(point)), "ranges: points"),
        (strings, "ranges: strings"),
        (list(query, "timestamps").iter().any(|end| !end.is_null()), "time window"),
        (query.get("names").is_some_and(Value::is_array), "some fields"),
    ] {
        if says {
            kinds.push(kind.to_owned());
        }
    }
    let mut tests = Vec::new();
    question::condition_kinds(query.get("condition").unwrap_or(&Value::Null), &mut tests);
    kinds.extend(tests);
    let function = |of: &Value| of.get(0).and_then(Value::as_str).map(|name| format!("aggregate: {name}"));
    kinds.extend(aggregates.iter().filter_map(function));
    kinds.sort();
    kinds.dedup();
    kinds
}

fn list_of(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conform::words;

    #[test]
    fn arguments_are_read_and_wrong_ones_refused() {
        let options = Options::parse(&words("--cases 7 --seed 3 --queries 2 --only 5")).unwrap();
        assert_eq!((options.cases, options.seed, options.queries, options.only), (7, 3, 2, Some(5)));
        for wrong in ["--cases", "--cases many", "--all"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_query_is_counted_by_everything_special_about_it() {
        let case = json!({
            "schema": {
                "array_type": "sparse", "allows_dups": true,
                "dimensions": [{ "type": "STRING_ASCII" }], "attributes": [{ "type": "INT8" }],
            },
            "steps": ["create at 1", "delete at 2"],
        });
        let query = json!({
            "layout": "row-major", "ranges": [[["61", "61"], ["62", "62"]]], "timestamps": [null, 5],
            "condition": ["not", ["a", "<", "00", "INT8"]], "aggregates": [],
        });
        let kinds = kinds(&case, &query);
        let expected = [
            "array: sparse with duplicates",
            "array: with deletes",
            "condition: <",
            "condition: not",
            "order: row-major",
            "ranges: points",
            "ranges: several",
            "ranges: strings",
            "time window",
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_run_fails_if_a_query_differs_or_none_was_compared() {
        let mut counts = Counts::default();
        assert!(counts.print().is_err());
        counts.queries = 1;
        assert!(counts.print().is_ok());
        counts.failures.push("differs".into());
        assert!(counts.print().is_err());
    }
}
