//! The ordinals of one dimension that a dense query, or a part of it, reads.

use std::sync::Arc;

use tdb_codec::{to_u64, to_usize};

/// Consecutive ordinals, and the position of the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrdinalRun {
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// Position of `low` among the ordinals of its axis.
    pub(crate) at: usize,
}

impl OrdinalRun {
    /// Number of ordinals.
    pub(crate) fn count(self) -> usize {
        to_usize(self.high.saturating_sub(self.low)).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// Its part in `low..=high`, of which it has ordinals.
    fn within(self, low: u64, high: u64) -> Self {
        let from = self.low.max(low);
        let skipped = to_usize(from.saturating_sub(self.low)).unwrap_or(usize::MAX);
        Self { low: from, high: self.high.min(high), at: self.at.saturating_add(skipped) }
    }
}

/// Ascending runs of ordinals with gaps between them: the cells of a box along one dimension,
/// packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Shared by the regions of a query, which differ in one dimension only.
    runs: Arc<Vec<OrdinalRun>>,
    count: usize,
}

impl Axis {
    /// The axis of intervals, which may overlap and be in any order. `None` if they contain more
    /// ordinals than there are positions.
    pub(crate) fn merged(mut intervals: Vec<(u64, u64)>) -> Option<Self> {
        intervals.sort_unstable();
        intervals.dedup_by(|next, last| {
            let joins = next.0 <= last.1.saturating_add(1);
            if joins {
                last.1 = last.1.max(next.1);
            }
            joins
        });
        let mut axis = Self::default();
        for (low, high) in intervals {
            axis.push(low, high)?;
        }
        Some(axis)
    }

    /// Adds ordinals after the last one. `None` if there are too many.
    pub(crate) fn push(&mut self, low: u64, high: u64) -> Option<()> {
        let next = to_usize(high.checked_sub(low)?.checked_add(1)?)?;
        let at = self.count;
        self.count = at.checked_add(next)?;
        let runs = Arc::make_mut(&mut self.runs);
        match runs.last_mut() {
            Some(last) if last.high.checked_add(1) == Some(low) => last.high = high,
            _ => runs.push(OrdinalRun { low, high, at }),
        }
        Some(())
    }

    /// Number of ordinals.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// The runs.
    pub(crate) fn runs(&self) -> &[OrdinalRun] {
        &self.runs
    }

    /// First and last ordinal.
    pub(crate) fn bounds(&self) -> Option<(u64, u64)> {
        Some((self.runs.first()?.low, self.runs.last()?.high))
    }

    /// Position of an ordinal, if the axis contains it.
    pub(crate) fn position(&self, ordinal: u64) -> Option<usize> {
        let run = self.runs.get(self.runs.partition_point(|run| run.high < ordinal))?;
        run.at.checked_add(to_usize(ordinal.checked_sub(run.low)?)?)
    }

    /// The ordinal at a position.
    pub(crate) fn ordinal(&self, position: usize) -> Option<u64> {
        if position >= self.count {
            return None;
        }
        let after = self.runs.partition_point(|run| run.at <= position);
        let run = self.runs.get(after.checked_sub(1)?)?;
        run.low.checked_add(to_u64(position.checked_sub(run.at)?))
    }

    /// The parts of the runs in `low..=high`.
    pub(crate) fn within(&self, low: u64, high: u64) -> impl Iterator<Item = OrdinalRun> {
        let first = self.runs.partition_point(|run| run.high < low);
        let runs = self.runs.get(first..).unwrap_or_default().iter();
        runs.take_while(move |run| run.low <= high).map(move |run| run.within(low, high))
    }

    /// The ordinals at positions `from..to`, as an axis.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Option<Self> {
        let mut part = Self::default();
        let (first, last) = (self.ordinal(from)?, self.ordinal(to.checked_sub(1)?)?);
        for run in self.within(first, last) {
            part.push(run.low, run.high)?;
        }
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis() -> Axis {
        Axis::merged(vec![(10, 12), (3, 4), (11, 14), (5, 5), (20, 20)]).unwrap()
    }

    #[test]
    fn intervals_are_packed_in_ascending_order() {
        let runs: Vec<_> = axis().runs().iter().map(|run| (run.low, run.high, run.at)).collect();
        assert_eq!(runs, [(3, 5, 0), (10, 14, 3), (20, 20, 8)]);
        assert_eq!((axis().count(), axis().bounds()), (9, Some((3, 20))));
        assert_eq!(Axis::merged(vec![(0, u64::MAX)]), None);
        assert_eq!(Axis::merged(vec![]).unwrap().bounds(), None);
    }

    #[test]
    fn positions_and_ordinals_are_each_others_inverse() {
        let axis = axis();
        for position in 0..axis.count() {
            assert_eq!(axis.position(axis.ordinal(position).unwrap()), Some(position));
        }
        assert_eq!(axis.ordinal(9), None);
        for missing in [0, 6, 15, 21] {
            assert_eq!(axis.position(missing), None);
        }
    }

    #[test]
    fn parts_keep_their_positions_and_slices_begin_anew() {
        let part: Vec<_> = axis().within(5, 11).map(|run| (run.low, run.high, run.at)).collect();
        assert_eq!(part, [(5, 5, 2), (10, 11, 3)]);
        assert_eq!(axis().within(6, 9).count(), 0);
        let slice = axis().slice(2, 5).unwrap();
        assert_eq!(slice, Axis::merged(vec![(5, 5), (10, 11)]).unwrap());
    }
}
