//! The least budget of a query: what is told to a caller whose budget is too small.

use std::sync::Arc;

use tdb_codec::to_u64;
use tdb_schema::Range;

use super::super::boxes::Boxes;
use super::super::key_ranges::notes;
use super::super::thresholds::MAX_SAMPLES_PER_TILE;
use super::super::tile_runs::{Limit, TileRuns};
use super::{Parts, largest_tile};
use crate::batch_scope::{Reservation, check_budget, too_small};
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::{Error, Result};

impl Parts {
    /// The bytes of the least box, with all that is held beside it: a cell of each tile that there
    /// is at one place, or some cells.
    pub(super) fn min_of_boxes(&self, plan: &Plan, boxes: &Boxes) -> u64 {
        let fixed = self.threads(plan).saturating_add(self.beside(plan)).saturating_add(boxes.held());
        Reservation::min(fixed).max(fixed.saturating_add(boxes.min()))
    }

    /// Fails if some tile does not fit a batch with all its cells: tiles are not cut.
    pub(in crate::stream) fn check_tiles(&self, plan: &Plan) -> Result<()> {
        let dearest = |threads| TileRuns::default().dearest(plan, &self.cost, threads);
        let all = dearest(to_u64(plan.array.context().threads))?;
        check_budget(self.budget, all.saturating_add(self.beside(plan)))?;
        let cells = dearest(0)?;
        // A batch may always take a little.
        match self.batch.filter(|batch| batch.bytes().max(Reservation::min(0)) < cells) {
            Some(batch) => Err(too_small(batch, cells).into()),
            None => Ok(()),
        }
    }

    /// The error of a budget that is too small for a stream by keys, and for the whole query at
    /// once.
    pub(super) fn too_small_for_keys(&self, plan: &Plan) -> Error {
        let of_all =
            || TileRuns::default().next(plan, &self.cost, Limit { cells: u64::MAX, all: u64::MAX }, 0);
        let min = self.min_of_keys(plan).and_then(|keys| {
            // The sizes of values are known now, and with them what threads hold.
            let all = of_all()?.map_or(0, |all| all.bytes);
            let fixed = self.threads(plan).saturating_add(self.beside(plan));
            Ok(keys.min(Reservation::min(fixed).max(fixed.saturating_add(all))))
        });
        min.map_or_else(|error| error, |min| too_small(self.budget, min).into())
    }

    /// A budget that is enough for a stream by key ranges, which lists keys in a quarter of its
    /// room; less is often enough, too.
    fn min_of_keys(&self, plan: &Plan) -> Result<u64> {
        for fragment in plan.array.fragments() {
            // Records the size of its values.
            self.cost.var_sizes(plan.array.context(), fragment)?;
        }
        let (cells, values) = (largest_tile(plan, &self.cost), self.cost.largest_value_tile());
        let (threads, beside) = (self.threads(plan), self.beside(plan));
        // The shortest key range has a sample of each overlapping fragment, and one cell may
        // contain all values of its tile.
        let overlapping = overlapping(plan);
        let a_cell = self.cost.per_cell().saturating_mul(overlapping);
        let values = values.saturating_mul(3).saturating_mul(overlapping);
        let room = |samples: u64| {
            let notes = notes(plan).saturating_mul(samples);
            // Even with many samples per tile, each has at least one cell.
            let cells = cells.div_ceil(samples.max(1)).max(1).saturating_mul(a_cell).saturating_add(values);
            cells.max(Reservation::min(0)).max(notes.saturating_mul(3)).saturating_add(notes)
        };
        let min = (1..=MAX_SAMPLES_PER_TILE).map(room).min().unwrap_or(a_cell);
        Ok(min.saturating_add(min / 3).saturating_add(threads).saturating_add(beside))
    }

    /// The error of a budget that is too small for some tile: it contains what the most expensive
    /// tile takes.
    pub(super) fn too_small_for_runs(&self, plan: &Plan) -> Error {
        let threads = to_u64(plan.array.context().threads);
        let beside = self.beside(plan);
        match TileRuns::default().dearest(plan, &self.cost, threads) {
            Ok(min) => too_small(self.budget, min.max(Reservation::min(0)).saturating_add(beside)).into(),
            Err(error) => error,
        }
    }
}

/// The greatest number of fragments that overlap along the first dimension.
fn overlapping(plan: &Plan) -> u64 {
    let Some(dimension) = plan.array.schema().domain.dimensions.first() else { return 1 };
    let first = |fragment: &Arc<Fragment>| fragment.bounds().and_then(<[_]>::first).cloned();
    let domains: Vec<Range> = plan.array.fragments().iter().filter_map(first).collect();
    let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
    let (mut lows, mut highs): (Vec<&[u8]>, Vec<&[u8]>) =
        domains.iter().map(|range| (range.low.as_slice(), range.high.as_slice())).unzip();
    lows.sort_by(|a, b| compare(a, b));
    highs.sort_by(|a, b| compare(a, b));
    // For each start, the number of fragments that have begun and not ended.
    let open = (1u64..).zip(&lows).map(|(begun, low)| {
        begun.saturating_sub(to_u64(highs.partition_point(|high| compare(high, low).is_lt())))
    });
    open.max().unwrap_or(1)
}
