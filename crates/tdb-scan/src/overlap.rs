//! Finds fragments that may hold versions of the same cell, from the domains in their footers
//! alone.
//!
//! A fragment is *disjoint* if its domain overlaps no other fragment that the query reads; its
//! cells need no deduplication. The rest *overlap*: of cells at equal coordinates only the newest
//! is returned. Fragments appended along a dimension, or written region by region, are disjoint,
//! and so is the only one that a range meets.
//!
//! A single fragment that contains a cell twice (libtiledb allows this with checks off) returns
//! both if it is disjoint, as libtiledb does.

use std::sync::Arc;

use tdb_codec::{ArrayType, to_u64};
use tdb_schema::{ArraySchema, Dimension, Range};

use crate::fragment::Fragment;
use crate::{OrInternal, Result};

/// A fragment that is compared is not one of the array's.
const NO_FRAGMENT: &str = "a compared fragment is not in the array";

/// The fragments of a query that may have cells with the coordinates of another one.
#[derive(Clone, Debug, Default)]
pub struct FragmentOverlap {
    /// A flag for each fragment. Empty if all fragments are disjoint.
    overlapping: Vec<bool>,
}

/// For each fragment those that it overlaps: they may have cells with its coordinates.
#[derive(Debug, Default)]
pub struct OverlappingFragments {
    /// A list for each fragment; `None` for one that counts as overlapping all others.
    overlapping: Vec<Option<Vec<usize>>>,
}

/// A fragment that overlaps more fragments than this counts as overlapping all. Chosen, not
/// measured.
const MAX_OVERLAPPING: usize = 64;

/// The number of pairs of fragments that are compared, for each fragment. With more, all fragments
/// overlap: comparing would take longer than it saves. Chosen, not measured.
const MAX_PAIRS_A_FRAGMENT: usize = 64;

impl FragmentOverlap {
    /// Compares those fragments of an array that a query meets.
    ///
    /// # Errors
    /// A fault of this module.
    pub fn new(
        schema: &ArraySchema,
        fragments: &[Arc<Fragment>],
        meets: impl Fn(&Fragment) -> bool,
    ) -> Result<Self> {
        let mut overlapping = vec![false; fragments.len()];
        let mut note = |own: usize| -> Result<()> {
            *overlapping.get_mut(own).or_internal(NO_FRAGMENT)? = true;
            Ok(())
        };
        each(schema, fragments, meets, |overlap| match overlap {
            Overlap::Whole(own) => note(own),
            Overlap::Pair(own, other) => note(own).and(note(other)),
        })?;
        Ok(Self { overlapping: if overlapping.contains(&true) { overlapping } else { Vec::new() } })
    }

    /// Whether any fragment overlaps another.
    pub const fn any(&self) -> bool {
        !self.overlapping.is_empty()
    }

    /// Whether no other fragment can have cells with a fragment's coordinates, and it holds no
    /// older versions itself.
    pub fn is_disjoint(&self, fragment: usize) -> bool {
        !self.any() || self.overlapping.get(fragment) == Some(&false)
    }
}

impl OverlappingFragments {
    /// Lists the overlaps among those fragments of an array that a query meets.
    pub(crate) fn new(
        schema: &ArraySchema,
        fragments: &[Arc<Fragment>],
        meets: impl Fn(&Fragment) -> bool,
    ) -> Result<Self> {
        let mut overlapping: Vec<Option<Vec<usize>>> = vec![Some(Vec::new()); fragments.len()];
        let mut note = |own: usize, other: Option<usize>| -> Result<()> {
            let slot = overlapping.get_mut(own).or_internal(NO_FRAGMENT)?;
            match (slot.as_mut().filter(|list| list.len() < MAX_OVERLAPPING), other) {
                (Some(list), Some(other)) => list.push(other),
                _ => *slot = None,
            }
            Ok(())
        };
        each(schema, fragments, meets, |overlap| match overlap {
            Overlap::Whole(own) => note(own, None),
            Overlap::Pair(own, other) => note(own, Some(other)).and(note(other, Some(own))),
        })?;
        Ok(Self { overlapping })
    }

    /// The fragments that a fragment overlaps; `None` if it counts as overlapping all.
    pub(crate) fn of(&self, fragment: usize) -> Option<&[usize]> {
        // Without a list, no fragment has any.
        if self.overlapping.is_empty() { Some(&[]) } else { self.overlapping.get(fragment)?.as_deref() }
    }
}

/// A finding about fragments.
#[derive(Clone, Copy)]
enum Overlap {
    /// A fragment counts as overlapping all others.
    Whole(usize),
    /// Two may have cells with the same coordinates.
    Pair(usize, usize),
}

/// A fragment and the domain of its cells.
type Domain<'f> = (usize, &'f [Range]);

/// Passes on the overlaps among those fragments of an array that a query meets.
fn each(
    schema: &ArraySchema,
    fragments: &[Arc<Fragment>],
    meets: impl Fn(&Fragment) -> bool,
    mut note: impl FnMut(Overlap) -> Result<()>,
) -> Result<()> {
    if schema.allows_duplicates || schema.array_type == ArrayType::Dense {
        return Ok(());
    }
    let mut domains: Vec<Domain<'_>> = Vec::new();
    for (index, fragment) in fragments.iter().enumerate().filter(|(_, fragment)| meets(fragment)) {
        match fragment.bounds() {
            Some(bounds) => domains.push((index, bounds)),
            None if fragment.footer().sparse_tile_num == 0 => continue,
            // It has cells and does not say where.
            None => return (0..fragments.len()).try_for_each(|fragment| note(Overlap::Whole(fragment))),
        }
        // It may contain several versions of a cell.
        if fragment.footer().has_timestamps {
            note(Overlap::Whole(index))?;
        }
    }
    let all = compare(&schema.domain.dimensions, &domains, |own, other| note(Overlap::Pair(own, other)))?;
    if !all {
        domains.iter().try_for_each(|(fragment, _)| note(Overlap::Whole(*fragment)))?;
    }
    Ok(())
}

/// Passes on the pairs of fragments whose domains overlap. False if there are too many pairs to
/// compare.
fn compare(
    dimensions: &[Dimension],
    domains: &[Domain<'_>],
    mut meet: impl FnMut(usize, usize) -> Result<()>,
) -> Result<bool> {
    // Cells with NaN lie outside what their fragment says of a real dimension, so such a dimension
    // proves nothing.
    let proving = dimensions.iter().enumerate().filter(|(_, own)| !own.datatype.physical().is_float());
    let lines: Vec<Vec<(u64, u64)>> =
        proving.map(|(index, dimension)| line(dimension, domains, index)).collect();
    let mut along: Vec<(usize, Vec<(u64, u64)>)> = domains
        .iter()
        .enumerate()
        .map(|(at, (fragment, _))| {
            (*fragment, lines.iter().filter_map(|line| line.get(at).copied()).collect())
        })
        .collect();
    let first = |place: &[(u64, u64)]| place.first().copied().unwrap_or(ANYWHERE);
    along.sort_by_key(|(_, place)| first(place));
    let mut left = domains.len().saturating_mul(MAX_PAIRS_A_FRAGMENT);
    for (at, (own, place)) in along.iter().enumerate() {
        // Only neighbours along the first line can overlap.
        let end = first(place).1;
        let rest = along.get(at.saturating_add(1)..).unwrap_or_default();
        for (other, elsewhere) in rest.iter().take_while(|(_, elsewhere)| first(elsewhere).0 <= end) {
            let Some(fewer) = left.checked_sub(1) else { return Ok(false) };
            left = fewer;
            if place.iter().zip(elsewhere).all(|(a, b)| a.0 <= b.1 && b.0 <= a.1) {
                meet(*own, *other)?;
            }
        }
    }
    Ok(true)
}

/// An interval that overlaps all others.
const ANYWHERE: (u64, u64) = (0, u64::MAX);

/// The intervals of all domains along a dimension, as numbers in the dimension's order.
fn line(dimension: &Dimension, domains: &[Domain<'_>], index: usize) -> Vec<(u64, u64)> {
    let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
    let ranges = || domains.iter().map(|(_, domain)| domain.get(index));
    if !dimension.is_var() {
        // A range whose ends are out of order, or outside the dimension's domain, may be anywhere.
        let ends = |range: &Range| {
            let (first, last) = dimension.domain.as_ref()?;
            let inside = compare(first, &range.low).is_le() && compare(&range.high, last).is_le();
            let place = (dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?);
            (inside && place.0 <= place.1).then_some(place)
        };
        return ranges().map(|range| range.and_then(ends).unwrap_or(ANYWHERE)).collect();
    }
    let mut ends: Vec<&[u8]> = ranges().flatten().flat_map(|range| [&*range.low, &*range.high]).collect();
    ends.sort_by(|a, b| compare(a, b));
    let place = |end: &[u8]| to_u64(ends.partition_point(|other| compare(other, end).is_lt()));
    let place = |range: &Range| (place(&range.low), place(&range.high));
    ranges().map(|range| range.map(place).filter(|(low, high)| low <= high).unwrap_or(ANYWHERE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(dimension: &Dimension, ranges: &[Range]) -> Vec<(usize, usize)> {
        let domains: Vec<Domain<'_>> = ranges.iter().map(core::slice::from_ref).enumerate().collect();
        let mut pairs = Vec::new();
        let note = |a: usize, b: usize| {
            pairs.push((a.min(b), a.max(b)));
            Ok(())
        };
        assert!(compare(core::slice::from_ref(dimension), &domains, note).unwrap());
        pairs.sort_unstable();
        pairs
    }

    fn range(low: i32, high: i32) -> Range {
        Range::new(low.to_le_bytes(), high.to_le_bytes())
    }

    #[test]
    fn a_fragment_is_disjoint_if_it_overlaps_none_or_none_overlaps_another() {
        let some = FragmentOverlap { overlapping: vec![true, false, true] };
        assert_eq!([0, 1, 2, 3].map(|fragment| some.is_disjoint(fragment)), [false, true, false, false]);
        assert!(FragmentOverlap { overlapping: Vec::new() }.is_disjoint(7));
    }

    #[test]
    fn domains_meet_where_they_share_a_coordinate() {
        let dimension = Dimension::new("x", -50i32..=99).with_tile(10i32);
        let ranges = [range(-50, -3), range(-3, 10), range(11, 99), range(40, 41)];
        assert_eq!(met(&dimension, &ranges), [(0, 1), (2, 3)]);
    }

    #[test]
    fn what_lies_outside_the_dimension_or_backwards_meets_everything() {
        let dimension = Dimension::new("x", 0i32..=99).with_tile(10i32);
        for odd in [range(-5, 10), range(90, 100), range(-9, -8), range(30, 20)] {
            assert_eq!(met(&dimension, &[odd, range(0, 20), range(50, 60)]), [(0, 1), (0, 2)]);
        }
    }

    #[test]
    fn real_dimensions_prove_nothing_and_strings_are_compared_as_such() {
        let real = |low: f64, high: f64| Range::new(low.to_le_bytes(), high.to_le_bytes());
        let dimension = Dimension::new("x", 0.0f64..=99.0);
        assert_eq!(met(&dimension, &[real(0.0, 1.0), real(2.0, 3.0)]), [(0, 1)]);
        let text = |low: &str, high: &str| Range::new(low.as_bytes(), high.as_bytes());
        let ranges = [text("a", "b"), text("b", "ba"), text("bb", "c"), text("z", "c")];
        assert_eq!(met(&Dimension::string("s"), &ranges), [(0, 1), (0, 3), (1, 3), (2, 3)]);
    }

    #[test]
    fn too_many_pairs_are_not_compared() {
        let dimension = Dimension::new("x", 0i32..=99).with_tile(10i32);
        let ranges = vec![range(0, 99); 3 * MAX_PAIRS_A_FRAGMENT];
        let domains: Vec<Domain<'_>> = ranges.iter().map(core::slice::from_ref).enumerate().collect();
        assert!(!compare(core::slice::from_ref(&dimension), &domains, |_, _| Ok(())).unwrap());
    }
}
