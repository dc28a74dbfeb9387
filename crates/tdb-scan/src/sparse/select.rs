//! Which cells of which tiles a query wants, and their coordinates.

use core::ops::Range;

use tdb_codec::{to_u32, to_u64};
use tdb_order::{CoordinatesRef, KeyEncoder};
use tdb_predicate::{StringView, picked, string_at};
use tdb_schema::{Dimension, FieldKind};

use super::cached_column::CachedColumn;
use super::candidate::{Candidate, all_candidates, filters_time, is_compared};
use super::coordinate_filter::{Found, coordinate_hashes};
use super::decode_cache::{CachedPart, DecodeCache, TAKEN};
use super::filter::{Filter, FilteredTile};
use super::pick::numbers_of;
use super::prefetch;
use super::selection::{Coordinates, TileSelection};
use crate::condition::Decoded;
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::plan::{CACHED_COLUMN_BYTES, Plan};
use crate::ranges::RangeSet;
use crate::stats::Stage;
use crate::tiles::FieldTiles;
use crate::{Error, OrInternal, Result, TimeWindow, parallel};

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
    filter_time: bool,
    /// The fragment's first timestamp.
    written: u64,
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
        let looks = looks.get_mut(candidate.fragment).or_internal(NO_FRAGMENT)?;
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
        plan.fetch_if_it_fits(
            prefetched,
            &prefetch::search(plan, &candidates, &sources, (coordinates, filter), cache)?,
        )?;
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
        let at = sources.binary_search_by_key(&candidate.fragment, |source| source.fragment);
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

struct Selector<'a> {
    plan: &'a Plan,
    context: &'a Context,
    dimensions: &'a [Dimension],
    window: TimeWindow,
    coordinates: CoordinateUse,
    key_encoder: Option<&'a KeyEncoder<'a>>,
    filter: Filter<'a>,
    cache: &'a DecodeCache,
}

impl Selector<'_> {
    /// A decoded coordinate.
    fn value<'d>(&self, decoded: &'d [Option<Decoded>], dimension: usize, cell: usize) -> &'d [u8] {
        let Some(Some(own)) = decoded.get(dimension) else { return &[] };
        if own.offsets.is_some() {
            let ends = to_u32(cell).and_then(|cell| own.ends(cell));
            return ends.map_or(&[], |(start, end)| string_at(own.values.as_slice(), start, end));
        }
        let size = self.dimensions.get(dimension).map_or(0, |dimension| dimension.datatype.size());
        let start = cell.saturating_mul(size);
        own.values.as_slice().get(start..start.saturating_add(size)).unwrap_or_default()
    }

    fn run(
        &self,
        candidate: Candidate,
        source: &SearchedFragment,
        buffers: &mut PooledBuffers,
    ) -> Result<Option<TileSelection>> {
        let Candidate { fragment, tile, tile_cells, whole } = candidate;
        let context = self.context;
        // The condition comes first: if no cell satisfies it, coordinates are not even read.
        let again = self.coordinates == CoordinateUse::KeepAndCompare;
        let chosen = self.plan.visibility.as_ref().map(|chosen| chosen.mask(fragment, tile, tile_cells));
        let chosen = chosen.transpose()?.flatten();
        let filter = if self.plan.is_decided(fragment, tile) { Filter::All } else { self.filter };
        let FilteredTile { wanted: mut filtered, mut looked_at } =
            filter.wanted((fragment, tile, tile_cells), (chosen, again), buffers)?;
        if let Filter::Coordinates(among) = self.filter {
            match among.find(self.cache, (fragment, tile), tile_cells)? {
                Some(Found::Nothing) => return Ok(None),
                Some(Found::Matching(own)) => return self.again(own, source, buffers).map(Some),
                Some(Found::Cells(cells)) => filtered = Some(cells),
                None => {}
            }
        }
        if filtered.as_ref().is_some_and(|wanted| !wanted.contains(&1)) {
            looked_at.into_iter().for_each(|(_, decoded)| decoded.give_back(buffers));
            return Ok(None);
        }
        let mut decoded = Vec::with_capacity(source.dimensions.len());
        let judged = !whole || filtered.is_some() || self.filter.needs_coordinates();
        let mut wanted = filtered.unwrap_or_else(|| if judged { vec![1u8; tile_cells] } else { Vec::new() });
        let all = self.coordinates != CoordinateUse::Skip || self.filter.needs_coordinates();
        if !whole || all {
            for (index, (dimension, set)) in self.dimensions.iter().zip(&self.plan.ranges).enumerate() {
                let field = source.dimensions.get(index).or_internal(NO_COORDINATES)?;
                let kind = FieldKind::Dimension(index);
                if !(all || is_compared(&self.plan.scope, set)) {
                    decoded.push(None);
                    continue;
                }
                let known =
                    looked_at.iter().position(|(of, _)| *of == kind).map(|at| looked_at.swap_remove(at).1);
                let values = match known {
                    Some(known) => known,
                    None => {
                        let again = self.coordinates == CoordinateUse::KeepAndCompare
                            || self.filter.needs_coordinates();
                        // Strings may stay codes if only ranges are compared with them, and not all
                        // cells of the tile.
                        let coded = !whole && !again && !set.is_all();
                        let wanted = judged.then_some(&*wanted);
                        self.decode((fragment, tile, kind), field, (wanted, coded), tile_cells, buffers)?
                    }
                };
                if !whole {
                    keep_inside(&values, dimension, set, &mut wanted)?;
                }
                decoded.push(Some(values));
            }
        }
        let timestamps = self.timestamps((fragment, tile), source, tile_cells, buffers)?;
        let mut cells = None;
        if judged {
            if !whole {
                context.counters.tested(tile_cells);
            }
            self.judge(source, &decoded, timestamps.as_deref(), &mut wanted)?;
            if wanted.contains(&0) {
                cells = Some(numbers_of(&wanted));
            }
        }
        let timestamps = of_cells(timestamps, cells.as_deref())?;
        for looked_at in looked_at {
            self.cache.put_selected((fragment, tile), cells.as_deref(), looked_at, buffers)?;
        }
        if again && is_few(cells.as_deref(), tile_cells) {
            let bytes = CACHED_COLUMN_BYTES.saturating_add(to_u64(tile_cells).saturating_mul(4));
            self.cache.put((fragment, tile, CachedPart::Hashes), bytes, || {
                let values = coordinate_hashes(&views(&decoded), tile_cells)?;
                Ok(CachedColumn { cells: tile_cells, values, offsets: None, validity: None })
            })?;
        }
        let keys = self.keys(&decoded, (cells.as_deref(), tile_cells))?;
        if keys.is_some() {
            decoded.drain(..).flatten().for_each(|own| own.give_back(buffers));
        }
        let coordinates = self.take((fragment, tile), decoded, cells.as_deref(), buffers)?;
        let written = source.written;
        let only_replaces = false;
        Ok(Some(TileSelection {
            fragment,
            tile,
            tile_cells,
            cells,
            coordinates,
            keys,
            timestamps,
            written,
            only_replaces,
        }))
    }

    /// The keys of the selected cells (`None` for all) of a tile of so many, if keys will do and
    /// all of them have one.
    fn keys(
        &self,
        decoded: &[Option<Decoded>],
        (cells, all): (Option<&[u32]>, usize),
    ) -> Result<Option<Vec<u64>>> {
        let Some(key_encoder) = self.key_encoder else { return Ok(None) };
        let whole = |(values, offsets)| CoordinatesRef { values, offsets };
        let Some(cells) = cells else {
            return Ok(key_encoder.keys(views(decoded).into_iter().map(whole).collect(), all));
        };
        let picked = decoded.iter().flatten().map(|own| Ok(self.cache.picked(own, cells)?.into()));
        let picked: Vec<Coordinates> = picked.collect::<Result<_>>()?;
        Ok(key_encoder.keys(picked.iter().map(Coordinates::as_ref).collect(), cells.len()))
    }

    /// The selection of a tile that was made before, and is all that is wanted of it now.
    fn again(
        &self,
        own: &TileSelection,
        source: &SearchedFragment,
        buffers: &mut PooledBuffers,
    ) -> Result<TileSelection> {
        let timestamps = self.timestamps((own.fragment, own.tile), source, own.tile_cells, buffers)?;
        let timestamps = of_cells(timestamps, own.cells.as_deref())?;
        Ok(TileSelection { timestamps, ..own.clone() })
    }

    /// Decodes a dimension of a tile, unless it was kept when it was first looked at. Chunks
    /// without a wanted cell are left out; if `coded`, strings may stay as they are stored.
    fn decode(
        &self,
        (fragment, tile, kind): (usize, usize, FieldKind),
        field: &FieldTiles,
        (wanted, coded): (Option<&[u8]>, bool),
        cells: usize,
        buffers: &mut PooledBuffers,
    ) -> Result<Decoded> {
        let context = self.context;
        if let Some(CachedColumn { cells, values, offsets, validity }) =
            self.cache.take(&(fragment, tile, CachedPart::Whole(kind)))
        {
            return Ok(Decoded { cells, values, offsets, validity, ..Decoded::default() });
        }
        // Cells that a condition or the previous dimensions rule out are not looked at again.
        let wanted = wanted.filter(|_| self.coordinates != CoordinateUse::KeepAndCompare);
        let any = |cells: Range<usize>| {
            wanted.is_none_or(|wanted| wanted.get(cells).is_none_or(|cells| cells.contains(&1)))
        };
        if field.cell_val_num.is_var() {
            return Decoded::strings(context, field, (tile, cells), coded, any, buffers);
        }
        let size = field.cell_size();
        let mut values = buffers.take_buffer(context.tile_len(cells, size)?)?;
        let any = |bytes: Range<usize>| {
            any(bytes.start.checked_div(size).unwrap_or(0)..bytes.end.div_ceil(size.max(1)))
        };
        field.decode_fixed(context, tile, values.as_mut_slice(), any, buffers)?;
        Ok(Decoded { cells, values, ..Decoded::default() })
    }

    /// When each cell of a tile was written, if its fragment knows.
    fn timestamps(
        &self,
        (fragment, tile): (usize, usize),
        source: &SearchedFragment,
        cells: usize,
        buffers: &mut PooledBuffers,
    ) -> Result<Option<Vec<u64>>> {
        let again = self.coordinates == CoordinateUse::KeepAndCompare;
        // The first time, only the time window needs them.
        let Some(field) = source.timestamps.as_ref().filter(|_| !again || source.filter_time) else {
            return Ok(None);
        };
        let place = (fragment, tile, CachedPart::Timestamps);
        let values = match self.cache.take(&place) {
            Some(kept) => kept.values,
            None => {
                let mut values = buffers.take_buffer(self.context.tile_len(cells, 8)?)?;
                field.decode_fixed(self.context, tile, values.as_mut_slice(), |_| true, buffers)?;
                values
            }
        };
        let words = values.as_slice().as_chunks::<8>().0;
        let timestamps: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        if timestamps.len() != cells {
            return Err(Error::internal("a tile lacks times of its cells"));
        }
        let mut decoded = Some(Decoded { cells, values, ..Decoded::default() });
        if let Some(bytes) = decoded.as_ref().filter(|_| again).map(|decoded| decoded.held_by(None)) {
            self.cache.put(place, bytes, || decoded.take().or_internal(TAKEN)?.whole())?;
        }
        decoded.into_iter().for_each(|decoded| decoded.give_back(buffers));
        Ok(Some(timestamps))
    }

    /// Clears `wanted` for cells that the filter, the time window or the range of keys excludes.
    fn judge(
        &self,
        source: &SearchedFragment,
        decoded: &[Option<Decoded>],
        timestamps: Option<&[u64]>,
        wanted: &mut [u8],
    ) -> Result<()> {
        if let Filter::Coordinates(among) = self.filter {
            among.keep(&views(decoded), wanted)?;
        }
        if let (true, Some(timestamps)) = (source.filter_time, timestamps) {
            for (keep, time) in wanted.iter_mut().zip(timestamps) {
                *keep &= u8::from(self.window.contains((*time, *time)));
            }
        }
        if let Some(key_range) = &self.plan.scope.key_range {
            let has_all = |own: &Option<Decoded>| own.as_ref().is_some_and(|own| own.cells >= wanted.len());
            if decoded.len() != self.dimensions.len() || !decoded.iter().all(has_all) {
                return Err(Error::internal(NO_COORDINATES));
            }
            key_range.keep(wanted, |dimension, at| self.value(decoded, dimension, at));
        }
        Ok(())
    }

    /// The coordinates of the selected cells (`None` for all), if they are needed. Fields of the
    /// result are kept.
    fn take(
        &self,
        (fragment, tile): (usize, usize),
        decoded: Vec<Option<Decoded>>,
        cells: Option<&[u32]>,
        buffers: &mut PooledBuffers,
    ) -> Result<Vec<Coordinates>> {
        let mut coordinates = Vec::new();
        let again = self.coordinates == CoordinateUse::KeepAndCompare
            && cells.is_none_or(|cells| !cells.is_empty())
            && !is_few(cells, decoded.iter().flatten().map(|own| own.cells).next().unwrap_or(0));
        for (index, decoded) in decoded.into_iter().enumerate() {
            let Some(decoded) = decoded else { continue };
            let kind = FieldKind::Dimension(index);
            if self.coordinates == CoordinateUse::Skip {
                self.cache.put_selected((fragment, tile), cells, (kind, decoded), buffers)?;
                continue;
            }
            match (cells, again) {
                (Some(cells), _) => coordinates.push(self.cache.picked(&decoded, cells)?.into()),
                (None, true) => {
                    self.context.counters.copied(decoded.values.len());
                    let values = decoded.values.as_slice().into();
                    coordinates.push(Coordinates { values, offsets: decoded.offsets.clone() });
                }
                (None, false) => {
                    coordinates.push(decoded.whole()?.into());
                    continue;
                }
            }
            let bytes = again.then(|| decoded.held_by(None));
            let mut left = Some(decoded);
            if let Some(bytes) = bytes {
                let place = (fragment, tile, CachedPart::Whole(kind));
                self.cache.put(place, bytes, || left.take().or_internal(TAKEN)?.whole())?;
            }
            left.into_iter().for_each(|decoded| decoded.give_back(buffers));
        }
        Ok(coordinates)
    }
}

/// The timestamps of some cells of a tile; `None` for all cells.
fn of_cells(timestamps: Option<Vec<u64>>, cells: Option<&[u32]>) -> Result<Option<Vec<u64>>> {
    let (Some(all), Some(cells)) = (&timestamps, cells) else { return Ok(timestamps) };
    picked(all, cells).map(Some)
}

/// A tile that is looked at belongs to no fragment that was opened.
const NO_FRAGMENT: &str = "a tile lacks its fragment";
/// A tile is compared by coordinates that were not decoded.
const NO_COORDINATES: &str = "a tile lacks coordinates that are compared";

/// Whether so few cells of a tile are wanted that in most tiles hashes will say that there
/// are no others.
fn is_few(cells: Option<&[u32]>, all: usize) -> bool {
    cells.is_some_and(|cells| !cells.is_empty() && cells.len() <= all / MANY)
}

/// One cell in so many is few.
const MANY: usize = 16;

/// The values of columns, and the offsets of strings.
fn views(decoded: &[Option<Decoded>]) -> Vec<(&[u8], Option<&[u64]>)> {
    decoded.iter().flatten().map(|own| (own.values.as_slice(), own.offsets.as_deref())).collect()
}

/// Clears `wanted` for cells outside the ranges.
fn keep_inside(values: &Decoded, dimension: &Dimension, set: &RangeSet, wanted: &mut [u8]) -> Result<()> {
    match &values.offsets {
        None => set.keep(dimension, &values.values, wanted),
        Some(offsets) => {
            let strings = StringView { values: values.values.as_slice(), offsets };
            let Some(codes) = &values.codes else { return set.keep_strings(strings.iter(), wanted) };
            let mut kept = Ok(());
            strings.test_coded(codes, wanted, |strings, wanted| {
                kept = set.keep_strings(strings.iter(), wanted);
            })?;
            kept
        }
    }
}
