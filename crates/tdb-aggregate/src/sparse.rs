//! Aggregates over sparse arrays: from statistics where all cells of a fragment or tile count, else
//! from decoded tiles.
//!
//! A tile is *disjoint* if no other fragment can have cells with its coordinates: then all its
//! cells count. The other tiles are *overlapping*: only the newest version of each of their cells
//! counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use tdb_codec::{to_u64, to_usize};
use tdb_predicate::{Program, Verdict};
use tdb_scan::sparse::candidate::{Candidate, all_candidates, candidates_of, filters_time, lies_inside};
use tdb_scan::sparse::collect::fetch_columns;
use tdb_scan::sparse::decode_cache::DecodeCache;
use tdb_scan::sparse::deletes::{applies, surviving};
use tdb_scan::sparse::filter::{Filter, selected_in};
use tdb_scan::sparse::replaced_among;
use tdb_scan::sparse::select::{CoordinateUse, select_in};
use tdb_scan::sparse::selected::{Selected, narrow};
use tdb_scan::sparse::selection::TileSelection;
use tdb_scan::sparse::versions::tile_is_disjoint;

use super::selected_columns::SelectedColumns;
use super::tally::{Tally, WantedField};
use crate::buffers::index_of;
use crate::condition::Sources;
use crate::decode_buffers::PooledBuffers;
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::stream::{self, Allowance};
use crate::{Error, OrInternal, QueryError, Result, parallel};

/// The number of cells, and the tally of each wanted field. With a memory budget, tiles are
/// processed in groups that fit the memory, and overlapping tiles part by part of the query.
pub(super) fn run(
    plan: &Plan,
    program: &Program,
    wanted: &[WantedField],
    memory: Option<Allowance>,
) -> Result<(u64, Vec<Tally>)> {
    let context = plan.array.context();
    let sources = Sources::new(context, program, plan.array.fragments());
    let tallies = wanted.iter().map(WantedField::nothing).collect();
    let mut totals = Totals { threads: context.threads, sources: &sources, wanted, count: 0, tallies };
    visit(plan, sources.held(), &mut totals, memory)?;
    Ok((totals.count, totals.tallies))
}

/// Takes the cells of a query that count.
pub(super) trait Taker {
    /// Takes all cells of a fragment, if its statistics are enough for that.
    fn whole_fragment(&mut self, index: usize, fragment: &Fragment) -> Result<bool>;

    /// Takes all cells of a tile, if its statistics are enough for that.
    fn whole_tile(&mut self, candidate: &Candidate) -> Result<bool>;

    /// Takes the selected cells of some tiles, of which it has to fetch the columns. If it fails,
    /// it has taken none.
    fn take(&mut self, plan: &Plan, selections: &[TileSelection], cache: &DecodeCache) -> Result<()>;
}

/// Has a taker take each cell of the query that counts, once. `held` is the memory that the taker
/// holds for statistics.
pub(super) fn visit(plan: &Plan, held: u64, taker: &mut dyn Taker, memory: Option<Allowance>) -> Result<()> {
    let array = &plan.array;
    let condition = plan.condition.as_ref().map(|own| Sources::new(array.context(), own, array.fragments()));
    let condition = condition.as_ref();
    let Tiles { free, overlapping, all_overlap } = tiles(plan, condition, taker)?;
    let filter = condition.map_or(Filter::All, Filter::Matching);
    let of_free = |plan: &Plan, free: Vec<Candidate>, cache: &DecodeCache| {
        let selections = cache.stage(plan, || select_in(plan, free, CoordinateUse::Skip, filter, cache))?;
        if !applies(plan) {
            return Ok(selections);
        }
        cache.stage(plan, || match surviving(plan, &selections, None, cache)? {
            Some(held) => narrow(Arc::unwrap_or_clone(selections), &held, cache),
            None => Ok(Arc::unwrap_or_clone(selections)),
        })
    };
    let note = |older: usize| {
        // A tile that is not compared may hold a cell twice itself.
        if all_overlap {
            plan.note_older(older);
        }
    };
    let Some(memory) = memory else {
        let cache = DecodeCache::scanned(plan)?;
        let free = of_free(plan, free, &cache)?;
        let newest = newest(plan, overlapping, condition, &cache)?;
        note(newest.older);
        let mut selections = Arc::unwrap_or_clone(free);
        selections.extend(Arc::unwrap_or_clone(newest).cells);
        return taker.take(plan, &selections, &cache);
    };
    let mut whole = plan.clone();
    let listed = free.len().saturating_add(overlapping.len()).saturating_mul(size_of::<Candidate>());
    whole.scope.overhead = whole.scope.overhead.saturating_add(to_u64(listed)).saturating_add(held);
    let overlapping_part = (!overlapping.is_empty()).then(|| {
        let mut tiles: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        overlapping.iter().for_each(|own| tiles.entry(own.id.fragment).or_default().push(own.id.tile));
        tiles.values_mut().for_each(|own| own.sort_unstable());
        let mut part = whole.clone();
        part.scope.tiles = Some(Arc::new(tiles));
        part
    });
    let disjoint = stream::for_each_group(&whole, memory, free, |part, group| {
        let cache = DecodeCache::scanned(part)?;
        taker.take(part, &of_free(part, group, &cache)?, &cache)
    });
    // The least memory that an error names must be enough for both.
    disjoint.map_err(|error| match &overlapping_part {
        Some(plan) => stream::dearer(error, plan, memory, &overlapping),
        None => error,
    })?;
    if let Some(part) = overlapping_part {
        note(take_newest(&part, overlapping, condition, memory, taker)?);
    }
    Ok(())
}

/// Has a taker take the newest versions of the cells of overlapping tiles, part by part if the
/// memory is not enough for all of them. Returns how many cells are older versions of others.
fn take_newest(
    plan: &Plan,
    overlapping: Vec<Candidate>,
    condition: Option<&Sources<'_>>,
    memory: Allowance,
    taker: &mut dyn Taker,
) -> Result<usize> {
    let mut take = |part: &Plan, candidates: Vec<Candidate>| {
        let cache = DecodeCache::scanned(part)?;
        let newest = newest(part, candidates, condition, &cache)?;
        taker.take(part, &newest.cells, &cache).map(|()| newest.older)
    };
    match stream::at_once(plan, memory, &overlapping)? {
        Some(part) => match take(&part, overlapping) {
            // Part by part it may be enough.
            Err(Error::Query(QueryError::OverBudget { .. })) => {}
            result => return result,
        },
        None => stream::parts_or_at_once(plan, memory, &overlapping)?,
    }
    let mut older = 0usize;
    stream::for_each_part(plan, memory, |part| {
        older += take(part, all_candidates(part, Filter::All)?)?;
        Ok(())
    })?;
    Ok(older)
}

/// The tiles that must be looked at.
struct Tiles {
    /// Those whose cells all count, as far as they satisfy the condition.
    free: Vec<Candidate>,
    /// Those that may have older versions of cells.
    overlapping: Vec<Candidate>,
    /// Whether there are no others than those.
    all_overlap: bool,
}

/// Finds the tiles that must be looked at; the taker takes fragments and tiles whose statistics
/// are enough.
fn tiles(plan: &Plan, condition: Option<&Sources<'_>>, taker: &mut dyn Taker) -> Result<Tiles> {
    let array = &plan.array;
    let overlaps = plan.overlapping()?;
    let deletes = applies(plan);
    let (mut free, mut overlapping, mut all_overlap) = (Vec::new(), Vec::new(), true);
    for (index, fragment) in array.fragments().iter().enumerate() {
        let holds = |verdict: &dyn Fn(&Sources<'_>) -> Result<Verdict>| match condition {
            Some(condition) => verdict(condition),
            None => Ok(Verdict::All),
        };
        let disjoint = plan.overlap.is_disjoint(index);
        // A fragment without a domain is empty.
        let Some(domain) = fragment.bounds() else {
            all_overlap &= fragment.footer().sparse_tile_num == 0;
            continue;
        };
        let inside =
            lies_inside(plan, domain.iter().map(|range| (range.low.as_slice(), range.high.as_slice())));
        // The statistics of a fragment do not describe a part that is made of some of its tiles.
        let all = plan.scope.tiles.is_none();
        all_overlap &= !disjoint;
        if disjoint && all && inside && !deletes && !filters_time(plan, fragment) {
            match holds(&|condition| condition.fragment_verdict(0, index))? {
                Verdict::None => continue,
                Verdict::All if taker.whole_fragment(index, fragment)? => continue,
                Verdict::All | Verdict::Some => {}
            }
        }
        for candidate in candidates_of(plan, index, Filter::All)? {
            let Candidate { id, tile_cells, whole } = candidate;
            let decided = plan.visibility.is_some();
            if !decided && !tile_is_disjoint(plan, &overlaps, id)? {
                overlapping.push(candidate);
                continue;
            }
            all_overlap = false;
            match holds(&|condition| condition.tile_verdict(0, id, tile_cells))? {
                Verdict::None => continue,
                Verdict::All
                    if whole
                        && !deletes
                        && takes_all(plan, &candidate)
                        && taker.whole_tile(&candidate)? =>
                {
                    continue;
                }
                Verdict::All | Verdict::Some => {}
            }
            free.push(candidate);
        }
    }
    Ok(Tiles { free, overlapping, all_overlap })
}

/// Counts cells, and tallies their fields.
struct Totals<'s> {
    threads: usize,
    sources: &'s Sources<'s>,
    wanted: &'s [WantedField],
    count: u64,
    tallies: Vec<Tally>,
}

impl Totals<'_> {
    /// Adds tallies of so many cells. Counts of whole fragments come from footers: together they
    /// may be more than can be counted.
    fn add(&mut self, cells: u64, more: Vec<Tally>) -> Result<()> {
        let too_large = || QueryError::TooLarge { cells: u128::from(self.count) + u128::from(cells) };
        self.count = self.count.checked_add(cells).ok_or_else(too_large)?;
        for ((field, tally), more) in self.wanted.iter().zip(&mut self.tallies).zip(more) {
            field.add(tally, more)?;
        }
        Ok(())
    }
}

impl Taker for Totals<'_> {
    fn whole_fragment(&mut self, index: usize, fragment: &Fragment) -> Result<bool> {
        let found = whole_fragment(self.sources, self.wanted, index, fragment)?;
        Ok(found.map(|(cells, found)| self.add(cells, found)).transpose()?.is_some())
    }

    fn whole_tile(&mut self, candidate: &Candidate) -> Result<bool> {
        let found = whole_tile(self.sources, self.wanted, candidate)?;
        Ok(found.map(|found| self.add(to_u64(candidate.tile_cells), found)).transpose()?.is_some())
    }

    fn take(&mut self, plan: &Plan, selections: &[TileSelection], cache: &DecodeCache) -> Result<()> {
        let (sources, wanted, threads) = (self.sources, self.wanted, self.threads);
        let found = cache.stage(plan, || {
            fetch_columns(plan, &plan.scanned, selections, cache)?;
            // An estimate of the work.
            let cells =
                selections.iter().map(|selection| selection.tile_cells).fold(0, usize::saturating_add);
            let bytes = cells.saturating_mul(wanted.len()).saturating_mul(size_of::<u64>());
            let tally = |selection: &TileSelection, worker: &mut PooledBuffers| {
                Ok((to_u64(selection.count()), of_selection(sources, wanted, selection, cache, worker)?))
            };
            let workers = PooledBuffers::sharing(threads, selections.len());
            parallel::run(parallel::worth(threads, bytes), selections.iter().collect(), workers, tally)
        })?;
        Arc::unwrap_or_clone(found).into_iter().try_for_each(|(cells, more)| self.add(cells, more))
    }
}

/// The newest versions of the cells of some tiles that satisfy the condition and were not deleted.
#[derive(Clone, Default)]
struct Newest {
    cells: Vec<TileSelection>,
    /// How many cells are older versions of others.
    older: usize,
}

/// Finds the newest versions of the cells of some tiles.
fn newest(
    plan: &Plan,
    candidates: Vec<Candidate>,
    condition: Option<&Sources<'_>>,
    kept: &DecodeCache,
) -> Result<Arc<Newest>> {
    let found = kept.stage(plan, || selected_in(plan, candidates, condition, kept))?;
    if found.selections.is_empty() {
        return Ok(Arc::default());
    }
    let replaced = kept.stage(plan, || {
        kept.reserve_cells(to_u64(found.selections.iter().map(TileSelection::count).sum()))?;
        replaced_among(plan, &found.selections)
    })?;
    kept.stage(plan, || {
        let Selected { selections, matches } = Arc::unwrap_or_clone(found);
        let mut keep =
            matches.unwrap_or_else(|| vec![1u8; selections.iter().map(TileSelection::count).sum()]);
        for cell in replaced.iter() {
            *keep.get_mut(index_of(*cell)).or_internal("a cell that is replaced was not selected")? = 0;
        }
        let keep =
            surviving(plan, &selections, Some(&keep), kept)?.or_internal("the flags of cells are lost")?;
        Ok(Newest { cells: narrow(selections, &keep, kept)?, older: replaced.len() })
    })
}

/// The tallies of a whole fragment from its statistics, if they contain everything that is wanted.
fn whole_fragment(
    sources: &Sources<'_>,
    wanted: &[WantedField],
    index: usize,
    fragment: &Fragment,
) -> Result<Option<(u64, Vec<Tally>)>> {
    let cells = fragment.cell_count();
    if wanted.is_empty() {
        return Ok(Some((cells, Vec::new())));
    }
    let exact = sources.exact_whole(index)?;
    let Some(count) = to_usize(cells) else { return Ok(None) };
    let tallies = wanted.iter().zip(exact).map(|(field, exact)| field.of_statistics(exact.as_ref(), count));
    let tallies: Option<Vec<Tally>> = tallies.collect::<Result<_>>()?;
    Ok(tallies.map(|tallies| (cells, tallies)))
}

/// The tallies of a whole tile from its statistics, if they contain everything that is wanted.
fn whole_tile(
    sources: &Sources<'_>,
    wanted: &[WantedField],
    candidate: &Candidate,
) -> Result<Option<Vec<Tally>>> {
    let Candidate { id, tile_cells, .. } = *candidate;
    let mut tallies = Vec::with_capacity(wanted.len());
    for (index, field) in wanted.iter().enumerate() {
        let exact = sources.exact(index, id, tile_cells)?;
        let Some(tally) = field.of_statistics(exact.as_ref(), tile_cells)? else { return Ok(None) };
        tallies.push(tally);
    }
    Ok(Some(tallies))
}

/// Adds up the selected cells of a tile.
fn of_selection(
    sources: &Sources<'_>,
    wanted: &[WantedField],
    selection: &TileSelection,
    cache: &DecodeCache,
    worker: &mut PooledBuffers,
) -> Result<Vec<Tally>> {
    let TileSelection { id, tile_cells, .. } = *selection;
    let mut columns = SelectedColumns::new(sources, selection, cache, worker)?;
    let mut tallies = Vec::with_capacity(wanted.len());
    for (index, field) in wanted.iter().enumerate() {
        // For a whole tile, statistics may be enough for one field and not for another.
        if selection.cells.is_none() {
            let exact = sources.exact(index, id, tile_cells)?;
            if let Some(tally) = field.of_statistics(exact.as_ref(), tile_cells)? {
                tallies.push(tally);
                continue;
            }
        }
        let tally = columns.with(index, |view, cells, chosen| field.of_column(view, cells, chosen))?;
        tallies.push(tally.unwrap_or_else(|| field.of_fill(selection.count()))?);
    }
    Ok(tallies)
}

/// Whether no cell of a tile is left out because it is an older version of another.
fn takes_all(plan: &Plan, candidate: &Candidate) -> bool {
    let Candidate { id, tile_cells, .. } = *candidate;
    plan.visibility.as_ref().is_none_or(|chosen| chosen.most(id, tile_cells) == tile_cells)
}
