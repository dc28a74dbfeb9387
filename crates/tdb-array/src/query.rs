//! What queries are made of, and what they return besides [`Cells`](crate::Cells).
//!
//! [`Array::read`](crate::Array::read) starts a query, and [`field`](crate::field) a condition.
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! use tdb_array::query::Aggregate;
//! use tdb_array::{Array, field};
//!
//! let array = Array::open(path)?;
//! let found = array.read().condition(field("a").gt(12)).aggregate([Aggregate::count(), Aggregate::mean("a")])?;
//! assert_eq!((found[0].as_u64(), found[1].as_f64()), (Some(4), Some(14.5)));
//! # Ok::<(), tdb_array::Error>(())
//! ```
//!
//! | To | Use |
//! |---|---|
//! | choose cells | [`Coordinate`], [`QueryCondition`], [`ConditionField`], [`Operand`], [`ConditionTarget`] |
//! | read in pieces | [`Batches`], [`AsyncBatches`], [`BackgroundBatches`], [`Progress`] |
//! | compute | [`Aggregate`], [`AggregateFunction`], [`AggregateValue`], [`GroupBy`], [`Grouped`], [`GroupedValues`] |
//! | know what a query reads, and what it took | [`Explain`], [`FragmentPlan`], [`FieldPlan`], [`Outcome`], [`Purpose`], [`QueryStats`] |
//! | hand a query to another process | [`QueryDescription`] |
//! | plan a delete | [`DeleteCounts`], [`MAX_LISTED_CELLS`] |
//! | take and keep the memory of columns | [`Buffer`], [`retain_buffers`] |

#[cfg(feature = "async")]
pub use futures_core::Stream;
#[doc(inline)]
pub use tdb_cells::{
    Aggregate, AggregateFunction, ConditionField, ConditionTarget, Coordinate, Operand, QueryCondition,
    retain_buffers,
};
#[doc(inline)]
pub use tdb_codec::{Buffer, Memory};
#[doc(inline)]
pub use tdb_query::{
    AggregateValue, AsyncBatches, BackgroundBatches, Batches, DeleteCounts, Explain, FieldPlan, FragmentPlan,
    GroupBy, Grouped, GroupedValues, MAX_LISTED_CELLS, Outcome, Progress, Purpose, QueryDescription,
};
#[doc(inline)]
pub use tdb_storage::QueryStats;
