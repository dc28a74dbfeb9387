//! `cargo xtask compare growth`: what a cell, a fragment, an attribute, a dimension costs when
//! there are more of them.
//!
//! tdb alone, on arrays that it writes for this: each line has more of one thing than the line
//! before. Beside each time stands the growth: how many times as much the line took as the one
//! before, divided by how many times as much it has. At 1, costs are linear.

mod lines;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::lines::{Group, Line};
use super::options::Options;
use super::table::{Conditions, aligned, duration, markdown_of, median, put_between};
use super::workers::{self, Program};
use crate::peer::repository_root;

const USAGE: &str = "usage: cargo xtask compare growth [--cases SUBSTR]... [--rounds N] [--threads N] [--data DIR] [--write-docs]";
const MARKS: (&str, &str) = ("<!-- compare-growth:begin -->", "<!-- compare-growth:end -->");

const INTRODUCTION: &str = "
## How costs grow

`cargo xtask compare growth` writes arrays of which each has more of one thing than the one before, and reads them with two threads: more
cells, the same cells in more fragments (all of which overlap), more attributes, more dimensions. Times are medians; each read opens the
array again. Beside each figure stands its growth in brackets: how many times as much it is as in the line above, divided by how many
times as much there is of what grows. At 1, costs are linear; below 1, a part of them does not grow. *Peak* is the most memory that a
process of its own had during the reads, beyond what it had before.
";

/// What is measured, in the order of the columns.
const MEASURES: [&str; 6] = ["write", "open", "whole", "whole, row-major", "a thousandth", "peak"];

/// The results of a line: seconds, and KiB for the peak.
type Figures = [f64; MEASURES.len()];

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args, 5, &[], USAGE)?;
    let root = repository_root()?;
    let groups = options.chosen(lines::groups(), |group| group.name)?;
    let folder =
        options.data.clone().map_or_else(|| Ok(workers::cache()?.join("growth")), Ok::<PathBuf, String>)?;
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = workers::build_tdb(&root)?;
    let mut measured = Vec::new();
    for group in groups {
        let mut rows = Vec::new();
        for line in &group.lines {
            eprintln!("{}: {}", group.name, line.count);
            let figures = measure(line, &folder, &options, &program);
            rows.push((
                line.count,
                figures.map_err(|error| format!("{}, {}: {error}", group.name, line.count))?,
            ));
        }
        measured.push((group, rows));
    }
    let worker = program.start(options.threads)?;
    let conditions = Conditions::without_others(&worker, options.threads, options.rounds) + ".";
    let table = table(&measured);
    println!("{}\n{conditions}", aligned(&table));
    if options.write_docs {
        let text = format!("{}\n{conditions}\n", markdown_of(&table));
        put_between(&root.join("docs/performance.md"), MARKS, INTRODUCTION, &text)?;
    }
    Ok(())
}

/// Writes the array of a line, and reads it in a process of its own.
fn measure(line: &Line, folder: &Path, options: &Options, program: &Program) -> Result<Figures, String> {
    let array = folder.join("array");
    let mut times: [Vec<f64>; 5] = Default::default();
    {
        let mut writer = program.start(options.threads)?;
        writer.ask(&json!({"op": "load", "columns": line.columns(folder)?}))?;
        let write = line.write(&array);
        // Writes of many fragments take long and vary little.
        for _ in 0..if line.pieces > 100 { 1 } else { options.rounds.min(3) } {
            times[0].push(writer.ask(&write)?.seconds);
        }
    }
    let mut reader = program.start(options.threads)?;
    let open = json!({"op": "open", "array": array.display().to_string()});
    let requests: [Value; 4] = [
        open,
        line.read(&array, "unordered", false),
        line.read(&array, "row-major", false),
        line.read(&array, "unordered", true),
    ];
    let mut peak = 0;
    for round in 0..=options.rounds {
        for (request, times) in requests.iter().zip(times.iter_mut().skip(1)) {
            let answer = reader.ask(request)?;
            peak = peak.max(answer.peak.unwrap_or(0));
            if round > 0 {
                times.push(answer.seconds);
            }
        }
    }
    fs::remove_dir_all(&array).map_err(|error| format!("{}: {error}", array.display()))?;
    let [write, open, whole, ordered, part] = times.map(|seconds| median(&seconds).unwrap_or(f64::NAN));
    let kilobytes = u32::try_from(peak.saturating_sub(reader.resident)).map_err(|_| "a peak of terabytes")?;
    Ok([write, open, whole, ordered, part, f64::from(kilobytes)])
}

/// The table: a block of lines for each group.
fn table(measured: &[(Group, Vec<(u32, Figures)>)]) -> Vec<Vec<String>> {
    let mut head: Vec<String> = ["what grows", "number"].map(str::to_owned).into();
    head.extend(MEASURES.map(str::to_owned));
    let mut table = vec![head];
    for (group, rows) in measured {
        let mut before: Option<&(u32, Figures)> = None;
        for row in rows {
            let (count, figures) = row;
            let mut line = vec![group.name.to_owned(), count.to_string()];
            for (measure, figure) in figures.iter().enumerate() {
                let shown = if measure + 1 == figures.len() {
                    format!("{:.0} MiB", figure / 1024.0)
                } else {
                    duration(*figure)
                };
                let old = before.and_then(|(old, figures)| Some((*old, *figures.get(measure)?)));
                line.push(match old {
                    Some((old, was)) => format!("{shown} ({:.2})", growth((old, was), (*count, *figure))),
                    None => shown,
                });
            }
            table.push(line);
            before = Some(row);
        }
    }
    table
}

/// How many times as much the second is as the first, divided by how many times as much there is.
fn growth((old, was): (u32, f64), (count, is): (u32, f64)) -> f64 {
    (is / was) / (f64::from(count) / f64::from(old))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_that_grow_as_fast_as_the_cells_have_growth_one() {
        assert!((growth((10, 2.0), (40, 8.0)) - 1.0).abs() < 1e-9);
        assert!((growth((10, 2.0), (40, 4.0)) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_line_shows_its_growth_and_the_first_has_none() {
        let group = lines::groups().swap_remove(0);
        let name = group.name;
        let figures = |factor: f64| [0.01 * factor, 0.001, 0.02, 0.04, 0.001, 10_240.0 * factor];
        let table = table(&[(group, vec![(100, figures(1.0)), (200, figures(4.0))])]);
        assert_eq!(table[1], [name, "100", "10.0 ms", "1.00 ms", "20.0 ms", "40.0 ms", "1.00 ms", "10 MiB"]);
        assert_eq!(table[2][2], "40.0 ms (2.00)");
        assert_eq!(table[2][3], "1.00 ms (0.50)");
        assert_eq!(table[2][7], "40 MiB (2.00)");
    }
}
