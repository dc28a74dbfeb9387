//! The memory that cells take while a query works on them: a few numbers per cell, computed from
//! the schema. All of them are estimates, so that sums that saturate mean "too much".

use core::cell::Cell;
use std::sync::Arc;

use tdb_codec::{ArrayType, to_u64};
use tdb_schema::{ArraySchema, FieldKind};

use super::codec_memory::{Codecs, codecs};
use crate::Result;
use crate::context::Context;
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::sparse::Sorting;
use crate::spec::ColumnSpec;
use crate::tiles::Chunks;

/// Sizes of a fragment's value tiles, field by field, each with the number of times that its bytes
/// are held.
pub(crate) type VarSizes = Vec<(u64, Arc<Vec<u64>>)>;

/// Bytes of an open field of a fragment: decoders, names, the header of a list.
const OPEN_FIELD: u64 = 1536;
/// Bytes that a read holds for each fragment, whether or not it takes part.
const FRAGMENT: u64 = 160;
/// Bytes of the selection of a tile.
const SELECTION: u64 = 256;
/// Bytes of a space tile that is processed by itself.
const TILE: u64 = 512;

/// The cost of a query's cells.
#[derive(Debug)]
pub(crate) struct CellCost {
    schema: Arc<ArraySchema>,
    /// Bytes per cell after it was selected: keys, columns, and one more column for the one that is
    /// being made.
    result: u64,
    /// Bytes per cell while it is selected.
    selected: u64,
    /// Bytes per cell of a result's columns, without values of variable length.
    columns: u64,
    /// Stored bytes per cell that are fetched before cells are selected, if the storage wants to
    /// know beforehand what is read; as many as decoded ones, which compression makes fewer.
    fetched: u64,
    /// Fields of variable length, and the number of times that each of their bytes is held.
    var: Vec<(FieldKind, ColumnSpec, u64)>,
    /// The number of fields that a batch opens in each fragment.
    open: u64,
    /// Bytes per cell in all fields that a thread looks at together, those of conditions and
    /// aggregates; and how many of these fields are of variable length.
    scanned: (u64, u64),
    /// Bytes of a tile that is selected from.
    tile: u64,
    /// Bytes of the widest cell, and of the coordinates of one cell.
    widest: u64,
    coordinates: u64,
    codecs: Codecs,
    /// The memory of threads, if the query reads tiles by chunk.
    by_chunk: Option<ByChunk>,
    /// Largest value tile that was seen.
    largest: Cell<u64>,
}

/// The memory of a thread that reads tiles of dense arrays by chunk.
#[derive(Clone, Copy, Debug, Default)]
struct ByChunk {
    /// Bytes of chunks.
    chunks: u64,
    /// Bytes of the widest cell of the fields whose tiles are read whole all the same.
    widest: u64,
    /// Bytes of the largest tile of a sparse fragment, decoded, with its coordinates.
    sparse_tile: u64,
}

impl CellCost {
    /// The cost of a query; `sorts` says whether it needs the coordinates of its cells to order
    /// them.
    pub(crate) fn new(plan: &Plan, sorts: bool) -> Self {
        let schema = plan.array.schema();
        let dense = schema.array_type == ArrayType::Dense;
        let dimensions = &schema.domain.dimensions;
        let size = |dimension: &tdb_schema::Dimension| {
            if dimension.is_var() { 8 } else { to_u64(dimension.datatype.size()) }
        };
        let coordinates: u64 = dimensions.iter().map(size).sum();
        // For a tile of which only some cells are wanted, their numbers are listed.
        let mut selected = 4;
        let mut result = 0;
        if sorts {
            // Keys and cell numbers: pairs of up to 32 bytes, the same again while they are merged;
            // and the order itself.
            selected += coordinates;
            result += 32 + 16 + 4;
        }
        let fragments = plan.array.fragments();
        let is_told = plan.array.context().prefetched.is_some();
        if fragments.iter().any(|fragment| fragment.footer().has_timestamps) {
            selected += 8;
            result += 8;
        }
        let mut var = Vec::new();
        // The column of timestamps is put in order like any other.
        let (mut columns, mut widest) = if plan.timestamps.is_some() { (8u64, 8u64) } else { (0, 0) };
        for field in plan.fields.iter().filter_map(|kind| schema.field_of(*kind)) {
            let spec = ColumnSpec::new(schema, &field);
            // Offsets, and also starts or lengths while the column is made.
            let cell = field.cell_size().map_or(8, to_u64) + u64::from(spec.nullable);
            let passing = if spec.cell_size.is_none() { 8 } else { 0 };
            columns = columns.saturating_add(cell);
            widest = widest.max(cell + passing);
            if spec.cell_size.is_none() {
                var.push((field.kind, spec, if is_told { 3 } else { 2 }));
            }
        }
        if sorts {
            for (index, _) in dimensions.iter().enumerate().filter(|(_, dimension)| dimension.is_var()) {
                let kind = FieldKind::Dimension(index);
                let asked = var.iter_mut().find(|(other, ..)| *other == kind);
                match asked {
                    Some((_, _, times)) => *times += 1,
                    None => {
                        let field = schema.field_of(kind);
                        var.extend(field.map(|field| (kind, ColumnSpec::new(schema, &field), 1)));
                    }
                }
            }
        }
        // Conditions are finished with a tile before aggregates look at it.
        let mut scanned = (0u64, 0u64);
        let condition = plan.condition.iter().flat_map(|program| &program.fields).map(|field| field.kind);
        for fields in [condition.collect::<Vec<_>>(), plan.scanned.clone()] {
            let mut together = (0u64, 0u64);
            for kind in fields {
                let Some(field) = schema.field_of(kind) else { continue };
                let spec = ColumnSpec::new(schema, &field);
                let fixed = spec.cell_size.map_or(0, to_u64);
                widest = widest.max(fixed);
                // Offsets, and also lengths and starts while dense cells are put together; a mask.
                let cell = if spec.cell_size.is_some() { fixed } else { 24 };
                together.0 = together.0.saturating_add(cell + 8 + 2 * u64::from(spec.nullable));
                if spec.cell_size.is_none() {
                    together.1 = together.1.saturating_add(2);
                    if !var.iter().any(|(other, ..)| *other == kind) {
                        var.push((kind, spec, 0));
                    }
                }
            }
            scanned = (scanned.0.max(together.0), scanned.1.max(together.1));
        }
        // Deletes look at additional columns, and need a flag per cell.
        let deletes = !plan.array.deletes().is_empty();
        let deletes =
            if deletes { schema.fields().map(|f| f.cell_size().map_or(24, to_u64)).sum() } else { 0 };
        let looked_at = if dense { scanned.0 } else { scanned.0.saturating_add(coordinates) };
        let fetched = if is_told { columns.saturating_add(looked_at).saturating_add(deletes) } else { 0 };
        result += columns + widest + deletes;
        let mut tile = SELECTION;
        if dense {
            (selected, result) =
                (0, columns + widest + u64::from(plan.condition.is_some()) + u64::from(plan.marks));
        } else if plan.condition.is_some() && Sorting::of(plan).dedup {
            // Matching cells are selected a second time, with all their versions: a flag and a
            // hash for each.
            selected = selected * 2 + 1 + 12;
            tile = 2 * SELECTION;
        }
        if dense && !plan.scanned.is_empty() {
            // Every space tile is listed.
            let cells = dimensions.iter().map(|dimension| dimension.extent_cells().unwrap_or(u64::MAX));
            result += TILE.div_ceil(cells.fold(1, u64::saturating_mul).max(1));
        }
        let by_chunk = (dense && plan.array.context().by_chunk).then(|| by_chunk(plan, widest, coordinates));
        if by_chunk.is_some() {
            // Together, threads look at no more cells than a part has.
            result += scanned.0;
        }
        let open = to_u64(dimensions.len()).saturating_add(2);
        let codecs = codecs(schema, fragments);
        Self {
            schema: Arc::new(schema.clone()),
            result,
            selected,
            columns,
            fetched,
            var,
            open,
            scanned,
            tile,
            widest,
            coordinates: if dense { 0 } else { coordinates },
            codecs,
            by_chunk,
            largest: Cell::new(0),
        }
    }

    /// Bytes per cell, without values of variable length.
    pub(crate) const fn per_cell(&self) -> u64 {
        self.per_decoded_cell().saturating_add(self.fetched)
    }

    /// The part of [`Self::per_cell`] that is fetched before it is decoded.
    pub(crate) const fn per_fetched_cell(&self) -> u64 {
        self.fetched
    }

    /// The other part of [`Self::per_cell`].
    pub(crate) const fn per_decoded_cell(&self) -> u64 {
        self.selected.saturating_add(self.result)
    }

    /// The part of [`Self::per_cell`] that is held only after the cells were selected.
    pub(crate) const fn per_selected_cell(&self) -> u64 {
        self.result
    }

    /// Bytes per cell of the result, without values of variable length.
    pub(crate) const fn per_result_cell(&self) -> u64 {
        self.columns
    }

    /// Fixed bytes of a batch, whatever its cells.
    pub(crate) fn per_batch(&self, fragments: &[Arc<Fragment>]) -> u64 {
        to_u64(fragments.len()).saturating_mul(FRAGMENT)
    }

    /// Bytes that a batch takes for each fragment with cells in it.
    pub(crate) fn per_fragment(&self) -> f64 {
        (self.open.saturating_mul(OPEN_FIELD).saturating_add(self.tile)) as f64
    }

    /// Bytes for each further tile of a fragment.
    pub(crate) const fn per_tile(&self) -> f64 {
        self.tile as f64
    }

    /// The sizes of a fragment's value tiles.
    pub(crate) fn var_sizes(&self, context: &Context, fragment: &Fragment) -> Result<VarSizes> {
        let mut sizes = Vec::new();
        for (kind, spec, times) in &self.var {
            let Some(own) = spec.own_field(fragment.schema(), *kind) else { continue };
            let list = fragment.var_sizes(context, own)?;
            let largest = list.iter().copied().max().unwrap_or(0);
            self.largest.set(self.largest.get().max(largest));
            sizes.push((*times, list));
        }
        Ok(sizes)
    }

    /// The largest value tile that was seen.
    pub(crate) const fn largest_value_tile(&self) -> u64 {
        self.largest.get()
    }

    /// Bytes per cell in all fields that a thread looks at together.
    pub(crate) const fn per_cell_looked_at(&self) -> u64 {
        self.scanned.0
    }

    /// The bytes that [`Self::per_decoded_cell`] counts too much if these cells are read at once:
    /// each thread looks at the cells of a tile.
    pub(crate) fn not_looked_at_at_once(&self, cells: u64, tile: u64, threads: u64) -> u64 {
        let more = cells.saturating_sub(tile.saturating_mul(threads));
        self.by_chunk.map_or(0, |_| more.saturating_mul(self.scanned.0))
    }

    /// Bytes that a thread holds while it works on tiles with this many cells and this many bytes
    /// of values.
    pub(crate) fn thread(&self, cells: u64, values: u64) -> u64 {
        if let Some(own) = self.by_chunk {
            return self.thread_by_chunk(own, cells, values);
        }
        // Stored and decoded bytes, with a copy of the validity; or all coordinates of a tile and a
        // mask.
        let column = cells.saturating_mul(self.widest.saturating_mul(2).saturating_add(2));
        let scanned =
            cells.saturating_mul(self.scanned.0).saturating_add(values.saturating_mul(self.scanned.1));
        let var = if self.var.is_empty() { 0 } else { values };
        // Dense cells are put together beside the tile that they come from, also those that are
        // only looked at.
        let dense = self.schema.array_type == ArrayType::Dense;
        let values = if self.var.iter().any(|(.., times)| dense || *times > 0) { values } else { 0 };
        let values =
            values.saturating_mul(2).saturating_add(if values == 0 { 0 } else { cells.saturating_mul(16) });
        let coordinates = cells.saturating_mul(self.coordinates.saturating_mul(2).saturating_add(1));
        let widest = cells.saturating_mul(self.widest.max(8)).max(var);
        let between = if self.codecs.take_tiles { widest.saturating_mul(2) } else { 0 };
        let parts = [column.max(coordinates), values, scanned, self.codecs.bytes, between];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    fn thread_by_chunk(&self, own: ByChunk, cells: u64, values: u64) -> u64 {
        // Stored and decoded bytes; and offsets, stored and decoded.
        let column = cells.saturating_mul(own.widest).saturating_mul(2);
        let var = if self.var.is_empty() { 0 } else { cells.saturating_mul(16) };
        let values = if self.var.is_empty() { 0 } else { values };
        let between = if self.codecs.take_tiles {
            cells.saturating_mul(own.widest).max(values).saturating_mul(2)
        } else {
            0
        };
        let looked_at = values.saturating_mul(self.scanned.1);
        let values = values.saturating_mul(2);
        let parts = [own.chunks, own.sparse_tile, column, var, values, looked_at, self.codecs.bytes, between];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Cells of the largest tile of an array's fragments, or of a dense array's tiles.
    pub(crate) fn largest_tile(&self, fragments: &[Arc<Fragment>]) -> u64 {
        if self.schema.array_type == ArrayType::Dense {
            let extents = self.schema.domain.dimensions.iter().map(|dimension| {
                dimension
                    .extent_cells()
                    .or_else(|| dimension.last_ordinal()?.checked_add(1))
                    .unwrap_or(u64::MAX)
            });
            return extents.fold(1, u64::saturating_mul);
        }
        let of =
            |fragment: &Arc<Fragment>| fragment.footer().sparse_tile_cells(0, fragment.schema().capacity);
        fragments.iter().map(of).max().unwrap_or(0)
    }
}

/// The memory of a thread that reads the plan's fields by chunk; `all` and `coordinates` are the
/// bytes of the widest cell, and of the coordinates of one.
fn by_chunk(plan: &Plan, all: u64, coordinates: u64) -> ByChunk {
    let schema = plan.array.schema();
    let condition = plan.condition.iter().flat_map(|program| &program.fields).map(|field| field.kind);
    let kinds: Vec<FieldKind> = condition.chain(plan.scanned.clone()).chain(plan.fields.clone()).collect();
    let mut found = ByChunk::default();
    for fragment in plan.array.fragments() {
        if !fragment.is_dense() {
            let cells = fragment.footer().sparse_tile_cells(0, fragment.schema().capacity);
            let each = all.saturating_add(coordinates).saturating_mul(2).saturating_add(2);
            found.sparse_tile = found.sparse_tile.max(cells.saturating_mul(each));
            continue;
        }
        let attributes = kinds.iter().filter(|kind| matches!(kind, FieldKind::Attribute(_)));
        for field in attributes.filter_map(|kind| schema.field_of(*kind)) {
            let spec = ColumnSpec::new(schema, &field);
            let own = spec.own_field(fragment.schema(), field.kind);
            let Some(own) = own.and_then(|kind| fragment.schema().field_of(kind)) else { continue };
            let chunks = Chunks::of(fragment, own.kind);
            let cells = own.cell_size().map_or(8, to_u64);
            let parts = [(true, chunks.values, cells), (own.nullable, chunks.validity, 1)];
            for (_, chunk, width) in parts.into_iter().filter(|(exists, ..)| *exists) {
                match chunk {
                    Some(chunk) => found.chunks = found.chunks.max(to_u64(Chunks::held(chunk))),
                    None => found.widest = found.widest.max(width),
                }
            }
        }
    }
    found
}
