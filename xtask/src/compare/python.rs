//! `cargo xtask compare python`: what people write with TileDB-Py and with the Python package of
//! tdb, timed in turns.
//!
//! Two processes of the same Python answer requests (`xtask/peer/python_peer.py`): one has
//! TileDB-Py, the other the wheel of `crates/tdb-python`, built with the release profile. The goal
//! of a case is [`SHARE`] of the ratio that the crates reach in a case of the tables in
//! `docs/performance.md`: so much may be lost between the crates and Python, more than libtiledb
//! loses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::options::Options;
use super::table::{Conditions, Sample, aligned, duration, markdown_of, put_between};
use super::workers::{self, Worker};
use crate::peer::{self, repository_root};
use crate::python;

const USAGE: &str = "usage: cargo xtask compare python [--cases SUBSTR] [--rounds N] [--threads N] [--data DIR] [--write-docs]";
const MARKS: (&str, &str) = ("<!-- compare-python:begin -->", "<!-- compare-python:end -->");

/// What both processes have: the release of TileDB-Py that contains libtiledb 2.30 takes no later
/// pandas.
const PACKAGES: [&str; 6] =
    ["tiledb==0.36.1", "numpy>=2", "pandas<3", "pyarrow", "maturin==1.16.0", "setuptools"];

/// The share of the crates' ratio that is aimed at.
const SHARE: f64 = 0.8;
/// The ratio that is aimed at for single cells in a loop.
const LOOP: f64 = 10.0;
/// A side that takes longer than this many seconds answers a case only so often.
const LONG: f64 = 2.0;
const FEW: usize = 1;
/// Cases that no side takes longer for than this are run [`MORE`] times as often.
const SHORT: f64 = 0.05;
const MORE: usize = 5;

const INTRODUCTION: &str = "
## Python

`cargo xtask compare python` has TileDB-Py and the Python package of tdb do the same: whole dense arrays, windows, tables of pandas,
conditions, single cells in a loop, and new arrays of tables. Each is timed from opening the array to results in Python, with the
settings that programs get without asking, but two threads; the arrays are those of the first table. The results of all cases are compared.
Ratios are TileDB-Py's median time divided by tdb's. The goal is 0.8 of the ratio that the crates reach in the named case of the tables
above; for the loop it is 10.
";

/// What is asked of both sides.
pub(super) struct Case {
    pub(super) name: &'static str,
    op: &'static str,
    /// The array, or the kind of table.
    of: &'static str,
    /// The case of `docs/performance.md` whose ratio the goal is made of; none: [`LOOP`].
    crates: Option<&'static str>,
}

const fn case(name: &'static str, op: &'static str, of: &'static str, crates: Option<&'static str>) -> Case {
    Case { name, op, of, crates }
}

pub(super) const CASES: [Case; 16] = [
    case("A[:], f64, no filter", "whole", "dense_none", Some("dense f64, no filter: all")),
    case("A[:], f64, zstd", "whole", "dense_zstd", Some("dense f64, zstd: all")),
    case("A[:], i32, byteshuffle + zstd", "whole", "dense_i32", Some("dense i32, byteshuffle + zstd: all")),
    case("A[:], strings", "whole", "strings_dense", Some("strings, dense: all")),
    case("window, f64, no filter", "window", "dense_none", Some("dense f64, no filter: window")),
    case("window, f64, zstd", "window", "dense_zstd", Some("dense f64, zstd: window")),
    case("1,000 single cells, f64, no filter", "cells", "dense_none", None),
    case("1,000 single cells, i32, byteshuffle + zstd", "cells", "dense_i32", None),
    case("1,000 single cells, array of 16 cells", "cells", "quickstart", None),
    case(".df[:], points, duplicates", "df", "points_dups", Some("points, duplicates: all, unordered")),
    case(".df[:], points", "df", "points", Some("points: all, unordered")),
    case(".df[:], strings", "df", "strings_sparse", Some("strings, sparse: all, unordered")),
    case(
        "query(cond), duplicates",
        "query",
        "measures_dups",
        Some("condition on two attributes, 0.03 %, duplicates"),
    ),
    case("query(cond)", "query", "measures", Some("condition on two attributes, 0.03 %")),
    case("from_pandas, numbers", "from_pandas", "numbers", Some("8 M cells, unordered")),
    case("from_pandas, texts", "from_pandas", "texts", Some("strings, sparse, unordered")),
];

impl Case {
    pub(super) fn request(&self, root: &Path, data: &Path) -> Value {
        let uri = data.join(self.of).display().to_string();
        match self.op {
            "window" => json!({"op": "window", "uri": uri, "rows": [2001, 2101], "columns": [3045, 3145]}),
            "cells" if self.of == "quickstart" => {
                let uri = root.join("xtask/fixtures/arrays/2.30.0/quickstart").display().to_string();
                json!({"op": "cells", "uri": uri, "first": 1, "side": 4})
            }
            "cells" => json!({"op": "cells", "uri": uri, "first": 0, "side": 5120}),
            "query" => json!({"op": "query", "uri": uri, "cond": "k == 7 and v > 0.7"}),
            "from_pandas" => json!({"op": "from_pandas", "kind": self.of, "index": ["x", "y"]}),
            op => json!({"op": op, "uri": uri}),
        }
    }

    /// The ratio that is aimed at, from the tables of the page.
    fn goal(&self, page: &str) -> Option<f64> {
        match self.crates {
            None => Some(LOOP),
            Some(case) => ratio_in(page, case).map(|ratio| ratio * SHARE),
        }
    }
}

/// The ratio of a case in the tables of a page: the column of its table that is headed `ratio`.
fn ratio_in(page: &str, case: &str) -> Option<f64> {
    let mut column = None;
    for line in page.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if cells.first() == Some(&"case") {
            column = cells.iter().position(|cell| *cell == "ratio");
        }
        if cells.first() == Some(&case) {
            return cells.get(column?)?.parse().ok();
        }
    }
    None
}

/// The times of a case.
struct Row {
    name: String,
    cells: u64,
    tdb: Sample,
    peer: Sample,
    goal: Option<f64>,
    wrong: Option<String>,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args, 7, &[], USAGE)?;
    let root = repository_root()?;
    let cases = options.chosen(&CASES, |case| case.name)?;
    let (_, data) = workers::arrays(&root, options.data.clone())?;
    let interpreter = interpreter()?;
    install(&root, &interpreter)?;
    let page = fs::read_to_string(root.join("docs/performance.md")).map_err(|e| e.to_string())?;
    let side = |name: &'static str, word: &str| {
        let script = root.join("xtask/peer/python_peer.py");
        let threads = options.threads.to_string();
        Worker::start(name, Command::new(&interpreter).arg(script).args([word, "--threads", &threads]))
    };
    let (mut tdb, mut peer) = (side("tdb", "tdb")?, side("TileDB-Py", "tiledb")?);
    let mut rows = Vec::new();
    for case in cases {
        eprintln!("{}", case.name);
        let request = case.request(&root, &data);
        let row = measure(case, &request, options.rounds, case.goal(&page), (&mut tdb, &mut peer));
        rows.push(row.map_err(|error| format!("{}: {error}", case.name))?);
    }
    let conditions = Conditions::new(&tdb, &peer, options.threads, options.rounds).text();
    let lines = lines(&rows);
    println!("{}\n{conditions}", aligned(&lines));
    if options.write_docs {
        let text = format!("{}\n{conditions}", markdown_of(&lines));
        put_between(&root.join("docs/performance.md"), MARKS, INTRODUCTION, &text)?;
    }
    let wrong: Vec<String> =
        rows.iter().filter_map(|row| Some(format!("WRONG {}: {}", row.name, row.wrong.as_ref()?))).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// The Python of an environment that has [`PACKAGES`].
pub(super) fn interpreter() -> Result<PathBuf, String> {
    peer::environment("python-api", "bin/python", &PACKAGES)
}

/// Builds the wheel with the release profile, and installs it.
fn install(root: &Path, interpreter: &Path) -> Result<(), String> {
    let folder = workers::target(root).join("python/release");
    let maturin = interpreter.with_file_name("maturin");
    let how = python::Build { profile: "release", features: "", target: None };
    let wheel = python::build(root, &folder, &maturin, interpreter, how)?;
    let pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--force-reinstall", "--no-deps"];
    workers::run(Command::new(interpreter).args(pip).arg(wheel))
}

/// Both sides do it once, to compare the results, and then in turns.
fn measure(
    case: &Case,
    request: &Value,
    rounds: usize,
    goal: Option<f64>,
    (tdb, peer): (&mut Worker, &mut Worker),
) -> Result<Row, String> {
    let (ours, theirs) = (tdb.ask(request)?, peer.ask(request)?);
    let mut row = Row {
        name: case.name.into(),
        cells: ours.cells,
        tdb: Sample::default(),
        peer: Sample::default(),
        goal,
        wrong: None,
    };
    let (own, other) = (super::hash(tdb)?, super::hash(peer)?);
    if own != other {
        row.wrong = Some(format!("tdb has {own}, TileDB-Py has {other}"));
    }
    let longest = ours.seconds.max(theirs.seconds);
    let rounds = if longest < SHORT { rounds.saturating_mul(MORE) } else { rounds };
    for round in 0..rounds {
        row.tdb.add(tdb.ask(request)?.seconds, None);
        if theirs.seconds < LONG || round < FEW {
            row.peer.add(peer.ask(request)?.seconds, None);
        }
    }
    Ok(row)
}

fn lines(rows: &[Row]) -> Vec<Vec<String>> {
    let dash = || "–".to_owned();
    let head = ["case", "cells", "tdb", "TileDB-Py", "ratio", "goal"].map(str::to_owned).to_vec();
    let line = |row: &Row| {
        let (ours, theirs) = (row.tdb.median(), row.peer.median());
        let ratio = match (&row.wrong, ours, theirs) {
            (Some(_), ..) => "WRONG".to_owned(),
            (None, Some(ours), Some(theirs)) if ours > 0.0 => format!("{:.2}", theirs / ours),
            _ => dash(),
        };
        let time = |median: Option<f64>| median.map_or_else(dash, duration);
        let goal = row.goal.map_or_else(dash, |goal| format!("{goal:.2}"));
        vec![row.name.clone(), row.cells.to_string(), time(ours), time(theirs), ratio, goal]
    };
    core::iter::once(head).chain(rows.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_shares_of_the_ratios_in_the_page() {
        let page = "| case | tdb | ratio |\n|---|---:|---:|\n| a: all | 1 ms | 2.50 |\n\n| case | ratio | tdb |\n| b | 4 | 1 |\n";
        assert_eq!(ratio_in(page, "a: all"), Some(2.5));
        assert_eq!(ratio_in(page, "b"), Some(4.0));
        assert_eq!(ratio_in(page, "c"), None);
        assert_eq!(case("", "whole", "", Some("a: all")).goal(page), Some(2.0));
        assert_eq!(case("", "cells", "", None).goal(page), Some(LOOP));
    }

    #[test]
    fn every_case_has_a_goal_in_the_present_page() {
        let page = include_str!("../../../docs/performance.md");
        for case in &CASES {
            assert!(case.goal(page).is_some(), "{}", case.name);
        }
    }

    #[test]
    fn different_results_have_no_ratio() {
        let mut row = Row {
            name: "a".into(),
            cells: 2,
            tdb: Sample::default(),
            peer: Sample::default(),
            goal: Some(2.0),
            wrong: None,
        };
        row.tdb.add(0.01, None);
        row.peer.add(0.05, None);
        assert_eq!(lines(&[row])[1], ["a", "2", "10.0 ms", "50.0 ms", "5.00", "2.00"]);
    }
}
