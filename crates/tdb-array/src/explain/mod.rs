//! What a query would do, without doing it: read from metadata only.

mod dense;
mod sparse;

use tdb_codec::{ArrayType, to_u64};
use tdb_schema::FieldKind;

use crate::context::Context;
use crate::fragment::Fragment;
use crate::gather::ColumnSpec;
use crate::query::Plan;
use crate::tiles::FieldTiles;
use crate::{Array, Layout, Result};

/// What a query would read, and why not more ([`Read::explain`](crate::Read::explain)).
///
/// Data files are not opened for it. Bytes and requests are those of whole tiles: where few chunks of a large tile are
/// wanted, and the storage makes small reads cheap, reading takes less.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explain {
    /// The order of the result.
    pub order: Layout,
    /// Every committed fragment, oldest first, and what becomes of it.
    pub fragments: Vec<FragmentPlan>,
    /// What is read of each field: those asked for, then what finding and ordering cells needs besides.
    pub fields: Vec<FieldPlan>,
    /// Number of cells of the result: exact for dense arrays, the most there can be for sparse ones.
    pub cells: u64,
    /// Whether `cells` and `result_bytes` are exact, not bounds.
    pub exact: bool,
    /// Bytes of the result's columns, at most.
    pub result_bytes: u64,
    /// Memory the whole query takes, about: the result, keys to order cells by, and the largest column once more while it
    /// is put in order.
    pub memory_bytes: u64,
}

/// What a query does with a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentPlan {
    /// The name of its folder.
    pub name: String,
    /// First and last millisecond it covers.
    pub timestamps: (u64, u64),
    /// Its data tiles, if they were counted: those of fragments outside the window were not.
    pub tiles: Option<u64>,
    /// Why it is read or not.
    pub outcome: Outcome,
}

/// Why a fragment is read or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The array was opened in a window that does not see it.
    OutsideWindow,
    /// A consolidated fragment in the window holds its cells.
    Consolidated,
    /// It has no cells in the ranges: its domain, or every tile's rectangle, lies outside.
    OutsideRanges,
    /// All its cells in the ranges are hidden by newer ones. Dense arrays only.
    Hidden,
    /// It is read.
    Read {
        /// Tiles that may hold cells of the query.
        tiles: u64,
        /// Those of them that lie wholly in the ranges, so that no coordinate need be compared.
        whole: u64,
    },
}

/// What is read of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldPlan {
    /// Its name.
    pub name: String,
    /// Whether it was asked for; otherwise it is read to find or order cells.
    pub asked: bool,
    /// Tiles, of all fragments.
    pub tiles: u64,
    /// Reads of the storage.
    pub requests: u64,
    /// Stored bytes.
    pub bytes: u64,
}

impl Explain {
    /// Reads of the storage that the fields need.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.fields.iter().map(|field| field.requests).sum()
    }

    /// Stored bytes that the fields need.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.fields.iter().map(|field| field.bytes).sum()
    }

    /// Tiles that the fields need.
    #[must_use]
    pub fn tiles(&self) -> u64 {
        self.fields.iter().map(|field| field.tiles).sum()
    }
}

impl FieldPlan {
    fn new(name: &str, asked: bool) -> Self {
        Self { name: name.to_owned(), asked, ..Self::default() }
    }

    /// Adds a tile.
    fn read(&mut self, context: &Context, tiles: &FieldTiles, tile: usize) -> Result<()> {
        let (requests, bytes) = tiles.cost(context, tile)?;
        self.tiles = self.tiles.saturating_add(1);
        self.requests = self.requests.saturating_add(requests);
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }
}

/// What a plan would do.
pub(crate) fn explain(plan: &Plan<'_>) -> Result<Explain> {
    let mut explained = match plan.array.schema().array_type {
        ArrayType::Dense => dense::explain(plan)?,
        ArrayType::Sparse => sparse::explain(plan)?,
    };
    explained.fragments = all_fragments(plan.array, explained.fragments);
    Ok(explained)
}

/// The visible fragments with those that are not, in order of time.
fn all_fragments(array: &Array, mut fragments: Vec<FragmentPlan>) -> Vec<FragmentPlan> {
    for (entry, in_window) in array.invisible_fragments() {
        let outcome = if in_window { Outcome::Consolidated } else { Outcome::OutsideWindow };
        let (name, timestamps) = (entry.name.to_string(), entry.parsed.timestamps);
        fragments.push(FragmentPlan { name, timestamps, tiles: None, outcome });
    }
    // Stable: visible fragments of one time keep their order.
    fragments.sort_by_key(|fragment| fragment.timestamps.0);
    fragments
}

impl FragmentPlan {
    fn of(fragment: &Fragment, tiles: u64, outcome: Outcome) -> Self {
        let name = fragment.name().to_owned();
        Self { name, timestamps: fragment.timestamps(), tiles: Some(tiles), outcome }
    }
}

/// The fields asked for, with their columns.
fn asked<'p>(plan: &'p Plan<'_>) -> impl Iterator<Item = (FieldKind, ColumnSpec)> + use<'p> {
    let schema = plan.array.schema();
    plan.fields
        .iter()
        .filter_map(move |kind| Some((*kind, ColumnSpec::new(schema, &schema.field_of(*kind)?))))
}

/// Bytes of a column of `cells` cells, of which those of variable length hold `values` bytes.
fn column_bytes(spec: &ColumnSpec, cells: u64, values: u64) -> u64 {
    let fixed = cells.saturating_mul(spec.cell_size.map_or(8, to_u64));
    let validity = if spec.nullable { cells } else { 0 };
    fixed.saturating_add(validity).saturating_add(values)
}
