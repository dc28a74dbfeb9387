//! Lists what a query reads: the tiles of each field and where their bytes are, from metadata
//! alone.
//!
//! It walks through the same steps as a read, with the same functions, and stops before the data
//! files: the candidates of each sparse fragment, those that statistics leave to the condition,
//! those that may contain other versions of their cells, and the layers of each tile of a dense
//! query. [`prefetch`](crate::prefetch) fetches what is listed, and `Read::explain` (`tdb-query`)
//! reports it.

mod chunks;
mod dense;
mod sparse;

use std::sync::Arc;

use tdb_codec::{ArrayType, to_u64};
use tdb_schema::FieldKind;

use self::chunks::Chunks;
use crate::Result;
use crate::budget::MemoryBudget;
use crate::context::Context;
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::spec::ColumnSpec;
use crate::tiles::FieldTiles;

/// The tiles that a query reads, and how large its result is at most.
pub struct ReadPlan {
    /// The visible fragments, oldest first.
    pub fragments: Vec<FragmentPlan>,
    /// The fields of the result, those of the condition, and those that find and order cells.
    pub fields: Vec<FieldReads>,
    /// Number of cells of the result, at most.
    pub cells: u64,
    /// About how many cells satisfy the condition, if that can be estimated.
    pub matching: Option<u64>,
    /// Whether the number of cells and the bytes of the result are exact.
    pub exact: bool,
    /// Bytes of the result's columns, at most.
    pub result_bytes: u64,
    /// Approximate memory of the whole query.
    pub memory_bytes: u64,
}

/// The tiles that are read of a field, and the place of their bytes.
#[derive(Clone, Debug, Default)]
pub struct FieldReads {
    /// Tiles, requests and bytes.
    pub plan: FieldPlan,
    /// The ranges of bytes in the files, if they are recorded.
    pub ranges: Option<Vec<FileRange>>,
}

/// A range of bytes in a file: the file's key, and the range.
pub(crate) type FileRange = (Arc<str>, core::ops::Range<u64>);

/// Lists what a query reads. Ranges of bytes are recorded only if `locates`; a memory budget
/// decides which tiles must be decoded a second time.
pub fn read_plan(plan: &Plan, locates: bool, memory: Option<MemoryBudget>) -> Result<ReadPlan> {
    match plan.array.schema().array_type {
        ArrayType::Dense => dense::read_plan(plan, locates),
        ArrayType::Sparse => sparse::read_plan(plan, locates, memory),
    }
}

/// A fragment, and what a query does with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentPlan {
    /// The name of its folder.
    pub name: String,
    /// First and last millisecond that it covers.
    pub timestamps: (u64, u64),
    /// The number of its data tiles, if they were counted; those of fragments outside the window
    /// are not.
    pub tiles: Option<u64>,
    /// The tiles in the ranges that are not read, because statistics or bounding rectangles show
    /// that none of their cells satisfies the condition.
    pub ruled_out: u64,
    /// Why it is read or not.
    pub outcome: Outcome,
}

impl FragmentPlan {
    /// A fragment that the query does not look at, because the opened array does not show it.
    #[doc(hidden)]
    #[must_use]
    pub const fn invisible(name: String, timestamps: (u64, u64), outcome: Outcome) -> Self {
        Self { name, timestamps, tiles: None, ruled_out: 0, outcome }
    }
}

/// Why a fragment is read or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The array was opened in a window that does not see it.
    OutsideWindow,
    /// A consolidated fragment in the window contains its cells.
    Consolidated,
    /// It has no cells in the ranges: its domain, or the rectangle of every tile, is outside them.
    OutsideRanges,
    /// None of its cells in the ranges satisfies the condition, according to its statistics or
    /// those of the tiles in the ranges.
    OutsideCondition,
    /// All its cells in the ranges are hidden by newer ones. Dense arrays only.
    Hidden,
    /// It is read.
    Read {
        /// Tiles that may contain cells of the query.
        tiles: u64,
        /// Those of them that are completely inside the ranges, so that no coordinates need to be
        /// compared.
        whole: u64,
    },
}

/// The amount that is read of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldPlan {
    /// Its name.
    pub name: String,
    /// Why it is read.
    pub purpose: Purpose,
    /// The number of tiles in all fragments.
    pub tiles: u64,
    /// The number of read requests to the storage.
    pub requests: u64,
    /// Stored bytes.
    pub bytes: u64,
    /// The number of their chunks: exact for cells of a fixed size in the chunks that libtiledb and
    /// tdb write, otherwise approximate.
    pub chunks: u64,
    /// Bytes of their cells once they are decoded: values, offsets and validity.
    pub decoded: u64,
    /// The number of tiles that are decoded a second time: a column that a condition or a range has
    /// decoded is kept for the result only if the memory has room for it.
    pub again: u64,
}

/// Why a field is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// It was asked for.
    #[default]
    Result,
    /// The condition looks at it.
    Condition,
    /// It is needed to find, distinguish or order cells.
    Search,
    /// Deletes look at it.
    Delete,
}

impl FieldReads {
    fn new(name: &str, purpose: Purpose, locates: bool) -> Self {
        let plan = FieldPlan { name: name.to_owned(), purpose, ..FieldPlan::default() };
        Self { plan, ranges: locates.then(Vec::new) }
    }

    /// Adds a tile with this number of cells.
    fn add_tile(
        &mut self,
        context: &Context,
        (tiles, chunks): (&FieldTiles, Chunks),
        tile: usize,
        cells: u64,
    ) -> Result<()> {
        let (requests, bytes) = tiles.cost(context, tile)?;
        if let Some(ranges) = &mut self.ranges {
            tiles.need(context, tile, ranges)?;
        }
        let plan = &mut self.plan;
        plan.tiles = plan.tiles.saturating_add(1);
        plan.requests = plan.requests.saturating_add(requests);
        plan.bytes = plan.bytes.saturating_add(bytes);
        let values = tiles.var_size(tile);
        let validity = if tiles.is_nullable() { cells } else { 0 };
        let size = to_u64(tiles.cell_size());
        let decoded = cells.saturating_mul(size).saturating_add(values).saturating_add(validity);
        plan.decoded = plan.decoded.saturating_add(decoded);
        let parts = [
            Chunks::count(cells, size, chunks.fixed),
            Chunks::count(values, 1, chunks.values),
            Chunks::count(validity, 1, chunks.validity),
        ];
        plan.chunks = parts.into_iter().fold(plan.chunks, u64::saturating_add);
        Ok(())
    }
}

impl FragmentPlan {
    fn of(fragment: &Fragment, tiles: u64, ruled_out: u64, outcome: Outcome) -> Self {
        let name = fragment.name().to_owned();
        Self { name, timestamps: fragment.timestamps(), tiles: Some(tiles), ruled_out, outcome }
    }
}

/// The fields asked for, with their columns.
pub(crate) fn requested<'p>(plan: &'p Plan) -> impl Iterator<Item = (FieldKind, ColumnSpec)> + use<'p> {
    let schema = plan.array.schema();
    plan.fields
        .iter()
        .filter_map(move |kind| Some((*kind, ColumnSpec::new(schema, &schema.field_of(*kind)?))))
}

/// Bytes of a column of `cells` cells. `values` is the number of bytes of values of variable
/// length.
fn column_bytes(spec: &ColumnSpec, cells: u64, values: u64) -> u64 {
    let fixed = cells.saturating_mul(spec.cell_size.map_or(8, to_u64));
    let validity = if spec.nullable { cells } else { 0 };
    fixed.saturating_add(validity).saturating_add(values)
}
