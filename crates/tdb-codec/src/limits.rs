//! How much memory a caller allows for bytes it does not trust.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::{ErrorKind, to_u64};

/// Upper bounds for single allocations that a file asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest unfiltered tile, in bytes. The format itself sets no limit.
    pub tile_bytes: u64,
    /// Largest unfiltered metadata structure (schema, fragment metadata section, …), in bytes.
    pub metadata_bytes: u64,
    /// The most memory that filters may hold between their steps at any one time, in bytes, over
    /// all threads together.
    pub scratch_bytes: u64,
}

impl Limits {
    /// No structure is rejected because of its size; budgets still apply.
    pub const NONE: Self = Self { tile_bytes: u64::MAX, metadata_bytes: u64::MAX, scratch_bytes: u64::MAX };
}

impl Default for Limits {
    /// 4 GiB for a tile (the largest chunk length), 1 GiB for a metadata structure, 1 GiB between
    /// filters.
    fn default() -> Self {
        Self { tile_bytes: 4 << 30, metadata_bytes: 1 << 30, scratch_bytes: 1 << 30 }
    }
}

/// The number of bytes that may still be allocated. It is charged before a buffer grows and
/// released afterwards.
///
/// Shared by reference between the jobs of one operation.
///
/// ```
/// use tdb_codec::Budget;
///
/// let budget = Budget::new(100);
/// budget.charge(60).unwrap();
/// assert!(budget.charge(60).is_err());
/// budget.release(60);
/// assert_eq!(budget.available(), 100);
/// ```
#[derive(Debug)]
pub struct Budget {
    available: AtomicU64,
}

impl Budget {
    /// A budget of `bytes`.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self { available: AtomicU64::new(bytes) }
    }

    /// A budget that is never exhausted.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Bytes still available.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.available.load(Ordering::Relaxed)
    }

    /// Takes `bytes` out of the budget.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`] if fewer are available; nothing is taken then.
    pub fn charge(&self, bytes: u64) -> Result<(), ErrorKind> {
        self.available
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |available| available.checked_sub(bytes))
            .map(|_| ())
            .map_err(|_| ErrorKind::LimitExceeded { size: bytes })
    }

    /// Takes the size of a buffer of `len` bytes out of the budget.
    ///
    /// # Errors
    /// As [`Self::charge`].
    pub fn charge_len(&self, len: usize) -> Result<(), ErrorKind> {
        self.charge(to_u64(len))
    }

    /// Gives `bytes` back.
    pub fn release(&self, bytes: u64) {
        let _ = self.available.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |available| {
            Some(available.saturating_add(bytes))
        });
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::unlimited()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_charged_up_to_its_last_byte_and_gets_back_what_is_released() {
        let budget = Budget::new(10);
        budget.charge(4).unwrap();
        assert_eq!(budget.charge_len(7), Err(ErrorKind::LimitExceeded { size: 7 }));
        assert_eq!(budget.available(), 6, "a refused charge takes nothing");
        budget.charge_len(6).unwrap();
        assert_eq!(budget.available(), 0);
        budget.release(3);
        assert_eq!(budget.available(), 3);
        budget.release(u64::MAX);
        assert_eq!(budget.available(), u64::MAX);
        assert_eq!(Budget::unlimited().available(), Budget::default().available());
        assert_eq!(Budget::default().available(), u64::MAX);
    }

    #[test]
    fn limits_are_some_gibibytes_unless_there_are_none() {
        const GIB: u64 = 1024 * 1024 * 1024;
        let Limits { tile_bytes, metadata_bytes, scratch_bytes } = Limits::default();
        assert_eq!((tile_bytes, metadata_bytes, scratch_bytes), (4 * GIB, GIB, GIB));
        assert_eq!(Limits::NONE.tile_bytes, u64::MAX);
    }
}
