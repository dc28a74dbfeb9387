//! Numbers as they are written: the real that is nearest to them, and the integer that they are.
//!
//! Every path from text to a number goes through here, with the characters that were written: a
//! detour through another type rounds twice. `1.00000017881393432617187499` is nearest to the
//! FLOAT32 1.0000001; its nearest FLOAT64 lies halfway between two of FLOAT32, and would become
//! 1.0000002.

use core::str::FromStr;

use crate::{Datatype, Native, Physical};

/// The reason why a text is not a real number of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReal {
    /// It is not a number.
    Syntax,
    /// It is beyond the largest number of the type.
    TooLarge,
}

/// A type of real numbers.
pub trait Real: Native + FromStr {
    /// Whether this is positive or negative infinity.
    fn is_boundless(self) -> bool;
}

impl Real for f32 {
    fn is_boundless(self) -> bool {
        self.is_infinite()
    }
}

impl Real for f64 {
    fn is_boundless(self) -> bool {
        self.is_infinite()
    }
}

/// The real that is nearest to a number as it is written, rounded once; of two that are equally
/// near, the even one. Also `inf`, `infinity` and `nan`, in any case, with a sign.
///
/// ```
/// use tdb_codec::digits::{NotReal, nearest};
///
/// assert_eq!(nearest::<f32>("1.00000017881393432617187499"), Ok(1.0000001));
/// assert_eq!(nearest::<f64>("-1e3"), Ok(-1000.0));
/// assert_eq!(nearest::<f64>("1e400"), Err(NotReal::TooLarge));
/// ```
///
/// # Errors
/// A text that is not a number, or a number that rounds to infinity.
pub fn nearest<T: Real>(text: &str) -> Result<T, NotReal> {
    let value: T = text.parse().map_err(|_| NotReal::Syntax)?;
    // Among the spellings of reals, only the words for infinity and NaN have this letter.
    let is_word = || text.bytes().any(|byte| byte.eq_ignore_ascii_case(&b'n'));
    if value.is_boundless() && !is_word() { Err(NotReal::TooLarge) } else { Ok(value) }
}

/// The bytes of the real that is nearest to a number as it is written, in a type of reals: see
/// [`nearest`].
///
/// # Errors
/// Those of [`nearest`].
pub fn nearest_bytes(datatype: Datatype, text: &str) -> Result<Vec<u8>, NotReal> {
    match datatype.physical() {
        Physical::F32 => nearest::<f32>(text).map(|value| value.to_le_bytes().to_vec()),
        _ => nearest::<f64>(text).map(|value| value.to_le_bytes().to_vec()),
    }
}

/// The integer that a text writes, also with a point or an exponent: `17`, `-1.0`, `2.5e3`. `None`
/// for a number that is no integer, for one past 128 bits, and for what is no number.
pub fn whole(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !(is_digits(before) && is_digits(behind)) || (before.is_empty() && behind.is_empty()) {
        return None;
    }
    let all = format!("{before}{behind}");
    let significant = all.trim_end_matches('0');
    let zeros = i64::try_from(all.len().checked_sub(significant.len())?).ok()?;
    // The number is these digits and so many zeros; less than none if there is a fraction.
    let zeros = zeros.checked_add(i64::from(exponent))?.checked_sub(i64::try_from(behind.len()).ok()?)?;
    let digits = significant.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    let power = 10i128.checked_pow(u32::try_from(zeros).ok()?)?;
    let sign = if negative { -1 } else { 1 };
    digits.parse::<i128>().ok()?.checked_mul(sign)?.checked_mul(power)
}

/// Whether a text is an integer without a point or an exponent, with or without a sign.
pub fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a type of reals says the same digits for this integer again, or holds it exactly. What
/// is no integer has nothing to lose: reals are rounded.
pub fn keeps_integer(datatype: Datatype, text: &str) -> bool {
    // Every type has room for so many digits.
    const SAFE: usize = 6;
    if text.len() <= SAFE || !is_integer(text) {
        return true;
    }
    let (shown, exact) = match datatype.physical() {
        Physical::F32 => match nearest::<f32>(text) {
            Ok(value) => (format!("{value:?}"), f64::from(value)),
            Err(_) => return false,
        },
        Physical::F64 => match nearest::<f64>(text) {
            Ok(value) => (format!("{value:?}"), value),
            Err(_) => return false,
        },
        _ => return true,
    };
    let asked = whole(text);
    // Beyond 128 bits only the digits are compared: of the shortest text that means the same real.
    let same_digits = || digits_of(text) == digits_of(&shown);
    let is_exact = asked.is_some_and(|asked| whole(&format!("{exact:.0}")) == Some(asked));
    is_exact || same_digits()
}

/// The significant digits of an integer, or of a real as Rust shows it.
fn digits_of(text: &str) -> String {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_start_matches('0').trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_halfway_between_two_reals_is_rounded_once() {
        // 1 + 3 * 2^-24 and a little less, which FLOAT64 cannot tell apart.
        let text = "1.000000178813934326171874999999999";
        let twice = nearest::<f64>(text).unwrap();
        #[expect(clippy::cast_possible_truncation, reason = "this is the detour")]
        let detour = twice as f32;
        assert_eq!(nearest::<f32>(text), Ok(1.000_000_1));
        assert_ne!(nearest::<f32>(text), Ok(detour));
    }

    #[test]
    fn numbers_beyond_the_largest_are_refused_and_infinity_is_a_word() {
        for text in [
            "1e400",
            "-1e309",
            "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880177904174497792",
        ] {
            assert_eq!(nearest::<f64>(text), Err(NotReal::TooLarge), "{text}");
        }
        assert_eq!(nearest::<f32>("3.5e38"), Err(NotReal::TooLarge));
        assert_eq!(nearest::<f64>("3.5e38"), Ok(3.5e38));
        for text in ["inf", "-INF", "Infinity", "+infinity"] {
            assert!(nearest::<f64>(text).unwrap().is_infinite(), "{text}");
        }
        assert!(nearest::<f32>("NaN").unwrap().is_nan());
        for text in ["", "e5", "1e", "0x1", "1,5", " 1", "in"] {
            assert_eq!(nearest::<f64>(text), Err(NotReal::Syntax), "{text}");
        }
    }

    #[test]
    fn integers_are_those_that_are_written() {
        for (text, value) in [
            ("17", Some(17)),
            ("-1.0", Some(-1)),
            ("2.5e3", Some(2500)),
            ("+.5e1", Some(5)),
            ("9007199254740993.0", Some(9_007_199_254_740_993)),
            ("100e-2", Some(1)),
            ("0e-99999", Some(0)),
            ("-0.000", Some(0)),
            ("1.5", None),
            ("15e-1", None),
            ("1e39", None),
            ("", None),
            (".", None),
            ("e1", None),
            ("--1", None),
            ("1e99999999999", None),
            ("nan", None),
        ] {
            assert_eq!(whole(text), value, "{text}");
        }
    }

    #[test]
    fn an_integer_is_kept_by_a_real_that_says_its_digits_again() {
        let keeps = |text| keeps_integer(Datatype::Float64, text);
        for text in [
            "9007199254740992",
            "18446744073709551616",
            "100000000000000000000",
            "123456789012345680000",
            "1e400",
            "0.1",
        ] {
            assert!(keeps(text), "{text}");
        }
        for text in [
            "9007199254740993",
            "-9007199254740993",
            "18446744073709551615",
            "123456789012345678901234567890",
        ] {
            assert!(!keeps(text), "{text}");
        }
        assert!(!keeps(&format!("1{}", "0".repeat(400))));
        assert!(
            keeps_integer(Datatype::Float32, "16777216") && !keeps_integer(Datatype::Float32, "16777217")
        );
        assert!(keeps_integer(Datatype::Int64, "9007199254740993"));
    }

    #[test]
    fn bytes_of_the_nearest_real_have_the_size_of_its_type() {
        assert_eq!(nearest_bytes(Datatype::Float32, "1.5"), Ok(1.5f32.to_le_bytes().to_vec()));
        assert_eq!(nearest_bytes(Datatype::Float64, "1.5"), Ok(1.5f64.to_le_bytes().to_vec()));
        assert_eq!(nearest_bytes(Datatype::Float32, "1e39"), Err(NotReal::TooLarge));
        assert_eq!(nearest_bytes(Datatype::Float64, "one"), Err(NotReal::Syntax));
    }

    #[test]
    fn an_integer_has_digits_and_perhaps_a_sign() {
        for text in ["0", "+17", "-3", "007"] {
            assert!(is_integer(text), "{text}");
        }
        for text in ["", "+", "-", "1.0", "1e3", "--1", "a"] {
            assert!(!is_integer(text), "{text}");
        }
    }

    #[test]
    fn short_integers_are_always_kept_and_large_ones_by_their_digits() {
        assert!(keeps_integer(Datatype::Float32, "999999") && keeps_integer(Datatype::Float32, "-99999"));
        for text in ["1e39", "123456.78901"] {
            assert!(keeps_integer(Datatype::Float32, text), "{text} is no integer");
        }
        assert!(!keeps_integer(Datatype::Float32, &format!("1{}", "0".repeat(39))));
        // Exactly a power of two, which FLOAT32 shows with fewer digits.
        assert!(keeps_integer(Datatype::Float32, "1267650600228229401496703205376"));
        assert!(!keeps_integer(Datatype::Float32, "1267650600228229401496703205377"));
        // Past 128 bits, the digits that are shown decide.
        assert!(keeps_integer(Datatype::Float64, &format!("12{}", "0".repeat(50))));
        assert!(!keeps_integer(Datatype::Float64, &format!("12{}1", "0".repeat(50))));
    }

    #[test]
    fn integers_fit_128_bits_or_are_none() {
        assert_eq!(whole("170141183460469231731687303715884105727"), Some(i128::MAX));
        assert_eq!(whole("170141183460469231731687303715884105728"), None);
        assert_eq!(whole("1e38"), Some(10i128.pow(38)));
        assert_eq!((whole("12.50e1"), whole("12.50e2"), whole("120e-1")), (Some(125), Some(1250), Some(12)));
        assert_eq!((whole("1."), whole(".5"), whole("+-1"), whole("1e+2")), (Some(1), None, None, Some(100)));
    }
}
