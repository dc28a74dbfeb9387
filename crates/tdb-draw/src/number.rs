//! Numbers as short text, and round steps along an axis.

/// A number with about four digits: `0.1234`, `12.3`, `1234567`, `1.2e20`.
///
/// ```
/// assert_eq!(["0.5", "1234567", "-0.03333", "1.5e20"], [0.5, 1_234_567.0, -1.0 / 30.0, 1.5e20].map(tdb_draw::number));
/// ```
#[must_use]
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return format!("{value}");
    }
    let power = exponent(value);
    if !(-5..15).contains(&power) {
        return short_power(value);
    }
    if value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    let decimals = usize::try_from(3i32.saturating_sub(power)).unwrap_or(0).max(usize::from(power < 6));
    trimmed(&format!("{value:.decimals$}")).to_owned()
}

/// A number with a power of ten: `1.25e9`.
fn short_power(value: f64) -> String {
    let text = format!("{value:.3e}");
    match text.split_once('e') {
        Some((digits, power)) => format!("{}e{power}", trimmed(digits)),
        None => text,
    }
}

/// Round numbers from `low` to `high`, at most about `most` of them, with their text. None if the
/// interval is empty.
///
/// ```
/// let texts = |low, high| tdb_draw::steps(low, high, 5).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
/// assert_eq!(texts(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
/// assert_eq!(texts(-7.0, 93.0), ["0", "20", "40", "60", "80"]);
/// ```
#[must_use]
pub fn steps(low: f64, high: f64, most: usize) -> Vec<(f64, String)> {
    if !low.is_finite() || !high.is_finite() || low > high {
        return Vec::new();
    }
    if low == high {
        return vec![(low, number(low))];
    }
    let step = round_step((high / 2.0 - low / 2.0) / real(most.max(1)) * 2.0);
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let decimals = usize::try_from(-exponent(step)).unwrap_or(0);
    let largest = exponent(low.abs().max(high.abs()));
    let mut found = Vec::new();
    let mut at = first;
    while at <= last && found.len() <= most.saturating_mul(2) {
        // Not `at * step`: a step such as 0.1 is not exact, and its inverse is.
        let value = if step < 1.0 { at / (1.0 / step).round() } else { at * step };
        let text = match value {
            0.0 => "0".to_owned(),
            value if largest > 6 || (largest < -3 && decimals > 5) => short_power(value),
            value => trimmed(&format!("{value:.decimals$}")).to_owned(),
        };
        found.push((value, text));
        at += 1.0;
    }
    found
}

/// The least round number (1, 2 or 5, and zeros) that is not less than a positive one.
///
/// ```
/// assert_eq!([0.3, 1.0, 21.0].map(tdb_draw::round_step), [0.5, 1.0, 50.0]);
/// ```
#[must_use]
pub fn round_step(least: f64) -> f64 {
    let power = exponent(least);
    let digits = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * ten(power) >= least);
    digits.map_or_else(|| ten(power.saturating_add(1)), |digit| digit * ten(power))
}

/// The decimal exponent of a number: that of its first digit. Not a logarithm, whose last bit
/// differs between systems.
fn exponent(value: f64) -> i32 {
    let text = format!("{value:e}");
    text.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0)
}

/// A power of ten, as exact as it can be.
fn ten(power: i32) -> f64 {
    format!("1e{power}").parse().unwrap_or(1.0)
}

/// Digits without zeros at the end of a fraction.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A coordinate in a picture: at most two decimals.
pub(crate) fn place(value: f64) -> String {
    let text = format!("{value:.2}");
    match trimmed(&text) {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// A count as a number.
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

/// The whole part of a number; 0 for negative numbers and NaN.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates, as it should")]
pub(crate) fn whole(value: f64) -> usize {
    value as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_help() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (16_777_216.0, "16777216"),
            (0.1 + 0.2, "0.3"),
            (123.456, "123.5"),
            (12_345.678, "12345.7"),
            (-2.5e-7, "-2.5e-7"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
            (f64::MAX, "1.798e308"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn steps_are_round_and_inside() {
        for (low, high) in
            [(0.0, 1e-9), (-3.7, 12.2), (1e15, 1.1e15), (0.0, 1.8e19), (99.0, 100.0), (-1e300, 1e300)]
        {
            let found = steps(low, high, 6);
            assert!((2..=13).contains(&found.len()), "{low} {high}: {found:?}");
            assert!(found.iter().all(|(value, _)| (low..=high).contains(value)), "{low} {high}: {found:?}");
        }
        let texts = |low, high| steps(low, high, 2).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(5.0, 5.000_002_5), ["5", "5.000002"]);
        assert_eq!(texts(0.0, 2e9), ["0", "1e9", "2e9"]);
        assert_eq!(texts(0.0, 3e-9), ["0", "2e-9"]);
        assert_eq!(steps(5.0, 5.0, 4), [(5.0, "5".to_owned())]);
        assert_eq!(steps(5.0, 4.0, 4), []);
        assert_eq!(steps(f64::NEG_INFINITY, 4.0, 4), []);
    }
}
