//! Which fragments may have cells with the same coordinates, as far as their footers tell.
//!
//! A fragment is *alone* if no other fragment of a query can have cells with its coordinates: of its cells, none is an older
//! version of another. The others are *contested*: of several cells with the same coordinates, only the newest counts. Fragments
//! that were appended along a dimension, or written region by region, are alone, and so is the only one that a range meets.

use std::sync::Arc;

use tdb_codec::{ArrayType, to_u64};
use tdb_schema::{ArraySchema, Dimension, Range};

use crate::fragment::Fragment;

/// The rivals of each fragment: those that may have cells with its coordinates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contests {
    /// By fragment; `None` for a fragment that is contested as a whole. Empty if all fragments are alone.
    rivals: Vec<Option<Vec<usize>>>,
}

/// A fragment with more rivals than this is contested as a whole.
const MOST_RIVALS: usize = 64;

/// How many pairs of fragments are compared, for each fragment. With more, all fragments are contested: comparing would take
/// longer than it saves.
const MOST_PAIRS: usize = 64;

impl Contests {
    /// The contests among those fragments of an array that a query meets.
    pub(crate) fn new(
        schema: &ArraySchema,
        fragments: &[Arc<Fragment>],
        meets: impl Fn(&Fragment) -> bool,
    ) -> Self {
        if schema.allows_duplicates || schema.array_type == ArrayType::Dense {
            return Self::default();
        }
        let met: Vec<(usize, &Fragment)> = fragments
            .iter()
            .map(Arc::as_ref)
            .enumerate()
            // A fragment without a domain is empty.
            .filter(|(_, fragment)| fragment.bounds().is_some() && meets(fragment))
            .collect();
        // A fragment with timestamps may contain several versions of a cell.
        let with_history = |fragment: &Fragment| fragment.footer().has_timestamps;
        if met.len() < 2 && !met.iter().any(|(_, fragment)| with_history(fragment)) {
            return Self::default();
        }
        let mut rivals: Vec<Option<Vec<usize>>> = vec![Some(Vec::new()); fragments.len()];
        for (index, fragment) in &met {
            if with_history(fragment) {
                rivals.get_mut(*index).into_iter().for_each(|own| *own = None);
            }
        }
        let domains: Vec<(usize, &[Range])> =
            met.iter().filter_map(|(index, fragment)| Some((*index, fragment.bounds()?))).collect();
        if !compare(&schema.domain.dimensions, &domains, &mut rivals) {
            for (index, _) in &domains {
                rivals.get_mut(*index).into_iter().for_each(|own| *own = None);
            }
        }
        if rivals.iter().all(|own| own.as_ref().is_some_and(Vec::is_empty)) {
            return Self::default();
        }
        Self { rivals }
    }

    /// Whether any fragment is contested.
    pub(crate) const fn any(&self) -> bool {
        !self.rivals.is_empty()
    }

    /// Whether a fragment is alone.
    pub(crate) fn is_alone(&self, fragment: usize) -> bool {
        self.rivals(fragment).is_some_and(<[usize]>::is_empty)
    }

    /// The rivals of a fragment; `None` if it is contested as a whole.
    pub(crate) fn rivals(&self, fragment: usize) -> Option<&[usize]> {
        self.rivals.get(fragment).map_or(Some(&[]), Option::as_deref)
    }
}

/// Notes the rivals of each domain's fragment. False if there are too many pairs to compare.
fn compare(
    dimensions: &[Dimension],
    domains: &[(usize, &[Range])],
    rivals: &mut [Option<Vec<usize>>],
) -> bool {
    // Cells with NaN lie outside what their fragment says of a real dimension, so such a dimension proves nothing.
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
    let first = |place: &[(u64, u64)]| place.first().copied().unwrap_or((0, u64::MAX));
    along.sort_by_key(|(_, place)| first(place));
    let mut note = |own: usize, rival: usize| {
        if let Some(slot) = rivals.get_mut(own) {
            match slot {
                Some(list) if list.len() >= MOST_RIVALS => *slot = None,
                Some(list) => list.push(rival),
                None => {}
            }
        }
    };
    let mut left = domains.len().saturating_mul(MOST_PAIRS);
    for (at, (own, place)) in along.iter().enumerate() {
        // Only neighbours along the first line can overlap.
        let end = first(place).1;
        let rest = along.get(at.saturating_add(1)..).unwrap_or_default();
        for (other, elsewhere) in rest.iter().take_while(|(_, elsewhere)| first(elsewhere).0 <= end) {
            let Some(fewer) = left.checked_sub(1) else { return false };
            left = fewer;
            if place.iter().zip(elsewhere).all(|(a, b)| a.0 <= b.1 && b.0 <= a.1) {
                note(*own, *other);
                note(*other, *own);
            }
        }
    }
    true
}

/// The intervals of all domains along a dimension, as numbers in the dimension's order.
fn line(dimension: &Dimension, domains: &[(usize, &[Range])], index: usize) -> Vec<(u64, u64)> {
    let ranges = || domains.iter().map(|(_, domain)| domain.get(index));
    if !dimension.is_var() {
        // What is not in the dimension's domain may be anywhere.
        let ends = |range: &Range| Some((dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?));
        return ranges().map(|range| range.and_then(ends).unwrap_or((0, u64::MAX))).collect();
    }
    let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
    let mut ends: Vec<&[u8]> = ranges().flatten().flat_map(|range| [&*range.low, &*range.high]).collect();
    ends.sort_by(|a, b| compare(a, b));
    let place = |end: &[u8]| to_u64(ends.partition_point(|other| compare(other, end).is_lt()));
    ranges()
        .map(|range| range.map_or((0, u64::MAX), |range| (place(&range.low), place(&range.high))))
        .collect()
}
