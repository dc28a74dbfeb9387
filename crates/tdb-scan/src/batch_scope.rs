//! The scope of one batch of a query: the tiles and the range of keys that it reads, and the memory
//! that it may use. Counts of memory are estimates: they stop at the greatest number.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tdb_order::key_range::KeyRange;

use crate::QueryError;
use crate::budget::MemoryBudget;
use crate::thresholds::{MIN_BATCH_BYTES, PLANNED_PART};
use crate::tile_id::TileId;

/// The part of a query that a read covers; by default all of it, without a memory limit.
#[derive(Clone, Debug, Default)]
pub struct BatchScope {
    /// The only tiles to look at, by fragment, ascending.
    pub tiles: Option<Arc<BTreeMap<usize, Vec<usize>>>>,
    /// The only cells to take: those in a range of sort keys.
    pub key_range: Option<Arc<KeyRange>>,
    /// The memory that it may use; `None` means unlimited.
    pub reservation: Option<Arc<Reservation>>,
    /// Bytes that the owner of the query holds besides.
    pub overhead: u64,
}

impl BatchScope {
    /// Whether any tile of a fragment must be looked at.
    pub fn has_fragment(&self, fragment: usize) -> bool {
        self.tiles.as_ref().is_none_or(|tiles| tiles.contains_key(&fragment))
    }

    /// Whether a tile must be looked at.
    pub fn has_tile(&self, id: TileId) -> bool {
        let own = |tiles: &BTreeMap<usize, Vec<usize>>| {
            tiles.get(&id.fragment).is_some_and(|own| own.binary_search(&id.tile).is_ok())
        };
        self.tiles.as_deref().is_none_or(own)
    }

    /// Reserves memory that is about to be used, until the end of the read.
    pub fn reserve(&self, bytes: u64) -> Result<(), QueryError> {
        self.reservation.as_ref().map_or(Ok(()), |reservation| reservation.reserve(bytes))
    }

    /// Reserves memory that is about to be used. If it does not fit, calls `free` with the number
    /// of missing bytes. `free` frees memory that is not essential, [releases](Self::release) it,
    /// and returns whether there was any.
    pub(crate) fn reserve_freeing(
        &self,
        bytes: u64,
        free: impl FnMut(u64) -> bool,
    ) -> Result<(), QueryError> {
        self.reservation.as_ref().map_or(Ok(()), |reservation| reservation.reserve_freeing(bytes, free))
    }

    /// Reserves memory that is not essential, unless it is more than half of what is left. Returns
    /// whether it was reserved.
    pub(crate) fn try_reserve_optional(&self, bytes: u64) -> bool {
        let Some(reservation) = &self.reservation else { return true };
        let fits = |used: u64| bytes <= reservation.bytes.saturating_sub(used) / 2;
        let counted = |used: u64| fits(used).then(|| used.saturating_add(bytes));
        reservation.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted).is_ok()
    }

    /// Reserves memory for bytes that are fetched before they are decoded: first the memory that
    /// was set aside for them, then more, as `try_reserve_optional` does. Returns whether
    /// it was reserved.
    pub(crate) fn reserve_fetched(&self, bytes: u64) -> bool {
        let Some(reservation) = &self.reservation else { return true };
        let aside = reservation.aside.load(Ordering::Relaxed);
        let fits = bytes <= aside || self.try_reserve_optional(bytes.saturating_sub(aside));
        if fits {
            reservation.aside.store(aside.saturating_sub(bytes), Ordering::Relaxed);
        }
        fits
    }

    /// Returns memory that `try_reserve_optional` reserved.
    pub fn release(&self, bytes: u64) {
        if let Some(reservation) = &self.reservation {
            reservation.release(bytes);
        }
    }

    /// Reserves the memory for this many selected cells; `free` as in `reserve_freeing`.
    pub fn reserve_cells(&self, cells: u64, free: impl FnMut(u64) -> bool) -> Result<(), QueryError> {
        let Some(reservation) = &self.reservation else { return Ok(()) };
        reservation.cells.fetch_add(cells, Ordering::Relaxed);
        reservation.reserve_freeing(cells.saturating_mul(reservation.per_cell), free)
    }
}

/// The memory that one read may use, and how much of it is reserved.
#[derive(Debug)]
pub struct Reservation {
    /// The budget of the query, for errors.
    budget: MemoryBudget,
    /// Bytes that the query holds besides, such as the working memory of its threads.
    fixed: u64,
    /// Bytes that the read may use.
    bytes: u64,
    /// Bytes per cell after it was selected.
    per_cell: u64,
    used: AtomicU64,
    /// The part of `used` that is set aside for bytes that are fetched before they are decoded.
    aside: AtomicU64,
    /// Cells for which memory was reserved.
    cells: AtomicU64,
    /// What stages have taken that are finished, where a query is repeated.
    finished: Mutex<Taken>,
}

/// How much of a [`Reservation`] was taken at some time, or since then; less than nothing wraps
/// around.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    used: u64,
    aside: u64,
    cells: u64,
}

impl Taken {
    const fn plus(self, other: Self) -> Self {
        Self {
            used: self.used.wrapping_add(other.used),
            aside: self.aside.wrapping_add(other.aside),
            cells: self.cells.wrapping_add(other.cells),
        }
    }

    const fn minus(self, other: Self) -> Self {
        Self {
            used: self.used.wrapping_sub(other.used),
            aside: self.aside.wrapping_sub(other.aside),
            cells: self.cells.wrapping_sub(other.cells),
        }
    }
}

impl Reservation {
    /// The least memory for a read that holds `fixed` bytes besides: it is enough for some cells.
    pub const fn min(fixed: u64) -> u64 {
        MIN_BATCH_BYTES.saturating_add(fixed)
    }

    /// The memory that a budget leaves after `fixed` bytes are subtracted.
    pub fn new(budget: MemoryBudget, fixed: u64, per_cell: u64) -> Result<Self, QueryError> {
        let reservation = Self::empty(budget, fixed, planned(budget).saturating_sub(fixed), per_cell);
        check_budget(budget, Self::min(fixed)).map(|()| reservation)
    }

    const fn empty(budget: MemoryBudget, fixed: u64, bytes: u64, per_cell: u64) -> Self {
        Self {
            budget,
            fixed,
            bytes,
            per_cell,
            used: AtomicU64::new(0),
            aside: AtomicU64::new(0),
            cells: AtomicU64::new(0),
            finished: Mutex::new(Taken { used: 0, aside: 0, cells: 0 }),
        }
    }

    /// The same memory, limited to `max`. Errors then name that limit.
    pub const fn limited_to(self, max: MemoryBudget) -> Self {
        if self.bytes <= max.bytes() {
            return self;
        }
        Self::empty(max, 0, max.bytes(), self.per_cell)
    }

    /// The memory that is left after this many bytes are subtracted, none of which is reserved.
    pub const fn with_overhead(self, held: u64) -> Self {
        let (fixed, bytes) = (self.fixed.saturating_add(held), self.bytes.saturating_sub(held));
        Self::empty(self.budget, fixed, bytes, self.per_cell)
    }

    /// Total bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of selected cells for which memory was reserved.
    pub fn cells(&self) -> u64 {
        self.cells.load(Ordering::Relaxed)
    }

    /// Bytes per cell after it was selected.
    pub const fn per_cell(&self) -> u64 {
        self.per_cell
    }

    /// The same memory, none of which is reserved.
    pub const fn unreserved(&self) -> Self {
        Self::empty(self.budget, self.fixed, self.bytes, self.per_cell)
    }

    /// Reserves memory that is about to be used.
    pub fn reserve(&self, bytes: u64) -> Result<(), QueryError> {
        self.reserve_freeing(bytes, |_| false)
    }

    /// Reserves memory for bytes that are going to be fetched (`BatchScope::reserve_fetched`).
    ///
    /// # Errors
    /// There is not as much left.
    pub fn set_aside(&self, bytes: u64) -> Result<(), QueryError> {
        self.reserve(bytes)?;
        self.aside.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Several threads may do this at once: what counts is the memory in use after `free` has
    /// returned.
    fn reserve_freeing(&self, bytes: u64, mut free: impl FnMut(u64) -> bool) -> Result<(), QueryError> {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        loop {
            let missing = self.used().saturating_sub(self.bytes);
            if missing == 0 {
                return Ok(());
            }
            if !free(missing) && self.used() > self.bytes {
                return Err(self.over(self.used()));
            }
        }
    }

    /// Runs something, and frees what it has reserved if it `is_waiting` afterwards, so that it
    /// will run again. What stages in it have reserved that are finished stays reserved, since they
    /// are not run again, and so do the bytes that are `held` in memory which all stages share.
    pub(crate) fn repeatable<T>(
        &self,
        held: impl Fn() -> u64,
        run: impl FnOnce() -> T,
        is_waiting: impl FnOnce() -> bool,
    ) -> T {
        let (before, earlier) = (self.taken(held()), self.finished());
        let result = run();
        if is_waiting() {
            let taken = before.plus(self.finished().minus(earlier));
            self.used.store(taken.used.wrapping_add(held()), Ordering::Relaxed);
            self.aside.store(taken.aside, Ordering::Relaxed);
            self.cells.store(taken.cells, Ordering::Relaxed);
        } else {
            let taken = self.taken(held()).minus(before);
            *self.finished.lock().unwrap_or_else(PoisonError::into_inner) = earlier.plus(taken);
        }
        result
    }

    /// How much of it is taken now, apart from the bytes that are held.
    fn taken(&self, held: u64) -> Taken {
        let aside = self.aside.load(Ordering::Relaxed);
        Taken { used: self.used().wrapping_sub(held), aside, cells: self.cells() }
    }

    fn finished(&self) -> Taken {
        *self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The error of a read that needs this many bytes.
    pub fn over(&self, used: u64) -> QueryError {
        QueryError::OverBudget { budget: self.budget, needed: budget_for(used.saturating_add(self.fixed)) }
    }
}

/// The error of a query whose smallest batch needs this many bytes, including those that the query
/// holds besides.
pub fn too_small(budget: MemoryBudget, min: u64) -> QueryError {
    QueryError::BudgetTooSmall { budget, min: budget_for(min) }
}

/// Checks that a budget is not smaller than the one that the error names, so that no smaller one is
/// taken.
///
/// # Errors
/// That of [`too_small`].
pub fn check_budget(budget: MemoryBudget, min: u64) -> Result<(), QueryError> {
    if planned(budget) < min { Err(too_small(budget, min)) } else { Ok(()) }
}

/// The error of a batch that cannot be made any smaller. It failed before it had taken everything
/// it needs. The budget in the error is a quarter larger than what it had taken, so that it is
/// enough.
pub fn smallest(error: QueryError) -> QueryError {
    match error {
        QueryError::OverBudget { budget, needed } => {
            let bytes = needed.bytes();
            let min = MemoryBudget::rounded_up(bytes.saturating_add(bytes / 4));
            QueryError::BudgetTooSmall { budget, min }
        }
        other => other,
    }
}

/// The bytes of a budget that are available for planning. Only whole kibibytes of it count, so that
/// the least budget of a query is a short number.
const fn planned(budget: MemoryBudget) -> u64 {
    (budget.whole_kibibytes() / PLANNED_PART.1).saturating_mul(PLANNED_PART.0)
}

/// The least budget that has this many bytes available for planning: no smaller one has.
fn budget_for(bytes: u64) -> MemoryBudget {
    MemoryBudget::in_kibibytes(bytes.div_ceil(PLANNED_PART.0).saturating_mul(PLANNED_PART.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_can_be_done_without_takes_no_more_than_half_of_what_is_left() {
        let reservation = Reservation::new(MemoryBudget::in_kibibytes(400 << 10), 0, 1).unwrap();
        let scope = BatchScope { reservation: Some(Arc::new(reservation)), ..BatchScope::default() };
        assert!(
            !scope.try_reserve_optional(160_000)
                && scope.try_reserve_optional(153_600)
                && !scope.try_reserve_optional(80_000)
                && scope.try_reserve_optional(76_800)
        );
        assert_eq!(scope.reserve(76_800), Ok(()), "what was refused is not counted");
        assert!(scope.reserve(1).is_err());
        assert!(BatchScope::default().try_reserve_optional(u64::MAX));
    }

    #[test]
    fn fetched_bytes_take_what_was_set_aside_for_them_before_they_take_more() {
        let reservation = Reservation::new(MemoryBudget::in_kibibytes(400 << 10), 0, 1).unwrap();
        reservation.set_aside(207_200).unwrap();
        let scope = BatchScope { reservation: Some(Arc::new(reservation)), ..BatchScope::default() };
        assert!(scope.reserve_fetched(157_200), "of what was set aside");
        assert!(!scope.reserve_fetched(110_001), "60,000 more than that is over half of what is left");
        assert!(scope.reserve_fetched(100_000), "50,000 of it, and half of what is left");
        assert_eq!(scope.reserve(50_000), Ok(()));
        assert!(scope.reserve(1).is_err());
    }

    #[test]
    fn memory_that_can_be_done_without_makes_way_for_what_is_needed() {
        let reservation = Reservation::new(MemoryBudget::in_kibibytes(400 << 10), 0, 1).unwrap();
        let scope = BatchScope { reservation: Some(Arc::new(reservation)), ..BatchScope::default() };
        assert!(scope.try_reserve_optional(153_600));
        assert_eq!(scope.reserve_freeing(153_600, |_| false), Ok(()));
        let mut missing = Vec::new();
        let mut free = |bytes| {
            missing.push(bytes);
            scope.release(50_000);
            true
        };
        assert_eq!(scope.reserve_freeing(90_000, &mut free), Ok(()));
        assert_eq!(missing, [90_000, 40_000]);
        assert!(scope.reserve(10_001).is_err(), "what was freed is taken now");
    }

    #[test]
    fn the_least_budget_that_an_error_names_is_enough() {
        let error = Reservation::new(MemoryBudget::from_bytes(1000), 5_000_000, 1).unwrap_err();
        let QueryError::BudgetTooSmall { min, .. } = error else { panic!("{error}") };
        let reservation = Reservation::new(min, 5_000_000, 1).unwrap();
        let error = reservation.reserve(900_000_000).unwrap_err();
        let QueryError::OverBudget { needed, .. } = error else { panic!("{error}") };
        let reservation = Reservation::new(needed, 5_000_000, 1).unwrap();
        assert_eq!(reservation.reserve(900_000_000), Ok(()));
        assert!(reservation.reserve(90_000_000).is_err(), "what is named is not far above what is needed");
    }

    proptest! {
        #[test]
        fn of_the_least_budget_that_an_error_names_no_byte_can_be_spared(
            fixed in 0u64..1 << 40, charge in 0u64..1 << 40, given in 0u64..1 << 20,
        ) {
            let refused = |budget: u64| {
                let reservation = Reservation::new(MemoryBudget::from_bytes(budget), fixed, 1)?;
                reservation.reserve(charge)
            };
            let mut budget = given;
            while let Err(error) = refused(budget) {
                let (QueryError::BudgetTooSmall { min, .. } | QueryError::OverBudget { needed: min, .. }) = error else {
                    panic!("{error}");
                };
                prop_assert!(min.bytes() > budget);
                budget = min.bytes();
                prop_assert!(refused(budget - 1).is_err(), "{budget}");
            }
        }
    }
}
