//! Keeps decoded cells that are needed again, from the step that finds them to the one that
//! collects them, while memory lasts.
//!
//! A field that a range or a condition looks at and that is also returned is decoded once:
//! selecting keeps the selected cells of a tile, and gathering takes them. What is kept counts
//! toward the memory of the read, and is dropped when memory is needed for something indispensable.
//! A column that was dropped, or never fitted, is decoded again.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tdb_codec::{to_u32, to_u64};
use tdb_schema::FieldKind;

use super::cached_column::CachedColumn;
use super::selection::TileSelection;
use crate::batch_scope::BatchScope;
use crate::condition::Decoded;
use crate::decode_buffers::PooledBuffers;
use crate::plan::{CACHED_COLUMN_BYTES, MAX_CACHED_BYTES, Plan};
use crate::stats::Counters;
use crate::tile_id::TileId;
use crate::{OrInternal, Result};

/// The internal error of a column that was taken although it is only taken once.
pub(super) const TAKEN: &str = "a decoded column was taken twice";

/// The tile, and the part of it that is kept.
pub(crate) type CacheKey = (TileId, CachedPart);

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

/// The decoded columns that are kept of a read's fields.
#[derive(Debug)]
pub struct DecodeCache {
    scope: BatchScope,
    /// The fields that are collected in the end.
    pub(super) fields: Vec<FieldKind>,
    /// Counts what is copied to be kept.
    pub(super) counters: Arc<Counters>,
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
struct PendingColumn<'k>(&'k DecodeCache);

impl Drop for PendingColumn<'_> {
    fn drop(&mut self) {
        let mut held = self.0.lock();
        held.being_made = held.being_made.saturating_sub(1);
        self.0.made.notify_all();
    }
}

impl DecodeCache {
    /// For a read that collects the fields of a plan.
    pub(crate) fn columns(plan: &Plan) -> Result<Arc<Self>> {
        Self::of(plan, &plan.fields)
    }

    /// For aggregates, which look at selected cells of some fields.
    pub fn scanned(plan: &Plan) -> Result<Arc<Self>> {
        Self::of(plan, &plan.scanned)
    }

    /// For looking at coordinates only: nothing is collected afterwards.
    pub fn nothing(plan: &Plan) -> Result<Arc<Self>> {
        Self::of(plan, &[])
    }

    /// It lasts as long as the stages that fill it.
    fn of(plan: &Plan, fields: &[FieldKind]) -> Result<Arc<Self>> {
        let context = plan.array.context();
        context.kept(|| {
            let (scope, fields, counters) = (plan.scope.clone(), fields.to_vec(), context.counters.clone());
            Arc::new(Self { scope, fields, counters, held: Mutex::default(), made: Condvar::new() })
        })
    }

    /// Runs a stage of the read, which may put columns here and take some out: if it is run again,
    /// it decodes those that are missing.
    pub fn stage<T: Send + Sync + 'static>(
        &self,
        plan: &Plan,
        run: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        plan.array.context().stage(|| plan.repeatable(|| self.held(), run))
    }

    /// Runs the last stage of the read, whose result nobody needs again.
    pub fn last_stage<T>(&self, plan: &Plan, run: impl FnOnce() -> Result<T>) -> Result<T> {
        plan.last_stage(|| self.held(), run)
    }

    /// Bytes of the columns that are kept.
    pub(crate) fn held(&self) -> u64 {
        self.lock().bytes
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
    pub(crate) fn reserve(&self, bytes: u64) -> Result<()> {
        Ok(self.scope.reserve_freeing(bytes, |missing| self.free(missing))?)
    }

    /// Counts the memory that this many selected cells will take. Kept columns are dropped to make
    /// room for it.
    pub fn reserve_cells(&self, cells: u64) -> Result<()> {
        Ok(self.scope.reserve_cells(cells, |missing| self.free(missing))?)
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
        self.scope.release(freed);
        freed > 0
    }

    /// Keeps a column of this many bytes, if it fits: the column is made only then.
    pub(crate) fn put(
        &self,
        key: CacheKey,
        bytes: u64,
        column: impl FnOnce() -> Result<CachedColumn>,
    ) -> Result<()> {
        if !self.try_reserve(bytes) {
            return Ok(());
        }
        let making = PendingColumn(self);
        let column = column()?;
        debug_assert_eq!(column.held(), bytes, "what is given back is what was counted");
        // A stage that is run again makes its columns again.
        drop(self.take(&key));
        self.lock().columns.insert(key, column);
        drop(making);
        Ok(())
    }

    fn try_reserve(&self, bytes: u64) -> bool {
        let mut held = self.lock();
        let after = held.bytes.saturating_add(bytes);
        let fits = if self.scope.reservation.is_some() {
            self.scope.try_reserve_optional(bytes)
        } else {
            after <= MAX_CACHED_BYTES
        };
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
        self.scope.release(column.held());
        Some(column)
    }

    /// The selected cells of a tile's field, if they are kept.
    pub fn take_selected(&self, selection: &TileSelection, field: FieldKind) -> Option<CachedColumn> {
        let key = (selection.id, CachedPart::Selected(field));
        // If cells were dropped since, the kept column has other cells.
        self.take(&key).filter(|column| column.cells == selection.count())
    }

    /// Whether the selected cells of a tile's field are kept.
    pub(crate) fn has(&self, selection: &TileSelection, field: FieldKind) -> bool {
        let key = (selection.id, CachedPart::Selected(field));
        self.lock().columns.get(&key).is_some_and(|column| column.cells == selection.count())
    }

    /// Whether anything of a field is kept.
    pub(crate) fn has_any(&self, field: FieldKind) -> bool {
        self.lock().columns.keys().any(|(_, part)| *part == CachedPart::Selected(field))
    }

    /// Keeps the selected cells of a decoded tile (`None` for all), if they are wanted and fit. The
    /// memory of a tile that is not kept goes back to the buffers.
    pub(crate) fn put_selected(
        &self,
        id: TileId,
        cells: Option<&[u32]>,
        (field, decoded): (FieldKind, Decoded),
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        let wanted = self.wants(field) && cells.is_none_or(|cells| !cells.is_empty());
        if !wanted {
            decoded.give_back(buffers);
            return Ok(());
        }
        let key = (id, CachedPart::Selected(field));
        let bytes = decoded.held_by(cells);
        let mut left = Some(decoded);
        self.put(key, bytes, || match cells {
            Some(cells) => self.picked(left.as_ref().or_internal(TAKEN)?, cells),
            None => left.take().or_internal(TAKEN)?.whole(),
        })?;
        if let Some(decoded) = left {
            decoded.give_back(buffers);
        }
        Ok(())
    }

    /// Some of the cells of a decoded tile; counts what is copied.
    pub(super) fn picked(&self, decoded: &Decoded, cells: &[u32]) -> Result<CachedColumn> {
        let column = decoded.picked(cells)?;
        self.counters.copied(column.content());
        Ok(column)
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
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tdb_codec::Buffer;

    use super::*;
    use crate::batch_scope::Reservation;
    use crate::budget::MemoryBudget;

    fn column(bytes: usize) -> CachedColumn {
        CachedColumn { cells: 0, values: Buffer::zeroed(bytes), offsets: None, validity: None }
    }

    fn cache(scope: &BatchScope) -> DecodeCache {
        DecodeCache {
            scope: scope.clone(),
            fields: Vec::new(),
            counters: Arc::default(),
            held: Mutex::default(),
            made: Condvar::new(),
        }
    }

    const fn place(tile: usize) -> CacheKey {
        (TileId { fragment: 0, tile }, CachedPart::Timestamps)
    }

    #[test]
    fn what_is_needed_waits_for_a_piece_that_is_being_made_and_takes_its_memory() {
        let reservation = Reservation::new(MemoryBudget::from_bytes(400_000), 0, 1).unwrap();
        let scope = BatchScope { reservation: Some(Arc::new(reservation)), ..BatchScope::default() };
        let (cache, charged) = (cache(&scope), AtomicBool::new(false));
        std::thread::scope(|scope| {
            cache
                .put(place(1), CACHED_COLUMN_BYTES + 140_000, || {
                    scope.spawn(|| {
                        cache.reserve(290_000).unwrap();
                        charged.store(true, Ordering::Relaxed);
                    });
                    std::thread::sleep(core::time::Duration::from_millis(50));
                    assert!(!charged.load(Ordering::Relaxed), "it takes more than is left beside the column");
                    Ok(column(140_000))
                })
                .unwrap();
        });
        assert!(charged.load(Ordering::Relaxed) && cache.take(&place(1)).is_none());
        assert!(cache.reserve(20_000).is_err(), "nothing is left to free");
    }

    #[test]
    fn pieces_of_the_last_tiles_make_way_first() {
        let reservation = Reservation::new(MemoryBudget::from_bytes(400_000), 0, 1).unwrap();
        let scope = BatchScope { reservation: Some(Arc::new(reservation)), ..BatchScope::default() };
        let cache = cache(&scope);
        for tile in [2, 0, 1] {
            cache.put(place(tile), CACHED_COLUMN_BYTES + 30_000, || Ok(column(30_000))).unwrap();
        }
        cache.reserve(250_000).unwrap();
        assert!(
            cache.take(&place(2)).is_none()
                && cache.take(&place(1)).is_none()
                && cache.take(&place(0)).is_some()
        );
    }
}
