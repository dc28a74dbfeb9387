//! The cells of a box while chunks are put into it.

use tdb_array::WriteColumn;
use tdb_array::write::WriteBatch;

use crate::boxes::count;
use crate::chain::Cells;
use crate::error::Problem;
use crate::runs::{Side, for_each_run, strides};
use crate::thresholds::TEXT_TILE;
use crate::tiles::Tiles;

/// The cells of a box.
#[derive(Debug)]
pub(crate) struct Slab {
    name: String,
    data: Vec<u8>,
    offsets: Option<Vec<u64>>,
    cells: u64,
}

impl WriteBatch for Slab {
    fn columns(&self) -> Vec<WriteColumn<'_>> {
        vec![match &self.offsets {
            Some(offsets) => WriteColumn::var(&self.name, &self.data, offsets),
            None => WriteColumn::bytes(&self.name, &self.data),
        }]
    }
}

impl Slab {
    /// The number of cells.
    pub(crate) const fn cells(&self) -> u64 {
        self.cells
    }

    /// The values, and the offsets of cells of any length.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Option<Vec<u64>>) {
        (self.data, self.offsets)
    }
}

/// A slab that is being filled.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    tiles: &'a Tiles,
    shape: Vec<usize>,
    spans: Vec<(u64, u64)>,
    cells: usize,
    /// The lengths of a chunk.
    chunk: Vec<usize>,
    /// Cells of a fixed size.
    data: Vec<u8>,
    /// For each tile in row-major order, the texts of its chunk and where they begin; none where
    /// there is no chunk.
    texts: Vec<Option<(Vec<u8>, Vec<usize>)>>,
    /// Bytes of texts, and of where they begin.
    held: u64,
}

fn narrow(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn too_large() -> Problem {
    Problem::unsupported("a row of chunks has more cells than memory has bytes")
}

impl<'a> Target<'a> {
    /// A box of tiles that is empty, by the first and the last tile along each axis.
    pub(crate) fn new(tiles: &'a Tiles, ends: &[(u64, u64)]) -> Result<Self, Problem> {
        Self::empty(tiles, ends).ok_or_else(too_large)
    }

    fn empty(tiles: &'a Tiles, ends: &[(u64, u64)]) -> Option<Self> {
        let spans = tiles.spans(ends)?;
        let shape = spans.iter().map(|(start, end)| narrow(end - start)).collect::<Option<Vec<_>>>()?;
        let cells = shape.iter().try_fold(1usize, |cells, length| cells.checked_mul(*length))?;
        let chunk = tiles.chunk.iter().map(|length| narrow(*length)).collect::<Option<_>>()?;
        let (mut data, mut texts) = (Vec::new(), Vec::new());
        match tiles.size {
            Some(size) => data = vec![0; cells.checked_mul(size)?],
            None => texts.resize_with(narrow(count(ends))?, || None),
        }
        Some(Self { tiles, shape, spans, cells, chunk, data, texts, held: 0 })
    }

    /// Puts the cells of a tile to their place, or fill values if there is no chunk. `number` is
    /// that of the tile in the box, and `place` its place in the array.
    pub(crate) fn put(
        &mut self,
        number: usize,
        place: &[u64],
        decoded: Option<Cells>,
    ) -> Result<(), Problem> {
        if self.tiles.size.is_none() {
            self.hold(place, decoded.as_ref())?;
        }
        self.placed(number, place, decoded)
            .ok_or_else(|| Problem::damaged("a chunk has other cells than its array"))
    }

    /// Counts what is held of texts: nobody knows before how long they are.
    fn hold(&mut self, place: &[u64], decoded: Option<&Cells>) -> Result<(), Problem> {
        let bytes = match decoded {
            Some(Cells::Var(values, offsets)) => {
                wide(values.len()).saturating_add(wide(offsets.len()).saturating_mul(8))
            }
            Some(Cells::Fixed(cells)) => wide(cells.len()),
            None => {
                let fill = wide(self.tiles.fill.len());
                let ends: Vec<(u64, u64)> = place.iter().map(|at| (*at, *at)).collect();
                let spans = self.tiles.spans(&ends).unwrap_or_default();
                spans.iter().fold(fill, |bytes, (start, end)| bytes.saturating_mul(end - start))
            }
        };
        self.held = self.held.saturating_add(bytes).saturating_add(TEXT_TILE);
        if self.held > self.tiles.room {
            let what = "the texts of a row of chunks";
            return Err(Problem::TooLarge { what, bytes: self.held, memory: self.tiles.room });
        }
        Ok(())
    }

    fn placed(&mut self, number: usize, place: &[u64], decoded: Option<Cells>) -> Option<()> {
        let size = match (decoded, self.tiles.size) {
            (Some(Cells::Fixed(cells)), Some(size)) => {
                let (sides, data) = (self.sides(place)?, &mut self.data);
                return for_each_run(&sides, &self.chunk, &self.shape, |from, to, count| {
                    let source = cells.get(from * size..(from + count) * size)?;
                    data.get_mut(to * size..(to + count) * size)?.copy_from_slice(source);
                    Some(())
                });
            }
            (None, Some(size)) => size,
            (Some(Cells::Var(values, offsets)), None) => {
                *self.texts.get_mut(number)? = Some((values, offsets));
                return Some(());
            }
            (None, None) => return Some(()),
            _ => return None,
        };
        let fill = &self.tiles.fill;
        if fill.len() == size && fill.iter().all(|byte| *byte == 0) {
            return Some(());
        }
        let (sides, data) = (self.sides(place)?, &mut self.data);
        for_each_run(&sides, &self.chunk, &self.shape, |_, to, count| {
            for cell in data.get_mut(to * size..(to + count) * size)?.chunks_exact_mut(size) {
                cell.copy_from_slice(fill);
            }
            Some(())
        })
    }

    /// Where a tile is in its chunk, and in the slab.
    fn sides(&self, place: &[u64]) -> Option<Vec<Side>> {
        let side = |(axis, (at, (start, _))): (usize, (&u64, &(u64, u64)))| {
            let (first, end) = self.tiles.span(axis, (*at, *at))?;
            Some(Side { source: 0, target: narrow(first - start)?, length: narrow(end - first)? })
        };
        place.iter().zip(&self.spans).enumerate().map(side).collect()
    }

    /// The slab, once all tiles were put.
    pub(crate) fn finish(self, name: &str) -> Result<Slab, Problem> {
        let (name, cells) = (name.to_owned(), wide(self.cells));
        if self.tiles.size.is_some() {
            return Ok(Slab { name, data: self.data, offsets: None, cells });
        }
        let (data, offsets) = self.joined().ok_or_else(too_large)?;
        Ok(Slab { name, data, offsets: Some(offsets), cells })
    }

    /// The texts of all tiles, row by row, and where each begins.
    fn joined(self) -> Option<(Vec<u8>, Vec<u64>)> {
        let mut data = Vec::with_capacity(narrow(self.held)?);
        let mut offsets = Vec::with_capacity(self.cells.checked_add(1)?);
        offsets.push(0);
        // A slab begins where a tile does.
        let extents = self.tiles.extents.iter().map(|extent| narrow(*extent)).collect::<Option<Vec<_>>>()?;
        let (steps, (length, above)) = (strides(&self.chunk)?, self.shape.split_last()?);
        let (extent, per_row) = (extents.last()?, length.div_ceil(*extents.last()?));
        let mut at = vec![0usize; above.len()];
        loop {
            // The first tile of this row of cells, and the row's first cell in the chunk.
            let (mut tile, mut first) = (0usize, 0usize);
            for (axis, at) in at.iter().enumerate() {
                let (extent, length) = (extents.get(axis)?, above.get(axis)?);
                tile = tile * length.div_ceil(*extent) + at / extent;
                first += at % extent * steps.get(axis)?;
            }
            for column in 0..per_row {
                let count = (length - column * extent).min(*extent);
                let Some((values, ends)) = self.texts.get(tile * per_row + column)? else {
                    for _ in 0..count {
                        data.extend_from_slice(&self.tiles.fill);
                        offsets.push(wide(data.len()));
                    }
                    continue;
                };
                let ends = ends.get(first..first.checked_add(count)?.checked_add(1)?)?;
                let (from, to, before) = (*ends.first()?, *ends.last()?, data.len());
                data.extend_from_slice(values.get(from..to)?);
                offsets.extend(ends.iter().skip(1).map(|end| wide(before + (end - from))));
            }
            let mut is_done = true;
            for (at, length) in at.iter_mut().zip(above).rev() {
                *at += 1;
                if *at < *length {
                    is_done = false;
                    break;
                }
                *at = 0;
            }
            if is_done {
                return Some((data, offsets));
            }
        }
    }
}
