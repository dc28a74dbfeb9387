//! `cargo xtask compare peers`: the same cells in tdb, libtiledb, zarrs, and Parquet read by the
//! parquet crate, Polars and DuckDB.
//!
//! All sides are processes that answer requests, and take turns ([`sides`]). What is asked is in
//! [`cases`]; how writes are timed, in [`writes`]; the tables, in [`tables`]. Each answer is
//! compared with tdb's before anything is timed.

mod cases;
mod sides;
mod tables;
mod writes;

use std::path::Path;

use serde_json::{Value, json};

use self::cases::{Case, Side, What};
use self::sides::Sides;
pub(super) use self::sides::{data, engine, python};
use self::tables::Row;
use super::options::Options;
use super::table::Sample;
use crate::peer::repository_root;

const USAGE: &str = "usage: cargo xtask compare peers [--cases SUBSTR]... [--rounds N] [--threads N] [--data DIR] [--small] [--without-sql] [--worker COMMAND] [--write-docs]";

/// A side that takes longer than this many seconds answers a case once.
const ONCE: f64 = 1.0;
/// Cases in which no side takes longer than this run [`MORE`] times as often.
const SHORT: f64 = 0.03;
const MORE: usize = 5;

/// The cases that are wanted.
fn chosen(options: &Options) -> Result<Vec<Case>, String> {
    let cases = cases::all(options.small).into_iter();
    let possible = cases.filter(|case| !(options.without_sql && case.needs_sql()));
    options.chosen(possible, |case| case.name.as_str())
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args, 3, &["--small", "--without-sql", "--worker"], USAGE)?;
    let root = repository_root()?;
    let cases = chosen(&options)?;
    let data = data(&root, options.data.clone(), options.small)?;
    let mut sides = Sides::start(&root, &options, cases.iter().any(Case::needs_sql))?;
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
        // libtiledb gets buffers of the right size, so it never has to repeat a read with larger
        // ones.
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

    fn parsed(args: &[&str]) -> Options {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        Options::parse(&args, 3, &["--without-sql"], USAGE).unwrap()
    }

    #[test]
    fn cases_of_several_texts_are_chosen() {
        let options = parsed(&["--cases", "gzip", "--cases", "distinct"]);
        let names: Vec<String> = chosen(&options).unwrap().into_iter().map(|case| case.name).collect();
        assert_eq!(names.len(), 6);
        assert!(names.iter().all(|name| name.contains("gzip") || name.contains("distinct")));
    }

    #[test]
    fn without_sql_no_case_needs_it() {
        let chosen = chosen(&parsed(&["--without-sql"])).unwrap();
        assert!(chosen.len() > 60 && !chosen.iter().any(Case::needs_sql));
    }
}
