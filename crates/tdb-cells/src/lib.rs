//! Cells of TileDB arrays and everything about them that needs no storage: columns, ranges, orders,
//! conditions, errors.
//!
//! | Module | Contents |
//! |---|---|
//! | [`cells`], [`buffers`], [`spec`] | columns of a result, the buffers in them, and what a column must contain |
//! | [`coordinate`], [`asked`], [`ranges`] | values as callers give them, and the intervals of a dimension that they become |
//! | [`expression`], [`operands`] | conditions and aggregates as callers write them, and checked against a schema |
//! | [`order`], [`gather`], [`grid`] | cells put in order, moved there, and copied between boxes of different orders |
//! | [`facts`], [`tally`] | what can be known of a field's cells without reading them, and how it is computed |
//! | [`budget`], [`share`] | amounts of memory, and what one batch of a query may take |
//! | [`window`], [`clock`] | the time window of an array that is seen, and the present time |
//! | [`parallel`] | the threads of all crates that use this one |
//! | [`error`], [`internal`] | what failed, in which file, at which offset; faults of the engine itself |
//!
//! What a caller asks for is a plain value, which is checked only when it is used with an array:
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

pub mod asked;
pub mod budget;
pub mod buffers;
pub mod cells;
pub mod clock;
pub mod coordinate;
pub mod error;
pub mod expression;
pub mod facts;
pub mod gather;
pub mod grid;
pub mod internal;
mod large;
pub mod operands;
pub mod order;
pub mod parallel;
pub mod ranges;
pub mod share;
pub mod spec;
pub mod tally;
mod thresholds;
pub mod window;

pub use budget::{MemoryBudget, MemoryBudgetError};
pub use cells::{Cells, Column};
pub use coordinate::Coordinate;
pub use error::{Cause, DescriptionError, Error, OrInternal, QueryError, Result, WriteError};
pub use expression::{
    Aggregate, AggregateError, AggregateFunction, ConditionError, ConditionErrorKind, ConditionField,
    Operand, QueryCondition, field,
};
pub use internal::InternalError;
pub use large::keep_memory;
pub use operands::ConditionTarget;
pub use window::TimeWindow;
