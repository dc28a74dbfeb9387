//! Facts about an array that a query has established, so that later queries of the same snapshot
//! need not establish them again.

use std::sync::atomic::{AtomicBool, Ordering};

/// Facts about the visible fragments, which never change.
#[derive(Debug, Default)]
pub struct SnapshotMemo {
    no_cell_twice: AtomicBool,
}

impl SnapshotMemo {
    /// Remembers that no two cells have the same coordinates: no cell is an older version of
    /// another.
    pub fn note_no_cell_twice(&self) {
        self.no_cell_twice.store(true, Ordering::Relaxed);
    }

    /// Whether a query has established that no two cells have the same coordinates.
    pub fn has_no_cell_twice(&self) -> bool {
        self.no_cell_twice.load(Ordering::Relaxed)
    }
}
