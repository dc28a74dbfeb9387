//! Boxes of cells: what they share, and what one leaves of another.

use crate::fragment::Fragment;
use crate::{OrInternal, Result};

/// A box of cells as inclusive ordinals, one pair per dimension. An ordinal is the distance from
/// the domain's low end.
pub type Box = Vec<(u64, u64)>;

/// The intersection of two boxes.
pub fn intersect(a: &[(u64, u64)], b: &[(u64, u64)]) -> Option<Box> {
    let side = |(a, b): (&(u64, u64), &(u64, u64))| {
        let (low, high) = (a.0.max(b.0), a.1.min(b.1));
        (low <= high).then_some((low, high))
    };
    a.iter().zip(b).map(side).collect()
}

/// Whether `outer` contains all of `inner`.
pub(crate) fn covers(outer: &[(u64, u64)], inner: &[(u64, u64)]) -> bool {
    outer.iter().zip(inner).all(|(outer, inner)| outer.0 <= inner.0 && inner.1 <= outer.1)
}

/// The part of an older box that a newer one does not hide; `None` if it hides all. Where the rest
/// is not a box, nothing is left out.
pub(crate) fn beside(mut older: Box, newer: &[(u64, u64)]) -> Option<Box> {
    if older.iter().zip(newer).any(|(own, newer)| newer.1 < own.0 || own.1 < newer.0) {
        return Some(older);
    }
    let mut cut = older.iter_mut().zip(newer).filter(|(own, newer)| own.0 < newer.0 || newer.1 < own.1);
    let (own, newer) = cut.next()?;
    if cut.next().is_none() {
        if newer.0 <= own.0 {
            own.0 = newer.1.saturating_add(1);
        } else if own.1 <= newer.1 {
            own.1 = newer.0.saturating_sub(1);
        }
    }
    Some(older)
}

/// The domain of a fragment's cells as a box; `None` if it is empty.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if it has no box: dimensions of dense arrays are
/// integers, and what reads footers has checked how long their ends are.
pub fn fragment_box(fragment: &Fragment) -> Result<Option<Box>> {
    let Some(domain) = fragment.bounds() else { return Ok(None) };
    let sides = domain.iter().zip(&fragment.schema().domain.dimensions);
    let sides = sides.map(|(range, along)| along.ordinal(&range.low).zip(along.ordinal(&range.high)));
    let bounds: Option<Box> = sides.collect();
    bounds.or_internal("the domain of a dense fragment has no box").map(Some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span() -> impl Strategy<Value = (u64, u64)> {
        (0u64..6, 0u64..6).prop_map(|(a, b)| (a.min(b), a.max(b)))
    }

    fn has(bounds: &[(u64, u64)], cell: (u64, u64)) -> bool {
        [cell.0, cell.1].iter().zip(bounds).all(|(at, (low, high))| (*low..=*high).contains(at))
    }

    proptest! {
        #[test]
        fn a_newer_box_leaves_the_cells_beside_it_and_no_others_if_they_are_a_box(
            older in [span(), span()],
            newer in [span(), span()],
        ) {
            let left = beside(older.to_vec(), &newer);
            let cells = (0u64..6).flat_map(|y| (0u64..6).map(move |x| (y, x)));
            let seen: Vec<(u64, u64)> =
                cells.clone().filter(|cell| has(&older, *cell) && !has(&newer, *cell)).collect();
            let ends = |side: fn(&(u64, u64)) -> u64| {
                (seen.iter().map(side).min().unwrap_or(1), seen.iter().map(side).max().unwrap_or(0))
            };
            let hull = [ends(|cell| cell.0), ends(|cell| cell.1)];
            let is_box = cells.clone().filter(|cell| has(&hull, *cell)).eq(seen.iter().copied());
            let kept = cells.filter(|cell| left.as_ref().is_some_and(|left| has(left, *cell)));
            if is_box {
                prop_assert_eq!(kept.collect::<Vec<_>>(), seen);
            } else {
                prop_assert_eq!(left, Some(older.to_vec()));
            }
        }
    }
}
