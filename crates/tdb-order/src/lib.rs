//! Orders of the cells of TileDB arrays: puts cells in order, and keeps only the newest of those
//! with equal coordinates.
//!
//! Each cell gets a sort key (`layout`, `keys`): the parts of the order packed into 64 or 128 bits.
//! Parts that do not fit are left out, and in Hilbert order a key contains only the position on the
//! curve; cells with equal keys are then compared. Strings are compared as signed bytes in the
//! stored order of cells, and as unsigned bytes in row- and column-major order ([`KeyPart`]). If
//! they are too long for a key, the key contains their ranks among the different strings (`ranks`).
//!
//! Fragments are sorted runs in global order, so this order is merged (`sort`): samples of the runs
//! cut them into bands that fit the cache of a core, and the keys of a band are made, checked and
//! sorted when its turn comes. So there is never a key for each cell in memory. Runs that turn out
//! not to be sorted, and other orders, are sorted by buckets (a radix sort): cells are distributed
//! over buckets by the leading bits of their keys; the rest of a key and the number of the cell
//! mostly fit in 64 bits.
//!
//! A caller that only needs to know which cells are replaced by newer ones may pass the keys of
//! cells instead of their coordinates ([`KeyEncoder`]).
//!
//! The sorter takes batches of coordinates ([`CellBatch`]) and knows neither tiles nor selections.
//!
//! ```
//! use tdb_codec::{CellValNum, Datatype, Layout};
//! use tdb_order::{CellOrder, KeyPart, parts};
//! use tdb_schema::{ArraySchema, Attribute, Dimension};
//!
//! let schema = ArraySchema::sparse()
//!     .dimension(Dimension::new("row", 1i32..=4).with_tile(2))
//!     .dimension(Dimension::new("column", 1i32..=4).with_tile(2))
//!     .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
//!     .build()?;
//! // The global order compares space tiles first, then the cells in them.
//! let global = parts(&schema, CellOrder::of(Layout::GlobalOrder, &schema));
//! assert_eq!(global, [KeyPart::Tile(0), KeyPart::Tile(1), KeyPart::Cell(0), KeyPart::Cell(1)]);
//! # Ok::<(), tdb_schema::SchemaProblem>(())
//! ```
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change with any minor version.
#![forbid(unsafe_code)]

mod bits;
pub mod hilbert;
mod key_part;
pub mod key_range;
mod keys;
mod layout;
mod measure;
mod ranks;
mod ready;
pub mod reals;
mod sort;
mod table;
mod thresholds;

use core::cmp::Reverse;

use tdb_cells::{Error, OrInternal, QueryError, Result, buffers, parallel};
use tdb_codec::Layout;
use tdb_schema::{ArraySchema, Dimension};

pub use self::bits::is_negative_zero;
pub use self::key_part::{CellOrder, KeyPart, compare_part, part_word, parts, width};
use self::keys::ComputedKeys;
use self::layout::KeyLayout;
pub use self::ready::{KeyEncoder, replaced_by_keys};
use self::sort::{CellKeys, JobOutput, Key, ResolveTies, Sorted};
use self::table::CellTable;
pub use self::table::{CellBatch, CoordinatesRef};

/// The numbers of the cells in this order, counted across the batches as they are. If `dedup`,
/// duplicates are removed: of cells with equal coordinates the one written last is kept, by
/// timestamp, then by fragment. Of cells that were written together the first is kept, and comes
/// first.
pub fn permutation(
    threads: usize,
    schema: &ArraySchema,
    batches: Vec<CellBatch<'_>>,
    order: CellOrder,
    dedup: bool,
) -> Result<Vec<u32>> {
    let table = CellTable::new(&schema.domain.dimensions, batches)?;
    Ok(sorted(threads, schema, &table, order, SortRequest { order: true, dedup })?.order)
}

/// The numbers of the cells that are replaced by others with equal coordinates, counted in the same
/// way, ascending. The order of the remaining cells does not matter.
pub fn replaced(threads: usize, schema: &ArraySchema, batches: Vec<CellBatch<'_>>) -> Result<Vec<u32>> {
    let table = CellTable::new(&schema.domain.dimensions, batches)?;
    let request = SortRequest { order: false, dedup: true };
    let mut cells = sorted(threads, schema, &table, order_to_compare(schema), request)?.dropped;
    cells.sort_unstable();
    Ok(cells)
}

/// The order in which replaced cells are looked for. Any order brings equal cells together. The
/// stored order is cheap, except for places on a Hilbert curve.
const fn order_to_compare(schema: &ArraySchema) -> CellOrder {
    match CellOrder::of(Layout::GlobalOrder, schema) {
        CellOrder::Hilbert => CellOrder::RowMajor,
        order => order,
    }
}

/// The results that a sort must compute.
#[derive(Clone, Copy, Debug)]
struct SortRequest {
    /// Whether the order is needed, and not only the dropped cells.
    order: bool,
    /// Whether only the newest of cells with equal coordinates is kept.
    dedup: bool,
}

fn sorted(
    threads: usize,
    schema: &ArraySchema,
    table: &CellTable<'_>,
    order: CellOrder,
    request: SortRequest,
) -> Result<Sorted> {
    if table.cells() == 0 {
        return Ok(Sorted::default());
    }
    let layout = KeyLayout::new(threads, schema, table, order)?;
    let parts = parts(schema, order);
    let ties = EqualKeys { table, parts: &parts, dimensions: &schema.domain.dimensions, request };
    if layout.is_narrow() {
        sorted_by::<u64>(threads, &layout, table, &ties)
    } else {
        sorted_by::<u128>(threads, &layout, table, &ties)
    }
}

fn sorted_by<K: Key>(
    threads: usize,
    layout: &KeyLayout<'_>,
    table: &CellTable<'_>,
    ties: &EqualKeys<'_>,
) -> Result<Sorted> {
    let ordered = ties.request.order;
    if let Some(sorted) = sort::merge::<K, _, _>(threads, &ComputedKeys { layout, table }, ties, ordered)? {
        return Ok(sorted);
    }
    // Without keys, all cells are compared.
    let no_keys = || CellKeys {
        keys: vec![K::default(); table.cells()],
        min: K::default(),
        max: K::default(),
        exact: false,
    };
    let keys = layout.all::<K>(threads, table)?.unwrap_or_else(no_keys);
    sort::sort(threads, &keys, ties, ordered)
}

/// Puts cells with equal keys in order, and drops those that others replace.
struct EqualKeys<'a> {
    table: &'a CellTable<'a>,
    parts: &'a [KeyPart],
    dimensions: &'a [Dimension],
    request: SortRequest,
}

impl ResolveTies for EqualKeys<'_> {
    fn resolve<E: Copy>(
        &self,
        exact: bool,
        sorted: &[E],
        same: impl Fn(E, E) -> bool,
        cell: impl Fn(E) -> u32,
        output: &mut JobOutput<'_>,
    ) {
        let mut cells = Vec::new();
        for group in sorted.chunk_by(|a, b| same(*a, *b)) {
            match group {
                [entry] => output.keep(cell(*entry)),
                _ => {
                    cells.clear();
                    cells.extend(group.iter().map(|entry| cell(*entry)));
                    self.resolve_duplicates(exact, &mut cells, output);
                }
            }
        }
    }
}

impl EqualKeys<'_> {
    /// Passes on cells with equal keys, which are in cell order.
    fn resolve_duplicates(&self, exact: bool, cells: &mut [u32], output: &mut JobOutput<'_>) {
        if exact {
            return self.equal(true, cells, output);
        }
        let compare = |a: u32, b: u32| self.table.compare(self.parts, self.dimensions, a, b);
        cells.sort_by(|a, b| compare(*a, *b));
        for group in cells.chunk_by_mut(|a, b| compare(*a, *b).is_eq()) {
            // Zeros of different signs have the same position, but are different coordinates.
            self.equal(false, group, output);
        }
    }

    /// Passes on cells with the same position in the order: the newest first, or only the newest
    /// cell of each coordinate.
    fn equal(&self, exact: bool, cells: &mut [u32], output: &mut JobOutput<'_>) {
        cells.sort_by_key(|cell| Reverse(self.table.recency(*cell)));
        for (index, cell) in cells.iter().enumerate() {
            let mut newer = cells.iter().take(index);
            let same = |newer: &u32| exact || self.table.same(self.dimensions.len(), *newer, *cell);
            if self.request.dedup && newer.any(same) {
                output.drop(*cell);
            } else {
                output.keep(*cell);
            }
        }
    }
}

#[cfg(test)]
mod tests;
