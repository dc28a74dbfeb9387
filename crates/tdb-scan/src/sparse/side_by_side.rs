//! Makes several columns at the same time where there are tiles for at most half of the threads.
//!
//! The threads share the tiles of a column, and one column is made after another. In a query that
//! meets a single tile, a second thread would find nothing to do.

use tdb_schema::Field;

use super::decode_cache::DecodeCache;
use super::reorder::SpareBuffers;
use super::selection::TileSelection;
use super::stage::stage;
use crate::plan::Plan;
use crate::spec::ColumnSpec;
use crate::tiles::work;
use crate::{Column, Result, parallel};

/// The columns of some fields, which are given with their places, if it pays to make them at the
/// same time.
pub(super) fn stage_all(
    plan: &Plan,
    selections: &[TileSelection],
    fields: Vec<(usize, Field<'_>)>,
    cells: usize,
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
            stage(plan, selections, (field.kind, spec, plan.dictionary_codes), (cells, own), cache, spare)?,
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
