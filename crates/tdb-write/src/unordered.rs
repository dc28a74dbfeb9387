//! Sparse cells given in any order: checked, sorted, and cut into tiles without being moved.

use core::ops::Range;

use tdb_codec::{Layout, to_u64, to_usize};
use tdb_order::{CellBatch, CellOrder, CoordinatesRef, permutation};
use tdb_schema::{ArraySchema, FieldKind};

use crate::buffers::index_of;
use crate::column::{CheckedColumn, TiledColumns, check_whole, column_of};
use crate::context::Context;
use crate::coordinates::{CoordinateBounds, of_dimensions, overlapping_bands};
use crate::fragment::{Pending, field_kinds};
use crate::thresholds::MAX_SHORT;
use crate::tile_cells::{TileBuffers, TileCells, TileSource};
use crate::{ArrayWriter, Duplicates, FragmentWriter, WriteColumn};
use crate::{Error, OrInternal, Result, WriteError, parallel};

/// Writes cells as a fragment; returns the fragment's name.
pub(super) fn write(
    array: &ArrayWriter,
    duplicates: Duplicates,
    columns: &[WriteColumn<'_>],
) -> Result<String> {
    let mut fragment = FragmentWriter::sparse(array)?;
    let schema = array.schema();
    let (columns, cells) = array.check(&field_kinds(schema), columns, 0)?;
    let coordinates = of_dimensions(&columns, schema.domain.dimensions.len())?;
    CoordinateBounds::new(schema).check(array.context.threads, &coordinates, cells, 0)?;
    let order = global_order(array, duplicates, &columns, cells, &to_u64)?;
    append(&mut fragment, &columns, &order)?;
    fragment.commit()
}

/// The cells that are written, in the array's global order. `number` is the number of a cell in
/// messages.
pub(super) fn global_order(
    array: &ArrayWriter,
    duplicates: Duplicates,
    columns: &[CheckedColumn<'_>],
    cells: usize,
    number: &dyn Fn(usize) -> u64,
) -> Result<Vec<u32>> {
    let (context, schema) = (&array.context, array.schema());
    check_whole(columns, cells)?;
    let coordinates = of_dimensions(columns, schema.domain.dimensions.len())?;
    let mut order = sorted(context, schema, &coordinates, cells)?;
    // Checked once: below, cells are picked by these numbers one by one.
    let greatest = order.iter().fold(0, |greatest: u32, cell| greatest.max(*cell));
    if order.len() != cells || (cells > 0 && index_of(greatest) >= cells) {
        return Err(Error::internal("an order of cells without each of them"));
    }
    if !schema.allows_duplicates && duplicates != Duplicates::Unchecked {
        resolve_duplicates(context.threads, &mut order, &coordinates, duplicates, number)?;
    }
    Ok(order)
}

/// Appends cells of whole columns in an order that [`global_order`] made, or the beginning of one:
/// tiles that are full, but for the last one.
pub(super) fn append(
    fragment: &mut FragmentWriter<'_>,
    columns: &[CheckedColumn<'_>],
    order: &[u32],
) -> Result<()> {
    // A tile of more cells than that has all.
    let tile_cells = to_usize(fragment.array().schema().capacity).unwrap_or(usize::MAX);
    let last = order.len().checked_sub(1);
    let ends = order.first().zip(order.last()).map(|(first, last)| [*first, *last].map(index_of));
    // Cells that differ, and ascend from the first one to that of the last place, are where they
    // were given.
    if ends.is_some_and(|[first, end]| first == 0 && Some(end) == last) && order.is_sorted() {
        let runs = TiledColumns { columns, tile_cells, cells: 0..order.len() };
        return fragment.append_tiles(runs.tiles(), &runs);
    }
    let source = ReorderedColumns { columns, order, tile_cells };
    fragment.append_tiles(order.len().div_ceil(tile_cells.max(1)), &source)
}

/// Cells of whole columns, picked out in an order that [`global_order`] made, or a part of one.
pub(super) fn picked(columns: &[CheckedColumn<'_>], order: &[u32]) -> Result<Pending> {
    let source = ReorderedColumns { columns, order, tile_cells: order.len() };
    Pending::of_tile(columns, &source, order.len())
}

/// The numbers of the cells in the array's global order; equal ones in the order in which they were
/// given.
fn sorted(
    context: &Context,
    schema: &ArraySchema,
    coordinates: &[CheckedColumn<'_>],
    cells: usize,
) -> Result<Vec<u32>> {
    let coordinates = coordinates
        .iter()
        .map(|column| CoordinatesRef {
            values: column.values,
            offsets: column.cell_size.is_none().then_some(column.offsets),
        })
        .collect();
    let order = CellOrder::of(Layout::GlobalOrder, schema);
    permutation(
        context.threads,
        schema,
        vec![CellBatch { coordinates, cells, ..CellBatch::default() }],
        order,
        false,
    )
}

/// Returns an error if cells have equal coordinates, or keeps one of them, depending on
/// `duplicates`. Coordinates are equal if all their bytes are.
fn resolve_duplicates(
    threads: usize,
    order: &mut Vec<u32>,
    coordinates: &[CheckedColumn<'_>],
    duplicates: Duplicates,
    number: &dyn Fn(usize) -> u64,
) -> Result<()> {
    let mut dropped: Vec<usize> = Vec::new();
    for group in equal_runs(threads, order, coordinates)? {
        let cells = order.get_mut(group.clone()).or_internal("equal cells that are not in the order")?;
        // Zeros of both signs compare equal but are different: this groups the cells with identical
        // coordinates.
        let key = |cell: &u32| -> Vec<&[u8]> {
            coordinates.iter().map(|column| column.cell(index_of(*cell)).unwrap_or_default()).collect()
        };
        cells.sort_by(|a, b| key(a).cmp(&key(b)));
        for (at, pair) in group.zip(cells.windows(2)) {
            let [a, b] = pair else { continue };
            if key(a) != key(b) {
                continue;
            }
            let number = |cell: u32| number(index_of(cell));
            match duplicates {
                Duplicates::Refuse => {
                    return Err(WriteError::DuplicateCells { first: number(*a), second: number(*b) }.into());
                }
                Duplicates::KeepFirst => dropped.push(at.saturating_add(1)),
                Duplicates::KeepLast => dropped.push(at),
                Duplicates::Unchecked => {}
            }
        }
    }
    if !dropped.is_empty() {
        let mut dropped = dropped.into_iter().peekable();
        let mut positions = 0usize..order.len();
        order.retain(|_| positions.next().is_none_or(|at| dropped.next_if_eq(&at).is_none()));
    }
    Ok(())
}

/// The runs of more than one cell that compare equal in the order.
fn equal_runs(threads: usize, order: &[u32], coordinates: &[CheckedColumn<'_>]) -> Result<Vec<Range<usize>>> {
    let bands = overlapping_bands(order.len());
    let equal = parallel::run(threads, bands, Vec::new, |band: Range<usize>, values| {
        // The positions of cells that are equal to the previous one, dimension by dimension.
        let mut equal: Option<Vec<usize>> = None;
        for column in coordinates {
            equal = Some(match equal {
                None => equal_in(column, order, band.clone(), values)?,
                Some(mut equal) => {
                    let cell = |at: usize| order.get(at).and_then(|cell| column.cell(index_of(*cell)));
                    equal.retain(|at| same(column, cell(at.wrapping_sub(1)), cell(*at)));
                    equal
                }
            });
        }
        equal.or_internal("an array without dimensions")
    })?;
    let equal: Vec<usize> = equal.into_iter().flatten().collect();
    let groups = equal.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let ends = |group: &[usize]| Some(group.first()?.checked_sub(1)?..group.last()?.checked_add(1)?);
    let runs: Option<Vec<Range<usize>>> = groups.map(ends).collect();
    runs.or_internal("a first cell that is equal to the one before it")
}

/// The positions in a band whose cells have the same coordinate as the previous one.
fn equal_in(
    column: &CheckedColumn<'_>,
    order: &[u32],
    band: Range<usize>,
    values: &mut Vec<u8>,
) -> Result<Vec<usize>> {
    let cells = order.get(band.clone()).or_internal("an order of cells without one of its bands")?;
    let second = band.start.saturating_add(1);
    // Picked first, so that random memory accesses do not wait for each other.
    fn of_size<const N: usize>(
        column: &CheckedColumn<'_>,
        cells: &[u32],
        second: usize,
        values: &mut Vec<u8>,
    ) -> Vec<usize> {
        values.clear();
        pick::<N>(column.values, cells, values);
        let pairs = values.as_chunks::<N>().0.windows(2).zip(second..);
        let equal = |pair: &[[u8; N]]| matches!(pair, [a, b] if a == b || are_zeros(column, a, b));
        pairs.filter(|(pair, _)| equal(pair)).map(|(_, at)| at).collect()
    }
    Ok(match column.cell_size {
        Some(1) => of_size::<1>(column, cells, second, values),
        Some(2) => of_size::<2>(column, cells, second, values),
        Some(4) => of_size::<4>(column, cells, second, values),
        Some(8) => of_size::<8>(column, cells, second, values),
        _ => {
            let cell = |cell: u32| column.cell(index_of(cell));
            let equal = |pair: &[u32]| matches!(pair, [a, b] if same(column, cell(*a), cell(*b)));
            cells.windows(2).zip(second..).filter(|(pair, _)| equal(pair)).map(|(_, at)| at).collect()
        }
    })
}

/// Whether two coordinates compare equal (+0.0 == -0.0).
fn same(column: &CheckedColumn<'_>, a: Option<&[u8]>, b: Option<&[u8]>) -> bool {
    a == b || a.zip(b).is_some_and(|(a, b)| are_zeros(column, a, b))
}

/// Whether two floating-point numbers are zeros of any sign.
fn are_zeros(column: &CheckedColumn<'_>, a: &[u8], b: &[u8]) -> bool {
    let is_zero = |value: &[u8]| match value.split_last() {
        Some((top, rest)) => (*top == 0 || *top == 0x80) && rest.iter().all(|byte| *byte == 0),
        None => false,
    };
    column.is_real && is_zero(a) && is_zero(b)
}

/// Cells picked out of columns, cut into tiles.
struct ReorderedColumns<'c, 'a> {
    columns: &'c [CheckedColumn<'a>],
    order: &'c [u32],
    tile_cells: usize,
}

impl TileSource for ReorderedColumns<'_, '_> {
    fn cells<'s>(
        &'s self,
        field: FieldKind,
        tile: usize,
        room: &'s mut TileBuffers,
    ) -> Result<TileCells<'s>> {
        let start = tile.saturating_mul(self.tile_cells);
        let end = start.saturating_add(self.tile_cells).min(self.order.len());
        let order = self.order.get(start..end).or_internal("an order of cells without one of its tiles")?;
        let column = column_of(self.columns, field)?;
        let TileBuffers { values, offsets, validity, .. } = room;
        values.clear();
        offsets.clear();
        validity.clear();
        match column.cell_size {
            Some(1) => pick::<1>(column.values, order, values),
            Some(2) => pick::<2>(column.values, order, values),
            Some(4) => pick::<4>(column.values, order, values),
            Some(8) => pick::<8>(column.values, order, values),
            Some(_) => {
                for cell in order {
                    values.extend_from_slice(
                        column.cell(index_of(*cell)).or_internal("a column without a cell of the order")?,
                    );
                }
            }
            None => {
                for cell in order {
                    offsets.push(to_u64(values.len()));
                    push_cell(column, index_of(*cell), values)
                        .or_internal("a column without a string of the order")?;
                }
            }
        }
        if !column.validity.is_empty() {
            pick::<1>(column.validity, order, validity);
        }
        Ok(TileCells { count: order.len(), values, offsets, validity, runs: None })
    }
}

/// Picks cells of `N` bytes. The column is whole, and the order has no other cells.
fn pick<const N: usize>(from: &[u8], order: &[u32], into: &mut Vec<u8>) {
    let (cells, _) = from.as_chunks::<N>();
    let start = into.len();
    into.resize(start.saturating_add(order.len().saturating_mul(N)), 0);
    let slots = into.get_mut(start..).unwrap_or_default().as_chunks_mut::<N>().0;
    for (slot, cell) in slots.iter_mut().zip(order) {
        *slot = cells.get(index_of(*cell)).copied().unwrap_or([0; N]);
    }
}

/// Appends a cell of variable length; `None` if the column does not have it.
fn push_cell(column: &CheckedColumn<'_>, index: usize, into: &mut Vec<u8>) -> Option<()> {
    let start = to_usize(*column.offsets.get(index)?)?;
    let end = to_usize(*column.offsets.get(index.checked_add(1)?)?)?;
    let len = end.checked_sub(start)?;
    let before = into.len();
    let near = column.values.get(start..).and_then(<[u8]>::first_chunk::<MAX_SHORT>);
    match near.filter(|_| len <= MAX_SHORT) {
        Some(bytes) => {
            into.extend_from_slice(bytes);
            into.truncate(before.saturating_add(len));
        }
        None => into.extend_from_slice(column.values.get(start..end)?),
    }
    Some(())
}
