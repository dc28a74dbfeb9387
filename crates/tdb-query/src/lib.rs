//! Queries of TileDB arrays: which cells to read, in which order, and within how much memory.
//!
//! An [`Array`] is a [`Snapshot`] that can be read. [`Array::read`] starts a [`Read`], which is
//! checked against the schema and becomes a plan of `tdb-scan`, which reads its cells. `tdb-split`
//! cuts a plan into batches that fit a memory budget, or into parts for several workers;
//! `tdb-aggregate` adds cells up. [`Read::explain`] says what would be read, and a
//! [`QueryDescription`] takes a query to another process.
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
//! This crate knows nothing of file names, byte layouts, or how anything is written. The only
//! thread that it starts itself is that of [`BackgroundBatches`], which reads the next batch while
//! the caller works on one.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change with any minor version.
#![forbid(unsafe_code)]

mod array;
mod cells_condition;
mod deletion;
mod enumerations;
mod explain;
mod query;
mod stored;
#[cfg(test)]
mod tests;

use tdb_aggregate as aggregate;
use tdb_cells::{
    Aggregate, Cells, Column, ColumnMemory, ConditionTarget, DescriptionError, Error, OrInternal,
    QueryCondition, QueryError, Result, TimeWindow, budget, buffers, coordinate, expression, ranges,
    requested,
};
use tdb_codec::Layout;
use tdb_scan::{awaited, plan, prefetch, reads, sparse};
use tdb_snapshot::{Group, Snapshot, SnapshotOptions, fragment};
use tdb_split::{partition, stream};
use tdb_storage::{self as storage, replay, stats};

pub use array::{Array, OpenOptions};
pub use cells_condition::MAX_LISTED_CELLS;
pub use deletion::DeleteCounts;
pub use explain::Explain;
pub use query::{AsyncBatches, BackgroundBatches, GroupBy, QueryDescription, Read};
pub use stored::StoredCells;
pub use tdb_aggregate::AggregateValue;
pub use tdb_aggregate::groups::{Grouped, GroupedValues};
pub use tdb_scan::reads::{FieldPlan, FragmentPlan, Outcome, Purpose};
pub use tdb_split::stream::{Batches, Progress};
