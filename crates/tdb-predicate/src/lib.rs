//! Conditions on the cells of TileDB arrays: which cells they select, by the values of their
//! fields.
//!
//! Checked against a schema, a [`QueryCondition`](tdb_cells::QueryCondition) becomes a [`Program`]
//! (`resolve`): negations are pushed down to the comparisons, operands are converted to the bytes
//! of their fields, and values of enumerations are replaced by their indices. A program works on
//! columns, not on cells (`evaluate`): a mask with a byte per cell starts as ones, and each
//! comparison clears bytes in one typed loop; `or` continues with the cells that are left. A column
//! is decoded when the first comparison needs it, and only the chunks in which the mask still has
//! ones (by `tdb-scan`). With dictionary codes, each string is tested once (`strings`).
//!
//! Before that, a program uses the statistics of a tile, or its bounding rectangle (`prune`): a
//! comparison that no value can satisfy, or that all values satisfy, needs no column.
//! `tdb_snapshot::statistics` decides which statistics can be trusted. Delete conditions are
//! programs too, so there is one evaluator. The conversion of operands is in `tdb_cells::operands`.
//! The same statistics give planners an estimate of how many cells match (`selectivity`).
//! Comparisons of the dimensions of sparse arrays become ranges of the query before all this
//! (`intervals`).
//!
//! ```
//! use tdb_cells::expression::field;
//! use tdb_predicate::Program;
//! use tdb_snapshot::SnapshotOptions;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let array = SnapshotOptions::new().open(path)?;
//! let program = Program::of_query(&field("a").gt(14), &array)?;
//! assert_eq!(program.fields.len(), 1);
//! # Ok::<(), tdb_cells::Error>(())
//! ```
//!
//! Most tests of what this crate does are in `tdb-query` (`src/tests`), which asks as callers do.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change with any minor version.
#![forbid(unsafe_code)]

mod comparison;
mod evaluate;
mod intervals;
mod program;
mod prune;
mod resolve;
mod selectivity;
mod strings;
mod view;

use tdb_cells::{
    Error, OrInternal, Result, buffers, coordinate, expression, facts, operands, requested, spec,
};
use tdb_snapshot::Snapshot;

pub use self::evaluate::Columns;
pub use self::program::{Program, ProgramField};
pub use self::prune::Verdict;
pub use self::strings::{StringView, string_at, word_at};
pub use self::view::{ColumnView, numbered, picked, typed};
