//! Checks the ends of a requested range against a dimension.

use tdb_codec::{Native, PhysicalVisitor};
use tdb_schema::{Dimension, Range};

use crate::QueryError;
use crate::coordinate::show_coordinate;
use crate::requested::Bounds;

/// Rejects ends of the wrong length and inverted ranges. Cuts others to the domain; an end at or
/// past the end of the domain becomes open. `None` for a range that lies wholly outside the domain,
/// which has no cells.
pub fn check_ends(dimension: &Dimension, ends: Bounds) -> Result<Option<Bounds>, QueryError> {
    let Bounds { mut low, mut high } = ends;
    let show = |value: &[u8]| show_coordinate(dimension, value);
    let bad = |end: &Vec<u8>| !dimension.is_var() && !is_value(dimension, end);
    if [&low, &high].into_iter().flatten().any(bad) {
        let (dimension, datatype) = (dimension.name.clone(), dimension.datatype.name());
        return Err(QueryError::RangeType { dimension, datatype });
    }
    let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
    if let (Some(low), Some(high)) = (&low, &high)
        && compare(low, high).is_gt()
    {
        let (low, high) = (show(low), show(high));
        return Err(QueryError::InvertedRange { dimension: dimension.name.clone(), low, high });
    }
    if let Some((first, last)) = &dimension.domain {
        let outside = low.as_ref().is_some_and(|low| compare(low, last).is_gt())
            || high.as_ref().is_some_and(|high| compare(high, first).is_lt());
        if outside {
            return Ok(None);
        }
        low = low.filter(|low| compare(low, first).is_gt());
        high = high.filter(|high| compare(high, last).is_lt());
    }
    Ok(Some(Bounds { low, high }))
}

/// The error of a range that lies wholly outside the domain, for callers that refuse such ranges.
pub fn outside_domain(dimension: &Dimension) -> QueryError {
    let (low, high) = dimension.domain.as_ref().map_or_else(Default::default, |(low, high)| {
        (show_coordinate(dimension, low), show_coordinate(dimension, high))
    });
    QueryError::OutsideDomain { dimension: dimension.name.clone(), low, high }
}

/// Whether the bytes are a value of the dimension's type that can be compared.
pub fn is_value(dimension: &Dimension, bytes: &[u8]) -> bool {
    struct IsValue<'a>(&'a [u8]);
    impl PhysicalVisitor for IsValue<'_> {
        type Output = bool;
        fn visit<T: Native>(self) -> bool {
            // Only a NaN cannot be compared with itself.
            T::from_le(self.0).is_some_and(|value| value.partial_cmp(&value).is_some())
        }
    }
    dimension.datatype.physical().visit(IsValue(bytes))
}
