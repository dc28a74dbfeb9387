//! Cells of TileDB arrays and everything about them that needs no storage: columns, ranges,
//! conditions, errors.
//!
//! | Module | Contents |
//! |---|---|
//! | [`cells`], [`buffers`], [`spec`] | columns of a result, the buffers in them, and what a column must contain |
//! | [`column_memory`] | memory of callers for these columns |
//! | [`coordinate`], [`requested`], [`ranges`] | values and ranges as a query requests them, and the intervals of a dimension that they become |
//! | [`expression`], [`operands`] | conditions and aggregates as callers write them, and checked against a schema |
//! | [`gather`], [`grid`] | moving cells into an order, and copying boxes of cells from one order to another |
//! | [`facts`], [`tally`] | minimum, maximum, sum and null counts of a field, and how they are computed |
//! | [`budget`] | amounts of memory |
//! | [`window`], [`clock`] | the time window in which an array is read, and the present time |
//! | [`parallel`] | running jobs on several threads, for all crates that use this one |
//! | [`error`], [`internal`] | errors with the file and offset they are about; faults of the engine itself |
//!
//! Conditions, ranges and windows are plain values, which are checked only when they are used with
//! an array:
//!
//! ```
//! use tdb_cells::TimeWindow;
//! use tdb_cells::expression::field;
//!
//! let condition = field("temperature").gt(20.5).and(field("station").eq("Bern"));
//! assert_eq!(condition.to_string(), "temperature > 20.5 and station = 'Bern'");
//! assert_eq!(TimeWindow::between(10, 20).end, 20);
//! ```
//!
//! This crate knows nothing of files, storages, fragments of an array, or its caller. It starts
//! threads ([`parallel`]) and reads the clock ([`clock`]), for itself and for the crates that use
//! it.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change with any minor version.
#![forbid(unsafe_code)]

pub mod budget;
pub mod buffers;
pub mod cells;
pub mod clock;
pub mod column_memory;
pub mod coordinate;
pub mod error;
pub mod expression;
pub mod facts;
pub mod gather;
pub mod grid;
pub mod internal;
mod large;
pub mod operands;
pub mod parallel;
pub mod ranges;
pub mod requested;
pub mod spec;
pub mod tally;
mod thresholds;
pub mod window;

pub use budget::{MemoryBudget, MemoryBudgetError};
pub use cells::{Cells, Column};
pub use column_memory::ColumnMemory;
pub use coordinate::Coordinate;
pub use error::{Cause, DescriptionError, Error, OrInternal, QueryError, Result, WriteError};
pub use expression::{
    Aggregate, AggregateError, AggregateFunction, ConditionError, ConditionErrorKind, ConditionField,
    Operand, QueryCondition, field,
};
pub use internal::InternalError;
pub use large::retain_buffers;
pub use operands::ConditionTarget;
pub use window::TimeWindow;
