//! Sparse reads: select cells, put them in order, collect their fields.
//!
//! 1. *Select* (`candidate`, then `select` and `selector`). The R-tree returns the tiles that
//!    overlap the ranges; without ranges it is not needed. A tile whose rectangle is inside the
//!    ranges is taken whole, and its coordinates are decoded only if an order needs them. In other
//!    tiles each cell is compared with the ranges, and, if a fragment extends beyond the time
//!    window, with its own timestamp. A condition drops cells as early as duplicates allow
//!    (`filter`), and deletes drop them after the search for duplicates (`deletes`).
//! 2. *Order* (`sort_input`, `tdb_order`). This step is skipped if cells are already in order: one
//!    fragment without cell timestamps read in global order, or any unordered read that has no
//!    duplicates to look for. It has none if the array allows duplicates, or if no two fragments in
//!    the ranges can have cells with the same coordinates (`overlap`). Of equal coordinates the one
//!    with the greatest (timestamp, fragment) survives, unless the array allows duplicates. An
//!    unordered read only needs to know which cells are replaced, and not even that if an earlier
//!    query found out that none is (`SnapshotMemo`). Where nobody asks for coordinates, each tile
//!    is reduced to the keys of its cells as soon as it is decoded. If that was found out before,
//!    for all parts of the query (`visible_cells`, which tdb-split finds), nothing is compared.
//! 3. *Stage and gather* (`collect`, `stage`, `tdb_cells::gather`). Each field's selected cells are
//!    decoded tile by tile into a staging column; chunks without a wanted cell are skipped. Without
//!    ranges and without a memory budget, coordinates are staged first and ordered where they are.
//!    If step 2 changed the order, the column is permuted, in parallel bands of the output and runs
//!    as blocks, into the memory of a column that is no longer needed, if there is one. If cells
//!    are only dropped, the others close the gaps in place.

pub(crate) mod cached_column;
pub mod candidate;
mod coded;
pub mod collect;
mod coordinate_filter;
mod coordinate_hashes;
pub mod decode_cache;
pub mod deletes;
pub mod filter;
mod pick;
mod reorder;
pub mod select;
pub mod selected;
pub mod selection;
mod selector;
mod sort_input;
mod stage;
pub mod versions;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tdb_codec::{Layout, to_u32, to_u64};
use tdb_order::{CellOrder, permutation, replaced};

use self::collect::{Arranged, collect, fetch_columns};
use self::decode_cache::DecodeCache;
use self::deletes::without_deleted;
use self::filter::{Filter, selected_in};
use self::select::{CoordinateUse, select};
use self::selected::Selected;
use self::selection::TileSelection;
use self::stage::stage_coordinates;

pub use self::candidate::{Candidate, all_candidates, candidates};
pub use self::sort_input::replaced_among;
use crate::condition::Sources;
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::stats::Stage;
use crate::{Cells, Column, QueryError, Result};

/// Runs a query on a sparse array.
pub(crate) fn read(plan: &Plan) -> Result<Cells> {
    let array = &plan.array;
    let context = array.context();
    let schema = array.schema();
    let Sorting { sorts, dedup } = Sorting::of(plan);
    // Coordinates of whole tiles are decoded directly into their columns; the sorter looks at them
    // there. With a budget, everything is done tile by tile, and also with a condition, which may
    // leave few cells.
    let limited =
        plan.scope.key_range.is_some() || plan.scope.reservation.is_some() || plan.condition.is_some();
    let staged = sorts && !limited && plan.ranges.iter().all(RangeSet::is_all);
    let cache = DecodeCache::columns(plan)?;
    let found = selected(plan, sorts && !staged, dedup, &cache)?;
    let selections = found.selections.as_slice();
    let cells: usize = selections.iter().map(TileSelection::count).sum();
    let coordinates = cache.stage(plan, || {
        cache.reserve_cells(to_u64(cells))?;
        let columns = if staged { stage_coordinates(plan, selections, cells)? } else { Vec::new() };
        Ok(StagedCoordinates(Mutex::new(columns)))
    })?;
    let ordered = matches!(plan.order, Layout::RowMajor | Layout::ColMajor | Layout::GlobalOrder);
    let order = cache.stage(plan, || {
        let _clock = context.counters.time(Stage::Order);
        let coordinates = coordinates.columns();
        let batches = || match staged {
            true => sort_input::staged(&schema.domain.dimensions, selections, &coordinates),
            false => Ok(sort_input::own(selections)),
        };
        let order = match (sorts, ordered) {
            (false, _) => None,
            (true, true) => {
                let order = CellOrder::of(plan.order, schema);
                Some(permutation(context.threads, schema, batches()?, order, dedup)?)
            }
            // The cells that stay may keep their stored order.
            (true, false) => without(cells, &replaced(context.threads, schema, batches()?)?)?,
        };
        if dedup {
            plan.note_older(order.as_ref().map_or(0, |order| cells.saturating_sub(order.len())));
        }
        Ok(order)
    })?;
    let order = without_deleted(plan, &found, cells, order, &cache)?;
    let order = order.as_ref().as_ref();
    let _clock = context.counters.time(Stage::Decode);
    cache.last_stage(plan, || {
        fetch_columns(plan, &plan.fields, selections, &cache)?;
        let arranged = Arranged { order: order.map(Vec::as_slice), ordered, cells };
        let coordinates = core::mem::take(&mut *coordinates.columns());
        let columns = collect(plan, selections, coordinates, arranged, &cache)?;
        let len = order.map_or(cells, Vec::len);
        Ok(Cells { len, shape: None, order: plan.order, columns, selected: None })
    })
}

/// The sorting steps that a query needs.
#[derive(Clone, Copy, Debug)]
pub struct Sorting {
    /// Whether cells must be put in another order than their stored order.
    pub sorts: bool,
    /// Whether cells may be replaced by newer ones.
    pub dedup: bool,
}

impl Sorting {
    /// The steps that a plan needs.
    pub fn of(plan: &Plan) -> Self {
        let fragments = plan.array.fragments();
        let timed = fragments.iter().any(|fragment| fragment.footer().has_timestamps);
        // Within one fragment without timestamps, cells are in global order. The parts of a query
        // must agree on this, whichever fragments they meet: early libraries did not always sort
        // their cells.
        let one = fragments.len() <= 1 && !timed;
        // Only cells of overlapping fragments can be replaced.
        let dedup = plan.overlap.any() && plan.visibility.is_none();
        let sorts = match plan.order {
            Layout::RowMajor | Layout::ColMajor => true,
            Layout::GlobalOrder => !one,
            // Unordered cells keep their stored order, unless duplicates must be found.
            _ => dedup,
        };
        Self { sorts, dedup }
    }
}

/// Selects the cells of a query, as a stage of it. `coordinates` says whether their coordinates are
/// needed, `dedup` whether older versions of cells may be among them.
fn selected(plan: &Plan, coordinates: bool, dedup: bool, cache: &DecodeCache) -> Result<Arc<Selected>> {
    let context = plan.array.context();
    let coordinates = if coordinates { CoordinateUse::Keep } else { CoordinateUse::Skip };
    cache.stage(plan, || {
        let Some(program) = &plan.condition else {
            return Ok(Selected {
                selections: select(plan, coordinates, Filter::All, cache)?,
                matches: None,
            });
        };
        let sources = Sources::new(context, program, plan.array.fragments()).within(&plan.scope);
        if dedup {
            return selected_in(plan, all_candidates(plan, Filter::All)?, Some(&sources), cache);
        }
        let selections = select(plan, coordinates, Filter::Matching(&sources), cache)?;
        Ok(Selected { selections, matches: None })
    })
}

/// Columns of coordinates that are decoded before they are put in order, and that the result takes
/// over: it decodes them again if it is made again.
struct StagedCoordinates(Mutex<Vec<Column>>);

impl StagedCoordinates {
    fn columns(&self) -> MutexGuard<'_, Vec<Column>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The numbers of `cells` cells without some; `None` if nothing is left out.
fn without(cells: usize, dropped: &[u32]) -> Result<Option<Vec<u32>>> {
    if dropped.is_empty() {
        return Ok(None);
    }
    let mut order = Vec::with_capacity(cells.saturating_sub(dropped.len()));
    let mut next = 0u32;
    for cell in dropped {
        order.extend(next..*cell);
        next = cell.saturating_add(1);
    }
    order.extend(next..numbered(cells)?);
    Ok(Some(order))
}

/// The number of selected cells, if each can have a number of its own.
fn numbered(cells: usize) -> Result<u32> {
    Ok(to_u32(cells).ok_or(QueryError::TooLarge { cells: u128::from(to_u64(cells)) })?)
}
