//! Sparse cells given in any order: checked, sorted, and cut into tiles where they lie.

use core::ops::Range;

use tdb_codec::{Layout, Physical, to_u64};
use tdb_schema::{ArraySchema, Dimension, FieldKind};

use super::column::{self, CheckedColumn, Runs};
use super::coordinates::{Bounds, bands, of_dimensions};
use super::fragment::field_kinds;
use super::tile::{Room, TileCells, TileSource};
use super::{ArrayWriter, Duplicates, FragmentWriter, WriteColumn};
use crate::context::Context;
use crate::gather::index_of;
use crate::sparse::order::{self, CellOrder};
use crate::sparse::select::{Coordinates, TileSelection};
use crate::{Result, WriteError, parallel};

/// Writes cells as a fragment; returns the fragment's name.
pub(super) fn write(
    array: &ArrayWriter,
    duplicates: Duplicates,
    columns: &[WriteColumn<'_>],
) -> Result<String> {
    let mut fragment = FragmentWriter::sparse(array)?;
    let (columns, cells) = column::check(array.schema(), &field_kinds(array.schema()), columns)?;
    append(&mut fragment, duplicates, &columns, cells, 0)?;
    fragment.commit()
}

/// Sorts cells and appends them to a fragment that has none yet. `first` is the number of the first cell, for messages.
pub(super) fn append(
    fragment: &mut FragmentWriter<'_>,
    duplicates: Duplicates,
    columns: &[CheckedColumn<'_>],
    cells: usize,
    first: u64,
) -> Result<()> {
    let array = fragment.array();
    let (context, schema) = (&array.context, array.schema());
    let coordinates = of_dimensions(columns, schema.domain.dimensions.len());
    Bounds::new(schema).check(context.threads, &coordinates, cells, first)?;
    let mut order = sorted(context, schema, &coordinates, cells)?;
    if !schema.allows_duplicates {
        settle(&mut order, &coordinates, duplicates, first)?;
    }
    let tile_cells = tdb_codec::to_usize(schema.capacity).unwrap_or(usize::MAX);
    if order.len() == cells && order.is_sorted() {
        let runs = Runs { columns, tile_cells, cells: 0..cells };
        return fragment.append_tiles(runs.tiles(), &runs);
    }
    let source = Picked { columns, order: &order, tile_cells };
    fragment.append_tiles(order.len().div_ceil(tile_cells.max(1)), &source)
}

/// The numbers of the cells in the array's global order; equal ones as they were given.
fn sorted(
    context: &Context,
    schema: &ArraySchema,
    coordinates: &[CheckedColumn<'_>],
    cells: usize,
) -> Result<Vec<u32>> {
    let selections = parallel::run(
        context.threads,
        bands(cells),
        || (),
        |band, ()| Ok(selection(&schema.domain.dimensions, coordinates, &band)),
    )?;
    order::permutation(context, schema, &selections, CellOrder::of(Layout::GlobalOrder, schema), false)
}

/// A band of cells as the sorter of the reader takes them.
fn selection(
    dimensions: &[Dimension],
    coordinates: &[CheckedColumn<'_>],
    band: &Range<usize>,
) -> TileSelection {
    let mut room = Room::default();
    let columns = dimensions.iter().zip(coordinates);
    let coordinates = columns.map(|(dimension, column)| {
        let cells = column.tile(band.clone(), &mut room);
        let mut values = cells.values.to_vec();
        let offsets = column.cell_size.is_none().then(|| {
            let mut offsets = cells.offsets.to_vec();
            offsets.push(to_u64(values.len()));
            offsets
        });
        unsign_zeros(dimension.datatype.physical(), &mut values);
        Coordinates { values, offsets }
    });
    TileSelection {
        fragment: 0,
        tile: 0,
        tile_cells: band.len(),
        cells: None,
        coordinates: coordinates.collect(),
        timestamps: None,
        written: 0,
    }
}

/// Makes every −0.0 a 0.0: they stand equal in libtiledb's order, and the next dimension decides.
fn unsign_zeros(physical: Physical, values: &mut [u8]) {
    fn unsign<const N: usize>(values: &mut [u8], negative: [u8; N]) {
        let (cells, _) = values.as_chunks_mut::<N>();
        cells.iter_mut().filter(|cell| **cell == negative).for_each(|cell| *cell = [0; N]);
    }
    match physical {
        Physical::F32 => unsign(values, (-0.0f32).to_le_bytes()),
        Physical::F64 => unsign(values, (-0.0f64).to_le_bytes()),
        _ => {}
    }
}

/// Refuses cells with equal coordinates, or leaves one of them, as `duplicates` says. Coordinates are equal if all their
/// bytes are.
fn settle(
    order: &mut Vec<u32>,
    coordinates: &[CheckedColumn<'_>],
    duplicates: Duplicates,
    first: u64,
) -> Result<()> {
    let mut dropped: Vec<usize> = Vec::new();
    for group in stand_equal(order, coordinates) {
        let Some(cells) = order.get_mut(group.clone()) else { continue };
        // Zeros of both signs stand equal and are not: those that are the same come together.
        let key = |cell: &u32| -> Vec<&[u8]> {
            coordinates.iter().map(|column| column.cell(index_of(*cell)).unwrap_or_default()).collect()
        };
        cells.sort_by(|a, b| key(a).cmp(&key(b)));
        for (at, pair) in (group.start..).zip(cells.windows(2)) {
            let [a, b] = pair else { continue };
            if key(a) != key(b) {
                continue;
            }
            let number = |cell: u32| first.saturating_add(u64::from(cell));
            match duplicates {
                Duplicates::Refuse => {
                    return Err(WriteError::DuplicateCells { first: number(*a), second: number(*b) }.into());
                }
                Duplicates::KeepFirst => dropped.push(at.saturating_add(1)),
                Duplicates::KeepLast => dropped.push(at),
            }
        }
    }
    if !dropped.is_empty() {
        let mut dropped = dropped.into_iter().peekable();
        let mut at = 0usize;
        order.retain(|_| {
            let keep = dropped.next_if_eq(&at).is_none();
            at = at.saturating_add(1);
            keep
        });
    }
    Ok(())
}

/// The runs of more than one cell that stand equal in the order.
fn stand_equal(order: &[u32], coordinates: &[CheckedColumn<'_>]) -> Vec<Range<usize>> {
    // The places whose cells are equal to the one before, dimension by dimension.
    let mut equal: Option<Vec<usize>> = None;
    for column in coordinates {
        let same = |at: &usize| {
            let cell = |at: usize| order.get(at).and_then(|cell| column.cell(index_of(*cell)));
            let (a, b) = (cell(at.wrapping_sub(1)), cell(*at));
            a == b || a.zip(b).is_some_and(|(a, b)| are_zeros(column, a, b))
        };
        equal = Some(match equal {
            None => (1..order.len()).filter(same).collect(),
            Some(equal) => equal.into_iter().filter(same).collect(),
        });
    }
    let equal = equal.unwrap_or_default();
    let groups = equal.chunk_by(|a, b| a.saturating_add(1) == *b);
    let ends = |group: &[usize]| Some(group.first()?.saturating_sub(1)..group.last()?.saturating_add(1));
    groups.filter_map(ends).collect()
}

/// Whether two reals are zeros of any sign.
fn are_zeros(column: &CheckedColumn<'_>, a: &[u8], b: &[u8]) -> bool {
    let is_zero = |value: &[u8]| match value.split_last() {
        Some((top, rest)) => (*top == 0 || *top == 0x80) && rest.iter().all(|byte| *byte == 0),
        None => false,
    };
    column.is_real && is_zero(a) && is_zero(b)
}

/// Cells picked out of columns, cut into tiles.
struct Picked<'c, 'a> {
    columns: &'c [CheckedColumn<'a>],
    order: &'c [u32],
    tile_cells: usize,
}

impl TileSource for Picked<'_, '_> {
    fn cells<'s>(&'s self, field: FieldKind, tile: usize, room: &'s mut Room) -> Result<TileCells<'s>> {
        let start = tile.saturating_mul(self.tile_cells);
        let end = start.saturating_add(self.tile_cells).min(self.order.len());
        let order = self.order.get(start..end).unwrap_or_default();
        let Room { values, offsets, validity, .. } = room;
        values.clear();
        offsets.clear();
        validity.clear();
        if let Some(column) = self.columns.iter().find(|column| column.kind == field) {
            match column.cell_size {
                Some(1) => pick::<1>(column.values, order, values),
                Some(2) => pick::<2>(column.values, order, values),
                Some(4) => pick::<4>(column.values, order, values),
                Some(8) => pick::<8>(column.values, order, values),
                Some(_) => {
                    order.iter().filter_map(|cell| column.cell(index_of(*cell))).for_each(|cell| {
                        values.extend_from_slice(cell);
                    });
                }
                None => {
                    for cell in order {
                        offsets.push(to_u64(values.len()));
                        values.extend_from_slice(column.cell(index_of(*cell)).unwrap_or_default());
                    }
                }
            }
            if !column.validity.is_empty() {
                pick::<1>(column.validity, order, validity);
            }
        }
        Ok(TileCells { count: order.len(), values, offsets, validity, runs: None })
    }
}

/// Picks cells of `N` bytes.
fn pick<const N: usize>(from: &[u8], order: &[u32], into: &mut Vec<u8>) {
    let (cells, _) = from.as_chunks::<N>();
    into.reserve(order.len().saturating_mul(N));
    for cell in order {
        into.extend_from_slice(cells.get(index_of(*cell)).unwrap_or(&[0; N]));
    }
}
