//! `tdb read --limit`: reads only the part of a dense box that has the first cells.

use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_codec::to_u64;

use crate::bounds::Bounds;

/// Reduces the box of a dense row-major read to what its first `limit` cells need. Returns whether
/// it was reduced.
pub(super) fn narrow(schema: &ArraySchema, ranges: &mut [Vec<Bounds>], limit: usize) -> bool {
    let dimensions = &schema.domain.dimensions;
    // With several ranges of a dimension, the first cells may be anywhere.
    if schema.array_type != ArrayType::Dense || ranges.iter().any(|ranges| ranges.len() > 1) {
        return false;
    }
    let bounds: Option<Vec<(u64, u64)>> = dimensions
        .iter()
        .zip(ranges.iter())
        .enumerate()
        .map(|(index, (dimension, ranges))| {
            let current = schema.current_domain.as_ref().and_then(|current| current.ranges.get(index));
            let ends = ranges.first().cloned().unwrap_or_default();
            let (first, last) = match current {
                Some(current) => (&current.low, &current.high),
                None => dimension.domain.as_ref().map(|(low, high)| (low, high))?,
            };
            let clamp = |end: &Option<Vec<u8>>, or: &[u8]| {
                let end = end.as_deref().unwrap_or(or);
                let inside = tdb_array::schema::Range::new(first.as_slice(), last.as_slice());
                dimension.ordinal(if inside.contains(dimension.datatype, end) { end } else { or })
            };
            Some((clamp(&ends.low, first)?, clamp(&ends.high, last)?))
        })
        .collect();
    let Some(bounds) = bounds else { return false };
    // The number of coordinates; one if the range is empty, of which the read says so.
    let count = |(low, high): &(u64, u64)| u128::from(high.saturating_sub(*low)) + 1;
    let mut wanted = u128::from(to_u64(limit)).max(1);
    let mut narrowed = false;
    for (index, ((low, high), ranges)) in bounds.iter().zip(ranges.iter_mut()).enumerate() {
        let inner = bounds.iter().skip(index.saturating_add(1)).map(count);
        let inner = inner.fold(1u128, u128::saturating_mul);
        let rows = wanted.div_ceil(inner);
        if rows < count(&(*low, *high)) {
            let last = u64::try_from(rows).ok().and_then(|rows| low.checked_add(rows)?.checked_sub(1));
            let dimension = dimensions.get(index);
            let ends = dimension.and_then(|own| own.coordinate(*low).zip(own.coordinate(last?)));
            // Without coordinates, more than the first cells is read.
            let Some((low, high)) = ends else { break };
            *ranges = vec![Bounds { low: Some(low), high: Some(high) }];
            narrowed = true;
        }
        if rows > 1 {
            break;
        }
        wanted = wanted.min(inner);
    }
    narrowed
}

#[cfg(test)]
mod tests {
    use tdb_codec::Datatype;
    use tdb_schema::{Dimension, Domain};

    use super::*;

    fn schema() -> ArraySchema {
        let dimension =
            |name, last: i32| Dimension::fixed(name, Datatype::Int32, 1i32.to_le_bytes(), last.to_le_bytes());
        ArraySchema::new(ArrayType::Dense, Domain::new(vec![dimension("r", 100), dimension("c", 10)]))
    }

    fn high(ranges: &[Bounds]) -> Option<i32> {
        Some(i32::from_le_bytes(ranges.first()?.high.as_deref()?.try_into().ok()?))
    }

    #[test]
    fn a_limit_reads_only_the_rows_it_needs() {
        let mut ranges = vec![Vec::new(), Vec::new()];
        assert!(narrow(&schema(), &mut ranges, 25));
        assert_eq!((high(&ranges[0]), high(&ranges[1])), (Some(3), None));
        let mut ranges =
            vec![vec![Bounds { low: Some(5i32.to_le_bytes().to_vec()), high: None }], Vec::new()];
        assert!(narrow(&schema(), &mut ranges, 4));
        assert_eq!((high(&ranges[0]), high(&ranges[1])), (Some(5), Some(4)));
        let mut ranges = vec![Vec::new(), Vec::new()];
        assert!(!narrow(&schema(), &mut ranges, 1000));
        let mut ranges = vec![vec![Bounds::default(); 2], Vec::new()];
        assert!(!narrow(&schema(), &mut ranges, 25), "with several ranges the first rows may be anywhere");
    }
}
