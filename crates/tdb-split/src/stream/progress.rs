//! The progress of a query.

use core::fmt;
use std::sync::Arc;

use tdb_codec::to_u64;

use crate::Cells;

/// The progress of a query: what was returned, compared with an estimate of the total.
///
/// The estimates come from metadata: for dense arrays they are exact, for sparse ones they count
/// all cells of the tiles that may contain wanted ones, so a query may end before it reaches them.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Cells returned.
    pub cells: u64,
    /// Cells of the whole query: approximate, or an upper bound.
    pub cells_estimate: u64,
    /// Bytes of those cells.
    pub bytes: u64,
    /// Approximate bytes of all of them.
    pub bytes_estimate: u64,
    /// Tiles that were read completely.
    pub tiles: u64,
    /// Tiles of the query.
    pub tiles_estimate: u64,
    /// Whether everything is read.
    pub finished: bool,
    /// Tiles read; a part of a tile counts as a fraction.
    pub(super) parts_of_tiles: f64,
}

impl Progress {
    /// The share of the query that is read, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let share = |done: u64, all: u64| if all == 0 { 0.0 } else { done as f64 / all as f64 };
        if self.finished {
            1.0
        } else if self.tiles_estimate > 0 {
            (self.parts_of_tiles / self.tiles_estimate as f64).min(1.0)
        } else {
            share(self.cells, self.cells_estimate).min(1.0)
        }
    }

    pub(super) fn add(&mut self, cells: &Cells, tiles: f64) {
        self.cells += to_u64(cells.len());
        let bytes = cells.columns().iter().map(|column| {
            let offsets = column.offsets().map_or(0, size_of_val);
            column.bytes().len() + offsets + column.validity().map_or(0, <[u8]>::len)
        });
        self.bytes += to_u64(bytes.sum());
        self.parts_of_tiles += tiles;
        // Sums of fractions may be a little below whole tiles.
        self.tiles = whole((self.parts_of_tiles + 1e-6).floor()).min(self.tiles_estimate);
    }

    pub(super) const fn finish(&mut self) {
        self.finished = true;
        self.tiles = self.tiles_estimate;
    }
}

/// The function that is called as a query progresses.
#[derive(Clone)]
pub struct OnProgress(Arc<dyn Fn(&Progress) + Send + Sync>);

impl OnProgress {
    /// A function to call after each batch.
    pub fn new(call: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }

    pub(super) fn call(&self, progress: &Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnProgress")
    }
}

/// An estimate as a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate; sums of sizes are not negative, and saturate"
)]
pub(crate) fn whole(estimate: f64) -> u64 {
    estimate.ceil() as u64
}
