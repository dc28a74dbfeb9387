//! Conditions run: which cells a query wants, by what is in them.
//!
//! Checked against a schema, a [`QueryCondition`](crate::QueryCondition) becomes a [`Program`] (`resolve`): comparisons of
//! whole columns with operands in the columns' own bytes. A program turns the columns of a tile into a byte a cell
//! (`evaluate`), and says of a tile's statistics whether any cell of it can match, so that most tiles need not be decoded
//! (`prune`, `tiles`). Delete conditions are programs too. What is held against the array alone is below, in `operands`.

mod evaluate;
mod prune;
mod resolve;
mod tiles;

#[cfg(test)]
mod tests;

pub use self::evaluate::{ColumnView, Columns, typed};
pub(crate) use self::prune::Verdict;
pub use self::resolve::{Program, ProgramField};
pub(crate) use self::tiles::Sources;
