//! `cargo xtask conform <part>`: new arrays, written by each library and read by the other.

mod arrow;
mod built;
mod c_programs;
pub(crate) mod capi;
mod capi_fixtures;
mod capi_programs;
mod capi_soma;
mod capi_stores;
mod cluster;
mod edges;
mod expected;
mod field;
mod filters;
mod form;
mod groups;
mod maintenance;
mod peers;
mod processes;
mod programs;
mod publish;
mod pure;
mod pytest;
pub(crate) mod random;
mod reads;
mod releases;
mod sides;
mod soma;
mod sql;
mod stores;
mod tiledb_py;
mod versions;
mod writes;
mod zarr;

/// A part: its name, its arguments, and its entry point.
type Part = (&'static str, &'static str, fn(&[String]) -> Result<(), String>);

const PARTS: [Part; 26] = [
    ("arrow", arrow::USAGE, arrow::run),
    ("c-programs", c_programs::USAGE, c_programs::run),
    ("capi", capi::USAGE, capi::run),
    ("capi-fixtures", capi_fixtures::USAGE, capi_fixtures::run),
    ("capi-programs", capi_programs::USAGE, capi_programs::run),
    ("capi-soma", capi_soma::USAGE, capi_soma::run),
    ("capi-stores", capi_stores::USAGE, capi_stores::run),
    ("cluster", cluster::USAGE, cluster::run),
    ("concurrency", processes::CONCURRENCY, processes::concurrency),
    ("crashes", processes::CRASHES, processes::crashes),
    ("edges", edges::USAGE, edges::run),
    ("field", field::USAGE, field::run),
    ("filters", filters::USAGE, filters::run),
    ("groups", groups::USAGE, groups::run),
    ("maintenance", maintenance::USAGE, maintenance::run),
    ("programs", programs::USAGE, programs::run),
    ("publish", publish::USAGE, publish::run),
    ("pure", pure::USAGE, pure::run),
    ("reads", reads::USAGE, reads::run),
    ("soma", soma::USAGE, soma::run),
    ("sql", sql::USAGE, sql::run),
    ("stores", stores::USAGE, stores::run),
    ("tiledb-py", tiledb_py::USAGE, tiledb_py::run),
    ("versions", versions::USAGE, versions::run),
    ("writes", writes::USAGE, writes::run),
    ("zarr", zarr::USAGE, zarr::run),
];

/// Entry point: the first word names the part.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let part = args.first().and_then(|name| PARTS.iter().find(|part| part.0 == name));
    let Some((_, _, run)) = part else {
        let usages: Vec<String> =
            PARTS.iter().map(|(name, usage, _)| format!("  conform {name} {usage}")).collect();
        return Err(format!("usage: cargo xtask conform <part> …\n{}", usages.join("\n")));
    };
    run(args.get(1..).unwrap_or_default())
}

/// Splits a line without quotes into arguments, as a shell does.
#[cfg(test)]
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}
