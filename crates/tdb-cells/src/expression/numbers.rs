//! Parses and prints numbers in the text form of conditions.

use tdb_codec::digits::{NotReal, is_integer, nearest, whole};

use super::Operand;

/// Reals from here on are equal to no integer of a field: all of those are below 2⁶⁴.
pub(crate) const MAX_INTEGER: f64 = 1e30;

pub(super) fn special_float(word: &str) -> Option<f64> {
    if word.eq_ignore_ascii_case("nan") {
        Some(f64::NAN)
    } else if word.eq_ignore_ascii_case("inf") {
        Some(f64::INFINITY)
    } else {
        None
    }
}

/// The length in bytes of a number, or of something that looks like one.
pub(super) fn number_len(text: &str) -> usize {
    let hex =
        text.trim_start_matches(['+', '-']).get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let sign = matches!(c, '+' | '-') && (at == 0 || (!hex && matches!(before, 'e' | 'E')));
        if !(c.is_alphanumeric() || matches!(c, '.' | '_') || sign) {
            return at;
        }
        before = c;
    }
    text.len()
}

pub(super) fn number(text: &str) -> Option<Operand> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(value) = special_float(digits) {
        return Some(Operand::Float(if sign < 0 { -value } else { value }));
    }
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let hex = Some(hex).filter(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        return i128::from_str_radix(hex, 16).ok()?.checked_mul(sign).map(Operand::Int);
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Some(value) = text.parse().ok().filter(|_| is_integer(digits)) {
        return Some(Operand::Int(value));
    }
    decimal(text)
}

/// A number as an operand. A condition does not know the type of its field yet: where its nearest
/// `f64` is not what the number means in every type, it stays as it is written.
fn decimal(text: &str) -> Option<Operand> {
    let as_written = || Some(Operand::Decimal(text.strip_prefix('+').unwrap_or(text).to_owned()));
    if is_integer(text) {
        return as_written();
    }
    let value: f64 = match nearest(text) {
        Ok(value) => value,
        Err(NotReal::TooLarge) => return as_written(),
        Err(NotReal::Syntax) => return None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "this is what a field of FLOAT32 would compare")]
    let single = value as f32;
    let same_single = match nearest::<f32>(text) {
        Ok(near) => near == single,
        Err(_) => single.is_infinite(),
    };
    // An integer must stay the same integer, and a fraction must not become an integer.
    let may_be_integer = value.fract() == 0.0 && value.abs() < MAX_INTEGER;
    let same_integer = !may_be_integer || whole(text) == whole(&format!("{value:.0}"));
    if same_single && same_integer { Some(Operand::Float(value)) } else { as_written() }
}

/// A real as text that means exactly this real, in every type of field. The debug form has a point
/// or an exponent; large integers in it have zeros where the real has other digits.
pub(super) fn shown_real(value: f64) -> String {
    let short = format!("{value:?}");
    let is_exact = !value.is_finite() || matches!(decimal(&short), Some(Operand::Float(_)));
    if is_exact { short } else { format!("{value:.1}") }
}
