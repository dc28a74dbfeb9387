//! Copies some cells of a tile.

use core::ops::Range;

use tdb_codec::{Buffer, to_u32, to_u64};
use tdb_predicate::string_at;

use super::cached_column::CachedColumn;
use crate::buffers::{index_of, zeroed};
use crate::condition::Decoded;
use crate::{Error, OrInternal, Result};

/// A cell of a tile has no string in its column.
const NO_STRING: &str = "a cell of a tile lacks its string";

impl Decoded {
    /// Some of its cells.
    pub(super) fn picked(&self, cells: &[u32]) -> Result<CachedColumn> {
        let pick_validity = |all: &Vec<u8>| {
            let mut some = vec![0; cells.len()];
            pick(all, 0, 1, cells, &mut some)?;
            Ok::<_, Error>(some)
        };
        let validity = self.validity.as_ref().map(pick_validity).transpose()?;
        let (values, offsets) = match &self.offsets {
            None => {
                let size = self.values.len().checked_div(self.cells).unwrap_or(0);
                let mut picked = zeroed(cells.len().saturating_mul(size))?;
                pick(self.values.as_slice(), 0, size, cells, picked.as_mut_slice())?;
                (picked, None)
            }
            Some(_) => {
                let (picked, ends) = self.strings_of(cells.iter().copied())?;
                (picked, Some(ends))
            }
        };
        Ok(CachedColumn { cells: cells.len(), values, offsets, validity })
    }

    /// The numbers of all its cells.
    fn numbers(&self) -> Result<Range<u32>> {
        Ok(0..to_u32(self.cells).or_internal("a tile has more cells than numbers")?)
    }

    /// Bytes of the values of some of its cells.
    pub(super) fn bytes_of(&self, cells: impl ExactSizeIterator<Item = u32>) -> usize {
        if self.offsets.is_none() {
            return cells.len().saturating_mul(self.values.len().checked_div(self.cells).unwrap_or(0));
        }
        let len = |cell| self.ends(cell).map_or(0, |(start, end)| end.saturating_sub(start));
        tdb_codec::to_usize(cells.map(len).fold(0, u64::saturating_add)).unwrap_or(usize::MAX)
    }

    /// All its cells.
    pub(super) fn whole(self) -> Result<CachedColumn> {
        if self.codes.is_some() {
            let (values, offsets) = self.strings_of(self.numbers()?)?;
            return Ok(CachedColumn {
                cells: self.cells,
                values,
                offsets: Some(offsets),
                validity: self.validity,
            });
        }
        let Self { cells, values, offsets, validity, .. } = self;
        Ok(CachedColumn { cells, values: fitted(values), offsets, validity })
    }

    /// The strings of some of its cells, back to back, and one more offset than strings.
    fn strings_of(&self, cells: impl ExactSizeIterator<Item = u32> + Clone) -> Result<(Buffer, Vec<u64>)> {
        let mut picked = zeroed(self.bytes_of(cells.clone()))?;
        let mut ends = Vec::with_capacity(cells.len().saturating_add(1));
        let mut end = 0usize;
        ends.push(0);
        let (values, mut rest) = (self.values.as_slice(), picked.as_mut_slice());
        for cell in cells {
            let (start, stop) = self.ends(cell).or_internal(NO_STRING)?;
            let string = string_at(values, start, stop);
            let split = core::mem::take(&mut rest).split_at_mut_checked(string.len());
            let (own, others) = split.or_internal("a string has no room beside the others")?;
            own.copy_from_slice(string);
            rest = others;
            end = end.saturating_add(string.len());
            ends.push(to_u64(end));
        }
        picked.resize(end);
        Ok((picked, ends))
    }
}

/// Reallocates a buffer that is going to be kept, so that it takes not much more memory than it has
/// bytes.
pub(super) fn fitted(buffer: Buffer) -> Buffer {
    if buffer.capacity() / 5 > buffer.len() / 4 { buffer.as_slice().into() } else { buffer }
}

/// Copies cells of `size` bytes into `out`. `values` begins at byte `base` of the tile, which is
/// the start of a cell.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if some of the cells, which ascend, are not there.
pub(super) fn pick(values: &[u8], base: usize, size: usize, cells: &[u32], out: &mut [u8]) -> Result<()> {
    let first = base.checked_div(size).unwrap_or(0);
    if let (Some(low), Some(high)) = (cells.first(), cells.last()) {
        let end = index_of(*high).saturating_add(1).checked_sub(first).and_then(|end| end.checked_mul(size));
        let are_there = index_of(*low) >= first && end.is_some_and(|end| end <= values.len());
        if !are_there || cells.len().checked_mul(size) != Some(out.len()) {
            return Err(Error::internal("a picked cell lies outside its tile"));
        }
    }
    match size {
        1 => pick_sized::<1>(values, first, cells, out),
        2 => pick_sized::<2>(values, first, cells, out),
        4 => pick_sized::<4>(values, first, cells, out),
        8 => pick_sized::<8>(values, first, cells, out),
        _ => {
            for (slot, cell) in out.chunks_exact_mut(size.max(1)).zip(cells) {
                let start = index_of(*cell).saturating_sub(first).saturating_mul(size);
                if let Some(cell) = values.get(start..start.saturating_add(size)) {
                    slot.copy_from_slice(cell);
                }
            }
        }
    }
    Ok(())
}

fn pick_sized<const N: usize>(values: &[u8], first: usize, cells: &[u32], out: &mut [u8]) {
    let values = values.as_chunks::<N>().0;
    for (slot, cell) in out.as_chunks_mut::<N>().0.iter_mut().zip(cells) {
        if let Some(value) = values.get(index_of(*cell).wrapping_sub(first)) {
            *slot = *value;
        }
    }
}

/// Passes on the wanted cells of a var-length tile, and writes their lengths.
pub(super) fn copy_var_cells<'t>(
    (bytes, offsets): (&'t [u8], &[u64]),
    cells: &[u32],
    lengths: &mut [u64],
    mut value: impl FnMut(&'t [u8]),
) -> Result<()> {
    if lengths.len() != cells.len() {
        return Err(Error::internal("a picked cell has no length"));
    }
    for (cell, length) in cells.iter().zip(lengths) {
        let at = index_of(*cell);
        let Some([start, end]) = offsets.get(at..at.saturating_add(2)) else {
            return Err(Error::internal("a picked cell lies outside its tile"));
        };
        let cell = string_at(bytes, *start, *end);
        *length = to_u64(cell.len());
        value(cell);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_every_size_are_picked_from_where_their_values_begin() {
        for size in 1..=9usize {
            let values: Vec<u8> = (5..20u8).flat_map(|cell| vec![cell; size]).collect();
            let mut out = vec![0; 3 * size];
            pick(&values, 5 * size, size, &[5, 11, 19], &mut out).unwrap();
            assert_eq!(out, [5u8, 11, 19].into_iter().flat_map(|cell| vec![cell; size]).collect::<Vec<u8>>());
            for outside in [[4u32, 5], [19, 20]] {
                let picked = pick(&values, 5 * size, size, &outside, &mut vec![0; 2 * size]);
                assert!(matches!(picked, Err(Error::Internal(_))), "{outside:?}");
            }
        }
    }
}
