//! `cargo xtask compare random`: times tdb and libtiledb on arrays and queries that nobody chose.
//!
//! `xtask/peer/compare_random.py` draws them from a seed: datatypes, filters, orders, numbers of
//! dimensions, attributes and fragments, and what the cells are like. The table is sorted by ratio,
//! so what is slow stands first; it is a hunt, not a measurement to publish. The command fails
//! where the two sides have other cells, and, with `--least`, below that ratio.

pub(super) mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::table::{self, Row};
use super::workers::{self, Worker};
use super::{count, timed};
use crate::peer::repository_root;

const USAGE: &str = "usage: cargo xtask compare random [--seed N] [--arrays N] [--runs N] [--threads N] [--only SUBSTR] [--least RATIO]
       cargo xtask compare tables [--seed N] [--arrays N] [--runs N] [--threads N] [--only SUBSTR] [--least RATIO] [--worker COMMAND]";

struct Options {
    seed: String,
    arrays: usize,
    runs: usize,
    threads: usize,
    only: String,
    least: f64,
    /// A build of tdb's side for SQL, if it is not to be built.
    worker: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let (seed, only, worker) = ("1".to_owned(), String::new(), None);
        let mut options = Self { seed, arrays: 8, runs: 3, threads: 2, only, least: 0.0, worker };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--seed" => options.seed = count(arg, value()?)?.to_string(),
                "--arrays" => options.arrays = count(arg, value()?)?,
                "--runs" => options.runs = count(arg, value()?)?,
                "--threads" => options.threads = count(arg, value()?)?,
                "--only" => options.only.clone_from(value()?),
                "--worker" => options.worker = Some(value()?.into()),
                "--least" => {
                    let text = value()?;
                    options.least =
                        text.parse().map_err(|_| format!("--least needs a number, not {text:?}"))?;
                }
                _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
            }
        }
        Ok(options)
    }
}

/// One query of one array.
struct Case {
    name: String,
    about: String,
    request: Value,
}

impl Case {
    fn parse(case: &Value) -> Result<Self, String> {
        let text = |name: &str| {
            case.get(name).and_then(Value::as_str).ok_or_else(|| format!("a case has no {name}"))
        };
        let request = case.get("request").ok_or("a case has no request")?.clone();
        Ok(Self {
            name: format!("{} {}", text("array")?, text("what")?),
            about: text("about")?.to_owned(),
            request,
        })
    }

    /// The codecs of the same fields alone, for reads of whole arrays.
    fn limit(&self) -> Option<Value> {
        let whole = self.name.contains(" whole, ");
        whole.then(|| json!({"op": "codec", "array": self.request.get("array"), "fields": self.request.get("fields")}))
    }
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let python = workers::environment()?;
    let folder = workers::cache()?.join("random");
    let cases = draw(&root.join("xtask/peer/compare_random.py"), &python, &folder, &options)?;
    let cases: Vec<&Case> = cases.iter().filter(|case| case.name.contains(&options.only)).collect();
    let program = workers::build_tdb(&root)?;
    let mut sides = (program.start(options.threads)?, workers::peer(&root, &python, options.threads)?);
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for case in cases {
        match measured(case, options.runs, &mut sides) {
            Ok(row) => rows.push((case, row)),
            Err(error) => {
                failed.push(format!("{error}; {}", case.about));
                // A side that has ended does not answer the next case.
                sides = (program.start(options.threads)?, workers::peer(&root, &python, options.threads)?);
            }
        }
    }
    rows.sort_by(|(_, a), (_, b)| ratio(a).total_cmp(&ratio(b)));
    report(&rows, &failed, &options, &sides);
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let bad = rows.iter().filter(|(_, row)| row.wrong.is_some() || ratio(row) < options.least).count();
    // libtiledb cannot answer all of these in one go, whatever the size of its buffers.
    let own = failed.iter().filter(|error| !error.contains(": libtiledb: ")).count();
    if bad == 0 && own == 0 {
        Ok(())
    } else {
        Err(format!(
            "{bad} queries with other cells or below {}, {own} that tdb does not answer",
            options.least
        ))
    }
}

/// Has the arrays written, and reads what is asked of them.
fn draw(script: &Path, python: &Path, folder: &Path, options: &Options) -> Result<Vec<Case>, String> {
    let mut command = std::process::Command::new(python);
    command.arg(script).arg("--out").arg(folder).args(["--seed", &options.seed]);
    workers::run(command.args(["--cases", &options.arrays.to_string()]))?;
    let path = folder.join("cases.json");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let cases: Vec<Value> =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    cases.iter().map(Case::parse).collect()
}

/// Times a case, with its limit if that can be had.
fn measured(case: &Case, runs: usize, (tdb, peer): &mut (Worker, Worker)) -> Result<Row, String> {
    let limit = case.limit().filter(|limit| tdb.ask(limit).is_ok());
    timed(&case.name, case.request.clone(), limit.as_ref(), false, runs, (tdb, peer))
}

fn report(rows: &[(&Case, Row)], failed: &[String], options: &Options, (tdb, peer): &(Worker, Worker)) {
    let only: Vec<&Row> = rows.iter().map(|(_, row)| row).collect();
    print!("{}", table::text(only, &table::Conditions::new(tdb, peer, options.threads, options.runs)));
    for (case, row) in rows.iter().take(20) {
        println!("{:.2} {}: {}", ratio(row), case.name, case.about);
    }
    for error in failed {
        println!("not answered: {error}");
    }
}

/// libtiledb's time divided by tdb's.
fn ratio(row: &Row) -> f64 {
    let times = row.peer.median().zip(row.tdb.median());
    times.map_or(f64::NAN, |(peer, tdb)| peer / tdb)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_have_defaults_and_wrong_ones_are_refused() {
        let options = parse("--seed 7 --least 1.5").unwrap();
        assert_eq!((options.seed.as_str(), options.arrays, options.threads), ("7", 8, 2));
        assert!((options.least - 1.5).abs() < 1e-9);
        for wrong in ["--seed", "--seed x", "--arrays 0", "--least much", "--write-docs"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_reads_of_whole_arrays_have_a_limit() {
        let case = |what: &str| {
            let request = json!({"op": "read", "array": "/a", "fields": ["x"]});
            Case::parse(&json!({"array": "1_0", "about": "dense", "what": what, "request": request})).unwrap()
        };
        let limit = case("whole, row-major").limit().unwrap();
        assert_eq!(limit, json!({"op": "codec", "array": "/a", "fields": ["x"]}));
        assert!(case("box of 5 %").limit().is_none());
        assert!(
            Case::parse(&json!({"array": "1_0", "what": "box", "request": {}}))
                .is_err_and(|error| error.contains("about"))
        );
    }

    #[test]
    fn rows_without_times_have_no_ratio() {
        let mut row = Row::new("case".to_owned(), 1, 8);
        assert!(ratio(&row).is_nan());
        row.tdb.add(0.5, None);
        row.peer.add(2.0, None);
        assert!((ratio(&row) - 4.0).abs() < 1e-9);
    }
}
