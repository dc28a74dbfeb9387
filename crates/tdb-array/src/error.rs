//! The errors inside [`Error`](crate::Error), and the reasons inside these.
//!
//! Most programs print an [`Error`](crate::Error): its message names the file, the offset and the
//! reason. A program that must distinguish the reasons matches on these types:
//!
//! ```
//! use tdb_array::error::Cause;
//! use tdb_array::storage::MemoryStorage;
//! use tdb_array::{Error, OpenOptions};
//!
//! /// The offset in its file of the bytes that are wrong.
//! fn offset(error: &Error) -> Option<u64> {
//!     let Error::Corrupt { source, .. } = error else { return None };
//!     match &**source {
//!         Cause::Parse(error) => Some(error.offset),
//!         Cause::Tile(error) => Some(error.offset),
//!         Cause::Inconsistent { offset, .. } => Some(*offset),
//!         _ => None,
//!     }
//! }
//!
//! // The schema file has 3 bytes and then ends.
//! let storage = MemoryStorage::new([("__schema/__1_1_0123456789abcdef0123456789abcdef", &[22u8, 0, 0][..])]);
//! let error = OpenOptions::new().open_storage(storage).unwrap_err();
//! assert_eq!(offset(&error), Some(0));
//! ```
//!
//! | Variant of `Error` | Contains |
//! |---|---|
//! | `Corrupt` | [`Cause`]: which bytes are wrong, and why |
//! | `Query` | [`QueryError`], with [`ConditionError`] and [`AggregateError`] |
//! | `Write` | [`WriteError`] |
//! | `Description` | [`DescriptionError`] |
//! | `Internal` | [`InternalError`]: a fault of tdb |
//!
//! The crates of this project call each of their errors `Error`. Here they have different names:
//!
//! | Error | Reason | What failed |
//! |---|---|---|
//! | [`ParseError`] | [`ParseErrorKind`] | a field of a structure cannot be read |
//! | [`SchemaError`] | [`SchemaProblem`] | a schema cannot be read, or breaks a rule |
//! | [`TileError`] | [`TileErrorKind`] | a tile, or one of its chunks, cannot be decoded or encoded |
//! | [`FilterError`] | [`FilterErrorKind`] | a filter cannot decode or encode values |
//! | [`NameError`] | | a file name does not have the form that the format gives it |

#[doc(inline)]
pub use tdb_cells::{
    AggregateError, Cause, ConditionError, ConditionErrorKind, DescriptionError, InternalError,
    MemoryBudgetError, QueryError, WriteError,
};
#[doc(inline)]
pub use tdb_codec::{Error as ParseError, ErrorKind as ParseErrorKind};
#[doc(inline)]
pub use tdb_filters::{Error as FilterError, ErrorKind as FilterErrorKind};
#[doc(inline)]
pub use tdb_fragment::NameError;
#[doc(inline)]
pub use tdb_schema::{Error as SchemaError, SchemaProblem};
#[doc(inline)]
pub use tdb_tile::{Error as TileError, ErrorKind as TileErrorKind};
