//! Prefetches the tiles that a sparse query reads.

use tdb_schema::FieldKind;

use super::candidate::{Candidate, is_compared};
use super::decode_cache::DecodeCache;
use super::filter::Filter;
use super::select::{CoordinateUse, SearchedFragment};
use super::selection::TileSelection;
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::spec::ColumnSpec;
use crate::storage::ReadSet;
use crate::tiles::FieldTiles;
use crate::{OrInternal, Result};

/// Lists what is read to find the wanted cells of some tiles: the fields of the condition,
/// coordinates, and times of cells.
pub(super) fn search(
    plan: &Plan,
    candidates: &[Candidate],
    sources: &[SearchedFragment],
    (coordinates, filter): (CoordinateUse, Filter<'_>),
    cache: &DecodeCache,
) -> Result<ReadSet> {
    let mut read_set = ReadSet::default();
    for Candidate { fragment, tile, tile_cells, whole } in candidates {
        let at = sources.binary_search_by_key(fragment, |source| source.fragment);
        let source = at.ok().and_then(|at| sources.get(at)).or_internal("a tile lacks its fragment")?;
        if let Filter::Matching(condition) = filter {
            for field in condition.undecided(0, *fragment, *tile, *tile_cells)? {
                condition.need(field, (*fragment, *tile), &mut read_set)?;
            }
        }
        let known = match filter {
            Filter::Coordinates(among) => among.are_known(cache, (*fragment, *tile))?,
            _ => false,
        };
        let all = coordinates != CoordinateUse::Skip || filter.needs_coordinates();
        let looks = |set: &RangeSet| !known && (all || (!whole && is_compared(&plan.scope, set)));
        let dimensions = source.dimensions.iter().zip(&plan.ranges).filter(|(_, set)| looks(set));
        for tiles in dimensions.map(|(tiles, _)| tiles).chain(source.timestamps.as_deref()) {
            tiles.need(plan.array.context(), *tile, &mut read_set.ranges)?;
        }
    }
    Ok(read_set)
}

/// Fetches what the selected cells of some fields are read from, unless it is at hand.
pub fn columns(
    plan: &Plan,
    fields: &[FieldKind],
    selections: &[TileSelection],
    cache: &DecodeCache,
) -> Result<()> {
    let context = plan.array.context();
    let Some(prefetched) = &context.prefetched else { return Ok(()) };
    let schema = plan.array.schema();
    let at_hand = |selection: &TileSelection, kind| match kind {
        _ if selection.only_replaces => true,
        FieldKind::Dimension(at) if at < selection.coordinates.len() => true,
        kind => cache.has(selection, kind),
    };
    let mut read_set = ReadSet::default();
    for own in selections.chunk_by(|a, b| a.fragment == b.fragment) {
        let Some(first) = own.first() else { continue };
        let fragment = plan.fragment(first.fragment)?;
        for field in fields.iter().filter_map(|kind| schema.field_of(*kind)) {
            let spec = ColumnSpec::new(schema, &field);
            let Some(tiles) = FieldTiles::of_column(context, fragment, &spec, field.kind)? else { continue };
            for selection in own.iter().filter(|own| !at_hand(own, field.kind)) {
                tiles.need(context, selection.tile, &mut read_set.ranges)?;
            }
        }
    }
    plan.fetch_if_it_fits(prefetched, &read_set).map(drop)
}
