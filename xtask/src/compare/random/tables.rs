//! `cargo xtask compare tables`: times SQL over arrays, and over Parquet files of the same rows, on
//! tables and questions that nobody chose.
//!
//! `xtask/peer/compare_tables.py` draws them from a seed. tdb-datafusion, DataFusion and DuckDB
//! answer in turns; the lowest ratios stand first. Like `compare random` it is a hunt, not a
//! measurement to publish. The command fails where the answers differ, and, with `--least`, where
//! another engine takes less than that share of tdb's time.

use std::fs;

use serde_json::Value;

use super::super::peers;
use super::super::sql;
use super::super::table::{Sample, aligned, duration};
use super::super::workers::{self, Worker};
use super::{Case, Options, draw};
use crate::peer::repository_root;

/// The sides, in the order of the columns.
const SIDES: [&str; 3] = ["tdb", "DataFusion", "DuckDB"];

/// The times of a question.
struct Row {
    rows: u64,
    times: [Sample; SIDES.len()],
    /// What the sides do not agree about.
    wrong: Option<String>,
}

impl Row {
    /// The time of a side divided by tdb's.
    fn ratio(&self, side: usize) -> Option<f64> {
        let [ours, theirs] = [0, side].map(|side| self.times.get(side).and_then(Sample::median));
        Some(theirs? / ours?)
    }

    /// The lowest ratio.
    fn least(&self) -> f64 {
        (1..SIDES.len()).filter_map(|side| self.ratio(side)).fold(f64::INFINITY, f64::min)
    }
}

/// Entry point of the subcommand.
pub(in super::super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let python = peers::python()?;
    let folder = workers::cache()?.join("tables");
    let cases = draw(&root.join("xtask/peer/compare_tables.py"), &python, &folder, &options)?;
    let mut sides = vec![sql::worker(&root, options.worker.as_deref(), options.threads)?];
    for (name, engine) in [("DataFusion", "datafusion"), ("DuckDB", "duckdb")] {
        sides.push(peers::engine(&root, &python, name, engine, options.threads)?);
    }
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for case in cases.iter().filter(|case| case.name.contains(&options.only)) {
        match measured(case, options.runs, &mut sides) {
            Ok(row) => rows.push((case, row)),
            Err(error) => failed.push(format!("{}: {error}; {}", case.name, case.about)),
        }
    }
    rows.sort_by(|(_, a), (_, b)| a.least().total_cmp(&b.least()));
    println!("{}", aligned(&lines(&rows)));
    for (case, row) in rows.iter().take(20) {
        let query = case.request.get("query").and_then(Value::as_str).unwrap_or_default();
        println!("{:.2} {}: {query}; {}", row.least(), case.name, case.about);
    }
    for error in &failed {
        println!("not answered: {error}");
    }
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let bad = rows.iter().filter(|(_, row)| row.wrong.is_some() || row.least() < options.least).count();
    if bad == 0 && failed.is_empty() {
        Ok(())
    } else {
        let (least, failed) = (options.least, failed.len());
        Err(format!(
            "{bad} questions with different answers or below {least}, {failed} that a side does not answer"
        ))
    }
}

/// Has all sides answer, compares the answers, and times them in turns.
fn measured(case: &Case, runs: usize, sides: &mut [Worker]) -> Result<Row, String> {
    let mut row = Row { rows: 0, times: Default::default(), wrong: None };
    let mut first = None;
    for (worker, side) in sides.iter_mut().zip(SIDES) {
        let answer = worker.ask(&case.request)?;
        let found = (answer.cells, super::super::hash(worker)?);
        match &first {
            None => (row.rows, first) = (answer.cells, Some(found)),
            Some(ours) if *ours != found => {
                row.wrong = Some(format!("{side} has {found:?}, tdb has {ours:?}"));
            }
            Some(_) => {}
        }
    }
    for _ in 0..runs {
        for (worker, times) in sides.iter_mut().zip(&mut row.times) {
            times.add(worker.ask(&case.request)?.seconds, None);
        }
    }
    Ok(row)
}

fn lines(rows: &[(&Case, Row)]) -> Vec<Vec<String>> {
    let mut head = vec!["question".to_owned(), "rows".to_owned()];
    head.extend(SIDES.map(str::to_owned));
    head.extend(SIDES.iter().skip(1).map(|side| format!("{side} / tdb")));
    let mut lines = vec![head];
    for (case, row) in rows {
        let mut line = vec![case.name.clone(), row.rows.to_string()];
        line.extend(row.times.iter().map(|times| times.median().map_or_else(|| "–".to_owned(), duration)));
        line.extend((1..SIDES.len()).map(|side| match (&row.wrong, row.ratio(side)) {
            (Some(wrong), _) => format!("WRONG: {wrong}"),
            (None, ratio) => ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
        }));
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(times: [f64; SIDES.len()], wrong: Option<&str>) -> Row {
        let mut row = Row { rows: 1, times: Default::default(), wrong: wrong.map(str::to_owned) };
        for (sample, seconds) in row.times.iter_mut().zip(times) {
            sample.add(seconds, None);
        }
        row
    }

    #[test]
    fn the_least_ratio_is_that_of_the_fastest_other_side() {
        assert!((row([0.02, 0.03, 0.01], None).least() - 0.5).abs() < 1e-9);
        assert!((row([0.02, 0.01, 0.03], None).least() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn different_answers_are_said_in_the_place_of_ratios() {
        let case = json!({"array": "t1_0", "about": "", "what": "whole", "request": {}});
        let case = Case::parse(&case).unwrap();
        let rows =
            [(&case, row([0.01, 0.02, 0.03], None)), (&case, row([0.01, 0.02, 0.03], Some("other rows")))];
        let lines = lines(&rows);
        assert_eq!(lines[1][2..], ["10.0 ms", "20.0 ms", "30.0 ms", "2.00", "3.00"]);
        assert!(lines[2][5..].iter().all(|ratio| ratio == "WRONG: other rows"));
    }
}
