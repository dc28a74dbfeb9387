//! Single values from text.

use tdb_codec::Datatype;

use crate::calendar::{self, BadDate};
use crate::quotes::{self, Colons};
use crate::value::is_text;

type Result<T> = core::result::Result<T, String>;

/// One value of a type: a number, a date, `true` or `false`, or text with `\xNN` for any byte.
pub fn parse_value(datatype: Datatype, text: &str) -> Result<Vec<u8>> {
    if datatype == Datatype::Bool && matches!(text, "true" | "false") {
        return Ok(vec![u8::from(text == "true")]);
    }
    if is_text(datatype) {
        return unescape(text);
    }
    match parse_integer(datatype, text)? {
        Some(bytes) => Ok(bytes),
        None if datatype.physical().is_float() => parse_float(datatype, text),
        None if datatype.is_datetime() => parse_date(datatype, text),
        None => Err(format!("{text:?} is not an integer")),
    }
}

/// A text with `\xNN` for any byte and a backslash before characters with a special meaning.
pub fn unescape(text: &str) -> Result<Vec<u8>> {
    quotes::unescape(text, Colons::Plain)
}

/// An integer of an integral type; `None` if the text is not an integer, or the type is floating-point.
pub fn parse_integer(datatype: Datatype, text: &str) -> Result<Option<Vec<u8>>> {
    let physical = datatype.physical();
    let Ok(value) = text.parse::<i128>() else { return Ok(None) };
    if physical.is_float() {
        return Ok(None);
    }
    let bits = u32::try_from(physical.size().saturating_mul(8)).unwrap_or(64);
    let (min, max) = if physical.is_signed_integer() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    if value < min || value > max {
        return Err(format!("{text} does not fit {datatype}"));
    }
    Ok(value.to_le_bytes().get(..physical.size()).map(<[u8]>::to_vec))
}

/// A real number in a type's own precision.
///
/// # Errors
/// A text that is no number, or NaN.
pub fn parse_float(datatype: Datatype, text: &str) -> Result<Vec<u8>> {
    let bad = || format!("{text:?} is not a number");
    if datatype.size() == 4 {
        let value: f32 = text.parse().map_err(|_| bad())?;
        if value.is_nan() { Err(bad()) } else { Ok(value.to_le_bytes().to_vec()) }
    } else {
        let value: f64 = text.parse().map_err(|_| bad())?;
        if value.is_nan() { Err(bad()) } else { Ok(value.to_le_bytes().to_vec()) }
    }
}

/// The ticks of a date, as bytes.
///
/// # Errors
/// As [`date_ticks`].
pub fn parse_date(datatype: Datatype, text: &str) -> Result<Vec<u8>> {
    Ok(date_ticks(datatype, text)?.to_le_bytes().to_vec())
}

/// The ticks of a date in a type's unit.
pub fn date_ticks(datatype: Datatype, text: &str) -> Result<i64> {
    calendar::parse(datatype, text).map_err(|error| {
        let unit = datatype.unit();
        match error {
            BadDate::Syntax => {
                format!(
                    "{text:?} is neither a date such as 2020-02-29T12:30 nor an integer (in unit {unit:?})"
                )
            }
            BadDate::TooFine => format!("{text:?} is more precise than the unit of {datatype}, {unit:?}"),
            BadDate::TooFar => format!("{text:?} does not fit {datatype}"),
        }
    })
}
