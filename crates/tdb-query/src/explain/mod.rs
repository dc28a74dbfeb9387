//! Explains what a query would do, without doing it: reads metadata only.
//!
//! It walks through the same steps as a read, with the same functions, and stops before the data
//! files: the candidates of each sparse fragment, those that statistics leave to the condition,
//! those that may contain other versions of their cells, and the layers of each tile of a dense
//! query. A read then takes exactly the requests and bytes that are shown, unless only few chunks
//! of large tiles are wanted, or cells that lie far apart: then it reads less, in more requests.
//! With a condition, a read takes at most the bytes that are shown. Chunks are counted as writers
//! cut them, by the sizes in the schema.

mod ahead;
mod dense;
mod sparse;

use std::collections::BTreeMap;
use std::sync::Arc;

use tdb_codec::{ArrayType, to_u64};
use tdb_schema::{ArraySchema, FieldKind};

pub(crate) use self::ahead::{fetch_ahead, fetch_sections};
use crate::budget::MemoryBudget;
use crate::context::Context;
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::spec::ColumnSpec;
use crate::storage::Ahead;
use crate::tiles::FieldTiles;
use crate::{Layout, Result, Snapshot};

/// What a query would read, and why not more ([`Read::explain`](crate::Read::explain)).
///
/// No data file is opened for it. Tiles, bytes and requests are those of whole tiles: if only few
/// chunks of a large tile are wanted, fewer are decoded, and if the storage makes small reads
/// cheap, fewer bytes are read, in more requests. With a condition, all of them are upper bounds:
/// the tiles that statistics cannot decide are decided by the condition's columns, tile by tile,
/// and other fields are not read where no cell satisfies it. So is what deletes look at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explain {
    /// The order of the result.
    pub order: Layout,
    /// Every committed fragment, oldest first, and whether it is read.
    pub fragments: Vec<FragmentPlan>,
    /// What is read of each field: first the fields asked for, then the fields that the condition
    /// looks at, then the fields that are also needed to find and order cells.
    pub fields: Vec<FieldPlan>,
    /// Number of cells of the result: exact for dense arrays, an upper bound for sparse ones.
    pub cells: u64,
    /// About how many of `cells` satisfy the condition, if the values of each tile are spread
    /// evenly between its least and its greatest. `None` without a condition, for dense arrays, and
    /// if nothing is known of the values.
    pub matching: Option<u64>,
    /// Whether `cells` and `result_bytes` are exact, not upper bounds.
    pub exact: bool,
    /// Bytes of the result's columns, at most.
    pub result_bytes: u64,
    /// Approximate memory of the whole query: the result, the keys that cells are ordered by, and a
    /// second copy of the largest column while it is put in order.
    pub memory_bytes: u64,
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

/// What is read of a field.
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
    /// How many of the tiles are decoded a second time: what a condition or a range has decoded is
    /// kept for the result only if the memory has room for it.
    pub again: u64,
    /// Where these bytes are in the files, if the planner is going to fetch them.
    ranges: Option<Vec<(Arc<str>, core::ops::Range<u64>)>>,
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

impl Explain {
    /// Read requests to the storage for all fields.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.fields.iter().map(|field| field.requests).sum()
    }

    /// Stored bytes of all fields.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.fields.iter().map(|field| field.bytes).sum()
    }

    /// Approximate number of chunks of all fields.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.fields.iter().map(|field| field.chunks).sum()
    }

    /// Bytes that are decoded for all fields.
    #[must_use]
    pub fn decoded(&self) -> u64 {
        self.fields.iter().map(|field| field.decoded).sum()
    }

    /// Tiles that are not read because none of their cells satisfies the condition.
    #[must_use]
    pub fn ruled_out(&self) -> u64 {
        self.fragments.iter().map(|fragment| fragment.ruled_out).sum()
    }

    /// Tiles that are decoded a second time.
    #[must_use]
    pub fn again(&self) -> u64 {
        self.fields.iter().map(|field| field.again).sum()
    }

    /// Tiles of all fields.
    #[must_use]
    pub fn tiles(&self) -> u64 {
        self.fields.iter().map(|field| field.tiles).sum()
    }
}

impl FieldPlan {
    fn new(name: &str, purpose: Purpose, fetched: bool) -> Self {
        let ranges = fetched.then(Vec::new);
        Self { name: name.to_owned(), purpose, ranges, ..Self::default() }
    }

    /// Adds a tile with this number of cells.
    fn read(
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
        self.tiles = self.tiles.saturating_add(1);
        self.requests = self.requests.saturating_add(requests);
        self.bytes = self.bytes.saturating_add(bytes);
        let values = tiles.var_size(tile);
        let validity = if tiles.is_nullable() { cells } else { 0 };
        let size = to_u64(tiles.cell_size());
        let decoded = cells.saturating_mul(size).saturating_add(values).saturating_add(validity);
        self.decoded = self.decoded.saturating_add(decoded);
        let parts = [
            Chunks::count(cells, size, chunks.fixed),
            Chunks::count(values, 1, chunks.values),
            Chunks::count(validity, 1, chunks.validity),
        ];
        self.chunks = parts.into_iter().fold(self.chunks, u64::saturating_add);
        Ok(())
    }
}

/// The size of chunks in a field's files.
#[derive(Clone, Copy, Debug)]
struct Chunks {
    fixed: Option<u32>,
    values: Option<u32>,
    validity: Option<u32>,
}

impl Chunks {
    /// The chunk sizes of a field of the schema that a fragment was written with.
    fn of(fragment: &Fragment, kind: FieldKind) -> Self {
        let schema: &ArraySchema = fragment.schema();
        let field = schema.field_of(kind);
        let is_var = field.is_some_and(|field| field.is_var());
        let own = field.map(|field| {
            let strings = is_var && field.datatype.is_string();
            schema.filters_in(&field, fragment.version()).usual_chunk(strings)
        });
        let own = own.flatten();
        let fixed = if is_var { schema.offsets_filters.usual_chunk(false) } else { own };
        Self { fixed, values: own, validity: schema.validity_filters.usual_chunk(false) }
    }

    /// The chunk sizes of system fields such as the cells' timestamps.
    fn of_system(fragment: &Fragment) -> Self {
        let size = fragment.schema().coords_filters.usual_chunk(false);
        Self { fixed: size, values: size, validity: size }
    }

    /// The number of chunks of these bytes for this many values, if no value is split; without
    /// bytes, all values are one chunk.
    fn count(values: u64, size: u64, chunk: Option<u32>) -> u64 {
        let Some(chunk) = chunk else { return u64::from(values > 0) };
        let each = u64::from(chunk).checked_div(size).unwrap_or(0).max(1);
        values.div_ceil(each)
    }
}

/// Explains a plan, within a memory budget if there is one.
pub(crate) fn explain(plan: &Plan, memory: Option<MemoryBudget>) -> Result<Explain> {
    let fetched = plan.array.context().ahead.is_some();
    if let Some(ahead) = &plan.array.context().ahead {
        fetch_sections(plan, ahead);
    }
    let mut explained = fields(plan, fetched, memory)?;
    if let Some(ahead) = &plan.array.context().ahead {
        count_requests(&mut explained.fields, ahead);
    }
    explained.fragments = all_fragments(&plan.array, explained.fragments);
    Ok(explained)
}

/// Counts the requests to a storage that is told beforehand what will be read: ranges near each
/// other become one request, and what several fields or purposes need is delivered once. Each
/// request counts for the first field that has something in it.
fn count_requests(fields: &mut [FieldPlan], ahead: &Ahead) {
    let ranges: Vec<Vec<_>> =
        fields.iter_mut().map(|field| field.ranges.take().unwrap_or_default()).collect();
    let mut left: BTreeMap<(Arc<str>, u64), u64> = BTreeMap::new();
    let all: Vec<_> = ranges.iter().flatten().cloned().collect();
    left.extend(ahead.requests(&all).into_iter().map(|(key, range)| ((key, range.start), range.end)));
    for (field, ranges) in fields.iter_mut().zip(ranges) {
        (field.requests, field.bytes) = (0, 0);
        for (key, range) in ranges {
            let before = left.range(..(key.clone(), range.end)).rev();
            let own = before.take_while(|((of, _), end)| *of == key && **end > range.start);
            for (place, end) in own.map(|(place, end)| (place.clone(), *end)).collect::<Vec<_>>() {
                field.requests = field.requests.saturating_add(1);
                field.bytes = field.bytes.saturating_add(end.saturating_sub(place.1));
                left.remove(&place);
            }
        }
    }
}

fn fields(plan: &Plan, fetched: bool, memory: Option<MemoryBudget>) -> Result<Explain> {
    match plan.array.schema().array_type {
        ArrayType::Dense => dense::explain(plan, fetched),
        ArrayType::Sparse => sparse::explain(plan, fetched, memory),
    }
}

/// The visible fragments together with the invisible ones, in order of time.
fn all_fragments(array: &Snapshot, mut fragments: Vec<FragmentPlan>) -> Vec<FragmentPlan> {
    for (entry, in_window) in array.invisible_fragments() {
        let outcome = if in_window { Outcome::Consolidated } else { Outcome::OutsideWindow };
        let (name, timestamps) = (entry.name.to_string(), entry.parsed.timestamps);
        fragments.push(FragmentPlan { name, timestamps, tiles: None, ruled_out: 0, outcome });
    }
    // The sort is stable: visible fragments with the same time keep their order.
    fragments.sort_by_key(|fragment| fragment.timestamps.0);
    fragments
}

impl FragmentPlan {
    fn of(fragment: &Fragment, tiles: u64, ruled_out: u64, outcome: Outcome) -> Self {
        let name = fragment.name().to_owned();
        Self { name, timestamps: fragment.timestamps(), tiles: Some(tiles), ruled_out, outcome }
    }
}

/// The fields asked for, with their columns.
fn asked<'p>(plan: &'p Plan) -> impl Iterator<Item = (FieldKind, ColumnSpec)> + use<'p> {
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
