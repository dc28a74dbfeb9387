//! The crate's error: which column, which row, and what to do.

use arrow_schema::ArrowError;
use tdb_array::error::SchemaProblem;
use thiserror::Error as ThisError;

/// Result of a conversion.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why an array cannot become record batches, or record batches cannot become cells of an array.
/// Rows count from 0 in the batch.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The array could not be read or written.
    #[error(transparent)]
    Array(#[from] tdb_array::Error),
    /// The schema that was inferred breaks a rule of the format.
    #[error(transparent)]
    Schema(#[from] SchemaProblem),
    /// Arrow rejects a schema or a batch.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The format has no type for a column.
    #[error("column {column:?} is of type {arrow}, for which TileDB has no type: {advice}")]
    Refused {
        /// The column.
        column: String,
        /// Its Arrow type.
        arrow: String,
        /// The remedy.
        advice: &'static str,
    },
    /// A column has another type than its field.
    #[error(
        "column {column:?} is of type {given}, but its field ({field}) needs {expected}: cast the column"
    )]
    WrongType {
        /// The column.
        column: String,
        /// Its Arrow type.
        given: String,
        /// The field's TileDB type, and its number of values per cell.
        field: String,
        /// The Arrow type of this field, according to the table of types.
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
    /// 32-bit offsets cannot reach the end of a column.
    #[error(
        "column {column:?} has {len} bytes or values, too many for offsets of 32 bits: use Offsets::Large, or smaller batches"
    )]
    SmallOffsets {
        /// The column.
        column: String,
        /// The value that its last offset would have.
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
    /// A `BOOL` is neither 0 nor 1, so it does not fit in a bit.
    #[error(
        "column {column:?}, value {index}: {value} is not a boolean: read BOOL as numbers (Booleans::UInt8)"
    )]
    NotBoolean {
        /// The column.
        column: String,
        /// The value, counted over all cells.
        index: usize,
        /// The value.
        value: u8,
    },
    /// A column's cells do not have the size that the array's schema requires.
    #[error("column {column:?} does not have the values of {cells} cells of {field}")]
    Length {
        /// The column.
        column: String,
        /// Number of cells.
        cells: usize,
        /// The field's TileDB type, and its number of values per cell.
        field: String,
    },
    /// A null in a field that is not nullable.
    #[error("column {column:?}, row {row}: null, but the field is not nullable")]
    Null {
        /// The column.
        column: String,
        /// The row.
        row: usize,
    },
    /// A null among the values of a cell.
    #[error("column {column:?}, row {row}: null among the values of a cell, which TileDB does not support")]
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
    /// Codes where values are expected.
    #[error(
        "column {column:?} has numbers, but enumeration {enumeration:?} has values of {values}: give these, or say that the column has \
         codes (--codes)"
    )]
    Codes {
        /// The column.
        column: String,
        /// The enumeration.
        enumeration: String,
        /// The type of its values.
        values: String,
    },
    /// The values of an enumeration are needed and not available.
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
        "the schema has no metadata of an array: choose which columns are dimensions (SchemaOptions::dimension)"
    )]
    NoDimensions,
    /// Metadata that this crate or another one wrote cannot be read.
    #[error("the metadata {key:?} cannot be read: {why}")]
    Metadata {
        /// The key.
        key: String,
        /// The fault.
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
