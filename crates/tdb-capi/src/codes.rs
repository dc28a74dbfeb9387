//! The numbers of the C API as values of Rust, and back.

use tdb_array::Layout;
use tdb_array::schema::{ArrayType, CellValNum, DataOrder, Datatype};

use crate::ffi::Failure;

macro_rules! codes {
    ($($(#[$meta:meta])* $function:ident $type:ident $name:literal;)*) => {$(
        $(#[$meta])*
        ///
        /// # Errors
        /// No value has the number.
        pub(crate) fn $function(number: u32) -> Result<$type, Failure> {
            let found = u8::try_from(number).ok().and_then($type::from_code);
            found.ok_or_else(|| Failure::new(format!("Invalid {} enum value {number}", $name)))
        }
    )*};
}

codes! {
    /// The datatype of a number.
    datatype Datatype "Datatype";
    /// The layout of a number.
    layout Layout "Layout";
    /// The kind of array of a number.
    array_type ArrayType "ArrayType";
    /// The order of values of a number.
    data_order DataOrder "DataOrder";
}

/// The number of values of a cell.
///
/// # Errors
/// It is 0.
pub(crate) fn cell_val_num(number: u32) -> Result<CellValNum, Failure> {
    CellValNum::from_code(number).ok_or_else(|| Failure::new("Cannot set zero values per cell"))
}

/// The number that the bytes of a value of integers, dates or times are.
pub(crate) fn integer_of(datatype: Datatype, bytes: &[u8]) -> i128 {
    let is_signed = datatype.physical().is_signed_integer();
    let is_negative = is_signed && bytes.last().is_some_and(|byte| *byte >= 0x80);
    let start: i128 = if is_negative { -1 } else { 0 };
    bytes.iter().rev().fold(start, |number, byte| (number << 8) | i128::from(*byte))
}
