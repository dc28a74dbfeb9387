//! Coordinates and other single values: as callers give them, as numbers, and in messages.

use tdb_codec::{Datatype, Native, PhysicalVisitor, calendar, to_u32};
use tdb_schema::Dimension;

/// A range end as the caller gave it, before the dimension's type is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Coordinate {
    /// For integral, date and time dimensions.
    Int(i128),
    /// For real dimensions.
    Float(f64),
    /// For string dimensions.
    Bytes(Vec<u8>),
}

macro_rules! from_integers {
    ($($type:ty),*) => {$(
        impl From<$type> for Coordinate {
            fn from(value: $type) -> Self {
                Self::Int(value.into())
            }
        }
    )*};
}

from_integers!(i8, u8, i16, u16, i32, u32, i64, u64, i128);

impl From<f32> for Coordinate {
    fn from(value: f32) -> Self {
        Self::Float(value.into())
    }
}

impl From<f64> for Coordinate {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Coordinate {
    fn from(value: &str) -> Self {
        Self::Bytes(value.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Coordinate {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_vec())
    }
}

impl From<String> for Coordinate {
    fn from(value: String) -> Self {
        Self::Bytes(value.into_bytes())
    }
}

/// A little-endian integer of up to 8 bytes.
pub fn integer(bytes: &[u8], signed: bool) -> i128 {
    let negative = signed && bytes.last().is_some_and(|byte| *byte >= 0x80);
    bytes.iter().rev().fold(if negative { -1 } else { 0 }, |value, byte| value << 8 | i128::from(*byte))
}

/// The smallest and the largest integer of an integral type.
pub fn integer_limits(datatype: Datatype) -> (i128, i128) {
    // Types have 1 to 8 bytes.
    let bits = to_u32(datatype.size()).map_or(64, |bytes| bytes * 8);
    if datatype.physical().is_signed_integer() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    }
}

/// The nearest `f64`.
pub(crate) fn int_to_float(value: i128) -> f64 {
    // Rounds to the nearest, like any conversion of a large integer to a float.
    value as f64
}

/// A coordinate as text for a message: dates as dates.
pub fn show_coordinate(dimension: &Dimension, value: &[u8]) -> String {
    if dimension.is_var() {
        return format!("\"{}\"", value.escape_ascii());
    }
    let ticks = <i64 as Native>::from_le(value);
    if let Some(date) = ticks.and_then(|ticks| calendar::format(dimension.datatype, ticks)) {
        return date;
    }
    show_value(dimension.datatype, false, value)
}

/// The most bytes of a text that messages show.
const MAX_SHOWN_TEXT: usize = 80;

/// A value as text for a message: a number, or a text in quotes, of which only the beginning is
/// shown if it is long.
pub fn show_value(datatype: Datatype, text: bool, value: &[u8]) -> String {
    struct Show<'a>(&'a [u8]);
    impl PhysicalVisitor for Show<'_> {
        type Output = String;
        fn visit<T: Native>(self) -> String {
            // Bytes of another size, which are no value, have no text.
            T::from_le(self.0).map_or_else(String::new, |value| format!("{value:?}"))
        }
    }
    match value.get(..MAX_SHOWN_TEXT) {
        _ if !text => datatype.physical().visit(Show(value)),
        Some(start) if value.len() > MAX_SHOWN_TEXT => {
            format!("\"{}\"… ({} bytes)", start.escape_ascii(), value.len())
        }
        _ => format!("\"{}\"", value.escape_ascii()),
    }
}
