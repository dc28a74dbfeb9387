//! Ranges as a query requests them, and their conversion to the bytes of a dimension.

use core::ops::{Bound, RangeBounds};

use tdb_codec::{Native, PhysicalVisitor};
use tdb_schema::Dimension;

use crate::QueryError;
use crate::coordinate::{Coordinate, int_to_float, integer_limits};

/// A requested range.
#[derive(Clone, Debug)]
pub enum RangeRequest {
    /// From one value to another, as the caller gave them.
    Values(RequestedRange),
    /// One value.
    Point(Coordinate),
    /// From one value to another, in the dimension's own bytes.
    Bytes(Bounds),
}

impl RangeRequest {
    /// Converts the range to the dimension's bytes, if that is possible.
    pub fn resolve(&self, dimension: &Dimension) -> Result<Bounds, QueryError> {
        match self {
            Self::Values(requested) => requested.resolve(dimension),
            Self::Point(value) => resolve_point(dimension, value),
            Self::Bytes(ends) => Ok(ends.clone()),
        }
    }
}

/// An inclusive range of one dimension, in the dimension's own bytes; an open end is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The least value.
    pub low: Option<Vec<u8>>,
    /// The greatest value.
    pub high: Option<Vec<u8>>,
}

/// A range as the caller gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedRange {
    /// The low end.
    pub low: Bound<Coordinate>,
    /// The high end.
    pub high: Bound<Coordinate>,
}

impl RequestedRange {
    /// Takes any range type of Rust.
    pub fn new<V: Into<Coordinate> + Clone>(range: &impl RangeBounds<V>) -> Self {
        Self {
            low: range.start_bound().map(|value| value.clone().into()),
            high: range.end_bound().map(|value| value.clone().into()),
        }
    }

    /// Converts the range to the dimension's type.
    pub fn resolve(&self, dimension: &Dimension) -> Result<Bounds, QueryError> {
        let low = resolve_end(dimension, &self.low, Side::Low)?;
        let high = resolve_end(dimension, &self.high, Side::High)?;
        Ok(Bounds { low, high })
    }
}

/// Converts a single coordinate to a range in the dimension's type.
pub(crate) fn resolve_point(dimension: &Dimension, value: &Coordinate) -> Result<Bounds, QueryError> {
    let value = Bound::Included(value.clone());
    let low = resolve_end(dimension, &value, Side::Low)?;
    let high = resolve_end(dimension, &value, Side::High)?;
    // Bounds that the type cannot represent are moved inward, never outward.
    if low != high {
        let (dimension, datatype) = (dimension.name.clone(), dimension.datatype.name());
        return Err(QueryError::RangeType { dimension, datatype });
    }
    Ok(Bounds { low, high })
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Low,
    High,
}

fn resolve_end(
    dimension: &Dimension,
    bound: &Bound<Coordinate>,
    side: Side,
) -> Result<Option<Vec<u8>>, QueryError> {
    let (value, excluded) = match bound {
        Bound::Unbounded => return Ok(None),
        Bound::Included(value) => (value, false),
        Bound::Excluded(value) => (value, true),
    };
    let wrong =
        || QueryError::RangeType { dimension: dimension.name.clone(), datatype: dimension.datatype.name() };
    if dimension.is_var() {
        let Coordinate::Bytes(bytes) = value else { return Err(wrong()) };
        return match (excluded, side) {
            (false, _) => Ok(Some(bytes.clone())),
            // The next string in byte order.
            (true, Side::Low) => Ok(Some([bytes.as_slice(), &[0]].concat())),
            // There is no greatest string that is less than another one.
            (true, Side::High) => Err(wrong()),
        };
    }
    let physical = dimension.datatype.physical();
    let value = match value {
        Coordinate::Int(value) if physical.is_float() => Coordinate::Float(int_to_float(*value)),
        Coordinate::Bytes(_) => return Err(wrong()),
        other => other.clone(),
    };
    match value {
        Coordinate::Float(value) => {
            // A real number as an end of an integral dimension is a mistake that should be
            // reported.
            if !physical.is_float() || value.is_nan() {
                return Err(wrong());
            }
            Ok(Some(physical.visit(FloatBytes { value, excluded, side })))
        }
        Coordinate::Int(value) => {
            // Numbers of 128 bits are far outside every type: what is done with the greatest one
            // holds for its neighbour.
            let value = match (excluded, side) {
                (false, _) => value,
                (true, Side::Low) => value.saturating_add(1),
                (true, Side::High) => value.saturating_sub(1),
            };
            // An end outside the type's range is outside every domain of that type: clamp it to the
            // type.
            let size = dimension.datatype.size();
            let (min, max) = integer_limits(dimension.datatype);
            let clamped = value.clamp(min, max);
            if clamped != value && (side == Side::Low) == (value > max) {
                return Err(wrong());
            }
            Ok(Some(clamped.to_le_bytes().get(..size).unwrap_or_default().to_vec()))
        }
        Coordinate::Bytes(_) => Err(wrong()),
    }
}

struct FloatBytes {
    value: f64,
    excluded: bool,
    side: Side,
}

impl PhysicalVisitor for FloatBytes {
    type Output = Vec<u8>;

    fn visit<T: Native>(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(T::SIZE);
        let outward = |low: bool| low == (self.side == Side::Low);
        if T::SIZE == 4 {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "rounded, then moved inward if it left the range"
            )]
            let mut value = self.value as f32;
            let beyond =
                if outward(true) { f64::from(value) < self.value } else { f64::from(value) > self.value };
            let at = f64::from(value) == self.value;
            if beyond || (at && self.excluded) {
                value = if outward(true) { value.next_up() } else { value.next_down() };
            }
            out.extend_from_slice(&value.to_le_bytes());
        } else {
            let value = match (self.excluded, self.side) {
                (false, _) => self.value,
                (true, Side::Low) => self.value.next_up(),
                (true, Side::High) => self.value.next_down(),
            };
            out.extend_from_slice(&value.to_le_bytes());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::Datatype;

    use super::*;

    fn dimension(datatype: Datatype) -> Dimension {
        let zero = vec![0; datatype.size()];
        Dimension::fixed("x", datatype, zero.clone(), zero)
    }

    #[test]
    fn excluded_ends_move_inward_by_one_step_of_the_type() {
        let ends = RequestedRange::new::<i32>(&(3..7)).resolve(&dimension(Datatype::Int16)).unwrap();
        assert_eq!(ends.high.unwrap(), 6i16.to_le_bytes());
        let ends = RequestedRange::new::<f64>(&(0.0..1.0)).resolve(&dimension(Datatype::Float32)).unwrap();
        assert_eq!(ends.high.unwrap(), 1f32.next_down().to_le_bytes());
        let ends = RequestedRange::new::<f64>(&(0.1..)).resolve(&dimension(Datatype::Float32)).unwrap();
        assert_eq!(ends.low.unwrap(), 0.1f32.to_le_bytes(), "0.1f32 is above 0.1f64");
        assert_eq!(ends.high, None);
    }

    #[test]
    fn ends_outside_the_type_are_clamped_outward_and_refused_inward() {
        let byte = dimension(Datatype::Uint8);
        let ends = RequestedRange::new::<i32>(&(-5..=300)).resolve(&byte).unwrap();
        assert_eq!(ends, Bounds { low: Some(vec![0]), high: Some(vec![255]) });
        assert!(RequestedRange::new::<i32>(&(300..)).resolve(&byte).is_err());
        assert!(RequestedRange::new::<&str>(&("a"..="b")).resolve(&byte).is_err());
        assert!(RequestedRange::new::<f64>(&(0.0..)).resolve(&byte).is_err());
    }
}
