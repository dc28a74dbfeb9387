//! Plans the parts in which a query is read, each small enough for the memory budget.

mod min_budget;

use std::sync::Arc;

use tdb_codec::{ArrayType, to_u64};
use tdb_order::CellOrder;
use tdb_order::key_range::KeyOrder;
use tdb_schema::ArraySchema;

use super::boxes::{Boxes, Narrowed, has_boxes, may_lie_outside, narrow, ordinal_axes};
use super::cost::CellCost;
use super::cut::CutBox;
use super::key_ranges::KeyRanges;
use super::key_samples::SampledRange;
use super::progress::Progress;
use super::thresholds::{
    GROWTH, MAX_GROWTH_BY_CONDITION, MAX_LISTINGS, SCALE, SELECTIVITY_MARGIN, TILE_STATISTICS,
};
use super::tile_runs::{Limit, TileRun, TileRuns, TileSet};
use crate::batch_scope::{BatchScope, Reservation, check_budget};
use crate::budget::MemoryBudget;
use crate::dense::dense_order;
use crate::plan::Plan;
use crate::sparse::Sorting;
use crate::sparse::candidate::{all_candidates, rarity};
use crate::sparse::filter::Filter;
use crate::{Error, Result};

/// The parts of a query that are still to be read.
#[derive(Debug)]
pub(crate) struct Parts {
    budget: MemoryBudget,
    /// The most that the cells of a batch may take of the room that the budget leaves.
    batch: Option<MemoryBudget>,
    /// The same for the next batch, while batches grow.
    growing: Option<MemoryBudget>,
    cost: CellCost,
    /// How much of the room is used for planning, in 64ths: less after estimates were too low.
    scale: u64,
    /// The most of it: more than the room if a condition leaves few cells.
    most: u64,
    kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Boxes(Box<Boxes>),
    Runs(TileRuns),
    /// It is not known yet whether the query must be cut at all.
    Untried(KeyOrder),
    /// The query must be cut.
    Unsorted(KeyOrder),
    Keys(Box<KeyRanges>),
    Done,
}

/// One part.
#[derive(Debug)]
pub(crate) struct Part {
    pub(super) source: PartSource,
    /// Dimensions in which it covers less than the whole query.
    pub(super) narrowed: Arc<Vec<Narrowed>>,
    pub(super) room: Arc<Reservation>,
    /// Tiles that it reads; a part of a tile counts as a fraction.
    pub(crate) tiles: f64,
    pub(super) touched: Vec<usize>,
}

#[derive(Debug)]
pub(super) enum PartSource {
    Box(CutBox),
    Run(TileRun, Arc<TileSet>),
    Whole(KeyOrder),
    KeyRange(Box<SampledRange>, BatchScope),
}

/// The state of [`Parts`] that changes from part to part.
pub(super) type PartsState = (u64, Kind, Option<MemoryBudget>);

impl Parts {
    pub(crate) fn new(
        plan: &Plan,
        budget: MemoryBudget,
        batch: Option<MemoryBudget>,
    ) -> Result<(Self, Progress)> {
        let schema = plan.array.schema();
        let dense = schema.array_type == ArrayType::Dense;
        let sorts = !dense && Sorting::of(plan).sorts;
        let cost = CellCost::new(plan, sorts);
        let order = order_of(plan);
        let axes = ordinal_axes(plan);
        let mut progress = Progress::default();
        let kind = match axes {
            _ if !dense && !sorts => Kind::Runs(TileRuns::default()),
            Some(axes) if has_boxes(schema, order) && !may_lie_outside(plan) => {
                match Boxes::new(plan, &cost, axes, order)? {
                    Some(boxes) => {
                        (progress.tiles_estimate, progress.cells_estimate) = boxes.totals();
                        Kind::Boxes(Box::new(boxes))
                    }
                    None => Kind::Done,
                }
            }
            _ => Kind::Untried(KeyOrder::new(schema, order)),
        };
        if !matches!(kind, Kind::Boxes(_)) {
            for fragment in plan.array.fragments() {
                let footer = fragment.footer();
                progress.tiles_estimate = progress.tiles_estimate.saturating_add(footer.sparse_tile_num);
                progress.cells_estimate = progress.cells_estimate.saturating_add(fragment.cell_count());
            }
        }
        progress.bytes_estimate = progress.cells_estimate.saturating_mul(cost.per_result_cell());
        let most = most_scale(plan, budget)?;
        let this = Self { budget, batch, growing: None, cost, scale: most, most, kind };
        // A budget that is too small for anything is rejected before anything is read.
        if let Kind::Boxes(boxes) = &this.kind {
            check_budget(budget, this.min_of_boxes(plan, boxes))?;
        }
        match (&this.kind, this.room(plan, this.held())) {
            (_, Ok(_)) => Ok((this, progress)),
            (Kind::Runs(_), Err(_)) => Err(this.too_small_for_runs(plan)),
            (Kind::Untried(_), Err(_)) => Err(this.too_small_for_keys(plan)),
            (_, Err(error)) => Err(error),
        }
    }

    /// The most that the cells of a batch may take, if the caller has limited it.
    pub(super) const fn batch(&self) -> Option<MemoryBudget> {
        self.batch
    }

    /// How often a tile is read, on average, if nothing needs more memory than estimated.
    pub(super) fn repeats(&self, plan: &Plan) -> f64 {
        let Ok(room) = self.room(plan, self.held()) else { return 1.0 };
        match &self.kind {
            Kind::Boxes(boxes) => boxes.repeats(room.bytes()),
            // To list the keys, coordinates are decoded once more.
            Kind::Untried(_) => {
                let cells = plan.array.fragments().iter().map(|fragment| fragment.cell_count());
                let cells = cells.fold(0, u64::saturating_add);
                if cells.saturating_mul(self.cost.per_cell()) > room.bytes() { 2.0 } else { 1.0 }
            }
            _ => 1.0,
        }
    }

    /// A copy of the state, for [`Self::go_back`].
    pub(super) fn left(&self) -> PartsState {
        (self.scale, self.kind.clone(), self.growing)
    }

    /// Restores an earlier state.
    pub(super) fn go_back(&mut self, (scale, kind, growing): PartsState) {
        (self.scale, self.kind, self.growing) = (scale, kind, growing);
    }

    /// Begins with a batch whose cells take no more than this, and lets batches grow from there.
    pub(super) const fn grow_from(&mut self, first: Option<MemoryBudget>) {
        self.growing = first;
    }

    /// Whether the next batch may be smaller than those after it.
    pub(super) const fn grows(&self) -> bool {
        self.growing.is_some()
    }

    /// Lets the next batch take more than the last one.
    pub(super) fn grow(&mut self) {
        let most = self.batch.map_or(self.budget, |batch| batch.min(self.budget)).bytes();
        let bytes = self.growing.map(|now| now.bytes().max(1).saturating_mul(GROWTH));
        self.growing = bytes.filter(|bytes| *bytes < most).map(MemoryBudget::from_bytes);
    }

    /// The room that is left after threads and `held` bytes are subtracted.
    fn room(&self, plan: &Plan, held: u64) -> Result<Reservation> {
        let threads = match &self.kind {
            // The tiles that threads work on are known run by run.
            Kind::Runs(_) | Kind::Done => 0,
            _ => self.threads(plan),
        };
        self.reservation_with(plan, threads.saturating_add(held))
    }

    fn reservation_with(&self, plan: &Plan, fixed: u64) -> Result<Reservation> {
        let room = self.room_of_budget(plan, fixed)?;
        Ok([self.batch, self.growing].into_iter().flatten().fold(room, Reservation::limited_to))
    }

    /// The room that the budget leaves after `fixed` bytes are subtracted.
    fn room_of_budget(&self, plan: &Plan, fixed: u64) -> Result<Reservation> {
        let fixed = fixed.saturating_add(self.beside(plan));
        Ok(Reservation::new(self.budget, fixed, self.cost.per_selected_cell())?)
    }

    /// Working memory of all threads.
    fn threads(&self, plan: &Plan) -> u64 {
        let (cells, values) = (largest_tile(plan, &self.cost), self.cost.largest_value_tile());
        self.cost.thread(cells, values).saturating_mul(to_u64(plan.array.context().threads))
    }

    /// The bytes that are held in addition to the room, whatever the batch is.
    fn beside(&self, plan: &Plan) -> u64 {
        self.cost.per_batch(plan.array.fragments()).saturating_add(plan.scope.overhead)
    }

    /// The next part; `None` after the last.
    pub(crate) fn next(&mut self, plan: &Plan) -> Result<Option<Part>> {
        if let Kind::Untried(_) = self.kind
            && let Some(whole) = self.try_whole(plan)?
        {
            return Ok(whole);
        }
        if let Kind::Unsorted(_) = self.kind {
            let room = self.room(plan, 0)?.bytes();
            if let Kind::Unsorted(order) = core::mem::replace(&mut self.kind, Kind::Done) {
                let key_ranges = KeyRanges::new(plan, &self.cost, order, room, Arc::default())?;
                self.kind = Kind::Keys(Box::new(key_ranges));
            }
        }
        let held = self.held();
        let room = self.room(plan, held)?;
        let scale = self.scale;
        let share = |room: u64| room.saturating_mul(scale) / SCALE;
        let target = share(room.bytes());
        let all = self.room_of_budget(plan, held)?;
        let limit = Limit { cells: target, all: share(all.bytes()) };
        match &mut self.kind {
            Kind::Boxes(boxes) => {
                boxes.next(plan, &self.cost, room, share, SCALE as f64 / scale.max(1) as f64)
            }
            Kind::Keys(key_ranges) => {
                key_ranges.check_pace(&room, MAX_LISTINGS)?;
                key_ranges.next(plan, &self.cost, &room, share)
            }
            Kind::Runs(runs) => {
                // Threads are counted in each run.
                let Some(run) = runs.next(plan, &self.cost, limit, to_u64(plan.array.context().threads))?
                else {
                    return Ok(None);
                };
                let min = run.bytes.max(Reservation::min(run.threads));
                if check_budget(self.budget, min.saturating_add(self.beside(plan))).is_err() {
                    return Err(self.too_small_for_runs(plan));
                }
                // Tiles are not cut: one that takes more than a batch may is a batch all the same.
                // Whoever asks for a part that is made of tiles is told beforehand.
                let is_one = run.len() == 1 && self.growing.is_none() && plan.scope.tiles.is_none();
                let room = match is_one {
                    true => self.room_of_budget(plan, run.threads)?,
                    false => self.reservation_with(plan, run.threads)?,
                };
                let (tiles, touched) = (to_u64(run.len()) as f64, run.tiles().keys().copied().collect());
                let set = Arc::new(run.tiles());
                let (source, room) = (PartSource::Run(run, set), Arc::new(room));
                Ok(Some(Part { source, narrowed: Arc::default(), room, tiles, touched }))
            }
            Kind::Untried(_) | Kind::Unsorted(_) | Kind::Done => Ok(None),
        }
    }

    /// Bytes that the plan of the parts itself takes, without what is taken by keys.
    fn held(&self) -> u64 {
        match &self.kind {
            Kind::Boxes(boxes) => boxes.held(),
            _ => 0,
        }
    }

    /// The whole query in one part, if it fits. Otherwise its keys are listed.
    fn try_whole(&mut self, plan: &Plan) -> Result<Option<Option<Part>>> {
        let room = self.room(plan, 0)?;
        let mut runs = TileRuns::default();
        let limit = Limit { cells: room.bytes(), all: room.bytes() };
        let all = runs.next(plan, &self.cost, limit, 0)?;
        let Kind::Untried(order) = core::mem::replace(&mut self.kind, Kind::Done) else { return Ok(None) };
        let Some(all) = all else { return Ok(Some(None)) };
        if all.bytes <= room.bytes() && runs.next(plan, &self.cost, limit, 0)?.is_none() {
            // The size of its values is known only now.
            let Ok(room) = self.room(plan, 0).map(Arc::new) else {
                self.kind = Kind::Unsorted(order);
                return Ok(None);
            };
            let tiles = to_u64(all.len()) as f64;
            let (source, narrowed, touched) = (PartSource::Whole(order), Arc::default(), Vec::new());
            return Ok(Some(Some(Part { source, narrowed, room, tiles, touched })));
        }
        self.kind = Kind::Unsorted(order);
        Ok(None)
    }

    /// Takes a part back that needed more than its room, to be cut smaller. Fails if that is not
    /// possible.
    pub(crate) fn put_back(&mut self, part: Part) -> Result<bool> {
        // Eventually this is 0, which gives the smallest possible part.
        self.scale /= 2;
        Ok(match (&mut self.kind, part.source) {
            (Kind::Boxes(boxes), PartSource::Box(piece)) => boxes.put_back(piece)?,
            (Kind::Runs(runs), PartSource::Run(run, _)) => runs.put_back(run),
            (Kind::Boxes(boxes), PartSource::KeyRange(key_range, _)) => boxes.put_back_key_range(*key_range),
            (Kind::Keys(key_ranges), PartSource::KeyRange(key_range, _)) => key_ranges.put_back(*key_range),
            (kind @ Kind::Done, PartSource::Whole(order)) => {
                // Estimates of whole queries count every cell, but not everything that deletes look
                // at.
                *kind = Kind::Unsorted(order);
                true
            }
            _ => return Err(Error::internal("a part is put back that was not taken")),
        })
    }

    /// Continues after a part that was read.
    pub(crate) fn done(&mut self, plan: &Plan, part: &Part) {
        self.grow();
        self.scale = self.scale.saturating_add(self.scale / 8).saturating_add(1).min(self.most);
        let mut gone: Vec<usize> = part.touched.clone();
        match (&mut self.kind, &part.source) {
            (Kind::Boxes(boxes), _) => gone = boxes.done(part),
            (Kind::Runs(runs), _) => return runs.forget(plan, gone.into_iter()),
            (Kind::Keys(key_ranges), PartSource::KeyRange(key_range, _)) => {
                key_ranges.advance(key_range);
                gone.retain(|fragment| !key_ranges.has_fragment(*fragment));
            }
            // A whole query is the only part, and other pairs do not occur.
            _ => {}
        }
        for fragment in gone.into_iter().filter_map(|number| plan.array.fragments().get(number)) {
            fragment.forget();
        }
    }
}

/// How much of the room may be planned with: sparse cells that fail a condition take none of it,
/// and statistics tell about how many do. If they are wrong, a part turns out to be too large, and
/// is cut.
fn most_scale(plan: &Plan, budget: MemoryBudget) -> Result<u64> {
    // Only boxes grow: what runs of tiles touch is not counted again when they are read.
    let is_cut_in_boxes = plan.overlap.any() && plan.visibility.is_none() && !plan.fields.is_empty();
    let tiles = plan.array.fragments().iter().map(|fragment| fragment.footer().sparse_tile_num);
    let statistics = tiles.fold(0, u64::saturating_add).saturating_mul(TILE_STATISTICS);
    if !is_cut_in_boxes || !plan.array.context().is_local() || statistics > budget.bytes() / 8 {
        return Ok(SCALE);
    }
    let rarity = match &plan.condition {
        Some(_) => rarity(plan, &all_candidates(plan, Filter::All)?)?,
        None => None,
    };
    Ok(SCALE.saturating_mul((rarity.unwrap_or(1) / SELECTIVITY_MARGIN).clamp(1, MAX_GROWTH_BY_CONDITION)))
}

impl Part {
    /// The part as a query.
    pub(crate) fn plan(&self, whole: &Plan) -> Result<Plan> {
        let mut plan = narrow(whole, &self.narrowed)?;
        match &self.source {
            PartSource::Box(_) | PartSource::Whole(_) => {}
            PartSource::Run(_, tiles) => plan.scope.tiles = Some(tiles.clone()),
            PartSource::KeyRange(_, share) => plan.scope = share.clone(),
        }
        plan.scope.reservation = Some(self.kept_room(whole)?);
        Ok(plan)
    }

    /// The memory of the part, which counts what its finished stages have taken where it is
    /// repeated.
    fn kept_room(&self, whole: &Plan) -> Result<Arc<Reservation>> {
        let context = whole.array.context();
        if context.replay_storage.is_none() {
            return Ok(self.room.clone());
        }
        let own = || format!("{:?} {:?} {:?}", self.source, self.narrowed, self.touched);
        let kept = context.stage(|| Ok((own(), self.room.clone())))?;
        let (first, room) = &*kept;
        if *first != own() {
            return Err(Error::internal("a query has other parts when it is repeated"));
        }
        Ok(room.clone())
    }
}

/// The order of the batches.
pub(crate) fn order_of(plan: &Plan) -> CellOrder {
    let schema: &ArraySchema = plan.array.schema();
    if schema.array_type == ArrayType::Sparse {
        return CellOrder::of(plan.order, schema);
    }
    CellOrder::of(dense_order(plan), schema)
}

fn largest_tile(plan: &Plan, cost: &CellCost) -> u64 {
    cost.largest_tile(plan.array.fragments())
}
