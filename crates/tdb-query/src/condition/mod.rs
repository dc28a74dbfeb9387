//! Query conditions: selects cells by their values.
//!
//! Checked against a schema, a [`QueryCondition`](crate::QueryCondition) becomes a [`Program`]
//! (`resolve`): negations are pushed down to the comparisons, operands are converted to the bytes
//! of their fields, and values of enumerations are replaced by their indices. A program works on
//! columns, not on cells (`evaluate`): a mask with a byte per cell starts as ones, and each
//! comparison clears bytes in one typed loop; `or` continues with the cells that are left. A column
//! is decoded when the first comparison needs it, and only the chunks in which the mask still has
//! ones (`tiles`). With dictionary codes, each string is tested once (`strings`).
//!
//! Before that, a program uses the statistics of a tile, or its bounding rectangle (`prune`): a
//! comparison that no value can satisfy, or that all values satisfy, needs no column.
//! `tdb_snapshot::statistics` decides which statistics can be trusted. Delete conditions are
//! programs too, so there is one evaluator. The conversion of operands is in `tdb_cells::operands`.
//! The same statistics give planners an estimate of how many cells match (`selectivity`).
//! Comparisons of the dimensions of sparse arrays become ranges of the query before all this
//! (`intervals`).

mod decoded;
mod evaluate;
mod intervals;
mod prune;
mod resolve;
mod selectivity;
mod strings;
mod tiles;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use self::decoded::Decoded;
pub use self::evaluate::Columns;
pub(crate) use self::prune::Verdict;
pub use self::resolve::{Program, ProgramField};
pub(crate) use self::strings::{StringView, string_at, word_at};
pub(crate) use self::tiles::{Sources, TileColumns, fragment_of};
pub use self::view::{ColumnView, typed};
pub(crate) use self::view::{numbered, picked};
