//! Which parts a query is read in.

use std::sync::Arc;

use tdb_codec::{ArrayType, Layout, to_u64, to_usize};
use tdb_schema::{ArraySchema, Dimension, Range};

use super::cost::CellCost;
use super::cut::{Bounds, Cutter, Fit, Piece};
use super::keys::{KeyOrder, Stretches, Taken};
use super::line::Line;
use super::memory::MemoryBudget;
use super::progress::Progress;
use super::runs::{Limit, Run, Runs, TileSet};
use super::share::{Room, Share, too_small};
use super::spread::Spread;
use crate::coordinate::Ends;
use crate::fragment::Fragment;
use crate::query::Plan;
use crate::ranges::RangeSet;
use crate::sparse::Sorting;
use crate::sparse::filter::Filter;
use crate::sparse::order::{CellOrder, parts};
use crate::sparse::select::select;
use crate::{Error, QueryError, Result};

/// The parts of a query that are still to be read.
#[derive(Debug)]
pub(crate) struct Parts {
    budget: MemoryBudget,
    /// The most that the cells of a batch may take of what the budget leaves.
    batch: Option<MemoryBudget>,
    cost: CellCost,
    /// How much of the room is planned with, in 64ths: less after estimates were too low.
    scale: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Boxes(Boxes),
    Runs(Runs),
    /// Before it is known whether the query must be cut at all.
    Untried(KeyOrder),
    /// It must.
    Unsorted(KeyOrder),
    Keys(Stretches),
    Done,
}

/// Boxes in the order of the result.
#[derive(Debug)]
struct Boxes {
    cutter: Cutter,
    spread: Spread,
    lines: Vec<Line>,
    all: Bounds,
    /// Whether the lines' numbers are places in the sequence asked for.
    places: bool,
    /// Space tiles of all boxes of a dense array.
    dense_tiles: Option<f64>,
    /// Fragments that the last box touched.
    touched: Vec<usize>,
}

/// One part.
#[derive(Debug)]
pub(crate) struct Part {
    what: What,
    room: Arc<Room>,
    /// Tiles it reads, parts of tiles as parts.
    pub(crate) tiles: f64,
    touched: Vec<usize>,
}

#[derive(Debug)]
enum What {
    /// A box, and the dimensions in which it is less than the whole query.
    Box(Piece, Vec<(usize, Narrowed)>),
    Run(Run, Arc<TileSet>),
    Whole(KeyOrder),
    Window(Box<Taken>, Share),
}

#[derive(Debug)]
enum Narrowed {
    To(Ends),
    /// Intervals in the order of the result.
    Exactly(RangeSet),
}

const SCALE: u64 = 64;

impl Parts {
    pub(crate) fn new(
        plan: &Plan<'_>,
        budget: MemoryBudget,
        batch: Option<MemoryBudget>,
    ) -> Result<(Self, Progress)> {
        let schema = plan.array.schema();
        let dense = schema.array_type == ArrayType::Dense;
        let sorts = !dense && Sorting::of(plan).sorts;
        let cost = CellCost::new(plan, sorts);
        let order = order_of(plan);
        let lines = lines_of(plan);
        let places = dense && several(plan);
        let mut progress = Progress::default();
        let kind = match lines {
            _ if !dense && !sorts => Kind::Runs(Runs::default()),
            Some(lines) if order != CellOrder::Hilbert => match bounds_of(plan, &lines) {
                Some(all) => {
                    let spread = if places {
                        Spread::places(plan, lines.clone(), &cost)?
                    } else if dense {
                        Spread::dense(plan, lines.clone(), &cost, &all)?
                    } else {
                        Spread::sparse(plan, lines.clone(), &cost, &all)?
                    };
                    let cutter = Cutter::new(lines.clone(), parts(schema, order), all.clone(), dense);
                    let (tiles, cells) = spread.totals();
                    let tiles = if dense { space_tiles(plan, &all, places) } else { tiles };
                    progress.tiles_estimate = super::whole(tiles);
                    progress.cells_estimate = if dense { volume(&all) } else { super::whole(cells) };
                    // Tiles of dense arrays are counted by their cells, whether fragments have them or not.
                    let dense_tiles = dense.then_some(tiles);
                    Kind::Boxes(Boxes {
                        cutter,
                        spread,
                        lines,
                        all,
                        places,
                        dense_tiles,
                        touched: Vec::new(),
                    })
                }
                None => Kind::Done,
            },
            _ => Kind::Untried(KeyOrder::new(schema, order)),
        };
        if !matches!(kind, Kind::Boxes(_)) {
            for fragment in &plan.array.fragments {
                let footer = fragment.footer();
                progress.tiles_estimate = progress.tiles_estimate.saturating_add(footer.sparse_tile_num);
                progress.cells_estimate = progress.cells_estimate.saturating_add(fragment.cell_count());
            }
        }
        progress.bytes_estimate = progress.cells_estimate.saturating_mul(cost.per_result_cell());
        let this = Self { budget, batch, cost, scale: SCALE, kind };
        // A budget that is too small for anything is refused before anything is read.
        match (&this.kind, this.room(plan, this.held())) {
            (_, Ok(_)) => Ok((this, progress)),
            (Kind::Runs(_), Err(_)) => Err(this.too_small_for_runs(plan)),
            (Kind::Untried(_), Err(_)) => Err(this.too_small_for_keys(plan)),
            (_, Err(error)) => Err(error),
        }
    }

    /// The room that is left beside threads and `held` bytes.
    fn room(&self, plan: &Plan<'_>, held: u64) -> Result<Room> {
        let threads = match &self.kind {
            // Their tiles are known run by run.
            Kind::Runs(_) | Kind::Done => 0,
            _ => {
                let largest = largest_tile(plan, &self.cost);
                let one = self.cost.thread(largest, self.cost.largest_value_tile());
                one.saturating_mul(to_u64(plan.array.context.threads))
            }
        };
        self.room_beside(plan, threads.saturating_add(held))
    }

    fn room_beside(&self, plan: &Plan<'_>, fixed: u64) -> Result<Room> {
        let room = self.room_of_budget(plan, fixed)?;
        Ok(match self.batch {
            Some(most) => room.at_most(most),
            None => room,
        })
    }

    /// What the budget leaves beside `fixed` bytes.
    fn room_of_budget(&self, plan: &Plan<'_>, fixed: u64) -> Result<Room> {
        let fixed = fixed.saturating_add(self.cost.per_batch(&plan.array.fragments));
        let fixed = fixed.saturating_add(plan.share.beside);
        Ok(Room::new(self.budget, fixed, self.cost.per_selected_cell())?)
    }

    /// The next part; `None` behind the last.
    pub(crate) fn next(&mut self, plan: &Plan<'_>) -> Result<Option<Part>> {
        if let Kind::Untried(_) = self.kind
            && let Some(whole) = self.try_whole(plan)?
        {
            return Ok(whole);
        }
        if let Kind::Unsorted(_) = self.kind {
            let room = self.room(plan, 0)?.bytes();
            if let Kind::Unsorted(order) = core::mem::replace(&mut self.kind, Kind::Done) {
                self.kind = Kind::Keys(self.stretches(plan, order, room)?);
            }
        }
        let held = self.held();
        let room = self.room(plan, held)?;
        let share = |room: &Room| room.bytes().saturating_mul(self.scale) / SCALE;
        let target = share(&room);
        let all = self.room_of_budget(plan, held)?;
        let limit = Limit { cells: target, all: share(&all) };
        match &mut self.kind {
            Kind::Boxes(boxes) => boxes.next(plan, &self.cost, room, SCALE as f64 / self.scale as f64),
            Kind::Keys(stretches) => Ok(next_window(stretches, &self.cost, room, target)),
            Kind::Runs(runs) => {
                // Threads are counted with each run.
                let Some(run) = runs.next(plan, &self.cost, limit, to_u64(plan.array.context.threads))?
                else {
                    return Ok(None);
                };
                let least = run.bytes.max(Room::least(run.threads));
                if least > all.bytes() {
                    return Err(self.too_small_for_runs(plan));
                }
                let room = self.room_beside(plan, run.threads)?;
                let (tiles, touched) = (to_u64(run.len()) as f64, run.tiles().keys().copied().collect());
                let set = Arc::new(run.tiles());
                Ok(Some(Part { what: What::Run(run, set), room: Arc::new(room), tiles, touched }))
            }
            Kind::Untried(_) | Kind::Unsorted(_) | Kind::Done => Ok(None),
        }
    }

    /// What the plan of the parts holds itself.
    fn held(&self) -> u64 {
        match &self.kind {
            Kind::Boxes(boxes) => boxes.spread.held(),
            Kind::Keys(stretches) => stretches.held(),
            _ => 0,
        }
    }

    /// The error of a budget that is too small for a stream by keys, of which an eighth notes keys.
    fn too_small_for_keys(&self, plan: &Plan<'_>) -> Error {
        for fragment in &plan.array.fragments {
            // Notes how large its values are.
            if let Err(error) = self.cost.var_sizes(&plan.array.context, fragment) {
                return error;
            }
        }
        let (cells, values) = (largest_tile(plan, &self.cost), self.cost.largest_value_tile());
        let threads = self.cost.thread(cells, values).saturating_mul(to_u64(plan.array.context.threads));
        let beside = self.cost.per_batch(&plan.array.fragments).saturating_add(plan.share.beside);
        // The shortest window has a stretch of each fragment that overlaps there.
        let tile = cells.saturating_mul(self.cost.per_cell()).saturating_add(values.saturating_mul(3));
        let together = tile.saturating_mul(overlapping(plan));
        let room = |stretches: u64| {
            let notes = tiles(plan).saturating_mul(STRETCH).saturating_mul(stretches);
            let cells = together.checked_div(stretches).unwrap_or(together);
            cells.max(Room::least(0)).max(notes.saturating_mul(7)).saturating_add(notes)
        };
        let least = (1..=MOST_STRETCHES).map(room).min().unwrap_or(together);
        let least = least.saturating_add(least / 7).saturating_add(threads).saturating_add(beside);
        too_small(self.budget, least).into()
    }

    /// The error of a budget that is too small for some tile: it names what the dearest takes.
    fn too_small_for_runs(&self, plan: &Plan<'_>) -> Error {
        let threads = to_u64(plan.array.context.threads);
        let beside = self.cost.per_batch(&plan.array.fragments).saturating_add(plan.share.beside);
        match Runs::default().dearest(plan, &self.cost, threads) {
            Ok(least) => too_small(self.budget, least.max(Room::least(0)).saturating_add(beside)).into(),
            Err(error) => error,
        }
    }

    /// All of the query in one part, if it fits. Otherwise its keys are noted.
    fn try_whole(&mut self, plan: &Plan<'_>) -> Result<Option<Option<Part>>> {
        let room = self.room(plan, 0)?;
        let mut runs = Runs::default();
        let limit = Limit { cells: room.bytes(), all: room.bytes() };
        let all = runs.next(plan, &self.cost, limit, 0)?;
        let Kind::Untried(order) = core::mem::replace(&mut self.kind, Kind::Done) else { return Ok(None) };
        let Some(all) = all else { return Ok(Some(None)) };
        if all.bytes <= room.bytes() && runs.next(plan, &self.cost, limit, 0)?.is_none() {
            // Known only now: how large its values are.
            let Ok(room) = self.room(plan, 0).map(Arc::new) else {
                self.kind = Kind::Unsorted(order);
                return Ok(None);
            };
            let tiles = to_u64(all.len()) as f64;
            return Ok(Some(Some(Part { what: What::Whole(order), room, tiles, touched: Vec::new() })));
        }
        self.kind = Kind::Unsorted(order);
        Ok(None)
    }

    /// Notes the keys of all cells.
    fn stretches(&self, plan: &Plan<'_>, order: KeyOrder, room: u64) -> Result<Stretches> {
        // An eighth of the room.
        let stretch = tiles(plan).saturating_mul(STRETCH);
        let most = (room / 8).checked_div(stretch).unwrap_or(1).clamp(1, MOST_STRETCHES);
        let most = to_usize(most).unwrap_or(1);
        let mut stretches = Stretches::new(order);
        let mut runs = Runs::default();
        let target = room.saturating_mul(3) / 4;
        let limit = Limit { cells: target, all: target };
        while let Some(run) = runs.next(plan, &self.cost, limit, 0)? {
            let mut part = plan.clone();
            part.share = Share { tiles: Some(Arc::new(run.tiles())), ..Share::default() };
            for selection in select(&part, true, Filter::All)? {
                let cells = to_u64(selection.len());
                let whole = run.values(selection.fragment, selection.tile);
                let values =
                    whole.saturating_mul(cells).checked_div(to_u64(selection.tile_cells)).unwrap_or(whole);
                let bytes = cells.saturating_mul(self.cost.per_cell()).saturating_add(values);
                stretches.add(&selection, most, bytes);
            }
            runs.forget(plan, run.tiles().keys().copied());
        }
        stretches.sort();
        Ok(stretches)
    }

    /// Takes a part back that needed more than its room, to be cut smaller. Fails if that is not possible.
    pub(crate) fn put_back(&mut self, part: Part) -> bool {
        self.scale = (self.scale / 2).max(1);
        match (&mut self.kind, part.what) {
            (Kind::Boxes(boxes), What::Box(piece, _)) => boxes.cutter.put_back(piece),
            (Kind::Runs(runs), What::Run(run, _)) => runs.put_back(run),
            (Kind::Keys(_), What::Window(taken, _)) => taken.divisible,
            (kind @ Kind::Done, What::Whole(order)) => {
                // Estimates of whole queries count every cell, but not all that deletes look at.
                *kind = Kind::Unsorted(order);
                true
            }
            _ => false,
        }
    }

    /// Goes on behind a part that was read.
    pub(crate) fn done(&mut self, plan: &Plan<'_>, part: &Part) {
        self.scale = self.scale.saturating_add(self.scale / 8).saturating_add(1).min(SCALE);
        let mut gone: Vec<usize> = part.touched.clone();
        match (&mut self.kind, &part.what) {
            (Kind::Boxes(boxes), _) => {
                gone = core::mem::replace(&mut boxes.touched, part.touched.clone());
                gone.retain(|fragment| part.touched.binary_search(fragment).is_err());
            }
            (Kind::Runs(runs), _) => return runs.forget(plan, gone.into_iter()),
            (Kind::Keys(stretches), What::Window(taken, _)) => {
                stretches.advance(taken);
                gone.retain(|fragment| !stretches.has_fragment(*fragment));
            }
            _ => {}
        }
        for fragment in gone.into_iter().filter_map(|number| plan.array.fragments.get(number)) {
            fragment.forget();
        }
    }
}

/// Tiles of all fragments, at least one.
fn tiles(plan: &Plan<'_>) -> u64 {
    let counts = plan.array.fragments.iter().map(|fragment| fragment.footer().sparse_tile_num);
    counts.fold(1, u64::saturating_add)
}

/// How many fragments overlap along the first dimension, at most.
fn overlapping(plan: &Plan<'_>) -> u64 {
    let Some(dimension) = plan.array.schema().domain.dimensions.first() else { return 1 };
    let first = |fragment: &Fragment| fragment.non_empty_domain().and_then(<[_]>::first).cloned();
    let domains: Vec<Range> = plan.array.fragments.iter().filter_map(first).collect();
    let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
    let (mut lows, mut highs): (Vec<&[u8]>, Vec<&[u8]>) =
        domains.iter().map(|range| (range.low.as_slice(), range.high.as_slice())).unzip();
    lows.sort_by(|a, b| compare(a, b));
    highs.sort_by(|a, b| compare(a, b));
    // Where each begins, how many have begun and not ended.
    let open = (1u64..).zip(&lows).map(|(begun, low)| {
        begun.saturating_sub(to_u64(highs.partition_point(|high| compare(high, low).is_lt())))
    });
    open.max().unwrap_or(1)
}

/// Bytes of a stretch, about.
const STRETCH: u64 = 400;
/// Most stretches that a tile's cells are noted in.
const MOST_STRETCHES: u64 = 16;

/// Cells that a box should have room for beside what it touches.
const LEAST_CELLS: u64 = 16;

impl Boxes {
    /// The next box, where cells are taken to be `times` as many as they seem.
    fn next(&mut self, plan: &Plan<'_>, cost: &CellCost, room: Room, times: f64) -> Result<Option<Part>> {
        // Boxes that have room for less would be empty, most of them, and there would be no end of them.
        let each = cost.per_cell().max(self.spread.each());
        let least = |touch: u64| touch.saturating_add(each.saturating_mul(LEAST_CELLS));
        let fit = |bounds: &Bounds| match self.spread.cost(bounds, times) {
            (touch, _) if least(touch) > room.bytes() => Fit::Never,
            (_, all) if all > room.bytes() => Fit::No,
            _ => Fit::Yes,
        };
        let piece = match self.cutter.next(fit) {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(None),
            Err(bounds) => {
                let (touch, _) = self.spread.cost(&bounds, times);
                return Err(smallest(room.over(least(touch))).into());
            }
        };
        let (touched, tiles) = self.spread.touched(&piece.bounds);
        let share = volume(&piece.bounds) as f64 / volume(&self.all).max(1) as f64;
        let tiles = self.dense_tiles.map_or(tiles, |all| all * share);
        let mut narrowed = Vec::new();
        let dimensions = self.lines.iter().zip(&plan.array.schema().domain.dimensions).enumerate();
        for ((index, (line, dimension)), (span, all)) in dimensions.zip(piece.bounds.iter().zip(&self.all)) {
            if span == all {
                continue;
            }
            if self.places {
                let ends = line.at(span.0, span.1).into_iter().map(|(low, high)| {
                    Ok(Ends { low: dimension.coordinate(low), high: dimension.coordinate(high) })
                });
                narrowed.push((index, Narrowed::Exactly(RangeSet::new(dimension, ends)?)));
                continue;
            }
            // Ends of the whole query stay as they were asked for, open ones too.
            let low = if span.0 == all.0 { None } else { line.low(span.0) };
            let high = if span.1 == all.1 { None } else { line.high(span.1) };
            narrowed.push((index, Narrowed::To(Ends { low, high })));
        }
        let dense = plan.array.schema().array_type == ArrayType::Dense;
        let fixed = if dense {
            volume(&piece.bounds).saturating_mul(cost.per_cell())
        } else {
            super::whole(cost.per_fragment()).saturating_mul(to_u64(touched.len()))
        };
        let share = Share { room: Some(Arc::new(room)), ..Share::default() };
        let over = share.charge(fixed);
        let Some(room) = share.room else { return Ok(None) };
        if let Err(error) = over {
            if self.cutter.put_back(piece) {
                return self.next(plan, cost, room.again(), times * 2.0);
            }
            return Err(smallest(error).into());
        }
        Ok(Some(Part { what: What::Box(piece, narrowed), room, tiles, touched }))
    }
}

/// The error of a batch that cannot be any smaller.
fn smallest(error: QueryError) -> QueryError {
    match error {
        QueryError::OverBudget { budget, needed } => QueryError::BudgetTooSmall { budget, least: needed },
        other => other,
    }
}

fn next_window(stretches: &mut Stretches, cost: &CellCost, room: Room, target: u64) -> Option<Part> {
    let taken = stretches.next(target)?;
    let tiles = Arc::new(taken.tiles.clone());
    let touched: Vec<usize> = tiles.keys().copied().collect();
    let count: usize = tiles.values().map(Vec::len).sum();
    let window = Some(Arc::new(taken.window.clone()));
    let share = Share { tiles: Some(tiles), window, ..Share::default() };
    // Too much of it comes to light when the part is read.
    let room = Arc::new(room);
    let counted = Share { room: Some(room.clone()), ..Share::default() };
    let _ = counted.charge(super::whole(cost.per_fragment()).saturating_mul(to_u64(touched.len())));
    let tiles = to_u64(count) as f64;
    Some(Part { what: What::Window(Box::new(taken), share), room, tiles, touched })
}

impl Part {
    /// The part as a query of its own.
    pub(crate) fn plan<'a>(&self, whole: &Plan<'a>) -> Plan<'a> {
        let mut plan = whole.clone();
        match &self.what {
            What::Box(_, narrowed) => {
                for (dimension, to) in narrowed {
                    match to {
                        Narrowed::To(ends) => plan = plan.narrowed(*dimension, ends),
                        Narrowed::Exactly(set) => {
                            if let Some(slot) = plan.ranges.get_mut(*dimension) {
                                slot.clone_from(set);
                            }
                        }
                    }
                }
            }
            What::Run(_, tiles) => plan.share.tiles = Some(tiles.clone()),
            What::Whole(_) => {}
            What::Window(_, share) => plan.share = share.clone(),
        }
        plan.share.room = Some(self.room.clone());
        plan
    }
}

/// The room for all of a query at once.
pub(crate) fn room_of_all(plan: &Plan<'_>, budget: MemoryBudget) -> Result<Room> {
    let schema = plan.array.schema();
    let dense = schema.array_type == ArrayType::Dense;
    let cost = CellCost::new(plan, !dense && Sorting::of(plan).sorts);
    for fragment in &plan.array.fragments {
        cost.var_sizes(&plan.array.context, fragment)?;
    }
    let thread = cost.thread(largest_tile(plan, &cost), cost.largest_value_tile());
    let fixed = thread.saturating_mul(to_u64(plan.array.context.threads)).saturating_add(plan.share.beside);
    let room = Room::new(budget, fixed, cost.per_selected_cell())?;
    let lines = lines_of(plan);
    if dense && let Some(all) = lines.and_then(|lines| bounds_of(plan, &lines)) {
        room.charge(volume(&all).saturating_mul(cost.per_cell()))?;
    }
    Ok(room)
}

/// The order that batches follow each other in.
fn order_of(plan: &Plan<'_>) -> CellOrder {
    let schema: &ArraySchema = plan.array.schema();
    if schema.array_type == ArrayType::Sparse {
        return CellOrder::of(plan.order, schema);
    }
    CellOrder::of(dense_order(plan), schema)
}

/// The order of a dense result. Unordered means whatever is cheapest: the order cells have in their tiles.
pub(crate) fn dense_order(plan: &Plan<'_>) -> Layout {
    match (plan.order, plan.array.schema().cell_order) {
        (Layout::Unordered | Layout::Hilbert, Layout::ColMajor) => Layout::ColMajor,
        (Layout::Unordered | Layout::Hilbert, _) => Layout::RowMajor,
        (order, _) => order,
    }
}

/// Whether some dimension is asked for in several intervals.
fn several(plan: &Plan<'_>) -> bool {
    let dimensions = &plan.array.schema().domain.dimensions;
    plan.ranges.iter().zip(dimensions).any(|(set, dimension)| set.len(dimension).is_some_and(|len| len != 1))
}

/// The dimensions as lines; `None` if one is of strings.
fn lines_of(plan: &Plan<'_>) -> Option<Vec<Line>> {
    let schema = plan.array.schema();
    let dense = schema.array_type == ArrayType::Dense;
    let places = dense && several(plan);
    let lines = schema.domain.dimensions.iter().zip(&plan.ranges).map(|(dimension, set)| {
        let line = Line::new(dimension)?;
        Some(if places { line.asked(&set.ordinals(dimension)?) } else { line })
    });
    lines.collect()
}

/// The box that holds all of a query's cells; `None` if it has none. In sparse arrays, what fragments say they cover.
fn bounds_of(plan: &Plan<'_>, lines: &[Line]) -> Option<Bounds> {
    let schema = plan.array.schema();
    if schema.array_type == ArrayType::Dense && several(plan) {
        return lines.iter().map(|line| Some((0, line.places().checked_sub(1)?))).collect();
    }
    let stored = match schema.array_type {
        ArrayType::Dense => None,
        ArrayType::Sparse => Some(plan.array.non_empty_domain()?),
    };
    let mut bounds = Vec::with_capacity(lines.len());
    for (index, (line, dimension)) in lines.iter().zip(&schema.domain.dimensions).enumerate() {
        let (first, last) = match (&stored, &dimension.domain) {
            (Some(stored), _) => stored.get(index).map(|range| (&range.low, &range.high))?,
            (None, domain) => domain.as_ref().map(|(first, last)| (first, last))?,
        };
        let (mut low, mut high) = (line.number(first)?, line.number(last)?);
        // The first and the last interval of sets that are sorted, which all are here.
        let set = plan.ranges.get(index)?;
        let ends = set.iter(dimension).next().zip(set.iter(dimension).last());
        let (begin, end) = ends?;
        low = low.max(begin.low.and_then(|value| line.number(&value)).unwrap_or(0));
        high = high.min(end.high.and_then(|value| line.number(&value)).unwrap_or(u64::MAX));
        if low > high {
            return None;
        }
        bounds.push((low, high));
    }
    Some(bounds)
}

/// Space tiles of a box, about.
fn space_tiles(plan: &Plan<'_>, bounds: &Bounds, places: bool) -> f64 {
    let extents = plan.array.schema().domain.dimensions.iter().map(Dimension::extent_cells);
    let tiles = bounds.iter().zip(extents).map(|((low, high), extent)| {
        let Some(extent) = extent else { return 1.0 };
        // Places begin with a tile as likely as inside one.
        let tile = |number: u64| number.checked_div(extent).unwrap_or(0);
        let (first, last) =
            if places { (0, tile(high.saturating_sub(*low))) } else { (tile(*low), tile(*high)) };
        last.saturating_sub(first).saturating_add(1) as f64
    });
    tiles.product()
}

/// Cells of a box.
fn volume(bounds: &Bounds) -> u64 {
    let counts = bounds.iter().map(|(low, high)| high.saturating_sub(*low).saturating_add(1));
    counts.fold(1, u64::saturating_mul)
}

fn largest_tile(plan: &Plan<'_>, cost: &CellCost) -> u64 {
    cost.largest_tile(&plan.array.fragments)
}
