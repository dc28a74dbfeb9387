//! What queries found out about an array, which spares later queries of the same snapshot the
//! search.

use std::sync::atomic::{AtomicBool, Ordering};

/// Facts about the visible fragments, which never change.
#[derive(Debug, Default)]
pub struct Known {
    no_cell_twice: AtomicBool,
}

impl Known {
    /// Remembers that no two cells have the same coordinates: no cell is an older version of
    /// another.
    pub fn note_no_cell_twice(&self) {
        self.no_cell_twice.store(true, Ordering::Relaxed);
    }

    /// Whether a query found out that no two cells have the same coordinates.
    pub fn has_no_cell_twice(&self) -> bool {
        self.no_cell_twice.load(Ordering::Relaxed)
    }
}
