//! Queries of TileDB arrays: which cells to read, in which order, and within how much memory.
//!
//! An [`Array`] is a [`Snapshot`] that can be read. [`Array::read`] starts a [`Read`], which is
//! checked against the schema and becomes a plan (`plan`). Which module runs the plan depends on
//! the array and on the query: `dense` paints cells into their places, `sparse` selects, orders and
//! gathers them, `stream` cuts a query into parts that fit a memory budget, `aggregate` adds cells
//! up, `explain` says what would be read, and `partition` cuts a query into several.
//!
//! ```
//! use tdb_cells::expression::field;
//! use tdb_query::Array;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let array = Array::open(path)?;
//! let cells = array.read().condition(field("a").gt(14)).collect()?;
//! assert_eq!(cells.len(), 16);
//! # Ok::<(), tdb_cells::Error>(())
//! ```
//!
//! [`condition`] and [`sparse`] are public for `tdb-maintain`, which merges fragments with them:
//! conditions as programs over columns, and the deletes that are in force.
//!
//! This crate knows nothing of file names, byte layouts, or how anything is written. The only
//! thread that it starts itself is that of [`BatchStream`], which reads the next batch while the
//! caller works on one.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change with any minor version.
#![forbid(unsafe_code)]

mod aggregate;
mod array;
mod awaited;
pub mod condition;
mod deletion;
mod dense;
mod engine;
mod enumerations;
mod explain;
mod overlap;
mod partition;
mod plan;
mod prefetch;
mod query;
mod reads;
pub mod sparse;
mod stream;
#[cfg(test)]
mod tests;
mod visible_cells;

use tdb_cells::{
    Aggregate, Cells, Column, ConditionTarget, DescriptionError, Error, OrInternal, QueryCondition,
    QueryError, Result, TimeWindow, batch_scope, budget, buffers, coordinate, expression, facts, gather,
    grid, operands, order, parallel, ranges, requested, spec,
};
use tdb_codec::Layout;
use tdb_snapshot::{
    Group, Snapshot, SnapshotOptions, context, decode_buffers, deletes, fragment, statistics, tiles,
};
use tdb_storage::{self as storage, replay, stats};

pub use aggregate::AggregateValue;
pub use aggregate::groups::{Grouped, GroupedValues};
pub use array::{Array, OpenOptions};
pub use deletion::DeleteCounts;
pub use explain::Explain;
pub use query::{AsyncBatches, BatchStream, GroupBy, QueryDescription, Read};
pub use reads::{FieldPlan, FragmentPlan, Outcome, Purpose};
pub use stream::{Batches, Progress};
