//! Sparse reads: select cells, put them in order, collect their fields.
//!
//! 1. *Select* (`select`). The R-tree names the tiles that touch the ranges; without ranges it is not needed. A tile
//!    whose rectangle lies inside the ranges is taken whole, and its coordinates are decoded only if an order needs
//!    them. In other tiles each cell is compared with the ranges, and with its own timestamp where a fragment reaches
//!    out of the time window. A condition drops cells as early as duplicates allow (`filter`), and deletes drop them
//!    after the search for duplicates (`deletes`).
//! 2. *Order* (`tdb_cells::order`). This step is skipped where cells are in order already: one fragment without cell
//!    timestamps read in global order, or any unordered read that has no duplicates to look for. Of equal coordinates
//!    the one with the greatest (timestamp, fragment) survives, unless the array allows duplicates. An unordered read
//!    only asks which cells are replaced.
//! 3. *Stage and gather* (`tdb_cells::gather`). Each field's selected cells are decoded tile by tile into a staging
//!    column; chunks without a wanted cell are skipped. Without ranges and without a memory budget, coordinates are
//!    staged first and ordered where they are. If step 2 changed the order, the column is permuted, in parallel bands
//!    of the output and runs as blocks, into the memory of a column that is no longer needed, if there is one. Where
//!    cells only lose neighbours, they close up in place.

pub mod deletes;
pub(crate) mod filter;
mod pick;
pub(crate) mod select;
mod views;

use tdb_codec::{Buffer, CellValNum, Datatype, Layout, to_u32, to_u64};
use tdb_schema::FieldKind;

use self::deletes::surviving;
use self::filter::selected;
use self::pick::{copy_var_cells, pick};
use self::select::TileSelection;

pub(crate) use self::select::{Candidate, candidates};
pub(crate) use self::views::own as views_of;
use crate::buffers::{fill_cells, index_of, lengths_to_offsets, split_lengths, zeroed};
use crate::fragment::Fragment;
use crate::gather::{concat, gather_fixed, gather_var, keep_cells};
use crate::order::{CellOrder, permutation, replaced};
use crate::plan::{Plan, TIMESTAMPS};
use crate::ranges::RangeSet;
use crate::spec::ColumnSpec;
use crate::stats::Stage;
use crate::storage::Needs;
use crate::tiles::FieldTiles;
use crate::worker::Worker;
use crate::{Cells, Column, QueryError, Result, parallel};

/// Runs a query on a sparse array.
pub(crate) fn read(plan: &Plan) -> Result<Cells> {
    let array = &plan.array;
    let context = array.context();
    let schema = array.schema();
    let Sorting { sorts, dedup } = Sorting::of(plan);
    // Coordinates of whole tiles are decoded where their columns will be; the sorter looks at them there. Under a budget
    // all is done tile by tile, and so it is where a condition leaves few cells.
    let limited = plan.share.window.is_some() || plan.share.room.is_some() || plan.condition.is_some();
    let staged = sorts && !limited && plan.ranges.iter().all(RangeSet::is_all);
    let filter::Selected { selections, matches } = selected(plan, sorts && !staged, dedup)?;
    let cells: usize = selections.iter().map(TileSelection::len).sum();
    plan.share.admit(to_u64(cells))?;
    let coordinates = if staged { stage_coordinates(plan, &selections, cells)? } else { Vec::new() };
    let clock = context.counters.time(Stage::Order);
    let ordered = matches!(plan.order, Layout::RowMajor | Layout::ColMajor | Layout::GlobalOrder);
    let batches = || match staged {
        true => views::staged(&schema.domain.dimensions, &selections, &coordinates),
        false => views::own(&selections),
    };
    let order = match (sorts, ordered) {
        (false, _) => None,
        (true, true) => {
            Some(permutation(context.threads, schema, batches(), CellOrder::of(plan.order, schema), dedup)?)
        }
        // What stays may stand as it is stored.
        (true, false) => without(cells, &replaced(context.threads, schema, batches())?),
    };
    let order = match surviving(plan, &selections, matches)? {
        Some(keep) => {
            let count = to_u32(cells).ok_or(QueryError::TooLarge { cells: u128::from(to_u64(cells)) })?;
            let all = order.unwrap_or_else(|| (0..count).collect());
            Some(
                all.into_iter()
                    .filter(|cell| keep.get(index_of(*cell)).is_some_and(|keep| *keep != 0))
                    .collect(),
            )
        }
        None => order,
    };
    // An order that changes nothing need not be applied.
    let order = order.filter(|order: &Vec<u32>| {
        order.len() != cells || order.iter().zip(0u32..).any(|(cell, place)| *cell != place)
    });
    drop(clock);
    let _clock = context.counters.time(Stage::Decode);
    need_columns(plan, &selections)?;
    let mut columns = Vec::with_capacity(plan.fields.len());
    // Memory that is touched already: columns in stored order that are done with, and coordinates that nobody asked for.
    let mut spare = Spare::default();
    let mut coordinates: Vec<Option<Column>> = coordinates.into_iter().map(Some).collect();
    for (dimension, column) in coordinates.iter_mut().enumerate() {
        if !plan.fields.contains(&FieldKind::Dimension(dimension)) {
            spare.0.extend(column.take().map(|column| column.data));
        }
    }
    for kind in &plan.fields {
        let Some(field) = schema.field_of(*kind) else { continue };
        let spec = ColumnSpec::new(schema, &field);
        let own = match kind {
            FieldKind::Dimension(dimension) => coordinates.get_mut(*dimension).and_then(Option::take),
            FieldKind::Attribute(_) => None,
        };
        let column = match own {
            Some(column) => column,
            None => stage_into(plan, &selections, *kind, spec, cells, &mut spare)?,
        };
        columns.push(match &order {
            // Cells that stay in stored order only close up.
            Some(order) if !ordered && column.offsets().is_none() => kept(column, order),
            Some(order) => reorder(plan, column, order, &mut spare)?,
            None => column,
        });
    }
    if let Some(place) = plan.timestamps {
        let column = timestamps(&selections, cells);
        let column = match &order {
            Some(order) => reorder(plan, column, order, &mut spare)?,
            None => column,
        };
        columns.insert(place.min(columns.len()), column);
    }
    let len = order.as_ref().map_or(cells, Vec::len);
    Ok(Cells { len, shape: None, order: plan.order, columns })
}

/// Fetches what the columns are read from, if the storage wants to know it beforehand.
fn need_columns(plan: &Plan, selections: &[TileSelection]) -> Result<()> {
    let schema = plan.array.schema();
    // Coordinates that were looked at are kept, but for strings.
    let kept = |at: usize| {
        let own = |selection: &TileSelection| {
            selection.coordinates.get(at).is_some_and(|own| own.offsets.is_none())
        };
        selections.iter().all(own)
    };
    let kinds = plan.fields.iter().filter(|kind| !matches!(kind, FieldKind::Dimension(at) if kept(*at)));
    let fields: Vec<_> = kinds.filter_map(|kind| schema.field_of(*kind)).collect();
    fetch_tiles(plan, selections, |_, fragment| {
        let tiles = fields.iter().map(|field| {
            let spec = ColumnSpec::new(schema, field);
            FieldTiles::of_column(plan.array.context(), fragment, &spec, field.kind)
        });
        tiles.filter_map(Result::transpose).collect()
    })
}

/// Fetches the tiles of some selections, if the storage wants to know what is going to be read: those of the fields that `open`
/// gives for each fragment.
fn fetch_tiles(
    plan: &Plan,
    selections: &[TileSelection],
    open: impl Fn(usize, &Fragment) -> Result<Vec<FieldTiles>>,
) -> Result<()> {
    let context = plan.array.context();
    let Some(ahead) = &context.ahead else { return Ok(()) };
    let mut needs = Needs::default();
    for own in selections.chunk_by(|a, b| a.fragment == b.fragment) {
        let Some(index) = own.first().map(|selection| selection.fragment) else { continue };
        let Some(fragment) = plan.array.fragments().get(index) else { continue };
        for tiles in open(index, fragment)? {
            for selection in own {
                tiles.need(context, selection.tile, &mut needs.ranges)?;
            }
        }
    }
    // What does not fit the query's memory is read tile by tile.
    if plan.share.spare(ahead.missing(&needs)) {
        ahead.prepare(&needs);
    }
    Ok(())
}

/// The numbers of `cells` cells without some; `None` if nothing is left out.
fn without(cells: usize, dropped: &[u32]) -> Option<Vec<u32>> {
    if dropped.is_empty() {
        return None;
    }
    let mut order = Vec::with_capacity(cells.saturating_sub(dropped.len()));
    let mut next = 0u32;
    for cell in dropped {
        order.extend(next..*cell);
        next = cell.saturating_add(1);
    }
    order.extend(next..to_u32(cells).unwrap_or(u32::MAX));
    Some(order)
}

/// Buffers whose memory may be used again.
#[derive(Default)]
struct Spare(Vec<Buffer>);

impl Spare {
    /// A buffer of `len` bytes, with whatever bytes happen to be there.
    fn take(&mut self, len: usize) -> Result<Buffer> {
        // A little larger is fine; what is much larger would only hold memory back.
        let fits = |buffer: &Buffer| (len..=len.saturating_add(len / 4)).contains(&buffer.capacity());
        let Some(at) = self.0.iter().position(fits) else { return zeroed(len) };
        let mut buffer = self.0.swap_remove(at);
        buffer.reset(len);
        Ok(buffer)
    }
}

/// The coordinates of the selected cells, a column a dimension.
fn stage_coordinates(plan: &Plan, selections: &[TileSelection], cells: usize) -> Result<Vec<Column>> {
    let schema = plan.array.schema();
    let dimensions = (0..schema.domain.dimensions.len()).map(FieldKind::Dimension);
    let fields = dimensions.filter_map(|kind| schema.field_of(kind));
    fields.map(|field| stage(plan, selections, field.kind, ColumnSpec::new(schema, &field), cells)).collect()
}

/// When each of the selected cells was written.
fn timestamps(selections: &[TileSelection], cells: usize) -> Column {
    let mut data = Buffer::with_capacity(cells.saturating_mul(8));
    for selection in selections {
        match &selection.timestamps {
            Some(times) => times.iter().for_each(|time| data.extend_from_slice(&time.to_le_bytes())),
            None => {
                (0..selection.len()).for_each(|_| data.extend_from_slice(&selection.written.to_le_bytes()));
            }
        }
    }
    let (datatype, cell_val_num) = (Datatype::Uint64, CellValNum::ONE);
    Column { name: TIMESTAMPS.to_owned(), datatype, cell_val_num, data, offsets: None, validity: None }
}

/// What must be done about order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sorting {
    /// Whether cells must be looked at in another order than they are stored in.
    pub(crate) sorts: bool,
    /// Whether cells may be replaced by newer ones.
    pub(crate) dedup: bool,
}

impl Sorting {
    pub(crate) fn of(plan: &Plan) -> Self {
        let fragments = plan.array.fragments();
        let timed = fragments.iter().any(|fragment| fragment.footer().has_timestamps);
        // Within one fragment without timestamps cells are in global order and, where duplicates are not allowed,
        // unique.
        let one = fragments.len() <= 1 && !timed;
        let dedup = !plan.array.schema().allows_duplicates && !one;
        let sorts = match plan.order {
            Layout::RowMajor | Layout::ColMajor => true,
            Layout::GlobalOrder => !one,
            // Unordered cells come in storage order, unless duplicates must be found.
            _ => dedup,
        };
        Self { sorts, dedup }
    }
}

/// A column of the selected cells, in the order of the selections.
fn stage(
    plan: &Plan,
    selections: &[TileSelection],
    kind: FieldKind,
    spec: ColumnSpec,
    cells: usize,
) -> Result<Column> {
    stage_into(plan, selections, kind, spec, cells, &mut Spare::default())
}

/// The same, in spare memory where there is some.
fn stage_into(
    plan: &Plan,
    selections: &[TileSelection],
    kind: FieldKind,
    spec: ColumnSpec,
    cells: usize,
    spare: &mut Spare,
) -> Result<Column> {
    let context = plan.array.context();
    let mut used: Vec<usize> = selections.iter().map(|selection| selection.fragment).collect();
    used.sort_unstable();
    used.dedup();
    // Only of those that have a part in it: there may be thousands that have none.
    let tiles = parallel::filter_map(context.threads, &used, |index| {
        let Some(fragment) = plan.array.fragments().get(*index) else { return Ok(None) };
        Ok(FieldTiles::of_column(context, fragment, &spec, kind)?.map(|tiles| (*index, tiles)))
    })?;
    let tiles_of = |selection: &TileSelection| {
        let at = tiles.binary_search_by_key(&selection.fragment, |(index, _)| *index).ok()?;
        tiles.get(at).map(|(_, tiles)| tiles)
    };
    // What the selections promise is only what the fragments claim: ask for the memory before taking it.
    zeroed(cells.saturating_mul(8))?;
    let mut validity = spec.nullable.then(|| vec![0u8; cells]);
    let lengths = || selections.iter().map(TileSelection::len);
    let validities: Vec<Option<&mut [u8]>> = match &mut validity {
        Some(validity) => split_lengths(validity, lengths()).into_iter().map(Some).collect(),
        None => selections.iter().map(|_| None).collect(),
    };
    let stage_validity =
        |selection: &TileSelection, slot: Option<&mut [u8]>, worker: &mut Worker| -> Result<()> {
            let Some(slot) = slot else { return Ok(()) };
            match tiles_of(selection) {
                Some(tiles) if tiles.is_nullable() => {
                    let mut all = vec![0; selection.tile_cells];
                    tiles.decode_validity(context, selection.tile, &mut all, |_| true, worker)?;
                    match &selection.cells {
                        Some(cells) => pick(&all, 0, 1, cells, slot),
                        None => slot.copy_from_slice(&all),
                    }
                }
                Some(_) => slot.fill(1),
                None => slot.fill(spec.fill_validity),
            }
            Ok(())
        };
    let Some(size) = spec.cell_size else {
        let mut offsets = vec![0u64; cells.saturating_add(1)];
        let slots = split_lengths(&mut offsets, lengths());
        let jobs: Vec<_> = selections.iter().zip(slots.into_iter().zip(validities)).collect();
        let values =
            parallel::run(context.threads, jobs, Worker::default, |(selection, (slot, valid)), worker| {
                stage_validity(selection, valid, worker)?;
                let Some(tiles) = tiles_of(selection) else {
                    slot.fill(to_u64(spec.fill.len()));
                    let mut values = zeroed(spec.fill.len().saturating_mul(slot.len()))?;
                    fill_cells(values.as_mut_slice(), &spec.fill);
                    return Ok(values);
                };
                let mut decoded = core::mem::take(&mut worker.strings);
                tiles.decode_var(context, selection.tile, selection.tile_cells, &mut decoded, worker)?;
                let mut slots = slot.iter_mut();
                let push = |len| {
                    if let Some(slot) = slots.next() {
                        *slot = len;
                    }
                };
                // Held as pieces, and once more joined or in order.
                let charge = |values: &Buffer| plan.share.charge(to_u64(values.len()).saturating_mul(2));
                let Some(cells) = &selection.cells else {
                    // All cells of a tile keep the tile's own buffer.
                    decoded.lengths().for_each(push);
                    charge(&decoded.values)?;
                    return Ok(decoded.values);
                };
                let mut values = Buffer::new();
                copy_var_cells(&decoded, cells, push, |value| values.extend_from_slice(value));
                worker.strings = decoded;
                charge(&values)?;
                Ok(values)
            })?;
        lengths_to_offsets(&mut offsets)?;
        let data = concat(context.threads, values)?;
        return Ok(spec.column(data, Some(offsets), validity));
    };
    let bytes = cells.checked_mul(size).filter(|bytes| *bytes < isize::MAX.unsigned_abs());
    let bytes = bytes.ok_or(QueryError::TooLarge { cells: u128::from(to_u64(cells)) })?;
    let mut data = spare.take(bytes)?;
    let slots = split_lengths(data.as_mut_slice(), lengths().map(|len| len.saturating_mul(size)));
    let jobs: Vec<_> = selections.iter().zip(slots.into_iter().zip(validities)).collect();
    parallel::run(context.threads, jobs, Worker::default, |(selection, (slot, valid)), worker| {
        stage_validity(selection, valid, worker)?;
        // Coordinates that ordering needed are at hand.
        if let FieldKind::Dimension(dimension) = kind
            && let Some(own) = selection.coordinates.get(dimension)
            && own.values.len() == slot.len()
        {
            slot.copy_from_slice(own.values.as_slice());
            return Ok(());
        }
        match (tiles_of(selection), &selection.cells) {
            (None, _) => {
                fill_cells(slot, &spec.fill);
                Ok(())
            }
            (Some(tiles), None) => tiles.decode_fixed(context, selection.tile, slot, |_| true, worker),
            (Some(tiles), Some(cells)) => {
                let mut part = core::mem::take(&mut worker.cells);
                let len = context.tile_len(selection.tile_cells, size)?;
                // Cells are ascending: a chunk is wanted if the next cell at or after its start is in it.
                let wanted = |bytes: core::ops::Range<usize>| {
                    let first = bytes.start.checked_div(size).unwrap_or(0);
                    let at = cells.partition_point(|cell| index_of(*cell) < first);
                    cells.get(at).is_some_and(|cell| index_of(*cell).saturating_mul(size) < bytes.end)
                };
                let base =
                    tiles.decode_fixed_part(context, selection.tile, (len, size), &mut part, wanted, worker);
                let result = base.map(|base| pick(part.as_slice(), base, size, cells, slot));
                worker.cells = part;
                result
            }
        }
    })?;
    Ok(spec.column(data, None, validity))
}

/// The column without the cells that `order`, which is ascending, leaves out.
fn kept(mut column: Column, order: &[u32]) -> Column {
    if let Some(size) = column.cell_size() {
        keep_cells(&mut column.data, size, order);
    }
    if let Some(validity) = &mut column.validity {
        let mut data = Buffer::with_capacity(validity.len());
        data.extend_from_slice(validity);
        keep_cells(&mut data, 1, order);
        *validity = data.to_vec();
    }
    column
}

/// The column in another order; the memory it had becomes spare.
fn reorder(plan: &Plan, column: Column, order: &[u32], spare: &mut Spare) -> Result<Column> {
    let context = plan.array.context();
    let validity = match column.validity() {
        Some(validity) => {
            Some(gather_fixed(context.threads, validity, 1, order, zeroed(order.len())?)?.to_vec())
        }
        None => None,
    };
    let (data, offsets) = match column.offsets() {
        Some(offsets) => {
            let (offsets, data) = gather_var(context.threads, offsets, column.bytes(), order)?;
            (data, Some(offsets))
        }
        None => {
            let cells = column.bytes().len();
            let size = column.cell_size().filter(|size| cells.is_multiple_of(*size)).unwrap_or(1);
            let data = spare.take(order.len().saturating_mul(size))?;
            (gather_fixed(context.threads, column.bytes(), size, order, data)?, None)
        }
    };
    spare.0.push(column.data);
    let Column { name, datatype, cell_val_num, .. } = column;
    Ok(Column { name, datatype, cell_val_num, data, offsets, validity })
}
