//! Numbers among floating-point numbers.

use core::cmp::Ordering;

use datafusion::common::ScalarValue;

use super::position::{Position, decimal, whole};

/// The position of a number among reals.
pub(super) fn among_reals(value: &ScalarValue, single: bool) -> Option<Position> {
    let real = match value {
        ScalarValue::Float32(value) => Some(f64::from((*value)?)),
        ScalarValue::Float64(value) => *value,
        _ => None,
    };
    // The nearest real, as a double, and on which side of the number it lies.
    let (nearest, side) = match real {
        Some(real) => {
            let nearest = if single { f64::from(to_single(real)) } else { real };
            // Only NaN has no order: it is one of the values.
            (nearest, nearest.partial_cmp(&real).unwrap_or(Ordering::Equal))
        }
        None => {
            let (digits, scale) = decimal(value).or_else(|| whole(value).map(|(whole, _)| (whole, 0)))?;
            let text = format!("{digits}e{}", -i32::from(scale));
            let nearest = if single { f64::from(text.parse::<f32>().ok()?) } else { text.parse().ok()? };
            (nearest, compare(nearest, digits, scale)?)
        }
    };
    let at = |value: f64| match single {
        true => ScalarValue::Float32(Some(to_single(value))),
        false => ScalarValue::Float64(Some(value)),
    };
    Some(match side {
        Ordering::Equal => Position::At(at(nearest)),
        Ordering::Less => Position::Above(Some(at(nearest))),
        Ordering::Greater if single => Position::Above(Some(at(to_single(nearest).next_down().into()))),
        Ordering::Greater => Position::Above(Some(at(nearest.next_down()))),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest real of single precision is asked for")]
const fn to_single(value: f64) -> f32 {
    value as f32
}

/// Compares a floating-point number with a decimal one, by all digits of both.
fn compare(real: f64, digits: i128, scale: i8) -> Option<Ordering> {
    if real.is_infinite() {
        return Some(if real > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    // A double has at most 1074 digits behind the point.
    let real_text = format!("{:.1074}", real.abs());
    let (whole, fraction) = real_text.split_once('.')?;
    let mut other = digits.unsigned_abs().to_string();
    let behind = usize::from(scale.max(0).unsigned_abs());
    other.extend(core::iter::repeat_n('0', usize::from(scale.min(0).unsigned_abs())));
    while other.len() <= behind {
        other.insert(0, '0');
    }
    let (other_whole, other_fraction) = other.split_at_checked(other.len().checked_sub(behind)?)?;
    let [whole, other_whole] = [whole, other_whole].map(|digits| digits.trim_start_matches('0'));
    let [fraction, other_fraction] = [fraction, other_fraction].map(|digits| digits.trim_end_matches('0'));
    let sizes = whole.len().cmp(&other_whole.len()).then_with(|| whole.cmp(other_whole));
    let sizes = sizes.then_with(|| fraction.cmp(other_fraction));
    Some(if digits < 0 { sizes.reverse() } else { sizes })
}
