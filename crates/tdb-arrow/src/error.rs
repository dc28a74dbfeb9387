//! The crate's error: which column, which row, and what to do.

use arrow_schema::ArrowError;
use tdb_array::schema::SchemaProblem;
use thiserror::Error as ThisError;

/// Result of a conversion.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why an array cannot become record batches, or record batches no array. Rows count from 0 in the batch.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The array could not be read or written.
    #[error(transparent)]
    Array(#[from] tdb_array::Error),
    /// The schema that was inferred breaks a rule of the format.
    #[error(transparent)]
    Schema(#[from] SchemaProblem),
    /// Arrow refuses a schema or a batch.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The format has no type for a column.
    #[error("column {column:?} is of type {arrow}, for which TileDB has no type: {advice}")]
    Refused {
        /// The column.
        column: String,
        /// Its Arrow type.
        arrow: String,
        /// What can be done about it.
        advice: &'static str,
    },
    /// A column is of another type than its field.
    #[error(
        "column {column:?} is of type {given}, and its field, {field}, takes {expected}: cast the column"
    )]
    WrongType {
        /// The column.
        column: String,
        /// Its Arrow type.
        given: String,
        /// The field's TileDB type, and values a cell.
        field: String,
        /// The Arrow type that the table of types gives this field.
        expected: String,
    },
    /// A cell of a text field is not UTF-8.
    #[error(
        "column {column:?}, row {row}: the text is not UTF-8: read text as binary (Options::text, or chars)"
    )]
    NotUtf8 {
        /// The column.
        column: String,
        /// The row.
        row: usize,
    },
    /// Offsets of 32 bits cannot reach the end of a column.
    #[error(
        "column {column:?} has {len} bytes or values, too many for offsets of 32 bits: use Offsets::Large, or smaller batches"
    )]
    SmallOffsets {
        /// The column.
        column: String,
        /// What its last offset would be.
        len: u64,
    },
    /// A day does not fit `Date32`.
    #[error(
        "column {column:?}, value {index}: day {day} is outside Date32: read days as numbers (Days::Int64)"
    )]
    DayRange {
        /// The column.
        column: String,
        /// The value, counted over all cells.
        index: usize,
        /// The day.
        day: i64,
    },
    /// A `BOOL` is neither 0 nor 1, which a bit cannot say.
    #[error(
        "column {column:?}, value {index}: {value} is no truth value: read BOOL as numbers (Booleans::UInt8)"
    )]
    NotBoolean {
        /// The column.
        column: String,
        /// The value, counted over all cells.
        index: usize,
        /// What is there.
        value: u8,
    },
    /// A column's cells do not have the size that the array's schema says.
    #[error("column {column:?} does not have the values of {cells} cells of {field}")]
    Length {
        /// The column.
        column: String,
        /// Number of cells.
        cells: usize,
        /// The field's TileDB type, and values a cell.
        field: String,
    },
    /// A null where the field has none.
    #[error("column {column:?}, row {row}: null, and the field is not nullable")]
    Null {
        /// The column.
        column: String,
        /// The row.
        row: usize,
    },
    /// A null among the values of a cell.
    #[error("column {column:?}, row {row}: null among the values of a cell, where TileDB has none")]
    NullItem {
        /// The column.
        column: String,
        /// The row.
        row: usize,
    },
    /// A value that the attribute's enumeration does not have.
    #[error(
        "column {column:?}, row {row}: enumeration {enumeration:?} does not have this value: extend it first"
    )]
    NotInEnumeration {
        /// The column.
        column: String,
        /// The row.
        row: usize,
        /// The enumeration.
        enumeration: String,
    },
    /// The values of an enumeration are needed and not there.
    #[error(
        "column {column:?}: the values of enumeration {enumeration:?} are not known: give them, or a dictionary column"
    )]
    NoEnumeration {
        /// The column.
        column: String,
        /// The enumeration.
        enumeration: String,
    },
    /// A column that the array does not have.
    #[error("the array has no field {column:?}")]
    UnknownColumn {
        /// The column.
        column: String,
    },
    /// A schema without dimensions.
    #[error(
        "the schema has no metadata of an array: say which columns are dimensions (SchemaOptions::dimension)"
    )]
    NoDimensions,
    /// Metadata that this crate wrote, or another, cannot be read.
    #[error("the metadata {key:?} cannot be read: {why}")]
    Metadata {
        /// The key.
        key: String,
        /// What is wrong.
        why: String,
    },
}

impl From<Error> for ArrowError {
    fn from(error: Error) -> Self {
        match error {
            Error::Arrow(error) => error,
            other => Self::ExternalError(Box::new(other)),
        }
    }
}
