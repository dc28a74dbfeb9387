//! `cargo xtask compare sql`: the same questions in SQL to tdb-datafusion, to DataFusion and DuckDB
//! on Parquet, and to libtiledb with pyarrow.
//!
//! Sides are processes that take turns. The cells are those of `super::peers`; the questions are in
//! [`cases`].

mod cases;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use self::cases::Case;
use super::options::Options;
use super::peers;
use super::table::{Conditions, Sample, aligned, duration, markdown_of, put_between};
use super::workers::{self, Answer, Worker};
use crate::peer::repository_root;

const WORKER: &str = "tdb-sql-worker";
const USAGE: &str = "usage: cargo xtask compare sql [--cases SUBSTR] [--rounds N] [--threads N] [--data DIR] [--small] [--worker COMMAND] [--write-docs]";
const MARKS: (&str, &str) = ("<!-- compare-sql:begin -->", "<!-- compare-sql:end -->");

/// A side that takes longer than this many seconds answers a question once.
const ONCE: f64 = 2.0;
/// Questions that no side takes longer for than this are asked [`MORE`] times as often.
const SHORT: f64 = 0.03;
const MORE: usize = 5;

const INTRODUCTION: &str = "
## SQL

`cargo xtask compare sql` asks the same questions of the same cells: 4 million cells in four fragments, 2 million words, 2,000 names with
1,000 numbers each, as above. tdb answers through `tdb-datafusion`, built without link-time optimisation; DataFusion and DuckDB read
Parquet; for libtiledb, pyarrow computes what is left after its ranges and conditions. Each side has two threads, opens arrays or files
again for each question, and ends with columns of Arrow; the command compares all answers first. Ratios are the side's median time
divided by tdb's: above 1, tdb is faster. A side that takes longer than two seconds answers once.
";

/// The sides, in the order of the columns.
const SIDES: [&str; 4] = ["tdb", "DataFusion", "DuckDB", "libtiledb"];

/// The times of a question.
struct Row {
    name: String,
    cells: u64,
    times: [Sample; SIDES.len()],
    wrong: Option<String>,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args, 5, &["--small", "--worker"], USAGE)?;
    let root = repository_root()?;
    let all = cases::all();
    let cases = options.chosen(&all, |case| case.name.as_str())?;
    let data = peers::data(&root, options.data.clone(), options.small)?;
    let python = peers::python()?;
    // Says how large the buffers of libtiledb have to be.
    let mut sizes = workers::tdb(&root, options.threads)?;
    let mut workers = vec![worker(&root, options.worker.as_deref(), options.threads)?];
    for (name, engine) in [("DataFusion", "datafusion"), ("DuckDB", "duckdb"), ("libtiledb", "libtiledb")] {
        workers.push(peers::engine(&root, &python, name, engine, options.threads)?);
    }
    let mut rows = Vec::new();
    for case in cases {
        eprintln!("{}", case.name);
        let row = measure(case, &data, options.rounds, &mut workers, &mut sizes);
        rows.push(row.map_err(|error| format!("{}: {error}", case.name))?);
    }
    let ours = Conditions::without_others(&sizes, options.threads, options.rounds);
    let others: Vec<String> = workers.iter().skip(1).map(|worker| worker.version.clone()).collect();
    let conditions = format!("{ours}; {}.", others.join(", "));
    let lines = lines(&rows);
    println!("{}\n{conditions}", aligned(&lines));
    if options.write_docs {
        let text = format!("{}\n{conditions}\n", markdown_of(&lines));
        put_between(&root.join("docs/performance.md"), MARKS, INTRODUCTION, &text)?;
    }
    let wrong: Vec<String> =
        rows.iter().filter_map(|row| Some(format!("WRONG {}: {}", row.name, row.wrong.as_ref()?))).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn measure(
    case: &Case,
    data: &Path,
    rounds: usize,
    workers: &mut [Worker],
    sizes: &mut Worker,
) -> Result<Row, String> {
    let request = with_sizes(case.request(data), sizes)?;
    let mut row = Row { name: case.name.clone(), cells: 0, times: Default::default(), wrong: None };
    let mut ours: Option<(u64, String)> = None;
    let mut first = Vec::new();
    for (worker, side) in workers.iter_mut().zip(SIDES) {
        let answer: Answer = worker.ask(&request)?;
        let found = (answer.cells, super::hash(worker)?);
        row.cells = answer.cells;
        match &ours {
            None => ours = Some(found),
            Some(ours) if *ours != found => {
                row.wrong = Some(format!("{side} has {found:?}, tdb has {ours:?}"));
            }
            Some(_) => {}
        }
        first.push(answer.seconds);
    }
    let longest = first.iter().copied().fold(0.0, f64::max);
    for _ in 0..if longest < SHORT { rounds.saturating_mul(MORE) } else { rounds } {
        for ((worker, times), first) in workers.iter_mut().zip(&mut row.times).zip(&first) {
            if *first < ONCE {
                times.add(worker.ask(&request)?.seconds, None);
            }
        }
    }
    for (times, first) in row.times.iter_mut().zip(first).filter(|(_, first)| *first >= ONCE) {
        times.add(first, None);
    }
    Ok(row)
}

/// Adds to each read of libtiledb how many bytes it returns.
fn with_sizes(mut request: Value, tdb: &mut Worker) -> Result<Value, String> {
    let tables = request.get_mut("tables").and_then(Value::as_object_mut).ok_or("no tables")?;
    for table in tables.values_mut() {
        let read = table.get_mut("read").and_then(Value::as_object_mut).ok_or("no read")?;
        // Without the condition, which tdb reads in another form: buffers may be too large.
        let answer = tdb.ask(&Value::from(read.clone()))?;
        for name in ["sizes", "widths"] {
            read.insert(name.into(), answer.json.get(name).cloned().unwrap_or(json!(null)));
        }
    }
    Ok(request)
}

fn lines(rows: &[Row]) -> Vec<Vec<String>> {
    let dash = || "–".to_owned();
    let mut head: Vec<String> = ["question", "rows"].map(str::to_owned).into();
    head.extend(SIDES.map(str::to_owned));
    head.extend(SIDES.iter().skip(1).map(|side| format!("{side} / tdb")));
    let mut lines = vec![head];
    for row in rows {
        let medians = row.times.each_ref().map(Sample::median);
        let mut line = vec![row.name.clone(), row.cells.to_string()];
        line.extend(medians.iter().map(|median| median.map_or_else(dash, duration)));
        let tdb = medians.first().copied().flatten();
        line.extend(medians.iter().skip(1).map(|other| match (other, tdb) {
            _ if row.wrong.is_some() => "WRONG".to_owned(),
            (Some(other), Some(tdb)) if tdb > 0.0 => format!("{:.2}", other / tdb),
            _ => dash(),
        }));
        lines.push(line);
    }
    lines
}

/// Starts tdb's side, and builds it before unless a program is given.
///
/// It has a target folder of its own, and no link-time optimisation, because DataFusion takes long
/// to build without it already.
pub(super) fn worker(root: &Path, program: Option<&Path>, threads: usize) -> Result<Worker, String> {
    if let Some(program) = program {
        return start(program, threads);
    }
    let target = workers::target(root).join("sql");
    let folder = workers::target(root).join("sql-worker");
    let source = root.join("xtask/src/compare/sql/worker.rs").display().to_string();
    let path = root.join("crates/tdb-datafusion").display().to_string();
    let manifest = format!(
        "# Written by `cargo xtask compare sql`.\n\
         [package]\nname = \"{WORKER}\"\nedition = \"2024\"\npublish = false\n\n\
         [[bin]]\nname = \"{WORKER}\"\npath = {source:?}\n\n\
         [dependencies]\ntdb-datafusion = {{ path = {path:?} }}\nserde_json = \"1\"\n\
         tokio = {{ version = \"1\", default-features = false, features = [\"rt-multi-thread\"] }}\n\n\
         [workspace]\n\n\
         [profile.release]\nopt-level = 2\nlto = false\ncodegen-units = 16\n"
    );
    let package = workers::package(root, &folder, &manifest)?;
    workers::release(&package, &target, &workers::version_of(root)?)?;
    start(&target.join("release").join(WORKER), threads)
}

fn start(program: &Path, threads: usize) -> Result<Worker, String> {
    Worker::start("tdb-datafusion", Command::new(program).arg(threads.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_the_others_to_tdb() {
        let mut row = Row { name: "count".into(), cells: 1, times: Default::default(), wrong: None };
        for (times, seconds) in row.times.iter_mut().zip([0.01, 0.02, 0.005]) {
            times.add(seconds, None);
        }
        let lines = lines(&[row]);
        assert_eq!(lines[1], ["count", "1", "10.0 ms", "20.0 ms", "5.00 ms", "–", "2.00", "0.50", "–"]);
    }

    #[test]
    fn a_question_with_different_answers_has_no_ratio() {
        let mut row = Row {
            name: "count".into(),
            cells: 1,
            times: Default::default(),
            wrong: Some("different".into()),
        };
        for times in &mut row.times {
            times.add(0.1, None);
        }
        assert_eq!(lines(&[row])[1][6..], ["WRONG", "WRONG", "WRONG"]);
    }
}
