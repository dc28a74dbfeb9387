//! What the fuzz targets run: one function a parser and a filter, from any bytes to nothing.
//!
//! A body holds the code to what it promises on hostile input: no panic, no memory past the budget,
//! and whatever was accepted is written and read back as the same. The targets in
//! `fuzz/fuzz_targets` are one line each over these functions, for cargo-fuzz on nightly; a test
//! replays the committed corpus, and mutations of it, on stable.
//!
//! ```
//! // Two bytes are no schema, and that is fine.
//! tdb_fuzz_bodies::array_schema(&[22, 0]);
//! assert!(tdb_fuzz_bodies::all().any(|(name, _)| name == "filter_zstd"));
//! ```
#![forbid(unsafe_code)]

mod array;
mod filters;
mod fragment;
mod input;
mod manifest;
mod query;
mod schema;
mod tile;

pub use array::{query_condition, query_description, whole_array};
pub use filters::{filter, pipeline, round_trip};
pub use fragment::{
    condition, consolidated_commits, consolidated_footers, footer, fragment_statistics, legacy_metadata,
    names, path_lines, rtree, tile_values, timestamped_name, u64_list, update,
};
pub use input::{FilterInput, pack_files, version_byte, with_schema};
pub use manifest::manifest;
pub use schema::{array_metadata, array_schema, enumeration, group_details};
pub use tile::{generic_tile, tile_chunks};

/// A body.
pub type Body = Box<dyn Fn(&[u8])>;

/// What a body may allocate for one input, in bytes.
pub const BUDGET: u64 = 16 << 20;

type Parser = (&'static str, fn(&[u8]));

const PARSERS: [Parser; 25] = [
    ("array_metadata", array_metadata),
    ("array_schema", array_schema),
    ("condition", condition),
    ("consolidated_commits", consolidated_commits),
    ("consolidated_footers", consolidated_footers),
    ("enumeration", enumeration),
    ("footer", footer),
    ("fragment_statistics", fragment_statistics),
    ("generic_tile", generic_tile),
    ("group_details", group_details),
    ("legacy_metadata", legacy_metadata),
    ("manifest", manifest),
    ("names", names),
    ("path_lines", path_lines),
    ("pipeline", pipeline),
    ("query_condition", query_condition),
    ("query_description", query_description),
    ("round_trip", round_trip),
    ("rtree", rtree),
    ("tile_chunks", tile_chunks),
    ("tile_values", tile_values),
    ("timestamped_name", timestamped_name),
    ("u64_list", u64_list),
    ("update", update),
    ("whole_array", whole_array),
];

/// Every body under its target's name: the parsers, then `filter_<name>` for each row of the filter
/// registry.
pub fn all() -> impl Iterator<Item = (String, Body)> {
    let parsers = PARSERS.iter().map(|(name, body)| ((*name).to_owned(), Box::new(body) as Body));
    let filters = tdb_filters::registry::all().iter().map(|row| {
        let body: Body = Box::new(|data: &[u8]| filter(row.name, data));
        (filter_target(row.name), body)
    });
    parsers.chain(filters)
}

/// The target's name of a filter.
#[must_use]
pub fn filter_target(filter: &str) -> String {
    format!("filter_{}", filter.replace('-', "_"))
}

/// Asserts that two values print the same. (Equality would fail on NaN.)
fn assert_same<T: core::fmt::Debug>(one: &T, other: &T) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"), "written and read back");
}
