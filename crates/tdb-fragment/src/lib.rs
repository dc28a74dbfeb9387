//! The description of a TileDB fragment: its name, whether it is committed, and its metadata file.
//!
//! Every write creates one immutable *fragment*: a folder of data files (one for each field) and a
//! file `__fragment_metadata.tdb`, which contains the position of each tile and the ranges it
//! covers. Since format version 3, that file is a list of generic tiles (crate `tdb-tile`) followed
//! by a plain footer with their offsets:
//!
//! ```text
//! +--------+--------------+-----+-----------------+--------+---------------+
//! | R-tree | tile offsets | …   | statistics (11+)| footer | u64 footer len|   length: 10+, or string dimensions
//! +--------+--------------+-----+-----------------+--------+---------------+
//! ^        ^                                      |
//! +--------+--------------------------------------+  offsets of every section
//! ```
//!
//! Read the footer first ([`FooterLocation`], [`Footer::parse`]), then the sections that a query
//! needs: [`Footer::section`] returns the range of each, and there is a parser for each payload
//! ([`RTree`], [`parse_u64_list`], [`TileValues`], …).
//!
//! Names contain the time range that a fragment covers:
//!
//! ```
//! use tdb_fragment::TimestampedName;
//!
//! let name = TimestampedName::parse("__10_20_0123456789abcdef0123456789abcdef_22")?;
//! assert_eq!(name.timestamps, (10, 20));
//! assert_eq!(name.version.unwrap().to_string(), "22");
//! # Ok::<(), tdb_fragment::NameError>(())
//! ```
//!
//! This crate does not know: which fragments of an array are visible, cell order, queries,
//! files.
#![forbid(unsafe_code)]

use tdb_codec::Structure;

mod commits;
mod condition;
mod consolidated;
mod data_file;
mod footer;
mod legacy;
mod location;
mod name;
pub mod paths;
mod rtree;
mod sections;
mod slots;
mod stats;
mod update;

pub use commits::{
    CommitKind, CommitRecord, parse_consolidated_commits, parse_consolidated_commits_from, parse_path_lines,
    parse_path_lines_from, vacuum_line, vacuum_target, write_consolidated_commits, write_path_lines,
};
pub use condition::{Comparison, Condition, Junction};
pub use consolidated::{ConsolidatedFooter, parse_consolidated_footers, write_consolidated_footers};
pub use data_file::{DataFile, DataFilePart};
pub use footer::{Footer, OptionalSection};
pub use legacy::LegacyMetadata;
pub use location::FooterLocation;
pub use name::{NameError, TimestampedName, is_hidden_name, is_plain_name};
pub use rtree::{Level, Mbr, RTree};
pub use sections::{Section, SectionOffsets, has_unlisted_conditions};
pub use slots::Slots;
pub use stats::{
    FieldStatistics, TileValues, parse_fragment_statistics, parse_names, parse_u64_list, parse_words,
    write_fragment_statistics, write_names, write_u64_list, write_words,
};
pub use update::Update;

/// The tables of this crate's structures, one for each parser, including those of their parts. The
/// pages in `docs/format` show them.
pub static STRUCTURES: [&Structure; 20] = [
    &legacy::TABLE,
    &footer::TABLE,
    &rtree::TABLE,
    &stats::TILE_OFFSETS,
    &stats::VAR_OFFSETS,
    &stats::VAR_SIZES,
    &stats::VALIDITY_OFFSETS,
    &stats::MINS,
    &stats::MAXES,
    &stats::GLOBAL_ORDER_MINS,
    &stats::GLOBAL_ORDER_MAXES,
    &stats::SUMS,
    &stats::NULL_COUNTS,
    &stats::FRAGMENT_STATISTICS,
    &stats::PROCESSED_CONDITIONS,
    &consolidated::TABLE,
    &commits::CONSOLIDATED,
    &commits::PATH_LINES,
    &condition::TABLE,
    &update::TABLE,
];
