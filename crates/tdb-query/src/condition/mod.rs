//! Conditions run: which cells a query wants, by what is in them.
//!
//! Checked against a schema, a [`QueryCondition`](crate::QueryCondition) becomes a [`Program`] (`resolve`): negations
//! are pushed down to the comparisons, operands are in the bytes of their fields, and values of enumerations are
//! replaced by their indices. A program works on columns, not on cells (`evaluate`): a mask with a byte a cell starts
//! as ones, and each comparison clears bytes in one typed loop; `or` works on what is left. A column is decoded when
//! the first comparison asks for it, and only the chunks in which the mask still has ones (`tiles`).
//!
//! Before that, a program asks the statistics of a tile, or its bounding rectangle (`prune`): a comparison that no
//! value can satisfy, or that all values satisfy, asks for no column. `tdb_snapshot::statistics` says which statistics
//! are believed. Delete conditions are programs too, so there is one evaluator. What depends on the array alone is in
//! `tdb_cells::operands`.

mod evaluate;
mod prune;
mod resolve;
mod tiles;

#[cfg(test)]
mod tests;

pub use self::evaluate::{ColumnView, Columns, typed};
pub(crate) use self::prune::Verdict;
pub use self::resolve::{Program, ProgramField};
pub(crate) use self::tiles::{Decoded, Sources};
