//! The cells of one data tile that a region takes.

use tdb_codec::{Buffer, Layout, to_u64, to_usize};

use super::boxes::Box;
use super::by_chunk::ByChunk;
use super::cell_map::CellMap;
use super::region::Region;
use super::space::Space;
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::tiles::{Cells, FieldTiles};
use crate::{Error, OrInternal, Result};

/// The cells of one data tile that a region takes.
pub(super) struct TilePart<'p> {
    region: &'p Region,
    tile_box: &'p Box,
    bounds: &'p Box,
    /// Along each dimension, which cells of the tile: first and last of each run, ascending.
    local: Vec<Vec<(usize, usize)>>,
    pub(super) map: CellMap,
}

impl<'p> TilePart<'p> {
    pub(super) fn new(space: &Space, region: &'p Region, tile_box: &'p Box, bounds: &'p Box) -> Self {
        let map = region.map(bounds, Some((tile_box, &space.tile_strides)));
        let spans = bounds.iter().zip(tile_box).enumerate();
        let local = spans
            .map(|(dimension, ((low, high), (first, _)))| {
                let distance = |ordinal: u64| to_usize(ordinal.wrapping_sub(*first)).unwrap_or(usize::MAX);
                let runs = region.axis(dimension).into_iter().flat_map(|axis| axis.within(*low, *high));
                runs.map(|run| (distance(run.low), distance(run.high))).collect()
            })
            .collect();
        Self { region, tile_box, bounds, local, map }
    }

    /// The single run that is the whole tile, in the tile's own order: where it begins in the
    /// region.
    pub(super) fn whole_tile(&self, space: &Space) -> Option<usize> {
        let mut found = None;
        let mut runs = 0usize;
        if self
            .local
            .iter()
            .zip(&space.tile_counts)
            .all(|(runs, count)| matches!(runs.as_slice(), [(0, high)] if high + 1 == *count))
        {
            self.map.for_each_run(|_, to, cells| {
                runs = runs.saturating_add(1);
                found = (cells == space.tile_cells).then_some(to);
            });
        }
        found.filter(|_| runs == 1)
    }

    /// Number of cells.
    fn cells(&self) -> usize {
        let along = |runs: &Vec<(usize, usize)>| {
            let cells = runs.iter().map(|(low, high)| high.saturating_sub(*low).saturating_add(1));
            cells.fold(0, usize::saturating_add)
        };
        self.local.iter().map(along).fold(1, usize::saturating_mul)
    }

    /// Copies the cells of a tile into the region: values of `size` bytes, or a byte that says
    /// whether a cell is not null.
    pub(super) fn copy(
        &self,
        context: &Context,
        space: &Space,
        (tiles, tile, cells, size): (&FieldTiles, usize, Cells, usize),
        target: &mut [u8],
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        let len = space.tile_cells.saturating_mul(size);
        if self.by_chunk(context, space, (tiles, tile, cells, size), target, buffers)? {
            return Ok(());
        }
        if let Some(to) = self.whole_tile(space) {
            let start = to.saturating_mul(size);
            let out = target.get_mut(start..start.saturating_add(len)).or_internal(NO_ROOM)?;
            return match cells {
                Cells::Values => tiles.decode_fixed(context, tile, out, |_| true, buffers),
                Cells::Validity => tiles.decode_validity(context, tile, out, |_| true, buffers),
            };
        }
        if cells == Cells::Values
            && let Some(runs) = self.runs_in_tile_order(size)
        {
            let wanted = |bytes: core::ops::Range<usize>| self.any_wanted(space, size, &bytes);
            let bytes = runs.iter().map(|(from, _, cells)| {
                from.saturating_mul(size)..from.saturating_add(*cells).saturating_mul(size)
            });
            let mut left = CopyRuns { runs: &runs, size };
            let show = |bytes: core::ops::Range<usize>, cells: &[u8]| left.copy(&bytes, cells, target);
            context.tile_len(space.tile_cells, size)?;
            if tiles.visit_fixed(context, tile, len, (wanted, bytes), show, buffers)? {
                context.counters.copied(self.cells().saturating_mul(size));
                return Ok(());
            }
        }
        self.through_buffer(context, space, size, tile, target, buffers, |out, wanted, buffers| match cells {
            Cells::Values => tiles.decode_fixed_part(context, tile, (len, size), out, wanted, buffers),
            Cells::Validity => tiles.decode_validity_part(context, tile, len, out, wanted, buffers),
        })
    }

    /// Runs of cells of `size` bytes that are contiguous in the tile and in the region. `None` if
    /// they are not in the tile's order, or too short and too near to each other to be worth a
    /// list.
    fn runs_in_tile_order(&self, size: usize) -> Option<Vec<(usize, usize, usize)>> {
        let mut runs = Vec::new();
        let (mut long, mut next) = (true, None);
        self.map.for_each_run(|from, to, cells| {
            let gap = next.map_or(Some(usize::MAX), |next| from.checked_sub(next));
            let far = gap.map(|gap| gap.saturating_mul(size) >= FAR_APART);
            long &= far.is_some_and(|far| far || cells.saturating_mul(size) >= LONG_RUN);
            next = Some(from.saturating_add(cells));
            if long {
                runs.push((from, to, cells));
            }
        });
        long.then_some(runs)
    }

    /// Copies the box out of the tile's chunks, one after the other. `false` if the tile is read
    /// whole.
    fn by_chunk(
        &self,
        context: &Context,
        space: &Space,
        (tiles, tile, cells, size): (&FieldTiles, usize, Cells, usize),
        target: &mut [u8],
        buffers: &mut PooledBuffers,
    ) -> Result<bool> {
        if !context.by_chunk {
            return Ok(false);
        }
        let (region, tile_box, bounds) = (self.region, self.tile_box, self.bounds);
        let mut cut = ByChunk { space, region, tile_box, bounds, size, cut_cell: Vec::new(), copied: Ok(()) };
        let wanted = |bytes: core::ops::Range<usize>| self.any_wanted(space, size, &bytes);
        let show = |bytes: core::ops::Range<usize>, cells: &[u8]| cut.take(&bytes, cells, target);
        let len = space.tile_cells.saturating_mul(size);
        let done = tiles.visit_chunks(context, (tile, cells, len), wanted, show, buffers)?;
        cut.copied?;
        if done {
            context.counters.copied(self.cells().saturating_mul(size));
        }
        Ok(done)
    }

    /// Decodes the chunks that the box touches into a buffer of the thread, and copies the box.
    #[expect(clippy::too_many_arguments, reason = "what to read, from where, to where")]
    fn through_buffer(
        &self,
        context: &Context,
        space: &Space,
        size: usize,
        tile: usize,
        target: &mut [u8],
        buffers: &mut PooledBuffers,
        decode: impl FnOnce(
            &mut Buffer,
            &dyn Fn(core::ops::Range<usize>) -> bool,
            &mut PooledBuffers,
        ) -> Result<usize>,
    ) -> Result<()> {
        let len = space.tile_cells.saturating_mul(size);
        if to_u64(len) > context.limits.tile_bytes {
            let detail = format!("tile {tile} has {len} bytes, which is over the limit");
            return Err(Error::inconsistent("", "tile", 0, detail));
        }
        let mut buffer: Buffer = core::mem::take(&mut buffers.tile);
        let wanted = |bytes: core::ops::Range<usize>| self.any_wanted(space, size, &bytes);
        let base = decode(&mut buffer, &wanted, buffers);
        let result = base.and_then(|base| {
            context.counters.copied(self.cells().saturating_mul(size));
            self.map.copy_from(buffer.as_slice(), base.checked_div(size).unwrap_or(0), target, size)
        });
        buffers.tile = buffer;
        result
    }

    /// Whether a range of the tile's bytes has wanted cells.
    fn any_wanted(&self, space: &Space, size: usize, bytes: &core::ops::Range<usize>) -> bool {
        let first = bytes.start.checked_div(size).unwrap_or(0);
        self.has_any(space, &(first..bytes.end.div_ceil(size.max(1))))
    }

    /// Whether some of the tile's cells with these numbers are wanted.
    pub(super) fn has_any(&self, space: &Space, cells: &core::ops::Range<usize>) -> bool {
        self.first_cell_from(space, cells.start).is_some_and(|cell| cell < cells.end)
    }

    /// The first wanted cell at or after cell `from` of the tile, in the tile's order.
    fn first_cell_from(&self, space: &Space, from: usize) -> Option<usize> {
        let mut slow_first: Vec<usize> = (0..self.local.len()).collect();
        if space.cell_order == Layout::ColMajor {
            slow_first.reverse();
        }
        // The digits of `from`, increased to the next number whose digits are all wanted.
        let mut digits = Vec::with_capacity(slow_first.len());
        let mut rest = from;
        for dimension in &slow_first {
            let stride = *space.tile_strides.get(*dimension)?;
            let digit = rest.checked_div(stride)?;
            rest = rest.checked_rem(stride)?;
            if let Some(next) = self.next_digit(*dimension, digit) {
                digits.push(next);
                if next == digit {
                    continue;
                }
                break;
            }
            // Carry: the next larger digit among the slower dimensions that have one.
            loop {
                let last: usize = digits.pop()?;
                let slower = *slow_first.get(digits.len())?;
                if let Some(next) = self.next_digit(slower, last.wrapping_add(1)) {
                    digits.push(next);
                    break;
                }
            }
            break;
        }
        slow_first.iter().enumerate().try_fold(0usize, |sum, (at, dimension)| {
            let digit = match digits.get(at) {
                Some(digit) => *digit,
                None => self.next_digit(*dimension, 0)?,
            };
            Some(sum.wrapping_add(digit.wrapping_mul(*space.tile_strides.get(*dimension)?)))
        })
    }

    /// The first wanted cell along a dimension at or after `digit`.
    fn next_digit(&self, dimension: usize, digit: usize) -> Option<usize> {
        let runs = self.local.get(dimension)?;
        runs.get(runs.partition_point(|(_, high)| *high < digit)).map(|(low, _)| digit.max(*low))
    }
}

/// Runs of fewer bytes are copied out of the whole tile.
const LONG_RUN: usize = 64;
/// Unless so many bytes lie between them: then a list of runs is small beside the tile.
const FAR_APART: usize = 1 << 10;

/// Runs of cells that are still to be copied: where each begins in the tile and in the region, and
/// its number of cells.
struct CopyRuns<'r> {
    runs: &'r [(usize, usize, usize)],
    size: usize,
}

/// A tile is copied to a place outside its region.
const NO_ROOM: &str = "a region has no room for a whole tile";

impl CopyRuns<'_> {
    /// Copies the cells of the runs that are in a piece of the tile; pieces come in order.
    fn copy(&mut self, piece: &core::ops::Range<usize>, cells: &[u8], target: &mut [u8]) {
        while let Some(((from, to, count), rest)) = self.runs.split_first() {
            let (from, to) = (from.saturating_mul(self.size), to.saturating_mul(self.size));
            let end = from.saturating_add(count.saturating_mul(self.size));
            if from >= piece.end {
                return;
            }
            let shared = from.max(piece.start)..end.min(piece.end);
            if shared.start < shared.end {
                let slot = to.saturating_add(shared.start.saturating_sub(from));
                let slot = target.get_mut(slot..slot.saturating_add(shared.len()));
                let source = shared.start.saturating_sub(piece.start)..shared.end.saturating_sub(piece.start);
                if let (Some(slot), Some(source)) = (slot, cells.get(source)) {
                    slot.copy_from_slice(source);
                }
            }
            if end > piece.end {
                return;
            }
            self.runs = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_copied_whole_wherever_pieces_of_the_tile_are_cut() {
        let tile: Vec<u8> = (0..60).collect();
        // Cells of three bytes: 1 to 4, 7 to 8, and 10 to 18 of the tile.
        let runs = [(1usize, 20usize, 4usize), (7, 0, 2), (10, 5, 9)];
        let mut expected = vec![99; 80];
        for (from, to, cells) in runs {
            expected[to * 3..][..cells * 3].copy_from_slice(&tile[from * 3..][..cells * 3]);
        }
        for step in [1, 2, 3, 7, 16, 60] {
            let mut target = vec![99; 80];
            let mut left = CopyRuns { runs: &runs, size: 3 };
            for start in (0..60).step_by(step) {
                let piece = start..60.min(start + step);
                left.copy(&piece, &tile[piece.clone()], &mut target);
            }
            assert_eq!(target, expected, "pieces of {step} bytes");
        }
    }
}
