//! Single values from text.

use tdb_codec::Datatype;
use tdb_codec::digits::{NotReal, nearest_bytes};

use crate::calendar::{self, BadDate};
use crate::quotes::{self, Colons};
use crate::texts::is_text;

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
        None if datatype.physical().is_float() => parse_real(datatype, text),
        None if datatype.is_datetime() => parse_date(datatype, text),
        None => Err(format!("{text:?} is not an integer")),
    }
}

/// A text with `\xNN` for any byte and a backslash before characters with a special meaning.
pub fn unescape(text: &str) -> Result<Vec<u8>> {
    quotes::unescape(text, Colons::Plain)
}

/// An integer of an integral type; `None` if the text is not an integer, or the type is
/// floating-point.
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

/// The real number of a type that is nearest to what is written; also NaN.
///
/// # Errors
/// A text that is no number, or a number beyond the largest one of the type.
pub fn parse_real(datatype: Datatype, text: &str) -> Result<Vec<u8>> {
    nearest_bytes(datatype, text).map_err(|error| match error {
        NotReal::TooLarge => format!("{text} does not fit {datatype}"),
        NotReal::Syntax => format!("{text:?} is not a number"),
    })
}

/// The end of a range of reals, which is not NaN.
///
/// # Errors
/// Those of [`parse_real`], and NaN.
pub fn parse_real_end(datatype: Datatype, text: &str) -> Result<Vec<u8>> {
    let is_nan = text.strip_prefix(['+', '-']).unwrap_or(text).eq_ignore_ascii_case("nan");
    if is_nan { Err(format!("{text:?} is not a number")) } else { parse_real(datatype, text) }
}

/// The ticks of a date, as bytes.
///
/// # Errors
/// As [`date_ticks`].
pub fn parse_date(datatype: Datatype, text: &str) -> Result<Vec<u8>> {
    Ok(date_ticks(datatype, text)?.to_le_bytes().to_vec())
}

/// The ticks of a date in a type's unit: of its first instant.
pub fn date_ticks(datatype: Datatype, text: &str) -> Result<i64> {
    calendar::parse(datatype, text).map_err(|error| bad_date(datatype, text, error))
}

/// The first and the last tick of what a date names, in a type's unit.
pub fn date_span(datatype: Datatype, text: &str) -> Result<(i64, i64)> {
    calendar::span(datatype, text).map_err(|error| bad_date(datatype, text, error))
}

fn bad_date(datatype: Datatype, text: &str, error: BadDate) -> String {
    let unit = datatype.unit();
    match error {
        BadDate::Syntax => {
            format!("{text:?} is neither a date such as 2020-02-29T12:30 nor an integer (in unit {unit:?})")
        }
        BadDate::TooFine => format!("{text:?} is more precise than the unit of {datatype}, {unit:?}"),
        BadDate::TooFar => format!("{text:?} does not fit {datatype}"),
    }
}
