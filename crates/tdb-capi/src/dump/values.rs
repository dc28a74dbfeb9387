//! Single values as texts, as streams of C++ print them.

use tdb_array::schema::{Datatype, Native, Physical, PhysicalVisitor};

/// A number in six significant digits, as `%g` prints it.
pub(crate) fn general(number: f64) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let scientific = format!("{number:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5i32.saturating_sub(exponent)).unwrap_or(0);
        return trimmed(&format!("{number:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.unsigned_abs())
}

/// A value of a datatype.
pub(super) fn value(datatype: Datatype, bytes: &[u8]) -> String {
    match datatype {
        Datatype::Char | Datatype::Any | Datatype::StringAscii | Datatype::StringUtf8 => code_unit(bytes),
        Datatype::StringUtf16 | Datatype::StringUtf32 | Datatype::StringUcs2 | Datatype::StringUcs4 => {
            code_unit(bytes)
        }
        // One byte as it is.
        Datatype::Blob | Datatype::GeomWkb | Datatype::GeomWkt => String::from_utf8_lossy(bytes).into_owned(),
        _ => number(datatype, bytes),
    }
}

/// A range of a dimension.
pub(crate) fn range(datatype: Datatype, low: &[u8], high: &[u8]) -> String {
    if datatype == Datatype::StringAscii {
        return format!("[{}, {}]", String::from_utf8_lossy(low), String::from_utf8_lossy(high));
    }
    format!("[{}, {}]", number(datatype, low), number(datatype, high))
}

/// A character that can be printed, or the number of the code unit.
fn code_unit(bytes: &[u8]) -> String {
    let number = bytes.iter().rev().fold(0u32, |number, byte| (number << 8) | u32::from(*byte));
    match u8::try_from(number) {
        Ok(byte) if byte == b' ' || byte.is_ascii_graphic() => char::from(byte).to_string(),
        _ => format!("\\x{number:0width$x}", width = bytes.len().saturating_mul(2)),
    }
}

/// A number, as streams print it.
pub(crate) fn number(datatype: Datatype, bytes: &[u8]) -> String {
    struct Show<'a>(&'a [u8]);
    impl PhysicalVisitor for Show<'_> {
        type Output = String;
        fn visit<T: Native>(self) -> String {
            let Some(value) = T::from_le(self.0) else { return String::new() };
            match T::PHYSICAL {
                Physical::F32 | Physical::F64 => general(value.to_f64()),
                _ => format!("{value:?}"),
            }
        }
    }
    datatype.physical().visit(Show(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_in_six_digits_as_streams_do() {
        let shown =
            [0.0, 1.0, -2.5, 100_000.0, 1_000_000.0, 1e-5, 0.0001, 1.0 / 3.0, 123_456.7, 1e300].map(general);
        let expected =
            ["0", "1", "-2.5", "100000", "1e+06", "1e-05", "0.0001", "0.333333", "123457", "1e+300"];
        assert_eq!(shown, expected);
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(general), ["nan", "-inf"]);
    }

    #[test]
    fn characters_that_cannot_be_printed_are_numbers() {
        assert_eq!(value(Datatype::StringAscii, b"a"), "a");
        assert_eq!(value(Datatype::Char, &[0x80]), "\\x80");
        assert_eq!(value(Datatype::StringUtf16, &[0, 0]), "\\x0000");
        assert_eq!(value(Datatype::Uint8, &[255]), "255");
    }
}
