//! `cargo xtask conform versions`: new random arrays of every released library, read live.
//!
//! `xtask/peer/version_cases.py` chooses the contents of the arrays, so that everything a release
//! can store is in one of them. `live.py` lets that release write them and libtiledb 2.30.0 read
//! them, or the release that wrote them if 2.30.0 cannot. tdb runs the same queries. The requested
//! number of arrays is divided among the releases. If a release supports something that is in none
//! of its equal arrays, this is reported. With `--per`, each release makes the given number of
//! arrays, and more until everything that it supports is in an equal one; otherwise the run fails.

mod coverage;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

use self::coverage::Coverage;
use super::expected;
use crate::peer;

pub(super) const USAGE: &str =
    "[--cases N | --per N] [--seed S] [--library VERSION]… [--only CASE] [--keep DIR] [--bins]";

/// Number of releases that run at the same time.
const AT_ONCE: usize = 2;

struct Options {
    /// Number of arrays of all releases together.
    cases: usize,
    /// Number of arrays of each release, which must fill all bins.
    per: Option<usize>,
    seed: String,
    libraries: Vec<String>,
    only: Option<String>,
    keep: Option<PathBuf>,
    bins: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            cases: 1500,
            per: None,
            seed: "1".into(),
            libraries: Vec::new(),
            only: None,
            keep: None,
            bins: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"));
            match arg.as_str() {
                "--cases" => options.cases = number(value()?)?,
                "--per" => options.per = Some(number(value()?)?),
                "--seed" => options.seed = number(value()?)?.to_string(),
                "--library" => options.libraries.push(value()?.clone()),
                "--only" => options.only = Some(value()?.clone()),
                "--keep" => options.keep = Some(value()?.into()),
                "--bins" => options.bins = true,
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        if options.only.is_some() && options.libraries.len() != 1 {
            return Err("--only needs one --library: each release has its own cases".into());
        }
        Ok(options)
    }

    /// The number of arrays that the release at an index makes, with a given number of releases.
    fn share(&self, place: usize, releases: usize) -> usize {
        self.per.unwrap_or_else(|| {
            let rest = self.cases.checked_rem(releases).unwrap_or(0);
            self.cases.checked_div(releases).unwrap_or(0).saturating_add(usize::from(place < rest))
        })
    }

    /// The command that creates and reads one array again.
    fn again(&self, library: &str, case: &str) -> String {
        let seed = &self.seed;
        format!("cargo xtask conform versions --seed {seed} --library {library} --only {case} --keep DIR")
    }
}

fn number(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("{word:?} is not a number"))
}

/// Entry point: `args` are the words after `versions`.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    let libraries = match options.libraries.as_slice() {
        [] => peer::releases(&root)?,
        chosen => chosen.to_vec(),
    };
    let scratch = std::env::temp_dir().join(format!("tdb-conform-{}", std::process::id()));
    let folder = options.keep.clone().unwrap_or_else(|| scratch.clone());
    let queue = Mutex::new(libraries.iter().enumerate().rev().collect::<Vec<_>>());
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((place, library)) = queue.lock().ok().and_then(|mut queue| queue.pop()) {
                    let share = options.share(place, libraries.len());
                    let result = Library::run(&root, &folder.join(library), library, share, &options);
                    if let Ok(library) = &result {
                        print!("{}", library.text(options.bins));
                    }
                    if let Ok(mut results) = results.lock() {
                        results.push((place, library, result));
                    }
                }
            });
        }
    });
    if options.keep.is_none() {
        let _ = fs::remove_dir_all(&scratch);
    }
    let mut results = results.into_inner().map_err(|_| "a thread died".to_owned())?;
    results.sort_by_key(|(place, ..)| *place);
    summary(&libraries, results, &options)
}

/// Prints the sums; fails if anything is not as it should be.
fn summary(
    libraries: &[String],
    results: Vec<(usize, &String, Result<Library, String>)>,
    options: &Options,
) -> Result<(), String> {
    let mut sum = Counts::default();
    let mut wrong = Vec::new();
    let mut rules: BTreeMap<String, usize> = BTreeMap::new();
    let mut empty: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (place, name, result) in results {
        match result {
            Err(error) => wrong.push(format!("libtiledb {name}: {error}")),
            Ok(library) => {
                sum.add(&library.counts);
                for (rule, count) in library.rules {
                    let sum = rules.entry(rule).or_default();
                    *sum = sum.saturating_add(count);
                }
                wrong.extend(library.differences);
                if options.only.is_none() {
                    for bin in library.coverage.empty() {
                        empty.entry(bin).or_default().push(name);
                    }
                    let (Counts { equal, .. }, share) =
                        (library.counts, options.share(place, libraries.len()));
                    if equal < share {
                        wrong.push(format!("libtiledb {name}: only {equal} of {share} arrays"));
                    }
                }
            }
        }
    }
    let Counts {
        equal, queries, out_of_order, odd_queries, contradictions, unread, by_writer, facts, ..
    } = sum;
    println!(
        "{} libraries: {equal} arrays and {queries} queries equal ({by_writer} arrays read by the release that \
         wrote them, {unread} by none), {facts} array metadata and domains; {out_of_order} arrays with {odd_queries} more queries \
         stored out of order by the writer; {contradictions} queries where libtiledb contradicts itself",
        libraries.len()
    );
    for (rule, count) in &rules {
        println!("known fault of libtiledb {count} × {rule}");
    }
    if options.per.is_some() {
        for (bin, names) in &empty {
            wrong.extend(names.iter().map(|name| format!("libtiledb {name}: no array of {bin}")));
        }
    } else {
        let lacking: usize = empty.values().map(Vec::len).sum();
        println!("{lacking} times a release has no equal array of something that it supports:");
        empty.iter().for_each(|(bin, names)| println!("    {bin}: {}", names.join(", ")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{} failures:\n{}", wrong.len(), wrong.join("\n"))) }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Arrays whose queries are all equal, or that their writer stored out of order.
    equal: usize,
    queries: usize,
    /// Number of equal comparisons of array metadata and non-empty domains.
    facts: usize,
    by_writer: usize,
    /// Equal arrays that no libtiledb reads, or on which it crashes: the cells were compared with
    /// those that were written.
    unread: usize,
    /// Equal arrays with a fragment that is not in the order of its schema.
    out_of_order: usize,
    /// Queries of those arrays for which libtiledb does not return what it returns after writing
    /// the same cells itself.
    odd_queries: usize,
    /// Queries with ranges for which libtiledb does not return the cells that are in them according
    /// to its own reading of the whole array, but tdb does.
    contradictions: usize,
    refused: usize,
    unreadable: usize,
    crashed: usize,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.equal, other.equal),
            (&mut self.queries, other.queries),
            (&mut self.facts, other.facts),
            (&mut self.unread, other.unread),
            (&mut self.by_writer, other.by_writer),
            (&mut self.out_of_order, other.out_of_order),
            (&mut self.odd_queries, other.odd_queries),
            (&mut self.contradictions, other.contradictions),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// The outcomes of one release.
struct Library {
    name: String,
    counts: Counts,
    coverage: Coverage,
    differences: Vec<String>,
    /// Queries for which libtiledb does not return what was written, by the rule that explains it.
    rules: BTreeMap<String, usize>,
}

impl Library {
    /// Lets the release write the arrays and libtiledb read them, and reads them with tdb.
    fn run(root: &Path, folder: &Path, name: &str, share: usize, options: &Options) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let cases = folder.join("cases.json");
        let cases = path(&cases)?;
        let share = share.to_string();
        let mut words = vec!["--version", name, "--seed", &options.seed, "--out", cases];
        let fills = options.per.is_some() || options.only.is_some();
        if !fills {
            words.extend(["--count", &share]);
        }
        peer::python(root, "version_cases.py", &words)?;
        let mut words = vec!["--cases", cases, "--out", path(folder)?, "--count", &share];
        if options.per.is_some() {
            words.push("--fill");
        }
        if let Some(only) = &options.only {
            words.extend(["--only", only]);
        }
        let reports = peer::python(root, "live.py", &words)?;
        let supported = read_json(Path::new(cases))?;
        let mut library = Self {
            name: name.to_owned(),
            counts: Counts::default(),
            coverage: Coverage::new(strings(&supported, "supported")),
            differences: Vec::new(),
            rules: BTreeMap::new(),
        };
        for report in reports.lines() {
            let report: Value = serde_json::from_str(report).map_err(|error| format!("live.py: {error}"))?;
            library.array(root, folder, &report, options)?;
        }
        Ok(library)
    }

    /// Compares what tdb reads from one array with what libtiledb read.
    fn array(&mut self, root: &Path, folder: &Path, report: &Value, options: &Options) -> Result<(), String> {
        let of = |part: &str| report.get(part).and_then(Value::as_str).unwrap_or_default();
        let case = of("name");
        let counts = &mut self.counts;
        let failures = match of("outcome") {
            "good" => None,
            "refused" => Some(&mut counts.refused),
            "unreadable" => Some(&mut counts.unreadable),
            _ => Some(&mut counts.crashed),
        };
        if let Some(failures) = failures {
            *failures = failures.saturating_add(1);
            if options.only.is_some() {
                println!("{case} {}: {}", of("outcome"), of("message"));
            }
            return Ok(());
        }
        let array = folder.join("arrays").join(case);
        let expected = read_json(&folder.join("expected").join(format!("{case}.json")))?;
        let outcome = expected::compare(&array, &expected);
        let mut wrong = outcome.facts;
        wrong.extend(outcome.unlike);
        for rule in outcome.written.into_iter().flatten() {
            let count = self.rules.entry(rule).or_default();
            *count = count.saturating_add(1);
        }
        let queries = expected.get("queries").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let (contradictions, differing): (Vec<_>, Vec<_>) =
            outcome.differing.into_iter().partition(|(index, _)| {
                queries.get(*index).is_some_and(|query| {
                    let cells = expected::contradiction(&expected, query);
                    cells
                        .is_some_and(|cells| expected::check_against(&array, &expected, query, cells).is_ok())
                })
            });
        counts.contradictions = counts.contradictions.saturating_add(contradictions.len());
        if !differing.is_empty() {
            let odd = stored_out_of_order(root, folder, case, &expected, &differing)?;
            if odd.is_ok() {
                counts.out_of_order = counts.out_of_order.saturating_add(1);
                counts.odd_queries = counts.odd_queries.saturating_add(differing.len());
            } else {
                wrong.extend(odd.err());
                wrong.extend(differing.iter().map(|(index, how)| format!("query {index}: {how}")));
            }
        }
        counts.queries = counts.queries.saturating_add(outcome.equal);
        if wrong.is_empty() {
            counts.equal = counts.equal.saturating_add(1);
            counts.facts = counts.facts.saturating_add(outcome.facts_equal);
            if of("reader") == "written" {
                counts.unread = counts.unread.saturating_add(1);
            } else if of("reader") != peer::READER {
                counts.by_writer = counts.by_writer.saturating_add(1);
            }
            self.coverage.add(strings(report, "bins"));
        } else {
            let (name, again) = (&self.name, options.again(&self.name, case));
            self.differences.push(format!("{name}/{case}: {}\n    {again}", wrong.join("\n    ")));
        }
        Ok(())
    }

    /// A paragraph on the release.
    fn text(&self, bins: bool) -> String {
        let Counts { equal, queries, by_writer, unread, out_of_order, contradictions, .. } = self.counts;
        let Counts { refused, unreadable, crashed, .. } = self.counts;
        format!(
            "libtiledb {:7} {equal:3} arrays equal, {queries:4} queries; {by_writer} read by the release itself, \
             {unread} by none, {out_of_order} stored out of order, {contradictions} queries where libtiledb contradicts itself, {} differ; not made: {refused} refused, {crashed} crashed, \
             {unreadable} unreadable\n{}",
            self.name,
            self.differences.len(),
            self.coverage.text(bins)
        )
    }
}

/// Whether the queries that differ do so because of the way the array is stored.
///
/// Two facts must be shown, both with libtiledb 2.30.0 alone. First, it would store the cells of a
/// fragment in another order than the stored one, or it returned coordinates twice that the array
/// contains once. Second, if it is not known that tdb returns what was written, an array that
/// libtiledb makes from the same steps must answer these queries as tdb does. The inner error is
/// the fact that could not be shown.
fn stored_out_of_order(
    root: &Path,
    folder: &Path,
    case: &str,
    expected: &Value,
    differing: &[(usize, String)],
) -> Result<Result<(), String>, String> {
    let cases = folder.join("cases.json");
    let again = folder.join("rewritten");
    let call = |out: &Path, flag: &str| {
        let words = ["--cases", path(&cases)?, "--out", path(out)?, "--only", case, flag];
        let answer = peer::python(root, "live.py", &words)?;
        serde_json::from_str::<Value>(&answer).map_err(|error| format!("live.py: {error}"))
    };
    let queries = expected.get("queries").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let repeats = |(index, _): &(usize, String)| {
        queries.get(*index).is_some_and(|query| expected::has_duplicates(expected, query))
    };
    let repeated = differing.iter().all(repeats);
    if !repeated {
        let stored = call(folder, "--stored")?;
        if strings(&stored, "stored").next().is_none() {
            let failed = stored.get("message").and_then(Value::as_str);
            return Ok(Err(failed.unwrap_or("all fragments are stored in their order").to_owned()));
        }
    }
    let unknown: Vec<_> = differing
        .iter()
        .filter(|(index, how)| {
            how != expected::NO_RULE || queries.get(*index).is_none_or(|q| q.get("model").is_none())
        })
        .collect();
    if unknown.is_empty() {
        return Ok(Ok(()));
    }
    let report = call(&again, "--rewrite")?;
    if report.get("outcome").and_then(Value::as_str) != Some("good") {
        return Ok(Err(format!("fragments are stored out of order, but 2.30.0 cannot write them: {report}")));
    }
    let rewritten = read_json(&again.join("expected").join(format!("{case}.json")))?;
    for (index, _) in unknown {
        let same = queries.get(*index).and_then(|query| expected::same_query(query, &rewritten));
        let Some(query) = same else {
            return Ok(Err(format!("query {index} is not asked of the array written anew")));
        };
        if let Err(error) = expected::check(&folder.join("arrays").join(case), expected, query) {
            return Ok(Err(format!("written anew by 2.30.0, query {index}: {error}")));
        }
    }
    Ok(Ok(()))
}

fn strings<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    value.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn read_json(file: &Path) -> Result<Value, String> {
    let content = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_slice(&content).map_err(|error| format!("{}: {error}", file.display()))
}

fn path(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::words;

    #[test]
    fn arguments_are_read_and_wrong_ones_refused() {
        let options = Options::parse(&words("--per 7 --seed 3 --library 2.8.2 --only v001_plain")).unwrap();
        assert_eq!((options.per, options.seed.as_str(), options.libraries.len()), (Some(7), "3", 1));
        assert!(options.again("2.8.2", "v001_plain").contains("--seed 3 --library 2.8.2 --only v001_plain"));
        for wrong in ["--per", "--per many", "--only v001_plain", "--all"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn releases_share_the_arrays() {
        let options = Options::parse(&words("--cases 8")).unwrap();
        assert_eq!([0, 1, 2].map(|place| options.share(place, 3)), [3, 3, 2]);
        assert_eq!(Options::parse(&words("--per 5")).unwrap().share(2, 3), 5);
    }

    #[test]
    fn an_empty_bin_too_few_arrays_and_a_difference_each_fail() {
        let library = |bins: &[&str], equal, differences: &[&str]| {
            let mut coverage = Coverage::new(["order/a", "order/b"].into_iter());
            coverage.add(bins.iter().copied());
            let counts = Counts { equal, ..Counts::default() };
            let differences = differences.iter().map(|text| (*text).to_owned()).collect();
            Library { name: "2.8.2".into(), counts, coverage, differences, rules: BTreeMap::new() }
        };
        let options = Options::parse(&words("--per 2")).unwrap();
        let name = "2.8.2".to_owned();
        let failure = |library| summary(&[], vec![(0, &name, Ok(library))], &options).err();
        assert_eq!(failure(library(&["order/a", "order/b"], 2, &[])), None);
        assert!(failure(library(&["order/a"], 2, &[])).unwrap().contains("no array of order/b"));
        assert!(failure(library(&["order/a", "order/b"], 1, &[])).unwrap().contains("only 1 of 2"));
        assert!(failure(library(&["order/a", "order/b"], 2, &["cell 3"])).unwrap().contains("cell 3"));
    }
}
