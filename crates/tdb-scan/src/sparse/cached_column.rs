//! A decoded column of some cells of a tile, in the form in which it is cached.

use core::ops::Range;

use tdb_codec::{Buffer, to_u32, to_u64};
use tdb_predicate::{ColumnView, string_at};

use super::pick::{fitted, pick};
use crate::buffers::zeroed;
use crate::condition::Decoded;
use crate::plan::CACHED_COLUMN_BYTES;
use crate::{Error, OrInternal, Result};

/// A cell of a tile has no string in its column.
const NO_STRING: &str = "a cell of a tile lacks its string";

/// Cells of one field of one tile.
#[derive(Debug)]
pub struct CachedColumn {
    /// The number of cells.
    pub(crate) cells: usize,
    pub(crate) values: Buffer,
    /// For var-length fields, one more offset than cells.
    pub(crate) offsets: Option<Vec<u64>>,
    /// For nullable fields, a byte per cell.
    pub(crate) validity: Option<Vec<u8>>,
}

impl CachedColumn {
    /// Bytes of its values and its validity.
    pub(super) fn content(&self) -> usize {
        self.values.len().saturating_add(self.validity.as_ref().map_or(0, Vec::len))
    }

    /// Approximate bytes that it takes.
    pub(crate) fn held(&self) -> u64 {
        let offsets = self.offsets.as_ref().map_or(0, |offsets| offsets.len().saturating_mul(8));
        let validity = self.validity.as_ref().map_or(0, Vec::len);
        CACHED_COLUMN_BYTES
            .saturating_add(to_u64(self.values.len().saturating_add(offsets).saturating_add(validity)))
    }

    /// Its cells, as a column view.
    pub fn view(&self) -> ColumnView<'_> {
        let (offsets, validity) = (self.offsets.as_deref(), self.validity.as_deref());
        ColumnView { values: self.values.as_slice(), offsets, codes: None, validity, present: None }
    }

    /// Moves its cells to the places of the ones in `flags`; the values at the other places do not
    /// matter.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) if there are not as many ones as cells.
    pub(super) fn widened(self, flags: &[u8]) -> Result<Self> {
        if flags.iter().filter(|flag| **flag != 0).count() != self.cells {
            return Err(Error::internal("a kept cell has no place among those that are selected"));
        }
        let validity = self.validity.map(|narrow| {
            let mut wide = vec![0; flags.len()];
            let slots = wide.iter_mut().zip(flags).filter(|(_, flag)| **flag != 0);
            slots.zip(narrow).for_each(|((slot, _), valid)| *slot = valid);
            wide
        });
        let (values, offsets) = match self.offsets {
            // The added cells have no values.
            Some(narrow) => {
                let mut next = narrow.iter().copied();
                let first = next.next().unwrap_or(0);
                let mut end = first;
                let ends = flags.iter().map(|flag| {
                    if *flag != 0 {
                        end = next.next().unwrap_or(end);
                    }
                    end
                });
                (self.values, Some(core::iter::once(first).chain(ends).collect()))
            }
            None => {
                let size = self.values.len().checked_div(self.cells).unwrap_or(0);
                let mut wide = zeroed(flags.len().saturating_mul(size))?;
                let cells = self.values.as_slice().chunks_exact(size.max(1));
                let slots = wide.as_mut_slice().chunks_exact_mut(size.max(1)).zip(flags);
                let slots = slots.filter(|(_, flag)| **flag != 0);
                slots.zip(cells).for_each(|((slot, _), cell)| slot.copy_from_slice(cell));
                (wide, None)
            }
        };
        Ok(Self { cells: flags.len(), values, offsets, validity })
    }
}

impl Decoded {
    /// The bytes that a column of some of its cells takes; `None` for all.
    pub(super) fn held_by(&self, cells: Option<&[u32]>) -> u64 {
        let count = cells.map_or(self.cells, <[u32]>::len);
        let values = match (cells, &self.codes) {
            (Some(cells), _) => self.bytes_of(cells.iter().copied()),
            (None, Some(_)) => self.bytes_of(0..to_u32(self.cells).unwrap_or(u32::MAX)),
            (None, None) => self.values.len(),
        };
        let offsets = if self.offsets.is_some() { count.saturating_add(1).saturating_mul(8) } else { 0 };
        let validity = if self.validity.is_some() { count } else { 0 };
        CACHED_COLUMN_BYTES.saturating_add(to_u64(values.saturating_add(offsets).saturating_add(validity)))
    }

    /// The numbers of all its cells.
    fn numbers(&self) -> Result<Range<u32>> {
        Ok(0..to_u32(self.cells).or_internal("a tile has more cells than numbers")?)
    }

    /// Bytes of the values of some of its cells.
    fn bytes_of(&self, cells: impl ExactSizeIterator<Item = u32>) -> usize {
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
}
