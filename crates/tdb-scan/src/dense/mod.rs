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
//!    (`layers`). A layer whose schema lacks the field paints fill values over older ones. A layer
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
//! 6. *A condition* makes a mask of the whole result first, one space tile after another (`mask`,
//!    `part_columns`). What it decodes of a returned field goes to the column at once if it has a
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
mod columns;
pub mod condition;
mod decode_work;
mod fixed_column;
mod layers;
mod mask;
mod overlay;
mod paint;
mod part_columns;
mod partial_column;
mod places;
mod prefetch;
pub mod region;
mod regions;
pub mod sources;
pub(crate) mod space;
mod target;
mod tile_part;
mod tiling;
mod var_column;

use tdb_schema::FieldKind;

use self::chunk_rows::ChunkRows;
use self::columns::columns;
use self::mask::mask;
use crate::buffers::check_room;
use crate::plan::Plan;
use crate::stats::Stage;
use crate::{Cells, Result};

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
    let mask = |program| plan.stage(|| mask(plan, program, &space, &rows, &overlays));
    let masked = plan.condition.as_ref().map(mask).transpose()?;
    let columns = || columns(plan, &space, (&regions, &rows), &overlays, masked.as_deref());
    plan.last_stage(|| 0, columns)
}
