//! Selects the cells of tiles that a query wants: opens the fields that are looked at, fetches what
//! is read of them, and looks at tile by tile (`selector`).

use tdb_order::KeyEncoder;
use tdb_schema::FieldKind;

use super::candidate::{Candidate, all_candidates, filters_time, is_compared};
use super::decode_cache::DecodeCache;
use super::filter::Filter;
use super::selection::TileSelection;
use super::selector::Selector;
use crate::decode_buffers::PooledBuffers;
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::stats::Stage;
use crate::storage::ReadSet;
use crate::tiles::FieldTiles;
use crate::{OrInternal, Result, parallel};

/// The use that a query makes of the coordinates of selected cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoordinateUse {
    /// Nobody needs them: they are decoded only where ranges or a filter look at them.
    Skip,
    /// They are kept, to put cells in order or to tell them apart.
    Keep,
    /// They are kept, and those of all cells in the same tiles will be compared with them.
    KeepAndCompare,
    /// They only tell cells apart: keys will do, if all coordinates have keys that fit.
    KeysOnly,
}

/// A fragment's dimensions.
pub(super) struct SearchedFragment {
    /// Which of the plan's fragments.
    pub(super) fragment: usize,
    pub(super) dimensions: Vec<FieldTiles>,
    /// Cell timestamps, if the fragment has them.
    pub(super) timestamps: Option<Box<FieldTiles>>,
    /// Whether cells must be compared with the window one by one.
    pub(super) filter_time: bool,
    /// The fragment's first timestamp.
    pub(super) written: u64,
}

/// Finds the wanted cells of all fragments, tile by tile: fragments oldest first, tiles in file
/// order. `coordinates` says whether the cells' coordinates are wanted too.
pub fn select(
    plan: &Plan,
    coordinates: CoordinateUse,
    filter: Filter<'_>,
    cache: &DecodeCache,
) -> Result<Vec<TileSelection>> {
    select_in(plan, all_candidates(plan, filter)?, coordinates, filter, cache)
}

/// Finds the wanted cells of some tiles.
pub fn select_in(
    plan: &Plan,
    candidates: Vec<Candidate>,
    coordinates: CoordinateUse,
    filter: Filter<'_>,
    cache: &DecodeCache,
) -> Result<Vec<TileSelection>> {
    let array = &plan.array;
    let context = array.context();
    let _clock = context.counters.time(Stage::Select);
    let window = array.window();
    let dimensions = &array.schema().domain.dimensions;
    // Whether a fragment's coordinates are looked at; only for fragments with tiles.
    let mut looks: Vec<Option<bool>> = vec![None; array.fragments().len()];
    for candidate in &candidates {
        let looks = looks.get_mut(candidate.id.fragment).or_internal(NO_FRAGMENT)?;
        let any = looks.get_or_insert(coordinates != CoordinateUse::Skip || filter.needs_coordinates());
        *any |= !candidate.whole;
    }
    let looks = looks.iter().enumerate();
    let looked: Vec<(usize, bool)> =
        looks.filter_map(|(index, looks)| looks.map(|looks| (index, looks))).collect();
    let sources = parallel::filter_map(context.threads, &looked, |(index, looks)| {
        let fragment = plan.fragment(*index)?;
        let fields = if *looks { 0..dimensions.len() } else { 0..0 };
        let fields = fields.map(|index| FieldTiles::open(context, fragment, FieldKind::Dimension(index)));
        Ok(Some(SearchedFragment {
            fragment: *index,
            dimensions: fields.collect::<Result<_>>()?,
            timestamps: FieldTiles::timestamps(context, fragment)?.map(Box::new),
            filter_time: filters_time(plan, fragment),
            written: fragment.timestamps().0,
        }))
    })?;
    if let Some(prefetched) = &context.prefetched {
        let read_set = read_set(plan, &candidates, &sources, (coordinates, filter), cache)?;
        plan.fetch_if_it_fits(prefetched, &read_set)?;
    }
    // The least that is decoded: a coordinate of each cell that is looked at.
    let bytes = |candidate: &Candidate| {
        let is_looked_at =
            !candidate.whole || coordinates != CoordinateUse::Skip || !matches!(filter, Filter::All);
        if is_looked_at { candidate.tile_cells.saturating_mul(size_of::<u64>()) } else { 0 }
    };
    let bounds = (coordinates == CoordinateUse::KeysOnly).then(|| array.bounds()).flatten();
    let key_encoder = bounds.and_then(|bounds| KeyEncoder::new(array.schema(), &bounds));
    let pool = PooledBuffers::sharing(context.threads, candidates.len());
    let bytes = candidates.iter().map(bytes).fold(0, usize::saturating_add);
    let dimensions_read = sources.iter().flat_map(|source| &source.dimensions);
    let work = dimensions_read.map(|tiles| tiles.work(bytes)).max().unwrap_or(bytes);
    let threads = parallel::worth(context.threads, work);
    parallel::run(threads, candidates, pool, |candidate, buffers| {
        let at = sources.binary_search_by_key(&candidate.id.fragment, |source| source.fragment);
        let source = at.ok().and_then(|at| sources.get(at)).or_internal(NO_FRAGMENT)?;
        let key_encoder = key_encoder.as_ref();
        let selector =
            Selector { plan, context, dimensions, window, coordinates, key_encoder, filter, cache };
        let selection = selector.run(candidate, source, buffers)?;
        cache.reserve(selection.as_ref().map_or(0, TileSelection::held))?;
        Ok(selection)
    })
    .map(|found| found.into_iter().flatten().filter(|selection| selection.count() > 0).collect())
}

/// Lists what is read to find the wanted cells of some tiles: the fields of the condition,
/// coordinates, and times of cells.
fn read_set(
    plan: &Plan,
    candidates: &[Candidate],
    sources: &[SearchedFragment],
    (coordinates, filter): (CoordinateUse, Filter<'_>),
    cache: &DecodeCache,
) -> Result<ReadSet> {
    let mut read_set = ReadSet::default();
    for Candidate { id, tile_cells, whole } in candidates {
        let at = sources.binary_search_by_key(&id.fragment, |source| source.fragment);
        let source = at.ok().and_then(|at| sources.get(at)).or_internal(NO_FRAGMENT)?;
        if let Filter::Matching(condition) = filter {
            for field in condition.undecided(0, *id, *tile_cells)? {
                condition.need(field, *id, &mut read_set)?;
            }
        }
        let known = match filter {
            Filter::Coordinates(among) => among.are_known(cache, *id)?,
            _ => false,
        };
        let all = coordinates != CoordinateUse::Skip || filter.needs_coordinates();
        let looks = |set: &RangeSet| !known && (all || (!whole && is_compared(&plan.scope, set)));
        let dimensions = source.dimensions.iter().zip(&plan.ranges).filter(|(_, set)| looks(set));
        for tiles in dimensions.map(|(tiles, _)| tiles).chain(source.timestamps.as_deref()) {
            tiles.need(plan.array.context(), id.tile, &mut read_set.ranges)?;
        }
    }
    Ok(read_set)
}

/// A tile that is looked at belongs to no fragment that was opened.
const NO_FRAGMENT: &str = "a tile lacks its fragment";
