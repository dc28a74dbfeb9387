//! Dense tiles assembled from a box of cells.

use tdb_codec::{Layout, to_u64, to_usize};
use tdb_schema::{ArraySchema, Attribute, FieldKind, Range};

use crate::column::{CheckedColumn, TiledColumns, check_whole, column_of};
use crate::fragment::dense_kinds;
use crate::grid::{BoxMap, Side, strides};
use crate::statistics::join_runs;
use crate::tile_cells::{TileBuffers, TileCells, TileSource};
use crate::tile_grid::{TileGrid, sides};
use crate::{ArrayWriter, FragmentWriter, WriteColumn, ordered};
use crate::{Error, OrInternal, QueryError, Result, WriteError, parallel};

/// The tiles of a box of cells.
struct BoxTiles<'c, 'a> {
    columns: &'c [CheckedColumn<'a>],
    grid: TileGrid,
    /// Distances of neighbours in the caller's columns, in cells.
    source_strides: Vec<usize>,
    tile_cells: usize,
}

/// An estimate of the memory for a cell of each attribute, in bytes, with its validity. A cell of
/// variable length counts with its offset only.
pub(super) fn cell_sizes(schema: &ArraySchema) -> Vec<usize> {
    let size = |(index, attribute): (usize, &Attribute)| {
        let field = schema.field_of(FieldKind::Attribute(index));
        let size = field.and_then(|field| field.cell_size()).unwrap_or(8);
        size.saturating_add(attribute.nullable.into())
    };
    schema.attributes.iter().enumerate().map(size).collect()
}

/// Writes a box of cells as a fragment; returns the fragment's name.
pub(super) fn write(
    array: &ArrayWriter,
    domain: Vec<Range>,
    order: Layout,
    columns: &[WriteColumn<'_>],
) -> Result<String> {
    let schema = array.schema();
    let (columns, cells) = array.check(&dense_kinds(schema), columns, 0)?;
    ordered::check(schema, &columns)?;
    let plan = BoxPlan::new(schema, &domain)?;
    if cells != plan.cells {
        let field = schema.attributes.first().map_or_else(String::new, |attribute| attribute.name.clone());
        let (given, expected) = (to_u64(cells), to_u64(plan.cells));
        return Err(WriteError::CellCount { field, given, expected }.into());
    }
    // A tile is assembled whole, at least its offsets.
    let widest = columns.iter().map(|column| column.cell_size.unwrap_or(8)).max().unwrap_or(1);
    array.context.tile_len(plan.tile_cells, widest)?;
    if order == Layout::GlobalOrder && !plan.is_aligned() {
        let what = "writing a dense subarray in global order that does not end at tile boundaries";
        return Err(Error::unsupported(array.describe(&array.schema_key), what));
    }
    let mut fragment = FragmentWriter::dense(array, domain, to_u64(plan.tile_cells))?;
    append_box(&mut fragment, schema, plan, order, &columns)?;
    fragment.commit()
}

/// A box of cells and the tiles that it touches.
pub struct BoxPlan {
    sides: Vec<Side>,
    counts: Vec<usize>,
    extents: Vec<usize>,
    grid: Vec<usize>,
    /// Number of cells in the box.
    pub cells: usize,
    /// Number of cells in a whole tile.
    pub tile_cells: usize,
    tile_count: usize,
}

impl BoxPlan {
    /// The tiles of a box, given as one range for each dimension.
    pub fn new(schema: &ArraySchema, domain: &[Range]) -> Result<Self> {
        let sides = sides(schema, domain)?;
        let too_large =
            || QueryError::TooLarge { cells: sides.iter().map(|side| u128::from(side.cells())).product() };
        let sizes = |size: fn(Side) -> u64| -> Option<Vec<usize>> {
            sides.iter().map(|side| to_usize(size(*side))).collect()
        };
        let product =
            |sizes: &[usize]| sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        let counts = sizes(Side::cells).ok_or_else(too_large)?;
        let extents = sizes(|side| side.extent).ok_or_else(too_large)?;
        let grid = sizes(Side::tiles).ok_or_else(too_large)?;
        let tile_cells = product(&extents).ok_or_else(too_large)?;
        let tile_count = product(&grid).ok_or_else(too_large)?;
        let cells = product(&counts).ok_or_else(too_large)?;
        Ok(Self { sides, counts, extents, grid, cells, tile_cells, tile_count })
    }

    /// An estimate of the maximum number of bytes that `threads` threads hold, in addition to the
    /// columns, while they filter the tiles of the box: one tile each that is being assembled, and
    /// filtered ones that wait until they are stored. `cells` are the sizes of a cell of each
    /// attribute.
    pub(super) fn working(&self, cells: &[usize], threads: usize) -> usize {
        let all = cells.iter().fold(0, |sum: usize, size| sum.saturating_add(*size));
        let widest = cells.iter().copied().max().unwrap_or(0);
        let jobs = self.tile_count.saturating_mul(cells.len());
        let waiting = widest.saturating_mul(jobs.min(parallel::HELD.saturating_mul(threads)));
        let filtered = all.saturating_mul(self.tile_count).min(waiting);
        let assembled = widest.saturating_mul(jobs.min(threads));
        self.tile_cells.saturating_mul(filtered.saturating_add(assembled))
    }

    /// Whether all tiles with one index along a dimension are stored one after another.
    pub(super) fn stores_rows_of(&self, axis: usize, tile_order: Layout) -> bool {
        let slowest = if tile_order == Layout::ColMajor { self.grid.len().saturating_sub(1) } else { 0 };
        axis == slowest || self.grid.iter().enumerate().all(|(index, tiles)| index == axis || *tiles == 1)
    }

    /// Cuts the box into rows of tiles along a dimension: returns the first and the last ordinal of
    /// each row, and the number of cells of the box with one ordinal.
    pub(super) fn slabs(&self, axis: usize) -> Result<(Vec<(u64, u64)>, u64)> {
        let side = self.sides.get(axis).or_internal("a box without a side of a dimension")?;
        let ends = (0..side.tiles()).map(|tile| side.cells_of(tile, tile.saturating_add(1))).collect();
        let others = self.counts.iter().enumerate().filter(|(index, _)| *index != axis);
        Ok((ends, others.fold(1u64, |cells, (_, count)| cells.saturating_mul(to_u64(*count)))))
    }

    /// The tiles that it touches; `None` if they have more cells than fit in a `usize`.
    pub fn tiles(self, schema: &ArraySchema) -> Option<TileGrid> {
        TileGrid::new(self.sides, self.extents, self.grid, schema)
    }

    /// Whether the box ends at tile boundaries.
    pub(super) fn is_aligned(&self) -> bool {
        self.counts.iter().zip(&self.extents).zip(&self.sides).all(|((count, extent), side)| {
            side.low.is_multiple_of(side.extent) && count.is_multiple_of(*extent)
        })
    }
}

/// Appends the tiles of a box to a fragment. In global order the box must end at tile boundaries.
pub fn append_box(
    fragment: &mut FragmentWriter<'_>,
    schema: &ArraySchema,
    plan: BoxPlan,
    order: Layout,
    columns: &[CheckedColumn<'_>],
) -> Result<()> {
    let aligned = plan.is_aligned();
    let BoxPlan { cells, tile_cells, tile_count, .. } = plan;
    check_whole(columns, cells)?;
    if order == Layout::GlobalOrder && !aligned {
        return Err(Error::internal("a box in global order that does not end at tile boundaries"));
    }
    // Cells that are already stored tile after tile, each in cell order, are not copied.
    let stands = aligned
        && (order == Layout::GlobalOrder || is_in_tile_order(schema, order, &plan.counts, &plan.extents));
    if stands {
        let runs = TiledColumns { columns, tile_cells, cells: 0..cells };
        return fragment.append_tiles(runs.tiles(), &runs);
    }
    let too_large = || QueryError::TooLarge { cells: u128::from(to_u64(cells)) };
    let source_strides = strides(&plan.counts, order).ok_or_else(too_large)?;
    let grid = plan.tiles(schema).ok_or_else(too_large)?;
    let source = BoxTiles { columns, grid, source_strides, tile_cells };
    fragment.append_tiles(tile_count, &source)
}

/// Whether a box in row- or column-major order consists of its tiles one after the other: it may
/// have many tiles along the slowest dimension, and one along each other dimension.
fn is_in_tile_order(schema: &ArraySchema, order: Layout, counts: &[usize], extents: &[usize]) -> bool {
    if counts.len() == 1 {
        return true;
    }
    if order != schema.cell_order {
        return false;
    }
    let one_tile = |(count, extent): (&usize, &usize)| count == extent;
    let mut pairs: Vec<_> = counts.iter().zip(extents).collect();
    if order == Layout::ColMajor {
        pairs.reverse();
    }
    pairs.into_iter().skip(1).all(one_tile)
}

impl TileSource for BoxTiles<'_, '_> {
    fn cells<'s>(
        &'s self,
        field: FieldKind,
        tile: usize,
        room: &'s mut TileBuffers,
    ) -> Result<TileCells<'s>> {
        let column = column_of(self.columns, field)?;
        let part = self.grid.part(tile, Some(&self.source_strides))?;
        let map =
            BoxMap::new(&part.counts, (part.source, &self.source_strides), (part.target, &self.grid.strides));
        let whole = part.counts == self.grid.extents;
        let TileBuffers { values, offsets, validity, runs } = room;
        runs.clear();
        if !whole {
            map.for_each_run(|_, target, cells| runs.push(target..target.saturating_add(cells)));
            join_runs(runs);
        }
        let cells = self.tile_cells;
        // Padding is zeros, in validity and in values; a padding cell of variable length has one
        // value.
        if !column.validity.is_empty() {
            validity.clear();
            validity.resize(cells, 0);
            map.copy(column.validity, validity, 1)?;
        } else {
            validity.clear();
        }
        offsets.clear();
        match column.cell_size {
            Some(size) => {
                // Every byte of a whole tile is written, so the contents left by the previous tile
                // need not be zeroed.
                if !whole {
                    values.clear();
                }
                values.resize(cells.saturating_mul(size), 0);
                map.copy(column.values, values, size)?;
            }
            None => {
                values.clear();
                // The source of each cell of the tile; `usize::MAX` for padding.
                let mut from = vec![usize::MAX; cells];
                let mut fits = true;
                map.for_each_run(|source, target, count| {
                    match from.get_mut(target..target.saturating_add(count)) {
                        Some(slots) => {
                            slots.iter_mut().zip(source..).for_each(|(slot, source)| *slot = source);
                        }
                        None => fits = false,
                    }
                });
                fits.then_some(()).or_internal("a run of cells that are not in their tile")?;
                let padding = [0; 8];
                let padding = padding.get(..column.value_size).or_internal("a value of more than 8 bytes")?;
                for source in from {
                    offsets.push(to_u64(values.len()));
                    values.extend_from_slice(match source {
                        usize::MAX => padding,
                        source => column.cell(source).or_internal("a column without a cell of the box")?,
                    });
                }
            }
        }
        let runs = (!whole).then_some(runs.as_slice());
        Ok(TileCells { count: cells, values, offsets, validity, runs })
    }
}
