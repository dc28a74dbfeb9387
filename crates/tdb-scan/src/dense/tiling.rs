//! Space tiles: which of them a dense query touches, and in which order they are stored.

use tdb_codec::{Layout, to_usize};

use super::axis::Axis;
use super::boxes::Box;
use super::region::Region;
use super::space::Space;
use crate::Result;

/// A space tile along one dimension, and the smallest span of ordinals that contains the part
/// needed of it.
#[derive(Clone, Copy, Debug)]
struct TileStep {
    index: u64,
    span: (u64, u64),
}

impl Space {
    /// The index of the space tile that contains an ordinal of a dimension.
    pub fn tile_index(&self, dimension: usize, ordinal: u64) -> u64 {
        let extent = self.extent(dimension);
        extent.and_then(|extent| ordinal.checked_div(extent)).unwrap_or(0)
    }

    /// First and last ordinal of a space tile along a dimension. The last may be outside the
    /// domain.
    pub(super) fn tile_span(&self, dimension: usize, index: u64) -> (u64, u64) {
        let Some(extent) = self.extent(dimension) else { return (0, u64::MAX) };
        let low = index.saturating_mul(extent);
        (low, low.saturating_add(extent.saturating_sub(1)))
    }

    /// The box of a space tile.
    pub fn tile_box(&self, index: &[u64]) -> Box {
        index.iter().enumerate().map(|(dimension, index)| self.tile_span(dimension, *index)).collect()
    }

    /// Calls `visit` for every space tile that has cells of a region, in tile order: with its
    /// index, its box, and the smallest box that contains those cells.
    pub(crate) fn for_each_tile<E>(
        &self,
        region: &Region,
        mut visit: impl FnMut(&[u64], &Box, Box) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_tile_of(region.axes(), |index, bounds| visit(index, &self.tile_box(index), bounds))
    }

    pub(super) fn for_each_tile_of<E>(
        &self,
        axes: &[Axis],
        mut visit: impl FnMut(&[u64], Box) -> Result<(), E>,
    ) -> Result<(), E> {
        let steps: Vec<Vec<TileStep>> =
            axes.iter().enumerate().map(|(dimension, axis)| self.tile_steps(dimension, axis)).collect();
        let mut at = vec![0usize; steps.len()];
        let mut fast_first: Vec<usize> = (0..steps.len()).collect();
        if self.tile_order != Layout::ColMajor {
            fast_first.reverse();
        }
        loop {
            let here = steps.iter().zip(&at).map(|(steps, at)| steps.get(*at).copied());
            let Some(here) = here.collect::<Option<Vec<TileStep>>>() else { return Ok(()) };
            let index: Vec<u64> = here.iter().map(|step| step.index).collect();
            visit(&index, here.iter().map(|step| step.span).collect())?;
            let mut done = true;
            for dimension in &fast_first {
                let (Some(slot), Some(steps)) = (at.get_mut(*dimension), steps.get(*dimension)) else {
                    continue;
                };
                *slot = slot.saturating_add(1);
                if *slot < steps.len() {
                    done = false;
                    break;
                }
                *slot = 0;
            }
            if done {
                return Ok(());
            }
        }
    }

    /// The space tiles that an axis touches, and the part of each that the axis needs. There are at
    /// most as many as ordinals.
    fn tile_steps(&self, dimension: usize, axis: &Axis) -> Vec<TileStep> {
        let mut steps: Vec<TileStep> = Vec::new();
        for run in axis.runs() {
            let mut low = run.low;
            loop {
                let index = self.tile_index(dimension, low);
                let high = self.tile_span(dimension, index).1.min(run.high);
                match steps.last_mut() {
                    Some(last) if last.index == index => last.span.1 = high,
                    _ => steps.push(TileStep { index, span: (low, high) }),
                }
                match high.checked_add(1) {
                    Some(next) if high < run.high => low = next,
                    _ => break,
                }
            }
        }
        steps
    }

    /// Whether all cells are in one space tile.
    pub(super) fn is_in_one_tile(&self) -> bool {
        let same = |(dimension, (low, high)): (usize, &(u64, u64))| {
            self.tile_index(dimension, *low) == self.tile_index(dimension, *high)
        };
        self.query().iter().enumerate().all(same)
    }

    /// The number of cells from the first to the last one of a box that lies in a tile.
    pub(super) fn span(&self, bounds: &[(u64, u64)]) -> usize {
        let along = |((low, high), stride): (&(u64, u64), &usize)| {
            to_usize(high.saturating_sub(*low)).unwrap_or(usize::MAX).saturating_mul(*stride)
        };
        bounds.iter().zip(&self.tile_strides).map(along).fold(1, usize::saturating_add).min(self.tile_cells)
    }
}
