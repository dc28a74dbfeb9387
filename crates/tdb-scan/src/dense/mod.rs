//! Dense reads: every cell of some ranges, from the newest fragment that covers it.
//!
//! 1. *Cells that are asked for.* The intervals of each dimension become an `Axis`: ascending runs
//!    of ordinals, packed one after another (`axis`). An ordinal is the distance from the low end
//!    of the dimension's domain. Each cell is read once. Where ranges were asked for out of order
//!    or more than once, an `Arrangement` moves the finished column to its places at the end
//!    (`arrange`), which takes the memory of the column a second time.
//! 2. *Regions.* The query is cut into regions whose cells are contiguous in the result
//!    (`regions`). In row- and column-major order a region is a row of tiles along the result's
//!    slowest dimension of more than one cell; it is cut finer where tiles are stored in the
//!    result's order and there are fewer rows than threads. In global order a region is a tile.
//!    Each job owns one region's slice of the result (`split_at_mut`), so threads never share a
//!    byte that they write. Where there are regions for at most half of the threads, tiles are
//!    decoded one by one, those of all columns side by side, and copied once more (`by_tile`).
//! 3. *Layers.* For each space tile, the fragments that reach into it are its layers, oldest first
//!    (`sources`). A layer whose schema lacks the field paints fill values over older ones. A layer
//!    that a newer one hides completely is not read. If no dense layer covers the whole box, the
//!    box is filled with the fill value first.
//! 4. *Painting* (`paint`). Layers are painted over each other, clipped to their non-empty domains.
//!    A tile that is one run of the region is decoded straight into it. Others go through a buffer
//!    of one tile, or where the query's memory has no room for tiles, of one chunk (`by_chunk`),
//!    and `BoxMap` copies runs, and transposes in blocks where the orders differ. When several
//!    ranges reach into one tile, the tile is decoded once, without the chunks that no range
//!    touches, and a `CellMap` copies the product of the runs. Values of variable length are
//!    painted as (start, length) pairs into an arena of the region and gathered once at the end.
//! 5. *Sparse fragments* of dense arrays (libtiledb up to 2.2) become an `Overlay`: their cells in
//!    the box are found once and painted one by one.
//! 6. *A condition* makes a mask of the whole result first, one space tile after another
//!    (`condition`). What it decodes of a returned field goes to the column at once if it has a
//!    fixed size, and is kept otherwise (`partial_column`). Painting passes over tiles that are
//!    there already and over those without a one, and puts fill values where there is a zero.
//! 7. *A selection* (`Read::selection`) is that mask without the cells that no fragment covers.

mod arrange;
mod axis;
pub mod boxes;
mod by_chunk;
mod by_tile;
mod cell_map;
mod chunk_rows;
pub mod condition;
mod decode_work;
mod overlay;
mod paint;
mod partial_column;
mod places;
mod prefetch;
pub mod region;
mod regions;
pub mod sources;
pub(crate) mod space;
mod tile_part;
mod tiling;

use tdb_codec::{Layout, to_u64};
use tdb_schema::FieldKind;

use self::chunk_rows::ChunkRows;
use self::condition::Masked;
use self::paint::{Target, VarTarget};
use self::partial_column::{PartialCells, PartialColumn};
use self::region::{Region, split_validity, split_wanted};
use self::sources::Written;
use crate::buffers::{check_room, lengths_to_offsets, room_for, split_exactly, unfilled};
use crate::decode_buffers::PooledBuffers;
use crate::gather::concat;
use crate::plan::{NO_FIELD, Plan};
use crate::spec::ColumnSpec;
use crate::stats::Stage;
use crate::{Cells, Column, OrInternal, Result, parallel};

pub use self::boxes::{fragment_box, intersect};
pub(crate) use self::overlay::Overlay;
pub use self::overlay::overlays;
pub(crate) use self::sources::FieldSources;
pub use self::space::{Space, dense_order};

/// Runs a query on a dense array.
pub(crate) fn read(plan: &Plan) -> Result<Cells> {
    let array = &plan.array;
    let context = array.context();
    let _clock = context.counters.time(Stage::Decode);
    let space = Space::new(plan)?;
    // The result must fit before anything is allocated for it: if tiles are small, the regions
    // alone are many.
    for field in plan.fields.iter().filter_map(|kind| array.schema().field_of(*kind)) {
        check_room(space.bytes(field.cell_size().unwrap_or(8))?)?;
    }
    let schema = array.schema();
    let attributes = plan.fields.iter().filter(|kind| matches!(kind, FieldKind::Attribute(_)));
    let stored = attributes.filter_map(|kind| schema.field_of(*kind)).flat_map(|field| {
        let validity = field.nullable.then_some((1, &schema.validity_filters));
        field.cell_size().map(|size| (size, field.filters)).into_iter().chain(validity)
    });
    // Tiles of var-length fields are decoded whole, so cutting them would only repeat the work.
    let rows = space.rows()?;
    let regions = space.regions(context.threads, ChunkRows::of(&space, stored))?;
    let overlays = overlays(plan, &space)?;
    let mask = |program| plan.stage(|| condition::mask(plan, program, &space, &rows, &overlays));
    let masked = plan.condition.as_ref().map(mask).transpose()?;
    let columns = || columns(plan, &space, (&regions, &rows), &overlays, masked.as_deref());
    plan.last_stage(|| 0, columns)
}

/// Reads the columns of the result: `regions` are the parts in which it is made, `rows` those in
/// which the condition was applied.
fn columns(
    plan: &Plan,
    space: &Space,
    (regions, rows): (&[Region], &[Region]),
    overlays: &[Option<Overlay>],
    masked: Option<&Masked>,
) -> Result<Cells> {
    let array = &plan.array;
    let context = array.context();
    let wanted = masked.map(|masked| masked.wanted.as_slice());
    let fetch = |known: &[PartialColumn]| prefetch::columns(plan, (space, rows), overlays, wanted, known);
    let mut partial = match masked.map(Masked::columns) {
        Some(mut known) => fetch(&known).map(|()| core::mem::take(&mut *known))?,
        None => fetch(&[]).map(|()| Vec::new())?,
    };
    partial.extend(by_tile::decode(plan, space, (regions, rows), overlays, wanted, &partial)?);
    let mut columns = Vec::with_capacity(plan.fields.len());
    for kind in &plan.fields {
        let field = array.schema().field_of(*kind).or_internal(NO_FIELD)?;
        let spec = ColumnSpec::new(array.schema(), &field);
        let column = match kind {
            FieldKind::Dimension(index) => coordinates(space, regions, *index, spec)?,
            FieldKind::Attribute(_) => {
                let sources =
                    FieldSources::open(context, array.fragments(), overlays, space.query(), *kind, &spec)?;
                let at = partial.iter().position(|partial| partial.kind == *kind);
                let partial = at.map(|at| partial.swap_remove(at)).filter(PartialColumn::has_cells);
                if spec.cell_size.is_some() {
                    // A field that the condition has looked at is continued in the same regions.
                    let regions = if partial.is_some() { rows } else { regions };
                    fixed_column(plan, space, regions, &sources, (wanted, partial), (*kind, spec))?
                } else {
                    var_column(plan, space, rows, &sources, (wanted, partial), (*kind, spec))?
                }
            }
        };
        columns.push(match space.arrangement() {
            Some(arrangement) => {
                let arranged = arrangement.apply(column)?;
                let validity = arranged.validity().map_or(0, <[u8]>::len);
                context.counters.copied(arranged.bytes().len().saturating_add(validity));
                arranged
            }
            None => column,
        });
    }
    let selected = plan.marks.then(|| selection(plan, space, rows, overlays, wanted)).transpose()?;
    let (cells, counts) = space.result();
    let shape = (space.order != Layout::GlobalOrder).then(|| counts.to_vec());
    Ok(Cells { len: cells, shape, order: space.order, columns, selected })
}

/// Which cells of the result were written and are wanted, a byte per cell.
fn selection(
    plan: &Plan,
    space: &Space,
    regions: &[Region],
    overlays: &[Option<Overlay>],
    wanted: Option<&[u8]>,
) -> Result<Vec<u8>> {
    check_room(space.bytes(1)?)?;
    let mut selected = vec![0; space.cells()];
    let pieces = split_exactly(&mut selected, regions.iter().map(Region::cells))?;
    let written = Written::new(plan.array.fragments(), overlays)?;
    for (region, piece) in regions.iter().zip(pieces) {
        written.paint(region, piece)?;
    }
    if let Some(wanted) = wanted {
        for (slot, _) in selected.iter_mut().zip(wanted).filter(|(_, wanted)| **wanted == 0) {
            *slot = 0;
        }
    }
    match space.arrangement() {
        Some(arrangement) => arrangement.bytes(&selected),
        None => Ok(selected),
    }
}

fn fixed_column(
    plan: &Plan,
    space: &Space,
    regions: &[Region],
    sources: &FieldSources<'_>,
    (wanted, partial): (Option<&[u8]>, Option<PartialColumn>),
    (kind, spec): (FieldKind, ColumnSpec),
) -> Result<Column> {
    let context = plan.array.context();
    let size = spec.cell_size.unwrap_or(0);
    let (mut data, mut validity, tiles_done) = match partial {
        Some(PartialColumn { cells: PartialCells::Fixed { values, validity, .. }, tiles_done, .. }) => {
            (values, validity, tiles_done)
        }
        _ => (unfilled(space.bytes(size)?)?, spec.nullable.then(|| vec![0; space.cells()]), Vec::new()),
    };
    let pieces = split_exactly(data.as_mut_slice(), regions.iter().map(|r| r.cells().saturating_mul(size)))?;
    let validities = split_validity(&mut validity, regions)?;
    let rest = validities.into_iter().zip(split_wanted(wanted, regions)?);
    let tiles_done = tiles_done.iter().map(Vec::as_slice).chain(core::iter::repeat(&[][..]));
    let jobs: Vec<_> = regions.iter().zip(pieces.into_iter().zip(rest)).zip(tiles_done).collect();
    parallel::run(
        decode_work::threads(plan, space, regions, [(kind, sources)]),
        jobs,
        PooledBuffers::sharing(context.threads, regions.len()),
        |((region, (values, (validity, wanted))), tiles_done), buffers| {
            let mut target = Target { values, validity, wanted, tiles_done };
            sources.paint_fixed(context, space, region, &spec, &mut target, buffers)
        },
    )?;
    Ok(spec.column(data, None, validity))
}

fn var_column(
    plan: &Plan,
    space: &Space,
    regions: &[Region],
    sources: &FieldSources<'_>,
    (wanted, partial): (Option<&[u8]>, Option<PartialColumn>),
    (kind, spec): (FieldKind, ColumnSpec),
) -> Result<Column> {
    let context = plan.array.context();
    let kept = match partial {
        Some(PartialColumn { cells: PartialCells::Var(kept), .. }) => kept,
        _ => Vec::new(),
    };
    check_room(space.bytes(8)?)?;
    let mut offsets = vec![0u64; space.cells().saturating_add(1)];
    let mut validity = spec.nullable.then(|| vec![0; space.cells()]);
    // The last offset is no cell's.
    let cells = regions.iter().map(Region::cells).chain([1]);
    let pieces = split_exactly(&mut offsets, cells)?;
    let validities = split_validity(&mut validity, regions)?;
    let rest = validities.into_iter().zip(split_wanted(wanted, regions)?);
    let kept = kept.into_iter().chain(core::iter::repeat_with(Vec::new));
    let jobs: Vec<_> = regions.iter().zip(pieces.into_iter().zip(rest)).zip(kept).collect();
    let values = parallel::run(
        decode_work::threads(plan, space, regions, [(kind, sources)]),
        jobs,
        PooledBuffers::sharing(context.threads, regions.len()),
        |((region, (lengths, (validity, wanted))), kept), buffers| {
            let mut target = VarTarget::new(lengths, validity, wanted, kept);
            sources.paint_var(context, space, region, &spec, &mut target, buffers)?;
            let values = target.into_values(context)?;
            // The values are held twice: as pieces, and joined.
            plan.scope.reserve(to_u64(values.len()).saturating_mul(2))?;
            Ok(values)
        },
    )?;
    lengths_to_offsets(&mut offsets)?;
    let (data, moved) = concat(context.threads, values)?;
    context.counters.copied(moved);
    Ok(spec.column(data, Some(offsets), validity))
}

/// The coordinates of every cell in one dimension.
fn coordinates(space: &Space, regions: &[Region], dimension: usize, spec: ColumnSpec) -> Result<Column> {
    let size = spec.datatype.size();
    let mut data = room_for(space.bytes(size)?)?;
    for region in regions {
        space.coordinates(region, dimension, |value| data.extend_from_slice(value))?;
    }
    let validity = spec.nullable.then(|| vec![1; space.cells()]);
    Ok(spec.column(data, None, validity))
}
