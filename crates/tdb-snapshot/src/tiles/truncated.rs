//! Truncated tiles: dense tiles that libtiledb, since 2.3, stores with fewer cells than their
//! extents have.
//!
//! It multiplies the extents in the type of the dimensions ("Tiles of more cells than their type
//! counts" in docs/correctness_issues.md), so that the number of cells wraps around: up to 2.14 all
//! of the product, since then all factors. Most releases store as many cells as they count; 2.5 to
//! 2.7 store more, up to the last one of the box that is written. A tile that lacks none of the
//! box's cells is read. One that lacks some is refused: those cells were lost.

use tdb_codec::{ArrayType, FormatVersion, Gate, Layout, to_u64, to_usize};
use tdb_schema::ArraySchema;

use crate::fragment::Fragment;
use crate::grid::{Side, place, strides};

/// The tiles of a fragment, which may lack cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TruncatedTiles {
    /// The number of cells that the library counted in a tile.
    counted: u64,
    /// Whether it stores more cells than that, up to the last one of the box.
    grows: bool,
    /// The box, and its number of tiles along each dimension.
    sides: Vec<Side>,
    grid: Vec<usize>,
    tile_order: Layout,
    /// Distances of neighbours in a tile, in cells.
    strides: Vec<usize>,
    /// Bytes of a cell.
    cell: u64,
}

impl TruncatedTiles {
    /// The tiles of a fragment, of `cell` bytes a cell, that a library of version `writer` wrote;
    /// `None` if they have all cells.
    pub(super) fn of(fragment: &Fragment, writer: FormatVersion, cell: usize) -> Option<Self> {
        let schema = fragment.schema();
        let counted = counted_cells(schema, writer).filter(|_| fragment.is_dense())?;
        let ranges = fragment.non_empty_domain()?.iter().zip(&schema.domain.dimensions);
        let sides =
            ranges.map(|(range, dimension)| Side::of(dimension, range)).collect::<Option<Vec<_>>>()?;
        Self::new(schema, sides, (counted, writer), cell)
    }

    fn new(
        schema: &ArraySchema,
        sides: Vec<Side>,
        (counted, writer): (u64, FormatVersion),
        cell: usize,
    ) -> Option<Self> {
        let extents: Vec<usize> = sides.iter().map(|side| to_usize(side.extent)).collect::<Option<_>>()?;
        Some(Self {
            counted,
            grows: writer.has(Gate::GrownTiles) && !writer.has(Gate::CountedTiles),
            grid: sides.iter().map(|side| to_usize(side.tiles())).collect::<Option<_>>()?,
            strides: strides(&extents, schema.cell_order)?,
            sides,
            tile_order: schema.tile_order,
            cell: to_u64(cell),
        })
    }

    /// The number of the `len` bytes of tile `tile` that are stored; `found` is the sum of the
    /// bytes of its chunks. A tile of another length is not one of these: it is refused where it is
    /// decoded.
    pub(super) fn stored(&self, tile: usize, found: u64, len: usize) -> usize {
        let Some(wanted) = self.cells_to_last(tile) else { return len };
        let stored = if self.grows { self.counted.max(wanted) } else { self.counted };
        let is_short = stored >= wanted && stored.checked_mul(self.cell) == Some(found);
        to_usize(found).filter(|found| is_short && *found < len).unwrap_or(len)
    }

    /// The number of a tile's cells up to the last one that is in the box; `None` if the tile is
    /// not in the box, or if 64 bits do not count them.
    fn cells_to_last(&self, tile: usize) -> Option<u64> {
        let places = place(tile, &self.grid, self.tile_order);
        let mut last = 0u64;
        for ((side, at), stride) in self.sides.iter().zip(places).zip(&self.strides) {
            let (_, high) = side.cells_of(at, at.checked_add(1)?);
            let offset = high.checked_sub(side.start(at))?;
            last = last.checked_add(offset.checked_mul(to_u64(*stride))?)?;
        }
        last.checked_add(1)
    }
}

/// Whether the number of cells of a dense tile is beyond the type of some dimension, so that some
/// library may have stored fewer of them.
pub(super) fn may_be_truncated(schema: &ArraySchema) -> bool {
    let dimensions = &schema.domain.dimensions;
    let extents = dimensions.iter().map(|dimension| dimension.extent_cells().map(u128::from));
    let Some(cells) = extents.collect::<Option<Vec<_>>>() else { return false };
    // More cells than 128 bits count are more than any dimension's type counts.
    let cells = cells.into_iter().fold(1, u128::saturating_mul);
    let mut bytes = dimensions.iter().map(|dimension| dimension.datatype.size()).filter(|bytes| *bytes < 8);
    bytes.any(|bytes| cells >= 1u128 << (8 * bytes))
}

/// The number of cells that a library of version `writer` counts in a dense tile, if it does not
/// count all of them.
pub fn counted_cells(schema: &ArraySchema, writer: FormatVersion) -> Option<u64> {
    let dimensions = &schema.domain.dimensions;
    if schema.array_type != ArrayType::Dense || !writer.has(Gate::NarrowTileCells) {
        return None;
    }
    let (mut all, mut counted) = (1u64, 1u64);
    for dimension in dimensions {
        let extent = dimension.extent_cells()?;
        all = all.checked_mul(extent)?;
        let bits = 8 * Some(dimension.datatype.size()).filter(|bytes| *bytes < 8)?;
        let most = (1u64 << bits) - 1;
        counted = if writer.has(Gate::WideTileCells) {
            // Factors are truncated to the type; products of small types are not.
            let product = (counted & most).checked_mul(extent)?;
            if bits == 32 {
                product & most
            } else {
                Some(product).filter(|cells| i32::try_from(*cells).is_ok())?
            }
        } else {
            let product = counted.checked_mul(extent)? & most;
            // A negative number of cells is more than any memory holds.
            let is_negative = dimension.datatype.physical().is_signed_integer() && product > most >> 1;
            Some(product).filter(|_| !is_negative)?
        };
    }
    Some(counted).filter(|_| counted > 0 && counted < all)
}

#[cfg(test)]
mod tests {
    use tdb_codec::{CellValNum, Datatype};
    use tdb_schema::{Attribute, Dimension, Range};

    use super::*;

    fn version(number: u32) -> FormatVersion {
        FormatVersion::parse(number).unwrap()
    }

    fn schema(array_type: ArrayType, extents: &[u8]) -> ArraySchema {
        let new = if array_type == ArrayType::Dense { ArraySchema::dense() } else { ArraySchema::sparse() };
        let dimensions = extents.iter().enumerate();
        let schema = dimensions.fold(new, |schema, (index, extent)| {
            schema.dimension(Dimension::new(format!("d{index}"), 0u8..=200).with_tile(*extent))
        });
        schema.attribute(Attribute::new("a", Datatype::Int8, CellValNum::ONE)).build().unwrap()
    }

    fn dense(extents: &[u8]) -> ArraySchema {
        schema(ArrayType::Dense, extents)
    }

    /// The tiles of a box that a library wrote.
    fn tiles(schema: &ArraySchema, writer: u32, ends: &[[u8; 2]]) -> TruncatedTiles {
        let sides = ends.iter().zip(&schema.domain.dimensions).map(|([low, high], dimension)| {
            Side::of(dimension, &Range::new(vec![*low], vec![*high])).unwrap()
        });
        let counted = counted_cells(schema, version(writer)).unwrap();
        TruncatedTiles::new(schema, sides.collect(), (counted, version(writer)), 2).unwrap()
    }

    #[test]
    fn products_wrap_as_in_libtiledb_of_the_time() {
        let counted =
            |extents: &[u8]| [9, 17, 18, 22].map(|writer| counted_cells(&dense(extents), version(writer)));
        assert_eq!(counted(&[25, 17, 10]), [Some(154), Some(154), Some(1690), Some(1690)]);
        assert_eq!(counted(&[16, 17, 1]), [Some(16); 4]);
        assert_eq!(counted(&[20, 20]), [Some(144), Some(144), None, None]);
        assert_eq!(counted(&[16, 16]), [None; 4]);
        assert_eq!(counted_cells(&dense(&[20, 20]), version(8)), None);
    }

    #[test]
    fn a_negative_number_of_cells_is_no_number() {
        let box_of = |rows: i8, columns: i8| {
            let dimension = |name: &str, extent| Dimension::new(name, 0i8..=100).with_tile(extent);
            let new = ArraySchema::dense().dimension(dimension("x", rows)).dimension(dimension("y", columns));
            new.attribute(Attribute::new("a", Datatype::Int8, CellValNum::ONE)).build().unwrap()
        };
        let counted = |rows, columns| counted_cells(&box_of(rows, columns), version(17));
        assert_eq!((counted(20, 20), counted(17, 17)), (None, Some(33)));
        // 7 × 256 + 127, and 9 × 256 + 128: the greatest number of the type and the one after it.
        assert_eq!((counted(19, 101), counted(32, 76)), (Some(127), None));
    }

    #[test]
    fn cells_that_64_bits_count_are_all_counted() {
        let dimension = Dimension::new("x", 0i64..=999).with_tile(100i64);
        let attribute = Attribute::new("a", Datatype::Int8, CellValNum::ONE);
        let schema = ArraySchema::dense().dimension(dimension).attribute(attribute).build().unwrap();
        assert_eq!([9, 17, 22].map(|writer| counted_cells(&schema, version(writer))), [None; 3]);
    }

    #[test]
    fn tiles_whose_cells_the_type_counts_are_whole() {
        assert_eq!(counted_cells(&dense(&[25, 10, 17]), version(22)), None);
        assert_eq!(counted_cells(&dense(&[50, 50]), version(22)), None);
        assert_eq!(counted_cells(&schema(ArrayType::Sparse, &[25, 17, 10]), version(17)), None);
    }

    #[test]
    fn a_tile_may_end_behind_what_was_counted_if_the_box_ends_before() {
        let square = dense(&[20, 20]);
        // Rows 0 to 5 are the cells up to 120, and 144 are stored.
        let early = tiles(&square, 14, &[[0, 5], [0, 19]]);
        assert_eq!([288, 240, 286, 0].map(|found| early.stored(0, found, 800)), [288, 800, 800, 800]);
        // Cell 248 is the last one of the box: the tile lacks it.
        let late = tiles(&square, 14, &[[8, 12], [3, 7]]);
        assert_eq!([288, 496].map(|found| late.stored(0, found, 800)), [800, 800]);
        // The last tile of four is the one of which few rows are written.
        let four = tiles(&square, 14, &[[0, 25], [0, 39]]);
        assert_eq!([0, 1, 2, 3].map(|tile| four.stored(tile, 288, 800)), [800, 800, 288, 288]);
    }

    #[test]
    fn a_tile_of_2_5_to_2_7_ends_behind_the_last_cell_of_the_box() {
        let square = dense(&[20, 20]);
        let late = tiles(&square, 11, &[[8, 12], [3, 7]]);
        assert_eq!([496, 288, 494, 498].map(|found| late.stored(0, found, 800)), [496, 800, 800, 800]);
        let early = tiles(&square, 11, &[[0, 5], [0, 19]]);
        assert_eq!([288, 240].map(|found| early.stored(0, found, 800)), [288, 800]);
    }
}
