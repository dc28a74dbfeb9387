//! `cargo xtask compare peers`: the same cells in tdb, libtiledb, zarrs, and Parquet read by the parquet crate, Polars and DuckDB.
//!
//! All sides are processes that answer requests, and take turns ([`sides`]). What is asked is in [`cases`]; how writes are timed, in
//! [`writes`]; the tables, in [`tables`]. Each answer is compared with tdb's before anything is timed.

mod cases;
mod sides;
mod tables;
mod writes;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::cases::{Case, Side, What};
use self::sides::Sides;
pub(super) use self::sides::{data, engine, python};
use self::tables::Row;
use super::table::Sample;
use crate::peer::repository_root;

const USAGE: &str = "usage: cargo xtask compare peers [--cases SUBSTR]... [--rounds N] [--threads N] [--data DIR] [--small] [--without-sql] [--write-docs]";

/// A side that takes longer than this many seconds answers a case once.
const ONCE: f64 = 1.0;
/// Cases in which no side takes longer than this run [`MORE`] times as often.
const SHORT: f64 = 0.03;
const MORE: usize = 5;

struct Options {
    cases: Vec<String>,
    rounds: usize,
    threads: usize,
    data: Option<PathBuf>,
    small: bool,
    /// Leaves out what only tdb's crate for SQL answers, which takes long to build.
    without_sql: bool,
    write_docs: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            cases: Vec::new(),
            rounds: 3,
            threads: 2,
            data: None,
            small: false,
            without_sql: false,
            write_docs: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--cases" => options.cases.push(value()?.clone()),
                "--rounds" => options.rounds = super::count(arg, value()?)?,
                "--threads" => options.threads = super::count(arg, value()?)?,
                "--data" => options.data = Some(value()?.into()),
                "--small" => options.small = true,
                "--without-sql" => options.without_sql = true,
                "--write-docs" => options.write_docs = true,
                _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
            }
        }
        if options.write_docs && (!options.cases.is_empty() || options.small) {
            return Err(
                "--write-docs needs all cases in their full size: leave out --cases and --small".into()
            );
        }
        Ok(options)
    }

    /// The cases with one of the given texts in their names.
    fn chosen(&self) -> Result<Vec<Case>, String> {
        let named =
            |case: &Case| self.cases.is_empty() || self.cases.iter().any(|text| case.name.contains(text));
        let wanted = |case: &Case| named(case) && !(self.without_sql && case.needs_sql());
        let chosen: Vec<Case> = cases::all(self.small).into_iter().filter(wanted).collect();
        if chosen.is_empty() { Err(format!("no case has {:?} in its name", self.cases)) } else { Ok(chosen) }
    }
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let cases = options.chosen()?;
    let data = data(&root, options.data.clone(), options.small)?;
    let mut sides = Sides::start(&root, options.threads, cases.iter().any(Case::needs_sql))?;
    sides.make_zarr(&data, options.small)?;
    let points = sides::points(&data)?;
    let limits = sides::list_limits(&root, &data, &cases, &points, options.small)?;
    let mut rows = Vec::new();
    for (case, limit) in cases.iter().zip(limits) {
        eprintln!("{}", case.name);
        let row = match case.what {
            What::Write { pieces } => writes::measure(case, pieces, &data, options.rounds, &mut sides),
            _ => measure(case, limit.as_deref(), &data, &points, options.rounds, &mut sides),
        };
        rows.push(row.map_err(|error| format!("{}: {error}", case.name))?);
    }
    let conditions = sides.conditions(&options)?;
    let stored = tables::stored(&cases, &data);
    print!("{}", tables::text(&rows, &stored, &conditions));
    if options.write_docs {
        tables::write_docs(&root.join("docs/performance.md"), &rows, &stored, &conditions)?;
    }
    let wrong: Vec<String> =
        rows.iter().filter_map(|row| Some(format!("WRONG {}: {}", row.name, row.wrong.as_ref()?))).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Has all sides read a case: once to compare the answers, then in turns.
fn measure(
    case: &Case,
    limit: Option<&Path>,
    data: &Path,
    points: &Value,
    rounds: usize,
    sides: &mut Sides,
) -> Result<Row, String> {
    let mut row = Row::new(&case.name, case.group);
    let mut requests = Vec::new();
    let (mut ours, mut sizes): (Option<(u64, String)>, Value) = (None, Value::Null);
    for side in Side::ALL.into_iter().filter(|side| case.has(*side)) {
        let mut request = case.request(side, data, points);
        // libtiledb gets buffers of the right size, so it never has to repeat a read with larger ones.
        if let (Some(request), Some(sizes)) = (request.as_object_mut(), sizes.as_object()) {
            request.extend(sizes.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        let answer = sides.ask(side, case, &request)?;
        let found = (answer.cells, sides.hash(side, case)?);
        match &ours {
            None => {
                let of = |name: &str| answer.json.get(name).cloned().unwrap_or(Value::Null);
                sizes = json!({"sizes": of("sizes"), "widths": of("widths")});
                row.cells = answer.cells;
                ours = Some(found);
            }
            Some(ours) if *ours != found => {
                row.wrong = Some(format!("{} has {found:?}, tdb has {ours:?}", side.name()));
            }
            Some(_) => {}
        }
        requests.push((side, request, answer.seconds));
    }
    let longest = requests.iter().map(|(_, _, seconds)| *seconds).fold(0.0, f64::max);
    let limit = limit.map(|file| json!({"op": "limit", "chunks": file.display().to_string()}));
    for _ in 0..if longest < SHORT { rounds.saturating_mul(MORE) } else { rounds } {
        for (side, request, first) in &requests {
            if *first < ONCE {
                row.sample(*side).add(sides.ask(*side, case, request)?.seconds, None);
            }
        }
        if let Some(limit) = &limit {
            row.limit.add(sides.crates(limit)?.seconds, None);
        }
    }
    for (side, _, first) in requests.into_iter().filter(|(_, _, first)| *first >= ONCE) {
        *row.sample(side) = Sample::default();
        row.sample(side).add(first, None);
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Options, String> {
        Options::parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn cases_are_chosen_by_parts_of_their_names() {
        let options = parsed(&["--cases", "gzip", "--cases", "distinct"]).unwrap();
        let names: Vec<String> = options.chosen().unwrap().into_iter().map(|case| case.name).collect();
        assert_eq!(names.len(), 6);
        assert!(names.iter().all(|name| name.contains("gzip") || name.contains("distinct")));
    }

    #[test]
    fn without_sql_no_case_needs_it() {
        let chosen = parsed(&["--without-sql"]).unwrap().chosen().unwrap();
        assert!(chosen.len() > 60 && !chosen.iter().any(Case::needs_sql));
    }

    #[test]
    fn a_name_that_no_case_has_is_an_error() {
        assert_eq!(
            parsed(&["--cases", "xyz"]).unwrap().chosen().err().unwrap(),
            "no case has [\"xyz\"] in its name"
        );
    }

    #[test]
    fn the_page_is_written_only_from_all_cases_in_full_size() {
        assert!(parsed(&["--write-docs"]).is_ok());
        assert!(parsed(&["--write-docs", "--small"]).is_err());
        assert!(parsed(&["--write-docs", "--cases", "dense"]).is_err());
    }
}
