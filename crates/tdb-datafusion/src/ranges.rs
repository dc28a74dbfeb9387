//! Sets of coordinates of a dimension, which filters become and which are read as ranges.

use core::fmt;
use core::ops::Bound;

use tdb_array::query::Coordinate;
use tdb_array::schema::{ArraySchema, Datatype, Dimension, Range};

use crate::Result;
use crate::error::internal;
use crate::intervals::Intervals;
use crate::predicate::Comparison;
use crate::thresholds::MAX_SHOWN_RANGES;
use crate::value::Value;

/// A set of coordinates of a dimension.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Coordinates {
    /// Integers, dates and times.
    Integers(Intervals<i128>),
    /// Floating-point numbers, as integers in SQL's order, which has the NaNs at both ends.
    Reals { keys: Intervals<i128>, single: bool },
    /// Strings.
    Texts(Intervals<Vec<u8>>),
}

impl Coordinates {
    /// The coordinates that satisfy a comparison with a value, and whether there are no others.
    /// `None` if ranges cannot express it.
    pub(crate) fn compare(
        dimension: &Dimension,
        comparison: Comparison,
        value: &Value,
    ) -> Option<(Self, bool)> {
        let single = match dimension.datatype {
            Datatype::Float32 => Some(true),
            Datatype::Float64 => Some(false),
            _ => None,
        };
        match (value, single) {
            (Value::Integer(value), None) => {
                Some((Self::Integers(numbers(comparison, *value, *value)), true))
            }
            (Value::Real(value), Some(single)) => {
                // Both zeros are equal.
                let ends = if *value == 0.0 { (-0.0, 0.0) } else { (*value, *value) };
                let keys = numbers(comparison, order_key(ends.0, single), order_key(ends.1, single));
                Some((Self::Reals { keys, single }, true))
            }
            (Value::Bytes(value), None) if dimension.is_var() => texts(comparison, value),
            _ => None,
        }
    }

    /// The intersection. The sets must be of one dimension, and so of one kind.
    pub(crate) fn and(&self, other: &Self) -> Result<Self> {
        Ok(match (self, other) {
            (Self::Integers(a), Self::Integers(b)) => Self::Integers(a.and(b)),
            (Self::Reals { keys: a, single }, Self::Reals { keys: b, .. }) => {
                Self::Reals { keys: a.and(b), single: *single }
            }
            (Self::Texts(a), Self::Texts(b)) => Self::Texts(a.and(b)),
            _ => return Err(internal("a dimension has coordinates of two kinds")),
        })
    }

    /// The union. The sets must be of one dimension, and so of one kind.
    pub(crate) fn or(self, other: Self) -> Result<Self> {
        Ok(match (self, other) {
            (Self::Integers(a), Self::Integers(b)) => Self::Integers(Intervals::any([a, b])),
            (Self::Reals { keys: a, single }, Self::Reals { keys: b, .. }) => {
                Self::Reals { keys: Intervals::any([a, b]), single }
            }
            (Self::Texts(a), Self::Texts(b)) => Self::Texts(Intervals::any([a, b])),
            _ => return Err(internal("a dimension has coordinates of two kinds")),
        })
    }

    /// The coordinates of a range in metadata; `None` for strings, and for values that are not
    /// numbers.
    pub(crate) fn of_range(dimension: &Dimension, low: &[u8], high: &[u8]) -> Option<Self> {
        let ends = [low, high];
        Some(match dimension.datatype {
            Datatype::Float32 => {
                // Bytes that are no number make no range.
                let [low, high] = ends.map(|end| end.try_into().map(f32::from_le_bytes).unwrap_or(f32::NAN));
                let keys = [low, high].map(|end| order_key(end.into(), true));
                let is_range = low <= high;
                return is_range.then_some(Self::Reals { keys: of_keys(keys), single: true });
            }
            Datatype::Float64 => {
                let [low, high] = ends.map(|end| end.try_into().map(f64::from_le_bytes).unwrap_or(f64::NAN));
                let keys = [low, high].map(|end| order_key(end, false));
                let is_range = low <= high;
                return is_range.then_some(Self::Reals { keys: of_keys(keys), single: false });
            }
            _ if dimension.is_var() => return None,
            datatype => Self::Integers(of_keys(ends.map(|end| integer(datatype, end)))),
        })
    }

    /// Whether this can be expressed as ranges: no range contains NaN.
    pub(crate) fn can_be_ranges(&self) -> bool {
        let Self::Reals { keys, single } = self else { return true };
        let (min, max) = (order_key(f64::NEG_INFINITY, *single), order_key(f64::INFINITY, *single));
        keys.iter().all(|(low, high)| *low >= min && high.is_some_and(|high| high <= max))
    }

    /// Whether the set is empty.
    pub(crate) const fn is_empty(&self) -> bool {
        match self {
            Self::Integers(keys) | Self::Reals { keys, .. } => keys.is_empty(),
            Self::Texts(texts) => texts.is_empty(),
        }
    }

    /// The number of intervals.
    const fn len(&self) -> usize {
        match self {
            Self::Integers(keys) | Self::Reals { keys, .. } => keys.len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// The ranges, for a query.
    pub(crate) fn ranges(&self) -> Vec<(Bound<Coordinate>, Bound<Coordinate>)> {
        let included = |coordinate: Option<Coordinate>| coordinate.map_or(Bound::Unbounded, Bound::Included);
        match self {
            Self::Integers(keys) => {
                let ends = |key: i128| Some(Coordinate::Int(key));
                keys.iter().map(|(low, high)| (included(ends(*low)), included(high.and_then(ends)))).collect()
            }
            Self::Reals { keys, single } => {
                let ends = |key: i128| from_order_key(key, *single).map(Coordinate::Float);
                keys.iter().map(|(low, high)| (included(ends(*low)), included(high.and_then(ends)))).collect()
            }
            Self::Texts(texts) => {
                let ends = |text: &Vec<u8>| Coordinate::Bytes(text.clone());
                let low = |low: &Vec<u8>| (!low.is_empty()).then(|| ends(low));
                texts
                    .iter()
                    .map(|(min, max)| (included(low(min)), included(max.as_ref().map(ends))))
                    .collect()
            }
        }
    }

    /// The number of coordinates, if they can be counted.
    pub(crate) fn count(&self) -> Option<u64> {
        let Self::Integers(keys) = self else { return None };
        keys.iter().try_fold(0u64, |sum, (low, high)| {
            let count = high.as_ref()?.checked_sub(*low)?.checked_add(1)?;
            sum.checked_add(u64::try_from(count).ok()?)
        })
    }

    /// The smallest and the largest coordinate, for integers.
    pub(crate) fn min_max(&self) -> Option<(i128, i128)> {
        let Self::Integers(keys) = self else { return None };
        Some((keys.iter().next()?.0, keys.iter().last()?.1?))
    }
}

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |f: &mut fmt::Formatter<'_>, coordinate: &Coordinate| match coordinate {
            Coordinate::Int(value) => write!(f, "{value}"),
            Coordinate::Float(value) => write!(f, "{value:?}"),
            Coordinate::Bytes(value) => write!(f, "'{}'", value.escape_ascii()),
        };
        for (index, (low, high)) in self.ranges().iter().take(MAX_SHOWN_RANGES).enumerate() {
            if index > 0 {
                f.write_str(" or ")?;
            }
            match (low, high) {
                (Bound::Included(low), Bound::Included(high)) if low == high => show(f, low)?,
                _ => {
                    if let Bound::Included(low) = low {
                        show(f, low)?;
                    }
                    f.write_str("..")?;
                    if let Bound::Included(high) = high {
                        f.write_str("=")?;
                        show(f, high)?;
                    }
                }
            }
        }
        match self.len().saturating_sub(MAX_SHOWN_RANGES) {
            0 => Ok(()),
            more => write!(f, " or {more} more"),
        }
    }
}

/// The coordinates of a range of a dimension of a dense array, or its whole domain.
pub(crate) fn of_bounds(dimension: &Dimension, bounds: Option<&Range>) -> Result<Option<Coordinates>> {
    let domain = dimension.domain.as_ref();
    let domain = domain.and_then(|(low, high)| Coordinates::of_range(dimension, low, high));
    match bounds.and_then(|range| Coordinates::of_range(dimension, &range.low, &range.high)) {
        Some(bounds) => match domain {
            Some(domain) => domain.and(&bounds).map(Some),
            None => Ok(Some(bounds)),
        },
        None => Ok(domain),
    }
}

/// The coordinates of the current domain of a dimension; `None` if the array has none.
pub(crate) fn of_current_domain(schema: &ArraySchema, index: usize) -> Option<Coordinates> {
    let dimension = schema.domain.dimensions.get(index)?;
    let range = schema.current_domain.as_ref()?.ranges.get(index)?;
    if dimension.is_var() {
        // An empty high end is an open one.
        let high = (!range.high.is_empty()).then(|| range.high.clone());
        return Some(Coordinates::Texts(Intervals::between(range.low.clone(), high)));
    }
    Coordinates::of_range(dimension, &range.low, &range.high)
}

fn of_keys([low, high]: [i128; 2]) -> Intervals<i128> {
    Intervals::between(low, Some(high))
}

/// The numbers that satisfy a comparison with a value, which stands for the numbers from `first` to
/// `last`.
fn numbers(comparison: Comparison, first: i128, last: i128) -> Intervals<i128> {
    // Nothing is before the first of all numbers.
    let before =
        || first.checked_sub(1).map_or(Intervals::NONE, |last| Intervals::between(i128::MIN, Some(last)));
    match comparison {
        Comparison::Less => before(),
        Comparison::LessOrEqual => Intervals::between(i128::MIN, Some(last)),
        Comparison::Greater => Intervals::after(&last),
        Comparison::GreaterOrEqual => Intervals::between(first, None),
        Comparison::Equal => Intervals::between(first, Some(last)),
        Comparison::NotEqual => Intervals::any([before(), Intervals::after(&last)]),
    }
}

/// The strings that satisfy a comparison with a string, and whether there are no others. There is
/// no greatest string below another one, so the set of smaller strings contains the string itself
/// too.
fn texts(comparison: Comparison, value: &[u8]) -> Option<(Coordinates, bool)> {
    let value = value.to_vec();
    let set = match comparison {
        Comparison::Less | Comparison::LessOrEqual => Intervals::between(Vec::new(), Some(value)),
        Comparison::Greater => Intervals::after(&value),
        Comparison::GreaterOrEqual => Intervals::between(value, None),
        Comparison::Equal => Intervals::between(value.clone(), Some(value)),
        Comparison::NotEqual => return None,
    };
    Some((Coordinates::Texts(set), comparison != Comparison::Less))
}

/// A little-endian integer of up to 8 bytes.
fn integer(datatype: Datatype, bytes: &[u8]) -> i128 {
    let signed = datatype.physical().is_signed_integer();
    let negative = signed && bytes.last().is_some_and(|byte| *byte >= 0x80);
    bytes.iter().rev().fold(if negative { -1 } else { 0 }, |value, byte| value << 8 | i128::from(*byte))
}

/// The position of a floating-point number in the total order of its type.
fn order_key(value: f64, single: bool) -> i128 {
    if single {
        #[expect(clippy::cast_possible_truncation, reason = "values of single precision come as they are")]
        let bits = (value as f32).to_bits().cast_signed();
        i128::from(if bits < 0 { bits ^ i32::MAX } else { bits })
    } else {
        let bits = value.to_bits().cast_signed();
        i128::from(if bits < 0 { bits ^ i64::MAX } else { bits })
    }
}

/// The floating-point number at a position.
fn from_order_key(key: i128, single: bool) -> Option<f64> {
    if single {
        let bits = i32::try_from(key).ok()?;
        let bits = if bits < 0 { bits ^ i32::MAX } else { bits };
        Some(f32::from_bits(bits.cast_unsigned()).into())
    } else {
        let bits = i64::try_from(key).ok()?;
        let bits = if bits < 0 { bits ^ i64::MAX } else { bits };
        Some(f64::from_bits(bits.cast_unsigned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_as_reals_do_in_the_total_order_and_lead_back() {
        let reals = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-30, 1.5, f64::INFINITY];
        for single in [true, false] {
            for pair in reals.windows(2) {
                assert!(order_key(pair[0], single) < order_key(pair[1], single), "{pair:?}");
            }
            for real in [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.5, f64::INFINITY] {
                assert_eq!(
                    from_order_key(order_key(real, single), single).map(f64::to_bits),
                    Some(real.to_bits())
                );
            }
            assert!(order_key(f64::NAN, single) > order_key(f64::INFINITY, single));
        }
    }

    #[test]
    fn a_range_with_one_end_may_hold_nan_and_one_with_two_cannot() {
        let dimension = Dimension::new("x", -10.0f64..=10.0);
        let side = |comparison| {
            let value = Value::Real(0.0);
            Coordinates::compare(&dimension, comparison, &value).map(|(set, _)| set).expect("a set")
        };
        let from = side(Comparison::GreaterOrEqual);
        assert!(!from.can_be_ranges());
        let zeros = from.and(&side(Comparison::LessOrEqual)).expect("the same kind");
        assert!(zeros.can_be_ranges());
        let bits = |end: &Bound<Coordinate>| match end {
            Bound::Included(Coordinate::Float(end)) => end.to_bits(),
            other => panic!("{other:?}"),
        };
        let ends: Vec<_> = zeros.ranges().iter().map(|(low, high)| [bits(low), bits(high)]).collect();
        assert_eq!(ends, [[(-0.0f64).to_bits(), 0.0f64.to_bits()]]);
    }
}
