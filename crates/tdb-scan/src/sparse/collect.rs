//! Collects the columns of the result: fetches what they are read from, makes them, and puts them
//! in order.
//!
//! One column is made after another, and the threads share its tiles. Where there are tiles for at
//! most half of the threads, several columns are made at the same time: in a query that meets a
//! single tile, a second thread would find nothing to do.

use tdb_codec::{Buffer, CellValNum, Datatype};
use tdb_schema::{Field, FieldKind};

use super::decode_cache::DecodeCache;
use super::reorder::{SpareBuffers, kept, reorder};
use super::selection::TileSelection;
use super::stage::stage;
use crate::plan::{NO_FIELD, Plan, TIMESTAMPS};
use crate::spec::ColumnSpec;
use crate::storage::ReadSet;
use crate::tiles::{FieldTiles, work};
use crate::{Column, OrInternal, Result, parallel};

/// Fetches what the selected cells of some fields are read from, unless it is at hand.
pub fn fetch_columns(
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
    for own in selections.chunk_by(|a, b| a.id.fragment == b.id.fragment) {
        let Some(first) = own.first() else { continue };
        let fragment = plan.fragment(first.id.fragment)?;
        for field in fields.iter().filter_map(|kind| schema.field_of(*kind)) {
            let spec = ColumnSpec::new(schema, &field);
            let Some(tiles) = FieldTiles::of_column(context, fragment, &spec, field.kind)? else { continue };
            for selection in own.iter().filter(|own| !at_hand(own, field.kind)) {
                tiles.need(context, selection.id.tile, &mut read_set.ranges)?;
            }
        }
    }
    plan.fetch_if_it_fits(prefetched, &read_set).map(drop)
}

/// The positions of the selected cells in the result.
#[derive(Clone, Copy)]
pub(super) struct Arranged<'o> {
    /// The number of each cell of the result; `None` if all cells keep their position.
    pub(super) order: Option<&'o [u32]>,
    /// Whether they may be in another order than their stored order.
    pub(super) ordered: bool,
    /// The number of selected cells.
    pub(super) cells: usize,
}

/// Makes the columns of the result. `coordinates` are those that are staged already.
pub(super) fn collect(
    plan: &Plan,
    selections: &[TileSelection],
    coordinates: Vec<Column>,
    Arranged { order, ordered, cells }: Arranged<'_>,
    cache: &DecodeCache,
) -> Result<Vec<Column>> {
    let schema = plan.array.schema();
    let mut spare = SpareBuffers::default();
    // Memory that can be reused: columns in stored order that are no longer needed, and coordinates
    // that were not asked for.
    let mut coordinates: Vec<Option<Column>> = coordinates.into_iter().map(Some).collect();
    for (dimension, column) in coordinates.iter_mut().enumerate() {
        if !plan.fields.contains(&FieldKind::Dimension(dimension)) {
            spare.0.extend(column.take().map(|column| column.data));
        }
    }
    let fields = plan.fields.iter().map(|kind| schema.field_of(*kind).or_internal(NO_FIELD));
    let fields: Vec<_> = fields.collect::<Result<_>>()?;
    let mut columns: Vec<Option<Column>> = fields.iter().map(|_| None).collect();
    // Fields with kept cells come first: this frees kept memory, which the others can use.
    let mut places: Vec<usize> = (0..fields.len()).collect();
    places.sort_by_key(|at| !fields.get(*at).is_some_and(|field| cache.has_any(field.kind)));
    for (field, slot) in fields.iter().zip(&mut columns) {
        if let FieldKind::Dimension(dimension) = field.kind {
            *slot = coordinates.get_mut(dimension).and_then(Option::take);
        }
    }
    let missing = places.iter().filter_map(|at| Some((*at, *fields.get(*at)?, columns.get(*at)?)));
    let missing =
        missing.filter(|(_, _, column)| column.is_none()).map(|(at, field, _)| (at, field)).collect();
    // Cells that only close gaps stay where they are.
    let stays = order.is_none() || !ordered;
    for (at, column) in stage_all(plan, selections, missing, (cells, stays), cache)? {
        *columns.get_mut(at).or_internal(NO_FIELD)? = Some(column);
    }
    for at in places {
        let (field, slot) = fields.get(at).zip(columns.get_mut(at)).or_internal(NO_FIELD)?;
        let column = match slot.take() {
            Some(column) => column,
            None => {
                let spec = ColumnSpec::new(schema, field);
                let threads = plan.array.context().threads;
                stage(
                    plan,
                    selections,
                    (field.kind, spec, plan.dictionary_codes),
                    (cells, threads, stays),
                    cache,
                    &mut spare,
                )?
            }
        };
        *slot = Some(match order {
            // Cells in their stored order only have to close the gaps.
            Some(order) if !ordered && column.offsets().is_none() => kept(plan, column, order)?,
            Some(order) => reorder(plan, column, order, &mut spare)?,
            None => column,
        });
    }
    let columns = columns.into_iter().map(|column| column.or_internal("a field has no column"));
    let mut columns: Vec<Column> = columns.collect::<Result<_>>()?;
    if let Some(place) = plan.timestamps {
        let column = timestamps(plan, selections, cells);
        let column = match order {
            Some(order) => reorder(plan, column, order, &mut spare)?,
            None => column,
        };
        columns.insert(place.min(columns.len()), column);
    }
    Ok(columns)
}

/// The columns of some fields, which are given with their places, if it pays to make them at the
/// same time.
fn stage_all(
    plan: &Plan,
    selections: &[TileSelection],
    fields: Vec<(usize, Field<'_>)>,
    (cells, stays): (usize, bool),
    cache: &DecodeCache,
) -> Result<Vec<(usize, Column)>> {
    let threads = plan.array.context().threads.checked_div(selections.len()).unwrap_or(0);
    // Columns that the search has cached are only copied.
    let all = fields.iter().filter(|(_, field)| !cache.has_any(field.kind));
    if threads < 2 || !parallel::can_be_shared(all.map(|(_, field)| decoded(field, selections))) {
        return Ok(Vec::new());
    }
    // The other threads have other columns.
    let own = plan.array.context().threads.checked_div(threads.min(fields.len())).unwrap_or(1);
    parallel::run(threads, fields, SpareBuffers::default, |(at, field), spare| {
        let spec = ColumnSpec::new(plan.array.schema(), &field);
        Ok((
            at,
            stage(
                plan,
                selections,
                (field.kind, spec, plan.dictionary_codes),
                (cells, own, stays),
                cache,
                spare,
            )?,
        ))
    })
}

/// About how much is decoded of a field.
fn decoded(field: &Field<'_>, selections: &[TileSelection]) -> usize {
    let own = |selection: &TileSelection| match field.cell_size() {
        Some(size) => selection.decoded(size).saturating_mul(size),
        // All offsets of a tile are decoded if its values are of variable length.
        None => selection.tile_cells.saturating_mul(size_of::<u64>()),
    };
    work(field.filters.effort(), selections.iter().map(own).fold(0, usize::saturating_add))
}

/// When each of the selected cells was written.
fn timestamps(plan: &Plan, selections: &[TileSelection], cells: usize) -> Column {
    let mut data = Buffer::with_capacity(cells.saturating_mul(8));
    for selection in selections {
        match &selection.timestamps {
            Some(times) => {
                times.iter().for_each(|time| data.extend_from_slice(&time.to_le_bytes()));
                plan.array.context().counters.copied(times.len().saturating_mul(size_of::<u64>()));
            }
            None => {
                (0..selection.count()).for_each(|_| data.extend_from_slice(&selection.written.to_le_bytes()));
            }
        }
    }
    let (datatype, cell_val_num) = (Datatype::Uint64, CellValNum::ONE);
    let name = TIMESTAMPS.to_owned();
    Column { name, datatype, cell_val_num, data, offsets: None, validity: None, codes: None }
}
