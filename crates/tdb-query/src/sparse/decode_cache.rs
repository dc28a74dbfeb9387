//! Keeps decoded cells that are needed again, from the step that finds them to the one that
//! collects them, while memory lasts.
//!
//! A field that a range or a condition looks at and that is also returned is decoded once:
//! selecting keeps the selected cells of a tile, and gathering takes them. What is kept counts
//! toward the memory of the read, and is dropped when memory is needed for something indispensable.
//! A column that was dropped, or never fitted, is decoded again.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tdb_codec::{Buffer, to_u32, to_u64};
use tdb_schema::FieldKind;

use super::pick::{fitted, pick};
use super::selection::TileSelection;
use crate::buffers::zeroed;
use crate::condition::{ColumnView, Decoded, string_at};
use crate::plan::{CACHED_COLUMN_BYTES, MAX_CACHED_BYTES, Plan};
use crate::share::BatchScope;
use crate::stats::Counters;
use crate::worker::Worker;
use crate::{Error, OrInternal, Result};

/// The fragment, the tile, and the part of the tile that is kept.
pub(crate) type CacheKey = (usize, usize, CachedPart);

/// The part of a tile that is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CachedPart {
    /// A field of the selected cells.
    Selected(FieldKind),
    /// A hash of each cell's coordinates, to be compared with those of matching cells.
    Hashes,
    /// A dimension of all cells, for the same purpose where many cells match.
    Whole(FieldKind),
    /// When each cell was written, to be looked at again.
    Timestamps,
}

/// Cells of one field of one tile.
#[derive(Debug)]
pub(crate) struct CachedColumn {
    /// The number of cells.
    pub(crate) cells: usize,
    pub(crate) values: Buffer,
    /// For var-length fields, one more offset than cells.
    pub(crate) offsets: Option<Vec<u64>>,
    /// For nullable fields, a byte per cell.
    pub(crate) validity: Option<Vec<u8>>,
}

/// The decoded columns that are kept of a read's fields.
#[derive(Debug)]
pub(crate) struct DecodeCache<'p> {
    share: &'p BatchScope,
    /// The fields that are collected in the end.
    fields: &'p [FieldKind],
    /// Counts what is copied to be kept.
    counters: Arc<Counters>,
    held: Mutex<CacheState>,
    /// Notified when a column that was counted has been made.
    made: Condvar,
}

#[derive(Debug, Default)]
struct CacheState {
    columns: BTreeMap<CacheKey, CachedColumn>,
    bytes: u64,
    /// Columns that are counted and still being made.
    being_made: usize,
}

/// A column that was counted and is being made. Dropping this ends that state, whatever the
/// outcome.
struct PendingColumn<'k>(&'k DecodeCache<'k>);

impl Drop for PendingColumn<'_> {
    fn drop(&mut self) {
        let mut held = self.0.lock();
        held.being_made = held.being_made.saturating_sub(1);
        self.0.made.notify_all();
    }
}

impl<'p> DecodeCache<'p> {
    /// For a read that collects the fields of a plan.
    pub(crate) fn columns(plan: &'p Plan) -> Self {
        Self::of(plan, &plan.fields)
    }

    /// For aggregates, which look at selected cells of some fields.
    pub(crate) fn scanned(plan: &'p Plan) -> Self {
        Self::of(plan, &plan.scanned)
    }

    /// For looking at coordinates only: nothing is collected afterwards.
    pub(crate) fn nothing(plan: &'p Plan) -> Self {
        Self::of(plan, &[])
    }

    fn of(plan: &'p Plan, fields: &'p [FieldKind]) -> Self {
        let counters = plan.array.context().counters.clone();
        Self { share: &plan.share, fields, counters, held: Mutex::default(), made: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        // No code that can panic runs under the lock.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a field is collected in the end.
    pub(crate) fn wants(&self, field: FieldKind) -> bool {
        self.fields.contains(&field)
    }

    /// Counts memory that is about to be taken. Kept columns are dropped to make room for it.
    pub(crate) fn charge(&self, bytes: u64) -> Result<()> {
        Ok(self.share.charge_freeing(bytes, |missing| self.free(missing))?)
    }

    /// Counts the memory that this many selected cells will take. Kept columns are dropped to make
    /// room for it.
    pub(crate) fn admit(&self, cells: u64) -> Result<()> {
        Ok(self.share.admit(cells, |missing| self.free(missing))?)
    }

    /// Drops at least this many bytes of kept columns, the last tiles first, if there are enough of
    /// them; returns whether it dropped any. It waits for columns that other threads are making.
    fn free(&self, bytes: u64) -> bool {
        let mut held = self.lock();
        while held.columns.is_empty() && held.being_made > 0 {
            held = self.made.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        let mut freed = 0u64;
        while freed < bytes {
            let Some((_, column)) = held.columns.pop_last() else { break };
            freed = freed.saturating_add(column.held());
        }
        held.bytes = held.bytes.saturating_sub(freed);
        // Under the lock: no other thread may see a state in which the columns are gone but their
        // memory is not free.
        self.share.release(freed);
        freed > 0
    }

    /// Keeps a column of this many bytes, if it fits: the column is made only then.
    pub(crate) fn put(
        &self,
        key: CacheKey,
        bytes: u64,
        column: impl FnOnce() -> Result<CachedColumn>,
    ) -> Result<()> {
        if !self.reserve(bytes) {
            return Ok(());
        }
        let making = PendingColumn(self);
        let column = column()?;
        debug_assert_eq!(column.held(), bytes, "what is given back is what was counted");
        self.lock().columns.insert(key, column);
        drop(making);
        Ok(())
    }

    fn reserve(&self, bytes: u64) -> bool {
        let mut held = self.lock();
        let after = held.bytes.saturating_add(bytes);
        let fits =
            if self.share.room.is_some() { self.share.spare(bytes) } else { after <= MAX_CACHED_BYTES };
        if fits {
            held.bytes = after;
            held.being_made = held.being_made.saturating_add(1);
        }
        fits
    }

    /// Looks at the bytes of a column, if it is kept.
    pub(crate) fn look<T>(&self, key: &CacheKey, at: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.lock().columns.get(key).map(|column| at(column.values.as_slice()))
    }

    /// Takes a column out. It no longer counts: it is about to become part of something that was
    /// counted.
    pub(crate) fn take(&self, key: &CacheKey) -> Option<CachedColumn> {
        let mut held = self.lock();
        let column = held.columns.remove(key)?;
        held.bytes = held.bytes.saturating_sub(column.held());
        self.share.release(column.held());
        Some(column)
    }

    /// The selected cells of a tile's field, if they are kept.
    pub(crate) fn take_selected(&self, selection: &TileSelection, field: FieldKind) -> Option<CachedColumn> {
        let key = (selection.fragment, selection.tile, CachedPart::Selected(field));
        // If cells were dropped since, the kept column has other cells.
        self.take(&key).filter(|column| column.cells == selection.len())
    }

    /// Whether the selected cells of a tile's field are kept.
    pub(crate) fn has(&self, selection: &TileSelection, field: FieldKind) -> bool {
        let key = (selection.fragment, selection.tile, CachedPart::Selected(field));
        self.lock().columns.get(&key).is_some_and(|column| column.cells == selection.len())
    }

    /// Whether anything of a field is kept.
    pub(crate) fn has_any(&self, field: FieldKind) -> bool {
        self.lock().columns.keys().any(|(_, _, part)| *part == CachedPart::Selected(field))
    }

    /// Keeps the selected cells of a decoded tile (`None` for all), if they are wanted and fit. The
    /// memory of a tile that is not kept goes back to the worker.
    pub(crate) fn put_selected(
        &self,
        (fragment, tile): (usize, usize),
        cells: Option<&[u32]>,
        (field, decoded): (FieldKind, Decoded),
        worker: &mut Worker,
    ) -> Result<()> {
        let wanted = self.wants(field) && cells.is_none_or(|cells| !cells.is_empty());
        if !wanted {
            decoded.give_back(worker);
            return Ok(());
        }
        let key = (fragment, tile, CachedPart::Selected(field));
        let bytes = decoded.held_by(cells);
        let mut left = Some(decoded);
        self.put(key, bytes, || match cells {
            Some(cells) => self.picked(left.as_ref().or_internal(TAKEN)?, cells),
            None => left.take().or_internal(TAKEN)?.whole(),
        })?;
        if let Some(decoded) = left {
            decoded.give_back(worker);
        }
        Ok(())
    }

    /// Reduces the columns of a selection to the cells that stay: `numbers` counts among the
    /// selected cells.
    pub(crate) fn narrow(&self, selection: &TileSelection, numbers: &[u32]) -> Result<()> {
        for field in self.fields {
            let Some(column) = self.take_selected(selection, *field).filter(|_| !numbers.is_empty()) else {
                continue;
            };
            let CachedColumn { cells, values, offsets, validity } = column;
            let decoded = Decoded { cells, values, offsets, validity, ..Decoded::default() };
            let key = (selection.fragment, selection.tile, CachedPart::Selected(*field));
            self.put(key, decoded.held_by(Some(numbers)), || self.picked(&decoded, numbers))?;
        }
        Ok(())
    }

    /// Extends columns to selections that take more cells of the same tiles than when they were
    /// kept. `matches` has a byte per cell of all selections; it is 0 for the added cells, whose
    /// values nobody looks at.
    pub(crate) fn widen(&self, selections: &[TileSelection], matches: &[u8]) -> Result<()> {
        let mut rest = matches;
        for selection in selections {
            let (flags, later) = rest.split_at_checked(selection.len()).or_internal("a cell has no flag")?;
            rest = later;
            for field in self.fields {
                let key = (selection.fragment, selection.tile, CachedPart::Selected(*field));
                let Some(column) = self.take(&key) else { continue };
                let wide = if column.cells == flags.len() { column } else { self.widened(column, flags)? };
                self.put(key, wide.held(), || Ok(wide))?;
            }
        }
        Ok(())
    }

    /// Some of the cells of a decoded tile; counts what is copied.
    pub(super) fn picked(&self, decoded: &Decoded, cells: &[u32]) -> Result<CachedColumn> {
        let column = decoded.picked(cells)?;
        self.counters.copied(column.content());
        Ok(column)
    }

    /// A column with its cells at the places of the ones in `flags`; counts what is copied.
    fn widened(&self, column: CachedColumn, flags: &[u8]) -> Result<CachedColumn> {
        // Values of variable length stay where they are.
        let values = if column.offsets.is_some() { column.values.len() } else { 0 };
        self.counters.copied(column.content().saturating_sub(values));
        column.widened(flags)
    }
}

impl CachedColumn {
    /// Bytes of its values and its validity.
    fn content(&self) -> usize {
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
    pub(crate) fn view(&self) -> ColumnView<'_> {
        let (offsets, validity) = (self.offsets.as_deref(), self.validity.as_deref());
        ColumnView { values: self.values.as_slice(), offsets, codes: None, validity, present: None }
    }

    /// Moves its cells to the places of the ones in `flags`; the values at the other places do not
    /// matter.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) if there are not as many ones as cells.
    fn widened(self, flags: &[u8]) -> Result<Self> {
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

/// A column was taken although it is only taken once.
const TAKEN: &str = "a decoded column was taken twice";
/// A cell of a tile has no string in its column.
const NO_STRING: &str = "a cell of a tile lacks its string";

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::budget::MemoryBudget;
    use crate::share::Room;

    fn column(bytes: usize) -> CachedColumn {
        CachedColumn { cells: 0, values: Buffer::zeroed(bytes), offsets: None, validity: None }
    }

    fn keep(share: &BatchScope) -> DecodeCache<'_> {
        DecodeCache {
            share,
            fields: &[],
            counters: Arc::default(),
            held: Mutex::default(),
            made: Condvar::new(),
        }
    }

    const fn place(tile: usize) -> CacheKey {
        (0, tile, CachedPart::Timestamps)
    }

    #[test]
    fn what_is_needed_waits_for_a_piece_that_is_being_made_and_takes_its_memory() {
        let room = Room::new(MemoryBudget::from_bytes(400_000), 0, 1).unwrap();
        let share = BatchScope { room: Some(Arc::new(room)), ..BatchScope::default() };
        let (keep, charged) = (keep(&share), AtomicBool::new(false));
        std::thread::scope(|scope| {
            keep.put(place(1), CACHED_COLUMN_BYTES + 140_000, || {
                scope.spawn(|| {
                    keep.charge(290_000).unwrap();
                    charged.store(true, Ordering::Relaxed);
                });
                std::thread::sleep(core::time::Duration::from_millis(50));
                assert!(!charged.load(Ordering::Relaxed), "it takes more than is left beside the column");
                Ok(column(140_000))
            })
            .unwrap();
        });
        assert!(charged.load(Ordering::Relaxed) && keep.take(&place(1)).is_none());
        assert!(keep.charge(20_000).is_err(), "nothing is left to free");
    }

    #[test]
    fn pieces_of_the_last_tiles_make_way_first() {
        let room = Room::new(MemoryBudget::from_bytes(400_000), 0, 1).unwrap();
        let share = BatchScope { room: Some(Arc::new(room)), ..BatchScope::default() };
        let keep = keep(&share);
        for tile in [2, 0, 1] {
            keep.put(place(tile), CACHED_COLUMN_BYTES + 30_000, || Ok(column(30_000))).unwrap();
        }
        keep.charge(250_000).unwrap();
        assert!(
            keep.take(&place(2)).is_none()
                && keep.take(&place(1)).is_none()
                && keep.take(&place(0)).is_some()
        );
    }
}
